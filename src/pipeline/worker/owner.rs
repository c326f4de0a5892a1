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

use rdkafka::message::Message;
use thiserror::Error;

use super::cluster::Cluster;
use super::restore::{Followed, Source};
use super::stop::Stop;
use super::writer::Writer;
use crate::changelog::restore::{Restoration, RestoreError, Restored};
use crate::cluster::{Clusterer, Position};
use crate::config::Config;
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
/// Records and bytes of the log in one part of a transaction: with less, a slow broker is not waited for. What a part
/// costs is a position record, which is written for the last one only.
const PART_RECORDS: usize = 50;
const PART_BYTES: usize = 64 << 10;
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
    pub(super) cluster: Arc<Cluster>,
    pub(super) partition: u32,
    pub(super) stop: Stop,
}

/// A restored table.
struct Table {
    state: LogPartition,
    /// Where it stands has to be written down first.
    reset: bool,
    /// The first offset of the changelog that is not part of it; none where nothing is.
    changelog_next: Option<u64>,
}

/// Where a restore begins.
struct Begin {
    source: Source,
    start: Followed,
    began: Instant,
}

/// Why an owner does not serve its partition.
#[derive(Debug, Error)]
pub(super) enum Trouble {
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
    let table = serve_until_stopped(owner);
    owner.cluster.standby.release(owner.partition, table);
}

fn serve_until_stopped(owner: &Owner) -> Option<Followed> {
    let mut damaged = 0;
    while !owner.stop.is_requested() {
        let (partition, health) = (owner.partition, &owner.cluster.health);
        let trouble = match owner.serve(&mut damaged) {
            Ok(table) => return table,
            Err(trouble) => trouble,
        };
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
    None
}

impl Owner {
    pub(super) fn new(cluster: Arc<Cluster>, partition: u32, stop: Stop) -> Self {
        Self { cluster, partition, stop }
    }

    pub(super) fn config(&self) -> &Config {
        &self.cluster.config
    }

    /// Serves the partition from taking over to the stop; what it leaves for the standby.
    fn serve(&self, damaged: &mut u32) -> Result<Option<Followed>, Trouble> {
        let producer = self.take_over()?;
        let reader = PartitionReader::new(
            &self.config().kafka,
            &self.config().kafka.topics.fingerprints,
            self.partition,
        )?;
        let Some(Table { mut state, reset, changelog_next }) = self.restore(&reader, damaged)? else {
            return Ok(None);
        };
        let mut writer = Writer::new(self, producer, &reader, changelog_next);
        if reset {
            let changelog = state.take_changelog();
            writer.write(vec![Outputs { changelog, ..self.outputs(&state, state.next_offset()) }])?;
        }
        loop {
            let first = state.next_offset();
            if !state.trim(TRIM_CENTROIDS) {
                break;
            }
            let changelog = state.take_changelog();
            writer.write(vec![Outputs { changelog, ..self.outputs(&state, first) }])?;
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
            let parts = self.batch(&reader, &mut state)?;
            if parts.is_empty() {
                continue;
            }
            writer.write(parts)?;
            metrics::centroids(self.partition, state.centroid_count());
        }
        // All that is in the table is committed.
        let Some(next_offset) = writer.changelog_next.filter(|_| self.config().kafka.standby) else {
            return Ok(None);
        };
        let position = state.position();
        let (half, _) = state.into_parts();
        let detector = Arc::clone(self.cluster.half.detector());
        let restoration = Restoration::resume(half.into_clusterer(), position, detector);
        Ok(Some(Followed { restoration, next_offset }))
    }

    pub(super) fn take_over(&self) -> Result<TransactionalProducer, Trouble> {
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

    /// The table as the changelog has it, by the shortest way; none if the owner is stopped meanwhile.
    fn restore(&self, log: &PartitionReader, damaged: &mut u32) -> Result<Option<Table>, Trouble> {
        let config = &self.config().kafka;
        let committed = log.committed()?;
        let changelog = PartitionReader::new(config, &config.topics.centroids, self.partition)?;
        let bounds = changelog.bounds()?;
        for source in Source::ALL {
            let began = Instant::now();
            let start = match source {
                Source::Standby => self.cluster.standby.take(self.partition),
                Source::Snapshot => {
                    self.cluster.at_snapshot(self.partition, bounds, || self.stop.is_requested())?
                }
                Source::Changelog => Some(self.cluster.at_beginning(bounds.0)),
            };
            let Some(start) = start else { continue };
            let begin = Begin { source, start, began };
            if source == Source::Changelog {
                return self.read_on(begin, &changelog, log, committed, damaged);
            }
            // A short cut is tried once.
            let mut believed = RESTORE_TRIES;
            match self.read_on(begin, &changelog, log, committed, &mut believed) {
                Ok(restored) => return Ok(restored),
                Err(trouble) if source == Source::Snapshot => {
                    self.cluster.set_aside(self.partition, &trouble);
                }
                Err(trouble) => {
                    tracing::warn!(
                        partition = self.partition,
                        "the standby's table is dropped, and restored in another way: {trouble}"
                    );
                }
            }
        }
        Ok(None)
    }

    /// Reads the changelog from where `begin` is to its end.
    fn read_on(
        &self,
        begin: Begin,
        changelog: &PartitionReader,
        log: &PartitionReader,
        committed: Option<u64>,
        damaged: &mut u32,
    ) -> Result<Option<Table>, Trouble> {
        let Begin { source, mut start, began } = begin;
        let mut records = 0_u64;
        let mut wrong = None;
        let whole = changelog.read_to_end(
            start.next_offset,
            || self.stop.is_requested(),
            |message| {
                records += 1;
                if records.is_multiple_of(100_000) {
                    let centroids = start.restoration.centroid_count() as u64;
                    metrics::restored(self.partition, centroids, records, began.elapsed());
                }
                start.take(message).map_err(|error| {
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
        let Followed { restoration, next_offset: changelog_next } = start;
        let count = restoration.centroid_count() as u64;
        let identity = self.cluster.identity(self.partition);
        let corpus_hash = restoration.position().and_then(|position| position.corpus_hash);
        let restored = restoration
            .finish(&identity, self.cluster.accepted.cluster_hash)
            .map_err(|error| self.restore_trouble(error, damaged))?;
        *damaged = 0;
        metrics::restored(self.partition, count, records, began.elapsed());
        let seconds = format!("{:.1}", began.elapsed().as_secs_f64());
        tracing::info!(
            partition = self.partition,
            centroids = count,
            from = %source,
            records,
            seconds,
            "log partition: restored"
        );

        let position = restored.as_ref().map(|restored| restored.clusterer.position().next_log_offset);
        let (next, log_end) = self.next_offset(log, committed, position)?;
        let (config, detector) = (self.config(), self.cluster.half.detector());
        let restored = restored.unwrap_or_else(|| {
            let position = Position { log_partition: self.partition, ..Position::default() };
            let clusterer = Clusterer::new(Arc::clone(detector), config.expiry.clone(), position);
            Restored { clusterer, watermarks: Watermarks::default(), cluster_hash_since: next }
        });
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
        // So that instances which start later know of it.
        let corpus_changed = corpus_hash.is_some_and(|hash| hash != identity.corpus_hash);
        let reset = skipped || corpus_changed || (position.is_some() && committed.is_none());
        Ok(Some(Table { state, reset, changelog_next: position.map(|_| changelog_next) }))
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

    /// Decides on what the log has at hand: everything that one transaction holds, in parts that could each be one.
    fn batch(&self, log: &PartitionReader, state: &mut LogPartition) -> Result<Vec<Outputs>, Trouble> {
        let transaction = &self.config().kafka.transaction;
        let linger = Duration::from_millis(transaction.linger_ms);
        let mut parts = Vec::new();
        let mut part = self.outputs(state, state.next_offset());
        let (mut records, mut bytes, mut part_bytes) = (0, 0, 0);
        let mut began: Option<Instant> = None;
        let mut busy = Duration::ZERO;
        while records < transaction.records_max && bytes < BATCH_BYTES {
            let patience = match began {
                None => Duration::from_millis(100),
                // In whole milliseconds: rdkafka spins through a part of one.
                Some(began) => whole_ms(linger.saturating_sub(began.elapsed())),
            };
            match log.next(patience)? {
                Step::Record(message) => {
                    let at_work = Instant::now();
                    began.get_or_insert(at_work);
                    let at = place(&message);
                    records += 1;
                    bytes += message.payload_len();
                    self.take(at, message.payload().unwrap_or_default(), state, &mut part)?;
                    part_bytes += message.payload_len();
                    if part.records.len() >= PART_RECORDS || part_bytes >= PART_BYTES {
                        let next = self.outputs(state, state.next_offset());
                        parts.push(ended(std::mem::replace(&mut part, next), state));
                        part_bytes = 0;
                    }
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
        if state.next_offset() > part.first_log_offset {
            parts.push(ended(part, state));
        }
        if records > 0 {
            metrics::stage("cluster", busy);
        }
        Ok(parts)
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

/// A part that is complete: with the changes that it has made, and the position behind it.
fn ended(part: Outputs, state: &mut LogPartition) -> Outputs {
    Outputs { changelog: state.take_changelog(), next_log_offset: state.next_offset(), ..part }
}

/// Rounded up.
fn whole_ms(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
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
