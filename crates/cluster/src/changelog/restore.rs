//! Records of the changelog → the table they describe.
//!
//! Invariants: the table is the one whose last transaction was read, or there is an error; a table is never
//! begun empty if anything was there; numbers are dense, so a missing centroid is noticed. Memory: the
//! centroids that have not expired at the last position that was read.

use std::sync::Arc;

use prost::Message;

use super::{ChangelogRecord, Identity, POSITION_KEY, RestoreError, TEXTS_SUFFIX};
use crate::log::identity::{TopicId, TopicIds};
use crate::log::watermarks::{Watermark, Watermarks};
use crate::{
    Bounds, Canonical, Centroid, Change, ClusterRules, Clusterer, CrawlChange, Position, SeenText,
    TableFault, TextBounds,
};
use leitong_base::proto;
use leitong_fingerprint::Detector;

/// A table that is being restored.
pub struct Restoration {
    clusterer: Clusterer,
    position: Option<proto::Position>,
    newest: Option<u64>,
    log_generation: Option<u32>,
    /// True if the number of the next centroid is known.
    numbered: bool,
    /// Centroids before this log offset are skipped: they had expired at the position that the restoration
    /// began with, or are in the table already.
    skip_before: u64,
    /// Number of founded centroids, according to the position that the restoration began with.
    founded: u64,
    /// Number and log offset of the youngest centroid that the restoration began with. `None` if it began without
    /// centroids, or once this one was found in the changelog.
    joint: Option<(u64, u64)>,
}

/// A restored table.
pub struct Restored {
    /// The table, at its position.
    pub clusterer: Clusterer,
    /// The positions up to which the table has accepted records of the source partitions.
    pub watermarks: Watermarks,
    /// Log offset from which on the settings apply.
    pub cluster_hash_since: u64,
    /// The table's id; `None` if it has none yet.
    pub table_id: Option<u64>,
}

impl Restoration {
    /// Maximum number of a centroid. It is far above any number that will ever be reached, so counting on from a
    /// damaged one cannot overflow.
    pub const NUMBER_MAX: u64 = 1 << 62;

    /// Begins to restore into an empty table in memory.
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, rules: ClusterRules) -> Self {
        Self::into_empty(Clusterer::new(detector, rules, Position::default()))
    }

    /// Begins to restore into this empty table, wherever it keeps its centroids.
    #[must_use]
    pub fn into_empty(clusterer: Clusterer) -> Self {
        Self {
            clusterer,
            position: None,
            newest: None,
            log_generation: None,
            numbered: false,
            skip_before: 0,
            founded: 0,
            joint: None,
        }
    }

    /// Sets the last known position, if there is one. Centroids that had expired there are left out. No record may have
    /// been applied before.
    #[must_use]
    pub fn up_to(mut self, last: Option<&proto::Position>) -> Self {
        if let Some((last, founded)) = last.and_then(|last| Some((last, last.founded?))) {
            self.start_at(founded.min(Restoration::NUMBER_MAX).saturating_sub(last.centroid_count));
            self.skip_before = last.oldest_log_offset.unwrap_or(last.next_log_offset);
            self.founded = founded;
        }
        self
    }

    /// Begins to restore a table whose older centroids are there already; the youngest of them was founded at
    /// log offset `newest`. Their records in the changelog are skipped. `last` is the last known position.
    #[must_use]
    pub fn after_old(clusterer: Clusterer, newest: u64, last: &proto::Position) -> Self {
        Self {
            joint: clusterer.founded().checked_sub(1).map(|number| (number, newest)),
            log_generation: Some(last.log_generation).filter(|generation| *generation != 0),
            numbered: true,
            skip_before: newest + 1,
            founded: last.founded.unwrap_or_default(),
            ..Self::into_empty(clusterer)
        }
    }

    fn start_at(&mut self, number: u64) {
        if self.clusterer.founded() != number {
            self.clusterer.begin_at(number);
        }
        self.numbered = true;
    }

    /// Continues with a table that its owner has given back. The table contains all that the owner has committed.
    /// Later records may follow.
    #[must_use]
    pub fn resume(clusterer: Clusterer, position: proto::Position) -> Self {
        Self {
            newest: position.next_log_offset.checked_sub(1),
            log_generation: Some(position.log_generation).filter(|generation| *generation != 0),
            numbered: true,
            position: Some(position),
            ..Self::into_empty(clusterer)
        }
    }

    /// Takes a value of a snapshot of the changelog. The position of the snapshot has to follow.
    ///
    /// # Errors
    /// The errors of [`Self::take`].
    pub fn apply_snapshot(
        &mut self,
        position: &proto::Position,
        log_offset: u64,
        value: &[u8],
    ) -> Result<(), RestoreError> {
        self.check_log(position.log_generation)?;
        if log_offset < self.skip_before {
            return self.skip_centroid(log_offset, value);
        }
        // A snapshot has no keys, so the value alone tells whether it holds texts.
        let message = known_message(value)?;
        match &message.texts {
            Some(texts) => self.take_texts(log_offset, texts),
            None => self.take_centroid(log_offset, message),
        }
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// [`RestoreError`] if Leitong did not write this record there.
    pub fn take(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), RestoreError> {
        let damaged = |what: &str| RestoreError::Damaged(what.to_owned());
        let key = key.ok_or_else(|| damaged("a record without a key"))?;
        if key == POSITION_KEY {
            let value = value.ok_or_else(|| damaged("the position record was deleted"))?;
            let position = proto::Position::decode(value)
                .map_err(|error| RestoreError::Damaged(format!("a position record is broken: {error}")))?;
            return self.take_position(position);
        }
        let id = ChangelogRecord::cluster_of(key).ok_or_else(|| {
            let begin = key[..key.len().min(20)].escape_ascii();
            RestoreError::Damaged(format!("a record has an unknown key of {} bytes, \"{begin}\"", key.len()))
        })?;
        self.check_log(id.log_generation)?;
        match value {
            None => Err(damaged("a record without a value")),
            Some(value) if key.ends_with(TEXTS_SUFFIX) => {
                let texts = known_message(value)?.texts;
                let texts = texts.ok_or_else(|| wrong_texts(id.log_offset, "are missing"))?;
                self.take_texts(id.log_offset, &texts)
            }
            Some(value) if id.log_offset < self.skip_before => self.skip_centroid(id.log_offset, value),
            Some(value) => self.take_centroid(id.log_offset, known_message(value)?),
        }
    }

    /// Checks that all records are of one log.
    fn check_log(&mut self, log_generation: u32) -> Result<(), RestoreError> {
        match *self.log_generation.get_or_insert(log_generation) == log_generation {
            true => Ok(()),
            false => Err(RestoreError::Damaged("it holds centroids of two logs".to_owned())),
        }
    }

    /// Skips a centroid before the place where the restoration began: it has expired, or is in the table
    /// already. The youngest one in the table must have the same number in the changelog.
    fn skip_centroid(&mut self, log_offset: u64, value: &[u8]) -> Result<(), RestoreError> {
        let Some((number, _)) = self.joint.filter(|(_, newest)| *newest == log_offset) else { return Ok(()) };
        if decoded(value)?.number != Some(number) {
            return Err(RestoreError::OtherTable { number });
        }
        self.joint = None;
        Ok(())
    }

    fn take_centroid(&mut self, log_offset: u64, mut message: proto::Centroid) -> Result<(), RestoreError> {
        if let Some((number, _)) = self.joint {
            return Err(RestoreError::OtherTable { number });
        }
        if let Some(change) = CrawlChange::from_message(&mut message, &**self.clusterer.detector())
            .map_err(RestoreError::Damaged)?
        {
            return self.take_crawl(change);
        }
        if message.rank.is_some() && message.fingerprint.is_none() {
            return self.take_canonical(&message);
        }
        let centroid = Centroid::from_message(&mut message, &**self.clusterer.detector())
            .map_err(RestoreError::Damaged)?;
        let number = message.number.filter(|number| *number <= Restoration::NUMBER_MAX).ok_or_else(|| {
            RestoreError::Damaged(format!(
                "the centroid at offset {log_offset} of the log has an invalid number"
            ))
        })?;
        let out_of_order = || {
            RestoreError::Damaged(format!("the centroid at offset {log_offset} of the log is out of order"))
        };
        if centroid.log_offset != log_offset || self.newest >= Some(log_offset) {
            return Err(out_of_order());
        }
        if !self.numbered {
            self.start_at(number);
        }
        match self.clusterer.founded() {
            next if number > next => return Err(RestoreError::Gap { first: next, last: number - 1 }),
            next if number < next => return Err(out_of_order()),
            _ => {}
        }
        self.newest = Some(log_offset);
        self.clusterer.restore(&message.corpus, message.fingerprint_hash, &centroid)?;
        let canonical = Canonical::from_message(&message).map_err(RestoreError::Damaged)?;
        self.clusterer.restore_canonical(self.clusterer.founded() - 1, canonical);
        Ok(())
    }

    /// Sets another canonical page for the cluster of an earlier centroid.
    fn take_canonical(&mut self, message: &proto::Centroid) -> Result<(), RestoreError> {
        let canonical = Canonical::from_message(message).map_err(RestoreError::Damaged)?;
        let at = message.log_offset;
        match message.number {
            Some(number) if number < self.clusterer.founded() => {
                self.clusterer.restore_canonical(number, canonical);
                Ok(())
            }
            _ => Err(RestoreError::Damaged(format!(
                "the centroid at offset {at} of the log gets another canonical page, but no such centroid was read"
            ))),
        }
    }

    /// Applies a change of what is known about a url.
    fn take_crawl(&mut self, change: CrawlChange) -> Result<(), RestoreError> {
        let (at, next) = (change.log_offset, self.clusterer.founded());
        if change.cluster >= next {
            let problem = format!(
                "the crawl at offset {at} of the log is in cluster {}, which does not exist",
                change.cluster
            );
            return Err(RestoreError::Damaged(problem));
        }
        if let (Change::Crawled(crawl), Some((counted, _))) = (&change.what, self.clusterer.crawl_bounds())
            && (crawl.sequence < counted || crawl.sequence > Restoration::NUMBER_MAX)
        {
            return Err(RestoreError::Damaged(format!(
                "the crawl at offset {at} of the log is out of order"
            )));
        }
        self.clusterer.restore_crawl(change);
        Ok(())
    }

    /// Restores texts, even those before the place where the restoration began. Texts that the table already has
    /// are skipped.
    fn take_texts(&mut self, log_offset: u64, texts: &proto::Texts) -> Result<(), RestoreError> {
        let wrong = |what: &str| wrong_texts(log_offset, what);
        let seen = SeenText::from_message(texts).map_err(RestoreError::Damaged)?;
        let end = self.clusterer.founded();
        if texts.first > Restoration::NUMBER_MAX || seen.iter().any(|text| text.cluster >= end) {
            return Err(wrong("name a text or a cluster that does not exist"));
        }
        self.clusterer.restore_texts(texts.first, seen.into_iter());
        Ok(())
    }

    /// Takes a position record, or the position of a snapshot of the changelog.
    ///
    /// # Errors
    /// The errors of [`Self::take`].
    pub fn take_position(&mut self, position: proto::Position) -> Result<(), RestoreError> {
        known(position.format_version)?;
        let damaged = |what: String| Err(RestoreError::Damaged(what));
        let known_id = self.position.as_ref().and_then(|position| position.table_id);
        if known_id.is_some() && known_id != position.table_id {
            return damaged("it holds the positions of two tables".to_owned());
        }
        let Some(founded) = position.founded.filter(|founded| *founded <= Restoration::NUMBER_MAX) else {
            return damaged("a position record with an invalid number of centroids".to_owned());
        };
        if position.crawls > Some(Restoration::NUMBER_MAX)
            || position.crawls_dead_below > Restoration::NUMBER_MAX
        {
            return damaged("a position record with an invalid number of crawls".to_owned());
        }
        if !self.numbered {
            self.start_at(founded);
        }
        let next = self.clusterer.founded();
        if founded < next && self.newest.is_none() {
            return Ok(()); // from before the place where the restoration began
        }
        if founded > next {
            return Err(RestoreError::Gap { first: next, last: founded - 1 });
        }
        if founded < next || position.centroid_count > founded || position.dead_below > founded {
            return damaged(format!(
                "a position record counts {founded} centroids, but {next} were read before it"
            ));
        }
        self.clusterer.evict_below(founded - position.centroid_count);
        let bounds = TextBounds::from_position(&position);
        if bounds.counted > Restoration::NUMBER_MAX || bounds.dead_below > bounds.counted {
            return damaged("a position record with an invalid number of texts".to_owned());
        }
        self.clusterer.restore_text_bounds(bounds);
        if let Some(counted) = position.crawls {
            self.clusterer.restore_crawl_bounds((counted, position.crawls_dead_below));
        }
        set_bounds_and_position(&mut self.clusterer, &position);
        self.position = Some(position);
        Ok(())
    }

    /// Returns the number of founded centroids according to a position that was read before the restoration
    /// began, and the number of centroids read, if these are fewer. A new partition leader may not know the
    /// others yet. The caller must not continue with a table that lacks them.
    #[must_use]
    pub fn missing(&self) -> Option<(u64, u64)> {
        let read = self.clusterer.founded();
        (self.founded > read || (self.founded > 0 && self.position.is_none())).then_some((self.founded, read))
    }

    /// Returns the last position record.
    #[must_use]
    pub fn position(&self) -> Option<&proto::Position> {
        self.position.as_ref()
    }

    /// Returns the number of centroids so far.
    #[must_use]
    pub fn centroid_count(&self) -> usize {
        self.clusterer.centroid_count()
    }

    /// Makes look-ups find all centroids that were taken, and lets old centroids leave memory.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn insert_pending(&mut self) -> Result<(), TableFault> {
        self.clusterer.insert_pending()
    }

    /// Returns the table as far as it is restored.
    #[must_use]
    pub fn clusterer(&self) -> &Clusterer {
        &self.clusterer
    }

    /// Returns the table at the changelog's end; an empty one if the changelog is empty. `accepted` is a
    /// cluster hash that may replace the one that the table was made with.
    ///
    /// # Errors
    /// [`RestoreError`] if the table is incomplete or belongs to other settings.
    pub fn finish(self, identity: &Identity, accepted: Option<u64>) -> Result<Restored, RestoreError> {
        self.clusterer.check()?;
        let Some(saved) = self.position else {
            let clusterer = self.clusterer;
            return match self.newest {
                None => {
                    let watermarks = Watermarks::default();
                    Ok(Restored { clusterer, watermarks, cluster_hash_since: 0, table_id: None })
                }
                Some(_) => Err(RestoreError::Damaged("it has centroids, but no position record".to_owned())),
            };
        };
        // Checked first, because it may be the cause of other mismatches.
        TopicIds::from_position(&saved).verify(&identity.topic_ids)?;
        if let Some((number, _)) = self.joint {
            return Err(RestoreError::OtherTable { number });
        }
        let mut clusterer = self.clusterer;
        let founded = saved.founded.unwrap_or_default();
        // There may be centroids of a transaction whose position is missing.
        if clusterer.founded() != founded || self.founded > founded {
            let read = clusterer.founded();
            return Err(RestoreError::Damaged(format!(
                "{read} centroids were read, but the position record counts {founded}"
            )));
        }
        evict_expired(&mut clusterer, &saved, founded)?;
        if let Some(newest) = self.newest.filter(|newest| *newest >= saved.next_log_offset) {
            return Err(RestoreError::Damaged(format!(
                "a centroid was founded at offset {newest} of the log, but the position record says that the log was \
                 read only up to {}",
                saved.next_log_offset
            )));
        }
        if self.log_generation.is_some_and(|generation| generation != saved.log_generation) {
            return Err(other_log());
        }
        identity.check(&saved, accepted)?;
        let same_settings = saved.cluster_hash == identity.cluster_hash;
        let cluster_hash_since = if same_settings { saved.cluster_hash_since } else { saved.next_log_offset };
        set_bounds_and_position(&mut clusterer, &saved);
        // If other settings were accepted, they apply from here on.
        clusterer.evict_expired()?;
        let watermarks = Watermarks::from_position(&saved);
        Ok(Restored { clusterer, watermarks, cluster_hash_since, table_id: saved.table_id })
    }
}

/// Removes the centroids that had expired when `saved` was written, and checks that all others of the `founded` ones
/// are there.
fn evict_expired(
    clusterer: &mut Clusterer,
    saved: &proto::Position,
    founded: u64,
) -> Result<(), RestoreError> {
    let first = founded.saturating_sub(saved.centroid_count);
    clusterer.evict_below(first);
    if !clusterer.has_all_texts(TextBounds::from_position(saved)) {
        return Err(RestoreError::Damaged("texts of pages that joined clusters are missing".to_owned()));
    }
    let held = founded - clusterer.centroid_count() as u64;
    if held > first {
        return Err(RestoreError::Gap { first, last: held - 1 });
    }
    Ok(())
}

/// Sets bounds and position of a table to those of the position record `saved`.
fn set_bounds_and_position(clusterer: &mut Clusterer, saved: &proto::Position) {
    clusterer.restore_bounds(Bounds::from_position(saved));
    clusterer.set_position(Position::from_message(saved));
}

fn decoded(value: &[u8]) -> Result<proto::Centroid, RestoreError> {
    proto::Centroid::decode(value)
        .map_err(|error| RestoreError::Damaged(format!("a centroid is broken: {error}")))
}

/// Returns the message in a value whose format this version knows.
fn known_message(value: &[u8]) -> Result<proto::Centroid, RestoreError> {
    let message = decoded(value)?;
    known(message.format_version)?;
    Ok(message)
}

fn wrong_texts(log_offset: u64, what: &str) -> RestoreError {
    RestoreError::Damaged(format!("the texts up to offset {log_offset} of the log {what}"))
}

impl Watermarks {
    /// Returns the watermarks in a position record.
    #[must_use]
    pub fn from_position(position: &proto::Position) -> Self {
        let mut watermarks = Self::default();
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
}

impl Identity {
    /// Checks that the position record `saved` belongs to a table with this identity. A cluster hash that differs is
    /// allowed if this instance's is `accepted`.
    ///
    /// # Errors
    /// [`RestoreError`] if it does not.
    pub fn check(&self, saved: &proto::Position, accepted: Option<u64>) -> Result<(), RestoreError> {
        if saved.log_partition != self.log_partition {
            return Err(other_log());
        }
        if saved.log_partition_count != self.log_partition_count {
            let (found, wanted) = (saved.log_partition_count, self.log_partition_count);
            return Err(RestoreError::PartitionCount { found, wanted });
        }
        if saved.app_hash.is_some_and(|found| found != self.app_hash) {
            return Err(RestoreError::OtherApp);
        }
        let (found, wanted, at) = (saved.cluster_hash, self.cluster_hash, saved.next_log_offset);
        if found != wanted && accepted != Some(wanted) {
            return Err(RestoreError::ClusterHash { found, wanted, at });
        }
        Ok(())
    }
}

fn other_log() -> RestoreError {
    RestoreError::Damaged("it belongs to another log or partition".to_owned())
}

fn known(format_version: u32) -> Result<(), RestoreError> {
    match format_version {
        0 => Err(RestoreError::Damaged("a record without a format version".to_owned())),
        1 => {
            Err(RestoreError::Damaged("a record of format version 1, which is not read any more".to_owned()))
        }
        found if found > ChangelogRecord::FORMAT_VERSION_MAX => Err(RestoreError::TooNew { found }),
        _ => Ok(()),
    }
}
