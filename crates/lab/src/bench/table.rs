//! Measures speed and size of the centroid table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::median;
use leitong_base::random::Random;
use leitong_base::record::FingerprintRecord;
use leitong_cluster::{Centroid, ClusterRules, Clusterer, ExpiryConfig, Position, Query};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
use leitong_fingerprint::detectors::simhash::{Candidates, Confirm, SimHash, SimHashConfig};

/// Number of look-ups or insertions in a batch.
const BATCH: usize = 1_024;
/// Maximum number of batches of look-ups that are timed.
const LOOK_UP_BATCHES: usize = 64;
/// Time after which no further batch of look-ups begins, except that at least three are timed.
const LOOK_UP_TIME: Duration = Duration::from_secs(5);
const IN_MEMORY: &str = "a table in memory does not fail";

/// The settings of a measurement.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Numbers of centroids at which look-ups are timed, ascending.
    pub sizes: Vec<usize>,
    /// Seed of fingerprints and queries.
    pub seed: u64,
    /// True to give centroids a page id and a url, like real ones. Without these texts, more centroids fit
    /// into memory.
    pub texts: bool,
}

/// The figures at one size.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TableFigures {
    /// Name of the look-up method.
    pub(super) look_up: String,
    /// Name of the generator of fingerprints.
    pub(super) fingerprints: &'static str,
    /// Number of centroids in the table.
    pub(super) centroids: usize,
    /// Look-ups per second; half of the queries are near a centroid. All near centroids are found and
    /// compared.
    pub(super) look_ups_per_second: f64,
    /// Percentage of the queries near a centroid that found it.
    pub(super) found_percent: f64,
    /// Decisions on duplicates per second. A decision is a look-up, and a read of the centroid's data for the
    /// verdict.
    pub(super) duplicates_per_second: f64,
    /// Insertions per second, from the last size to this one.
    pub(super) insertions_per_second: f64,
    /// Bytes per centroid that look-ups read.
    pub(super) hot_bytes: f64,
    /// All other bytes per centroid.
    pub(super) cold_bytes: f64,
}

/// Returns the detector `simhash` with these settings, and a name for it.
pub(super) fn configured_detector(config: &SimHashConfig) -> (String, Arc<dyn Detector>) {
    let near = &config.near;
    let name = match (near.candidates, near.confirm) {
        (Candidates::Bands, Confirm::Sketch) => "configured: bands, confirmed".to_owned(),
        (Candidates::Bands, Confirm::None) => "configured: bands".to_owned(),
        (Candidates::Blocks, Confirm::Sketch) => {
            format!("configured: distance {}, confirmed", near.max_distance)
        }
        (Candidates::Blocks, Confirm::None) => format!("configured: distance {}", near.max_distance),
    };
    (name, Arc::new(SimHash::new(config)))
}

/// Returns the plain detector of the SimHash paper, and a name for it: all fingerprints within this distance
/// are near, without confirmation.
pub(super) fn plain_detector(max_distance: u32) -> (String, Arc<dyn Detector>) {
    let mut config = SimHashConfig::default();
    config.near.max_distance = max_distance;
    config.near.candidates = Candidates::Blocks;
    config.near.confirm = Confirm::None;
    (format!("distance {max_distance}"), Arc::new(SimHash::new(&config)))
}

/// Fills a table to each size in turn. `max_distance` is the largest distance of near queries from their
/// centroid. `memory_is_short` is called from time to time. If it returns true, this size and larger ones are
/// left out.
pub(super) fn measure(
    (look_up, detector): &(String, Arc<dyn Detector>),
    max_distance: u32,
    (name, fingerprints): &(&'static str, Fingerprints),
    plan: &Plan,
    memory_is_short: impl Fn() -> bool,
    mut progress: impl FnMut(&str),
) -> Vec<TableFigures> {
    let expiry = ExpiryConfig { max_age_days: None, centroids_max: u64::from(u32::MAX) };
    let mut clusterer = Clusterer::with_shards(
        Arc::clone(detector),
        ClusterRules::expiry_only(expiry),
        Position::default(),
        1,
    );
    let mut figures = Vec::new();
    for &size in &plan.sizes {
        let Some(insertions_per_second) =
            fill(&mut clusterer, size, fingerprints, plan.texts, &memory_is_short)
        else {
            progress(&format!(
                "{look_up}, {name}: {size} centroids are skipped: {} centroids nearly fill the memory",
                clusterer.centroid_count()
            ));
            break;
        };
        let mut queries = Queries { random: Random::new(plan.seed, size as u64), max_distance, size };
        let (look_ups_per_second, found_percent) = look_ups(&mut clusterer, &mut queries, fingerprints);
        let duplicates_per_second = duplicates(&mut clusterer, &mut queries, fingerprints);
        let bytes = clusterer.bytes();
        figures.push(TableFigures {
            look_up: look_up.clone(),
            fingerprints: name,
            centroids: size,
            look_ups_per_second,
            found_percent,
            duplicates_per_second,
            insertions_per_second,
            hot_bytes: bytes.hot as f64 / size as f64,
            cold_bytes: bytes.cold as f64 / size as f64,
        });
        progress(&format!(
            "{look_up}, {name}: {size} centroids, {look_ups_per_second:.0} look-ups/s, \
             {insertions_per_second:.0} insertions/s, {} hot and {} cold bytes per centroid",
            bytes.hot / size,
            bytes.cold / size
        ));
    }
    figures
}

/// Fills the table up to `size` centroids. Returns the insertions per second, or `None` if memory became
/// short.
fn fill(
    clusterer: &mut Clusterer,
    size: usize,
    fingerprints: &Fingerprints,
    texts: bool,
    memory_is_short: impl Fn() -> bool,
) -> Option<f64> {
    let start = clusterer.centroid_count();
    let mut time = Duration::ZERO;
    for from in (start..size).step_by(BATCH) {
        if (from - start).is_multiple_of(1_024 * BATCH) && memory_is_short() {
            return None;
        }
        let batch: Vec<Centroid> = (from..size.min(from + BATCH))
            .map(|number| centroid(number as u64, fingerprints, texts))
            .collect();
        let since = Instant::now();
        batch.iter().for_each(|centroid| clusterer.restore("", 0, centroid).expect(IN_MEMORY));
        clusterer.insert_pending().expect(IN_MEMORY);
        time += since.elapsed();
    }
    Some((size - start) as f64 / time.as_secs_f64())
}

fn centroid(number: u64, fingerprints: &Fingerprints, texts: bool) -> Centroid {
    let mut random = Random::new(number, 1);
    let text_digest = u128::from(random.next_bits()) << 64 | u128::from(random.next_bits());
    let (page_id, url) = if texts {
        let (site, section, page) = (random.below(50_000), random.below(40), random.next_bits() >> 40);
        (
            format!("{:032x}", u128::from(random.next_bits()) << 64 | u128::from(random.next_bits())),
            format!("https://www.site-{site}.example.com/section-{section}/2026/11/article-{page}.html"),
        )
    } else {
        Default::default()
    };
    Centroid {
        log_offset: number,
        log_time: None,
        fingerprint: fingerprints.get(number),
        text_digest,
        page_id: page_id.into(),
        url: url.into(),
    }
}

/// A generator of queries.
struct Queries {
    random: Random,
    max_distance: u32,
    size: usize,
}

impl Queries {
    fn near(&mut self, fingerprints: &Fingerprints) -> Box<[u8]> {
        let distance = self.random.below(self.max_distance as usize + 1) as u32;
        fingerprints.near(self.random.below(self.size) as u64, distance)
    }

    /// Returns a query that is near no centroid except by chance.
    fn other(&mut self, fingerprints: &Fingerprints) -> Box<[u8]> {
        fingerprints.get(self.size as u64 + 1 + (self.random.next_bits() >> 1))
    }
}

/// Returns the look-ups per second, and the percentage of near queries that found something.
fn look_ups(clusterer: &mut Clusterer, queries: &mut Queries, fingerprints: &Fingerprints) -> (f64, f64) {
    let mut times = Vec::new();
    let (mut found, mut asked) = (0, 0);
    let began = Instant::now();
    while times.len() < LOOK_UP_BATCHES && (times.len() < 3 || began.elapsed() < LOOK_UP_TIME) {
        let prints: Vec<Box<[u8]>> = (0..BATCH)
            .map(|i| if i % 2 == 0 { queries.near(fingerprints) } else { queries.other(fingerprints) })
            .collect();
        let batch: Vec<Option<Query<'_>>> = prints
            .iter()
            .map(|fingerprint| Some(Query { corpus: "", fingerprint_hash: 0, fingerprint }))
            .collect();
        let since = Instant::now();
        let near = clusterer.look_up(&batch).expect(IN_MEMORY);
        times.push(since.elapsed().as_secs_f64());
        let mut answered: Vec<u32> =
            near.iter().map(|near| near.query).filter(|query| query % 2 == 0).collect();
        answered.dedup();
        found += answered.len();
        asked += BATCH / 2;
    }
    (BATCH as f64 / median(&mut times), 100.0 * found as f64 / asked as f64)
}

/// Returns the decisions on duplicates per second.
fn duplicates(clusterer: &mut Clusterer, queries: &mut Queries, fingerprints: &Fingerprints) -> f64 {
    let mut times = Vec::new();
    for _ in 0..8 {
        let records: Vec<FingerprintRecord> = (0..BATCH)
            .map(|number| FingerprintRecord::numbered(number, Some(queries.near(fingerprints))))
            .collect();
        let batch: Vec<_> = (0..).zip(records.iter().map(Some)).collect();
        let since = Instant::now();
        std::hint::black_box(clusterer.decide_batch(&batch).expect(IN_MEMORY));
        times.push(since.elapsed().as_secs_f64());
    }
    BATCH as f64 / median(&mut times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_which_memory_is_short_are_skipped() {
        let plan = Plan { sizes: vec![1_000, 2_000, 3_000], seed: 1, texts: false };
        let asked = std::cell::Cell::new(0);
        let memory_is_short = || asked.replace(asked.get() + 1) > 0;
        let mut messages = Vec::new();
        let source = ("even", Fingerprints::even(1));
        let figures = measure(&plain_detector(3), 3, &source, &plan, memory_is_short, |what| {
            messages.push(what.to_owned());
        });
        assert_eq!(figures.iter().map(|figures| figures.centroids).collect::<Vec<_>>(), [1_000]);
        assert_eq!(
            messages[1..],
            ["distance 3, even: 2000 centroids are skipped: 1000 centroids nearly fill the memory"]
        );
    }
}
