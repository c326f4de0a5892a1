//! Notices if topics are deleted and created again while this process runs, by their [`TopicIds`].
//!
//! ```text
//! start:                 ask brokers ─► the ids that all offsets of this process belong to (`ids`)
//! every few seconds, at
//! assignment and restore: ask brokers ─► `latest` ─► verify_pages, verify_table
//! ```
//! Invariants: the first ids are kept as long as the process lives. A different id is trusted if it was
//! reported twice, a second apart, since brokers learn of a new topic one after the other. Asking blocks;
//! verifying never does.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::client;
use super::topic_id::{Described, describe};
use crate::backoff::{ask_until, backoff};
use crate::kafka::error::{Error, Result, refused};
use crate::kafka::events::ClientEvents;
use leitong_base::error::{Context, StepError};
use leitong_cluster::log::{Replaced, TopicId, TopicIds};
use leitong_pipeline::config::kafka::KafkaConfig;

/// Interval at which brokers are asked.
const INTERVAL: Duration = Duration::from_secs(3);
/// Time limit for an answer. Stopping the process may have to wait for it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for the first answer, since a new topic is not known to all brokers at once.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Pause before brokers are asked again for the first answer.
const START_PAUSE: Duration = Duration::from_millis(200);
/// Time after which brokers are asked again, to confirm a different id.
const CONFIRM_AFTER: Duration = Duration::from_secs(1);

/// A watch on the topics of this process.
pub(crate) struct TopicWatch {
    client: BaseConsumer<ClientEvents>,
    names: [String; 3],
    /// Ids that brokers reported at the start.
    ids: TopicIds,
    /// Ids that brokers reported last.
    latest: Mutex<TopicIds>,
}

impl TopicWatch {
    /// Requests the ids of the topics, which must not change from now on.
    ///
    /// # Errors
    /// Fails if no broker answers, or if a topic does not exist.
    pub(crate) fn new(config: &KafkaConfig) -> Result<Self> {
        let topics = &config.topics;
        let mut watch = Self {
            client: client::create(&client::partition_reader(config), ClientEvents::new("topic-ids"))?,
            names: [&topics.pages, &topics.fingerprints, &topics.centroids].map(Clone::clone),
            ids: TopicIds::default(),
            latest: Mutex::default(),
        };
        let described = ask_until::<_, _, Error>(Instant::now() + START_TIMEOUT, START_PAUSE, || {
            Ok(watch.describe_all())
        })??;
        watch.ids = ids(&described);
        if described.contains(&Described::WithoutId) {
            tracing::warn!(
                "the brokers have no topic ids (Apache Kafka 2.8 and later has them), so Leitong may not \
                 notice that a topic was deleted and created again; stop all instances before you delete a \
                 topic"
            );
        }
        let TopicIds { pages, log, changelog } = watch.ids;
        tracing::debug!(?pages, ?log, ?changelog, "ids of topics");
        Ok(watch)
    }

    /// Returns the ids that all offsets of this process belong to.
    pub(crate) fn ids(&self) -> TopicIds {
        self.ids
    }

    /// Asks every few seconds. `wait` waits for the given time and returns true when the watch must stop.
    pub(crate) fn run(&self, wait: impl Fn(Duration) -> bool) {
        while !wait(INTERVAL) {
            if let Err(error) = self.ask() {
                tracing::debug!(
                    "no answer about topic ids; asking again: {}",
                    StepError::with_causes(&error)
                );
            }
            // The client's reports wait in a queue until they are taken out.
            while self.client.poll(Duration::ZERO).is_some() {}
        }
    }

    /// Asks once. This takes a second longer if a different id is found.
    ///
    /// # Errors
    /// Fails if no broker answers, or if brokers disagree.
    pub(crate) fn ask(&self) -> Result<()> {
        let mut found = ids(&self.describe()?);
        if self.ids.verify(&found).is_err() {
            backoff(CONFIRM_AFTER);
            let again = ids(&self.describe()?);
            if again != found {
                return Err(refused!("brokers disagree about the ids of topics"));
            }
            found = again;
        }
        let mut known = self.latest.lock();
        // A topic that is missing for a while does not change its known id.
        *known = found.or(*known);
        Ok(())
    }

    /// Verifies that page topic and log were not replaced, using the ids that brokers last reported.
    ///
    /// # Errors
    /// [`Replaced`].
    pub(crate) fn verify_pages(&self) -> Result<(), Replaced> {
        self.ids.for_pages().verify(&self.latest())
    }

    /// Verifies that log and changelog were not replaced, using the ids that brokers last reported.
    ///
    /// # Errors
    /// [`Replaced`].
    pub(crate) fn verify_table(&self) -> Result<(), Replaced> {
        self.ids.for_table().verify(&self.latest())
    }

    fn latest(&self) -> TopicIds {
        *self.latest.lock()
    }

    /// Returns the answer about all topics, or an error if one does not exist.
    fn describe_all(&self) -> Result<Vec<Described>> {
        let described = self.describe()?;
        let missing = described.iter().position(|described| *described == Described::Missing);
        match missing.and_then(|at| self.names.get(at)) {
            Some(topic) => Err(refused!("topic {topic} does not exist; run `leitong run --check`")),
            None => Ok(described),
        }
    }

    fn describe(&self) -> Result<Vec<Described>> {
        // Asks a broker that is alive. A client that asks nothing else would keep taking a dead broker for
        // the controller.
        let alive = self.client.fetch_metadata(Some(&self.names[0]), ANSWER_TIMEOUT);
        let alive = alive.context("no broker answers")?.orig_broker_id();
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

    /// Brokers before 2.8 know the metadata request up to version 9, which has no topic ids. librdkafka's
    /// mock cluster reports only zero ids. In both cases no id is known, and nothing is refused.
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
