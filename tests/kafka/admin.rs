//! Changes topics and groups as operators do, including mistakes.

use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, ConfigEntry, ConfigSource, NewPartitions, NewTopic,
    ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::broker::worker::Installation;
use crate::broker::{HANG_LIMIT, java, wait_until};

/// An admin client for the brokers of an installation.
pub(crate) struct Admin {
    bootstrap: String,
    client: AdminClient<DefaultClientContext>,
    runtime: tokio::runtime::Runtime,
}

impl Admin {
    pub(crate) fn new(installation: &Installation) -> Self {
        let bootstrap = installation.bootstrap.clone();
        let client = ClientConfig::new().set("bootstrap.servers", &bootstrap).create().expect("a client");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { bootstrap, client, runtime }
    }

    pub(crate) fn create_topic(&self, name: &str, partitions: i32, settings: &[(&str, &str)]) {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(-1));
        for (key, value) in settings {
            topic = topic.set(key, value);
        }
        let results = self.runtime.block_on(self.client.create_topics([&topic], &options()));
        results.expect("an answer")[0].as_ref().expect("made");
        wait_until("the topic is known", || self.is_topic(name));
    }

    pub(crate) fn delete_topic(&self, name: &str) {
        // A broker that learns of a topic late does not know the topic's id yet, so the request is repeated.
        wait_until("the topic is deleted", || {
            let results = self.runtime.block_on(self.client.delete_topics(&[name], &options()));
            results.expect("an answer")[0].is_ok()
        });
        wait_until("the topic is gone", || !self.is_topic(name));
    }

    fn is_topic(&self, name: &str) -> bool {
        let metadata = self.client.inner().fetch_metadata(None, *HANG_LIMIT).expect("metadata");
        metadata.topics().iter().any(|topic| topic.name() == name && !topic.partitions().is_empty())
    }

    /// Sets all settings of a topic; settings that are not listed return to their defaults.
    pub(crate) fn set_topic(&self, name: &str, settings: &[(&str, &str)]) {
        let mut alter = AlterConfig::new(ResourceSpecifier::Topic(name));
        for (key, value) in settings {
            alter = alter.set(key, value);
        }
        let results = self.runtime.block_on(self.client.alter_configs([&alter], &options()));
        results.expect("an answer")[0].as_ref().expect("altered");
        wait_until("the broker has heard of these settings and no others", || {
            let resource = [ResourceSpecifier::Topic(name)];
            let results = self.runtime.block_on(self.client.describe_configs(&resource, &options()));
            let described = results.expect("an answer").remove(0).expect("described");
            let set = described.entries.iter().filter(|entry| entry.source == ConfigSource::DynamicTopic);
            let is_listed = |entry: &ConfigEntry| {
                settings
                    .iter()
                    .any(|(key, value)| entry.name == *key && entry.value.as_deref() == Some(*value))
            };
            set.clone().count() == settings.len() && set.clone().all(is_listed)
        });
    }

    /// Returns the number of partitions of a topic.
    pub(crate) fn partitions(&self, name: &str) -> usize {
        let metadata = self.client.inner().fetch_metadata(Some(name), *HANG_LIMIT);
        metadata.expect("metadata").topics()[0].partitions().len()
    }

    pub(crate) fn add_partitions(&self, name: &str, count: usize) {
        let more = NewPartitions::new(name, count);
        let results = self.runtime.block_on(self.client.create_partitions([&more], &options()));
        results.expect("an answer")[0].as_ref().expect("altered");
    }

    pub(crate) fn delete_records(&self, topic: &str, before: i64) {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, 0, Offset::Offset(before)).expect("an offset");
        self.runtime.block_on(self.client.delete_records(&list, &options())).expect("deleted");
    }

    pub(crate) fn delete_group(&self, group: &str) {
        let results = self.runtime.block_on(self.client.delete_groups(&[group], &options()));
        results.expect("an answer")[0].as_ref().expect("deleted");
    }

    /// Sets the offset of a group that has no members.
    pub(crate) fn set_offset(&self, group: &str, topic: &str, offset: i64) {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &self.bootstrap)
            .set("group.id", group)
            .create()
            .expect("a consumer");
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, 0, Offset::Offset(offset)).expect("an offset");
        consumer.commit(&list, CommitMode::Sync).expect("committed");
    }
}

/// Limits clients of this `client.id` to this number of bytes per second.
pub(crate) fn throttle(bootstrap: &str, client_id: &str, bytes_per_second: u64) {
    let output = java()
        .args([
            "kafka.admin.ConfigCommand",
            "--bootstrap-server",
            bootstrap,
            "--alter",
            "--entity-type",
            "clients",
        ])
        .args(["--entity-name", client_id, "--add-config", &format!("producer_byte_rate={bytes_per_second}")])
        .output()
        .expect("java starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(*HANG_LIMIT)).request_timeout(Some(*HANG_LIMIT))
}
