//! What passes by on a topic, from a moment on: committed messages of all its partitions, for
//! people who look. Joins no group and commits nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::metadata::MetadataTopic;
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, CALL_TIMEOUT};
use super::config::KafkaConfig;
use super::events::ClientEvents;
use super::headers;
use super::received::Received;

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At the first message that is still there.
    Beginning,
    /// At the first message written at this time or later, in milliseconds since 1970.
    Time(i64),
    /// Behind all that is there.
    Now,
}

/// One topic, as it is read.
pub struct Tail {
    consumer: BaseConsumer<ClientEvents>,
    topic: String,
    partitions: usize,
    /// Partitions that were read to where they ended.
    read_to_end: BTreeSet<i32>,
}

impl Tail {
    /// Begins to read; returns when brokers have said where each partition begins.
    ///
    /// # Errors
    /// There is no such topic, it may not be read, or no broker answers.
    pub fn begin(config: &KafkaConfig, topic: &str, start: Start) -> anyhow::Result<Self> {
        let consumer: BaseConsumer<ClientEvents> =
            client::create(&client::tail_reader(config), ClientEvents::new("tap"))?;
        let metadata = consumer
            .fetch_metadata(Some(topic), CALL_TIMEOUT)
            .with_context(|| format!("no answer about the topic {topic}"))?;
        let mut assignment = TopicPartitionList::new();
        let no_answer = || format!("no answer about where the topic {topic} ends");
        for partition in metadata.topics().iter().flat_map(MetadataTopic::partitions) {
            let offset = match start {
                Start::Beginning => Offset::Beginning,
                Start::Time(ms) => Offset::Offset(ms),
                Start::Now => {
                    let ends = consumer.fetch_watermarks(topic, partition.id(), CALL_TIMEOUT);
                    Offset::Offset(ends.with_context(no_answer)?.1)
                }
            };
            assignment.add_partition_offset(topic, partition.id(), offset)?;
        }
        let partitions = assignment.count();
        if partitions == 0 {
            bail!("there is no topic {topic}: make it with `leitong topics create`, or see kafka.topics");
        }
        if let Start::Time(_) = start {
            assignment = consumer.offsets_for_times(assignment, CALL_TIMEOUT).with_context(no_answer)?;
        }
        consumer.assign(&assignment).with_context(|| format!("cannot read the topic {topic}"))?;
        Ok(Self { consumer, topic: topic.to_owned(), partitions, read_to_end: BTreeSet::new() })
    }

    /// The number of partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Whether every partition was read to where it ended at some time since the beginning.
    #[must_use]
    pub fn is_read_to_end(&self) -> bool {
        self.read_to_end.len() == self.partitions
    }

    /// The next message, if one comes within `timeout`.
    ///
    /// # Errors
    /// The topic cannot be read on: it is gone, or rights are missing. What passes by itself, such
    /// as a broker that is away, is waited for.
    pub fn next(&mut self, timeout: Duration) -> anyhow::Result<Option<Received>> {
        match self.consumer.poll(timeout) {
            None => Ok(None),
            Some(Ok(message)) => Ok(Some(Received {
                topic: self.topic.clone(),
                partition: message.partition(),
                offset: message.offset(),
                timestamp_ms: message.timestamp().to_millis(),
                key: message.key().map(<[u8]>::to_vec),
                value: message.payload().map(<[u8]>::to_vec),
                headers: message.headers().map_or_else(Vec::new, |headers| {
                    let owned = |(name, value): (std::borrow::Cow<'_, str>, Option<&[u8]>)| {
                        (name.into_owned(), value.map(<[u8]>::to_vec))
                    };
                    headers::all(headers).map(owned).collect()
                }),
            })),
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                self.read_to_end.insert(partition);
                Ok(None)
            }
            Some(Err(error)) => {
                use RDKafkaErrorCode as Code;
                match error.rdkafka_error_code() {
                    Some(
                        Code::UnknownTopicOrPartition
                        | Code::UnknownTopic
                        | Code::TopicAuthorizationFailed
                        | Code::Fatal,
                    ) => bail!("cannot read on in the topic {}: {error}", self.topic),
                    _ => {
                        tracing::debug!(%error, topic = self.topic, "waiting for the broker");
                        Ok(None)
                    }
                }
            }
        }
    }
}
