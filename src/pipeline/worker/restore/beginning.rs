//! Where a restore begins. Whatever it is, the changelog is read on to its end from there:
//!
//! ```text
//! what the standby has followed ─┐
//! a local snapshot ──────────────┼─► changelog to its end ─► checks ─► table
//! the changelog's beginning ─────┘
//! ```
//! Invariants: the first two are short cuts; where one of them does not fit, it is dropped with a message, and the
//! next one is tried.

use std::fmt;
use std::sync::Arc;

use rdkafka::message::{BorrowedMessage, Message};
use xxhash_rust::xxh3::xxh3_64;

use crate::changelog::Identity;
use crate::changelog::restore::{Restoration, RestoreError};
use crate::config::hash::{cluster_hash, corpus_hash};
use crate::page::timestamp::Timestamp;
use crate::pipeline::kafka::topics::Topics;
use crate::pipeline::worker::cluster::Cluster;
use crate::snapshot::of_changelog::{ChangelogSnapshot, SnapshotPlace, Unusable, Wanted};
use crate::telemetry::metrics;

/// A table as far as the changelog was read.
pub(in crate::pipeline::worker) struct Followed {
    pub(in crate::pipeline::worker) restoration: Restoration,
    /// The first offset of the changelog that is not part of it.
    pub(in crate::pipeline::worker) next_offset: u64,
}

/// Where a restore begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipeline::worker) enum Source {
    /// At what this instance has followed while another one was the owner.
    Standby,
    /// At the local snapshot.
    Snapshot,
    /// At the changelog's beginning.
    Changelog,
}

impl Source {
    /// The shortest way first.
    pub(in crate::pipeline::worker) const ALL: [Self; 3] = [Self::Standby, Self::Snapshot, Self::Changelog];
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

impl Followed {
    /// Takes the next record of the changelog.
    pub(in crate::pipeline::worker) fn take(
        &mut self,
        message: &BorrowedMessage<'_>,
    ) -> Result<(), RestoreError> {
        self.restoration.take(message.key(), message.payload())?;
        self.next_offset = u64::try_from(message.offset()).unwrap_or(0) + 1;
        Ok(())
    }
}

impl Cluster {
    /// What the tables of `log_partition` belong to.
    pub(in crate::pipeline::worker) fn identity(&self, log_partition: u32) -> Identity {
        Identity {
            log_partition,
            log_partition_count: self.log_partitions,
            fingerprint_hash: self.half.fingerprint_hash(),
            cluster_hash: cluster_hash(&self.config, &**self.half.detector()),
            corpus_hash: corpus_hash(&self.config),
            app_hash: xxh3_64(self.config.kafka.app.as_bytes()),
        }
    }

    /// An empty table, at the first offset of the changelog.
    pub(in crate::pipeline::worker) fn at_beginning(&self, start: u64) -> Followed {
        let detector = Arc::clone(self.half.detector());
        let restoration = Restoration::new(detector, self.config.expiry.clone());
        Followed { restoration, next_offset: start }
    }

    /// Where the snapshots of `log_partition` are; none where there are to be none.
    pub(in crate::pipeline::worker) fn snapshot_place(&self, log_partition: u32) -> Option<SnapshotPlace> {
        let folder = self.config.kafka.snapshots.dir.as_deref()?;
        Some(SnapshotPlace::new(folder, &self.config.kafka.app, log_partition))
    }

    /// The snapshot of `log_partition`, if there is one that fits; one that does not is set aside. `bounds` are the
    /// changelog's.
    pub(in crate::pipeline::worker) fn snapshot(
        &self,
        log_partition: u32,
        bounds: (u64, u64),
    ) -> anyhow::Result<Option<ChangelogSnapshot>> {
        let Some(place) = self.snapshot_place(log_partition) else { return Ok(None) };
        let opened = match place.open() {
            Ok(None) => return Ok(None),
            Ok(Some(snapshot)) => {
                let delete_retention = Topics::new(&self.config.kafka)?.delete_retention()?;
                let identity = &self.identity(log_partition);
                let topic = &self.config.kafka.topics.centroids;
                let now = Timestamp::now();
                snapshot.check(&Wanted { topic, identity, bounds, delete_retention, now }).map(|()| snapshot)
            }
            Err(unusable) => Err(unusable),
        };
        match opened {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(unusable) => {
                self.set_aside(log_partition, &unusable);
                Ok(None)
            }
        }
    }

    /// The table in the snapshot, if there is one that fits; none also if `stop` says so meanwhile.
    pub(in crate::pipeline::worker) fn at_snapshot(
        &self,
        log_partition: u32,
        bounds: (u64, u64),
        stop: impl Fn() -> bool,
    ) -> anyhow::Result<Option<Followed>> {
        let Some(snapshot) = self.snapshot(log_partition, bounds)? else { return Ok(None) };
        let next_offset = snapshot.changelog_offset();
        let position = snapshot.position().clone();
        let mut followed = Followed { next_offset, ..self.at_beginning(0) };
        let read = snapshot.read(|log_offset, value| {
            let taken = followed.restoration.take_saved(&position, log_offset, value);
            taken.map_err(|error| Unusable::Damaged(error.to_string()))?;
            Ok(!stop())
        });
        match read {
            Ok(Some(position)) => {
                followed.restoration.take_saved_position(position);
                Ok(Some(followed))
            }
            Ok(None) => Ok(None),
            Err(unusable) => {
                self.set_aside(log_partition, &unusable);
                Ok(None)
            }
        }
    }

    /// Puts a snapshot that is of no use out of the way.
    pub(in crate::pipeline::worker) fn set_aside(&self, log_partition: u32, why: &dyn fmt::Display) {
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
