//! The state of one log partition at its owner: takes records of the log, and returns everything that a
//! transaction contains.
//!
//! ```text
//! batch of entries → watermarks → ClusterStage → verdicts, dead letters ┐
//!                      └ dropped: repeated, after a gap                 ├─► transaction (owner/writer.rs)
//!                            changes of the table, position record ─────┘
//! ```
//! Invariants: the output does not depend on how the log is divided into batches; look-ups see the table only
//! between two batches. The table may be ahead of the broker by the transactions in progress. The owner
//! repeats them until they are committed, or drops the table ([ADR 11](../../docs/adr/0011-no-overlay.md)).
//! This module itself does no I/O (the table may read its files), and takes no lock apart from the one shared
//! with look-ups. Memory: the table and one batch.

use std::sync::Arc;

use parking_lot::MappedRwLockReadGuard;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use leitong_base::proto;
use leitong_base::record::{Cause, LogRecord, Place, Timestamp, Unreadable};
use leitong_cluster::changelog::{ChangelogRecord, Identity, Restored};
use leitong_cluster::log::{Admission, Entry, EntryError, LogPlace, Origin, Watermarks};
use leitong_cluster::verdict::Conclusion;
use leitong_cluster::{Clusterer, TableFault};
use leitong_http::api::{SharedStage, StageReader};
use leitong_pipeline::ClusterStage;

/// The state of one partition.
pub(crate) struct LogPartition {
    stage: SharedStage,
    watermarks: Watermarks,
    identity: Identity,
    cluster_hash_since: u64,
    table_id: Option<u64>,
    /// The log topic. It is the source of dead letters for records that are not Leitong's.
    log_topic: Arc<str>,
}

/// The outcome for one record of the log.
#[derive(Debug)]
pub(crate) enum RecordOutcome {
    /// The record was decided, with this result.
    Decided(Conclusion),
    /// The record was dropped, for this reason.
    Dropped(Admission),
}

/// The outcome for a batch.
#[derive(Debug)]
pub(crate) struct DecidedBatch {
    /// The outcome for each record, in order.
    pub outcomes: Vec<RecordOutcome>,
    /// Origin of the first record from a topic that was deleted and created again. This record and later ones
    /// were not processed.
    pub replaced: Option<Box<Origin>>,
}

/// The error for a page topic that was replaced by another topic of its name.
#[derive(Debug, Error)]
#[error(
    "topic {topic}, partition {partition}, offset {offset}: the topic was deleted and created again after \
     pages were read from it, so its new pages would count as already read; raise kafka.epoch to process all of them",
    topic = .0.topic, partition = .0.partition, offset = .0.offset
)]
pub(super) struct Replaced<'a>(pub(super) &'a Origin);

impl LogPartition {
    /// Continues with the table and the watermarks of `restored`.
    pub(crate) fn new(
        restored: Restored,
        identity: Identity,
        log_topic: Arc<str>,
        make_stage: impl FnOnce(Clusterer) -> ClusterStage,
    ) -> Self {
        let Restored { mut clusterer, watermarks, cluster_hash_since, table_id } = restored;
        clusterer.keep_journal();
        let stage = SharedStage::new(make_stage(clusterer));
        Self { stage, watermarks, identity, cluster_hash_since, table_id, log_topic }
    }

    /// Processes the records at these places, in order. All that are not dropped are decided together; `now`
    /// is the time of the decisions. Returns one outcome per record. If a record comes from a page topic that
    /// was deleted and created again, and its epoch is the present `epoch` or a later one, processing stops
    /// before that record.
    ///
    /// # Errors
    /// [`TableFault`] if files of the table cannot be read. Then none of the records is decided, and the
    /// partition can no longer be used.
    pub(crate) fn decide_batch(
        &mut self,
        records: Vec<(LogPlace, Result<Entry, EntryError>)>,
        epoch: u32,
        now: Timestamp,
    ) -> Result<DecidedBatch, TableFault> {
        let mut counting = Vec::with_capacity(records.len());
        let mut dropped = Vec::with_capacity(records.len());
        let (mut next_offset, mut replaced, mut name) = (None, None, None);
        for (place, entry) in records {
            match self.admit(place, entry) {
                Ok(record) => {
                    name.get_or_insert_with(|| self.name_of_log(place));
                    counting.push((place.offset, record));
                    dropped.push(None);
                }
                Err((Admission::Replaced, origin)) if origin.epoch >= epoch => {
                    replaced = Some(origin);
                    break;
                }
                Err((why, _)) => dropped.push(Some(why)),
            }
            next_offset = Some(place.offset + 1);
        }
        let conclusions = self.stage.write(|stage| -> Result<_, TableFault> {
            if let Some(name) = name {
                stage.clusterer_mut().name_log(name);
            }
            let conclusions = stage.decide_at(counting, now)?;
            if let Some(next_offset) = next_offset {
                // Records after the last decided one were dropped.
                stage.clusterer_mut().skip_to(next_offset);
            }
            Ok(conclusions)
        })?;
        let mut conclusions = conclusions.into_iter();
        let outcome = |dropped| match dropped {
            Some(why) => RecordOutcome::Dropped(why),
            None => {
                RecordOutcome::Decided(conclusions.next().expect("as many conclusions as records that count"))
            }
        };
        Ok(DecidedBatch { outcomes: dropped.into_iter().map(outcome).collect(), replaced })
    }

    /// Returns the record, or the reason for dropping it and its origin.
    fn admit(
        &mut self,
        place: LogPlace,
        entry: Result<Entry, EntryError>,
    ) -> Result<LogRecord, (Admission, Box<Origin>)> {
        let record = match entry {
            Ok(Entry { record, origin }) => match self.watermarks.admit(place.offset, &origin) {
                Admission::Accepted => record,
                why => return Err((why, Box::new(origin))),
            },
            Err(error) => self.foreign(place, &error),
        };
        Ok(record)
    }

    /// Makes a dead letter from an entry that is not a record of Leitong, because no record may stop the log.
    fn foreign(&self, place: LogPlace, error: &EntryError) -> LogRecord {
        let source = Place::Message {
            topic: Arc::clone(&self.log_topic),
            partition: self.identity.log_partition,
            offset: place.offset,
            epoch: 0,
        };
        LogRecord::Unreadable(Box::new(Unreadable::new(source, Cause::BrokenLogRecord, error.to_string())))
    }

    /// Returns the name of a log that begins with the record at `first`. A log is named once, by its first
    /// record that is not dropped. The record's timestamp distinguishes the log from an earlier one of the
    /// same pages, and is the same at every reading.
    fn name_of_log(&self, first: LogPlace) -> u32 {
        let written = first.timestamp_ms.unwrap_or_default().to_be_bytes();
        let name = [&written[..], &first.offset.to_be_bytes(), self.log_topic.as_bytes()].concat();
        ((xxh3_64(&name) >> 32) as u32).max(1)
    }

    /// Continues at `log_offset`, without processing the records before it.
    pub(crate) fn skip_to(&mut self, log_offset: u64) {
        self.stage.write(|stage| stage.clusterer_mut().skip_to(log_offset));
    }

    /// Accepts gaps as [`Watermarks::accept_gaps`] does.
    pub(crate) fn accept_gaps(&mut self, before: u64) {
        self.watermarks.accept_gaps(before);
    }

    /// Returns the first log offset that is not processed yet.
    pub(crate) fn next_offset(&self) -> u64 {
        self.clusterer().position().next_log_offset
    }

    /// Returns the table. Look-ups may read it at the same time.
    pub(crate) fn clusterer(&self) -> MappedRwLockReadGuard<'_, Clusterer> {
        MappedRwLockReadGuard::map(self.stage.read(), ClusterStage::clusterer)
    }

    /// Returns a handle for look-ups, which find all of the table after [`Self::insert_pending`].
    pub(crate) fn reader(&self) -> StageReader {
        self.stage.reader()
    }

    /// Makes all of a restored table visible to look-ups, and moves old centroids from memory to disk if the
    /// settings say so.
    ///
    /// # Errors
    /// [`TableFault`] if files of the table cannot be read.
    pub(crate) fn insert_pending(&mut self) -> Result<(), TableFault> {
        self.stage.write(|stage| stage.clusterer_mut().insert_pending())
    }

    /// Returns the changelog's part of a transaction: the centroids founded since the last call, the pages that
    /// have become canonical, were crawled or withdrawn, the texts of pages that joined, and the position.
    ///
    /// # Errors
    /// [`TableFault`] if files of the table cannot be read.
    pub(crate) fn take_changelog(&mut self) -> Result<Vec<ChangelogRecord>, TableFault> {
        let last = self.position()?;
        let changes = self.stage.write(|stage| stage.clusterer_mut().take_changes());
        Ok(changes.records(&last, &**self.clusterer().detector()))
    }

    /// Returns the present position record.
    ///
    /// # Errors
    /// [`TableFault`] if files of the table cannot be read.
    pub(crate) fn position(&self) -> Result<proto::Position, TableFault> {
        let (clusterer, since) = (self.clusterer(), self.cluster_hash_since);
        self.identity.position(&clusterer, since, self.table_id, &self.watermarks)
    }

    /// Returns the cluster stage and the watermarks, for saving.
    pub(crate) fn into_parts(self) -> (ClusterStage, Watermarks) {
        (self.stage.take(), self.watermarks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_base::record::{FingerprintRecord, Outcome, TextDigest};
    use leitong_cluster::changelog::POSITION_KEY;
    use leitong_cluster::log::TopicIds;
    use leitong_cluster::{ClusterRules, OldCentroids, Position};
    use leitong_fingerprint::Detector;
    use leitong_fingerprint::detectors::simhash::SimHash;
    use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
    use leitong_pipeline::config::{Config, ExpiryConfig};
    use leitong_store::blocks::{BlockStore, Manifest, SimFolder, StoreOptions};

    const DAY_MS: i64 = 24 * 60 * 60 * 1000;

    fn detector() -> Arc<dyn Detector> {
        Arc::new(SimHash::new(&Config::default().simhash))
    }

    fn empty() -> LogPartition {
        let expiry = ExpiryConfig { max_age_days: Some(3), centroids_max: 40 };
        log_partition_with(Clusterer::new(detector(), ClusterRules::expiry_only(expiry), Position::default()))
    }

    fn log_partition_with(clusterer: Clusterer) -> LogPartition {
        let restored = Restored {
            clusterer,
            watermarks: Watermarks::default(),
            cluster_hash_since: 0,
            table_id: Some(7),
        };
        let identity = Identity {
            log_partition: 0,
            log_partition_count: 1,
            fingerprint_hash: 1,
            cluster_hash: 2,
            corpus_hash: 3,
            app_hash: 4,
            topic_ids: TopicIds::default(),
        };
        LogPartition::new(restored, identity, "log".into(), |clusterer| {
            ClusterStage::new(clusterer, detector(), 2)
        })
    }

    /// Returns a log of similar, short and repeated pages, pages after gaps, unreadable pages, and invalid
    /// entries. Log time covers thirty days, and offsets have gaps.
    fn log() -> Vec<(LogPlace, Result<Entry, EntryError>)> {
        let length = (1..1000).find(|length| detector().is_fingerprint(&vec![7; *length]));
        let length = length.expect("some length is right");
        let entry = |i: u64| {
            if i % 41 == 40 {
                return Err(EntryError::Broken("no message".into()));
            }
            // A repetition, or a record whose predecessor is missing.
            let offset = if i % 17 == 16 { i - 3 } else { i };
            let previous_offset = if i % 29 == 28 { Some(i + 5) } else { offset.checked_sub(1) };
            let origin = Origin {
                topic: "pages".into(),
                partition: 0,
                offset,
                epoch: 0,
                previous_offset: previous_offset.filter(|_| offset > 0 && i % 29 == 28),
                timestamp_ms: Some(0),
                topic_id: None,
            };
            let source = Place::Message { topic: "pages".into(), partition: 0, offset, epoch: 0 };
            let text = xxh3_64(&i.to_be_bytes()) % 50;
            let bytes = (0..length as u64).map(|at| (((text + 1) * 0x9e37_79b9 * (at + 1)) >> 24) as u8);
            let record = match i % 23 {
                22 => {
                    LogRecord::Unreadable(Box::new(Unreadable::new(source, Cause::BrokenJson, "no".into())))
                }
                kind => LogRecord::Page(Box::new(FingerprintRecord {
                    source,
                    page_id: format!("p{i}"),
                    url: format!("http://a/{i}"),
                    corpus: if i.is_multiple_of(5) { "other" } else { "default" }.to_owned(),
                    fingerprint_hash: 1,
                    log_time: Timestamp::from_ms(1_700_000_000_000 + i as i64 * DAY_MS / 30),
                    text: Some(TextDigest { digest: u128::from(text) + u128::from(i % 3), chars: 100 }),
                    ..FingerprintRecord::numbered(0, (kind != 21).then(|| bytes.collect()))
                })),
            };
            Ok(Entry { record, origin })
        };
        let place = |i: u64| LogPlace { offset: 5 + i + i / 10, timestamp_ms: Some(1) };
        (0..900).map(|i| (place(i), entry(i))).collect()
    }

    /// Gives a record its own text, unless its number is a multiple of 4 or its page could not be compared.
    fn distinct(
        number: u64,
        (place, entry): (LogPlace, Result<Entry, EntryError>),
    ) -> (LogPlace, Result<Entry, EntryError>) {
        let entry = entry.map(|mut entry| {
            if let LogRecord::Page(page) = &mut entry.record
                && let (Outcome::Fingerprint(print), Some(text)) = (&mut page.outcome, &mut page.text)
                && !number.is_multiple_of(4)
            {
                *print = Fingerprints::even(1).get(number);
                text.digest = u128::MAX - u128::from(number);
            }
            entry
        });
        (place, entry)
    }

    /// Returns the texts in a changelog record, with their sequences.
    fn texts_of(record: &ChangelogRecord) -> Option<Vec<(u64, leitong_cluster::SeenText)>> {
        let message = <proto::Centroid as prost::Message>::decode(&*record.value).ok()?.texts?;
        let texts = leitong_cluster::SeenText::from_message(&message).expect("texts");
        Some((message.first..).zip(texts).collect())
    }

    #[test]
    fn verdicts_and_changelog_do_not_depend_on_how_the_log_is_cut() {
        let now = Timestamp::from_ms(0).expect("a time");
        let run = |batch: usize| {
            let mut state = empty();
            let (mut taken, mut changes, mut texts) = (Vec::new(), Vec::new(), Vec::new());
            for records in log().chunks(batch) {
                taken.extend(
                    state
                        .decide_batch(records.to_vec(), 0, now)
                        .expect("in memory")
                        .outcomes
                        .iter()
                        .map(|taken| format!("{taken:?}")),
                );
                let changelog = state.take_changelog().expect("in memory");
                for record in changelog.into_iter().filter(|record| record.key != POSITION_KEY) {
                    match texts_of(&record) {
                        // The division of texts into records depends on how the log is divided into batches.
                        Some(some) => texts.extend(some),
                        None => changes.push(record),
                    }
                }
            }
            (taken, (changes, texts), ChangelogRecord::from_position(&state.position().expect("in memory")))
        };
        let one_by_one = run(1);
        let (taken, (changes, texts), _) = &one_by_one;
        let count = |what: &str| taken.iter().filter(|taken| taken.contains(what)).count();
        for what in ["Unique", "ExactDuplicate", "NearDuplicate", "TooShort", "BrokenJson", "BrokenLogRecord"]
        {
            assert!(count(what) > 10, "{what}: {}", count(what));
        }
        assert!(count("Dropped(Repeated") > 10 && count("Dropped(AfterGap") > 10);
        assert!(texts.len() > 10, "{} texts", texts.len());
        assert!(changes.len() > 100);
        for batch in [2, 7, 50, 1000] {
            let (taken, changes, position) = run(batch);
            for (one, other) in one_by_one.0.iter().zip(&taken) {
                assert_eq!(one, other, "batches of {batch}");
            }
            assert_eq!(taken.len(), one_by_one.0.len());
            assert_eq!((&changes, &position), (&one_by_one.1, &one_by_one.2), "batches of {batch}");
        }
    }

    /// No decision may be published that was made without old centroids that could not be read. In each run,
    /// another read fails once, and reading works again afterwards.
    #[test]
    fn after_a_failed_read_nothing_is_published() {
        let now = Timestamp::from_ms(0).expect("a time");
        let expiry = ExpiryConfig { max_age_days: Some(3), centroids_max: 90 };
        let records: Vec<_> = log().into_iter().take(320).collect();
        // Most records have their own text, so many centroids are on disk.
        let records: Vec<_> = (0..).zip(records).map(|(number, record)| distinct(number, record)).collect();
        let rules = ClusterRules::expiry_only(expiry.clone());
        let in_memory = || log_partition_with(Clusterer::new(detector(), rules.clone(), Position::default()));
        let on_disk = |files: &SimFolder| {
            let options = StoreOptions { fan: 2, readers: 0, portion: 8, ..StoreOptions::for_table(32, 90) };
            let manifest = Manifest { table_id: 5, ..Manifest::default() };
            let store = BlockStore::open(Arc::new(files.clone()), detector(), options, &manifest);
            let old = (Arc::new(store.expect("no files")) as Arc<dyn OldCentroids>, 0);
            let table = Clusterer::with_old(detector(), expiry.clone(), Position::default(), None, old);
            log_partition_with(table.expect("no blocks"))
        };
        let published = |mut state: LogPartition| -> Vec<Result<String, TableFault>> {
            let mut all = Vec::new();
            for records in records.chunks(40) {
                let decided = state.decide_batch(records.to_vec(), 0, now);
                all.push(decided.map(|decided| format!("{decided:?}")));
                all.push(state.take_changelog().map(|changelog| format!("{changelog:?}")));
                all.push(state.clusterer().unexpired().map(|unexpired| format!("{unexpired:?}")));
                all.push(state.insert_pending().map(|()| String::new()));
                let look = |stage: &ClusterStage| {
                    let preview = leitong_cluster::PreviewOptions { top: 8, max_distance: None };
                    let page = FingerprintRecord::numbered(7, Some(Fingerprints::even(1).get(3)));
                    let page = FingerprintRecord { corpus: "default".into(), fingerprint_hash: 1, ..page };
                    stage.view().preview(page, preview, now, &mut leitong_cluster::Scratch::default())
                };
                let looked_up = look(&state.reader().read().expect("its owner is here"));
                all.push(looked_up.map(|answer| format!("{answer:?}")));
            }
            all
        };
        let expected = published(in_memory());
        let whole = SimFolder::default();
        assert_eq!(published(on_disk(&whole)), expected);
        let (mut failed, mut borne) = (0, 0);
        for read in 0..whole.reads() {
            let files = SimFolder::default();
            files.fail_read(read);
            let found = published(on_disk(&files));
            let good = found.iter().take_while(|published| published.is_ok()).count();
            assert_eq!(found[..good], expected[..good], "read {read}");
            let fault = found.get(good).and_then(|published| published.as_ref().err());
            assert!(found[good..].iter().all(|published| published.as_ref().err() == fault), "read {read}");
            (failed, borne) = (failed + usize::from(fault.is_some()), borne + usize::from(fault.is_none()));
        }
        println!("{failed} runs failed, {borne} went on");
        assert!(failed > 100 && borne > 0, "{failed} failed, {borne} went on");
    }
}
