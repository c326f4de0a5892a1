//! Restores an owner's table from the fastest usable source, and compares it with the committed offset of the
//! consumer group.
//!
//! ```text
//! standby, snapshot or nothing ─► changelog to its end ─► committed offset ─► settings ─► table, next log offset
//! ```
//! `source.rs` finds the source (with the help of `blocks.rs` for tables on disk), and `place.rs` the offset
//! of the changelog to read from. The changelog is read up to its end, as a `read_committed` consumer sees
//! it. Every centroid must be there and in order. Then `resume.rs` compares the last position record with the
//! committed offset. Every transaction writes both, so they must be equal. Finally, the table must have been
//! made with this instance's topics, `kafka.app` and settings.
//!
//! Invariants: damaged data, or data of another table, is never used. A lost table is never replaced by an
//! empty one automatically. If something does not fit, the owner halts with a reason that says what to do.

mod blocks;
mod empty_table;
pub(crate) mod place;
mod resume;
mod source;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::disk::DiskTable;
use super::owner::owned::OwnedPartition;
use super::owner::trouble::Trouble;
use super::ports::World;
use super::replica::TableReplica;
use crate::kafka::error::Error;
use crate::kafka::ports::{ReadMode, Reader, Record};
use crate::worker::log_partition::LogPartition;
use crate::worker::restore::resume::{KnownOffsets, resume_at};
use leitong_base::error::StepError;
use leitong_base::proto;
use leitong_cluster::changelog::{Identity, RestoreError};
use leitong_cluster::log::TopicIds;
use leitong_graph::telemetry::metrics;
use leitong_pipeline::ClusterStage;
use source::Source;
pub(crate) use source::find_beginning;

/// Number of times that a damaged changelog is read before the owner halts. Brokers may delete records
/// while they are read. These records then seem to be missing, but not at the next attempt.
const RESTORE_ATTEMPTS: u32 = 3;
/// Time for which a newly elected leader may not know how far the log and the changelog reach. It learns the
/// high watermark from its followers after `replica.lag.time.max.ms` (30 s by default) at the latest.
const STALE_LEADER: Duration = Duration::from_secs(40);
/// Interval at which offsets are compared again until [`STALE_LEADER`] has passed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Pause before a failed read is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Number of changelog records between two log events about progress.
const PROGRESS_RECORDS: u64 = 100_000;

/// The result of a restore.
pub(super) enum Restore {
    /// The table is restored.
    Table(RestoredTable),
    /// The owner was stopped. The standby can use what was read so far.
    Stopped(Option<Box<TableReplica>>),
    /// The records are inconsistent. The next source is used, or the changelog is read again, because brokers
    /// may have deleted records during the reading.
    Damaged(RestoreError),
}

/// A restored table.
pub(super) struct RestoredTable {
    pub(super) state: Box<LogPartition>,
    /// The part of the table on disk, if tables are on disk.
    pub(super) disk: Option<DiskTable>,
    /// True if the position must be written before anything else.
    pub(super) reset: bool,
    /// The first changelog offset that is not in the table. `None` if the changelog has no position record.
    pub(super) changelog_next: Option<u64>,
    /// The log offset that the group has committed.
    pub(super) committed: Option<u64>,
}

/// Where an owner continues in the log.
struct ResumePoint {
    /// The log offset that the group has committed.
    committed: Option<u64>,
    /// The next log offset to decide.
    next: u64,
    /// The offset after the last record in the log.
    log_end: u64,
}

impl ResumePoint {
    /// Returns true if records of the log after the last position record are skipped.
    fn skips_records(&self, written: Option<&proto::Position>) -> bool {
        self.next > written.map_or(0, |written| written.next_log_offset)
    }
}

/// Restores the table from the changelog, or from a faster source. This is the `attempt`th time in a row.
pub(super) fn restore<W: World>(
    owned: &OwnedPartition<W>,
    log: &W::Reader,
    attempt: u32,
) -> Result<Restore, Trouble> {
    owned.world().ask_topic_ids()?;
    owned.world().verify_table()?;
    let changelog =
        owned.world().reader(&owned.config().kafka.topics.centroids, owned.partition, ReadMode::Restoring)?;
    for source in Source::ALL {
        let began = owned.world().now();
        let start = match source {
            Source::Standby => owned.role.tables.take(owned.partition),
            Source::Snapshot => {
                owned.role.at_snapshot(owned.partition, &changelog, || owned.stop.is_requested())?
            }
            Source::Changelog => {
                Some(owned.role.at_beginning(owned.partition, &changelog, || owned.stop.is_requested())?)
            }
        };
        if owned.stop.is_requested() {
            return Ok(Restore::Stopped(start.filter(|_| source == Source::Standby).map(Box::new)));
        }
        let Some(mut start) = start else { continue };
        let restore = match read_on(owned, &mut start, source, &changelog, began) {
            Ok(false) => return Ok(Restore::Stopped(Some(Box::new(start)))),
            Ok(true) => compare(owned, start, log, &changelog, source, attempt)?,
            Err(error) => {
                // `start` may lock the table's folder, which the next attempt needs.
                drop(start);
                unfit_from(source, error, attempt)?
            }
        };
        match restore {
            // The source was out of date and brokers have since deleted records, or it never fitted.
            Restore::Damaged(error) if source != Source::Changelog => drop_short_cut(owned, source, &error),
            restore => return Ok(restore),
        }
    }
    unreachable!("the last source is the changelog, whose result is returned")
}

/// Discards a faster source that does not fit, so it is not tried again.
fn drop_short_cut<W: World>(owned: &OwnedPartition<W>, source: Source, error: &RestoreError) {
    if source == Source::Snapshot {
        // An unreadable source has already been set aside.
        if !matches!(error, RestoreError::Disk(_)) {
            owned.role.set_aside(owned.partition, error);
        }
    } else {
        tracing::warn!(
            partition = owned.partition,
            "restoring takes longer, because the standby's table cannot be used: {error}"
        );
    }
}

/// Reads the changelog from the place of `table` to its end. Transient errors are retried, and what was
/// read is kept. Returns false if the owner was stopped before, and an error if the records do not fit the table.
fn read_on<W: World>(
    owned: &OwnedPartition<W>,
    table: &mut TableReplica,
    source: Source,
    changelog: &W::Reader,
    began: Instant,
) -> Result<bool, RestoreError> {
    let mut records = 0_u64;
    let elapsed = || owned.world().now().duration_since(began);
    loop {
        let read = changelog.read_to_end(
            table.next_offset,
            || owned.stop.is_requested(),
            |record: &dyn Record| {
                table.apply(record.offset(), (record.key(), record.value()), owned.world().now())?;
                records += 1;
                if records.is_multiple_of(PROGRESS_RECORDS) {
                    let centroids = table.restoration.centroid_count() as u64;
                    metrics::restored(owned.partition, centroids, records, elapsed());
                }
                Ok(())
            },
        );
        match read {
            Ok(true) => break,
            Ok(false) => return Ok(false),
            Err(Error::Restore(error)) => return Err(error),
            Err(error) => {
                tracing::warn!(
                    partition = owned.partition,
                    "log partition: no verdicts until the changelog can be read; trying again: {}",
                    StepError::with_causes(&error)
                );
                // If the changelog no longer has the next records, a restore from its beginning does not
                // need them.
                match changelog.bounds() {
                    Ok((start, _)) if start > table.next_offset => {
                        let why = Error::RecordsGone { start, next_offset: table.next_offset };
                        return Err(RestoreError::Damaged(why.to_string()));
                    }
                    _ if owned.world().wait(&owned.stop, RETRY_PAUSE) => return Ok(false),
                    _ => {}
                }
            }
        }
    }
    let centroids = table.restoration.centroid_count() as u64;
    metrics::restored(owned.partition, centroids, records, elapsed());
    let seconds = format!("{:.1}", elapsed().as_secs_f64());
    let partition = owned.partition;
    tracing::info!(partition, centroids, from = %source, records, seconds, "log partition: restored");
    Ok(true)
}

/// Compares the table at the changelog's end with the group's committed offset and with the log.
fn compare<W: World>(
    owned: &OwnedPartition<W>,
    mut table: TableReplica,
    log: &W::Reader,
    changelog: &W::Reader,
    source: Source,
    attempt: u32,
) -> Result<Restore, Trouble> {
    let world = owned.world();
    let deadline = world.now() + STALE_LEADER;
    let place = loop {
        let committed = log.committed()?;
        let position = table.restoration.position().map(|position| position.next_log_offset);
        let (log_start, log_end) = log.bounds()?;
        let missing = table.restoration.missing();
        let known = KnownOffsets { committed, position, missing, log_start, log_end };
        match resume_at(known, owned.role.accepted.lost_records) {
            Ok(next) => break ResumePoint { committed, next, log_end },
            // Some committed records may not be visible yet.
            Err(refusal) if refusal.may_pass() && world.now() < deadline => {
                tracing::info!(
                    partition = owned.partition,
                    "log partition: no verdicts yet, because committed records may still become visible: {refusal}"
                );
                if world.wait(&owned.stop, LOOK_AGAIN) {
                    return Ok(Restore::Stopped(Some(Box::new(table))));
                }
                match read_on(owned, &mut table, source, changelog, world.now()) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Restore::Stopped(Some(Box::new(table)))),
                    Err(error) => return unfit_from(source, error, attempt),
                }
            }
            Err(refusal) => return Err(Trouble::Halted(refusal.to_string())),
        }
    };
    match finish(owned, table, &place) {
        Ok(table) => Ok(Restore::Table(table)),
        Err(error) => unfit_from(source, error, attempt),
    }
}

/// Checks that the table was made with this instance's settings, and returns it with everything that its owner needs
/// to continue.
fn finish<W: World>(
    owned: &OwnedPartition<W>,
    table: TableReplica,
    place: &ResumePoint,
) -> Result<RestoredTable, RestoreError> {
    let TableReplica { restoration, disk, next_offset: changelog_next, .. } = table;
    let identity = owned.role.identity(owned.partition);
    let written = restoration.position().cloned();
    let mut restored = match restoration.finish(&identity, owned.role.accepted.cluster_hash) {
        Ok(restored) => restored,
        Err(error) => {
            if let (RestoreError::Disk(fault), Some(disk)) = (&error, &disk) {
                disk.set_aside_after(fault);
            }
            return Err(error);
        }
    };
    let (config, detector) = (owned.config(), &owned.role.detector);
    if written.is_none() {
        restored.cluster_hash_since = place.next;
    }
    restored.table_id.get_or_insert_with(|| owned.world().random());
    let topic = config.kafka.topics.fingerprints.as_str().into();
    let mut state = LogPartition::new(restored, identity, topic, |clusterer| {
        ClusterStage::new(clusterer, Arc::clone(detector), identity.cluster_hash)
    });
    if place.skips_records(written.as_ref()) {
        let next = place.next;
        tracing::error!(
            partition = owned.partition,
            next,
            "pages before offset {next} of the log were lost, and get no verdict; continuing, as \
             --accept-lost-records allows"
        );
        state.skip_to(next);
        state.accept_gaps(place.log_end);
    }
    let reset = needs_new_position(written.as_ref(), place, &identity);
    let changelog_next = written.map(|_| changelog_next);
    Ok(RestoredTable { state: Box::new(state), disk, reset, changelog_next, committed: place.committed })
}

/// Returns true if a new position record must be written, and the group's offset with it. There are four reasons:
/// records were skipped; the corpus settings have changed, and instances that start later must find the new ones; the
/// position lacks topic ids that are now known; the group's offset has expired.
fn needs_new_position(written: Option<&proto::Position>, place: &ResumePoint, identity: &Identity) -> bool {
    let is_outdated = |written: &proto::Position| {
        let corpus_changed = written.corpus_hash.is_some_and(|hash| hash != identity.corpus_hash);
        let topic_ids = TopicIds::from_position(written);
        let ids_known = topic_ids.or(identity.topic_ids) != topic_ids;
        corpus_changed || ids_known || place.committed.is_none()
    };
    place.skips_records(written) || written.is_some_and(is_outdated)
}

/// Decides what to do about an unusable table from `source`. If the error may be due to the source, the
/// next source is used. Otherwise it is handled as an error of the changelog.
fn unfit_from(source: Source, error: RestoreError, attempt: u32) -> Result<Restore, Trouble> {
    let may_be_of_source = match &error {
        RestoreError::Damaged(_) | RestoreError::Gap { .. } | RestoreError::OtherTable { .. } => true,
        RestoreError::Disk(fault) => fault.is_unreadable(),
        _ => false,
    };
    match may_be_of_source && source != Source::Changelog {
        true => Ok(Restore::Damaged(error)),
        false => unfit(error, attempt),
    }
}

/// Decides what to do about a changelog that does not fit. This is the `attempt`th attempt in a row.
fn unfit(error: RestoreError, attempt: u32) -> Result<Restore, Trouble> {
    match error {
        RestoreError::PartitionCount { .. } | RestoreError::OtherApp | RestoreError::ClusterHash { .. } => {
            Err(Trouble::Refused(error.to_string()))
        }
        RestoreError::Damaged(_) | RestoreError::Gap { .. } if attempt < RESTORE_ATTEMPTS => {
            Ok(Restore::Damaged(error))
        }
        error => Err(Trouble::Halted(error.to_string())),
    }
}
