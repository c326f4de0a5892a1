//! Reads the log's next records, as many as one transaction may hold, and decides on them part by part.
//!
//! ```text
//! log ─► entries ─► part ─► LogPartition::decide_batch ─► its outputs ─► next part … until the transaction is full,
//!                                                                        or the log at its end
//! ```
//! Each part could be a transaction of its own. Memory: the outputs of one transaction.

use std::time::{Duration, Instant};

use super::outputs::Outputs;
use super::owned::OwnedPartition;
use super::trouble::Trouble;
use crate::kafka::error::Error;
use crate::kafka::ports::{Reader, Record, Step};
use crate::worker::log_partition::{LogPartition, RecordOutcome, Replaced};
use crate::worker::ports::World;
use leitong_base::record::{LogRecord, Timestamp};
use leitong_cluster::log::{Entry, EntryError, LogPlace};
use leitong_graph::telemetry::traces::context::TraceContext;
use leitong_graph::telemetry::traces::page::LogTrace;
use leitong_graph::telemetry::{metrics, traces};
use leitong_pipeline::verdict_message::log_origin::LogOrigin;

/// Maximum number of bytes of log records in one transaction. Records may be large, because input that is not
/// a page is kept whole.
const BATCH_BYTES: usize = 4 << 20;
/// Maximum number of log records in one part of a transaction. With small parts, the writer can give a slow
/// broker small transactions. They cost little: each part makes a position record, but only the last one in a
/// transaction is written.
const PART_RECORDS: usize = 50;
/// Maximum number of bytes of log records in one part.
const PART_BYTES: usize = 64 << 10;
/// Timeout for the first record of a batch.
const FIRST_RECORD_TIMEOUT: Duration = Duration::from_millis(100);

/// Records of the log that are decided together.
#[derive(Default)]
struct Part {
    records: Vec<(LogPlace, Result<Entry, EntryError>)>,
    /// The trace of each record, if it is traced.
    traces: Vec<Option<Box<LogTrace>>>,
    bytes: usize,
}

impl Part {
    fn is_full(&self) -> bool {
        self.records.len() >= PART_RECORDS || self.bytes >= PART_BYTES
    }
}

/// The outputs of the log's next records.
pub(super) struct Batch {
    /// The outputs to write.
    pub(super) parts: Vec<Outputs>,
    /// The error that ended the batch: no record after these parts can be decided. `None` if there was no
    /// error.
    pub(super) trouble: Option<Trouble>,
}

impl Batch {
    /// Decides on the records that the log has now, at most as many as fit into one transaction. Each part of
    /// the batch could be a transaction of its own. If a record cannot be decided, the decisions before it
    /// are kept.
    pub(super) fn read<W: World>(
        owned: &OwnedPartition<W>,
        log: &W::Reader,
        state: &mut LogPartition,
    ) -> Result<Self, Trouble> {
        let (world, transaction) = (owned.world(), &owned.config().kafka.transaction);
        let linger = Duration::from_millis(transaction.linger_ms);
        let mut batch = Self { parts: Vec::new(), trouble: None };
        let mut part = Part::default();
        let (mut records, mut bytes) = (0, 0);
        let mut began: Option<Instant> = None;
        let mut busy = Duration::ZERO;
        while records < transaction.records_max && bytes < BATCH_BYTES {
            let timeout = match began {
                None => FIRST_RECORD_TIMEOUT,
                // In whole milliseconds, because the client busy-waits through fractions.
                Some(began) => whole_ms(linger.saturating_sub(world.now().duration_since(began))),
            };
            match log.next(timeout) {
                Ok(Step::Record(message)) => {
                    let at_work = world.now();
                    began.get_or_insert(at_work);
                    let length = message.value().map_or(0, <[u8]>::len);
                    match decode(owned, &message) {
                        Ok(record) => {
                            part.traces.push(trace(owned.partition, &record, &message));
                            part.records.push(record);
                        }
                        Err(trouble) => batch.trouble = Some(trouble),
                    }
                    part.bytes += length;
                    (records, bytes) = (records + 1, bytes + length);
                    if part.is_full() {
                        batch.decide(owned, std::mem::take(&mut part), state)?;
                    }
                    busy += world.now().duration_since(at_work);
                }
                Ok(Step::End | Step::Nothing) => {
                    if began.is_none_or(|began| world.now().duration_since(began) >= linger) {
                        break;
                    }
                }
                Err(error) => batch.trouble = Some(error.into()),
            }
            if owned.stop.is_requested() || batch.trouble.is_some() {
                break;
            }
        }
        let at_work = world.now();
        batch.decide(owned, part, state)?;
        if records > 0 {
            metrics::stage("cluster", busy + world.now().duration_since(at_work));
        }
        Ok(batch)
    }

    /// Decides on a part, and adds its outputs. They contain the changes of the table, and the position after
    /// the part.
    fn decide<W: World>(
        &mut self,
        owned: &OwnedPartition<W>,
        part: Part,
        state: &mut LogPartition,
    ) -> Result<(), Trouble> {
        if part.records.is_empty() {
            return Ok(());
        }
        let (config, tables) = (&owned.config().kafka, &owned.role.tables);
        let mut outputs = owned.outputs(state, state.next_offset());
        let origins: Vec<_> = part.records.iter().map(|(at, entry)| (at.offset, log_time(entry))).collect();
        let decided = state.decide_batch(part.records, config.epoch, owned.world().timestamp())?;
        let read = origins.into_iter().zip(part.traces);
        for (outcome, ((offset, log_time), trace)) in decided.outcomes.into_iter().zip(read) {
            match outcome {
                RecordOutcome::Decided(conclusion) => {
                    let of = LogOrigin { partition: owned.partition, offset };
                    outputs.push(conclusion, of, (log_time, trace), (config, tables)).map_err(Error::from)?;
                }
                RecordOutcome::Dropped(why) => metrics::dropped(why),
            }
        }
        if let Some(origin) = decided.replaced {
            self.trouble = Some(Trouble::Halted(Replaced(&origin).to_string()));
        }
        if state.next_offset() > outputs.first_log_offset {
            let changelog = state.take_changelog()?;
            self.parts.push(Outputs { changelog, next_log_offset: state.next_offset(), ..outputs });
        }
        Ok(())
    }
}

/// Decodes a record of the log.
fn decode<W: World>(
    owned: &OwnedPartition<W>,
    message: &impl Record,
) -> Result<(LogPlace, Result<Entry, EntryError>), Trouble> {
    let (at, role) = (message.place(), &owned.role);
    let entry = Entry::decode(message.value().unwrap_or_default(), &*role.detector);
    match &entry {
        Err(error @ EntryError::TooNew { .. }) => {
            let topic = &owned.config().kafka.topics.fingerprints;
            return Err(Trouble::Halted(format!("{topic}[{}]@{}: {error}", owned.partition, at.offset)));
        }
        Err(error) => tracing::error!(partition = owned.partition, offset = at.offset, "{error}"),
        Ok(Entry { record: LogRecord::Page(page), .. }) if page.fingerprint_hash != role.fingerprint_hash => {
            role.other_hash(owned.partition, at.offset, page.fingerprint_hash);
        }
        Ok(_) => {}
    }
    Ok((at, entry))
}

/// Returns the trace of a record of the log, if it is traced.
fn trace(
    partition: u32,
    (at, entry): &(LogPlace, Result<Entry, EntryError>),
    message: &impl Record,
) -> Option<Box<LogTrace>> {
    let (tracer, Ok(entry)) = (traces::tracer()?, entry) else { return None };
    let said = TraceContext::from_headers(message.headers());
    tracer.read_from_log(said, (&entry.record, &entry.origin), (partition, at.offset), at.timestamp_ms)
}

fn log_time(entry: &Result<Entry, EntryError>) -> Option<Timestamp> {
    match entry {
        Ok(Entry { record: LogRecord::Page(page), .. }) => page.log_time,
        _ => None,
    }
}

/// Rounds up to whole milliseconds.
fn whole_ms(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}
