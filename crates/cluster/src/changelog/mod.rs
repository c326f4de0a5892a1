//! The changelog of a centroid table, a queue of records. It contains every centroid once, by its cluster id,
//! in order of founding; changes of canonical pages; texts of pages that joined; and, if recrawls are
//! enabled, the last crawl of each url. The position record says up to which log offset all of this is
//! complete.
//!
//! In: [new centroids](NewCentroid) and a position, or the records of a topic partition. Out: the
//! records of one transaction, or a table ([`restore`]). Pure: no broker.
//!
//! The *number* of a centroid is the number of centroids in all corpora that were founded before it in the
//! log partition, so there are no gaps. The position record says which centroids have not expired. Brokers
//! may delete all records before the first of these.

mod centroid;
mod crawl;
#[cfg(test)]
mod crawl_tests;
pub(crate) mod restore;
mod restore_error;
#[cfg(test)]
pub(crate) mod tests;
mod texts;

use prost::Message;

use crate::log::identity::{TopicId, TopicIds};
use crate::log::watermarks::Watermarks;
use crate::{
    Bounds, Canonical, Changes, ClusterId, Clusterer, NewCanonical, NewCentroid, Position, TableFault,
    TextBounds,
};
use leitong_base::proto::{self, FORMAT_VERSION};
use leitong_base::record::Timestamp;
use leitong_fingerprint::Detector;
pub use restore::{Restoration, Restored};
pub use restore_error::RestoreError;

/// Key of the position record. All other keys begin with a cluster id of 16 bytes.
pub const POSITION_KEY: &[u8] = b"position";
/// Suffix of the key of a record that changes the canonical page of a cluster. The key of a centroid has no
/// suffix.
const CANONICAL_SUFFIX: &[u8] = b"/canonical";
/// Suffixes of the key of a crawl, after the log offset of the crawled page: for a change of the page, and for the end
/// of the cluster that it has left. No two records have the same key.
const CRAWL_SUFFIXES: [&[u8]; 2] = [b"/crawl", b"/ended"];
/// Suffix of the key of texts, after the log offset of the last page.
const TEXTS_SUFFIX: &[u8] = b"/texts";

/// A record of the changelog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangelogRecord {
    /// [`POSITION_KEY`], or a cluster id with an optional suffix.
    pub key: Vec<u8>,
    /// The encoded message.
    pub value: Vec<u8>,
}

impl ChangelogRecord {
    /// Format version of the changelog and its snapshots. Version 1 had no numbers, and is not read any more.
    pub const FORMAT_VERSION: u32 = 2;
    /// Format version of changelogs that name canonical pages other than the founders of clusters. An older
    /// reader would name the wrong pages in verdicts.
    const CANONICAL_FORMAT_VERSION: u32 = 3;
    /// Format version of changelogs that contain crawled urls. An older reader would mistake a recrawled page for
    /// a new one, or for a copy of a page that is gone.
    pub const CRAWLS_FORMAT_VERSION: u32 = 4;
    /// Format version of texts of pages that joined clusters, and of positions, which count them. An older reader
    /// would mistake a text already seen for a new one.
    pub(crate) const TEXTS_FORMAT_VERSION: u32 = 5;
    /// Newest format version of the changelog that this program can read.
    pub const FORMAT_VERSION_MAX: u32 = Self::TEXTS_FORMAT_VERSION;

    /// Returns the cluster in a record's key, or `None` for a position record. For the record of a crawl, it is
    /// the id that a cluster founded at that log offset would have.
    #[must_use]
    pub fn cluster_of(key: &[u8]) -> Option<ClusterId> {
        let [crawl, ended] = CRAWL_SUFFIXES;
        let id = [CANONICAL_SUFFIX, crawl, ended, TEXTS_SUFFIX]
            .into_iter()
            .find_map(|suffix| key.strip_suffix(suffix));
        let id = id.unwrap_or(key);
        id.try_into().ok().map(ClusterId::from_bytes)
    }

    /// Returns the position record with this message.
    #[must_use]
    pub fn from_position(message: &proto::Position) -> Self {
        Self { key: POSITION_KEY.to_vec(), value: message.encode_to_vec() }
    }
}

/// The identity of a table. It is stored in the position record and compared when the table is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The partition of the log.
    pub log_partition: u32,
    /// Number of partitions of the log. It decides which partition a corpus is in.
    pub log_partition_count: u32,
    /// Hash of the settings that apply before the log, at this instance.
    pub fingerprint_hash: u64,
    /// Hash of the settings that apply after the log.
    pub cluster_hash: u64,
    /// Hash of the settings that decide which corpus a page belongs to, or 0 if it is not compared.
    pub corpus_hash: u64,
    /// XXH3-64 of the installation's name, or 0 if it has none.
    pub app_hash: u64,
    /// The ids of log and changelog, as the broker reports them now.
    pub topic_ids: TopicIds,
}

impl Identity {
    /// Returns the message of the position record of a table with this identity.
    ///
    /// # Errors
    /// [`TableFault`] if the table cannot be relied on any more.
    pub fn position(
        &self,
        clusterer: &Clusterer,
        cluster_hash_since: u64,
        table_id: Option<u64>,
        watermarks: &Watermarks,
    ) -> Result<proto::Position, TableFault> {
        let (centroid_count, oldest_log_offset) = clusterer.unexpired()?;
        let crawls = clusterer.crawl_bounds();
        Ok(proto::Position {
            format_version: ChangelogRecord::TEXTS_FORMAT_VERSION,
            crawls: crawls.map(|(counted, _)| counted),
            crawls_dead_below: crawls.map_or(0, |(_, dead_below)| dead_below),
            table_id,
            oldest_log_offset,
            ..self.table_position(clusterer, cluster_hash_since, centroid_count, watermarks)?
        })
    }

    /// Returns the message that describes a saved table with this identity. The `centroid_count` youngest centroids
    /// of the table follow the message.
    ///
    /// # Errors
    /// [`TableFault`] if the table cannot be relied on any more.
    pub fn table_position(
        &self,
        clusterer: &Clusterer,
        cluster_hash_since: u64,
        centroid_count: u64,
        watermarks: &Watermarks,
    ) -> Result<proto::Position, TableFault> {
        let (position, bounds) = (clusterer.position(), clusterer.bounds());
        let texts = clusterer.text_bounds()?;
        Ok(proto::Position {
            format_version: FORMAT_VERSION,
            log_generation: position.log_generation,
            log_partition: position.log_partition,
            next_log_offset: position.next_log_offset,
            log_time_ms: position.log_time.map(Timestamp::as_ms),
            fingerprint_hash: self.fingerprint_hash,
            cluster_hash: self.cluster_hash,
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
            log_partition_count: self.log_partition_count,
            corpus_hash: Some(self.corpus_hash).filter(|hash| *hash != 0),
            app_hash: Some(self.app_hash).filter(|hash| *hash != 0),
            log_topic_id: id_bytes(self.topic_ids.log),
            changelog_topic_id: id_bytes(self.topic_ids.changelog),
            founded: Some(clusterer.founded()),
            dead_below: bounds.dead_below,
            dead_before_ms: bounds.dead_before.map(Timestamp::as_ms),
            texts: Some(texts.counted),
            texts_dead_below: texts.dead_below,
            texts_needed_from: texts.needed_from,
            ..proto::Position::default()
        })
    }
}

impl Changes {
    /// Returns the records of these changes and of the position after them, in the order of the changelog.
    #[must_use]
    pub fn records(self, position: &proto::Position, detector: &dyn Detector) -> Vec<ChangelogRecord> {
        let Self { founded, canonicals, crawls, texts } = self;
        let founded = founded.iter().map(|new| new.to_record(position, detector));
        let canonicals = canonicals.into_iter().map(|new| new.into_record(position));
        let crawls = crawls.into_iter().map(|change| change.into_record(position));
        let texts = ChangelogRecord::from_texts(&texts, position);
        let last = [ChangelogRecord::from_position(position)];
        founded.chain(canonicals).chain(crawls).chain(texts).chain(last).collect()
    }
}

impl NewCentroid {
    /// Returns the record of the centroid in the table with this position record.
    #[must_use]
    pub fn to_record(&self, position: &proto::Position, detector: &dyn Detector) -> ChangelogRecord {
        let Self { number, corpus, fingerprint_hash, centroid, rank } = self;
        let mut message = proto::Centroid {
            format_version: match rank {
                Some(_) => ChangelogRecord::CANONICAL_FORMAT_VERSION,
                None => ChangelogRecord::FORMAT_VERSION,
            },
            number: Some(*number),
            ..centroid.to_message(corpus, *fingerprint_hash, detector.name())
        };
        if let Some(rank) = *rank {
            Canonical { rank, page: None }.add_to(&mut message);
        }
        let key = ClusterId::in_table(position, centroid.log_offset).to_bytes();
        ChangelogRecord { key: key.to_vec(), value: message.encode_to_vec() }
    }
}

impl NewCanonical {
    /// Returns the record of the new canonical page in the table with this position record.
    #[must_use]
    pub fn into_record(self, position: &proto::Position) -> ChangelogRecord {
        let Self { number, log_offset, canonical } = self;
        let mut message = proto::Centroid {
            format_version: ChangelogRecord::CANONICAL_FORMAT_VERSION,
            log_offset,
            number: Some(number),
            ..proto::Centroid::default()
        };
        canonical.add_to(&mut message);
        let id = ClusterId::in_table(position, log_offset).to_bytes();
        ChangelogRecord { key: [&id, CANONICAL_SUFFIX].concat(), value: message.encode_to_vec() }
    }
}

impl Position {
    /// Returns the position up to which a saved table has processed its log.
    #[must_use]
    pub fn from_message(saved: &proto::Position) -> Self {
        Self {
            log_generation: saved.log_generation,
            log_partition: saved.log_partition,
            next_log_offset: saved.next_log_offset,
            log_time: saved.log_time_ms.and_then(Timestamp::from_ms),
        }
    }
}

impl Bounds {
    /// Returns the expiry bounds in a position record.
    #[must_use]
    pub fn from_position(position: &proto::Position) -> Self {
        let dead_before = position.dead_before_ms.and_then(Timestamp::from_ms);
        Self { dead_below: position.dead_below, dead_before }
    }
}

impl TextBounds {
    /// Returns the bounds of texts in a position record.
    #[must_use]
    pub fn from_position(position: &proto::Position) -> Self {
        let (dead_below, needed_from) = (position.texts_dead_below, position.texts_needed_from);
        Self { counted: position.texts.unwrap_or_default(), dead_below, needed_from }
    }
}

impl TopicIds {
    /// Returns the ids of log and changelog in a position record.
    #[must_use]
    pub fn from_position(position: &proto::Position) -> Self {
        let id =
            |bytes: &Option<prost::bytes::Bytes>| bytes.as_ref().and_then(|bytes| TopicId::from_bytes(bytes));
        Self { pages: None, log: id(&position.log_topic_id), changelog: id(&position.changelog_topic_id) }
    }
}

fn id_bytes(id: Option<TopicId>) -> Option<prost::bytes::Bytes> {
    id.map(|id| id.to_bytes().to_vec().into())
}
