//! The changelog's topic as a queue: it has no retention limit, and expired records are deleted on request.
//!
//! Older versions compacted it. Policy and retention are changed in one request: a topic that is no longer
//! compacted, but has the brokers' default retention for a moment, could lose its oldest segments in that
//! moment.

use std::time::Instant;

use anyhow::{Context, anyhow, bail, ensure};
use rdkafka::admin::{AlterConfig, ConfigResource, ConfigSource, ResourceSpecifier};
use rdkafka::{Offset, TopicPartitionList};

use super::client::CALL_TIMEOUT;
use super::topics::{NEWS_PAUSE, Topics, options};
use crate::backoff::ask_until;

/// Required settings of the topic.
pub(super) const QUEUE: [(&str, &str); 3] =
    [("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1")];

/// Returns the required settings that the topic does not have, with their current values.
pub(super) fn differences(settings: &ConfigResource) -> Vec<(&'static str, String)> {
    let value = |name: &str| settings.get(name).and_then(|entry| entry.value.clone()).unwrap_or_default();
    let found = QUEUE.iter().map(|(name, wanted)| (*name, *wanted, value(name)));
    found.filter(|(_, wanted, found)| wanted != found).map(|(name, _, found)| (name, found)).collect()
}

/// Returns true if the topic is compacted, as older versions made it. Brokers then delete nothing by age or
/// size.
pub(super) fn is_compacted(settings: &ConfigResource) -> bool {
    settings.get("cleanup.policy").and_then(|entry| entry.value.as_deref()) == Some("compact")
}

impl Topics<'_> {
    /// Turns a compacted changelog into a queue without retention limits. Returns true if it was compacted.
    ///
    /// # Errors
    /// Fails if the brokers do not answer, or if this program lacks the permission.
    pub(crate) fn make_queue(&self) -> anyhow::Result<bool> {
        let settings = self.settings(&self.config.topics.centroids)?;
        if !is_compacted(&settings) {
            return Ok(false);
        }
        self.set_queue(&settings)?;
        Ok(true)
    }

    /// Turns the changelog into a queue whatever its settings are. Returns true if they had to be changed.
    ///
    /// # Errors
    /// The errors of [`Self::make_queue`].
    pub fn migrate(&self) -> anyhow::Result<bool> {
        let settings = self.settings(&self.config.topics.centroids)?;
        if differences(&settings).is_empty() {
            return Ok(false);
        }
        self.set_queue(&settings)?;
        Ok(true)
    }

    /// Sends all settings in one request, since AlterConfigs resets settings that it does not name.
    fn set_queue(&self, settings: &ConfigResource) -> anyhow::Result<()> {
        let topic = &self.config.topics.centroids;
        let is_own = |name: &str| QUEUE.iter().any(|(own, _)| *own == name);
        let mut alter = AlterConfig::new(ResourceSpecifier::Topic(topic));
        for entry in settings.entries.iter().filter(|entry| entry.source == ConfigSource::DynamicTopic) {
            if !is_own(&entry.name) {
                let value = entry.value.as_deref();
                let value = value.with_context(|| {
                    format!("the broker does not show the setting {} of topic {topic}", entry.name)
                })?;
                alter = alter.set(&entry.name, value);
            }
        }
        for (name, value) in QUEUE {
            alter = alter.set(name, value);
        }
        let results = self.runtime.block_on(self.admin.alter_configs([&alter], &options()));
        match results.with_context(|| format!("no answer to the change of topic {topic}"))?.pop() {
            Some(Ok(_)) => self.wait_for_queue(),
            Some(Err((_, error))) => bail!("cannot change the settings of topic {topic}: {error}"),
            None => bail!("the broker's answer does not name topic {topic}"),
        }
    }

    /// Waits until the brokers show the settings of a queue. A broker learns of a change a moment after the
    /// controller has made it.
    fn wait_for_queue(&self) -> anyhow::Result<()> {
        let topic = &self.config.topics.centroids;
        let shown = ask_until(Instant::now() + CALL_TIMEOUT, NEWS_PAUSE, || {
            Ok(differences(&self.settings(topic)?).into_iter().next().map_or(Ok(()), Err))
        })?;
        shown.map_err(|(name, found)| {
            anyhow!("the settings of topic {topic} were changed, but a broker still shows {name}={found}")
        })
    }

    /// Asks the brokers to delete the records of a changelog partition before offset `before`.
    ///
    /// # Errors
    /// Fails if the brokers do not answer or cannot delete, or if this program lacks the permission.
    pub(crate) fn delete_changelog(&self, partition: u32, before: u64) -> anyhow::Result<()> {
        let topic = &self.config.topics.centroids;
        let (partition, before) = (i32::try_from(partition)?, i64::try_from(before)?);
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition_offset(topic, partition, Offset::Offset(before))?;
        let results = self.runtime.block_on(self.admin.delete_records(&wanted, &options()));
        let results =
            results.with_context(|| format!("cannot delete expired records of {topic}[{partition}]"))?;
        for element in results.elements() {
            element
                .error()
                .with_context(|| format!("cannot delete expired records of {topic}[{partition}]"))?;
        }
        ensure!(results.count() == 1, "no answer about {topic}[{partition}]");
        Ok(())
    }
}
