//! The changelog of a centroid table: every centroid by its cluster id,
//! tombstones of those let go, and the position record, which says how far
//! the log is part of it all. Compacted, so it is as long as the table.
//!
//! In: [`Change`]s and a position, or the records of a topic partition. Out: the records
//! of one transaction, or a table ([`restore`]). Centroids stand in order of founding,
//! since none is ever written twice; tombstones take the oldest first. Pure: no broker.

pub(crate) mod centroid;
pub mod restore;

use prost::Message;
use xxhash_rust::xxh3::xxh3_64;

use crate::cluster::{Change, ClusterId, Position};
use crate::config::Config;
use crate::config::hash::{cluster_hash, corpus_hash};
use crate::fingerprint::Detector;
use crate::log::identity::{TopicId, TopicIds};
use crate::log::watermarks::Watermarks;
use crate::proto::{self, FORMAT_VERSION};
use crate::record::timestamp::Timestamp;

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
    /// Of the settings upstream of the log, at this instance.
    pub fingerprint_hash: u64,
    /// Of the settings downstream of the log.
    pub cluster_hash: u64,
    /// Of the settings that say what corpus a page belongs to; 0 where nobody asks.
    pub corpus_hash: u64,
    /// XXH3-64 of the installation's name; 0 where there is none.
    pub app_hash: u64,
    /// The log and the changelog, as the broker knows them now.
    pub topic_ids: TopicIds,
}

impl Identity {
    /// That of a worker with these `settings`: configuration, detector and
    /// `fingerprint_hash`. `log_partition` is one, and how many there are.
    #[must_use]
    pub fn of(
        settings: (&Config, &dyn Detector, u64),
        log_partition: (u32, u32),
        topic_ids: TopicIds,
    ) -> Self {
        let (config, detector, fingerprint_hash) = settings;
        let (log_partition, log_partition_count) = log_partition;
        Self {
            log_partition,
            log_partition_count,
            fingerprint_hash,
            cluster_hash: cluster_hash(config, detector),
            corpus_hash: corpus_hash(config),
            app_hash: xxh3_64(config.kafka.app.as_bytes()),
            topic_ids: topic_ids.of_table(),
        }
    }
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
                topic_id: id_bytes(watermark.topic_id),
            })
            .collect(),
        cluster_hash_since,
        gaps_accepted_before: watermarks.gaps_accepted_before(),
        log_partition_count: identity.log_partition_count,
        corpus_hash: Some(identity.corpus_hash).filter(|hash| *hash != 0),
        app_hash: Some(identity.app_hash).filter(|hash| *hash != 0),
        log_topic_id: id_bytes(identity.topic_ids.log),
        changelog_topic_id: id_bytes(identity.topic_ids.changelog),
        blocks: None,
    }
}

/// The ids of log and changelog in a position record.
#[must_use]
pub fn topic_ids(position: &proto::Position) -> TopicIds {
    let id =
        |bytes: &Option<prost::bytes::Bytes>| bytes.as_ref().and_then(|bytes| TopicId::from_bytes(bytes));
    TopicIds { pages: None, log: id(&position.log_topic_id), changelog: id(&position.changelog_topic_id) }
}

fn id_bytes(id: Option<TopicId>) -> Option<prost::bytes::Bytes> {
    id.map(|id| id.to_bytes().to_vec().into())
}
