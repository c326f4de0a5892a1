//! Reads committed messages of all partitions of a topic, from a given time on, for tools that only read.
//! Joins no group and commits nothing. Partitions that are added to the topic meanwhile are read as well,
//! from their first message on.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::metadata::{Metadata, MetadataPartition, MetadataTopic};
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, CALL_TIMEOUT};
use super::events::ClientEvents;
use super::headers;
use super::received::Received;
use crate::kafka::error::{Result, refused};
use leitong_base::error::Context;
use leitong_pipeline::config::kafka::KafkaConfig;

/// Interval at which brokers are asked for new partitions, with one small request.
const NEW_PARTITIONS_INTERVAL: Duration = Duration::from_secs(5);
/// Timeout of a request for new partitions. Without an answer, the next request is made after
/// [`NEW_PARTITIONS_INTERVAL`].
const NEW_PARTITIONS_TIMEOUT: Duration = Duration::from_secs(1);

/// Position at which reading starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The first message that still exists.
    Beginning,
    /// The first message written at this time or later, in milliseconds since 1970.
    Time(i64),
    /// The end: only new messages are read.
    Now,
}

/// Reader of one topic.
pub struct Tail {
    consumer: BaseConsumer<ClientEvents>,
    topic: String,
    partitions: BTreeSet<i32>,
    /// Time when brokers were last asked for new partitions.
    asked_at: Instant,
    /// Partitions that were read to their end at least once.
    read_to_end: BTreeSet<i32>,
}

/// Returns the partitions of the topic in the answer.
fn partitions_in(metadata: &Metadata) -> BTreeSet<i32> {
    metadata.topics().iter().flat_map(MetadataTopic::partitions).map(MetadataPartition::id).collect()
}

impl Tail {
    /// Starts to read. Returns when brokers have answered where each partition begins.
    ///
    /// # Errors
    /// Fails if there is no such topic, if it may not be read, or if no broker answers.
    pub fn begin(config: &KafkaConfig, topic: &str, start: Start) -> Result<Self> {
        let consumer: BaseConsumer<ClientEvents> =
            client::create(&client::tail_reader(config), ClientEvents::new("tap"))?;
        let metadata = consumer
            .fetch_metadata(Some(topic), CALL_TIMEOUT)
            .with_context(|| format!("brokers did not answer about topic {topic}"))?;
        let mut assignment = TopicPartitionList::new();
        let no_answer = || format!("brokers did not report the end offsets of topic {topic}");
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
            return Err(refused!(
                "topic {topic} does not exist; correct its name, or create the topics of kafka.topics with `leitong \
                 topics create`"
            ));
        }
        if let Start::Time(_) = start {
            assignment = consumer.offsets_for_times(assignment, CALL_TIMEOUT).with_context(no_answer)?;
        }
        consumer.assign(&assignment).with_context(|| format!("cannot read topic {topic}"))?;
        Ok(Self {
            consumer,
            topic: topic.to_owned(),
            partitions,
            asked_at: Instant::now(),
            read_to_end: BTreeSet::new(),
        })
    }

    /// Returns the name of the topic.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Returns the number of partitions that are read.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Returns true if every partition has been read to its end at some time since the start.
    #[must_use]
    pub fn is_read_to_end(&self) -> bool {
        self.read_to_end.len() == self.partitions.len()
    }

    /// Starts to read partitions that were added to the topic, from their first message on. Returns their
    /// number. Asks brokers at most every few seconds.
    ///
    /// # Errors
    /// Fails if a partition cannot be added to those that are read.
    pub fn add_new_partitions(&mut self) -> Result<usize> {
        if self.asked_at.elapsed() < NEW_PARTITIONS_INTERVAL {
            return Ok(0);
        }
        let answer = self.consumer.fetch_metadata(Some(&self.topic), NEW_PARTITIONS_TIMEOUT);
        self.asked_at = Instant::now();
        let metadata = match answer {
            Ok(metadata) => metadata,
            Err(error) => {
                tracing::debug!(%error, topic = self.topic, "brokers did not answer about new partitions");
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
            .with_context(|| format!("cannot read the new partitions {new:?} of topic {}", self.topic))?;
        self.partitions.extend(&new);
        Ok(new.len())
    }

    /// Returns the next message, if there is one within `timeout`.
    ///
    /// # Errors
    /// Fails if the topic cannot be read any more: it is gone, or permissions are missing. Temporary errors,
    /// such as an unavailable broker, are waited out.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Received>> {
        match self.consumer.poll(timeout) {
            None => Ok(None),
            Some(Ok(message)) => Ok(Some(Received {
                topic: self.topic.clone(),
                partition: message.partition(),
                offset: message.offset(),
                timestamp_ms: message.timestamp().to_millis(),
                key: message.key().map(<[u8]>::to_vec),
                value: message.payload().map(<[u8]>::to_vec),
                headers: headers::copy(message.headers()),
            })),
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                self.read_to_end.insert(partition);
                Ok(None)
            }
            Some(Err(error)) if let Some(advice) = client::final_advice(&error) => {
                Err(refused!("cannot read topic {}: {error}{advice}", self.topic))
            }
            Some(Err(error)) => {
                use RDKafkaErrorCode as Code;
                match error.rdkafka_error_code() {
                    Some(
                        Code::UnknownTopicOrPartition
                        | Code::UnknownTopic
                        | Code::TopicAuthorizationFailed
                        | Code::Fatal,
                    ) => Err(refused!("cannot continue to read topic {}: {error}", self.topic)),
                    _ => {
                        tracing::debug!(%error, topic = self.topic, "waiting for the broker");
                        Ok(None)
                    }
                }
            }
        }
    }
}
