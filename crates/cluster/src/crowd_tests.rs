//! The pages of one template: what they cost is counted in comparisons, not in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{ClusterRules, Clusterer, Decision, Position};
use crate::ExpiryConfig;
use leitong_base::random::Random;
use leitong_base::record::FingerprintRecord;
use leitong_fingerprint::detectors::simhash::{self, SimHash, SimHashConfig};
use leitong_fingerprint::{Comparison, Crowd, Detector, SecondKey};

/// The default detector, which counts comparisons.
struct Counting {
    simhash: SimHash,
    comparisons: AtomicUsize,
}

impl Detector for Counting {
    stub_detector!("counting");

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        self.simhash.is_fingerprint(bytes)
    }
    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.simhash.insert_keys(fingerprint, keys);
    }
    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.simhash.probe_keys(fingerprint, keys);
    }
    fn equal_key(&self, fingerprint: &[u8]) -> Option<u64> {
        self.simhash.equal_key(fingerprint)
    }
    fn second_key(&self) -> Option<SecondKey> {
        self.simhash.second_key()
    }
    fn compared<'a>(&self, fingerprint: &'a [u8]) -> &'a [u8] {
        self.simhash.compared(fingerprint)
    }
    fn compare_found(&self, fingerprint: &[u8], compared: &[u8]) -> Comparison {
        self.comparisons.fetch_add(1, Ordering::Relaxed);
        self.simhash.compare_found(fingerprint, compared)
    }
    fn rank(&self, fingerprint: &[u8], compared: &[u8], distance: u32) -> u32 {
        self.simhash.rank(fingerprint, compared, distance)
    }
    fn related_rank(&self, fingerprint: &[u8], compared: &[u8]) -> u32 {
        self.simhash.related_rank(fingerprint, compared)
    }
    fn crowd(&self) -> Option<Box<dyn Crowd>> {
        self.simhash.crowd()
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        self.simhash.compare(a, b)
    }
    fn related(&self, a: &[u8], b: &[u8]) -> bool {
        self.simhash.related(a, b)
    }
    fn related_found(&self, fingerprint: &[u8], compared: &[u8]) -> bool {
        self.simhash.related_found(fingerprint, compared)
    }
}

/// Returns a page of a template on `sites` sites, in which two numbers differ and with them one of the 14 bands and
/// passages.
fn page(number: u64, sites: u64) -> Box<[u8]> {
    let (a, b) = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number.wrapping_mul(0xd6e8_feb8_6659_fd93));
    let facts = |count: u8| -> [u8; 12] {
        let bits = (1_u64 << (a >> 58) ^ 1 << (b >> 58)).to_be_bytes();
        let rest = [0, count, (a ^ b) as u8, (a >> 8 ^ b >> 8) as u8];
        std::array::from_fn(|at| bits.get(at).or(rest.get(at.saturating_sub(8))).copied().unwrap_or(0))
    };
    let ([c, d], [e, f]) =
        ((1 + (number % sites) as u16).to_be_bytes(), ((a >> 48) as u16 | 1).to_be_bytes());
    let (mut bands, mut passages) = ([5; 4], [5; 10]);
    match number % 14 {
        at @ 0..4 => bands[at as usize] = a as u32,
        at => passages[at as usize - 4] = a as u32,
    }
    let hash = 1 << (a >> 32 & 3);
    let address = [c, d, 0, 0, 0, 0, e, f, 0, 0, 0, 0];
    simhash::encode(hash, 370, &[3; 32], [facts(20), facts(2), [0; 12]], address, (bands, passages))
}

/// Returns a page of 300 words on `sites` sites, of which a third is a footer that all have: 16 of 64 values agree, as do
/// three passages.
fn with_footer(number: u64, sites: u64) -> Box<[u8]> {
    let mut random = Random::new(3, number);
    let [c, d] = (1 + (number % sites) as u16).to_be_bytes();
    let [e, f] = (number as u16 | 1).to_be_bytes();
    let mut values: [u8; 32] = std::array::from_fn(|_| random.next_bits() as u8);
    values[..7].fill(0x33);
    let facts = |count: u8| -> [u8; 12] {
        let mut facts = [0; 12];
        facts[..8].copy_from_slice(&random.next_bits().to_be_bytes());
        facts[9..].copy_from_slice(&[count, number as u8, (number >> 8) as u8]);
        facts
    };
    let facts = [60, 0, 0].map(facts);
    let bands = std::array::from_fn(|_| random.next_bits() as u32);
    let mut passages: [u32; 10] = std::array::from_fn(|_| random.next_bits() as u32);
    passages[..3].fill(7);
    // Each bit differs in a sixth of the pages: on average 18 bits between two.
    let hash = random.next_bits() & random.next_bits() & (random.next_bits() | random.next_bits());
    simhash::encode(hash, 600, &values, facts, [c, d, 0, 0, 0, 0, e, f, 0, 0, 0, 0], (bands, passages))
}

/// Returns how many comparisons the decisions on `count` pages take, and how many pages are unique and related to the
/// first one.
fn decided(count: u64, page: impl Fn(u64) -> Box<[u8]>, centroids_max: u64) -> (usize, usize) {
    let counting =
        Counting { simhash: SimHash::new(&SimHashConfig::default()), comparisons: AtomicUsize::new(0) };
    let detector = Arc::new(counting);
    let expiry = ExpiryConfig { max_age_days: None, centroids_max };
    let rules = ClusterRules::expiry_only(expiry);
    let mut clusterer =
        Clusterer::with_shards(Arc::<Counting>::clone(&detector), rules, Position::default(), 2);
    let records: Vec<FingerprintRecord> =
        (0..count).map(|number| FingerprintRecord::numbered(number as usize, Some(page(number)))).collect();
    let records: Vec<_> = (0..).zip(records.iter().map(Some)).collect();
    let decisions = records.chunks(50).flat_map(|batch| clusterer.decide_batch(batch).expect("in memory"));
    let is_of_first = |decision: &Decision| match decision {
        Decision::Founded(_, Some(related)) => related.cluster_id.log_offset == 0,
        _ => false,
    };
    let of_first = decisions.filter(is_of_first).count();
    (detector.comparisons.load(Ordering::Relaxed), of_first)
}

/// Twice as many pages of one template take twice as many comparisons, on one site or on many. Their verdicts name the
/// first of them.
#[test]
fn pages_of_a_template_do_not_cost_the_square_of_their_number() {
    for sites in [1, 300] {
        let counts = [2_000, 4_000, 8_000].map(|count| {
            let (comparisons, of_first) = decided(count, |number| page(number, sites), u64::MAX);
            assert!(of_first as u64 > count * 9 / 10, "{of_first} of {count} on {sites} sites");
            comparisons as f64
        });
        assert!(counts[1] < counts[0] * 2.2 && counts[2] < counts[1] * 2.2, "{counts:?} on {sites} sites");
        assert!(counts[2] < 8_000.0 * 500.0, "{counts:?} on {sites} sites");
    }
}

/// The same holds if the oldest centroids expire all the time.
#[test]
fn pages_of_a_template_do_not_cost_the_square_if_centroids_expire() {
    let counts = [2_000, 4_000].map(|count| decided(count, |number| page(number, 1), 1_000).0 as f64);
    assert!(counts[1] < counts[0] * 2.5 && counts[1] < 4_000.0 * 1_000.0, "{counts:?}");
}

/// Pages of many sites that share a footer are compared with a few of them: the crowd's judge rejects the others.
#[test]
fn pages_with_a_common_footer_are_compared_with_few_others() {
    for sites in [1, 10_000] {
        let counts = [2_000, 4_000].map(|count| {
            let (comparisons, of_first) = decided(count, |number| with_footer(number, sites), u64::MAX);
            assert!(of_first > 0, "some are related");
            comparisons as f64
        });
        assert!(counts[1] < counts[0] * 2.2 && counts[1] < 4_000.0 * 200.0, "{counts:?} on {sites} sites");
    }
}
