//! Settings of the Kafka worker. They are not part of any hash, since they do not change what a verdict says.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::admin::is_host;
use crate::config::redact::{self, HIDDEN};
use crate::verdict_message::{cloud_events, verdict_headers};

/// Settings of the Kafka worker, `leitong run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KafkaConfig {
    /// Brokers to connect to first: `host:port`, separated by commas. All commands that use Kafka require
    /// this.
    pub bootstrap_servers: String,
    /// Name of this installation. Its consumer groups and transactional ids begin with this name. Instances
    /// that share the work must have the same name.
    pub app: String,
    /// Name that identifies this instance across restarts, such as `${HOSTNAME}` of a StatefulSet; every
    /// instance needs a different one. After a stop, the group waits for the session timeout
    /// (`session.timeout.ms`) for the instance to come back before others take over its partitions. Unset:
    /// others take over at once.
    pub instance_id: Option<String>,
    /// Raise this to process all pages of the topic again. Log records of pages with a lower epoch are then
    /// ignored.
    #[schemars(range(min = 0, max = 4_294_967_295_u64))]
    pub epoch: u32,
    /// Names of the topics.
    pub topics: TopicsConfig,
    /// Reading of pages.
    pub pages: PagesConfig,
    /// Writing of verdicts.
    pub verdicts: VerdictsConfig,
    /// Messages that cannot be read as pages.
    pub dead_letters: DeadLettersConfig,
    /// Size of transactions.
    pub transaction: TransactionConfig,
    /// Local copies of the centroid tables, for fast restarts.
    pub snapshots: SnapshotsConfig,
    /// The changelog of the centroid tables.
    pub changelog: ChangelogConfig,
    /// Keep standby tables of all log partitions that other instances own (cluster role only). If an owner is
    /// lost, its partition then needs no restore. Each instance needs the memory, or disk space, of all
    /// tables.
    pub standby: bool,
    /// Settings of the topics that `leitong topics create` makes. `run --check` and `run` compare
    /// `log_partitions` and `message_bytes_max` with the topics.
    pub create: CreateConfig,
    /// Any properties of librdkafka, such as `security.protocol` or `sasl.password`, for all clients. Keep
    /// secrets in the environment: `"sasl.password" = "${KAFKA_PASSWORD}"`. Values are never logged.
    /// Properties that exactly-once delivery depends on are set by Leitong and are rejected here.
    pub properties: Properties,
}

/// Names of the topics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopicsConfig {
    /// Input: crawled pages.
    pub pages: String,
    /// The fingerprint log, between the two stages.
    pub fingerprints: String,
    /// Output: one verdict per page.
    pub verdicts: String,
    /// The changelog of the centroid table.
    pub centroids: String,
    /// Output: messages that cannot be read as pages.
    pub dead_letters: String,
}

/// Reading of pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PagesConfig {
    /// Format of values without a `content-type` header, with the preset `json`: `json`, `protobuf`
    /// (`leitong.v1.Page`) or `html` (the page itself, in any charset, with the url as the key).
    pub format: PageFormat,
    /// Where to read the url from: the `field` of the value, or the `key` of the message.
    pub url_from: UrlFrom,
    /// Milliseconds for which the queue may stay full before reading of partitions is paused. A pause
    /// discards fetched pages, so short spells of load are waited out.
    #[schemars(range(min = 100, max = 240_000))]
    pub pause_after_ms: u64,
}

/// Format of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageFormat {
    /// A JSON object.
    Json,
    /// `leitong.v1.Page`.
    Protobuf,
    /// The page itself.
    Html,
}

/// The place that the url is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UrlFrom {
    /// In the value.
    Field,
    /// In the key.
    Key,
}

/// Writing of verdicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VerdictsConfig {
    /// Format of verdicts: `json` or `protobuf` (`leitong.v1.Verdict`).
    pub format: VerdictFormat,
    /// Headers that are copied unchanged from a page's message to its verdict, for example to continue a
    /// trace. Upper and lower case of names do not matter. At most 4 KiB of headers are copied.
    pub headers: Vec<String>,
    /// Key of a verdict's message: `page-id`, or `page-key` for the key of the page's message (the page id if
    /// that key is missing or longer than 8 KiB).
    pub key: VerdictKey,
    /// Write each verdict as a CloudEvent (1.0, binary content mode): adds headers such as `ce_id` and
    /// `ce_source`. The value does not change.
    pub cloud_events: bool,
}

/// Key of a verdict's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKey {
    /// The page's id.
    PageId,
    /// The key of the page's message.
    PageKey,
}

/// Format of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictFormat {
    /// A JSON object.
    Json,
    /// `leitong.v1.Verdict`.
    Protobuf,
}

/// Messages that cannot be read as pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeadLettersConfig {
    /// Largest value, in bytes, that a dead letter contains as received. A dead letter for a larger
    /// value names the message instead.
    #[schemars(range(min = 0, max = 8_388_608))]
    pub value_bytes_max: usize,
}

/// Size of transactions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TransactionConfig {
    /// Limit on the log records in one transaction.
    #[schemars(range(min = 1, max = 100_000))]
    pub records_max: usize,
    /// Milliseconds to wait for more records after the first one. A longer wait gives fewer transactions, but
    /// later verdicts.
    #[schemars(range(min = 0, max = 10_000))]
    pub linger_ms: u64,
}

/// Local copies of the centroid tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotsConfig {
    /// Folder for snapshots, which must survive restarts. Unset: the table is read from the changelog at
    /// every start. Instances on one machine can share the folder, except with `table.on_disk`.
    pub dir: Option<PathBuf>,
    /// Seconds between two snapshots. Each writes the whole table, about 250 bytes per centroid. A table on
    /// disk (`table.on_disk`) needs no snapshots.
    #[schemars(range(min = 1, max = 86_400))]
    pub interval_s: u64,
}

/// The changelog of the centroid tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangelogConfig {
    /// Seconds between two checks for expired records. Brokers are asked to delete them once there is
    /// one for 16 unexpired ones. The time of deletion affects only the size of the topic.
    #[schemars(range(min = 1, max = 86_400))]
    pub delete_interval_s: u64,
}

/// Settings of the topics that `leitong topics create` makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CreateConfig {
    /// Partitions of the page topic. At most this many instances can share the fingerprint stage.
    #[schemars(range(min = 1, max = 10_000))]
    pub page_partitions: u32,
    /// Partitions of the log and of the changelog. At most this many instances can share the cluster stage. A
    /// corpus is in one partition, so several partitions help only with several corpora. The number can never
    /// be changed later.
    #[schemars(range(min = 1, max = 1_000))]
    pub log_partitions: u32,
    /// Partitions of the verdict topic.
    #[schemars(range(min = 1, max = 10_000))]
    pub verdict_partitions: u32,
    /// Replicas of each partition; -1 for the broker's default.
    #[schemars(range(min = -1, max = 100))]
    pub replication_factor: i32,
    /// Largest message, in bytes, for clients and for the topics of pages, fingerprints and dead letters.
    #[schemars(range(min = 1_048_576, max = 104_857_600))]
    pub message_bytes_max: usize,
}

/// Properties of librdkafka. Values are never shown.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Properties(pub BTreeMap<String, String>);

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, "…"))).finish()
    }
}

/// Properties that exactly-once delivery depends on, or that have their own setting.
const RESERVED: [&str; 18] = [
    "acks",
    "auto.offset.reset",
    "bootstrap.servers",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "enable.partition.eof",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "isolation.level",
    "max.in.flight.requests.per.connection",
    "metadata.broker.list",
    "partition.assignment.strategy",
    "partitioner",
    "request.required.acks",
    "transactional.id",
];

impl KafkaConfig {
    /// Returns the errors that a schema cannot express.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for name in self.properties.0.keys().filter(|name| RESERVED.contains(&name.as_str())) {
            let instead = match name.as_str() {
                "group.instance.id" => "; set kafka.instance_id instead",
                "bootstrap.servers" | "metadata.broker.list" => "; set kafka.bootstrap_servers instead",
                _ => "",
            };
            faults.push(format!("kafka.properties.{name}: is set by Leitong; remove it{instead}"));
        }
        faults.extend(self.missing_files());
        faults.extend(self.bootstrap_fault());
        if let Some(id) = self.instance_id.as_ref().filter(|id| !is_name(id)) {
            faults.push(format!(
                "kafka.instance_id = {}: must be a name of 1 to 249 letters, digits, `.`, `_` and `-`",
                redact::text(id)
            ));
        }
        if !is_name(&self.app) {
            faults.push(format!(
                "kafka.app = {}: is part of names of groups and transactions, so it must be a name of 1 to 249 \
                 letters, digits, `.`, `_` and `-`",
                redact::text(&self.app)
            ));
        }
        // Leitong sets these headers itself.
        let is_own = |name: &&String| verdict_headers::NAMES.iter().any(|own| name.eq_ignore_ascii_case(own));
        if let Some(name) = self.verdicts.headers.iter().find(is_own) {
            faults.push(format!("kafka.verdicts.headers: {name} is set by Leitong; remove it"));
        }
        let is_event = |name: &&String| cloud_events::NAMES.iter().any(|own| name.eq_ignore_ascii_case(own));
        if let Some(name) = self.verdicts.headers.iter().find(is_event).filter(|_| self.verdicts.cloud_events)
        {
            faults.push(format!(
                "kafka.verdicts.headers: {name} is set by Leitong if kafka.verdicts.cloud_events = true; remove it"
            ));
        }
        let topics = self.topics.all();
        for (at, (key, name)) in topics.iter().enumerate() {
            if !is_name(name) {
                faults.push(format!(
                    "kafka.topics.{key} = {}: must be a topic name of 1 to 249 letters, digits, `.`, `_` and `-`",
                    redact::text(name)
                ));
            }
            if let Some((other, _)) = topics[..at].iter().find(|(_, earlier)| earlier == name) {
                faults.push(format!("kafka.topics.{key} = {name:?}: is already the name of kafka.topics.{other}; choose another"));
            }
        }
        if self.dead_letters.value_bytes_max + (256 << 10) > self.create.message_bytes_max {
            faults.push(format!(
                "kafka.create.message_bytes_max = {}: must be at least 256 KiB more than {}, the largest value in a dead letter",
                self.create.message_bytes_max, self.dead_letters.value_bytes_max
            ));
        }
        faults
    }

    /// Returns an error for each file that a property names and that cannot be found.
    fn missing_files(&self) -> impl Iterator<Item = String> {
        let files = self.properties.0.iter().filter(|(name, _)| FILES.contains(&name.as_str()));
        // With `probe`, librdkafka looks for the system's certificates itself.
        files.filter(|(_, path)| *path != "probe").filter_map(|(name, path)| {
            let error = std::fs::metadata(path).err()?;
            // Somebody may have entered a key instead of the name of its file.
            let is_path = path.starts_with(['/', '.']) && !path.contains(char::is_whitespace);
            let path = if is_path { format!("{path:?}") } else { redact::text(path) };
            Some(format!("kafka.properties.{name} = {path}: {error}; name a file that this user can read"))
        })
    }

    /// Returns an error if the list of brokers is malformed.
    fn bootstrap_fault(&self) -> Option<String> {
        let servers = &self.bootstrap_servers;
        let wrong = servers.split(',').map(str::trim).find(|server| !is_broker(server))?;
        let (has_user, servers, wrong) =
            (servers.contains('@'), &redact::address(servers), &*redact::address(wrong));
        if has_user {
            return Some(format!(
                "kafka.bootstrap_servers = {servers:?}: must not contain a user or password; write host:port, and set \
                 sasl.username and sasl.password under [kafka.properties]"
            ));
        }
        let (servers, wrong) = match servers.split(',').all(looks_like_address) {
            true => (format!("{servers:?}"), wrong),
            false => ("(not shown)".to_owned(), HIDDEN),
        };
        let plain = wrong.split_once("://").map_or(wrong, |(_, rest)| rest);
        let host = plain.trim_end_matches('/').rsplit_once(':').map_or(plain, |(host, _)| host);
        let host = if host.is_empty() || host == HIDDEN { "broker" } else { host };
        (!self.bootstrap_servers.trim().is_empty()).then(|| {
            format!(
                "kafka.bootstrap_servers = {servers}: {wrong:?} is not a broker address; write host:port, separated by \
                 commas, as in \"{host}:9092\""
            )
        })
    }
}

/// Properties that name files.
const FILES: [&str; 6] = [
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.crl.location",
    "ssl.engine.location",
    "ssl.key.location",
    "ssl.keystore.location",
];

/// Returns true if Kafka accepts the name.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=249).contains(&name.len()) && name.chars().all(fits) && !matches!(name, "." | "..")
}

/// Returns true if `server` has only characters of a broker's address, so an error may show it.
fn looks_like_address(server: &str) -> bool {
    let server = server.split_once("://").map_or(server, |(_, rest)| rest).trim().trim_end_matches('/');
    server.chars().all(|c| c.is_ascii_alphanumeric() || ".:-_[]?…".contains(c))
}

/// Returns true for `host`, `host:port` and `[address]:port`, each with or without a protocol of Kafka in
/// front.
fn is_broker(server: &str) -> bool {
    const PROTOCOLS: [&str; 4] = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"];
    let address = match server.split_once("://") {
        Some((protocol, address)) if PROTOCOLS.contains(&protocol.to_ascii_lowercase().as_str()) => address,
        Some(_) => return false,
        None => server,
    };
    is_host(address)
}

impl TopicsConfig {
    /// Returns all topics, with their keys.
    #[must_use]
    pub fn all(&self) -> [(&'static str, &str); 5] {
        [
            ("pages", &self.pages),
            ("fingerprints", &self.fingerprints),
            ("verdicts", &self.verdicts),
            ("centroids", &self.centroids),
            ("dead_letters", &self.dead_letters),
        ]
    }
}

impl Default for KafkaConfig {
    fn default() -> Self {
        Self {
            bootstrap_servers: String::new(),
            app: "leitong".to_owned(),
            instance_id: None,
            epoch: 0,
            topics: TopicsConfig::default(),
            pages: PagesConfig::default(),
            verdicts: VerdictsConfig::default(),
            dead_letters: DeadLettersConfig::default(),
            transaction: TransactionConfig::default(),
            snapshots: SnapshotsConfig::default(),
            changelog: ChangelogConfig::default(),
            standby: false,
            create: CreateConfig::default(),
            properties: Properties::default(),
        }
    }
}

impl Default for TopicsConfig {
    fn default() -> Self {
        Self {
            pages: "leitong.pages".to_owned(),
            fingerprints: "leitong.fingerprints".to_owned(),
            verdicts: "leitong.verdicts".to_owned(),
            centroids: "leitong.centroids".to_owned(),
            dead_letters: "leitong.dead-letters".to_owned(),
        }
    }
}

impl Default for PagesConfig {
    fn default() -> Self {
        // Five seconds are longer than a rebalance or a slow batch, and a sixtieth of the time after which the
        // group gives up a member that reads nothing (`max.poll.interval.ms`).
        Self { format: PageFormat::Json, url_from: UrlFrom::Field, pause_after_ms: 5000 }
    }
}

impl Default for VerdictsConfig {
    fn default() -> Self {
        let headers =
            ["traceparent", "tracestate", "correlation-id", "x-correlation-id", "kafka_correlationId"];
        let headers = headers.map(str::to_owned).to_vec();
        Self { format: VerdictFormat::Json, headers, key: VerdictKey::PageId, cloud_events: false }
    }
}

impl Default for DeadLettersConfig {
    fn default() -> Self {
        // This is a tenth of the largest message, and more than an ordinary page. Larger values are in the
        // page topic.
        Self { value_bytes_max: 1 << 20 }
    }
}

impl Default for TransactionConfig {
    fn default() -> Self {
        // ADR 11 lists the throughput by size of transaction. A wait of 50 ms limits an owner to 20 transactions
        // per second while pages are few, and delays a verdict by no more than that.
        Self { records_max: 5000, linger_ms: 50 }
    }
}

impl Default for SnapshotsConfig {
    fn default() -> Self {
        // 20 million centroids are 5 GB. Written every five minutes, they are 17 MB per second. A restart
        // reads at most the changelog of five minutes.
        Self { dir: None, interval_s: 300 }
    }
}

impl Default for ChangelogConfig {
    fn default() -> Self {
        // Checks are cheap. A request follows only once a sixteenth of the records have expired.
        Self { delete_interval_s: 60 }
    }
}

impl Default for CreateConfig {
    fn default() -> Self {
        // Twelve is divisible by 2, 3, 4 and 6, so these numbers of instances share the partitions evenly.
        Self {
            page_partitions: 12,
            log_partitions: 1,
            verdict_partitions: 12,
            replication_factor: -1,
            message_bytes_max: 10 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let properties = Properties([("sasl.password".to_owned(), "hunter2".to_owned())].into());
        let config = KafkaConfig { properties, ..KafkaConfig::default() };
        let shown = format!("{config:?}");
        assert!(shown.contains("sasl.password") && !shown.contains("hunter2"), "{shown}");
    }

    /// The error for a malformed address must not show its password.
    #[test]
    fn errors_show_no_credentials_of_brokers() {
        for servers in [
            "user:hunter2@broker:9092",
            "a:9092,sasl_ssl://user:hunter2@broker:9092",
            "http://user:hun,ter2/x@broker:9092",
            "broker:9092?key=hunter2",
        ] {
            let config = KafkaConfig { bootstrap_servers: servers.to_owned(), ..KafkaConfig::default() };
            let [fault] = &config.faults()[..] else { panic!("{servers}: {:?}", config.faults()) };
            let shown = fault.contains("hunter2") || fault.contains("hun") || fault.contains("ter2");
            assert!(fault.contains("kafka.bootstrap_servers = ") && !shown, "{fault}");
            assert!(fault.contains("broker:9092"), "{fault}");
        }
    }

    /// Without `@`, a user and a password look like a host and a port, and must not be shown.
    #[test]
    fn errors_show_nothing_that_may_be_a_secret_in_the_wrong_place() {
        for servers in
            ["user:hunter2", "a:9092,user:hunter2", "ssl://user:hunter2", "hunter2=", "hunter2/x y:z"]
        {
            let mut config = KafkaConfig { bootstrap_servers: servers.to_owned(), ..KafkaConfig::default() };
            config.instance_id = Some("hunter2!".to_owned());
            config.topics.pages = "hunter2 ".to_owned();
            config.properties.0.insert("ssl.key.location".to_owned(), "hunter2".to_owned());
            let faults = config.faults();
            assert_eq!(faults.len(), 4, "{faults:?}");
            assert!(faults.iter().all(|fault| !fault.contains("hunter2")), "{faults:?}");
        }
    }

    #[test]
    fn every_fault_is_reported_with_its_remedy() {
        assert_eq!(KafkaConfig::default().faults(), Vec::<String>::new());
        let mut config = KafkaConfig::default();
        config.properties.0.insert("acks".into(), "1".into());
        config.topics.verdicts = config.topics.pages.clone();
        config.app = " ".to_owned();
        let faults = config.faults();
        assert_eq!(
            faults,
            [
                "kafka.properties.acks: is set by Leitong; remove it",
                "kafka.app = (1 character, not shown): is part of names of groups and transactions, so it must be a name of 1 to 249 letters, \
                 digits, `.`, `_` and `-`",
                "kafka.topics.verdicts = \"leitong.pages\": is already the name of kafka.topics.pages; choose another"
            ]
        );
    }

    /// Any characters were accepted, and a line feed in a group id broke logs and metrics of brokers.
    #[test]
    fn names_that_brokers_refuse_are_refused() {
        for name in ["", ".", "..", "my app", "a/b", "línea", "a\nb", "a:b", &"a".repeat(250)] {
            let mut config = KafkaConfig { app: name.to_owned(), ..KafkaConfig::default() };
            config.topics.pages = name.to_owned();
            let faults = config.faults();
            assert!(faults.iter().any(|fault| fault.starts_with("kafka.app = ")), "{name:?}: {faults:?}");
            assert!(
                faults.iter().any(|fault| fault.starts_with("kafka.topics.pages = ")),
                "{name:?}: {faults:?}"
            );
        }
        for name in ["leitong", "Team-A.news_2", "1"] {
            let config = KafkaConfig { app: name.to_owned(), ..KafkaConfig::default() };
            assert_eq!(config.faults(), Vec::<String>::new());
        }
    }
}
