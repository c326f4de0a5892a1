//! Finds the source that a restore starts from. From each source, the changelog is then read to its end:
//!
//! ```text
//! the table of the standby ──────┐
//! a local snapshot ──────────────┼─► changelog to its end ─► checks ─► table
//! the changelog's beginning ─────┘
//! ```
//! A table on disk has no snapshot; its blocks take that place (blocks.rs). The functions `at_…` return the table as it
//! is in that source, with the changelog offset to read on from.
//!
//! Invariant: standby and snapshot only save time. If one of them does not fit, it is discarded with a
//! message, and the next source is used.

use std::fmt;
use std::sync::Arc;

use crate::kafka::error::Result;
use crate::kafka::ports::Reader;
use crate::worker::disk;
use crate::worker::ports::World;
use crate::worker::positions;
use crate::worker::replica::TableReplica;
use crate::worker::restore::place;
use crate::worker::role::ClusterRole;
use leitong_base::error::StepError;
use leitong_base::proto;
use leitong_cluster::changelog::{Restoration, RestoreError};
use leitong_graph::telemetry::metrics;
use leitong_store::snapshot::ChangelogSnapshot;
use leitong_store::snapshot::ExpectedTable;
use leitong_store::snapshot::SnapshotPlace;
use leitong_store::snapshot::Unusable;

/// The source that a restore starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The table of the standby, which followed another owner.
    Standby,
    /// The local snapshot.
    Snapshot,
    /// The beginning of the changelog.
    Changelog,
}

impl Source {
    /// All sources, the fastest first.
    pub(crate) const ALL: [Self; 3] = [Self::Standby, Self::Snapshot, Self::Changelog];
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standby => "standby",
            Self::Snapshot => "snapshot",
            Self::Changelog => "changelog",
        })
    }
}

/// Returns the last position record, and the changelog offset from which a whole table can be read. If there
/// is no position record, returns `None` and the first offset of the changelog.
pub(crate) fn find_beginning(
    changelog: &impl Reader,
    stop: impl Fn() -> bool,
) -> Result<(Option<proto::Position>, u64)> {
    let last = positions::last_of(changelog)?;
    let (start, end) = changelog.bounds()?;
    let oldest = last.as_ref().and_then(|last| last.oldest_log_offset);
    let place = match oldest {
        Some(oldest) => place::first_since(changelog, (start, end), oldest, stop)?,
        None => None,
    };
    Ok((last, place.unwrap_or(start)))
}

/// Returns what is wrong with a snapshot. The changelog may be fine, so its remedies are left out.
fn fault_of_snapshot(error: &RestoreError) -> String {
    match error {
        RestoreError::Damaged(why) => why.clone(),
        RestoreError::Gap { first, last } => format!("the centroids {first} to {last} are missing"),
        other => other.to_string(),
    }
}

impl<W: World> ClusterRole<W> {
    /// Returns an empty table, to be filled from the first unexpired centroid in the changelog on. Expired
    /// centroids may still be before it, because brokers delete them only from time to time.
    pub(crate) fn at_beginning(
        &self,
        log_partition: u32,
        changelog: &W::Reader,
        stop: impl Fn() -> bool,
    ) -> Result<TableReplica> {
        let (last, next_offset) = find_beginning(changelog, &stop)?;
        let (clusterer, disk) = self.empty_table(log_partition, next_offset, stop)?;
        let restoration = Restoration::into_empty(clusterer).up_to(last.as_ref());
        Ok(TableReplica::new(restoration, disk, next_offset))
    }

    /// Returns the place of the snapshots of `log_partition`, or `None` if snapshots are disabled.
    pub(crate) fn snapshot_place(&self, log_partition: u32) -> Option<SnapshotPlace> {
        let folder = self.config.kafka.snapshots.dir.as_deref()?;
        Some(SnapshotPlace::new(folder, &self.config.kafka.app, log_partition))
    }

    /// Returns the snapshot of `log_partition`, if there is one that fits. One that does not fit is set
    /// aside.
    pub(crate) fn snapshot(
        &self,
        log_partition: u32,
        changelog: &W::Reader,
    ) -> Result<Option<ChangelogSnapshot>> {
        let Some(place) = self.snapshot_place(log_partition) else { return Ok(None) };
        let opened = match place.open() {
            Ok(None) => return Ok(None),
            Ok(Some(snapshot)) => {
                let last = positions::last_of(changelog)?;
                let table_id = last.and_then(|last| last.table_id);
                let bounds = changelog.bounds()?;
                let identity = &self.identity(log_partition);
                let topic = &self.config.kafka.topics.centroids;
                snapshot.check(&ExpectedTable { topic, identity, table_id, bounds }).map(|()| snapshot)
            }
            Err(unusable) => Err(unusable),
        };
        Ok(opened.map_err(|unusable| self.do_without(log_partition, &unusable)).ok())
    }

    /// Sets an unusable snapshot aside. If the disk does not answer, the file may still be good, and stays.
    fn do_without(&self, log_partition: u32, unusable: &Unusable) {
        match unusable {
            Unusable::Io(error) => tracing::warn!(
                partition = log_partition,
                "the snapshot is not used, because it cannot be read now: {error}"
            ),
            unusable => self.set_aside(log_partition, unusable),
        }
    }

    /// Returns the table in the snapshot, if there is one that fits. Also returns `None` if `stop` is raised.
    pub(crate) fn at_snapshot(
        &self,
        log_partition: u32,
        changelog: &W::Reader,
        stop: impl Fn() -> bool,
    ) -> Result<Option<TableReplica>> {
        if self.config.table.on_disk {
            return self.at_blocks(log_partition, changelog, stop);
        }
        let Some(snapshot) = self.snapshot(log_partition, changelog)? else { return Ok(None) };
        let next_offset = snapshot.changelog_offset();
        let position = snapshot.position().clone();
        let (detector, rules) = (Arc::clone(&self.detector), self.config.cluster_rules());
        let restoration = Restoration::new(detector, rules).up_to(Some(&position));
        let mut table = TableReplica::new(restoration, None, next_offset);
        let read = snapshot.read(|log_offset, value| {
            let taken = table.restoration.apply_snapshot(&position, log_offset, value);
            taken.map_err(|error| Unusable::Damaged(fault_of_snapshot(&error)))?;
            Ok(!stop())
        });
        match read {
            Ok(Some(position)) => match table.restoration.take_position(position) {
                Ok(()) => Ok(Some(table)),
                Err(error) => {
                    self.set_aside(log_partition, &Unusable::Damaged(fault_of_snapshot(&error)));
                    Ok(None)
                }
            },
            Ok(None) => Ok(None),
            Err(unusable) => {
                self.do_without(log_partition, &unusable);
                Ok(None)
            }
        }
    }

    /// Moves an unusable snapshot out of the way.
    pub(crate) fn set_aside(&self, log_partition: u32, why: &dyn fmt::Display) {
        if self.config.table.on_disk {
            match self.table_folder(log_partition, || false) {
                Ok(folder) => disk::set_aside(log_partition, &*folder.files, why),
                // The next table that is created in the folder removes the old files.
                Err(error) => tracing::warn!(
                    partition = log_partition,
                    "the table on disk cannot be used: {why} (and it cannot be set aside: {})",
                    StepError::with_causes(&error)
                ),
            }
            return;
        }
        let Some(place) = self.snapshot_place(log_partition) else { return };
        metrics::SNAPSHOTS_SET_ASIDE.add(1);
        let snapshot = place.path();
        let snapshot = snapshot.display();
        match place.set_aside() {
            Ok(aside) => tracing::warn!(
                partition = log_partition,
                "snapshot {snapshot} cannot be used, so it is set aside as {} and the table is restored from \
                 the changelog: {why}",
                aside.display()
            ),
            Err(error) => tracing::warn!(
                partition = log_partition,
                "snapshot {snapshot} cannot be used, so the table is restored from the changelog: {why} (and \
                 it cannot be set aside: {error})"
            ),
        }
    }
}
