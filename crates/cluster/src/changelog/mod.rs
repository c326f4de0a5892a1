//! The changelog of a centroid table, a queue: every centroid by its cluster id, each once, in order
//! of founding; which pages have taken the place of canonical pages; texts of pages that joined; the last
//! crawl of each url, where pages are known again; and the position record, which says how far the log is part of it all.
//!
//! In: [new centroids](NewCentroid) and a position, or the records of a topic partition. Out: the
//! records of one transaction, or a table ([`restore`]). Pure: no broker.
//!
//! A centroid's *number* is how many were founded before it in the log partition, in all corpora, so
//! numbers are dense. The position record says which ones have not expired; brokers may delete what
//! stands before the first of these. Up to format version 1 the topic was compacted, centroids had
//! no numbers, and tombstones took the oldest one out.

pub mod centroid;
pub mod crawl;
#[cfg(test)]
mod crawl_tests;
pub mod restore;
#[cfg(test)]
pub(crate) mod tests;
pub mod texts;

use prost::Message;

use crate::log::identity::{TopicId, TopicIds};
use crate::log::watermarks::Watermarks;
use crate::{Bounds, Canonical, ClusterId, Clusterer, NewCanonical, NewCentroid, TextBounds};
pub use crawl::crawl_record;
use leitong_base::proto::{
    self, CHANGELOG_CANONICAL_FORMAT_VERSION, CHANGELOG_FORMAT_VERSION, CHANGELOG_TEXTS_FORMAT_VERSION,
    FORMAT_VERSION,
};
use leitong_base::record::timestamp::Timestamp;
use leitong_fingerprint::Detector;
pub use texts::text_records;

/// Key of the position record; all other keys begin with a cluster id of 16 bytes.
pub const POSITION_KEY: &[u8] = b"position";
/// What follows the cluster id in the key of a record that says which page stands for the cluster
/// from there on; nothing follows it in that of a centroid.
const CANONICAL_SUFFIX: &[u8] = b"/canonical";

/// The cluster of a record that is no position, by its key; of a record of a crawl the name that a
/// cluster would have that was founded there.
#[must_use]
pub fn cluster_of(key: &[u8]) -> Option<ClusterId> {
    let [crawl, ended] = crawl::SUFFIXES;
    let id = [CANONICAL_SUFFIX, crawl, ended, texts::SUFFIX]
        .into_iter()
        .find_map(|suffix| key.strip_suffix(suffix));
    let id = id.unwrap_or(key);
    id.try_into().ok().map(ClusterId::from_bytes)
}

/// A record of the changelog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangelogRecord {
    /// [`POSITION_KEY`], or a cluster id with what may follow it.
    pub key: Vec<u8>,
    /// None is a tombstone, which nobody writes any more.
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

/// The record for a centroid of a table of the log `log_generation`.
#[must_use]
pub fn centroid_record(
    founded: &NewCentroid,
    log_generation: u32,
    log_partition: u32,
    detector: &dyn Detector,
) -> ChangelogRecord {
    let NewCentroid { number, corpus, fingerprint_hash, centroid, rank } = founded;
    let mut message = proto::Centroid {
        format_version: match rank {
            Some(_) => CHANGELOG_CANONICAL_FORMAT_VERSION,
            None => CHANGELOG_FORMAT_VERSION,
        },
        number: Some(*number),
        ..centroid::to_message(corpus, *fingerprint_hash, centroid, detector)
    };
    centroid::set_canonical(&mut message, rank.map(|rank| Canonical { rank, page: None }));
    let key = ClusterId { log_generation, log_partition, log_offset: centroid.log_offset };
    ChangelogRecord { key: key.to_bytes().to_vec(), value: Some(message.encode_to_vec()) }
}

/// The record that says which page stands for a cluster from there on.
#[must_use]
pub fn canonical_record(new: NewCanonical, log_generation: u32, log_partition: u32) -> ChangelogRecord {
    let NewCanonical { number, log_offset, canonical } = new;
    let mut message = proto::Centroid {
        format_version: CHANGELOG_CANONICAL_FORMAT_VERSION,
        log_offset,
        number: Some(number),
        ..proto::Centroid::default()
    };
    centroid::set_canonical(&mut message, Some(canonical));
    let id = ClusterId { log_generation, log_partition, log_offset }.to_bytes();
    ChangelogRecord { key: [&id, CANONICAL_SUFFIX].concat(), value: Some(message.encode_to_vec()) }
}

/// The position record.
#[must_use]
pub fn position_record(message: &proto::Position) -> ChangelogRecord {
    ChangelogRecord { key: POSITION_KEY.to_vec(), value: Some(message.encode_to_vec()) }
}

/// The message of a position record.
#[must_use]
pub fn position_message(
    clusterer: &Clusterer,
    identity: &Identity,
    cluster_hash_since: u64,
    table_id: Option<u64>,
    watermarks: &Watermarks,
) -> proto::Position {
    let (centroid_count, oldest_log_offset) = clusterer.unexpired();
    let crawls = clusterer.crawl_bounds();
    proto::Position {
        format_version: CHANGELOG_TEXTS_FORMAT_VERSION,
        crawls: crawls.map(|(counted, _)| counted),
        crawls_dead_below: crawls.map_or(0, |(_, dead_below)| dead_below),
        table_id,
        oldest_log_offset,
        ..table_message(clusterer, identity, cluster_hash_since, centroid_count, watermarks)
    }
}

/// What a saved table says of itself; its `centroid_count` centroids, the youngest, follow.
#[must_use]
pub fn table_message(
    clusterer: &Clusterer,
    identity: &Identity,
    cluster_hash_since: u64,
    centroid_count: u64,
    watermarks: &Watermarks,
) -> proto::Position {
    let (position, bounds) = (clusterer.position(), clusterer.bounds());
    let texts = clusterer.text_bounds();
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
        founded: Some(clusterer.founded()),
        table_id: None,
        dead_below: bounds.dead_below,
        dead_before_ms: bounds.dead_before.map(Timestamp::as_ms),
        oldest_log_offset: None,
        crawls: None,
        crawls_dead_below: 0,
        crawl_change_count: 0,
        runs: Vec::new(),
        texts: Some(texts.counted),
        texts_dead_below: texts.dead_below,
        texts_needed_from: texts.needed_from,
        text_count: 0,
    }
}

/// The bounds in a position record.
#[must_use]
pub fn bounds(position: &proto::Position) -> Bounds {
    let dead_before = position.dead_before_ms.and_then(Timestamp::from_ms);
    Bounds { dead_below: position.dead_below, dead_before }
}

/// What a position record says of the texts; `None` in those of former versions.
#[must_use]
pub fn text_bounds(position: &proto::Position) -> Option<TextBounds> {
    let (dead_below, needed_from) = (position.texts_dead_below, position.texts_needed_from);
    position.texts.map(|counted| TextBounds { counted, dead_below, needed_from })
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
