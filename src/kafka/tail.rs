//! What passes by on a topic, from a moment on: committed messages of all its partitions, for
//! people who look. Joins no group and commits nothing. Partitions that are added to the topic while
//! it is read are read as well, from their first message on.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::metadata::{Metadata, MetadataPartition, MetadataTopic};
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, CALL_TIMEOUT};
use super::config::KafkaConfig;
use super::events::ClientEvents;
use super::headers;
use super::received::Received;

/// How often brokers are asked for new partitions: one small request each time.
const NEW_PARTITIONS_INTERVAL: Duration = Duration::from_secs(5);
/// How long such an answer is waited for; without one, the next time will do.
const NEW_PARTITIONS_TIMEOUT: Duration = Duration::from_secs(1);

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
    partitions: BTreeSet<i32>,
    /// When brokers were last asked for new ones.
    asked_at: Instant,
    /// Partitions that were read to where they ended.
    read_to_end: BTreeSet<i32>,
}

/// The partitions of the topic that was asked about.
fn partitions_in(metadata: &Metadata) -> BTreeSet<i32> {
    metadata.topics().iter().flat_map(MetadataTopic::partitions).map(MetadataPartition::id).collect()
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
        let partitions = partitions_in(&metadata);
        for partition in &partitions {
            let offset = match start {
                Start::Beginning => Offset::Beginning,
                Start::Time(ms) => Offset::Offset(ms),
                Start::Now => {
                    let ends = consumer.fetch_watermarks(topic, *partition, CALL_TIMEOUT);
                    Offset::Offset(ends.with_context(no_answer)?.1)
                }
            };
            assignment.add_partition_offset(topic, *partition, offset)?;
        }
        if partitions.is_empty() {
            bail!("there is no topic {topic}: make it with `leitong topics create`, or see kafka.topics");
        }
        if let Start::Time(_) = start {
            assignment = consumer.offsets_for_times(assignment, CALL_TIMEOUT).with_context(no_answer)?;
        }
        consumer.assign(&assignment).with_context(|| format!("cannot read the topic {topic}"))?;
        Ok(Self {
            consumer,
            topic: topic.to_owned(),
            partitions,
            asked_at: Instant::now(),
            read_to_end: BTreeSet::new(),
        })
    }

    /// The topic's name.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The number of partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Whether every partition was read to where it ended at some time since the beginning.
    #[must_use]
    pub fn is_read_to_end(&self) -> bool {
        self.read_to_end.len() == self.partitions.len()
    }

    /// Begins to read partitions that were added to the topic, from their first message on, and says
    /// how many. Asks brokers every few seconds at most.
    ///
    /// # Errors
    /// A partition cannot be added to those that are read.
    pub fn add_new_partitions(&mut self) -> anyhow::Result<usize> {
        if self.asked_at.elapsed() < NEW_PARTITIONS_INTERVAL {
            return Ok(0);
        }
        let answer = self.consumer.fetch_metadata(Some(&self.topic), NEW_PARTITIONS_TIMEOUT);
        self.asked_at = Instant::now();
        let metadata = match answer {
            Ok(metadata) => metadata,
            Err(error) => {
                tracing::debug!(%error, topic = self.topic, "no answer about new partitions");
                return Ok(0);
            }
        };
        let new: Vec<i32> = partitions_in(&metadata).difference(&self.partitions).copied().collect();
        if new.is_empty() {
            return Ok(0);
        }
        let mut more = TopicPartitionList::new();
        for partition in &new {
            more.add_partition_offset(&self.topic, *partition, Offset::Beginning)?;
        }
        self.consumer
            .incremental_assign(&more)
            .with_context(|| format!("cannot read the new partitions {new:?} of the topic {}", self.topic))?;
        self.partitions.extend(&new);
        Ok(new.len())
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
