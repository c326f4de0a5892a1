//! Records of the changelog → the table they describe.
//!
//! Invariants: the table is the one whose last transaction was read, or
//! there is an error; nothing is begun anew where anything was there.
//! Memory: the live centroids, and those whose tombstone is still to come.

use std::sync::Arc;

use prost::Message;
use thiserror::Error;

use super::centroid;
use super::{Identity, POSITION_KEY, topic_ids};
use crate::cluster::ExpiryConfig;
use crate::cluster::{ClusterId, Clusterer, Position};
use crate::fingerprint::Detector;
use crate::log::identity::{Replaced, TopicId};
use crate::log::watermarks::{Watermark, Watermarks};
use crate::proto::{self, FORMAT_VERSION};
use crate::record::timestamp::Timestamp;

/// Why a table cannot be restored.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum RestoreError {
    /// Written by a newer Leitong.
    #[error(
        "the changelog holds format version {found}, newer than {FORMAT_VERSION}, which this version of Leitong \
         knows; update this instance"
    )]
    TooNew {
        /// Its version.
        found: u32,
    },
    /// Not what Leitong wrote.
    #[error(
        "the changelog is damaged: {0}; see `Rebuilding a table` in docs/kafka.md, and let nothing else write to \
         this topic"
    )]
    Damaged(String),
    /// The log had another number of partitions.
    #[error(
        "the table was made with {found} partitions of the log, and now there are {wanted}: pages of one corpus \
         would be split over two tables; use the old topics, or other topics and another kafka.app"
    )]
    PartitionCount {
        /// As the position record says.
        found: u32,
        /// As the topic has.
        wanted: u32,
    },
    /// The log or the changelog is another topic than the one that the table was made with.
    #[error(transparent)]
    Replaced(#[from] Replaced),
    /// Another installation writes to it.
    #[error(
        "the changelog was written under another kafka.app: two installations that share topics would give each page \
         two verdicts; use the old name, or topics of its own (kafka.topics.*)"
    )]
    OtherApp,
    /// The settings downstream of the log have changed.
    #[error(
        "the settings of clustering have changed: the table was made with cluster_hash {found:016x}, this \
         instance has {wanted:016x}; run with the old settings, or accept the change from log offset {at} on with \
         `leitong run --accept-cluster-hash {wanted:016x}`"
    )]
    ClusterHash {
        /// As the position record says.
        found: u64,
        /// Ours.
        wanted: u64,
        /// Where the change would take effect.
        at: u64,
    },
}

/// A table that is being restored.
pub struct Restoration {
    clusterer: Clusterer,
    detector: Arc<dyn Detector>,
    position: Option<proto::Position>,
    newest: Option<u64>,
    log_generation: Option<u32>,
}

/// A restored table.
pub struct Restored {
    /// At its position.
    pub clusterer: Clusterer,
    /// What of the source is part of it.
    pub watermarks: Watermarks,
    /// Since when the settings are in force.
    pub cluster_hash_since: u64,
}

impl Restoration {
    /// Nothing restored yet.
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, expiry: ExpiryConfig) -> Self {
        let clusterer = Clusterer::new(Arc::clone(&detector), expiry, Position::default());
        Self { clusterer, detector, position: None, newest: None, log_generation: None }
    }

    /// A table that its owner has given back, with all that
    /// it has committed; the records behind that may follow.
    #[must_use]
    pub fn resume(clusterer: Clusterer, position: proto::Position, detector: Arc<dyn Detector>) -> Self {
        Self {
            clusterer,
            detector,
            newest: position.next_log_offset.checked_sub(1),
            log_generation: Some(position.log_generation).filter(|generation| *generation != 0),
            position: Some(position),
        }
    }

    /// Takes a live centroid of a snapshot of the changelog; its position is to follow.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn apply_snapshot(
        &mut self,
        position: &proto::Position,
        log_offset: u64,
        value: &[u8],
    ) -> Result<(), RestoreError> {
        let proto::Position { log_generation, log_partition, .. } = *position;
        let key = ClusterId { log_generation, log_partition, log_offset }.to_bytes();
        self.take(Some(&key), Some(value))
    }

    /// Takes the position of a snapshot of the changelog.
    pub fn apply_snapshot_position(&mut self, position: proto::Position) {
        self.position = Some(position);
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// [`RestoreError`], where it is none that Leitong wrote there.
    pub fn take(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), RestoreError> {
        let damaged = |what: &str| RestoreError::Damaged(what.to_owned());
        let key = key.ok_or_else(|| damaged("a record without a key"))?;
        if key == POSITION_KEY {
            let value = value.ok_or_else(|| damaged("the position record was deleted"))?;
            let position = proto::Position::decode(value)
                .map_err(|error| RestoreError::Damaged(format!("a position record is broken: {error}")))?;
            known(position.format_version)?;
            self.position = Some(position);
            return Ok(());
        }
        let id = key.try_into().map(ClusterId::from_bytes);
        let id = id.map_err(|_| {
            let begin = key[..key.len().min(20)].escape_ascii();
            RestoreError::Damaged(format!("a key of {} bytes, \"{begin}\"", key.len()))
        })?;
        if *self.log_generation.get_or_insert(id.log_generation) != id.log_generation {
            return Err(damaged("centroids of two logs"));
        }
        match value {
            // A tombstone whose centroid is compacted away, or one that takes the oldest.
            None => {
                let known = self.clusterer.oldest_log_offset().is_some_and(|oldest| oldest <= id.log_offset);
                if known && self.newest >= Some(id.log_offset) && !self.clusterer.forget_oldest(id.log_offset)
                {
                    return Err(RestoreError::Damaged(format!(
                        "centroid {} was evicted out of order",
                        id.log_offset
                    )));
                }
                // An owner's table keeps a journal, which nobody writes down any more.
                self.clusterer.take_changes();
            }
            Some(value) => {
                let mut message = proto::Centroid::decode(value)
                    .map_err(|error| RestoreError::Damaged(format!("a centroid is broken: {error}")))?;
                known(message.format_version)?;
                let centroid =
                    centroid::from_message(&mut message, &*self.detector).map_err(RestoreError::Damaged)?;
                if centroid.log_offset != id.log_offset || self.newest >= Some(id.log_offset) {
                    return Err(RestoreError::Damaged(format!("centroid {} is out of order", id.log_offset)));
                }
                self.newest = Some(id.log_offset);
                self.clusterer.restore(&message.corpus, message.fingerprint_hash, &centroid);
            }
        }
        Ok(())
    }

    /// The last position record.
    #[must_use]
    pub fn position(&self) -> Option<&proto::Position> {
        self.position.as_ref()
    }

    /// Centroids so far.
    #[must_use]
    pub fn centroid_count(&self) -> usize {
        self.clusterer.centroid_count()
    }

    /// The table, at the changelog's end; none where the changelog is empty. `accepted`
    /// is a cluster hash that may replace the one that the table was made with.
    ///
    /// # Errors
    /// [`RestoreError`], where the table is not whole or belongs to other settings.
    pub fn finish(
        self,
        identity: &Identity,
        accepted: Option<u64>,
    ) -> Result<Option<Restored>, RestoreError> {
        let Some(saved) = self.position else {
            return match self.newest {
                None => Ok(None),
                Some(_) => Err(RestoreError::Damaged("centroids without a position record".to_owned())),
            };
        };
        // First of all: what else does not fit may follow from it.
        topic_ids(&saved).verify(&identity.topic_ids)?;
        let count = self.clusterer.centroid_count() as u64;
        if saved.centroid_count != count {
            let message =
                format!("{count} centroids where the position record says {}", saved.centroid_count);
            return Err(RestoreError::Damaged(message));
        }
        // A centroid and a tombstone of a transaction whose
        // position is missing would leave the count as it was.
        if let Some(newest) = self.newest.filter(|newest| *newest >= saved.next_log_offset) {
            return Err(RestoreError::Damaged(format!(
                "centroid {newest} where the position record says that the log was read up to {}",
                saved.next_log_offset
            )));
        }
        if self.log_generation.is_some_and(|generation| generation != saved.log_generation) {
            return Err(other_log());
        }
        check_identity(&saved, identity, accepted)?;
        let same_settings = saved.cluster_hash == identity.cluster_hash;
        let cluster_hash_since = if same_settings { saved.cluster_hash_since } else { saved.next_log_offset };
        let mut clusterer = self.clusterer;
        clusterer.set_position(Position {
            log_generation: saved.log_generation,
            log_partition: saved.log_partition,
            next_log_offset: saved.next_log_offset,
            log_time: saved.log_time_ms.and_then(Timestamp::from_ms),
        });
        Ok(Some(Restored { clusterer, watermarks: watermarks(&saved), cluster_hash_since }))
    }
}

/// Whether the table of the position record `saved` belongs
/// to `identity`, or to other settings that are `accepted`.
///
/// # Errors
/// [`RestoreError`], where it does not.
pub fn check_identity(
    saved: &proto::Position,
    identity: &Identity,
    accepted: Option<u64>,
) -> Result<(), RestoreError> {
    if saved.log_partition != identity.log_partition {
        return Err(other_log());
    }
    if saved.log_partition_count != identity.log_partition_count {
        let (found, wanted) = (saved.log_partition_count, identity.log_partition_count);
        return Err(RestoreError::PartitionCount { found, wanted });
    }
    if saved.app_hash.is_some_and(|found| found != identity.app_hash) {
        return Err(RestoreError::OtherApp);
    }
    let (found, wanted, at) = (saved.cluster_hash, identity.cluster_hash, saved.next_log_offset);
    if found != wanted && accepted != Some(wanted) {
        return Err(RestoreError::ClusterHash { found, wanted, at });
    }
    Ok(())
}

fn other_log() -> RestoreError {
    RestoreError::Damaged("it belongs to another log or partition".to_owned())
}

/// The watermarks in a position record.
#[must_use]
pub fn watermarks(position: &proto::Position) -> Watermarks {
    let mut watermarks = Watermarks::default();
    watermarks.restore_gaps_accepted_before(position.gaps_accepted_before);
    for saved in &position.watermarks {
        let watermark = Watermark {
            epoch: saved.epoch,
            offset: saved.offset,
            newest_timestamp_ms: saved.newest_timestamp_ms,
            gap_accepted: saved.gap_accepted,
            topic_id: saved.topic_id.as_ref().and_then(|id| TopicId::from_bytes(id)),
        };
        watermarks.restore(&saved.topic, saved.partition, watermark);
    }
    watermarks
}

fn known(format_version: u32) -> Result<(), RestoreError> {
    match format_version {
        0 => Err(RestoreError::Damaged("a record without a format version".to_owned())),
        found if found > FORMAT_VERSION => Err(RestoreError::TooNew { found }),
        _ => Ok(()),
    }
}
