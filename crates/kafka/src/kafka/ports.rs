//! The interface between an owner and Kafka, which a simulation can implement as well: a [`Reader`] of one
//! partition, and a [`TransactionClient`], which is one producer epoch of a transactional id. Records, headers and
//! errors are those of no client.

use std::borrow::Cow;
use std::time::Duration;

use thiserror::Error;

use crate::kafka::error::Result;
use leitong_cluster::log::LogPlace;
use leitong_pipeline::verdict_message::log_origin::{LOG_ORIGIN, LogOrigin};

/// Timeout of one step of reading.
const READ_STEP: Duration = Duration::from_millis(100);
/// Number of steps without an answer after which a warning is logged: 30 seconds.
const STEPS_UNTIL_WARNING: u32 = 300;

/// The result of one step of reading.
pub(crate) enum Step<M> {
    /// A record.
    Record(M),
    /// All committed records were read.
    End,
    /// There was nothing within the timeout.
    Nothing,
}

/// The records that a reader returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// The committed records up to the end.
    ToEnd,
    /// The same for a table that is restored; the lag is exported.
    Restoring,
    /// The committed records, and then new ones; the lag is exported.
    Following,
    /// All records up to the end, uncommitted ones too.
    Uncommitted,
}

/// One partition of a topic, read in order.
pub(crate) trait Reader {
    /// Continues at `offset`.
    ///
    /// # Errors
    /// Fails if the client refuses.
    fn begin(&self, offset: u64) -> Result<()>;

    /// Returns the next record. Waits for it at most `timeout`.
    ///
    /// # Errors
    /// Fails if the records to be read do not exist any more. Temporary errors are waited out.
    fn next(&self, timeout: Duration) -> Result<Step<impl Record>>;

    /// Returns the first offset that exists, and the offset after the last committed record.
    ///
    /// # Errors
    /// Fails if the brokers do not answer.
    fn bounds(&self) -> Result<(u64, u64)>;

    /// Returns the offset that the group of the cluster stage has committed for this partition.
    ///
    /// # Errors
    /// Fails if the brokers do not answer.
    fn committed(&self) -> Result<Option<u64>>;

    /// Returns topic and partition, for messages.
    fn name(&self) -> String;

    /// Reads from `offset` to the end, and passes each record to `take`. Returns false if `stop` returned
    /// true.
    ///
    /// # Errors
    /// The errors of [`Self::next`] and of `take`.
    fn read_to_end(
        &self,
        offset: u64,
        stop: impl Fn() -> bool,
        mut take: impl FnMut(&dyn Record) -> Result<()>,
    ) -> Result<bool> {
        self.begin(offset)?;
        let mut steps_without_answer = 0;
        loop {
            match self.next(READ_STEP)? {
                Step::Record(message) => {
                    take(&message)?;
                    steps_without_answer = 0;
                }
                Step::End => return Ok(true),
                Step::Nothing => {
                    steps_without_answer += 1;
                    if steps_without_answer == STEPS_UNTIL_WARNING {
                        tracing::warn!(
                            partition = self.name(),
                            "reading is delayed: no answer from the broker for 30 s; still waiting"
                        );
                        steps_without_answer = 0;
                    }
                }
            }
            if stop() {
                return Ok(false);
            }
        }
    }
}

/// A record as a reader sees it.
pub(crate) trait Record {
    /// Returns its offset.
    fn offset(&self) -> u64;
    /// Returns the time in its header, in milliseconds since 1970.
    fn timestamp_ms(&self) -> Option<i64>;
    /// Returns its key.
    fn key(&self) -> Option<&[u8]>;
    /// Returns its value.
    fn value(&self) -> Option<&[u8]>;
    /// Returns its headers in their order.
    fn headers(&self) -> HeadersRead<'_>;

    /// Returns its place in the log.
    fn place(&self) -> LogPlace {
        LogPlace { offset: self.offset(), timestamp_ms: self.timestamp_ms() }
    }

    /// Returns the log record that caused this record, if a header names it.
    fn origin(&self) -> Option<LogOrigin> {
        // The last such header is ours; earlier ones came with the page.
        let (_, value) = self.headers().filter(|(name, _)| name == LOG_ORIGIN).last()?;
        std::str::from_utf8(value?).ok()?.parse().ok()
    }
}

/// The names and values of a record's headers.
pub(crate) type HeadersRead<'a> = Box<dyn Iterator<Item = (Cow<'a, str>, Option<&'a [u8]>)> + 'a>;

/// Name and value of a header to write.
pub(crate) type Header = (Cow<'static, str>, Option<Vec<u8>>);

/// A record that a transaction writes.
pub(crate) struct Outgoing<'a> {
    /// The topic.
    pub(crate) topic: &'a str,
    /// Partition; `None` if it is chosen by the key.
    pub(crate) partition: Option<u32>,
    /// Key of the record.
    pub(crate) key: Option<&'a Vec<u8>>,
    /// Value; `None` is a tombstone.
    pub(crate) value: Option<&'a Vec<u8>>,
    /// Headers of the record.
    pub(crate) headers: &'a [Header],
}

/// Partition and offset where a record was delivered.
pub(crate) type Delivered = (u32, u64);

/// Reason why a request was not served, or may not have been served.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// Temporary error: the same request may be sent again.
    #[error("{0}")]
    Retriable(String),
    /// Another producer has taken the transactional id, or the coordinator considered this one dead.
    #[error("{0}")]
    Fenced(String),
    /// A topic rejects a record.
    #[error("topic {topic} rejects a record of {bytes} bytes: {code}")]
    Refused {
        /// The topic.
        topic: String,
        /// Bytes of the record's value.
        bytes: usize,
        /// The broker's error.
        code: String,
    },
    /// Any other error: an unavailable broker, a rebalance, a timeout.
    #[error("{0}")]
    Failed(String),
}

/// A part of a partition that a `read_committed` consumer cannot see yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenRange {
    /// The topic.
    pub(crate) topic: String,
    /// The partition.
    pub(crate) partition: u32,
    /// Offset of the first record of the oldest open transaction (the *last stable offset*).
    pub(crate) from: u64,
    /// Offset after the last record (the *high watermark*).
    pub(crate) to: u64,
}

/// A producer with a transactional id. After [`Self::init_transactions`] it stands for one epoch of the id.
pub(crate) trait TransactionClient {
    /// A generation of the consumer group.
    type Group;

    /// Takes the transactional id: fences the former producer, and ends the transaction that it left open.
    ///
    /// # Errors
    /// [`RequestError`]; after a retriable one the call may be repeated.
    fn init_transactions(&self, timeout: Duration) -> Result<(), RequestError>;

    /// Begins an empty transaction.
    ///
    /// # Errors
    /// [`RequestError`].
    fn begin(&self) -> Result<(), RequestError>;

    /// Sends a record. Waits while the client's queue is full.
    ///
    /// # Errors
    /// [`RequestError`].
    fn send(&self, record: &Outgoing<'_>) -> Result<(), RequestError>;

    /// Waits until everything that was sent is delivered, or until a record has failed permanently.
    ///
    /// # Errors
    /// [`RequestError`] of the first failure.
    fn flush(&self) -> Result<(), RequestError>;

    /// Returns the places of all records sent since [`Self::begin`], in the order of sending; `None` for a
    /// record whose place is not known.
    fn delivered(&self) -> Vec<Option<Delivered>>;

    /// Adds the group's next offset of the log to the transaction.
    ///
    /// # Errors
    /// [`RequestError`].
    fn send_offset(&self, log_partition: u32, offset: u64, group: &Self::Group) -> Result<(), RequestError>;

    /// Commits the transaction.
    ///
    /// # Errors
    /// [`RequestError`]. The transaction may have been committed nevertheless.
    fn commit(&self) -> Result<(), RequestError>;

    /// Aborts the transaction, and with it everything sent since [`Self::begin`].
    ///
    /// # Errors
    /// [`RequestError`].
    fn abort(&self) -> Result<(), RequestError>;

    /// Returns the reason why a request of this epoch may still be on its way, although it was answered or
    /// given up: since [`Self::init_transactions`] a connection broke or a request timed out. `None` if
    /// nothing of that kind happened.
    fn disturbance(&self) -> Option<String>;
}
