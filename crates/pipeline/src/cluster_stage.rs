//! The cluster stage: turns the records of one log partition into verdicts and dead letters.
//!
//! In: records in log order, with the time of the decision. Out: one conclusion per record. Owns the
//! centroid table, so there is one stage per partition. Invariant: apart from that time, conclusions depend
//! only on the records and the settings, not on how records are divided into batches. Memory: the table.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use leitong_base::record::{FingerprintRecord, LogRecord, Timestamp};
use leitong_cluster::verdict::{Conclusion, Judge, Verdict};
use leitong_cluster::{
    CanonicalPage, ClusterId, Clusterer, Decision, Preview, PreviewOptions, Scratch, TableFault,
};
use leitong_fingerprint::Detector;

/// The table, and everything that is needed to turn its decisions into verdicts.
pub struct ClusterStage {
    clusterer: Clusterer,
    detector: Arc<dyn Detector>,
    cluster_hash: u64,
}

impl ClusterStage {
    /// Creates a stage that continues with the table `clusterer`.
    #[must_use]
    pub fn new(clusterer: Clusterer, detector: Arc<dyn Detector>, cluster_hash: u64) -> Self {
        Self { clusterer, detector, cluster_hash }
    }

    /// Decides on the next record of the log; `now` is the time of the decision.
    ///
    /// # Errors
    /// [`TableFault`] if files of the table cannot be read.
    pub fn decide(&mut self, record: LogRecord, now: Timestamp) -> Result<Conclusion, TableFault> {
        let mut conclusions = self.decide_batch(vec![record], now)?;
        Ok(conclusions.pop().expect("as many conclusions as records"))
    }

    /// Decides on the next records of the log; `now` is the time of the decisions.
    ///
    /// # Errors
    /// [`TableFault`] if files of the table cannot be read; then none of the records is decided.
    pub fn decide_batch(
        &mut self,
        records: Vec<LogRecord>,
        now: Timestamp,
    ) -> Result<Vec<Conclusion>, TableFault> {
        if let Some(first) = records.first() {
            self.clusterer.name_log(generation(first));
        }
        let next = self.clusterer.position().next_log_offset;
        self.decide_at((next..).zip(records).collect(), now)
    }

    /// Decides on the records at these ascending offsets of the log; `now` is the time of the decisions.
    /// Look-ups are done all at once, decisions one after the other.
    ///
    /// # Errors
    /// [`TableFault`] if files of the table cannot be read; then none of the records is decided.
    pub fn decide_at(
        &mut self,
        records: Vec<(u64, LogRecord)>,
        now: Timestamp,
    ) -> Result<Vec<Conclusion>, TableFault> {
        let pages: Vec<_> = records
            .iter()
            .map(|(log_offset, record)| match record {
                LogRecord::Page(page) => (*log_offset, Some(&**page)),
                LogRecord::Unreadable(_) => (*log_offset, None),
            })
            .collect();
        let decisions = self.clusterer.decide_batch(&pages)?;
        let mut recrawls = self.clusterer.take_recrawls().into_iter().peekable();
        let log_partition = self.clusterer.position().log_partition;
        let conclusion = |((log_offset, record), decision)| match record {
            LogRecord::Unreadable(unreadable) => Conclusion::DeadLetter(unreadable),
            LogRecord::Page(record) => {
                let recrawl = recrawls.next_if(|(at, _)| *at == log_offset).map(|(_, recrawl)| recrawl);
                let judge = Judge {
                    detector: &*self.detector,
                    cluster_hash: self.cluster_hash,
                    log_partition,
                    log_offset,
                    decided_at: now,
                };
                Conclusion::Verdict(Box::new(judge.verdict(*record, decision, recrawl)))
            }
        };
        Ok(records.into_iter().zip(decisions).map(conclusion).collect())
    }

    /// Returns the view of the table that look-ups use.
    #[must_use]
    pub fn view(&self) -> TableView<'_> {
        TableView { clusterer: &self.clusterer, detector: &*self.detector, cluster_hash: self.cluster_hash }
    }

    /// Returns the table.
    #[must_use]
    pub fn clusterer(&self) -> &Clusterer {
        &self.clusterer
    }

    /// Returns the table for changes, such as naming its log or skipping records.
    pub fn clusterer_mut(&mut self) -> &mut Clusterer {
        &mut self.clusterer
    }

    /// Returns the detector.
    #[must_use]
    pub fn detector(&self) -> &Arc<dyn Detector> {
        &self.detector
    }

    /// Returns the table and drops the stage, for example to save the table.
    #[must_use]
    pub fn into_clusterer(self) -> Clusterer {
        self.clusterer
    }
}

/// A table for look-ups only, of an owner or a standby.
#[derive(Clone, Copy)]
pub struct TableView<'a> {
    /// The table, with nothing pending ([`Clusterer::insert_pending`]).
    pub clusterer: &'a Clusterer,
    /// The detector.
    pub detector: &'a dyn Detector,
    /// Hash of the settings downstream of the log.
    pub cluster_hash: u64,
}

impl TableView<'_> {
    /// Returns the verdict that `record` would get as the next one of the log, and the nearest canonical
    /// pages. Changes nothing. See [`Clusterer::preview`].
    ///
    /// # Errors
    /// [`TableFault`] if files of the table cannot be read.
    pub fn preview(
        self,
        record: FingerprintRecord,
        options: PreviewOptions,
        now: Timestamp,
        scratch: &mut Scratch,
    ) -> Result<(Verdict, Vec<CanonicalPage>), TableFault> {
        let Preview { mut decision, nearest } = self.clusterer.preview(&record, options, scratch)?;
        if let Decision::Founded(ClusterId { log_generation: generation @ 0, .. }, _) = &mut decision {
            *generation = generation_of_page(&record);
        }
        let position = self.clusterer.position();
        let judge = Judge {
            detector: self.detector,
            cluster_hash: self.cluster_hash,
            log_partition: position.log_partition,
            log_offset: position.next_log_offset,
            decided_at: now,
        };
        Ok((judge.verdict(record, decision, None), nearest))
    }
}

/// Returns a name for the log that begins with `record`. It depends only on the page, not on its file format.
/// Logs that begin with different pages get different names, so verdicts of several runs can be combined.
fn generation(record: &LogRecord) -> u32 {
    match record {
        LogRecord::Page(page) => generation_of_page(page),
        LogRecord::Unreadable(unreadable) => {
            generation_of(&String::from_utf8_lossy(unreadable.raw.as_deref().unwrap_or_default()))
        }
    }
}

fn generation_of_page(page: &FingerprintRecord) -> u32 {
    generation_of(&format!("{}\n{}\n{:?}", page.page_id, page.url, page.text))
}

fn generation_of(first: &str) -> u32 {
    // Uses the upper half of the hash. 0 means that there is no name yet.
    ((xxh3_64(first.as_bytes()) >> 32) as u32).max(1)
}
