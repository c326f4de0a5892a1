//! Where the topics that owners write to hold records that
//! no reader may see yet, since a transaction is open.

use anyhow::Context;
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::client::{self, CALL_TIMEOUT};
use super::config::KafkaConfig;
use super::events::ClientEvents;

/// A part of a partition that a `read_committed` consumer does not get to see yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenRange {
    /// The topic.
    pub(crate) topic: String,
    /// The partition.
    pub(crate) partition: u32,
    /// The offset of the first record of the oldest open transaction (the *last stable offset*).
    pub(crate) from: u64,
    /// The offset behind the last record (the *high watermark*).
    pub(crate) to: u64,
}

/// Asks where the topics end that owners write to.
pub(crate) struct OutputEnds<'a> {
    config: &'a KafkaConfig,
    /// Sees what is committed.
    committed: BaseConsumer<ClientEvents>,
    /// Sees everything.
    all: BaseConsumer<ClientEvents>,
}

impl<'a> OutputEnds<'a> {
    /// Connects to nothing yet.
    ///
    /// # Errors
    /// The clients cannot be made.
    pub(crate) fn new(config: &'a KafkaConfig) -> anyhow::Result<Self> {
        let committed = client::create(&client::partition_reader(config), ClientEvents::new("reader"))?;
        let all = client::create(&client::uncommitted_reader(config), ClientEvents::new("reader"))?;
        Ok(Self { config, committed, all })
    }

    /// Topic and partition of all that the owner of `log_partition` writes
    /// to: verdicts and dead letters, and its partition of the changelog.
    ///
    /// # Errors
    /// No answer.
    pub(crate) fn outputs(&self, log_partition: u32) -> anyhow::Result<Vec<(String, u32)>> {
        let topics = &self.config.topics;
        let mut outputs = vec![(topics.centroids.clone(), log_partition)];
        for topic in [&topics.verdicts, &topics.dead_letters] {
            let metadata = self.committed.fetch_metadata(Some(topic), CALL_TIMEOUT);
            let metadata = metadata.with_context(|| format!("no answer about the partitions of {topic}"))?;
            for found in metadata.topics().iter().filter(|found| found.name() == *topic) {
                for partition in found.partitions() {
                    outputs.push((topic.clone(), u32::try_from(partition.id())?));
                }
            }
        }
        Ok(outputs)
    }

    /// The open ranges of these.
    ///
    /// # Errors
    /// No answer.
    pub(crate) fn open_ranges(&self, log_partition: u32) -> anyhow::Result<Vec<OpenRange>> {
        let mut ranges = Vec::new();
        for (topic, partition) in self.outputs(log_partition)? {
            // In this order: what is written in between is not taken for open.
            let to = end(&self.all, &topic, partition)?;
            let from = end(&self.committed, &topic, partition)?;
            if from < to {
                ranges.push(OpenRange { topic, partition, from, to });
            }
        }
        Ok(ranges)
    }
}

fn end(client: &BaseConsumer<ClientEvents>, topic: &str, partition: u32) -> anyhow::Result<u64> {
    let (_, end) = client
        .fetch_watermarks(topic, i32::try_from(partition)?, CALL_TIMEOUT)
        .with_context(|| format!("no answer about where {topic}[{partition}] ends"))?;
    Ok(u64::try_from(end)?)
}
