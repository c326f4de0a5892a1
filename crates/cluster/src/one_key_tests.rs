//! Very many centroids under one key: decisions are those of a linear scan, and memory does not grow with the
//! number of centroids.
//!
//! If look-ups collected all centroids that share a key before comparing any, 400,000 pages with one passage in
//! common, by chance or on purpose, would take 5 GB for a batch of 2,000, and the table would be as slow as a
//! scan.

use std::sync::Arc;

use proptest::prelude::*;

use super::{ClusterRules, Clusterer, Decision, Position};
use crate::ExpiryConfig;
use leitong_base::random::Random;
use leitong_base::record::FingerprintRecord;
use leitong_fingerprint::detectors::simhash::SimHashConfig;
use leitong_fingerprint::detectors::simhash::{self, SimHash};
use leitong_fingerprint::{Comparison, Detector};

/// A hub is near every spoke, no spoke is near another, and all share one key. The first byte of a spoke is
/// its distance from the hub. The last byte is not in the compared part; it is 1 if the spoke is near the hub by
/// its whole fingerprint.
struct Star;

const HUB: [u8; 4] = [0, 0, 0, 0];

fn spoke(number: u32, distance: u8, near: bool) -> Vec<u8> {
    vec![distance, number as u8, (number >> 8) as u8, u8::from(near)]
}

impl Detector for Star {
    stub_detector!("star");

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        bytes.len() == 4
    }
    fn insert_keys(&self, _: &[u8], keys: &mut Vec<u64>) {
        keys.push(7);
    }
    fn probe_keys(&self, _: &[u8], keys: &mut Vec<u64>) {
        keys.push(7);
    }
    fn compared<'a>(&self, fingerprint: &'a [u8]) -> &'a [u8] {
        &fingerprint[..3]
    }
    fn compare_found(&self, fingerprint: &[u8], compared: &[u8]) -> Comparison {
        let is_hub = |bytes: &[u8]| bytes[0] == 0;
        let equal = fingerprint[..3] == compared[..3];
        let near = equal || is_hub(fingerprint) || is_hub(compared);
        Comparison { distance: u32::from(fingerprint[0].abs_diff(compared[0])), near }
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let found = self.compare_found(a, &b[..3]);
        let near = found.near && (a == b || a[3].max(b[3]) == 1);
        Comparison { near, ..found }
    }
}

fn clusterer(detector: Arc<dyn Detector>, centroids_max: u64, shards: usize) -> Clusterer {
    let expiry = ExpiryConfig { max_age_days: None, centroids_max };
    Clusterer::with_shards(detector, ClusterRules::expiry_only(expiry), Position::default(), shards)
}

/// The centroid that a page joins (`false`), or is related to while it founds a cluster (`true`), and its
/// distance; `None` if neither.
type Nearest = Option<(bool, u64, u32)>;

fn decided(clusterer: &mut Clusterer, pages: &[Vec<u8>], batch: usize) -> Vec<Nearest> {
    let records: Vec<FingerprintRecord> = (0..)
        .zip(pages)
        .map(|(number, page)| FingerprintRecord::numbered(number, Some(page.as_slice().into())))
        .collect();
    let first = clusterer.position().next_log_offset;
    let records: Vec<_> = (first..).zip(records.iter().map(Some)).collect();
    let decisions = records.chunks(batch).flat_map(|batch| clusterer.decide_batch(batch).expect("in memory"));
    let joined = decisions.map(|decision| match decision {
        Decision::Joined(centroid) => Some((false, centroid.cluster_id.log_offset, centroid.distance)),
        Decision::Founded(_, related) => {
            related.map(|centroid| (true, centroid.cluster_id.log_offset, centroid.distance))
        }
        Decision::Undecidable => None,
    });
    joined.collect()
}

/// Decides by the definition: compares each page with all unexpired centroids.
fn scanned(detector: &dyn Detector, pages: &[Vec<u8>], centroids_max: usize) -> Vec<Nearest> {
    let mut centroids: Vec<(u64, &Vec<u8>)> = Vec::new();
    let mut decisions = Vec::new();
    for (offset, page) in (0..).zip(pages) {
        let unexpired = &centroids[centroids.len().saturating_sub(centroids_max)..];
        let found = unexpired.iter().filter_map(|(offset, centroid)| {
            let Comparison { distance, near } = detector.compare(page, centroid);
            let compared = detector.compared(centroid);
            let rank = match near {
                true => detector.rank(page, compared, distance),
                false => detector.related_rank(page, compared),
            };
            (near || detector.related(page, centroid)).then_some((!near, rank, *offset, distance))
        });
        let nearest = found.min().map(|(related, _, offset, distance)| (related, offset, distance));
        if nearest.is_none_or(|(related, ..)| related) {
            centroids.push((offset, page));
        }
        decisions.push(nearest);
    }
    decisions
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A page is near very many centroids. Most of them expire while the batch is decided, and some are near only
    /// by their compared part.
    #[test]
    fn centroids_that_were_not_kept_are_found_when_the_kept_ones_expire(
        pages in prop::collection::vec((any::<bool>(), 1..4_u8, prop::bool::weighted(0.6)), 1..300),
        hubs_in in 1..12_u32, centroids_max in 1..60_u64, batch in 1..150_usize,
        shards in prop::sample::select(vec![1_usize, 8]),
    ) {
        let pages: Vec<Vec<u8>> = (0..).zip(pages).map(|(number, (hub, distance, near)): (u32, _)| {
            if hub && number % hubs_in == 0 { HUB.to_vec() } else { spoke(number, distance, near) }
        }).collect();
        let naive = scanned(&Star, &pages, centroids_max as usize);
        prop_assert_eq!(decided(&mut clusterer(Arc::new(Star), centroids_max, shards), &pages, batch), naive);
    }

    /// Pages that share one band or one passage, many of them near or related to another one, with facts and numbers or
    /// without. They are a crowd, and centroids expire.
    #[test]
    fn pages_with_one_key_in_common_are_decided_as_a_scan_decides(
        pages in prop::collection::vec((0..400_u64, 0..34_u32, 0..60_usize, any::<u64>()), 200..700),
        centroids_max in prop::sample::select(vec![100_u64, 300, 1_000]), batch in 1..300_usize,
        one_hash: bool, passage: bool, with_facts: bool,
    ) {
        let pages: Vec<Vec<u8>> = pages.into_iter().map(|(base, flips, changed, seed)| {
            let mut mix = Random::from_seed(base);
            let mut hash = if one_hash { 1 } else { mix.next_bits() };
            let mut values: [u8; 32] = std::array::from_fn(|_| mix.next_bits() as u8);
            let mut bands: [u32; 4] = std::array::from_fn(|_| mix.next_bits() as u32);
            let mut passages: [u32; 10] = std::array::from_fn(|_| mix.next_bits() as u32);
            let mut mix = Random::from_seed(seed);
            (0..flips).for_each(|_| hash ^= 1 << (mix.next_bits() % 64));
            (0..changed / 2).for_each(|_| values[mix.next_bits() as usize % 32] = mix.next_bits() as u8);
            bands[mix.next_bits() as usize % 4] = mix.next_bits() as u32;
            passages[mix.next_bits() as usize % 10] = mix.next_bits() as u32;
            let common = if passage { &mut passages[2] } else { &mut bands[2] };
            *common = 42;
            let [site, name] = [(); 2].map(|()| 1 + mix.next_bits() as u8 % 3);
            let address = [0, site, 0, 0, 0, 0, 0, name, 0, 0, 0, 0];
            let (mut size, mut facts) = (3_000, [[0; 12]; 3]);
            if with_facts {
                size = [300, 990, 3_000][mix.next_bits() as usize % 3];
                for facts in &mut facts {
                    let replaced = mix.next_bits() % 3;
                    facts[..8].copy_from_slice(&(base << 32 | 1 << replaced).to_be_bytes());
                    facts[9] = 4 + (mix.next_bits() as u8) % 2;
                    facts[11] = (mix.next_bits() % 2) as u8;
                }
            }
            simhash::encode(hash, size, &values, facts, address, (bands, passages)).into()
        }).collect();
        let detector = Arc::new(SimHash::new(&SimHashConfig::default()));
        let naive = scanned(&*detector, &pages, centroids_max as usize);
        prop_assert_eq!(decided(&mut clusterer(detector, centroids_max, 8), &pages, batch), naive);
    }
}

/// If a batch is near every centroid, it has as many hits as pages times centroids. Neither all hits nor all near
/// centroids may be in memory at the same time.
#[test]
fn candidates_that_are_kept_do_not_follow_the_number_of_centroids() {
    let mut room = Vec::new();
    for centroids in [10_000_u32, 20_000] {
        let mut clusterer = clusterer(Arc::new(Star), u64::MAX, 1);
        for number in 0..centroids {
            clusterer
                .restore(
                    "",
                    0,
                    &super::Centroid {
                        log_offset: u64::from(number),
                        log_time: None,
                        fingerprint: spoke(number, 9, true).into(),
                        text_digest: u128::MAX - u128::from(number),
                        page_id: "".into(),
                        url: "".into(),
                    },
                )
                .expect("in memory");
        }
        let pages = vec![HUB.to_vec(); 30];
        let records: Vec<FingerprintRecord> =
            (0..30).map(|number| FingerprintRecord::numbered(number, Some(HUB.into()))).collect();
        let queries: Vec<_> = records
            .iter()
            .map(|record| {
                let fingerprint = record.outcome.fingerprint()?;
                Some(super::Query { corpus: "", fingerprint_hash: 0, fingerprint })
            })
            .collect();
        let near = clusterer.look_up(&queries).expect("in memory");
        assert_eq!(near.len(), 8 * pages.len(), "the oldest eight of each page");
        assert!(near.iter().all(|near| near.number < 8));
        room.push(clusterer.room_for_hits());
        assert_eq!(decided(&mut clusterer, &pages, 30), vec![Some((false, 0, 9)); 30]);
    }
    assert!(room[0] <= 32_768 && room[1] <= 32_768, "room for {room:?} hits");
}
