//! Checks what a start would refuse or warn about, without starting anything.
//!
//! In: configuration and roles. Out: a finding for each of settings, admin port, look-ups, snapshots,
//! brokers, topics, rights, tables and memory. The check joins no group and writes no record. To test
//! transactional ids, it uses a separate one, `APP-check`.

use std::net::TcpListener;
use std::path::Path;

use super::{Accepted, Roles, resources, startup};
use crate::kafka::client;
use crate::kafka::error::Result;
use crate::kafka::identity::TopicWatch;
use crate::kafka::rights;
use crate::kafka::topic_id::Operation;
use crate::kafka::topics::{Counts, HEARD_WITHIN, Topics};
use leitong_base::error::StepError;
use leitong_http::api::Token;
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::ApiConfig;
use leitong_pipeline::config::Config;
use leitong_pipeline::config::kafka::KafkaConfig;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// There is nothing to report.
    Right,
    /// The worker would start and log a warning.
    Warning,
    /// The worker would not start, or would halt.
    Refused,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The severity.
    pub grade: Grade,
    /// The name of the check.
    pub what: &'static str,
    /// The finding, and what to do about it.
    pub text: String,
}

/// Runs all checks that are possible before a start.
#[must_use]
pub fn check(config: &Config, roles: Roles, accepted: Accepted) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    let stage = match FingerprintStage::new(config.clone()) {
        Ok(stage) => {
            let hash = stage.fingerprint_hash();
            findings.right("settings", format!("fingerprint_hash {hash:016x}"));
            Some(stage)
        }
        Err(error) => {
            findings.refused("settings", error.to_string());
            None
        }
    };
    if let Err(error) = super::trace_settings(config) {
        findings.refused("traces", error.to_string());
    }
    // Both ports are opened at the same time, because they must not share an address.
    let _admin_port = findings.admin_port(&config.admin.address);
    if roles.cluster && !config.api.address.is_empty() {
        findings.api_port(&config.api);
    }
    if let Some(folder) = config.kafka.snapshots.dir.as_deref().filter(|_| roles.cluster) {
        findings.snapshots(folder, config.table.on_disk);
    }
    let counts = match Topics::new(&config.kafka).and_then(|topics| topics.check(HEARD_WITHIN)) {
        Ok((differences, counts)) => {
            findings.right("brokers", format!("{} answered", counts.brokers));
            differences.iter().for_each(|difference| findings.refused("topics", difference.to_string()));
            if !differences.is_empty() {
                return findings.0;
            }
            findings.topics(counts);
            counts
        }
        Err(error) => {
            findings.refused("brokers", StepError::with_causes(&error));
            return findings.0;
        }
    };
    findings.rights(&config.kafka, roles);
    if let Some(stage) = stage {
        findings.tables(config, &stage, counts.log_partitions, accepted);
    }
    let surroundings = resources::Surroundings { roles, counts };
    let short = resources::warnings(config, surroundings, resources::Limits::read());
    if short.is_empty() {
        findings.right("machine", "memory and open files are sufficient for the configuration");
    }
    short.into_iter().for_each(|warning| findings.add(Grade::Warning, "machine", warning));
    findings.0
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, grade: Grade, what: &'static str, text: impl Into<String>) {
        self.0.push(Finding { grade, what, text: text.into() });
    }

    fn right(&mut self, what: &'static str, text: impl Into<String>) {
        self.add(Grade::Right, what, text);
    }

    fn refused(&mut self, what: &'static str, text: impl Into<String>) {
        self.add(Grade::Refused, what, text);
    }

    /// Checks the admin port. Returns it, so it stays in use.
    fn admin_port(&mut self, address: &str) -> Option<TcpListener> {
        match TcpListener::bind(address) {
            _ if address.is_empty() => self.add(
                Grade::Warning,
                "admin port",
                "admin.address is empty: there are no metrics and no readiness probe",
            ),
            Ok(port) => {
                self.right("admin port", format!("{address} is free"));
                return Some(port);
            }
            Err(error) => self.refused(
                "admin port",
                format!(
                    "cannot listen on {address}: {error}; if a worker is already running, choose another address with --admin"
                ),
            ),
        }
        None
    }

    fn api_port(&mut self, config: &ApiConfig) {
        let address = &config.address;
        if let Err(fault) = Token::from_config(config) {
            self.refused("look-ups", fault);
        }
        match TcpListener::bind(address) {
            Ok(_) => self.right("look-ups", format!("{address} is free")),
            Err(error) => self.refused(
                "look-ups",
                format!(
                    "cannot listen on api.address = {address}: {error}; choose a port that neither admin.address nor another \
                     program has, or \"\" for none"
                ),
            ),
        }
    }

    fn snapshots(&mut self, folder: &Path, on_disk: bool) {
        let made = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
        match made {
            Ok(_) => self.right("snapshots", format!("{} can be written to", folder.display())),
            Err(error) if on_disk => self.refused(
                "snapshots",
                format!(
                    "cannot write into {}: {error}; make it writable, since the tables are stored there (table.on_disk = true)",
                    folder.display()
                ),
            ),
            Err(error) => self.add(
                Grade::Warning,
                "snapshots",
                format!(
                    "cannot write into {}: {error}; without snapshots, every restart reads the whole changelog; make it writable",
                    folder.display()
                ),
            ),
        }
    }

    fn topics(&mut self, counts: Counts) {
        let Counts { page_partitions, log_partitions, .. } = counts;
        self.right("topics", format!("{page_partitions} partitions of pages, {log_partitions} of the log"));
    }

    /// Checks the rights that the brokers grant to this program.
    fn rights(&mut self, config: &KafkaConfig, roles: Roles) {
        let before = self.0.len();
        if let Err(error) = self.rights_on_topics(config, roles) {
            self.refused("rights", StepError::with_causes(&error));
        }
        let groups = [
            (roles.fingerprint, client::fingerprint_group(config), &config.topics.pages),
            (roles.cluster, client::cluster_group(config), &config.topics.fingerprints),
        ];
        for (_, group, topic) in groups.iter().filter(|(wanted, ..)| *wanted) {
            if let Err(error) = rights::read_offsets(config, group, topic) {
                self.refused(
                    "rights",
                    format!(
                        "consumer group {group}: {}; grant this user Read",
                        StepError::with_causes(&error)
                    ),
                );
            }
        }
        if roles.cluster
            && let Err(problem) = rights::begin_transactions(config)
        {
            self.refused("rights", problem);
        }
        if self.0.len() == before {
            self.right("rights", "topics, consumer groups and transactional ids may be used");
        }
    }

    fn rights_on_topics(&mut self, config: &KafkaConfig, roles: Roles) -> Result<()> {
        use Operation::{Delete, Describe, DescribeConfigs, Read, Write};
        let topics = &config.topics;
        let mut needed: Vec<(&str, Vec<Operation>)> = Vec::new();
        if roles.fingerprint {
            needed.push((&topics.pages, vec![Read, Describe, DescribeConfigs]));
        }
        needed.push((&topics.fingerprints, vec![Read, Write, Describe, DescribeConfigs]));
        if roles.cluster {
            needed.push((&topics.centroids, vec![Read, Write, Describe, DescribeConfigs, Delete]));
            for output in [&topics.verdicts, &topics.dead_letters] {
                needed.push((output, vec![Read, Write, Describe, DescribeConfigs]));
            }
        } else {
            needed.push((&topics.centroids, vec![Read, Describe, DescribeConfigs]));
        }
        let names: Vec<&str> = needed.iter().map(|(topic, _)| *topic).collect();
        for ((topic, wanted), allowed) in needed.iter().zip(rights::on_topics(config, &names)?) {
            let lacks = allowed.lacks(wanted);
            // Without the right to delete, the changelog only grows.
            let (deletes, lacks): (Vec<_>, Vec<_>) = lacks.into_iter().partition(|lack| *lack == Delete);
            if !lacks.is_empty() {
                self.refused("rights", format!("topic {topic}: this user lacks {lacks:?}; grant them"));
            }
            if !deletes.is_empty() {
                let text = format!(
                    "topic {topic}: this user lacks Delete, so expired records are never deleted; grant it"
                );
                self.add(Grade::Warning, "rights", text);
            }
        }
        Ok(())
    }

    /// Checks if the tables were made with these settings.
    fn tables(&mut self, config: &Config, stage: &FingerprintStage, log_partitions: u32, accepted: Accepted) {
        let compared = TopicWatch::new(&config.kafka)
            .and_then(|topics| startup::refuse_another(config, stage, &topics, log_partitions, accepted));
        match compared {
            Ok(()) => self.right("tables", "made with these settings, or not created yet"),
            Err(error) => self.refused("tables", StepError::with_causes(&error)),
        }
    }
}
