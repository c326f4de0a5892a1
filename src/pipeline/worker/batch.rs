//! What an owner decides on at once: the log's next records, as many as one transaction holds, in parts.
//!
//! ```text
//! log ─► entries ─► part ─► LogPartition::take_batch ─► its outputs ─► next part … until the transaction is full,
//!                                                                      or the log at its end
//! ```
//! Each part could be a transaction of its own. Memory: the outputs of one transaction.

use std::time::{Duration, Instant};

use rdkafka::message::{BorrowedMessage, Message};
use thiserror::Error;

use super::owner::{Owner, Trouble};
use crate::fingerprint::record::LogRecord;
use crate::log::entry::{self, Entry, EntryError};
use crate::log::watermarks::{Admission, Origin};
use crate::page::timestamp::Timestamp;
use crate::pipeline::log_partition::{LogPartition, LogPlace, Taken};
use crate::sink::kafka::outputs::Outputs;
use crate::source::kafka::partition::{PartitionReader, Step, place};
use crate::telemetry::metrics;

/// Bytes of the log in one transaction: what is no page travels whole, so records may be large.
const BATCH_BYTES: usize = 4 << 20;
/// Records and bytes of the log in one part of a transaction: with less, a slow broker is not waited for. What a part
/// costs is a position record, which is written for the last one only.
const PART_RECORDS: usize = 50;
const PART_BYTES: usize = 64 << 10;

/// Records of the log that are decided on at once.
#[derive(Default)]
struct Part {
    records: Vec<(LogPlace, Result<Entry, EntryError>)>,
    bytes: usize,
}

impl Part {
    fn is_full(&self) -> bool {
        self.records.len() >= PART_RECORDS || self.bytes >= PART_BYTES
    }
}

impl Owner {
    /// Decides on what the log has at hand: everything that one transaction holds, in parts that could each be one.
    pub(super) fn batch(
        &self,
        log: &PartitionReader,
        state: &mut LogPartition,
    ) -> Result<Vec<Outputs>, Trouble> {
        let transaction = &self.config().kafka.transaction;
        let linger = Duration::from_millis(transaction.linger_ms);
        let (mut parts, mut part) = (Vec::new(), Part::default());
        let (mut records, mut bytes) = (0, 0);
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
                    part.records.push(self.read(&message)?);
                    part.bytes += message.payload_len();
                    (records, bytes) = (records + 1, bytes + message.payload_len());
                    if part.is_full() {
                        parts.push(self.decide(std::mem::take(&mut part), state)?);
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
        let at_work = Instant::now();
        if !part.records.is_empty() {
            parts.push(self.decide(part, state)?);
        }
        if records > 0 {
            metrics::stage("cluster", busy + at_work.elapsed());
        }
        Ok(parts)
    }

    /// The entry in a record of the log, or what is wrong with it.
    fn read(&self, message: &BorrowedMessage<'_>) -> Result<(LogPlace, Result<Entry, EntryError>), Trouble> {
        let (at, half) = (place(message), &self.cluster.half);
        let entry = entry::decode(message.payload().unwrap_or_default(), &**half.detector());
        match &entry {
            Err(error @ EntryError::TooNew { .. }) => {
                let topic = &self.config().kafka.topics.fingerprints;
                return Err(Trouble::Halted(format!("{topic}[{}]@{}: {error}", self.partition, at.offset)));
            }
            Err(error) => tracing::error!(partition = self.partition, offset = at.offset, "{error}"),
            Ok(Entry { record: LogRecord::Page(page), .. })
                if page.fingerprint_hash != half.fingerprint_hash() =>
            {
                metrics::other_fingerprint_hash();
            }
            Ok(_) => {}
        }
        Ok((at, entry))
    }

    /// What comes of a part, with the changes that it makes, and the position behind it.
    fn decide(&self, part: Part, state: &mut LogPartition) -> Result<Outputs, Trouble> {
        let config = &self.config().kafka;
        let mut outputs = self.outputs(state, state.next_offset());
        let log_times: Vec<_> = part.records.iter().map(|(_, entry)| log_time(entry)).collect();
        for (taken, log_time) in state.take_batch(part.records, Timestamp::now()).into_iter().zip(log_times) {
            match taken {
                Taken::Concluded(conclusion) => outputs.push(conclusion, log_time, config),
                Taken::Dropped(why, origin) => {
                    metrics::dropped(why);
                    if why == Admission::Replaced && origin.epoch >= config.epoch {
                        return Err(Trouble::Halted(Replaced(&origin).to_string()));
                    }
                }
            }
        }
        Ok(Outputs { changelog: state.take_changelog(), next_log_offset: state.next_offset(), ..outputs })
    }
}

fn log_time(entry: &Result<Entry, EntryError>) -> Option<Timestamp> {
    match entry {
        Ok(Entry { record: LogRecord::Page(page), .. }) => page.log_time,
        _ => None,
    }
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
