//! Reads the first messages of a topic's partitions, to examine their format. Joins no group and commits
//! nothing.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::metadata::MetadataTopic;
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, CALL_TIMEOUT};
use super::events::ClientEvents;
use super::headers;
use leitong_pipeline::config::kafka::KafkaConfig;

/// Longest wait for messages.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The parts of a message that are examined.
#[derive(Debug)]
pub struct Sampled {
    /// Key of the message.
    pub key: Option<Vec<u8>>,
    /// Value of the message.
    pub value: Option<Vec<u8>>,
    /// Value of the header `content-encoding`.
    pub content_encoding: Option<Vec<u8>>,
}

/// Returns at most `count` messages of `topic`, read from the beginning of each partition.
///
/// # Errors
/// Fails if there is no such topic, or if it cannot be read.
pub fn messages(config: &KafkaConfig, topic: &str, count: usize) -> anyhow::Result<Vec<Sampled>> {
    let consumer: BaseConsumer<ClientEvents> =
        client::create(&client::partition_reader(config), ClientEvents::new("sample"))?;
    let metadata = consumer
        .fetch_metadata(Some(topic), CALL_TIMEOUT)
        .with_context(|| format!("brokers did not answer about topic {topic}"))?;
    let partitions = metadata.topics().iter().flat_map(MetadataTopic::partitions);
    let mut assignment = TopicPartitionList::new();
    let mut waiting = 0;
    for partition in partitions {
        let (low, high) = consumer.fetch_watermarks(topic, partition.id(), CALL_TIMEOUT)?;
        waiting += usize::try_from(high - low).unwrap_or(0);
        assignment.add_partition_offset(topic, partition.id(), Offset::Beginning)?;
    }
    if assignment.count() == 0 {
        bail!("topic {topic} does not exist; check its name and kafka.bootstrap_servers");
    }
    consumer.assign(&assignment)?;
    let (mut found, deadline) = (Vec::new(), Instant::now() + TIMEOUT);
    while found.len() < count.min(waiting) && Instant::now() < deadline {
        let Some(Ok(message)) = consumer.poll(Duration::from_millis(200)) else { continue };
        let header = |name: &str| {
            let mut all = headers::all(message.headers()?);
            all.find(|(known, _)| known.eq_ignore_ascii_case(name))?.1.map(<[u8]>::to_vec)
        };
        found.push(Sampled {
            key: message.key().map(<[u8]>::to_vec),
            value: message.payload().map(<[u8]>::to_vec),
            content_encoding: header("content-encoding"),
        });
    }
    Ok(found)
}
