//! Finds the parts of output topics that `read_committed` consumers cannot see yet, because a transaction is
//! open.

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::client::{self, CALL_TIMEOUT};
use super::events::ClientEvents;
use super::ports::OpenRange;
use crate::kafka::error::{Result, refused};
use leitong_base::error::Context;
use leitong_pipeline::config::kafka::KafkaConfig;

/// Clients that request the end offsets of the topics that owners write to.
pub(crate) struct OutputEnds<'a> {
    config: &'a KafkaConfig,
    /// Consumer that sees committed records only.
    committed: BaseConsumer<ClientEvents>,
    /// Consumer that sees all records.
    all: BaseConsumer<ClientEvents>,
}

impl<'a> OutputEnds<'a> {
    /// Creates the clients without connecting.
    ///
    /// # Errors
    /// Fails if the clients cannot be created.
    pub(crate) fn new(config: &'a KafkaConfig) -> Result<Self> {
        let create = |mut settings: ClientConfig| {
            // Closing a client with a group id takes 100 ms.
            settings.remove("group.id");
            client::create(&settings, ClientEvents::new("reader"))
        };
        let committed = create(client::partition_reader(config))?;
        let all = create(client::uncommitted_reader(config))?;
        Ok(Self { config, committed, all })
    }

    /// Returns topic and partition of everything that the owner of `log_partition` writes to: verdicts, dead
    /// letters, and its partition of the changelog.
    ///
    /// # Errors
    /// Fails if no broker answers.
    pub(crate) fn outputs(&self, log_partition: u32) -> Result<Vec<(String, u32)>> {
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

    /// Returns the open ranges in the outputs of the owner of `log_partition`.
    ///
    /// # Errors
    /// Fails if no broker answers.
    pub(crate) fn open_ranges(&self, log_partition: u32) -> Result<Vec<OpenRange>> {
        let outputs = self.outputs(log_partition)?;
        // The end of all records is read first. Otherwise records written in between would look uncommitted.
        let to = ask_ends(&self.all, &outputs)?;
        let from = ask_ends(&self.committed, &outputs)?;
        let ranges = outputs.into_iter().zip(from.into_iter().zip(to)).filter(|(_, (from, to))| from < to);
        Ok(ranges.map(|((topic, partition), (from, to))| OpenRange { topic, partition, from, to }).collect())
    }
}

/// Returns the ends of these partitions as `client` sees them, with one request per broker.
fn ask_ends(client: &BaseConsumer<ClientEvents>, partitions: &[(String, u32)]) -> Result<Vec<u64>> {
    let mut wanted = TopicPartitionList::with_capacity(partitions.len());
    for (topic, partition) in partitions {
        // In this request, `End` is a special timestamp that asks for the end offset.
        wanted.add_partition_offset(topic, i32::try_from(*partition)?, Offset::End)?;
    }
    let found = client.offsets_for_times(wanted, CALL_TIMEOUT).context(
        "brokers did not report the end offsets of \
                                                               topics",
    )?;
    let end = |(topic, partition): &(String, u32)| {
        let nothing = || format!("no answer about where {topic}[{partition}] ends");
        let found = found.find_partition(topic, i32::try_from(*partition)?).with_context(nothing)?;
        found.error().with_context(nothing)?;
        match found.offset() {
            Offset::Offset(end) => Ok(u64::try_from(end)?),
            _ => Err(refused!("{}", nothing())),
        }
    };
    partitions.iter().map(end).collect()
}
