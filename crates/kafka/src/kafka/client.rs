//! Builds the settings of all Kafka clients from the configuration, including those that exactly-once
//! delivery requires.
//!
//! There are three layers, of which later ones win: our defaults, `[kafka.properties]`, and required
//! settings. Errors never show a value, since it may be a secret.

use std::time::Duration;

use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, DeliveryResult, ProducerContext};
use rdkafka::{ClientConfig, ClientContext};

use crate::kafka::authorities;
use crate::kafka::error::ClientError;
use leitong_pipeline::config::kafka::KafkaConfig;

/// Time limit of a call to a broker whose answer is needed at once.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of the fetch queue of a consumer of pages, in KiB.
const PAGES_QUEUE_KBYTES: u32 = 32 * 1024;
/// Maximum size of the fetch queue of a consumer of small records, in KiB.
const RECORDS_QUEUE_KBYTES: u32 = 16 * 1024;
/// Interval at which a client reports the fill of its queues.
const STATISTICS_MS: &str = "5000";
/// Maximum size of the queue of a producer, in KiB. A producer with a full queue accepts no records.
const PRODUCER_QUEUE_KBYTES: u32 = 32 * 1024;

/// Limits on the delay before a client reconnects, and on the time to set up a connection. librdkafka doubles
/// the delay with every attempt, up to 10 s by default, and counts successful attempts as well. So a client
/// that lost a few connections paused for 10 s each time, although the broker was available.
const RECONNECT: [(&str, &str); 2] =
    [("reconnect.backoff.max.ms", "1000"), ("socket.connection.setup.timeout.ms", "5000")];
/// Time limit for the answer of a broker. The default is a minute: a client would wait that long for a broker
/// that lost its network, although other brokers take over its partitions within about 10 s. The
/// transactional producer's limit follows from `transaction.timeout.ms`, since it must be lower.
const ANSWER: (&str, &str) = ("socket.timeout.ms", "10000");

/// Converts librdkafka's error about a single property.
fn refused(error: KafkaError) -> Result<ClientError, KafkaError> {
    let KafkaError::ClientConfig(_, problem, property, value) = error else { return Err(error) };
    let problem = if value.is_empty() { problem } else { problem.replace(&value, "…") };
    let takes = match property.as_str() {
        "security.protocol" => "choose plaintext, ssl, sasl_plaintext or sasl_ssl",
        "sasl.mechanism" | "sasl.mechanisms" => "choose PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER",
        "compression.type" | "compression.codec" => "choose none, gzip, snappy, lz4 or zstd",
        _ => "see librdkafka's CONFIGURATION.md for all properties and their values",
    };
    Ok(ClientError::Property { property, problem: format!("{problem}; {takes}") })
}

/// Returns an error for each property with which no client can be created. Connects to no broker. First each
/// property is checked on its own; if all are valid, each client of the worker is created.
#[must_use]
pub fn faults(config: &KafkaConfig) -> Vec<ClientError> {
    let faults = config.properties.0.iter().filter_map(|(name, value)| {
        refused(ClientConfig::new().set(name, value).create_native_config().err()?).ok()
    });
    let faults: Vec<ClientError> = faults.collect();
    if !faults.is_empty() {
        return faults;
    }
    // Clients connect to their brokers as soon as they are created. Nothing listens on this port, and the
    // errors are ignored.
    let nowhere = KafkaConfig { bootstrap_servers: "127.0.0.1:9".to_owned(), ..config.clone() };
    let consumers = [pages_consumer(&nowhere), log_member(&nowhere), partition_reader(&nowhere)];
    let producers = [log_producer(&nowhere), transactional_producer(&nowhere, 0)];
    let consumers = consumers.iter().map(|client| create::<_, BaseConsumer<_>>(client, Silent).err());
    let producers = producers.iter().map(|client| create::<_, BaseProducer<_>>(client, Silent).err());
    // Several clients may reject the same setting, so only one error is returned.
    consumers.chain(producers).flatten().take(1).collect()
}

/// Context of a client that is created only to check its settings.
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

/// Returns librdkafka's message without the values of properties that may be secrets.
fn without_secrets(text: &str, config: &ClientConfig) -> String {
    const SECRET: [&str; 8] =
        ["config", "key", "mechanism", "password", "pem", "secret", "token", "username"];
    let map = config.config_map();
    let secrets = map.iter().filter(|(name, _)| SECRET.iter().any(|part| name.contains(part)));
    secrets
        .filter(|(_, value)| !value.is_empty())
        .fold(text.to_owned(), |text, (_, value)| text.replace(value, "…"))
}

/// Creates a client.
///
/// # Errors
/// [`ClientError`].
pub(crate) fn create<C, T>(config: &ClientConfig, context: C) -> Result<T, ClientError>
where
    C: rdkafka::client::ClientContext,
    T: FromClientConfigAndContext<C>,
{
    config.create_with_context(context).map_err(|error| {
        refused(error).unwrap_or_else(|other| ClientError::Start(without_secrets(&other.to_string(), config)))
    })
}

/// Returns advice, which may be empty, if no consumer can read on after this error: the client is broken, or records are
/// damaged or in a format that librdkafka does not know, and it would pass over them.
pub(crate) fn final_advice(error: &KafkaError) -> Option<&'static str> {
    use rdkafka::error::RDKafkaErrorCode::{BadCompression, BadMessage, NotImplemented};
    match error {
        KafkaError::MessageConsumptionFatal(_) => Some(""),
        _ => matches!(error.rdkafka_error_code(), Some(BadMessage | BadCompression | NotImplemented)).then_some(
            "; find the damaged records with kafka-dump-log on a broker, and restore that replica, or delete the records \
             up to there",
        ),
    }
}

/// Returns the version of librdkafka.
pub fn library_version() -> String {
    rdkafka::util::get_rdkafka_version().1
}

/// Returns the consumer group of the fingerprint stage. Each epoch has its own group, so a new epoch reads
/// all pages again.
pub(crate) fn fingerprint_group(config: &KafkaConfig) -> String {
    format!("{}-fingerprint-{}", config.app, config.epoch)
}

/// Returns the consumer group of the cluster stage.
pub(crate) fn cluster_group(config: &KafkaConfig) -> String {
    format!("{}-cluster", config.app)
}

/// Returns the transactional id of a partition's owner.
fn transactional_id(config: &KafkaConfig, log_partition: u32) -> String {
    format!("{}-cluster-{log_partition}", config.app)
}

/// Returns the settings of the client for requests about topics.
pub(crate) fn admin(config: &KafkaConfig) -> ClientConfig {
    layered(config, "admin", &[ANSWER])
}

/// Returns the settings of a member of the group that shares the page topic.
pub(crate) fn pages_consumer(config: &KafkaConfig) -> ClientConfig {
    // Fetching several pages per request saves time: a request for a single page costs more than the page.
    let defaults = [("fetch.min.bytes", "65536"), ("fetch.wait.max.ms", "50")];
    let mut client = consumer(config, "pages", &fingerprint_group(config), PAGES_QUEUE_KBYTES, &defaults);
    // Every partition is read from an offset that Leitong sets. If that offset is gone, `earliest` would skip
    // ahead without an error.
    client.set("auto.offset.reset", "error");
    set_instance_id(config, &mut client);
    client
}

/// Sets the id for static membership, on group members only: readers use a group's id without joining the
/// group. Both members of a process can have the same id, since they are in different groups.
fn set_instance_id(config: &KafkaConfig, client: &mut ClientConfig) {
    if let Some(id) = &config.instance_id {
        client.set("group.instance.id", id);
    }
}

/// Returns the settings of a member of the group that shares the log's partitions. The member itself reads no
/// records.
pub(crate) fn log_member(config: &KafkaConfig) -> ClientConfig {
    let mut client = consumer(config, "owner", &cluster_group(config), 1, &[]);
    client.set("auto.offset.reset", "earliest");
    set_instance_id(config, &mut client);
    client
}

/// Returns the settings of a reader of one partition from a given offset to the end. The reader should be
/// dropped soon: while it waits, it asks the broker a hundred times per second.
pub(crate) fn partition_reader(config: &KafkaConfig) -> ClientConfig {
    reader(config, "10")
}

/// Returns the settings of a reader that continues to wait for new records.
pub(crate) fn partition_follower(config: &KafkaConfig) -> ClientConfig {
    reader(config, "100")
}

/// Returns the settings of a reader. At the end of the partition, a broker answers after `wait_ms`. The
/// restore of a table waits for that answer. A reader that seeks waits for the answer to its earlier request,
/// several times in a row.
fn reader(config: &KafkaConfig, wait_ms: &str) -> ClientConfig {
    let defaults = [("fetch.wait.max.ms", wait_ms)];
    let mut client = consumer(config, "reader", &cluster_group(config), RECORDS_QUEUE_KBYTES, &defaults);
    client.set("auto.offset.reset", "error").set("enable.partition.eof", "true");
    client
}

/// Returns the settings of a reader that also sees uncommitted records.
pub(crate) fn uncommitted_reader(config: &KafkaConfig) -> ClientConfig {
    let mut client = partition_reader(config);
    client.set("isolation.level", "read_uncommitted");
    client
}

/// Returns the settings of a reader for `leitong tap`. It joins no group; its group id has the same beginning
/// as those of an installation, so the same permissions apply. Records that retention deletes before they are
/// read are skipped.
pub(crate) fn tail_reader(config: &KafkaConfig) -> ClientConfig {
    let group = format!("{}-tap", config.app);
    let mut client = consumer(config, "tap", &group, RECORDS_QUEUE_KBYTES, &[("fetch.wait.max.ms", "100")]);
    client.set("auto.offset.reset", "earliest").set("enable.partition.eof", "true");
    client
}

/// Returns the settings of the producer of log records: at least once, in order.
pub(crate) fn log_producer(config: &KafkaConfig) -> ClientConfig {
    // 0 means no timeout. The queue waits and stays bounded however slow or long unavailable the brokers are.
    // Giving up would only cause the same pages to be read and sent again.
    let mut client = producer(config, "log", &[("message.timeout.ms", "0"), ("linger.ms", "20"), ANSWER]);
    client.set("enable.idempotence", "true");
    client
}

/// Returns the settings of the producer that writes the verdicts, dead letters and changelog of one log
/// partition.
pub(crate) fn transactional_producer(config: &KafkaConfig, log_partition: u32) -> ClientConfig {
    // A message that cannot be delivered must fail before its transaction times out. The records of a
    // transaction are written at once when its batch is computed, so a short linger sends them in few
    // requests. A coordinator that has not ended the last transaction yet says so, and by default librdkafka
    // asks again after 100 ms. Transactions then took 100 ms when measured, where 15 ms are enough.
    let defaults = [
        ("transaction.timeout.ms", "10000"),
        ("message.timeout.ms", "8000"),
        ("linger.ms", "5"),
        ("retry.backoff.ms", "5"),
        ("retry.backoff.max.ms", "500"),
    ];
    let mut client = producer(config, "cluster", &defaults);
    client.set("transactional.id", transactional_id(config, log_partition));
    // Logs every broken connection, however often: see `crate::kafka::transactions`.
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
        // Longer than a Kafka cluster takes to replace a lost broker, which is 9 to 11 s by default. With 10
        // s, members timed out while their coordinator was being replaced, and the new coordinator waited
        // another 10 s for members that no longer existed. When one of three brokers was killed, no verdicts
        // came for 20 to 24 s. With 12 s, it was 10 to 13 s.
        ("session.timeout.ms", "12000"),
        // Members learn of a rebalance from the answer to a heartbeat. So this is the time until the other
        // members react after the broker has noticed that one is gone. A heartbeat is a request of about 100
        // bytes.
        ("heartbeat.interval.ms", "500"),
        ("max.poll.interval.ms", "300000"),
        ("queued.max.messages.kbytes", &*queue_kbytes),
        ("max.partition.fetch.bytes", "1048576"),
        // A full queue is checked again soon. By default, fetching would pause for a second.
        ("fetch.queue.backoff.ms", "20"),
        // As Java clients do. Without it, damaged records are read as they are.
        ("check.crcs", "true"),
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
    // LZ4, since fingerprints hardly compress, and zstd took 10 µs more per page.
    let ours = [
        ("compression.type", "lz4"),
        ("queue.buffering.max.kbytes", &*queue_kbytes),
        ("statistics.interval.ms", STATISTICS_MS),
    ];
    let mut client = layered(config, name, &[&ours, defaults].concat());
    // The partitioner of Java clients, so a key goes to the same partition whichever client writes.
    client.set("acks", "all").set("partitioner", "murmur2_random");
    client
}

/// Combines the layers. `name` follows the name of the installation in the client id, which appears in the
/// broker's logs, metrics and quotas.
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
    fn all_clients_can_be_created() {
        let faults = faults(&with(&[]));
        assert!(faults.is_empty(), "{faults:?}");
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
