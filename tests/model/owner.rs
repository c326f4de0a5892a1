//! The owner of a log partition, in the model: it does what `src/pipeline/worker/owner.rs` does.

use std::sync::{Arc, OnceLock};

use leitong::changelog::Identity;
use leitong::changelog::restore::{Restoration, Restored};
use leitong::cluster::{Clusterer, Position};
use leitong::config::{Config, ExpiryConfig};
use leitong::fingerprint::Detector;
use leitong::fingerprint::simhash::SimHash;
use leitong::log::entry;
use leitong::log::watermarks::{Admission, Watermarks};
use leitong::page::timestamp::Timestamp;
use leitong::pipeline::cluster_half::{ClusterHalf, Conclusion};
use leitong::pipeline::kafka::resume::{Known, next_offset};
use leitong::pipeline::log_partition::{LogPartition, LogPlace, Taken};

use super::brokers::{Brokers, Transaction};
use super::{Dice, Mistake};

/// An owner, and how far it is.
pub(crate) struct Owner {
    log_partition: usize,
    epoch: u64,
    state: LogPartition,
    /// The transaction that is being written, until it is known to be committed.
    batch: Option<(u64, Transaction)>,
}

pub(crate) fn simhash() -> Arc<dyn Detector> {
    static DETECTOR: OnceLock<Arc<dyn Detector>> = OnceLock::new();
    Arc::clone(DETECTOR.get_or_init(|| Arc::new(SimHash::new(&Config::default().simhash))))
}

pub(crate) fn expiry() -> ExpiryConfig {
    ExpiryConfig { max_age_days: Some(9), centroids_max: 12 }
}

fn identity(log_partition: usize, log_partitions: usize) -> Identity {
    Identity {
        log_partition: log_partition as u32,
        log_partition_count: log_partitions as u32,
        fingerprint_hash: 1,
        cluster_hash: 2,
        corpus_hash: 3,
        app_hash: 4,
    }
}

impl Owner {
    /// Takes over and restores.
    pub(crate) fn take_over(brokers: &mut Brokers, log_partition: usize, mistake: Mistake) -> Self {
        let epoch = brokers.take_over(log_partition, mistake);
        let state = &brokers.partitions[log_partition];
        let mut restoration = Restoration::new(simhash(), expiry());
        for record in &state.changelog {
            restoration.take(Some(&record.key), record.value.as_deref()).expect("a whole changelog");
        }
        let identity = identity(log_partition, brokers.log.len());
        let restored = restoration.finish(&identity, None).expect("a whole table");
        let position = restored.as_ref().map(|restored| restored.clusterer.position().next_log_offset);
        let log_end = brokers.log[log_partition].last().map_or(0, |(offset, _)| offset + 1);
        let known = Known { committed: state.committed, position, log_start: 0, log_end };
        let next = next_offset(known, false).expect("nobody has interfered");
        let mut state = fresh(restored, identity);
        state.skip_to(next);
        if mistake == Mistake::ReadsBeforeFencing {
            brokers.partitions[log_partition].end_open();
        }
        Self { log_partition, epoch, state, batch: None }
    }

    /// One step: a batch is computed, sent, or finished. False if the owner is fenced.
    pub(crate) fn step(&mut self, brokers: &mut Brokers, dice: &mut Dice, mistake: Mistake) -> bool {
        let Some((first, transaction)) = &mut self.batch else {
            self.compute(brokers, dice);
            return true;
        };
        let state = &mut brokers.partitions[self.log_partition];
        match dice.roll(6) {
            // Everything fails, or its answer is lost: a new producer finds out what came of it.
            0 => {
                if !state.serves(self.epoch, mistake) {
                    return false;
                }
                if dice.once_in(2) && state.open.is_none() {
                    state.open = Some(Transaction { decided: dice.once_in(2), ..transaction.clone() });
                }
                if mistake == Mistake::TrustsLostAnswers {
                    self.batch = None;
                    return true;
                }
                self.epoch = brokers.take_over(self.log_partition, mistake);
                transaction.epoch = self.epoch;
                let state = &brokers.partitions[self.log_partition];
                if state.committed == Some(transaction.next_log_offset)
                    && *first != transaction.next_log_offset
                {
                    self.batch = None;
                } else if state.committed.unwrap_or(0) != *first && state.committed.is_some() {
                    return false;
                }
            }
            // The transaction is open for a while.
            1 | 2 => {
                if !state.serves(self.epoch, mistake) {
                    return false;
                }
                state.open.get_or_insert_with(|| transaction.clone());
            }
            _ => {
                if !state.serves(self.epoch, mistake) {
                    return false;
                }
                state.open = Some(Transaction { decided: true, ..transaction.clone() });
                state.end_open();
                self.batch = None;
            }
        }
        true
    }

    fn compute(&mut self, brokers: &Brokers, dice: &mut Dice) {
        let size = 1 + dice.roll(7);
        let first = self.state.next_offset();
        let log = &brokers.log[self.log_partition];
        let records: Vec<_> = log.iter().filter(|(offset, _)| *offset >= first).take(size).collect();
        if records.is_empty() {
            return;
        }
        let outcomes = outcomes(&mut self.state, &records);
        let transaction = Transaction {
            epoch: self.epoch,
            outcomes,
            changelog: self.state.take_changelog(),
            next_log_offset: self.state.next_offset(),
            decided: false,
        };
        // The first batch of all commits where nothing is committed yet.
        let first = brokers.partitions[self.log_partition].committed.map_or(first, |_| first);
        self.batch = Some((first, transaction));
    }
}

fn fresh(restored: Option<Restored>, identity: Identity) -> LogPartition {
    let restored = restored.unwrap_or_else(|| {
        let position = Position { log_partition: identity.log_partition, ..Position::default() };
        let clusterer = Clusterer::new(simhash(), expiry(), position);
        Restored { clusterer, watermarks: Watermarks::default(), cluster_hash_since: 0 }
    });
    LogPartition::new(restored, identity, "log".into(), |clusterer| ClusterHalf::new(clusterer, simhash(), 2))
}

/// What a consumer sees of records of the log that are decided on at once, without what differs from run to run.
fn outcomes(state: &mut LogPartition, records: &[&(u64, Vec<u8>)]) -> Vec<String> {
    let entry = |(offset, bytes): &(u64, Vec<u8>)| {
        (LogPlace { offset: *offset, timestamp_ms: None }, entry::decode(bytes, &*simhash()))
    };
    let records = records.iter().map(|record| entry(record)).collect();
    let outcome = |taken| match taken {
        Taken::Dropped(Admission::Replaced, _) => panic!("no topic is replaced here"),
        Taken::Dropped(..) => None,
        Taken::Concluded(Conclusion::DeadLetter(letter)) => Some(format!("{} dead", letter.source)),
        Taken::Concluded(Conclusion::Verdict(verdict)) => Some(format!(
            "{} {} {}",
            verdict.source,
            verdict.kind.as_str(),
            verdict.canonical_page_id.as_deref().unwrap_or_default()
        )),
    };
    let now = Timestamp::from_ms(0).expect("a time");
    state.take_batch(records, now).into_iter().filter_map(outcome).collect()
}

/// All outcomes of a log, decided one by one.
pub(crate) fn replay(log: &[(u64, Vec<u8>)], log_partition: usize, log_partitions: usize) -> Vec<String> {
    let mut state = fresh(None, identity(log_partition, log_partitions));
    log.iter().flat_map(|record| outcomes(&mut state, &[record])).collect()
}
