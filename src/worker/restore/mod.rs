//! An owner's table: restored by the shortest way, compared with what the group has committed.
//!
//! ```text
//! standby, snapshot or nothing ─► changelog to its end ─► checks ─► committed offset ─► where the log goes on
//! ```
//! Invariants: what is damaged or does not fit is never
//! taken for a table; nothing is begun anew by itself.

mod blocks;
pub(crate) mod place;
mod resume;
mod source;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::disk::{DiskTable, fault};
use super::owner::{Owner, Trouble};
use super::ports::World;
use crate::kafka::ports::{Reader, Record};
use crate::pipeline::cluster_stage::ClusterStage;
use crate::pipeline::log_partition::LogPartition;
use crate::telemetry::metrics;
use crate::worker::restore::resume::{Known, next_offset};
use leitong_cluster::changelog::restore::RestoreError;
use leitong_cluster::changelog::topic_ids;
use source::Source;
pub(crate) use source::{TableReplica, beginning};

/// How often a damaged changelog is read before it is believed: a reader that is overtaken
/// by brokers which delete or compact what it reads sees records missing, once.
const RESTORE_ATTEMPTS: u32 = 3;
/// For how long a leader that has just been elected may not know yet how far
/// the log and the changelog are: it learns the high watermark from its
/// followers, after `replica.lag.time.max.ms` (30 s by default) at the latest.
const STALE_LEADER: Duration = Duration::from_secs(40);
/// How often to look again meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How long to wait before a read that failed is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Progress is shown after so many records of the changelog.
const PROGRESS_RECORDS: u64 = 100_000;

/// What came of restoring.
pub(super) enum Restore {
    /// A table.
    Table(Table),
    /// The owner was stopped meanwhile; what it has read so far is of use to the standby.
    Stopped(Option<Box<TableReplica>>),
    /// The changelog made no sense. It is read again, since
    /// brokers may have overtaken the reader.
    Damaged(RestoreError),
}

/// A restored table.
pub(super) struct Table {
    pub(super) state: Box<LogPartition>,
    /// Its part on disk, if it has one.
    pub(super) disk: Option<DiskTable>,
    /// Where it stands has to be written down first.
    pub(super) reset: bool,
    /// The first offset of the changelog that is not part of it; none where nothing is.
    pub(super) changelog_next: Option<u64>,
    /// What the group has committed.
    pub(super) committed: Option<u64>,
}

/// What reading on from one source came to.
enum ReadOn {
    /// The owner was stopped.
    Stopped,
    /// The records fit the table: it is at the changelog's end.
    Whole,
    /// They do not.
    Unfit(RestoreError),
}

impl<W: World> Owner<W> {
    /// The table as the changelog has it, by the shortest
    /// way; this is the `attempt`th time in a row.
    pub(super) fn restore(&self, log: &W::Reader, attempt: u32) -> Result<Restore, Trouble> {
        self.role.world.ask_topic_ids()?;
        self.role.world.verify_table()?;
        let changelog = self.role.world.reader(&self.config().kafka.topics.centroids, self.partition)?;
        for source in Source::ALL {
            let began = self.role.world.now();
            let start = match source {
                Source::Standby => self.role.tables.take(self.partition),
                Source::Snapshot => {
                    self.role.at_snapshot(self.partition, &changelog, || self.stop.is_requested())?
                }
                Source::Changelog => {
                    Some(self.role.at_beginning(self.partition, &changelog, || self.stop.is_requested())?)
                }
            };
            if self.stop.is_requested() {
                return Ok(Restore::Stopped(start.filter(|_| source == Source::Standby).map(Box::new)));
            }
            let Some(mut start) = start else { continue };
            let restore = match self.read_on(&mut start, source, &changelog, began) {
                ReadOn::Stopped => return Ok(Restore::Stopped(Some(Box::new(start)))),
                ReadOn::Whole => self.compare(start, log, &changelog, source, attempt)?,
                ReadOn::Unfit(error) => {
                    // Whoever comes next may need its folder.
                    drop(start);
                    match error {
                        error if source == Source::Changelog => self.unfit(error, attempt)?,
                        error @ RestoreError::Disk { is_unreadable: false, .. } => {
                            self.unfit(error, attempt)?
                        }
                        error => Restore::Damaged(error),
                    }
                }
            };
            match restore {
                // It was behind, and brokers have deleted records since, or it never fitted.
                Restore::Damaged(error) if source != Source::Changelog => self.drop_short_cut(source, &error),
                restore => return Ok(restore),
            }
        }
        Ok(Restore::Stopped(None))
    }

    /// A short cut that does not fit is not tried again.
    fn drop_short_cut(&self, source: Source, error: &RestoreError) {
        if source == Source::Snapshot {
            // What cannot be read was set aside when that was found.
            if !matches!(error, RestoreError::Disk { .. }) {
                self.role.set_aside(self.partition, error);
            }
        } else {
            tracing::warn!(
                partition = self.partition,
                "the standby's table is dropped, and restored in another way: {error}"
            );
        }
    }

    /// Reads the changelog from where `table` is to its end.
    /// What may pass is waited out: what was read stays good.
    fn read_on(
        &self,
        table: &mut TableReplica,
        source: Source,
        changelog: &W::Reader,
        began: Instant,
    ) -> ReadOn {
        let mut records = 0_u64;
        let elapsed = || self.role.world.now().duration_since(began);
        loop {
            let read = changelog.read_to_end(
                table.next_offset,
                || self.stop.is_requested(),
                |record: &dyn Record| -> Result<(), ReadError> {
                    table.take(record, self.role.world.now())?;
                    records += 1;
                    if records.is_multiple_of(PROGRESS_RECORDS) {
                        let centroids = table.restoration.centroid_count() as u64;
                        metrics::restored(self.partition, centroids, records, elapsed());
                    }
                    Ok(())
                },
            );
            match read {
                Ok(true) => break,
                Ok(false) => return ReadOn::Stopped,
                Err(ReadError::Unfit(error)) => return ReadOn::Unfit(error),
                Err(ReadError::Broker(error)) => {
                    tracing::warn!(partition = self.partition, "reading the changelog on: {error:#}");
                    // What the changelog has lost in front of the reader,
                    // a restore from its beginning does not need.
                    match changelog.bounds() {
                        Ok((start, _)) if start > table.next_offset => {
                            return ReadOn::Unfit(RestoreError::Damaged(format!(
                                "it begins at offset {start}, and was read up to {}",
                                table.next_offset
                            )));
                        }
                        _ if self.role.world.wait(&self.stop, RETRY_PAUSE) => return ReadOn::Stopped,
                        _ => {}
                    }
                }
            }
        }
        if let Err(error) = table.check() {
            return ReadOn::Unfit(error);
        }
        let centroids = table.restoration.centroid_count() as u64;
        metrics::restored(self.partition, centroids, records, elapsed());
        let seconds = format!("{:.1}", elapsed().as_secs_f64());
        let partition = self.partition;
        tracing::info!(partition, centroids, from = %source, records, seconds, "log partition: restored");
        ReadOn::Whole
    }

    /// Compares the table at the changelog's end with what
    /// the group has committed and with the log.
    fn compare(
        &self,
        mut table: TableReplica,
        log: &W::Reader,
        changelog: &W::Reader,
        source: Source,
        attempt: u32,
    ) -> Result<Restore, Trouble> {
        let world = &self.role.world;
        let deadline = world.now() + STALE_LEADER;
        let (next, log_end, committed) = loop {
            let committed = log.committed()?;
            let position = table.restoration.position().map(|position| position.next_log_offset);
            let (log_start, log_end) = log.bounds()?;
            let missing = table.restoration.missing();
            let known = Known { committed, position, missing, log_start, log_end };
            match next_offset(known, self.role.accepted.lost_records) {
                Ok(next) => break (next, log_end, committed),
                // Not all that was committed may be visible yet.
                Err(refusal) if refusal.may_pass() && world.now() < deadline => {
                    tracing::info!(partition = self.partition, "looking again: {refusal}");
                    if world.wait(&self.stop, LOOK_AGAIN) {
                        return Ok(Restore::Stopped(Some(Box::new(table))));
                    }
                    match self.read_on(&mut table, source, changelog, world.now()) {
                        ReadOn::Whole => {}
                        ReadOn::Stopped => return Ok(Restore::Stopped(Some(Box::new(table)))),
                        ReadOn::Unfit(error) => return self.unfit_from(source, error, attempt),
                    }
                }
                Err(refusal) => return Err(Trouble::Halted(refusal.to_string())),
            }
        };
        self.finish(table, source, committed, next, log_end, attempt)
    }

    fn finish(
        &self,
        table: TableReplica,
        source: Source,
        committed: Option<u64>,
        next: u64,
        log_end: u64,
        attempt: u32,
    ) -> Result<Restore, Trouble> {
        let TableReplica { restoration, disk, next_offset: changelog_next, .. } = table;
        let identity = self.role.identity(self.partition);
        let corpus_hash = restoration.position().and_then(|position| position.corpus_hash);
        let topic_ids = restoration.position().map(topic_ids);
        let position = restoration.position().map(|position| position.next_log_offset);
        let mut restored = match restoration.finish(&identity, self.role.accepted.cluster_hash) {
            Ok(restored) => restored,
            Err(error) => return self.unfit_from(source, error, attempt),
        };
        fault(disk.as_ref(), &restored.clusterer)?;
        let (config, detector) = (self.config(), &self.role.detector);
        if position.is_none() {
            restored.cluster_hash_since = next;
        }
        restored.table_id.get_or_insert_with(|| self.role.world.random());
        let topic = config.kafka.topics.fingerprints.as_str().into();
        let mut state = LogPartition::new(restored, identity, topic, |clusterer| {
            ClusterStage::new(clusterer, Arc::clone(detector), identity.cluster_hash)
        });
        let skipped = next > position.unwrap_or(0);
        if skipped {
            tracing::error!(partition = self.partition, next, "going on behind lost records, as accepted");
            state.skip_to(next);
            state.accept_gaps(log_end);
        }
        // So that instances which start later know of it.
        let corpus_changed = corpus_hash.is_some_and(|hash| hash != identity.corpus_hash);
        let ids_known = topic_ids.is_some_and(|ids| ids.or(identity.topic_ids) != ids);
        let reset = skipped || corpus_changed || ids_known || (position.is_some() && committed.is_none());
        let changelog_next = position.map(|_| changelog_next);
        Ok(Restore::Table(Table { state: Box::new(state), disk, reset, changelog_next, committed }))
    }

    /// What to do about a table of `source` that is not what it
    /// must be: the last one decides, all others are short cuts.
    fn unfit_from(&self, source: Source, error: RestoreError, attempt: u32) -> Result<Restore, Trouble> {
        match error {
            RestoreError::Damaged(_)
            | RestoreError::Hole { .. }
            | RestoreError::OtherTable { .. }
            | RestoreError::Disk { is_unreadable: true, .. }
                if source != Source::Changelog =>
            {
                Ok(Restore::Damaged(error))
            }
            error => self.unfit(error, attempt),
        }
    }

    /// What to do about a changelog that is not what it must be, at the `attempt`th time in a row.
    fn unfit(&self, error: RestoreError, attempt: u32) -> Result<Restore, Trouble> {
        match error {
            RestoreError::PartitionCount { .. }
            | RestoreError::OtherApp
            | RestoreError::ClusterHash { .. } => Err(Trouble::Refused(error.to_string())),
            RestoreError::Damaged(_) | RestoreError::Hole { .. } if attempt < RESTORE_ATTEMPTS => {
                Ok(Restore::Damaged(error))
            }
            error => Err(Trouble::Halted(error.to_string())),
        }
    }
}

/// Why a changelog was not read to its end.
enum ReadError {
    Unfit(RestoreError),
    Broker(anyhow::Error),
}

impl From<RestoreError> for ReadError {
    fn from(error: RestoreError) -> Self {
        Self::Unfit(error)
    }
}

impl From<anyhow::Error> for ReadError {
    fn from(error: anyhow::Error) -> Self {
        Self::Broker(error)
    }
}
