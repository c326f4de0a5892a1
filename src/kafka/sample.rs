//! The first messages of a topic's partitions, for a look
//! at what is in them. Joins no group and commits nothing.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::metadata::MetadataTopic;
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, CALL_TIMEOUT};
use super::config::KafkaConfig;
use super::events::ClientEvents;
use super::headers;

/// How long messages are waited for.
const PATIENCE: Duration = Duration::from_secs(15);

/// A message as far as it matters here.
#[derive(Debug)]
pub struct Sampled {
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its value.
    pub value: Option<Vec<u8>>,
    /// The header of that name.
    pub content_encoding: Option<Vec<u8>>,
}

/// At most `count` messages of `topic`, from the beginning
/// of each partition on, as many of each as there are.
///
/// # Errors
/// There is no such topic, or it cannot be read.
pub fn messages(config: &KafkaConfig, topic: &str, count: usize) -> anyhow::Result<Vec<Sampled>> {
    let consumer: BaseConsumer<ClientEvents> =
        client::create(&client::partition_reader(config), ClientEvents::new("sample"))?;
    let metadata = consumer
        .fetch_metadata(Some(topic), CALL_TIMEOUT)
        .with_context(|| format!("no answer about the topic {topic}"))?;
    let partitions = metadata.topics().iter().flat_map(MetadataTopic::partitions);
    let mut assignment = TopicPartitionList::new();
    let mut waiting = 0;
    for partition in partitions {
        let (low, high) = consumer.fetch_watermarks(topic, partition.id(), CALL_TIMEOUT)?;
        waiting += usize::try_from(high - low).unwrap_or(0);
        assignment.add_partition_offset(topic, partition.id(), Offset::Beginning)?;
    }
    if assignment.count() == 0 {
        bail!("there is no topic {topic}");
    }
    consumer.assign(&assignment)?;
    let (mut found, deadline) = (Vec::new(), Instant::now() + PATIENCE);
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
