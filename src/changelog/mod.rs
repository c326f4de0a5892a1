//! The changelog of a centroid table: every centre by its cluster id, tombstones of those let go, and the
//! position record, which says how far the log is part of it all. Compacted, so it is as long as the table.
//!
//! In: [`Change`]s and a position, or the records of a topic partition. Out: the records of one transaction, or
//! a table ([`restore`]). Centres stand in order of founding, since none is ever written twice; tombstones take
//! the oldest first. Pure: no broker.

pub mod restore;

use prost::Message;

use crate::cluster::{Change, ClusterId, Position};
use crate::fingerprint::Detector;
use crate::log::watermarks::Watermarks;
use crate::page::timestamp::Timestamp;
use crate::proto::{self, FORMAT_VERSION};
use crate::snapshot::centroid;

/// Key of the position record; all other keys are cluster ids of 16 bytes.
pub const POSITION_KEY: &[u8] = b"position";

/// A record of the changelog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangelogRecord {
    /// [`POSITION_KEY`] or a cluster id.
    pub key: Vec<u8>,
    /// None is a tombstone.
    pub value: Option<Vec<u8>>,
}

/// What a table belongs to; written into its position record and compared when it is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Partition of the log.
    pub log_partition: u32,
    /// Partitions of the log, which decide what corpus is where.
    pub log_partition_count: u32,
    /// Of the settings left of the log, at this instance.
    pub fingerprint_hash: u64,
    /// Of the settings right of the log.
    pub cluster_hash: u64,
    /// Of the settings that say what corpus a page belongs to; 0 where nobody asks.
    pub corpus_hash: u64,
    /// XXH3-64 of the installation's name; 0 where there is none.
    pub app_hash: u64,
}

/// The record for `change` of a table of the log `log_generation`.
#[must_use]
pub fn change_record(
    change: &Change,
    log_generation: u32,
    log_partition: u32,
    detector: &dyn Detector,
) -> ChangelogRecord {
    let (log_offset, value) = match change {
        Change::Expired { log_offset } => (*log_offset, None),
        Change::Founded { corpus, fingerprint_hash, centroid } => {
            let message = centroid::to_message(corpus, *fingerprint_hash, centroid, detector);
            (centroid.log_offset, Some(message.encode_to_vec()))
        }
    };
    let key = ClusterId { log_generation, log_partition, log_offset }.to_bytes().to_vec();
    ChangelogRecord { key, value }
}

/// The position record.
#[must_use]
pub fn position_record(message: &proto::Position) -> ChangelogRecord {
    ChangelogRecord { key: POSITION_KEY.to_vec(), value: Some(message.encode_to_vec()) }
}

/// The message of a position record.
#[must_use]
pub fn position_message(
    position: Position,
    identity: &Identity,
    cluster_hash_since: u64,
    centroid_count: u64,
    watermarks: &Watermarks,
) -> proto::Position {
    proto::Position {
        format_version: FORMAT_VERSION,
        log_generation: position.log_generation,
        log_partition: position.log_partition,
        next_log_offset: position.next_log_offset,
        log_time_ms: position.log_time.map(Timestamp::as_ms),
        fingerprint_hash: identity.fingerprint_hash,
        cluster_hash: identity.cluster_hash,
        centroid_count,
        watermarks: watermarks
            .iter()
            .map(|(topic, partition, watermark)| proto::Watermark {
                topic: topic.to_owned(),
                partition,
                epoch: watermark.epoch,
                offset: watermark.offset,
                newest_timestamp_ms: watermark.newest_timestamp_ms,
                gap_accepted: watermark.gap_accepted,
            })
            .collect(),
        cluster_hash_since,
        gaps_accepted_before: watermarks.gaps_accepted_before(),
        log_partition_count: identity.log_partition_count,
        corpus_hash: Some(identity.corpus_hash).filter(|hash| *hash != 0),
        app_hash: Some(identity.app_hash).filter(|hash| *hash != 0),
    }
}
