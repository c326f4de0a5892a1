//! Finds the source that a restore starts from. From each source, the changelog is then read to its end:
//!
//! ```text
//! the table of the standby ──────┐
//! a local snapshot ──────────────┼─► changelog to its end ─► checks ─► table
//! the changelog's beginning ─────┘
//! ```
//! Invariant: standby and snapshot only save time. If one of them does not fit, it is discarded with a
//! message, and the next source is used.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::kafka::ports::{Reader, Record};
use crate::telemetry::metrics;
use crate::worker::disk::{self, DiskTable};
use crate::worker::ports::World;
use crate::worker::positions;
use crate::worker::restore::place;
use crate::worker::role::ClusterRole;
use leitong_base::proto;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_cluster::changelog::restore::{Restoration, RestoreError};
use leitong_store::snapshot::changelog_snapshot::{ChangelogSnapshot, SnapshotPlace, Unusable, Wanted};

/// A table that follows the changelog.
pub(crate) struct TableReplica {
    pub(crate) restoration: Restoration,
    /// The part on disk, if tables are on disk.
    pub(crate) disk: Option<DiskTable>,
    /// The first changelog offset that is not in the table.
    pub(crate) next_offset: u64,
    /// True once the table has been read to the changelog's end for look-ups. From then on, all of it is
    /// visible to look-ups after each position record.
    pub(crate) is_whole: bool,
    /// True if the last record ended a transaction.
    pub(crate) is_at_position: bool,
}

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

impl TableReplica {
    /// Creates a replica of a table that ends with a transaction, right before `next_offset`.
    pub(crate) fn new(restoration: Restoration, disk: Option<DiskTable>, next_offset: u64) -> Self {
        Self { restoration, disk, next_offset, is_whole: false, is_at_position: true }
    }

    /// Applies the next record of the changelog; `now` is the time.
    pub(crate) fn take(&mut self, record: &dyn Record, now: Instant) -> Result<(), RestoreError> {
        if let Some(disk) = &mut self.disk {
            disk.stands_from(self.restoration.clusterer().founded(), record.offset());
        }
        let taken = self.restoration.take(record.key(), record.value());
        self.or_set_aside(taken)?;
        self.next_offset = record.offset() + 1;
        let is_position = record.key() == Some(POSITION_KEY);
        self.is_at_position = is_position;
        if is_position {
            self.at_position(now)?;
        }
        if is_position && self.is_whole {
            self.insert_pending()?;
        }
        Ok(())
    }

    /// Continues writing old centroids to disk, when the changelog has been read to its present end.
    pub(crate) fn at_end(&mut self, now: Instant) -> Result<(), RestoreError> {
        if self.disk.is_some() {
            self.insert_pending()?;
            self.at_position(now)?;
        }
        Ok(())
    }

    /// Makes the table visible to look-ups. It has just been read to the changelog's end.
    pub(crate) fn let_read(&mut self) -> Result<(), RestoreError> {
        if !self.is_whole {
            self.insert_pending()?;
            self.is_whole = true;
        }
        Ok(())
    }

    /// Returns the table if look-ups may read it: if it is visible to them, and at the end of a transaction.
    pub(crate) fn readable(&self) -> Option<&Restoration> {
        (self.is_whole && self.is_at_position).then_some(&self.restoration)
    }

    fn insert_pending(&mut self) -> Result<(), RestoreError> {
        let inserted = self.restoration.insert_pending();
        self.or_set_aside(inserted.map_err(Into::into))
    }

    fn at_position(&mut self, now: Instant) -> Result<(), RestoreError> {
        let (Some(disk), Some(position)) = (&mut self.disk, self.restoration.position()) else {
            return Ok(());
        };
        let (table, position) = (self.restoration.clusterer(), || Ok(position.clone()));
        let saved = disk.committed(table, self.next_offset, position, now);
        self.or_set_aside(saved.map_err(Into::into))
    }

    /// Sets aside files that cannot be read, so the next restore does not use them.
    fn or_set_aside(&self, result: Result<(), RestoreError>) -> Result<(), RestoreError> {
        if let (Err(RestoreError::Disk(fault)), Some(disk)) = (&result, &self.disk) {
            disk.set_aside_after(fault);
        }
        result
    }
}

/// Returns the last position record, and the changelog offset from which a whole table can be read. If no
/// position record has numbers of centroids, returns `None` and the first offset.
pub(crate) fn beginning(
    changelog: &impl Reader,
    stop: impl Fn() -> bool,
) -> anyhow::Result<(Option<proto::Position>, u64)> {
    let last = positions::last_of(changelog)?.filter(|last| last.founded.is_some());
    let (start, end) = changelog.bounds()?;
    let oldest = last.as_ref().and_then(|last| last.oldest_log_offset);
    let place = match oldest {
        Some(oldest) => place::first_since(changelog, (start, end), oldest, stop)?,
        None => None,
    };
    Ok((last, place.unwrap_or(start)))
}

impl<W: World> ClusterRole<W> {
    /// Returns an empty table, to be filled from the first unexpired centroid in the changelog on. Expired
    /// ones may be before it, as brokers delete them only now and then.
    pub(crate) fn at_beginning(
        &self,
        log_partition: u32,
        changelog: &W::Reader,
        stop: impl Fn() -> bool,
    ) -> anyhow::Result<TableReplica> {
        let (last, next_offset) = beginning(changelog, &stop)?;
        let (clusterer, disk) = self.empty_table(log_partition, next_offset, stop)?;
        let restoration = Restoration::of_empty(clusterer, Arc::clone(&self.detector));
        let restoration = match last {
            Some(last) => restoration.going_up_to(&last),
            None => restoration,
        };
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
    ) -> anyhow::Result<Option<ChangelogSnapshot>> {
        let Some(place) = self.snapshot_place(log_partition) else { return Ok(None) };
        let opened = match place.open() {
            Ok(None) => return Ok(None),
            Ok(Some(snapshot)) => {
                let last = positions::last_of(changelog)?;
                let table_id = last.and_then(|last| last.table_id);
                let bounds = changelog.bounds()?;
                let identity = &self.identity(log_partition);
                let topic = &self.config.kafka.topics.centroids;
                snapshot.check(&Wanted { topic, identity, table_id, bounds }).map(|()| snapshot)
            }
            Err(unusable) => Err(unusable),
        };
        match opened {
            // If the disk does not answer, the file may still be good.
            Err(Unusable::Io(error)) => {
                tracing::warn!(partition = log_partition, "the snapshot cannot be read now: {error}");
                Ok(None)
            }
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(unusable) => {
                self.set_aside(log_partition, &unusable);
                Ok(None)
            }
        }
    }

    /// Returns the table in the snapshot, if there is one that fits. Also returns `None` if `stop` is raised.
    pub(crate) fn at_snapshot(
        &self,
        log_partition: u32,
        changelog: &W::Reader,
        stop: impl Fn() -> bool,
    ) -> anyhow::Result<Option<TableReplica>> {
        if self.config.table.on_disk {
            return self.at_blocks(log_partition, changelog, stop);
        }
        let Some(snapshot) = self.snapshot(log_partition, changelog)? else { return Ok(None) };
        let next_offset = snapshot.changelog_offset();
        let position = snapshot.position().clone();
        let (detector, rules) = (Arc::clone(&self.detector), self.config.cluster_rules());
        let restoration = Restoration::up_to(&position, detector, rules);
        let mut followed = TableReplica::new(restoration, None, next_offset);
        let read = snapshot.read(|log_offset, value| {
            let taken = followed.restoration.apply_snapshot(&position, log_offset, value);
            taken.map_err(|error| Unusable::Damaged(error.to_string()))?;
            Ok(!stop())
        });
        match read {
            Ok(Some(position)) => match followed.restoration.apply_snapshot_position(position) {
                Ok(()) => Ok(Some(followed)),
                Err(error) => {
                    self.set_aside(log_partition, &error);
                    Ok(None)
                }
            },
            Ok(None) => Ok(None),
            Err(Unusable::Io(error)) => {
                tracing::warn!(partition = log_partition, "the snapshot cannot be read now: {error}");
                Ok(None)
            }
            Err(unusable) => {
                self.set_aside(log_partition, &unusable);
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
                Err(error) => tracing::warn!(partition = log_partition, "{error:#}; not set aside: {why}"),
            }
            return;
        }
        let Some(place) = self.snapshot_place(log_partition) else { return };
        metrics::snapshot_set_aside();
        let snapshot = place.path();
        let snapshot = snapshot.display();
        match place.set_aside() {
            Ok(aside) => tracing::warn!(
                partition = log_partition,
                "snapshot {snapshot} is not used and set aside as {}, the table is restored from the changelog: {why}",
                aside.display()
            ),
            Err(error) => tracing::warn!(
                partition = log_partition,
                "snapshot {snapshot} is not used, the table is restored from the changelog: {why} (and it cannot be set \
                 aside: {error})"
            ),
        }
    }
}
