//! One partition of a topic, from an offset on, in order: the log for its owner, the changelog for a restore.
//!
//! The reader belongs to no group, so nobody takes the partition from it; who may read is decided elsewhere.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::{Offset, TopicPartitionList};

use crate::config::KafkaConfig;
use crate::pipeline::kafka::client::{self, CALL_TIMEOUT};
use crate::pipeline::log_partition::LogPlace;
use crate::telemetry::kafka::ClientEvents;
use crate::telemetry::metrics;

/// Reads one partition.
pub struct PartitionReader {
    consumer: BaseConsumer<ClientEvents>,
    topic: String,
    partition: i32,
}

/// What the next step of reading came to.
pub enum Step<'a> {
    /// A record.
    Record(BorrowedMessage<'a>),
    /// All that is committed was read.
    End,
    /// Nothing came in time.
    Nothing,
}

impl PartitionReader {
    /// A reader of `partition` of `topic`, which has to be told where to begin.
    ///
    /// # Errors
    /// The client cannot be made.
    pub fn new(config: &KafkaConfig, topic: &str, partition: u32) -> anyhow::Result<Self> {
        let queue = if topic == config.topics.fingerprints { "log-fetch" } else { "changelog-fetch" };
        let events = ClientEvents::new("reader").lag_of(topic).queue(queue, partition.to_string());
        let consumer = client::create(&client::partition_reader(config), events)?;
        Ok(Self { consumer, topic: topic.to_owned(), partition: i32::try_from(partition)? })
    }

    /// Goes on at `offset`.
    ///
    /// # Errors
    /// librdkafka refuses.
    pub fn begin(&self, offset: u64) -> anyhow::Result<()> {
        let mut assignment = TopicPartitionList::new();
        assignment.add_partition_offset(
            &self.topic,
            self.partition,
            Offset::Offset(i64::try_from(offset)?),
        )?;
        self.consumer.assign(&assignment).with_context(|| format!("cannot read {}", self.name()))
    }

    /// The first offset that is there, and the one behind the last committed record.
    ///
    /// # Errors
    /// No answer.
    pub fn bounds(&self) -> anyhow::Result<(u64, u64)> {
        let (low, high) = self
            .consumer
            .fetch_watermarks(&self.topic, self.partition, CALL_TIMEOUT)
            .with_context(|| format!("no answer about where {} begins and ends", self.name()))?;
        Ok((u64::try_from(low)?, u64::try_from(high)?))
    }

    /// What the group has committed for this partition.
    ///
    /// # Errors
    /// No answer.
    pub fn committed(&self) -> anyhow::Result<Option<u64>> {
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition(&self.topic, self.partition);
        let committed = self
            .consumer
            .committed_offsets(wanted, CALL_TIMEOUT)
            .with_context(|| format!("no answer about the committed offset of {}", self.name()))?;
        let element = committed.elements_for_topic(&self.topic).into_iter().next();
        let element = element.with_context(|| format!("no answer about {}", self.name()))?;
        element.error().with_context(|| format!("no committed offset of {}", self.name()))?;
        match element.offset() {
            Offset::Offset(offset) => Ok(Some(u64::try_from(offset)?)),
            _ => Ok(None),
        }
    }

    /// The next record, waiting for it at most `timeout`.
    ///
    /// # Errors
    /// What is asked for is not there any more; all that may pass is waited out.
    pub fn next(&self, timeout: Duration) -> anyhow::Result<Step<'_>> {
        match self.consumer.poll(timeout) {
            None => Ok(Step::Nothing),
            Some(Ok(message)) => Ok(Step::Record(message)),
            Some(Err(KafkaError::PartitionEOF(_))) => Ok(Step::End),
            Some(Err(KafkaError::MessageConsumptionFatal(error))) => {
                bail!("cannot read {}: {error}", self.name())
            }
            Some(Err(error)) => {
                use rdkafka::error::RDKafkaErrorCode as Code;
                match error.rdkafka_error_code() {
                    Some(Code::AutoOffsetReset | Code::OffsetOutOfRange | Code::UnknownTopicOrPartition) => {
                        bail!("cannot read on in {}: {error}", self.name())
                    }
                    _ => {
                        tracing::debug!(%error, partition = self.name(), "waiting for the broker");
                        Ok(Step::Nothing)
                    }
                }
            }
        }
    }

    /// Reads from `offset` to the end and gives each record's key and value to `take`; false if `stop` says so.
    ///
    /// # Errors
    /// Those of [`Self::next`] and of `take`.
    pub fn read_to_end(
        &self,
        offset: u64,
        stop: impl Fn() -> bool,
        mut take: impl FnMut(&BorrowedMessage<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        self.begin(offset)?;
        let mut waiting_since = None;
        loop {
            match self.next(Duration::from_millis(100))? {
                Step::Record(message) => {
                    take(&message)?;
                    waiting_since = None;
                }
                Step::End => return Ok(true),
                Step::Nothing => {
                    let since = waiting_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > Duration::from_secs(30) {
                        tracing::warn!(
                            partition = self.name(),
                            "no answer from the broker for 30 s; waiting on"
                        );
                        waiting_since = None;
                    }
                }
            }
            if stop() {
                return Ok(false);
            }
        }
    }

    /// Topic and partition, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}[{}]", self.topic, self.partition)
    }
}

impl Drop for PartitionReader {
    fn drop(&mut self) {
        // It reads no more, so it lags behind nothing.
        metrics::lag(&self.topic, self.partition, 0);
    }
}

/// Where a message of the log stands.
#[must_use]
pub fn place(message: &BorrowedMessage<'_>) -> LogPlace {
    LogPlace {
        offset: u64::try_from(message.offset()).unwrap_or(0),
        timestamp_ms: message.timestamp().to_millis(),
    }
}
