//! Settings of the Kafka worker. None of them is part of a
//! hash: they do not change what a verdict says.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{cloud_events, verdict_headers};
use crate::telemetry::config::is_address;
use crate::telemetry::redact;

/// The worker, `leitong run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KafkaConfig {
    /// Brokers to begin with: `host:port`, separated by
    /// commas. Whatever talks to Kafka refuses to guess it.
    pub bootstrap_servers: String,
    /// Name of this installation: consumer groups and transactional ids
    /// begin with it. All instances that share the work have the same.
    pub app: String,
    /// A name that this instance keeps when it restarts and that no other one has, such as
    /// `${HOSTNAME}` of a StatefulSet: the group then waits a session time-out
    /// (`session.timeout.ms`) for it to come back before others take its partitions over. Unset:
    /// they do so at once.
    pub instance_id: Option<String>,
    /// Raise it to have all pages of the topic processed
    /// again; pages of lower epochs then count no more.
    #[schemars(range(min = 0, max = 4_294_967_295_u64))]
    pub epoch: u32,
    /// Names of the topics.
    pub topics: TopicsConfig,
    /// How pages are read.
    pub pages: PagesConfig,
    /// How verdicts are written.
    pub verdicts: VerdictsConfig,
    /// What becomes of messages that are no pages.
    pub dead_letters: DeadLettersConfig,
    /// What one transaction holds.
    pub transaction: TransactionConfig,
    /// Local copies of the centroid tables, for quick restarts.
    pub snapshots: SnapshotsConfig,
    /// The changelog of the centroid tables.
    pub changelog: ChangelogConfig,
    /// Instances of the cluster role keep tables ready of all log partitions
    /// that others own, so that a partition whose owner is lost need not be
    /// restored first. Costs each instance the memory of all tables, or the disk.
    pub standby: bool,
    /// What `leitong topics create` makes; `check` and `run` compare the topics with it.
    pub create: CreateConfig,
    /// Any property of librdkafka, such as `security.protocol` or `sasl.password`, for all
    /// clients. Keep secrets in the environment: `"sasl.password" = "${KAFKA_PASSWORD}"`.
    /// They are never logged. What exactly once hangs on cannot be set here.
    pub properties: Properties,
}

/// Names of the topics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopicsConfig {
    /// In: crawled pages.
    pub pages: String,
    /// The fingerprint log, between the two stages.
    pub fingerprints: String,
    /// Out: one verdict a page.
    pub verdicts: String,
    /// The changelog of the centroid table.
    pub centroids: String,
    /// Out: messages that are no pages.
    pub dead_letters: String,
}

/// How pages are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PagesConfig {
    /// With the preset `json`, what a value is that has no
    /// `content-type` header: `json`, `protobuf` (`leitong.v1.Page`) or
    /// `html` (the body itself, in any charset; the key is the url).
    pub format: PageFormat,
    /// Where the url stands: in the `field` of the value, or in the `key` of the message.
    pub url_from: UrlFrom,
    /// Milliseconds for which the queue may stay full before partitions are paused.
    /// Fetched pages are thrown away at a pause, so short pressure is waited out.
    #[schemars(range(min = 100, max = 240_000))]
    pub pause_after_ms: u64,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageFormat {
    /// A JSON object.
    Json,
    /// `leitong.v1.Page`.
    Protobuf,
    /// The body itself.
    Html,
}

/// Where the url stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UrlFrom {
    /// In the value.
    Field,
    /// In the key.
    Key,
}

/// How verdicts are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VerdictsConfig {
    /// `json` or `protobuf` (`leitong.v1.Verdict`).
    pub format: VerdictFormat,
    /// Headers of a page's message that its verdict has as well, as received, upper and
    /// lower case alike; 4 KiB of them at most. They let a trace go on behind the verdict.
    pub headers: Vec<String>,
    /// What a verdict's key is: the `page-id`, or the `page-key`, the key of the
    /// page's message (the page id where that is missing, or longer than 8 KiB).
    pub key: VerdictKey,
    /// Each verdict is a CloudEvent (1.0, binary content mode): headers `ce_id`, `ce_source` and so
    /// on beside the others. The value stays as it is.
    pub cloud_events: bool,
}

/// What a verdict's key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKey {
    /// The page's id.
    PageId,
    /// The key of the page's message.
    PageKey,
}

/// How verdicts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictFormat {
    /// A JSON object.
    Json,
    /// `leitong.v1.Verdict`.
    Protobuf,
}

/// What becomes of messages that are no pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeadLettersConfig {
    /// Bytes up to which a dead letter holds the value as
    /// received; of a longer one it says where it is.
    #[schemars(range(min = 0, max = 8_388_608))]
    pub value_bytes_max: usize,
}

/// What one transaction holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TransactionConfig {
    /// Records of the log in one transaction.
    #[schemars(range(min = 1, max = 100_000))]
    pub records_max: usize,
    /// Milliseconds to wait for more records after the
    /// first: fewer transactions against sooner verdicts.
    #[schemars(range(min = 0, max = 10_000))]
    pub linger_ms: u64,
}

/// Local copies of the centroid tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotsConfig {
    /// Folder that survives a restart; none: the table is read from the changelog at every start.
    /// Instances of one machine may share it, but not with `table.on_disk`.
    pub dir: Option<PathBuf>,
    /// Seconds from one snapshot to the next. Each writes the whole table, some 250 bytes a
    /// centroid. A table that is on disk (`table.on_disk`) needs none.
    #[schemars(range(min = 1, max = 86_400))]
    pub interval_s: u64,
}

/// The changelog of the centroid tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangelogConfig {
    /// Seconds from one look at what has expired to the next. Brokers are asked to
    /// delete it when it is a sixteenth of what has not; nothing hangs on when they do.
    #[schemars(range(min = 1, max = 86_400))]
    pub delete_interval_s: u64,
}

/// What `leitong topics create` makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CreateConfig {
    /// Partitions of the page topic: the most fingerprint workers that can share the work.
    #[schemars(range(min = 1, max = 10_000))]
    pub page_partitions: u32,
    /// Partitions of the log and of the changelog: the most active cluster workers. A
    /// corpus has one, so more are of use with several corpora only. Fixed permanently.
    #[schemars(range(min = 1, max = 1_000))]
    pub log_partitions: u32,
    /// Partitions of the verdict topic.
    #[schemars(range(min = 1, max = 10_000))]
    pub verdict_partitions: u32,
    /// Copies of each partition; -1: the broker's default.
    #[schemars(range(min = -1, max = 100))]
    pub replication_factor: i32,
    /// Bytes of one message, in all topics and clients.
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

/// Properties that exactly once hangs on, or that have a key of their own.
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
    /// What a schema cannot say.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for name in self.properties.0.keys().filter(|name| RESERVED.contains(&name.as_str())) {
            let instead = match name.as_str() {
                "group.instance.id" => ", and set kafka.instance_id",
                "bootstrap.servers" | "metadata.broker.list" => ", and set kafka.bootstrap_servers",
                _ => "",
            };
            faults.push(format!("kafka.properties.{name}: is set by Leitong; take it out{instead}"));
        }
        faults.extend(self.missing_files());
        faults.extend(self.bootstrap_fault());
        if let Some(id) = self.instance_id.as_ref().filter(|id| !is_name(id)) {
            faults.push(format!(
                "kafka.instance_id = {id:?}: must be a name of 1 to 249 letters, digits, `.`, `_` and `-`"
            ));
        }
        if self.app.trim().is_empty() {
            faults.push(format!("kafka.app = {:?}: must not be empty", self.app));
        }
        // Of a verdict it says what the verdict is.
        let is_own = |name: &&String| verdict_headers::NAMES.iter().any(|own| name.eq_ignore_ascii_case(own));
        if let Some(name) = self.verdicts.headers.iter().find(is_own) {
            faults.push(format!("kafka.verdicts.headers: {name} is set by Leitong; take it out"));
        }
        let is_event = |name: &&String| cloud_events::NAMES.iter().any(|own| name.eq_ignore_ascii_case(own));
        if let Some(name) = self.verdicts.headers.iter().find(is_event).filter(|_| self.verdicts.cloud_events)
        {
            faults.push(format!(
                "kafka.verdicts.headers: {name} is set by Leitong where kafka.verdicts.cloud_events = true; take it out"
            ));
        }
        let topics = self.topics.all();
        for (at, (key, name)) in topics.iter().enumerate() {
            if !is_name(name) {
                faults.push(format!(
                    "kafka.topics.{key} = {name:?}: must be a topic's name, 1 to 249 letters, digits, `.`, `_` and `-`"
                ));
            }
            if let Some((other, _)) = topics[..at].iter().find(|(_, earlier)| earlier == name) {
                faults.push(format!("kafka.topics.{key} = {name:?}: is kafka.topics.{other} already"));
            }
        }
        if self.dead_letters.value_bytes_max + (256 << 10) > self.create.message_bytes_max {
            faults.push(format!(
                "kafka.dead_letters.value_bytes_max = {}: must leave 256 KiB of kafka.create.message_bytes_max = {}",
                self.dead_letters.value_bytes_max, self.create.message_bytes_max
            ));
        }
        faults
    }

    /// Files that properties name, and that are not there.
    fn missing_files(&self) -> impl Iterator<Item = String> {
        let files = self.properties.0.iter().filter(|(name, _)| FILES.contains(&name.as_str()));
        // `probe` has librdkafka look for the system's certificates itself.
        files.filter(|(_, path)| *path != "probe").filter_map(|(name, path)| {
            let error = std::fs::metadata(path).err()?;
            Some(format!("kafka.properties.{name} = {path:?}: {error}; name a file that this user can read"))
        })
    }

    /// What is no list of brokers.
    fn bootstrap_fault(&self) -> Option<String> {
        let servers = &self.bootstrap_servers;
        let wrong = servers.split(',').map(str::trim).find(|server| !is_broker(server))?;
        let (has_user, servers, wrong) =
            (servers.contains('@'), &redact::address(servers), &*redact::address(wrong));
        if has_user {
            return Some(format!(
                "kafka.bootstrap_servers = {servers:?}: addresses of brokers have no user and password; write host:port, \
                 and set sasl.username and sasl.password under [kafka.properties]"
            ));
        }
        let plain = wrong.split_once("://").map_or(wrong, |(_, rest)| rest);
        let host = plain.trim_end_matches('/').rsplit_once(':').map_or(plain, |(host, _)| host);
        let host = if host.is_empty() { "broker" } else { host };
        (!servers.trim().is_empty()).then(|| {
            format!(
                "kafka.bootstrap_servers = {servers:?}: {wrong:?} is no broker; write host:port, separated by commas, as in \
                 \"{host}:9092\""
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

/// What Kafka takes as a name.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=249).contains(&name.len()) && name.chars().all(fits)
}

/// `host`, `host:port`, `[address]:port`, each with a protocol of Kafka before it or without.
fn is_broker(server: &str) -> bool {
    const PROTOCOLS: [&str; 4] = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"];
    let address = match server.split_once("://") {
        Some((protocol, address)) if PROTOCOLS.contains(&protocol.to_ascii_lowercase().as_str()) => address,
        Some(_) => return false,
        None => server,
    };
    is_address(address, false)
}

impl TopicsConfig {
    /// All topics, with their keys.
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
        Self { value_bytes_max: 1 << 20 }
    }
}

impl Default for TransactionConfig {
    fn default() -> Self {
        Self { records_max: 5000, linger_ms: 50 }
    }
}

impl Default for SnapshotsConfig {
    fn default() -> Self {
        Self { dir: None, interval_s: 300 }
    }
}

impl Default for ChangelogConfig {
    fn default() -> Self {
        Self { delete_interval_s: 60 }
    }
}

impl Default for CreateConfig {
    fn default() -> Self {
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

    /// The error for a wrong address named the password in it three times.
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

    #[test]
    fn faults_are_told() {
        assert_eq!(KafkaConfig::default().faults(), Vec::<String>::new());
        let mut config = KafkaConfig::default();
        config.properties.0.insert("acks".into(), "1".into());
        config.topics.verdicts = config.topics.pages.clone();
        config.app = " ".to_owned();
        let faults = config.faults();
        assert_eq!(
            faults,
            [
                "kafka.properties.acks: is set by Leitong; take it out",
                "kafka.app = \" \": must not be empty",
                "kafka.topics.verdicts = \"leitong.pages\": is kafka.topics.pages already"
            ]
        );
    }
}
