//! One partition of the log as its owner sees it: records in, and out comes all that one transaction holds.
//!
//! ```text
//! bytes → entry → watermarks → ClusterHalf → verdict or dead letter ┐
//!            └ dropped: repeated, after a gap                       ├─► Transaction
//!                         changes of the table, position record ────┘
//! ```
//! Pure but for the log lines. The table runs ahead of the broker by the one transaction that is being
//! written, which its owner writes again until it is committed, or drops the table (see
//! `docs/adr/0011-no-overlay.md`).

use xxhash_rust::xxh3::xxh3_64;

use super::cluster_half::{ClusterHalf, Conclusion};
use crate::changelog::restore::Restored;
use crate::changelog::{ChangelogRecord, Identity, change_record, position_message, position_record};
use crate::fingerprint::record::{Place, Unreadable};
use crate::log::entry::{Entry, EntryError};
use crate::log::watermarks::{Admission, Watermarks};
use crate::page::timestamp::Timestamp;
use crate::proto;
use std::sync::Arc;

/// The state of one partition.
pub struct LogPartition {
    half: ClusterHalf,
    watermarks: Watermarks,
    identity: Identity,
    cluster_hash_since: u64,
    /// The log topic, for records that are none of Leitong.
    log_topic: Arc<str>,
}

/// Where a record of the log stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// Its offset.
    pub offset: u64,
    /// When it was written, in milliseconds, by its Kafka timestamp.
    pub timestamp_ms: Option<i64>,
}

/// What became of one record of the log.
#[derive(Debug)]
pub enum Taken {
    /// It counts, and this is what the user gets.
    Concluded(Conclusion),
    /// It does not count.
    Dropped(Admission),
}

impl LogPartition {
    /// Goes on where `restored` stands.
    #[must_use]
    pub fn new(
        restored: Restored,
        identity: Identity,
        log_topic: Arc<str>,
        make_half: impl FnOnce(crate::cluster::Clusterer) -> ClusterHalf,
    ) -> Self {
        let Restored { mut clusterer, watermarks, cluster_hash_since } = restored;
        clusterer.keep_journal();
        Self { half: make_half(clusterer), watermarks, identity, cluster_hash_since, log_topic }
    }

    /// Takes the record at `place`; `now` is the time of the decision.
    pub fn take(&mut self, place: LogPlace, entry: Result<Entry, EntryError>, now: Timestamp) -> Taken {
        self.half.clusterer_mut().skip_to(place.offset);
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return self.foreign(place, &error, now),
        };
        let admission = self.watermarks.admit(place.offset, &entry.origin);
        if admission != Admission::Taken {
            self.half.clusterer_mut().skip_to(place.offset + 1);
            return Taken::Dropped(admission);
        }
        self.name_log(place);
        Taken::Concluded(self.half.conclude(entry.record, now))
    }

    /// Something that is no record of Leitong becomes a dead letter of its own, for nothing may stop the log.
    fn foreign(&mut self, place: LogPlace, error: &EntryError, now: Timestamp) -> Taken {
        let source = Place::Message {
            topic: Arc::clone(&self.log_topic),
            partition: self.identity.log_partition,
            offset: place.offset,
            epoch: 0,
        };
        self.name_log(place);
        let record = crate::fingerprint::record::LogRecord::Unreadable(Box::new(Unreadable {
            source,
            cause: "BROKEN_LOG_RECORD".into(),
            message: error.to_string(),
            raw: None,
            raw_bytes: 0,
            received: None,
        }));
        Taken::Concluded(self.half.conclude(record, now))
    }

    /// A log is named once, by its first record that counts; when that was written tells it from an earlier log of
    /// the same pages, and is the same whenever the log is read.
    fn name_log(&mut self, place: LogPlace) {
        let written = place.timestamp_ms.unwrap_or_default().to_be_bytes();
        let name = [&written[..], &place.offset.to_be_bytes(), self.log_topic.as_bytes()].concat();
        self.half.clusterer_mut().name_log(((xxh3_64(&name) >> 32) as u32).max(1));
    }

    /// Goes on at `log_offset`, without a record.
    pub fn skip_to(&mut self, log_offset: u64) {
        self.half.clusterer_mut().skip_to(log_offset);
    }

    /// See [`Watermarks::accept_gaps`].
    pub fn accept_gaps(&mut self, before: u64) {
        self.watermarks.accept_gaps(before);
    }

    /// The first offset that is not yet taken.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.half.clusterer().position().next_log_offset
    }

    /// Centres in the table.
    #[must_use]
    pub fn centroid_count(&self) -> usize {
        self.half.clusterer().centroid_count()
    }

    /// Lets go of surplus centres of a restored table; whether there were any.
    pub fn trim(&mut self, max: usize) -> bool {
        self.half.clusterer_mut().trim(max) > 0
    }

    /// The changelog's part of a transaction: what has changed since the last call, and the position.
    pub fn take_changelog(&mut self) -> Vec<ChangelogRecord> {
        let position = self.half.clusterer().position();
        let changes = self.half.clusterer_mut().take_changes();
        let detector = self.half.detector();
        let mut records: Vec<ChangelogRecord> = changes
            .iter()
            .map(|change| change_record(change, position.log_generation, position.log_partition, detector))
            .collect();
        records.push(position_record(&self.position()));
        records
    }

    /// The position as it stands.
    #[must_use]
    pub fn position(&self) -> proto::Position {
        let clusterer = self.half.clusterer();
        position_message(
            clusterer.position(),
            &self.identity,
            self.cluster_hash_since,
            clusterer.centroid_count() as u64,
            &self.watermarks,
        )
    }

    /// The state, for saving.
    #[must_use]
    pub fn into_parts(self) -> (ClusterHalf, Watermarks) {
        (self.half, self.watermarks)
    }
}
