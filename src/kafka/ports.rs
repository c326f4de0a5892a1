//! What an owner asks of Kafka, so that a simulation can stand in for it: a [`Reader`] of
//! one partition, and a [`TransactionClient`], one producer epoch of a transactional id.

use std::time::Duration;

use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::{Headers, Message, OwnedHeaders};
use thiserror::Error;

use super::headers::AsBorrowed;
use super::log_origin::{LOG_ORIGIN, LogOrigin};

/// How long one step of reading waits.
const READ_STEP: Duration = Duration::from_millis(100);
/// Steps without an answer after which the log says so: 30 seconds.
const STEPS_UNTIL_WARNING: u32 = 300;

/// What the next step of reading came to.
pub(crate) enum Step<M> {
    /// A record.
    Record(M),
    /// All that is committed was read.
    End,
    /// Nothing came in time.
    Nothing,
}

/// One partition of a topic, read in order by a `read_committed` consumer.
pub(crate) trait Reader {
    /// Goes on at `offset`.
    ///
    /// # Errors
    /// The client refuses.
    fn begin(&self, offset: u64) -> anyhow::Result<()>;

    /// The next record, waiting for it at most `timeout`.
    ///
    /// # Errors
    /// What is asked for is not there any more; all that may pass is waited out.
    fn next(&self, timeout: Duration) -> anyhow::Result<Step<impl Message<Headers: AsBorrowed>>>;

    /// The first offset that is there, and the one behind the last committed record.
    ///
    /// # Errors
    /// No answer.
    fn bounds(&self) -> anyhow::Result<(u64, u64)>;

    /// What the group of the cluster stage has committed for this partition.
    ///
    /// # Errors
    /// No answer.
    fn committed(&self) -> anyhow::Result<Option<u64>>;

    /// Topic and partition, for messages.
    fn name(&self) -> String;

    /// Reads from `offset` to the end and gives each record to `take`; false if `stop` says so.
    ///
    /// # Errors
    /// Those of [`Self::next`] and of `take`.
    fn read_to_end<E: From<anyhow::Error>>(
        &self,
        offset: u64,
        stop: impl Fn() -> bool,
        mut take: impl FnMut(&dyn Record) -> Result<(), E>,
    ) -> Result<bool, E> {
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
                            "no answer from the broker for 30 s; waiting on"
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

/// A record as a reader sees it. (rdkafka's `Message` cannot be a trait object.)
pub(crate) trait Record {
    /// Its offset.
    fn offset(&self) -> u64;
    /// Its key.
    fn key(&self) -> Option<&[u8]>;
    /// Its value.
    fn value(&self) -> Option<&[u8]>;
    /// The record of the log that it comes from, if it says so.
    fn origin(&self) -> Option<LogOrigin>;
}

impl<M: Message> Record for M {
    fn offset(&self) -> u64 {
        u64::try_from(Message::offset(self)).unwrap_or(0)
    }

    fn key(&self) -> Option<&[u8]> {
        Message::key(self)
    }

    fn value(&self) -> Option<&[u8]> {
        self.payload()
    }

    fn origin(&self) -> Option<LogOrigin> {
        // The last one is ours: those before it came with the page.
        let ours = self.headers()?.iter().filter(|header| header.key == LOG_ORIGIN).last()?;
        std::str::from_utf8(ours.value?).ok()?.parse().ok()
    }
}

/// A record that a transaction writes.
pub(crate) struct Outgoing<'a> {
    /// The topic.
    pub(crate) topic: &'a str,
    /// The partition; none where the key decides.
    pub(crate) partition: Option<u32>,
    /// Its key.
    pub(crate) key: Option<&'a Vec<u8>>,
    /// Its value; none is a tombstone.
    pub(crate) value: Option<&'a Vec<u8>>,
    /// Its headers.
    pub(crate) headers: Option<&'a OwnedHeaders>,
}

/// Where a record was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Delivered {
    /// The partition of its topic.
    pub(crate) partition: u32,
    /// The offset in the partition.
    pub(crate) offset: u64,
}

/// Why a request was not served, or perhaps not.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The same request may be sent again.
    #[error("{0}")]
    Retriable(String),
    /// Another producer has taken the transactional id, or the coordinator took this one for dead.
    #[error("{0}")]
    Fenced(String),
    /// A topic does not take a record.
    #[error("topic {topic} does not take a record of {bytes} bytes: {code}")]
    Refused {
        /// The topic.
        topic: String,
        /// Bytes of the record's value.
        bytes: usize,
        /// What the broker says.
        code: RDKafkaErrorCode,
    },
    /// All else: a broker that is away, a rebalance, a time-out.
    #[error("{0}")]
    Failed(String),
}

/// A producer with a transactional id: from [`Self::init_transactions`] on, one epoch of it.
pub(crate) trait TransactionClient {
    /// A generation of the consumer group.
    type Group;

    /// Takes the transactional id: fences whoever had it, and ends the transaction that they left.
    ///
    /// # Errors
    /// [`RequestError`]; a retriable one may be asked again.
    fn init_transactions(&self, timeout: Duration) -> Result<(), RequestError>;

    /// Begins a transaction, of which nothing is sent or delivered yet.
    ///
    /// # Errors
    /// [`RequestError`].
    fn begin(&self) -> Result<(), RequestError>;

    /// Sends a record; waits while the client's queue is full.
    ///
    /// # Errors
    /// [`RequestError`].
    fn send(&self, record: &Outgoing<'_>) -> Result<(), RequestError>;

    /// Waits until all that was sent is delivered, or something failed for good.
    ///
    /// # Errors
    /// [`RequestError`], the first failure.
    fn flush(&self) -> Result<(), RequestError>;

    /// Where each record stands that was sent since [`Self::begin`],
    /// in the order of sending; none where that is not known.
    fn delivered(&self) -> Vec<Option<Delivered>>;

    /// Adds the group's next offset of the log to the transaction.
    ///
    /// # Errors
    /// [`RequestError`].
    fn send_offset(&self, log_partition: u32, offset: u64, group: &Self::Group) -> Result<(), RequestError>;

    /// Commits.
    ///
    /// # Errors
    /// [`RequestError`]; then it may have been committed nevertheless.
    fn commit(&self) -> Result<(), RequestError>;

    /// Gives up all that was sent since [`Self::begin`].
    ///
    /// # Errors
    /// [`RequestError`].
    fn abort(&self) -> Result<(), RequestError>;

    /// Why a request of this epoch might still be under way, though it was
    /// answered or given up: a connection broke or a request timed out since
    /// [`Self::init_transactions`]. None: nothing of that kind happened.
    fn disturbance(&self) -> Option<String>;
}
