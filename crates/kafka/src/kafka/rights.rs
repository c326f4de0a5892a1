//! Finds out which rights brokers grant to this program. Joins no group and writes no record. To test transactional
//! ids, it uses a separate one, `APP-check`.

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::{BaseProducer, Producer};

use super::client::{self, CALL_TIMEOUT};
use super::events::ClientEvents;
use super::topic_id::{Allowed, allowed};
use crate::kafka::error::{Error, Result};
use leitong_pipeline::config::kafka::KafkaConfig;

/// Returns the operations that this program may perform on these topics, in their order.
///
/// # Errors
/// Fails if no broker answers.
pub(crate) fn on_topics(config: &KafkaConfig, topics: &[&str]) -> Result<Vec<Allowed>> {
    let client: BaseConsumer<ClientEvents> =
        client::create(&client::partition_reader(config), ClientEvents::new("admin"))?;
    allowed(client.client(), topics, CALL_TIMEOUT)
}

/// Reads a group's committed offset, to check the right to do so.
///
/// # Errors
/// Fails if the broker refuses, or does not answer.
pub(crate) fn read_offsets(config: &KafkaConfig, group: &str, topic: &str) -> Result<()> {
    let mut settings = client::partition_reader(config);
    settings.set("group.id", group);
    let consumer: BaseConsumer<ClientEvents> = client::create(&settings, ClientEvents::new("admin"))?;
    let mut first = TopicPartitionList::new();
    first.add_partition(topic, 0);
    let committed = consumer.committed_offsets(first, CALL_TIMEOUT)?;
    committed.elements().into_iter().try_for_each(|element| Ok(element.error()?))
}

/// Registers a transactional id that no owner uses, to check the right to do so.
///
/// # Errors
/// Returns the id, the broker's error, and what to do.
pub(crate) fn begin_transactions(config: &KafkaConfig) -> Result<(), String> {
    let id = format!("{}-check", config.app);
    let mut settings = client::transactional_producer(config, 0);
    settings.set("transactional.id", &id);
    let taken = || -> Result<()> {
        let producer: BaseProducer<ClientEvents> = client::create(&settings, ClientEvents::new("admin"))?;
        Ok(producer.init_transactions(CALL_TIMEOUT)?)
    };
    taken().map_err(|error| {
        let remedy = match error {
            Error::Broker(ref error)
                if error.rdkafka_error_code() == Some(RDKafkaErrorCode::InvalidTransactionTimeout) =>
            {
                "lower transaction.timeout.ms in [kafka.properties], or raise transaction.max.timeout.ms of the brokers"
                    .to_owned()
            }
            _ => {
                let app = &config.app;
                format!("grant this user Write on transactional ids that begin with {app:?} (kafka.app)")
            }
        };
        format!("transactional id {id}: {error}; {remedy}")
    })
}
