//! Pages of paged articles, compared with the definition: the youngest centroid of the article counts, if it
//! is another page.

use std::sync::Arc;

use proptest::prelude::*;

use super::{ClusterRules, Clusterer, Decision, Position, PreviewOptions, Scratch};
use crate::ExpiryConfig;
use leitong_base::random::Random;
use leitong_base::record::FingerprintRecord;
use leitong_fingerprint::detectors::simhash::SimHashConfig;
use leitong_fingerprint::detectors::simhash::{self, SimHash};

/// Returns a page whose text is unlike any other's; article 0 means no article.
fn page(number: usize, article: u8, name: u8) -> FingerprintRecord {
    let mut mix = Random::from_seed(number as u64);
    let values = std::array::from_fn(|_| mix.next_bits() as u8);
    let bands = std::array::from_fn(|_| mix.next_bits() as u32);
    let address = [0, 7, 0, 0, 0, 0, 0, name, 0, 0, 0, article];
    let keys = (bands, std::array::from_fn(|_| mix.next_bits() as u32));
    let fingerprint = simhash::encode(mix.next_bits(), 3_000, &values, [[0; 12]; 3], address, keys);
    FingerprintRecord::numbered(number, Some(fingerprint))
}

fn clusterer(centroids_max: u64, position: Position) -> Clusterer {
    let expiry = ExpiryConfig { max_age_days: None, centroids_max };
    Clusterer::new(
        Arc::new(SimHash::new(&SimHashConfig::default())),
        ClusterRules::expiry_only(expiry),
        position,
    )
}

/// Returns the centroid that the page is related to.
fn related(decision: &Decision) -> Option<u64> {
    match decision {
        Decision::Founded(_, related) => related.as_ref().map(|page| page.cluster_id.log_offset),
        other => panic!("{other:?}"),
    }
}

/// Returns the related centroids by the definition: all pages are centroids, and those beyond the maximum
/// have expired.
fn scanned(pages: &[(u8, u8)], centroids_max: usize) -> Vec<Option<u64>> {
    let of = |(at, (article, name)): (usize, &(u8, u8))| {
        let unexpired = at.saturating_sub(centroids_max)..at;
        let youngest = unexpired.rev().find(|other| *article != 0 && pages[*other].0 == *article)?;
        (pages[youngest].1 != *name).then_some(youngest as u64)
    };
    pages.iter().enumerate().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_youngest_page_of_the_article_is_found(
        pages in prop::collection::vec((0..4_u8, 1..4_u8), 1..60), centroids_max in 1..12_usize,
        batch in 1..9_usize, saved_at in 0..60_usize,
    ) {
        let naive = scanned(&pages, centroids_max);
        let records: Vec<FingerprintRecord> =
            pages.iter().enumerate().map(|(at, (article, name))| page(at, *article, *name)).collect();
        let numbered: Vec<_> = (0..).zip(records.iter().map(Some)).collect();
        let mut in_batches = clusterer(centroids_max as u64, Position::default());
        let decisions: Vec<_> =
            numbered.chunks(batch).flat_map(|batch| in_batches.decide_batch(batch).expect("in memory")).collect();
        prop_assert_eq!(decisions.iter().map(related).collect::<Vec<_>>(), naive);

        let mut one_by_one = clusterer(centroids_max as u64, Position::default());
        for (at, (record, decision)) in records.iter().zip(&decisions).enumerate() {
            if at == saved_at {
                let mut restored = clusterer(centroids_max as u64, one_by_one.position());
                one_by_one.centroids().for_each(|(corpus, hash, centroid)| restored.restore(corpus, hash, &centroid).expect("in memory"));
                one_by_one = restored;
                one_by_one.insert_pending().expect("in memory");
            }
            let preview = one_by_one.preview(record, PreviewOptions::default(), &mut Scratch::default()).expect("in memory");
            prop_assert_eq!(&preview.decision, decision);
            prop_assert_eq!(&one_by_one.decide(Some(record)).expect("in memory"), decision);
        }
    }
}
