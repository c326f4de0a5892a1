//! Configuration → librdkafka's clients, each with what exactly once asks of it.
//!
//! Three layers, later ones win: our defaults, `[kafka.properties]`, and
//! what must be so. Errors never show a value, since it may be a secret.

use std::time::Duration;

use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, DeliveryResult, ProducerContext};
use rdkafka::{ClientConfig, ClientContext};
use thiserror::Error;

use crate::kafka::authorities;
use crate::kafka::config::KafkaConfig;

/// How long a call to a broker may take that is asked for an answer at once.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes that a consumer of pages holds ready.
const PAGES_QUEUE_KBYTES: u32 = 32 * 1024;
/// Bytes that a consumer of small records holds ready.
const RECORDS_QUEUE_KBYTES: u32 = 16 * 1024;
/// How often a client reports how full its queues are.
const STATISTICS_MS: &str = "5000";
/// Bytes that a producer holds before it takes no more.
const PRODUCER_QUEUE_KBYTES: u32 = 32 * 1024;

/// How soon a client is back after a connection broke. librdkafka doubles its wait with every
/// attempt, up to 10 s by default, and counts connections that came about like those that did not:
/// a client that lost a few of them stood still for 10 s each time, while the broker was there.
const RECONNECT: [(&str, &str); 2] =
    [("reconnect.backoff.max.ms", "1000"), ("socket.connection.setup.timeout.ms", "5000")];
/// How long a broker may take to answer. By default it is a minute: for as long a client would
/// wait for one that lost its network, though others have its partitions after some 10 s. The
/// transactional producer's follows from `transaction.timeout.ms`, below which it has to be.
const ANSWER: (&str, &str) = ("socket.timeout.ms", "10000");

/// Why a client cannot be made.
#[derive(Debug, Error)]
pub enum ClientError {
    /// librdkafka refuses a property.
    #[error("kafka.properties.{property}: {problem}")]
    Property {
        /// Its name.
        property: String,
        /// What librdkafka says, without the value.
        problem: String,
    },
    /// librdkafka cannot start.
    #[error("kafka.properties: no Kafka client can be made with them: {0}")]
    Start(String),
}

/// A property that librdkafka refuses by itself.
fn refused(error: KafkaError) -> Result<ClientError, KafkaError> {
    let KafkaError::ClientConfig(_, problem, property, value) = error else { return Err(error) };
    let problem = if value.is_empty() { problem } else { problem.replace(&value, "…") };
    let takes = match property.as_str() {
        "security.protocol" => "it takes plaintext, ssl, sasl_plaintext or sasl_ssl",
        "sasl.mechanism" | "sasl.mechanisms" => "it takes PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER",
        "compression.type" | "compression.codec" => "it takes none, gzip, snappy, lz4 or zstd",
        _ => "librdkafka's CONFIGURATION.md has all properties and their values",
    };
    Ok(ClientError::Property { property, problem: format!("{problem}; {takes}") })
}

/// What of these settings no Kafka client can be made with, without talking to a broker: first
/// of each property by itself, and where all are right, of each client that the worker makes.
#[must_use]
pub fn faults(config: &KafkaConfig) -> Vec<ClientError> {
    let alone = config.properties.0.iter().filter_map(|(name, value)| {
        refused(ClientConfig::new().set(name, value).create_native_config().err()?).ok()
    });
    let alone: Vec<ClientError> = alone.collect();
    if !alone.is_empty() {
        return alone;
    }
    // Clients look for their brokers as soon as they are made.
    // Nobody listens on this port, and nobody hears of it.
    let nowhere = KafkaConfig { bootstrap_servers: "127.0.0.1:9".to_owned(), ..config.clone() };
    let consumers = [pages_consumer(&nowhere), log_member(&nowhere), partition_reader(&nowhere)];
    let producers = [log_producer(&nowhere), transactional_producer(&nowhere, 0)];
    let consumers = consumers.iter().map(|client| create::<_, BaseConsumer<_>>(client, Silent).err());
    let producers = producers.iter().map(|client| create::<_, BaseProducer<_>>(client, Silent).err());
    // What one client refuses, others refuse as well.
    consumers.chain(producers).flatten().take(1).collect()
}

/// Of a client that is made to see whether it can be.
struct Silent;

impl ClientContext for Silent {
    fn log(&self, _: RDKafkaLogLevel, _: &str, _: &str) {}
    fn error(&self, _: KafkaError, _: &str) {}
}

impl ConsumerContext for Silent {}

impl ProducerContext for Silent {
    type DeliveryOpaque = ();
    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

/// librdkafka's words without the values of properties that may be secrets.
fn without_secrets(text: &str, config: &ClientConfig) -> String {
    const SECRET: [&str; 8] =
        ["config", "key", "mechanism", "password", "pem", "secret", "token", "username"];
    let map = config.config_map();
    let secrets = map.iter().filter(|(name, _)| SECRET.iter().any(|part| name.contains(part)));
    secrets
        .filter(|(_, value)| !value.is_empty())
        .fold(text.to_owned(), |text, (_, value)| text.replace(value, "…"))
}

/// Makes a client.
///
/// # Errors
/// [`ClientError`].
pub fn create<C, T>(config: &ClientConfig, context: C) -> Result<T, ClientError>
where
    C: rdkafka::client::ClientContext,
    T: FromClientConfigAndContext<C>,
{
    config.create_with_context(context).map_err(|error| {
        refused(error).unwrap_or_else(|other| ClientError::Start(without_secrets(&other.to_string(), config)))
    })
}

/// The consumer group of the fingerprint stage. Each epoch
/// has its own, so that a new one begins at the start.
#[must_use]
pub fn fingerprint_group(config: &KafkaConfig) -> String {
    format!("{}-fingerprint-{}", config.app, config.epoch)
}

/// The consumer group of the cluster stage.
#[must_use]
pub fn cluster_group(config: &KafkaConfig) -> String {
    format!("{}-cluster", config.app)
}

/// The transactional id of a partition's owner.
#[must_use]
pub fn transactional_id(config: &KafkaConfig, log_partition: u32) -> String {
    format!("{}-cluster-{log_partition}", config.app)
}

/// For questions about topics.
#[must_use]
pub fn admin(config: &KafkaConfig) -> ClientConfig {
    layered(config, "admin", &[ANSWER])
}

/// A member of the group that shares the page topic.
#[must_use]
pub fn pages_consumer(config: &KafkaConfig) -> ClientConfig {
    // A broker is asked for some pages at once: for each
    // page by itself, the asking costs more than the page.
    let defaults = [("fetch.min.bytes", "65536"), ("fetch.wait.max.ms", "50")];
    let mut client = consumer(config, "pages", &fingerprint_group(config), PAGES_QUEUE_KBYTES, &defaults);
    // Every partition is begun at an offset of ours. Where
    // that is gone, `earliest` would jump without a word.
    client.set("auto.offset.reset", "error");
    keeps_its_place(config, &mut client);
    client
}

/// Static membership. Only for members: readers and questions use a group's id without joining
/// it. Both members of a process may have one name, since they are of different groups.
fn keeps_its_place(config: &KafkaConfig, client: &mut ClientConfig) {
    if let Some(id) = &config.instance_id {
        client.set("group.instance.id", id);
    }
}

/// A member of the group that shares out the log's partitions; it reads none itself.
#[must_use]
pub fn log_member(config: &KafkaConfig) -> ClientConfig {
    let mut client = consumer(config, "owner", &cluster_group(config), 1, &[]);
    client.set("auto.offset.reset", "earliest");
    keeps_its_place(config, &mut client);
    client
}

/// A reader of one partition, from an offset that it is told to the end. It is dropped soon: waiting, it
/// would ask the broker a hundred times a second.
#[must_use]
pub fn partition_reader(config: &KafkaConfig) -> ClientConfig {
    reader(config, "10")
}

/// The same for a reader that goes on reading what is written.
#[must_use]
pub fn partition_follower(config: &KafkaConfig) -> ClientConfig {
    reader(config, "100")
}

/// A broker says after `wait_ms` that a partition is read to its end. Whoever restores a table waits for that, and
/// whoever is told another offset for the request before it: several times in a row.
fn reader(config: &KafkaConfig, wait_ms: &str) -> ClientConfig {
    let defaults = [("fetch.wait.max.ms", wait_ms)];
    let mut client = consumer(config, "reader", &cluster_group(config), RECORDS_QUEUE_KBYTES, &defaults);
    client.set("auto.offset.reset", "error").set("enable.partition.eof", "true");
    client
}

/// Reads what no transaction has committed, too.
#[must_use]
pub fn uncommitted_reader(config: &KafkaConfig) -> ClientConfig {
    let mut client = partition_reader(config);
    client.set("isolation.level", "read_uncommitted");
    client
}

/// A reader of what passes by, for people. It joins no group; the name is one that the rights of an
/// installation cover. What retention deletes meanwhile is passed over.
#[must_use]
pub fn tail_reader(config: &KafkaConfig) -> ClientConfig {
    let group = format!("{}-tap", config.app);
    let mut client = consumer(config, "tap", &group, RECORDS_QUEUE_KBYTES, &[("fetch.wait.max.ms", "100")]);
    client.set("auto.offset.reset", "earliest").set("enable.partition.eof", "true");
    client
}

/// Sends the log's records: at least once, in order.
#[must_use]
pub fn log_producer(config: &KafkaConfig) -> ClientConfig {
    // 0: permanently. However slow or long away the brokers are, the queue waits and
    // stays bounded; giving up would only have the same pages read and sent again.
    let mut client = producer(config, "log", &[("message.timeout.ms", "0"), ("linger.ms", "20"), ANSWER]);
    client.set("enable.idempotence", "true");
    client
}

/// Writes what follows from one partition of the log, in transactions.
#[must_use]
pub fn transactional_producer(config: &KafkaConfig, log_partition: u32) -> ClientConfig {
    // A message that cannot be delivered must fail before its transaction times out. A transaction
    // is written when its batch is computed, so its records come at once: waiting a little sends
    // them in few requests. A coordinator that has not yet ended the last transaction says so, and
    // by default it would be asked again after 100 ms: measured as 100 ms a transaction where 15
    // are enough.
    let defaults = [
        ("transaction.timeout.ms", "10000"),
        ("message.timeout.ms", "8000"),
        ("linger.ms", "5"),
        ("retry.backoff.ms", "5"),
        ("retry.backoff.max.ms", "500"),
    ];
    let mut client = producer(config, "cluster", &defaults);
    client.set("transactional.id", transactional_id(config, log_partition));
    // Tells of every broken connection, however often: see `crate::kafka::transactions`.
    let debug = config.properties.0.get("debug").map_or("broker".to_owned(), |more| format!("{more},broker"));
    client.set("debug", debug).set_log_level(RDKafkaLogLevel::Debug);
    client
}

fn consumer(
    config: &KafkaConfig,
    name: &str,
    group: &str,
    queue_kbytes: u32,
    defaults: &[(&str, &str)],
) -> ClientConfig {
    let queue_kbytes = queue_kbytes.to_string();
    let ours = [
        // Longer than a cluster takes to replace a lost broker, 9 to 11 s by default: with 10 s,
        // members gave themselves up while their coordinator was being replaced, and the new one
        // waited as long again for who they had been. A broker of three killed: 20 to 24 s without
        // a verdict, and 10 to 13 s with 12 s.
        ("session.timeout.ms", "12000"),
        // Members learn of a rebalance from the answer to a heartbeat, so
        // this is how long the others take to notice that one is gone, once
        // the broker has. A heartbeat costs a request of some 100 bytes.
        ("heartbeat.interval.ms", "500"),
        ("max.poll.interval.ms", "300000"),
        ("queued.max.messages.kbytes", &*queue_kbytes),
        ("max.partition.fetch.bytes", "1048576"),
        // A full queue is looked at again soon: by default a reader would are halted for a second.
        ("fetch.queue.backoff.ms", "20"),
        ("statistics.interval.ms", STATISTICS_MS),
        ANSWER,
    ];
    let mut client = layered(config, name, &[&ours, defaults].concat());
    client
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("isolation.level", "read_committed")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("allow.auto.create.topics", "false");
    client
}

fn producer(config: &KafkaConfig, name: &str, defaults: &[(&str, &str)]) -> ClientConfig {
    let queue_kbytes = PRODUCER_QUEUE_KBYTES.to_string();
    // LZ4: fingerprints hardly shrink, and zstd took 10 µs more for each page.
    let ours = [
        ("compression.type", "lz4"),
        ("queue.buffering.max.kbytes", &*queue_kbytes),
        ("statistics.interval.ms", STATISTICS_MS),
    ];
    let mut client = layered(config, name, &[&ours, defaults].concat());
    // As Java's clients do it, so that a key finds the same partition whoever writes.
    client.set("acks", "all").set("partitioner", "murmur2_random");
    client
}

/// `name` is the client's in the broker's logs, metrics and
/// quotas, behind that of the installation.
fn layered(config: &KafkaConfig, name: &str, defaults: &[(&str, &str)]) -> ClientConfig {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", &config.bootstrap_servers);
    client.set("client.id", format!("{}-{name}", config.app));
    let message_bytes = config.create.message_bytes_max;
    client.set("message.max.bytes", message_bytes.to_string());
    for (name, value) in RECONNECT.into_iter().chain(authorities::default()).chain(defaults.iter().copied()) {
        client.set(name, value);
    }
    for (name, value) in &config.properties.0 {
        client.set(name, value);
    }
    client
}

#[cfg(test)]
mod tests {
    use rdkafka::consumer::{BaseConsumer, DefaultConsumerContext};
    use rdkafka::producer::{BaseProducer, DefaultProducerContext};

    use super::*;

    fn with(properties: &[(&str, &str)]) -> KafkaConfig {
        let mut config = KafkaConfig::default();
        let own = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        config.properties.0.extend(own);
        config
    }

    #[test]
    fn all_clients_can_be_made() {
        let config = with(&[]);
        for client in [pages_consumer(&config), log_member(&config), partition_reader(&config)] {
            create::<_, BaseConsumer<_>>(&client, DefaultConsumerContext).expect("a consumer");
        }
        for client in [log_producer(&config), transactional_producer(&config, 0)] {
            create::<_, BaseProducer<_>>(&client, DefaultProducerContext).expect("a producer");
        }
    }

    #[test]
    fn tls_and_sasl_are_compiled_in() {
        for mechanism in ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"] {
            let config = with(&[
                ("security.protocol", "SASL_SSL"),
                ("sasl.mechanism", mechanism),
                ("sasl.username", "lei"),
                ("sasl.password", "hunter2"),
            ]);
            let client = create::<_, BaseProducer<_>>(&log_producer(&config), DefaultProducerContext);
            assert!(client.is_ok(), "{mechanism}: {:?}", client.err());
        }
    }

    #[test]
    fn errors_show_no_values() {
        for name in ["session.timeout.ms", "security.protocol", "sasl.passwort", "ssl.key.pem"] {
            let mut config = with(&[("security.protocol", "ssl")]);
            config.properties.0.insert(name.to_owned(), "hunter2".to_owned());
            let error = create::<_, BaseConsumer<_>>(&pages_consumer(&config), DefaultConsumerContext);
            let Err(error) = error else { panic!("{name} is refused") };
            let text = format!("{error} {error:?}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}
