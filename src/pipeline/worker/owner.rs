//! The owner of one partition of the log: takes over, restores, and then batch by batch decides and commits.
//!
//! ```text
//! take over (fences the former owner, ends its transaction)
//!    └► committed offset ─► changelog to its end ─► compare ─► read the log from there
//!          ┌────────────────────────────────────────────────────┘
//!          └► batch ─► LogPartition::take … ─► transaction ─► next batch
//!                                                  └ failed: take over again, read what came of it, write again
//! ```
//! Invariants: the table is never ahead of the broker by more than the batch at hand; that batch is written
//! until it is committed, or the table is dropped. Memory: the table, one batch and its outputs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rdkafka::message::Message;
use thiserror::Error;

use super::cluster::Cluster;
use super::stop::Stop;
use crate::changelog::Identity;
use crate::changelog::restore::{Restoration, RestoreError, Restored};
use crate::cluster::{Clusterer, Position};
use crate::config::Config;
use crate::config::hash::cluster_hash;
use crate::fingerprint::record::LogRecord;
use crate::log::entry::{self, EntryError};
use crate::log::watermarks::{Admission, Origin, Watermarks};
use crate::page::timestamp::Timestamp;
use crate::pipeline::cluster_half::ClusterHalf;
use crate::pipeline::kafka::resume::{Known, Refusal, next_offset};
use crate::pipeline::log_partition::{LogPartition, LogPlace, Taken};
use crate::sink::kafka::outputs::Outputs;
use crate::sink::kafka::transaction::{TransactionError, TransactionalProducer};
use crate::source::kafka::partition::{PartitionReader, Step, place};
use crate::telemetry::metrics;

/// Bytes of the log in one transaction: what is no page travels whole, so records may be large.
const BATCH_BYTES: usize = 4 << 20;
/// Surplus centres let go in one transaction, where a table was restored with a smaller count.
const TRIM_CENTROIDS: usize = 10_000;
/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long to wait after being fenced: by then the group has said whose the partition is.
const FENCED_PAUSE: Duration = Duration::from_secs(4);
/// How often a damaged changelog is read before it is believed: a reader that is overtaken by compaction sees
/// tombstones missing, once.
const RESTORE_TRIES: u32 = 3;

/// One partition's owner.
pub(super) struct Owner {
    cluster: Arc<Cluster>,
    partition: u32,
    stop: Stop,
}

/// Why an owner does not serve its partition.
#[derive(Debug, Error)]
enum Trouble {
    /// May pass: begin again with taking over.
    #[error("{0:#}")]
    Passing(anyhow::Error),
    /// Another instance took the partition, or took this one for dead.
    #[error("{0}")]
    Fenced(String),
    /// This partition stands still until somebody looks at it.
    #[error("{0}")]
    Halted(String),
    /// No instance with this configuration can serve any partition.
    #[error("{0}")]
    Refused(String),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Passing(error)
    }
}

/// Owns the partition until its stop flag is raised.
pub(super) fn run(owner: &Owner) {
    let mut damaged = 0;
    while !owner.stop.is_requested() {
        let (partition, health) = (owner.partition, &owner.cluster.health);
        let Err(trouble) = owner.serve(&mut damaged) else { break };
        health.wait_for(partition, trouble.to_string());
        match trouble {
            Trouble::Passing(error) => {
                tracing::warn!(partition, "log partition: trying again: {error:#}");
                owner.stop.wait(PAUSE);
            }
            Trouble::Fenced(why) => {
                tracing::warn!(partition, "log partition: state dropped: {why}");
                owner.stop.wait(FENCED_PAUSE);
            }
            Trouble::Halted(why) => {
                metrics::halted(partition, true);
                while !owner.stop.is_requested() {
                    tracing::error!(partition, "log partition stands still: {why}");
                    owner.stop.wait(Duration::from_secs(60));
                }
            }
            Trouble::Refused(why) => {
                owner.cluster.refuse(anyhow::anyhow!("log partition {partition}: {why}"));
                break;
            }
        }
    }
}

impl Owner {
    pub(super) fn new(cluster: Arc<Cluster>, partition: u32, stop: Stop) -> Self {
        Self { cluster, partition, stop }
    }

    fn config(&self) -> &Config {
        &self.cluster.config
    }

    fn identity(&self) -> Identity {
        Identity {
            log_partition: self.partition,
            log_partition_count: self.cluster.log_partitions,
            fingerprint_hash: self.cluster.half.fingerprint_hash(),
            cluster_hash: cluster_hash(self.config(), &**self.cluster.half.detector()),
        }
    }

    /// Serves the partition from taking over to the stop.
    fn serve(&self, damaged: &mut u32) -> Result<(), Trouble> {
        let producer = self.take_over()?;
        let reader = PartitionReader::new(
            &self.config().kafka,
            &self.config().kafka.topics.fingerprints,
            self.partition,
        )?;
        let Some((mut state, reset)) = self.restore(&reader, damaged)? else { return Ok(()) };
        let mut writer = Writer { owner: self, producer: Some(producer), reader: &reader };
        if reset {
            writer.write(Outputs {
                changelog: state.take_changelog(),
                ..self.outputs(&state, state.next_offset())
            })?;
        }
        loop {
            let first = state.next_offset();
            if !state.trim(TRIM_CENTROIDS) {
                break;
            }
            writer.write(Outputs { changelog: state.take_changelog(), ..self.outputs(&state, first) })?;
        }
        reader.begin(state.next_offset())?;
        self.cluster.health.settled(self.partition);
        tracing::info!(
            partition = self.partition,
            offset = state.next_offset(),
            centroids = state.centroid_count(),
            "log partition: serving"
        );
        while !self.stop.is_requested() {
            let Some(outputs) = self.batch(&reader, &mut state)? else { continue };
            writer.write(outputs)?;
            metrics::centroids(self.partition, state.centroid_count());
        }
        Ok(())
    }

    fn take_over(&self) -> Result<TransactionalProducer, Trouble> {
        let stop = || self.stop.is_requested();
        TransactionalProducer::take_over(&self.config().kafka, self.partition, stop).map_err(|error| {
            match error {
                TransactionError::Client(error) => Trouble::Refused(error.to_string()),
                other => Trouble::Passing(other.into()),
            }
        })
    }

    fn outputs(&self, state: &LogPartition, first_log_offset: u64) -> Outputs {
        Outputs { first_log_offset, next_log_offset: state.next_offset(), ..Outputs::default() }
    }

    /// The table as the changelog has it, at the offset to go on at, and whether that has to be written down
    /// first; none if the owner is stopped meanwhile.
    fn restore(
        &self,
        log: &PartitionReader,
        damaged: &mut u32,
    ) -> Result<Option<(LogPartition, bool)>, Trouble> {
        let began = Instant::now();
        let config = self.config();
        let committed = log.committed()?;
        let changelog = PartitionReader::new(&config.kafka, &config.kafka.topics.centroids, self.partition)?;
        let detector = self.cluster.half.detector();
        let mut restoration = Restoration::new(Arc::clone(detector), config.expiry.clone());
        let (start, _) = changelog.bounds()?;
        let mut records = 0_u64;
        let mut wrong = None;
        let whole = changelog.read_to_end(
            start,
            || self.stop.is_requested(),
            |message| {
                records += 1;
                if records.is_multiple_of(100_000) {
                    metrics::restored(self.partition, restoration.centroid_count() as u64, began.elapsed());
                }
                restoration.take(message.key(), message.payload()).map_err(|error| {
                    wrong = Some(error.clone());
                    error.into()
                })
            },
        );
        let whole = match (whole, wrong) {
            (_, Some(error)) => return Err(self.restore_trouble(error, damaged)),
            (whole, None) => whole?,
        };
        if !whole {
            return Ok(None);
        }
        let count = restoration.centroid_count() as u64;
        let restored = restoration
            .finish(&self.identity(), self.cluster.accepted.cluster_hash)
            .map_err(|error| self.restore_trouble(error, damaged))?;
        *damaged = 0;
        metrics::restored(self.partition, count, began.elapsed());
        let seconds = format!("{:.1}", began.elapsed().as_secs_f64());
        tracing::info!(
            partition = self.partition,
            centroids = count,
            records,
            seconds,
            "log partition: restored"
        );

        let position = restored.as_ref().map(|restored| restored.clusterer.position().next_log_offset);
        let (next, log_end) = self.next_offset(log, committed, position)?;
        let restored = restored.unwrap_or_else(|| {
            let position = Position { log_partition: self.partition, ..Position::default() };
            let clusterer = Clusterer::new(Arc::clone(detector), config.expiry.clone(), position);
            Restored { clusterer, watermarks: Watermarks::default(), cluster_hash_since: next }
        });
        let identity = self.identity();
        let topic = config.kafka.topics.fingerprints.as_str().into();
        let mut state = LogPartition::new(restored, identity, topic, |clusterer| {
            ClusterHalf::new(clusterer, Arc::clone(detector), identity.cluster_hash)
        });
        let skipped = next > position.unwrap_or(0);
        if skipped {
            tracing::error!(partition = self.partition, next, "going on behind lost records, as accepted");
            state.skip_to(next);
            state.accept_gaps(log_end);
        }
        Ok(Some((state, skipped || (position.is_some() && committed.is_none()))))
    }

    fn restore_trouble(&self, error: RestoreError, damaged: &mut u32) -> Trouble {
        match error {
            RestoreError::PartitionCount { .. } | RestoreError::ClusterHash { .. } => {
                Trouble::Refused(error.to_string())
            }
            RestoreError::Damaged(_) if *damaged + 1 < RESTORE_TRIES => {
                *damaged += 1;
                Trouble::Passing(error.into())
            }
            error => Trouble::Halted(error.to_string()),
        }
    }

    /// Where to go on in the log, and where it ends.
    fn next_offset(
        &self,
        log: &PartitionReader,
        committed: Option<u64>,
        position: Option<u64>,
    ) -> Result<(u64, u64), Trouble> {
        let accept_lost = self.cluster.accepted.lost_records;
        let deadline = Instant::now() + Duration::from_secs(15);
        loop {
            let (log_start, log_end) = log.bounds()?;
            match next_offset(Known { committed, position, log_start, log_end }, accept_lost) {
                Ok(next) => return Ok((next, log_end)),
                // A leader that has just been elected may not know yet how far the log is.
                Err(Refusal::LogShorter { .. }) if Instant::now() < deadline && !self.stop.is_requested() => {
                    self.stop.wait(Duration::from_millis(500));
                }
                Err(refusal) => return Err(Trouble::Halted(refusal.to_string())),
            }
        }
    }

    /// Decides on what the log has at hand: everything that one transaction holds; none if there is nothing.
    fn batch(&self, log: &PartitionReader, state: &mut LogPartition) -> Result<Option<Outputs>, Trouble> {
        let transaction = &self.config().kafka.transaction;
        let linger = Duration::from_millis(transaction.linger_ms);
        let first_log_offset = state.next_offset();
        let mut outputs = Outputs::default();
        let (mut records, mut bytes) = (0, 0);
        let mut began: Option<Instant> = None;
        let mut busy = Duration::ZERO;
        while records < transaction.records_max && bytes < BATCH_BYTES {
            let patience = match began {
                None => Duration::from_millis(100),
                Some(began) => linger.saturating_sub(began.elapsed()),
            };
            match log.next(patience)? {
                Step::Record(message) => {
                    let at_work = Instant::now();
                    began.get_or_insert(at_work);
                    let at = place(&message);
                    records += 1;
                    bytes += message.payload_len();
                    self.take(at, message.payload().unwrap_or_default(), state, &mut outputs)?;
                    busy += at_work.elapsed();
                }
                Step::End | Step::Nothing => {
                    if began.is_none_or(|began| began.elapsed() >= linger) {
                        break;
                    }
                }
            }
            if self.stop.is_requested() {
                break;
            }
        }
        if records == 0 {
            return Ok(None);
        }
        metrics::stage("cluster", busy);
        outputs.changelog = state.take_changelog();
        outputs.first_log_offset = first_log_offset;
        outputs.next_log_offset = state.next_offset();
        Ok(Some(outputs))
    }

    fn take(
        &self,
        at: LogPlace,
        bytes: &[u8],
        state: &mut LogPartition,
        outputs: &mut Outputs,
    ) -> Result<(), Trouble> {
        let half = &self.cluster.half;
        let entry = entry::decode(bytes, &**half.detector());
        if let Err(error @ EntryError::TooNew { .. }) = &entry {
            let what =
                format!("{}[{}]@{}", self.config().kafka.topics.fingerprints, self.partition, at.offset);
            return Err(Trouble::Halted(format!("{what}: {error}")));
        }
        let origin = entry.as_ref().ok().map(|entry| entry.origin.clone());
        let mut log_time = None;
        if let Ok(entry) = &entry
            && let LogRecord::Page(page) = &entry.record
        {
            log_time = page.log_time;
            if page.fingerprint_hash != half.fingerprint_hash() {
                metrics::other_fingerprint_hash();
            }
        }
        if let Err(error) = &entry {
            tracing::error!(partition = self.partition, offset = at.offset, "{error}");
        }
        match state.take(at, entry, Timestamp::now()) {
            Taken::Concluded(conclusion) => outputs.push(conclusion, log_time, &self.config().kafka),
            Taken::Dropped(why) => {
                metrics::dropped(why);
                if why == Admission::Replaced
                    && let Some(origin) = origin.filter(|origin| origin.epoch >= self.config().kafka.epoch)
                {
                    return Err(Trouble::Halted(Replaced(&origin).to_string()));
                }
            }
        }
        Ok(())
    }
}

/// A page topic was replaced by another one of its name.
#[derive(Debug, Error)]
#[error(
    "topic {topic}, partition {partition}: a page was taken from offset {offset} before, and a later one stands there \
     now: the topic was deleted and created anew, so its pages would count as read already; raise kafka.epoch to \
     have all pages of the topic processed",
    topic = .0.topic, partition = .0.partition, offset = .0.offset
)]
struct Replaced<'a>(&'a Origin);

/// Writes transactions, each until it is known to be committed.
struct Writer<'a> {
    owner: &'a Owner,
    /// None after a failure.
    producer: Option<TransactionalProducer>,
    reader: &'a PartitionReader,
}

impl Writer<'_> {
    fn write(&mut self, mut outputs: Outputs) -> Result<(), Trouble> {
        let (owner, config) = (self.owner, &self.owner.config().kafka);
        let began = Instant::now();
        loop {
            let group = owner.cluster.group().context("this instance has left its group")?;
            let producer = match self.producer.take() {
                Some(producer) => producer,
                None => owner.take_over()?,
            };
            // A new producer says what came of the one before.
            match producer.commit(&outputs, config, owner.partition, &group) {
                Ok(()) => {
                    self.producer = Some(producer);
                    break;
                }
                Err(error) => {
                    drop(producer);
                    self.failed(error, &mut outputs)?;
                    if owner.stop.is_requested() {
                        return Err(Trouble::Passing(anyhow::anyhow!("stopped")));
                    }
                    let producer = owner.take_over()?;
                    self.producer = Some(producer);
                    if self.was_committed(&outputs)? {
                        break;
                    }
                }
            }
        }
        metrics::stage("transaction", began.elapsed());
        let now = Timestamp::now();
        for (outcome, log_time) in &outputs.outcomes {
            metrics::committed(outcome);
            if let Some(log_time) = log_time {
                let delay = u64::try_from(now.as_ms() - log_time.as_ms()).unwrap_or(0);
                metrics::verdict_delay(Duration::from_millis(delay));
            }
        }
        Ok(())
    }

    /// What to do about a failure: fenced and refused ones are not tried again as they are.
    fn failed(&self, error: TransactionError, outputs: &mut Outputs) -> Result<(), Trouble> {
        let partition = self.owner.partition;
        match error {
            TransactionError::Fenced(_) => Err(Trouble::Fenced(error.to_string())),
            TransactionError::Client(error) => Err(Trouble::Refused(error.to_string())),
            TransactionError::Refused { topic, bytes, code } => {
                let left_out = if topic == self.owner.config().kafka.topics.dead_letters {
                    outputs.leave_out_values()
                } else {
                    0
                };
                if left_out > 0 {
                    tracing::warn!(partition, topic, bytes, %code, left_out, "dead letters go without their values");
                    metrics::values_left_out(left_out);
                    return Ok(());
                }
                Err(Trouble::Halted(format!(
                    "topic {topic} does not take a record of {bytes} bytes: {code}; see `leitong topics check`"
                )))
            }
            TransactionError::Failed(why) => {
                tracing::warn!(partition, "transaction not committed, finding out what came of it: {why}");
                self.owner.stop.wait(Duration::from_millis(100));
                Ok(())
            }
        }
    }

    /// Whether the transaction in doubt was committed, by the committed offset. Only after taking over: then
    /// nothing of it is on its way any more.
    fn was_committed(&self, outputs: &Outputs) -> Result<bool, Trouble> {
        match self.reader.committed()? {
            Some(committed) if committed == outputs.next_log_offset => {
                // A transaction that moved no offset is written again: the same records have the same effect.
                Ok(outputs.next_log_offset != outputs.first_log_offset)
            }
            Some(committed) if committed == outputs.first_log_offset => Ok(false),
            None => Ok(false),
            Some(committed) => Err(Trouble::Fenced(format!(
                "another instance has committed offset {committed} of the log meanwhile"
            ))),
        }
    }
}
