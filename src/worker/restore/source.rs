//! Where a restore begins. Whatever it is, the changelog is read on to its end from there:
//!
//! ```text
//! what the standby has followed ─┐
//! a local snapshot ──────────────┼─► changelog to its end ─► checks ─► table
//! the changelog's beginning ─────┘
//! ```
//! Invariants: the first two are short cuts; where one of them does
//! not fit, it is dropped with a message, and the next one is tried.

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

/// A table as far as the changelog was read.
pub(crate) struct TableReplica {
    pub(crate) restoration: Restoration,
    /// Its part on disk, if it has one.
    pub(crate) disk: Option<DiskTable>,
    /// The first offset of the changelog that is not part of it.
    pub(crate) next_offset: u64,
    /// It has been read to the changelog's end, for look-ups: these find all of it behind each
    /// position record.
    pub(crate) is_whole: bool,
    /// What was taken last ended a transaction.
    pub(crate) is_at_position: bool,
}

/// Where a restore begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// At what this instance has followed while another one was the owner.
    Standby,
    /// At the local snapshot.
    Snapshot,
    /// At the changelog's beginning.
    Changelog,
}

impl Source {
    /// The shortest way first.
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
    /// As far as before `next_offset`, where a transaction has ended.
    pub(crate) fn new(restoration: Restoration, disk: Option<DiskTable>, next_offset: u64) -> Self {
        Self { restoration, disk, next_offset, is_whole: false, is_at_position: true }
    }

    /// Takes the next record of the changelog; `now` is the time.
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

    /// Goes on with what waits in memory to be written to disk. The changelog has been read to its end, for now.
    pub(crate) fn at_end(&mut self, now: Instant) -> Result<(), RestoreError> {
        if self.disk.is_some() {
            self.insert_pending()?;
            self.at_position(now)?;
        }
        Ok(())
    }

    /// Makes look-ups read it from here on: it is as far as the changelog was a moment ago.
    pub(crate) fn let_read(&mut self) -> Result<(), RestoreError> {
        if !self.is_whole {
            self.insert_pending()?;
            self.is_whole = true;
        }
        Ok(())
    }

    /// The table, where look-ups may read it: as of the end of a transaction.
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

    /// Moves files that cannot be read out of the way, so that the next restore does not use them.
    fn or_set_aside(&self, result: Result<(), RestoreError>) -> Result<(), RestoreError> {
        if let (Err(RestoreError::Disk(fault)), Some(disk)) = (&result, &self.disk) {
            disk.set_aside_after(fault);
        }
        result
    }
}

/// Where the changelog is to be read from for a whole table, and the last position,
/// which says so; none where there is none with numbers, and all is to be read.
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
    /// An empty table, at the first centroid of the changelog that has not expired. What stands
    /// before it, brokers delete now and then, if they can.
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

    /// Where the snapshots of `log_partition` are; none where there are to be none.
    pub(crate) fn snapshot_place(&self, log_partition: u32) -> Option<SnapshotPlace> {
        let folder = self.config.kafka.snapshots.dir.as_deref()?;
        Some(SnapshotPlace::new(folder, &self.config.kafka.app, log_partition))
    }

    /// The snapshot of `log_partition`, if there is one that fits; one that does not is set aside.
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
            // The file may be sound: a disk that does not answer says nothing about it.
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

    /// The table in the snapshot, if there is one that fits; none also if `stop` says so meanwhile.
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

    /// Puts a snapshot that is of no use out of the way.
    pub(crate) fn set_aside(&self, log_partition: u32, why: &dyn fmt::Display) {
        if self.config.table.on_disk {
            match self.table_folder(log_partition, || false) {
                Ok(folder) => disk::set_aside(log_partition, &*folder.files, why),
                // Whoever begins anew in the folder takes away what is there.
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
