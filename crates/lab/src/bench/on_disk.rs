//! Measures speed and size of a table whose old centroids are on disk.
//!
//! A table is filled to each size in turn, in an empty folder, and is queried like the table in memory.
//! Afterwards it is deleted, so the disk needs room for one table at a time. As in operation, the system
//! caches the files in memory. If the machine has less memory than the table has bytes, reads take as long as
//! the disk takes.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;

use super::table::{BATCH, Plan, Queries, centroid, look_ups};
use leitong_base::random::Random;
use leitong_cluster::{Centroid, Clusterer, ExpiryConfig, OldCentroids, Position};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
use leitong_store::blocks::{BlockStore, Folder, Manifest, StoreOptions};

/// Limit on centroids, so large that none expires.
const CENTROIDS_MAX: u64 = u32::MAX as u64;
/// Longest time that a batch of insertions should take.
const LONG_HALT: Duration = Duration::from_millis(50);
const FAILED: &str = "the store failed";

/// The figures at one size.
#[derive(Debug, Clone, Serialize)]
pub(super) struct OnDiskFigures {
    /// Name of the generator of fingerprints.
    pub(super) fingerprints: &'static str,
    /// Number of centroids in the table.
    pub(super) centroids: usize,
    /// Number of centroids in blocks.
    pub(super) sealed: u64,
    /// Bytes of memory per centroid in blocks.
    pub(super) memory_bytes: f64,
    /// Bytes on disk per centroid in blocks.
    pub(super) disk_bytes: f64,
    /// Look-ups per second; half of the queries are near a centroid.
    pub(super) look_ups_per_second: f64,
    /// Percentage of the queries near a centroid that found it.
    pub(super) found_percent: f64,
    /// Number of reads per look-up for keys that were not there.
    pub(super) false_reads: f64,
    /// Number of pages and groups read per look-up.
    pub(super) reads: f64,
    /// Insertions per second from the last size to this one, including the time until all complete blocks are
    /// on disk and merged.
    pub(super) insertions_per_second: f64,
    /// Longest time of a batch of insertions, in milliseconds.
    pub(super) longest_halt_ms: f64,
    /// Number of batches that took longer than [`LONG_HALT`], and of all batches.
    pub(super) long_halts: (u64, u64),
    /// Bytes written per byte of the blocks when they were sealed.
    pub(super) write_amplification: f64,
    /// Number of runs of keys that a look-up queries.
    pub(super) runs: usize,
    /// Time to open the table, in seconds.
    pub(super) opening_seconds: f64,
}

/// Fills a table in `folder` to each size in turn. The folder must be empty or not exist.
///
/// # Errors
/// Fails if the folder cannot be used, or if the store fails.
pub(super) fn measure(
    detector: &Arc<dyn Detector>,
    max_distance: u32,
    source: &(&'static str, Fingerprints),
    plan: &Plan,
    folder: &Path,
    progress: impl FnMut(&str),
) -> anyhow::Result<Vec<OnDiskFigures>> {
    let files = Arc::new(Folder::open(folder)?);
    let is_empty = std::fs::read_dir(folder)?.next().is_none();
    ensure!(
        is_empty,
        "{}: is not empty; name an empty folder, or one that does not exist yet",
        folder.display()
    );
    let figures = measure_in(&files, detector, max_distance, source, plan, progress);
    let deleted = std::fs::remove_dir_all(folder);
    let figures = figures?;
    deleted.with_context(|| format!("{}: cannot be deleted", folder.display()))?;
    Ok(figures)
}

fn measure_in(
    files: &Arc<Folder>,
    detector: &Arc<dyn Detector>,
    max_distance: u32,
    (name, fingerprints): &(&'static str, Fingerprints),
    plan: &Plan,
    mut progress: impl FnMut(&str),
) -> anyhow::Result<Vec<OnDiskFigures>> {
    let mut manifest = Manifest { table_id: plan.seed, ..Manifest::default() };
    let mut tail: Vec<Centroid> = Vec::new();
    let mut figures = Vec::new();
    for &size in &plan.sizes {
        let began = Instant::now();
        let mut table = TableOnDisk::open(Arc::clone(files), detector, options(plan), &manifest)?;
        let opening_seconds = began.elapsed().as_secs_f64();
        tail.drain(..).try_for_each(|centroid| table.clusterer.restore("", 0, &centroid)).context(FAILED)?;
        let start = table.clusterer.centroid_count();
        let filled = table.fill(start..size, fingerprints, plan)?;
        let sealed = table.store.end();
        let written = table.store.counted();
        let mut queries = Queries { random: Random::new(plan.seed, size as u64), max_distance, size };
        // Filters are loaded at their first use, so the first round does not count.
        look_ups(&mut table.clusterer, &mut queries, fingerprints).context(FAILED)?;
        let before = table.store.counted();
        let (look_ups_per_second, found_percent, look_ups) =
            look_ups(&mut table.clusterer, &mut queries, fingerprints).context(FAILED)?;
        let after = table.store.counted();
        let each = |count: u64| count as f64 / look_ups as f64;
        let figure = OnDiskFigures {
            fingerprints: name,
            centroids: size,
            sealed,
            memory_bytes: OldCentroids::bytes(&*table.store) as f64 / sealed.max(1) as f64,
            disk_bytes: table.store.file_bytes() as f64 / sealed.max(1) as f64,
            look_ups_per_second,
            found_percent,
            false_reads: each(after.false_keys - before.false_keys),
            reads: each(after.pages + after.groups - before.pages - before.groups),
            insertions_per_second: (size - start) as f64 / filled.time.as_secs_f64(),
            longest_halt_ms: filled.longest.as_secs_f64() * 1e3,
            long_halts: (filled.long, filled.batches),
            write_amplification: written.written as f64 / written.written_first.max(1) as f64,
            runs: table.store.counts().1,
            opening_seconds,
        };
        progress(&figure.to_string());
        figures.push(figure);
        manifest = table.store.manifest();
        tail = table.clusterer.centroids().map(|(_, _, centroid)| centroid).collect();
        table.store.saved();
    }
    Ok(figures)
}

impl fmt::Display for OnDiskFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "on disk, {}: {} centroids, {} in blocks with {:.1} bytes of memory and {:.0} on disk each; \
              {:.0} look-ups/s ({:.1} % of near centroids found; {:.2} reads per look-up, {:.2} of them without a \
              result), {:.0} insertions/s with merges, longest pause {:.0} ms, {} \
              of {} pauses above {} ms, write amplification {:.2}, {} runs; opened in {:.2} s",
            self.fingerprints,
            self.centroids,
            self.sealed,
            self.memory_bytes,
            self.disk_bytes,
            self.look_ups_per_second,
            self.found_percent,
            self.reads,
            self.false_reads,
            self.insertions_per_second,
            self.longest_halt_ms,
            self.long_halts.0,
            self.long_halts.1,
            LONG_HALT.as_millis(),
            self.write_amplification,
            self.runs,
            self.opening_seconds
        )
    }
}

fn options(plan: &Plan) -> StoreOptions {
    StoreOptions::for_table(plan.block_centroids, CENTROIDS_MAX)
}

/// A table on disk.
struct TableOnDisk {
    clusterer: Clusterer,
    store: Arc<BlockStore>,
}

impl TableOnDisk {
    fn open(
        files: Arc<Folder>,
        detector: &Arc<dyn Detector>,
        options: StoreOptions,
        manifest: &Manifest,
    ) -> anyhow::Result<Self> {
        let expiry = ExpiryConfig { max_age_days: None, centroids_max: CENTROIDS_MAX };
        let store = Arc::new(BlockStore::open(files, Arc::clone(detector), options, manifest)?);
        let old = (Arc::clone(&store) as Arc<dyn OldCentroids>, manifest.first);
        let clusterer = Clusterer::with_old(Arc::clone(detector), expiry, Position::default(), None, old);
        Ok(Self { clusterer: clusterer.context(FAILED)?, store })
    }

    /// Inserts the centroids with these numbers, and waits until all complete blocks are on disk and merged.
    fn fill(
        &mut self,
        numbers: std::ops::Range<usize>,
        fingerprints: &Fingerprints,
        plan: &Plan,
    ) -> anyhow::Result<Filled> {
        let mut filled = Filled::default();
        for from in numbers.clone().step_by(BATCH) {
            let until = numbers.end.min(from + BATCH);
            let batch: Vec<Centroid> =
                (from..until).map(|number| centroid(number as u64, fingerprints, plan.texts)).collect();
            let since = Instant::now();
            batch
                .iter()
                .try_for_each(|centroid| self.clusterer.restore("", 0, centroid))
                .and_then(|()| self.clusterer.insert_pending())
                .context(FAILED)?;
            filled.add(since.elapsed());
        }
        // The time to write the centroids that still wait in memory counts too, so that the measured rate can
        // be sustained.
        let since = Instant::now();
        while (numbers.end as u64).saturating_sub(self.store.end()) >= self.store.block_length() {
            self.clusterer.insert_pending().context(FAILED)?;
            self.store.wait_for_blocks().context(FAILED)?;
        }
        self.clusterer.insert_pending().context(FAILED)?;
        self.store.finish().context(FAILED)?;
        filled.time += since.elapsed();
        Ok(filled)
    }
}

/// The times of insertions.
#[derive(Debug, Default)]
struct Filled {
    time: Duration,
    /// Longest time of a batch.
    longest: Duration,
    batches: u64,
    /// Number of batches that took longer than [`LONG_HALT`].
    long: u64,
}

impl Filled {
    fn add(&mut self, batch: Duration) {
        self.time += batch;
        self.longest = self.longest.max(batch);
        self.batches += 1;
        self.long += u64::from(batch > LONG_HALT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::configured_detector;
    use leitong_fingerprint::detectors::simhash::SimHashConfig;

    #[test]
    fn centroids_on_disk_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = Plan { sizes: vec![1_000, 2_000], seed: 1, texts: true, block_centroids: 1 << 18 };
        let (_, detector) = configured_detector(&SimHashConfig::default());
        let source = ("even", Fingerprints::even(1));
        let figures = measure(&detector, 3, &source, &plan, folder.path(), |_| {}).expect("measured");
        assert_eq!(figures.len(), 2);
        assert!(figures.iter().all(|figures| figures.found_percent == 100.0), "{figures:?}");
        assert!(!folder.path().exists(), "deleted");
        assert!(measure(&detector, 3, &source, &plan, Path::new("/proc"), |_| {}).is_err());
    }
}
