//! The topics that the worker needs: creates them, and reports every difference from their requirements.
//!
//! Topics that a broker creates automatically have the wrong cleanup policy and number of partitions, so
//! nothing is taken for granted: `leitong run --check` and `leitong run` check the same list.

use std::time::{Duration, Instant};

use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigResource, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, CALL_TIMEOUT};
use super::topic_id::{Described, describe};
use crate::backoff::ask_until;
use crate::kafka::error::{Error, Result, refused};
use crate::kafka::events::ClientEvents;
use leitong_base::error::Context;
use leitong_pipeline::config::kafka::KafkaConfig;

/// Pause before a broker is asked again that has not heard of a change yet.
const NEWS_PAUSE: Duration = Duration::from_millis(50);

/// Required settings of the changelog: it is a queue without limits, whose expired records are deleted on
/// request.
const QUEUE: [(&str, &str); 3] =
    [("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1")];

/// The requirements on a topic.
struct Requirements<'a> {
    name: &'a str,
    partitions: u32,
    cleanup: Cleanup,
    /// True if the topic must accept messages of the configured size.
    large: bool,
}

/// The requirement on a topic's cleanup policy. The number of partitions of a topic with such a requirement can never
/// change, since stored data depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cleanup {
    Delete,
    /// The policy of the changelog: see [`QUEUE`].
    Queue,
    /// Any policy, as the user likes.
    Any,
}

/// One difference between a topic and its requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The topic.
    pub topic: String,
    /// The difference and the remedy.
    pub problem: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "topic {}: {}", self.topic, self.problem)
    }
}

/// Numbers of partitions and brokers of the existing topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Partitions of the log.
    pub log_partitions: u32,
    /// Partitions of the page topic.
    pub page_partitions: u32,
    /// Brokers of the cluster.
    pub brokers: u64,
}

/// Time within which all brokers hear of a new topic, for topics that were created before this program
/// started.
pub(crate) const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// Client for questions about topics and changes to them.
pub struct Topics<'a> {
    config: &'a KafkaConfig,
    admin: AdminClient<ClientEvents>,
    /// Client that requests metadata. Unlike the admin client, it reports why a broker does not answer.
    probe: BaseConsumer<ClientEvents>,
    runtime: tokio::runtime::Runtime,
}

impl<'a> Topics<'a> {
    /// Creates the clients without connecting.
    ///
    /// # Errors
    /// Fails if a client cannot be created.
    pub fn new(config: &'a KafkaConfig) -> Result<Self> {
        let admin = client::create(&client::admin(config), ClientEvents::new("admin"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .context("cannot start a thread")?;
        let probe = client::create(&client::partition_reader(config), ClientEvents::new("admin"))?;
        Ok(Self { config, admin, probe, runtime })
    }

    /// Creates the missing topics and returns their names. Existing topics are not changed.
    ///
    /// # Errors
    /// Fails if a topic cannot be created.
    pub fn create(&self) -> Result<Vec<String>> {
        // Fails with the reason if no broker answers; the admin client would only report that there is no
        // answer.
        self.partition_count(&self.config.topics.pages)?;
        let mut created = Vec::new();
        for wanted in self.wanted() {
            let size = self.config.create.message_bytes_max.to_string();
            let replication = TopicReplication::Fixed(self.config.create.replication_factor);
            let mut topic = NewTopic::new(wanted.name, i32::try_from(wanted.partitions)?, replication);
            topic = match wanted.cleanup {
                Cleanup::Queue => QUEUE.iter().fold(topic, |topic, (name, value)| topic.set(name, value)),
                Cleanup::Delete | Cleanup::Any => topic.set("cleanup.policy", "delete"),
            };
            if wanted.large {
                topic = topic.set("max.message.bytes", &size);
            }
            let results = self
                .runtime
                .block_on(self.admin.create_topics([&topic], &options()))
                .with_context(|| format!("cannot create topic {}", wanted.name))?;
            for result in results {
                match result {
                    Ok(name) => created.push(name),
                    Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
                    Err((name, error)) => return Err(refused!("cannot create topic {name}: {error}")),
                }
            }
        }
        Ok(created)
    }

    /// Returns every difference from the requirements, and the numbers of partitions. Brokers hear of a new
    /// topic one after the other, and any of them may answer. So a topic counts as missing only after
    /// `heard_within`.
    ///
    /// # Errors
    /// Fails if the brokers do not answer.
    pub fn check(&self, heard_within: Duration) -> Result<(Vec<Difference>, Counts)> {
        let mut differences = Vec::new();
        let wanted = self.wanted();
        let deadline = Instant::now() + heard_within;
        let mut counts = [None; 5];
        for (count, wanted) in counts.iter_mut().zip(&wanted) {
            *count = self.partition_count_heard(wanted.name, deadline)?;
        }
        let [page_partitions, log_partitions, _, changelog_partitions, _] = counts;
        for (wanted, count) in wanted.iter().zip(&counts) {
            let mut differs =
                |problem: String| differences.push(Difference { topic: wanted.name.to_owned(), problem });
            let Some(count) = count else {
                differs("does not exist; create it with `leitong topics create`".to_owned());
                continue;
            };
            // The log and the changelog have the same number, and partitions were added to the one that has more.
            let mut fixed = [log_partitions, changelog_partitions].into_iter().flatten();
            let is_fixed = wanted.cleanup != Cleanup::Any;
            if is_fixed && fixed.any(|other| *count > other) {
                differs(format!(
                    "has {count} partitions, more than it was created with, and partitions cannot be removed; \
                     choose another kafka.app and other names for kafka.topics.fingerprints, centroids and \
                     verdicts; the pages of the page topic are then processed again"
                ));
            } else if is_fixed && *count != wanted.partitions {
                differs(format!(
                    "has {count} partitions, but kafka.create.log_partitions = {}; set it to the number with \
                     which the topic was created, since stored data depends on it",
                    wanted.partitions
                ));
            }
            for problem in self.config_differences(wanted, &self.settings(wanted.name)?) {
                differs(problem);
            }
        }
        let log_partitions = log_partitions.unwrap_or(self.config.create.log_partitions);
        let page_partitions = page_partitions.unwrap_or(self.config.create.page_partitions);
        let metadata = self.probe.fetch_metadata(Some(&self.config.topics.pages), CALL_TIMEOUT);
        let brokers = metadata.map_or(1, |metadata| metadata.brokers().len() as u64);
        Ok((differences, Counts { log_partitions, page_partitions, brokers }))
    }

    /// Returns the ids of the topics of verdicts and of dead letters.
    ///
    /// # Errors
    /// Fails if the brokers do not answer, or refuse to describe the topics.
    pub(crate) fn output_ids(&self) -> Result<Vec<Described>> {
        let outputs = [&*self.config.topics.verdicts, &*self.config.topics.dead_letters];
        describe(self.probe.client(), &outputs, None, CALL_TIMEOUT)
    }

    /// Returns the number of partitions of the log, or `None` if the topic does not exist.
    ///
    /// # Errors
    /// Fails if the brokers do not answer.
    pub fn log_partitions(&self) -> Result<Option<u32>> {
        self.partition_count(&self.config.topics.fingerprints)
    }

    /// Asks the brokers to delete the records of a changelog partition before offset `before`.
    ///
    /// # Errors
    /// Fails if the brokers do not answer or cannot delete, or if this program lacks the permission.
    pub(crate) fn delete_changelog(&self, partition: u32, before: u64) -> Result<()> {
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
        if results.count() != 1 {
            return Err(refused!("no answer about {topic}[{partition}]"));
        }
        Ok(())
    }

    fn wanted(&self) -> [Requirements<'a>; 5] {
        let (topics, create) = (&self.config.topics, &self.config.create);
        let topic = |name, partitions, cleanup| Requirements { name, partitions, cleanup, large: false };
        let large = |wanted| Requirements { large: true, ..wanted };
        [
            large(topic(&topics.pages, create.page_partitions, Cleanup::Any)),
            large(topic(&topics.fingerprints, create.log_partitions, Cleanup::Delete)),
            topic(&topics.verdicts, create.verdict_partitions, Cleanup::Any),
            topic(&topics.centroids, create.log_partitions, Cleanup::Queue),
            large(topic(&topics.dead_letters, 1, Cleanup::Any)),
        ]
    }

    /// Returns the number of partitions. A broker that has not heard of the topic is asked again until
    /// `deadline`.
    fn partition_count_heard(&self, topic: &str, deadline: Instant) -> Result<Option<u32>> {
        Ok(ask_until(deadline, NEWS_PAUSE, || Ok::<_, Error>(self.partition_count(topic)?.ok_or(())))?.ok())
    }

    /// Returns the number of partitions, or `None` if the topic does not exist.
    fn partition_count(&self, topic: &str) -> Result<Option<u32>> {
        let Ok(metadata) = self.probe.fetch_metadata(Some(topic), CALL_TIMEOUT) else {
            // The reasons wait in a queue and are logged when they are taken out. They repeat endlessly, so a
            // few are enough.
            (0..5).for_each(|_| drop(self.probe.poll(Duration::ZERO)));
            return Err(refused!(
                "no answer from kafka.bootstrap_servers = {:?} within {} s, see the warnings above; check \
                 that a broker runs there, and that properties such as security.protocol match it",
                self.config.bootstrap_servers,
                CALL_TIMEOUT.as_secs()
            ));
        };
        let Some(found) = metadata.topics().iter().find(|found| found.name() == topic) else {
            return Ok(None);
        };
        match found.error().map(RDKafkaErrorCode::from) {
            None => Ok(Some(u32::try_from(found.partitions().len())?).filter(|count| *count > 0)),
            Some(RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic) => Ok(None),
            Some(error) => Err(refused!("topic {topic}: {error}")),
        }
    }

    /// Returns all settings of a topic. A broker that has not heard of a new topic yet names none, so it is
    /// asked again.
    fn settings(&self, topic: &str) -> Result<ConfigResource> {
        let resource = [ResourceSpecifier::Topic(topic)];
        let asked = ask_until::<_, _, Error>(Instant::now() + CALL_TIMEOUT, NEWS_PAUSE, || {
            let mut results = self
                .runtime
                .block_on(self.admin.describe_configs(&resource, &options()))
                .with_context(|| format!("brokers did not answer about the settings of topic {topic}"))?;
            Ok(match results.pop() {
                Some(Ok(described)) if described.get("cleanup.policy").is_some() => Ok(described),
                Some(Ok(_)) => Err("the broker names no settings".to_owned()),
                Some(Err(error)) => Err(error.to_string()),
                None => Err("the broker's answer does not name the topic".to_owned()),
            })
        })?;
        asked.map_err(|problem| refused!("cannot read the settings of topic {topic}: {problem}"))
    }

    fn config_differences(&self, wanted: &Requirements<'_>, described: &ConfigResource) -> Vec<String> {
        let value =
            |name: &str| described.get(name).and_then(|entry| entry.value.clone()).unwrap_or_default();
        let mut problems = Vec::new();
        let policy = value("cleanup.policy");
        match wanted.cleanup {
            Cleanup::Delete if policy != "delete" => problems.push(format!(
                "has cleanup.policy={policy}, but needs delete: other policies would lose records; change it with \
                 kafka-configs.sh"
            )),
            Cleanup::Queue => {
                let found = QUEUE.iter().map(|(name, wanted)| (name, wanted, value(name)));
                problems.extend(found.filter(|(_, wanted, found)| **wanted != found.as_str()).map(|(name, wanted, found)| {
                    format!(
                        "has {name}={found}, but needs {wanted}: unexpired centroids would be lost, or expired ones kept; \
                         set cleanup.policy=delete,retention.ms=-1,retention.bytes=-1 in one request with kafka-configs.sh"
                    )
                }));
            }
            Cleanup::Delete | Cleanup::Any => {}
        }
        let size: usize = value("max.message.bytes").parse().unwrap_or(0);
        let needed = if wanted.large { self.config.create.message_bytes_max } else { SMALL_MESSAGE_BYTES };
        // The message size of the page topic is up to the crawler.
        if size < needed && wanted.name != self.config.topics.pages {
            problems.push(format!(
                "has max.message.bytes={size}, but needs at least {needed} (kafka.create.message_bytes_max); raise it on \
                 the topic"
            ));
        }
        problems
    }
}

/// Message size that is enough for every verdict and every centroid, in bytes.
const SMALL_MESSAGE_BYTES: usize = 256 << 10;

fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(CALL_TIMEOUT)).request_timeout(Some(CALL_TIMEOUT))
}
