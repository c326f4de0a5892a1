//! The changelog's topic as a queue: kept without limits, and what has expired is deleted on request.
//!
//! Older versions had it compacted. Changing that takes one request for policy and retention
//! together: a topic that is not compacted any more, and has the brokers' default retention for a
//! moment, would lose its oldest segments in that moment.

use anyhow::{Context, bail, ensure};
use rdkafka::admin::{AlterConfig, ConfigResource, ConfigSource, ResourceSpecifier};
use rdkafka::{Offset, TopicPartitionList};

use super::topics::{Topics, options};

/// What the topic must be set to.
pub(super) const QUEUE: [(&str, &str); 3] =
    [("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1")];

/// Which of the settings of a queue the topic does not have, with what it has.
pub(super) fn differences(settings: &ConfigResource) -> Vec<(&'static str, String)> {
    let value = |name: &str| settings.get(name).and_then(|entry| entry.value.clone()).unwrap_or_default();
    let found = QUEUE.iter().map(|(name, wanted)| (*name, *wanted, value(name)));
    found.filter(|(_, wanted, found)| wanted != found).map(|(name, _, found)| (name, found)).collect()
}

/// Whether the topic is as older versions had it: brokers delete nothing of it by age or size.
pub(super) fn is_compacted(settings: &ConfigResource) -> bool {
    settings.get("cleanup.policy").and_then(|entry| entry.value.as_deref()) == Some("compact")
}

impl Topics<'_> {
    /// Has the brokers keep a changelog without limits that is compacted; whether it was.
    ///
    /// # Errors
    /// They do not answer, or this is not allowed.
    pub fn make_queue(&self) -> anyhow::Result<bool> {
        let settings = self.settings(&self.config.topics.centroids)?;
        if !is_compacted(&settings) {
            return Ok(false);
        }
        self.set_queue(&settings)?;
        Ok(true)
    }

    /// The same whatever its settings are; whether they had to be changed.
    ///
    /// # Errors
    /// As of [`Self::make_queue`].
    pub fn migrate(&self) -> anyhow::Result<bool> {
        let settings = self.settings(&self.config.topics.centroids)?;
        if differences(&settings).is_empty() {
            return Ok(false);
        }
        self.set_queue(&settings)?;
        Ok(true)
    }

    /// All settings in one request, since AlterConfigs takes those back that it does not name.
    fn set_queue(&self, settings: &ConfigResource) -> anyhow::Result<()> {
        let topic = &self.config.topics.centroids;
        let is_own = |name: &str| QUEUE.iter().any(|(own, _)| *own == name);
        let mut alter = AlterConfig::new(ResourceSpecifier::Topic(topic));
        for entry in settings.entries.iter().filter(|entry| entry.source == ConfigSource::DynamicTopic) {
            if !is_own(&entry.name) {
                let value = entry.value.as_deref();
                let value = value.with_context(|| format!("{} of topic {topic} is not shown", entry.name))?;
                alter = alter.set(&entry.name, value);
            }
        }
        for (name, value) in QUEUE {
            alter = alter.set(name, value);
        }
        let results = self.runtime.block_on(self.admin.alter_configs([&alter], &options()));
        match results.with_context(|| format!("no answer about topic {topic}"))?.pop() {
            Some(Ok(_)) => Ok(()),
            Some(Err((_, error))) => bail!("cannot change the settings of topic {topic}: {error}"),
            None => bail!("the broker does not name topic {topic}"),
        }
    }

    /// Has brokers delete what stands in a partition of the changelog before offset `before`.
    ///
    /// # Errors
    /// They do not answer, or cannot, or this is not allowed.
    pub fn delete_changelog(&self, partition: u32, before: u64) -> anyhow::Result<()> {
        let topic = &self.config.topics.centroids;
        let (partition, before) = (i32::try_from(partition)?, i64::try_from(before)?);
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition_offset(topic, partition, Offset::Offset(before))?;
        let results = self.runtime.block_on(self.admin.delete_records(&wanted, &options()));
        let results = results.with_context(|| format!("records of {topic}[{partition}] are not deleted"))?;
        for element in results.elements() {
            element.error().with_context(|| format!("records of {topic}[{partition}] are not deleted"))?;
        }
        ensure!(results.count() == 1, "no answer about {topic}[{partition}]");
        Ok(())
    }
}
