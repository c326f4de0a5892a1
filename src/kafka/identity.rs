//! Watches that the topics stay the ones that this process
//! has begun with: see [`crate::log::identity`].
//!
//! ```text
//! start: ask ─► the ids that all of this process's offsets belong to (`ids`)
//! every few seconds, at each assignment and each restore: ask ─► found ─► verify_pages, verify_table
//! ```
//! Invariants: the first ids are kept for as long as the process lives; another
//! id counts when it was said twice, a second apart, since brokers learn of a
//! new topic one after the other. Asking blocks; verifying never does.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::client;
use super::topic_id::{Described, describe};
use crate::backoff::backoff;
use crate::kafka::config::KafkaConfig;
use crate::kafka::events::ClientEvents;
use crate::log::identity::{Replaced, TopicId, TopicIds};

/// How often brokers are asked.
const INTERVAL: Duration = Duration::from_secs(3);
/// How long an answer may take. A stop may have to wait for it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the first answer may take: a topic that was just made is not known to all brokers.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long until another id is asked for again, before it is believed.
const BEFORE_BELIEVING: Duration = Duration::from_secs(1);

/// The topics of this process.
pub struct TopicWatch {
    client: BaseConsumer<ClientEvents>,
    names: [String; 3],
    /// As they were at the start.
    ids: TopicIds,
    /// As they are.
    found: Mutex<TopicIds>,
}

impl TopicWatch {
    /// Asks for the ids that are to stay.
    ///
    /// # Errors
    /// No answer; or a topic is not there.
    pub fn new(config: &KafkaConfig) -> anyhow::Result<Self> {
        let topics = &config.topics;
        let mut watch = Self {
            client: client::create(&client::partition_reader(config), ClientEvents::new("topic-ids"))?,
            names: [&topics.pages, &topics.fingerprints, &topics.centroids].map(Clone::clone),
            ids: TopicIds::default(),
            found: Mutex::default(),
        };
        let deadline = Instant::now() + START_TIMEOUT;
        let described = loop {
            match watch.describe() {
                Ok(described) if !described.contains(&Described::Missing) => break described,
                Ok(_) if Instant::now() >= deadline => bail!("a topic is not there any more"),
                Err(error) if Instant::now() >= deadline => return Err(error),
                Ok(_) | Err(_) => backoff(Duration::from_millis(200)),
            }
        };
        watch.ids = ids(&described);
        if described.contains(&Described::WithoutId) {
            tracing::warn!(
                "the brokers know no ids of topics (KIP-516; Apache Kafka has them from 2.8 on): a page topic that is \
                 deleted and created anew is told by the timestamps of its messages only, and a log or changelog by \
                 its offsets; stop all instances before you delete a topic"
            );
        }
        let TopicIds { pages, log, changelog } = watch.ids;
        tracing::debug!(?pages, ?log, ?changelog, "ids of topics");
        Ok(watch)
    }

    /// The ids that all offsets of this process belong to.
    #[must_use]
    pub fn ids(&self) -> TopicIds {
        self.ids
    }

    /// Asks again every few seconds, until `wait`, which waits for so long, says that it is enough.
    pub fn run(&self, wait: impl Fn(Duration) -> bool) {
        while !wait(INTERVAL) {
            if let Err(error) = self.ask() {
                tracing::debug!("ids of topics: asking again: {error:#}");
            }
            // What the client reports waits until it is taken out.
            while self.client.poll(Duration::ZERO).is_some() {}
        }
    }

    /// Asks now. Takes a second longer if another id is found.
    ///
    /// # Errors
    /// No answer.
    pub fn ask(&self) -> anyhow::Result<()> {
        let mut found = ids(&self.describe()?);
        if self.ids.verify(&found).is_err() {
            backoff(BEFORE_BELIEVING);
            let again = ids(&self.describe()?);
            anyhow::ensure!(again == found, "brokers differ about the ids of topics");
            found = again;
        }
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        // A topic that is not there for a while says nothing.
        *known = found.or(*known);
        Ok(())
    }

    /// Whether page topic and log are still the ones, by the last answer.
    ///
    /// # Errors
    /// [`Replaced`].
    pub fn verify_pages(&self) -> Result<(), Replaced> {
        self.ids.of_pages().verify(&self.found())
    }

    /// Whether log and changelog are still the ones, by the last answer.
    ///
    /// # Errors
    /// [`Replaced`].
    pub fn verify_table(&self) -> Result<(), Replaced> {
        self.ids.of_table().verify(&self.found())
    }

    fn found(&self) -> TopicIds {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self) -> anyhow::Result<Vec<Described>> {
        // Whoever answers this lives; a client that asks for nothing
        // else goes on holding a dead broker for the controller.
        let alive = self.client.fetch_metadata(Some(&self.names[0]), ANSWER_TIMEOUT);
        let alive = alive.context("no answer from any broker")?.orig_broker_id();
        let names = self.names.each_ref().map(String::as_str);
        describe(self.client.client(), &names, Some(alive).filter(|id| *id >= 0), ANSWER_TIMEOUT)
    }
}

fn ids(described: &[Described]) -> TopicIds {
    let id = |at: usize| -> Option<TopicId> {
        match described.get(at) {
            Some(Described::Id(id)) => Some(*id),
            _ => None,
        }
    };
    TopicIds { pages: id(0), log: id(1), changelog: id(2) }
}

#[cfg(test)]
mod tests {
    use rdkafka::mocking::MockCluster;
    use rdkafka::types::RDKafkaApiKey;

    use super::*;

    /// librdkafka's own cluster says ids of zeros only, as brokers before 2.8 do (where
    /// this version of the request ends): nothing is known, and nothing is refused.
    #[test]
    fn brokers_without_ids_refuse_nothing() {
        let brokers = MockCluster::new(1).expect("a cluster");
        brokers.apiversion(RDKafkaApiKey::Metadata, Some(0), Some(9)).expect("limited");
        let config = KafkaConfig { bootstrap_servers: brokers.bootstrap_servers(), ..KafkaConfig::default() };
        let topics = &config.topics;
        for topic in [&topics.pages, &topics.fingerprints, &topics.centroids] {
            brokers.create_topic(topic, 1, 1).expect("made");
        }
        let watch = TopicWatch::new(&config).expect("an answer");
        assert_eq!(watch.describe().expect("an answer"), [Described::WithoutId; 3]);
        watch.ask().expect("an answer");
        assert_eq!(
            (watch.ids(), watch.verify_pages(), watch.verify_table()),
            (TopicIds::default(), Ok(()), Ok(()))
        );
    }
}
