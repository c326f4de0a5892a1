//! Reads one partition of a topic in order, from a given offset on: the log for its owner, the changelog for
//! a restore.
//!
//! The reader belongs to no group, so the partition cannot be revoked from it; it only asks for the offset that the
//! cluster stage's group has committed. Several instances may read a partition at the same time. For the log, the
//! transactional id decides which of them may write (`worker/owner/take_over.rs`).

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::{Offset, TopicPartitionList};

use crate::kafka::client::{self, CALL_TIMEOUT};
use crate::kafka::error::{Result, refused};
use crate::kafka::events::ClientEvents;
use crate::kafka::headers;
use crate::kafka::ports::{HeadersRead, ReadMode, Reader, Record, Step};
use leitong_base::error::Context;
use leitong_graph::telemetry::metrics;
use leitong_pipeline::config::kafka::KafkaConfig;

/// Reader of one partition.
pub(crate) struct PartitionReader {
    consumer: BaseConsumer<ClientEvents>,
    topic: String,
    partition: i32,
    /// True if metrics tell how far the reader lags behind.
    exports_lag: bool,
}

impl PartitionReader {
    /// Creates a reader of `partition` of `topic`. [`Reader::begin`] tells it where to begin. A reader of
    /// the log or the changelog exports its lag and queue as metrics, if it follows or restores.
    ///
    /// # Errors
    /// Fails if the client cannot be created.
    pub(crate) fn new(config: &KafkaConfig, topic: &str, partition: u32, mode: ReadMode) -> Result<Self> {
        let settings = match mode {
            ReadMode::ToEnd | ReadMode::Restoring => client::partition_reader(config),
            ReadMode::Following => client::partition_follower(config),
            ReadMode::Uncommitted => client::uncommitted_reader(config),
        };
        let topics = &config.topics;
        let queue = [(&topics.fingerprints, "log-fetch"), (&topics.centroids, "changelog-fetch")]
            .into_iter()
            .find(|(name, _)| *name == topic && matches!(mode, ReadMode::Restoring | ReadMode::Following));
        let events = ClientEvents::new("reader");
        let events = match queue {
            Some((_, queue)) => events.lag_of(topic).queue(queue, partition.to_string()),
            None => events,
        };
        let consumer = client::create(&settings, events)?;
        let (topic, partition) = (topic.to_owned(), i32::try_from(partition)?);
        Ok(Self { consumer, topic, partition, exports_lag: queue.is_some() })
    }
}

impl Reader for PartitionReader {
    fn begin(&self, offset: u64) -> Result<()> {
        let mut assignment = TopicPartitionList::new();
        assignment.add_partition_offset(
            &self.topic,
            self.partition,
            Offset::Offset(i64::try_from(offset)?),
        )?;
        let result = if self.consumer.assignment()?.count() == 0 {
            self.consumer.assign(&assignment)
        } else {
            // A second assignment would stop the partition. If the reader were dropped, or began once more,
            // before that is done, librdkafka would stop it twice, and end the process by an assertion.
            let sought = self.consumer.seek_partitions(assignment, CALL_TIMEOUT);
            sought.and_then(|list| list.elements().iter().try_for_each(TopicPartitionListElem::error))
        };
        Ok(result.with_context(|| format!("cannot read {}", self.name()))?)
    }

    fn bounds(&self) -> Result<(u64, u64)> {
        let (low, high) =
            self.consumer.fetch_watermarks(&self.topic, self.partition, CALL_TIMEOUT).with_context(|| {
                format!("brokers did not report the first and last offsets of {}", self.name())
            })?;
        Ok((u64::try_from(low)?, u64::try_from(high)?))
    }

    fn committed(&self) -> Result<Option<u64>> {
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition(&self.topic, self.partition);
        let failed = || format!("brokers gave no committed offset of {}", self.name());
        let committed = self.consumer.committed_offsets(wanted, CALL_TIMEOUT).with_context(failed)?;
        let element = committed.elements_for_topic(&self.topic).into_iter().next().with_context(failed)?;
        element.error().with_context(failed)?;
        match element.offset() {
            Offset::Offset(offset) => Ok(Some(u64::try_from(offset)?)),
            _ => Ok(None),
        }
    }

    fn next(&self, timeout: Duration) -> Result<Step<impl Record>> {
        match self.consumer.poll(timeout) {
            None => Ok(Step::Nothing),
            Some(Ok(message)) => Ok(Step::Record(message)),
            Some(Err(KafkaError::PartitionEOF(_))) => Ok(Step::End),
            Some(Err(error)) if let Some(advice) = final_advice(&error) => {
                Err(refused!("cannot read {}: {error}{advice}", self.name()))
            }
            Some(Err(error)) => {
                // librdkafka tells of broken connections itself, and of anything else once.
                match error.rdkafka_error_code() {
                    Some(Code::AllBrokersDown | Code::BrokerTransportFailure | Code::OperationTimedOut) => {
                        tracing::debug!(%error, partition = self.name(), "waiting for the broker");
                    }
                    _ => tracing::warn!(%error, partition = self.name(), "the broker gives no records"),
                }
                Ok(Step::Nothing)
            }
        }
    }

    fn name(&self) -> String {
        format!("{}[{}]", self.topic, self.partition)
    }
}

/// Returns advice, which may be empty, if no later poll can continue: the records, the partition or the topic are gone,
/// or [no consumer](client::final_advice) can read on. librdkafka repeats what fails for other reasons.
fn final_advice(error: &KafkaError) -> Option<&'static str> {
    let is_gone = matches!(
        error.rdkafka_error_code(),
        Some(
            Code::AutoOffsetReset
                | Code::OffsetOutOfRange
                | Code::UnknownTopicOrPartition
                | Code::UnknownPartition
        )
    );
    client::final_advice(error).or(is_gone.then_some(""))
}

impl Drop for PartitionReader {
    fn drop(&mut self) {
        if self.exports_lag {
            // A dropped reader has no lag.
            metrics::lag(&self.topic, self.partition, 0);
        }
    }
}

impl Record for BorrowedMessage<'_> {
    fn offset(&self) -> u64 {
        u64::try_from(Message::offset(self)).expect("brokers count offsets from 0")
    }

    fn timestamp_ms(&self) -> Option<i64> {
        self.timestamp().to_millis()
    }

    fn key(&self) -> Option<&[u8]> {
        Message::key(self)
    }

    fn value(&self) -> Option<&[u8]> {
        self.payload()
    }

    fn headers(&self) -> HeadersRead<'_> {
        Box::new(Message::headers(self).into_iter().flat_map(headers::all))
    }
}

#[cfg(test)]
mod tests {
    use rdkafka::mocking::MockCluster;

    use super::*;

    #[test]
    fn a_reader_waits_for_brokers_and_fails_if_records_are_gone_or_damaged() {
        for (code, expected) in [
            (Code::OffsetOutOfRange, true),
            (Code::AutoOffsetReset, true),
            (Code::UnknownTopicOrPartition, true),
            (Code::UnknownPartition, true),
            (Code::BadMessage, true),
            (Code::BadCompression, true),
            (Code::NotImplemented, true),
            (Code::AllBrokersDown, false),
            (Code::BrokerTransportFailure, false),
            (Code::NotLeaderForPartition, false),
            (Code::TopicAuthorizationFailed, false),
        ] {
            let advice = final_advice(&KafkaError::MessageConsumption(code));
            assert_eq!(advice.is_some(), expected, "{code:?}");
        }
        assert_eq!(final_advice(&KafkaError::MessageConsumptionFatal(Code::Fenced)), Some(""));
    }

    /// The brokers are librdkafka's own: this is about what a client does to itself.
    #[test]
    fn a_reader_that_begins_again_and_is_dropped_at_once_ends_normally() {
        let brokers = MockCluster::new(1).expect("brokers");
        brokers.create_topic("log", 1, 1).expect("a topic");
        let config = KafkaConfig { bootstrap_servers: brokers.bootstrap_servers(), ..KafkaConfig::default() };
        let read_to_end = |reader: &PartitionReader| {
            let mut steps = (0..600).map(|_| reader.next(Duration::from_millis(100)).expect("no error"));
            assert!(steps.any(|step| matches!(step, Step::End)), "no end within 600 polls");
        };
        for round in 0..60 {
            let reader = PartitionReader::new(&config, "log", 0, ReadMode::ToEnd).expect("a reader");
            reader.begin(0).expect("begun");
            if round % 2 == 0 {
                read_to_end(&reader);
            }
            reader.begin(0).expect("begun again");
            if round % 3 == 0 {
                read_to_end(&reader);
            }
        }
    }
}
