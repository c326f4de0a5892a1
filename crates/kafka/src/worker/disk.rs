//! Manages the part of a worker's table that is on disk: an owner, a standby or a restore keeps old centroids
//! there.
//!
//! ```text
//! records of the changelog, or committed transactions ─► places of centroids in the changelog
//! blocks that have changed, once all of the table is committed ─► the file that lists the blocks
//! ```
//! Invariants: only one table uses the folder of a partition. The table holds a lock, which is released when
//! its files are dropped. A saved list has only blocks of committed centroids. Saving takes milliseconds, and
//! happens whenever a block was sealed, merged or dropped. Memory: some hundred numbers.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ports::TableFolder;
use leitong_base::proto;
use leitong_cluster::changelog::Identity;
use leitong_cluster::{Clusterer, TableFault};
use leitong_graph::telemetry::metrics;
use leitong_store::blocks::{BlockStore, Files};
use leitong_store::snapshot::{ChangelogBlocks, SnapshotError};

/// Pause before a failed save is retried, and interval at which failures are logged.
const FAILED_PAUSE: Duration = Duration::from_secs(60);
/// Number of places that are remembered per block.
const PLACES_A_BLOCK: u64 = 32;

/// The part of a table that is on disk.
pub(crate) struct DiskTable {
    partition: u32,
    topic: String,
    /// Hashes of the settings upstream and downstream of the log. The keys in blocks depend on them.
    hashes: (u64, u64),
    store: Arc<BlockStore>,
    files: Arc<dyn Files>,
    places: Places,
    /// The store's count of changes when the list of blocks was last saved.
    saved: u64,
    /// Time of the last failure.
    failed: Option<Instant>,
}

impl DiskTable {
    /// Creates the part on disk from open blocks. The changelog from offset `from` on has all centroids that
    /// are in no block, and the youngest one that is in a block.
    pub(super) fn new(
        partition: u32,
        topic: &str,
        identity: &Identity,
        folder: TableFolder,
        store: Arc<BlockStore>,
        from: u64,
    ) -> Self {
        let step = (folder.options.block / PLACES_A_BLOCK).max(1);
        let table = Self {
            partition,
            topic: topic.to_owned(),
            hashes: (identity.fingerprint_hash, identity.cluster_hash),
            saved: store.changes(),
            store,
            files: folder.files,
            places: Places { step, places: VecDeque::from([(0, from)]) },
            failed: None,
        };
        table.measure();
        table
    }

    /// Records that the centroid with this number and all younger ones are in the changelog at this offset or
    /// later.
    pub(crate) fn stands_from(&mut self, number: u64, offset: u64) {
        self.places.push(number, offset);
    }

    /// Saves the list of blocks, if it has changed. All of `table` must be committed, up to the changelog
    /// offset `changelog_next`. If this fails, the error is logged, and a later call tries again.
    ///
    /// # Errors
    /// [`TableFault`] if the table cannot be relied on any more.
    pub(crate) fn committed(
        &mut self,
        table: &Clusterer,
        changelog_next: u64,
        position: impl FnOnce() -> Result<proto::Position, TableFault>,
        now: Instant,
    ) -> Result<(), TableFault> {
        self.stands_from(table.founded(), changelog_next);
        if self.failed.is_some_and(|failed| now.saturating_duration_since(failed) < FAILED_PAUSE) {
            return Ok(());
        }
        self.failed = None;
        let partition = self.partition;
        if let Some((why, waiting)) = self.store.waiting_reason() {
            self.failed = Some(now);
            metrics::DISK_FAILURES.add(1);
            tracing::error!(
                partition,
                waiting,
                "table on disk: centroids wait in memory, because it cannot be written: {why}"
            );
            return Ok(());
        }
        let changes = self.store.changes();
        if changes == self.saved {
            return Ok(());
        }
        let mut position = position()?;
        // The position may be older than the last centroid read.
        if position.founded != Some(table.founded()) || position.table_id.is_none() {
            return Ok(());
        }
        // The process that wrote the record may have had other settings.
        (position.fingerprint_hash, position.cluster_hash) = self.hashes;
        match self.save(table, position) {
            Ok(()) => self.saved = changes,
            Err(SnapshotError::Fault(fault)) => return Err(fault),
            Err(error) => {
                self.failed = Some(now);
                metrics::DISK_FAILURES.add(1);
                tracing::error!(
                    partition,
                    "table on disk: it cannot be saved, so a restart would read more of the changelog: {error}"
                );
            }
        }
        Ok(())
    }

    fn save(&mut self, table: &Clusterer, position: proto::Position) -> Result<(), SnapshotError> {
        let (places, topic) = (&mut self.places, self.topic.clone());
        let tail = |number| proto::ChangelogTail { topic, offset: places.before(number) };
        ChangelogBlocks::save(&*self.files, &self.store, table, position, tail)?;
        self.measure();
        Ok(())
    }

    fn measure(&self) {
        metrics::disk(self.partition, self.store.centroid_count(), self.store.file_bytes());
    }

    /// Sets aside files that are damaged or cannot be read, so the next start does not use them. `fault` is
    /// the table's error.
    pub(crate) fn set_aside_after(&self, fault: &TableFault) {
        if fault.is_unreadable() {
            set_aside(self.partition, &*self.files, fault);
        }
    }
}

impl Drop for DiskTable {
    fn drop(&mut self) {
        metrics::disk(self.partition, 0, 0);
    }
}

/// Moves the files of a table out of the way. The table is then restored from the changelog.
pub(super) fn set_aside(partition: u32, files: &dyn Files, why: &dyn fmt::Display) {
    metrics::SNAPSHOTS_SET_ASIDE.add(1);
    let folder = files.path("");
    let folder = folder.display();
    match files.set_aside() {
        Ok(aside) => tracing::warn!(
            partition,
            "table {folder} cannot be used, so it is set aside as {} and restored from the changelog: {why}",
            aside.display()
        ),
        Err(error) => tracing::warn!(
            partition,
            "table {folder} cannot be used, so it is restored from the changelog: {why} (and it cannot be \
             set aside: {error})"
        ),
    }
}

/// The places of some centroids in the changelog. Each entry has the number of a centroid, and an offset at
/// or after which this centroid and all younger ones are.
struct Places {
    /// Minimum distance between two numbers.
    step: u64,
    places: VecDeque<(u64, u64)>,
}

impl Places {
    fn push(&mut self, number: u64, offset: u64) {
        if self.places.back().is_none_or(|(last, _)| number >= last + self.step) {
            self.places.push_back((number, offset));
        }
    }

    /// Returns the largest known offset at or after which the changelog has centroid `number` and all younger
    /// ones. Discards earlier places, so later calls must not have smaller numbers.
    fn before(&mut self, number: u64) -> u64 {
        while self.places.get(1).is_some_and(|(next, _)| *next <= number) {
            self.places.pop_front();
        }
        self.places.front().map_or(0, |(_, offset)| *offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_never_after_the_requested_centroid() {
        let mut places = Places { step: 10, places: VecDeque::from([(0, 500)]) };
        for number in 100..200 {
            places.push(number, 1_000 + number * 2);
        }
        assert_eq!(places.places.len(), 11, "a few of them are kept");
        assert_eq!(places.before(99), 500);
        assert_eq!(places.before(100), 1_200);
        assert_eq!(places.before(119), 1_220);
        // After a failed save, the next save may ask for the same number again.
        assert_eq!(places.before(119), 1_220);
        assert_eq!(places.before(5_000), 1_380);
        assert_eq!(places.places.len(), 1);
    }
}
