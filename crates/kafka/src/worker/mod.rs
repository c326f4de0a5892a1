//! The Kafka worker: runs one or both stages until it is stopped.
//!
//! ```text
//!              fingerprint stage (fingerprint.rs)               cluster stage (cluster.rs)
//!  pages ──► read ─► fingerprint ─► deliver ──► log ──► owner thread per partition (owner/)
//!  topic     (page_topic.rs) commits what is delivered     restore ─► batch ─► transaction
//! ```
//! Other threads check the topics (topic_check.rs), let brokers delete expired records of the changelog (deletion.rs)
//! and, if configured, make local snapshots (snapshots.rs) or follow the tables of other owners (standby.rs). An owner
//! restores its table from the fastest of these sources (restore/). A table on disk is its own snapshot (disk.rs). The
//! tables of owners and standbys are in one registry (registry.rs). If configured, tables can be looked up over HTTP
//! (api.rs, tables.rs), and pages are traced. Threads that talk to brokers are plain threads, because those calls
//! block. Each stage runs until the stop flag is raised, or until it refuses its configuration or topics. Transient
//! errors are retried.
//!
//! To follow a partition to its next owner, read cluster.rs (it is assigned) → owner/mod.rs, which names the next
//! files.

mod api;
pub(crate) mod check;
pub(crate) mod cluster;
pub(crate) mod deletion;
pub(crate) mod disk;
pub(crate) mod fingerprint;
mod kafka_world;
pub(crate) mod log_partition;
pub(crate) mod owner;
mod page_topic;
pub(crate) mod ports;
mod positions;
pub(crate) mod registry;
pub(crate) mod replay;
mod replica;
pub(crate) mod resources;
mod restore;
pub(crate) mod role;
pub(crate) mod snapshots;
pub(crate) mod standby;
mod startup;
pub(crate) mod stop;
pub(crate) mod tables;
mod topic_check;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use self::fingerprint::PageSessions;
use crate::kafka::client;
use crate::kafka::error::{Result, refused};
use crate::kafka::identity::TopicWatch;
use crate::kafka::topics::{Counts, HEARD_WITHIN, Topics};
use leitong_base::error::Context;
use leitong_graph::telemetry::health::Health;
use leitong_graph::telemetry::metrics;
use leitong_graph::telemetry::traces;
use leitong_http::MOMENT_S;
use leitong_http::admin::AdminPort;
use leitong_http::admin::AdminState;
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::Config;
use leitong_pipeline::config::KafkaConfig;
use leitong_pipeline::config::admin::AdminConfig;
use leitong_pipeline::config::load::ConfigError;
use leitong_pipeline::config::traces::Settings as TraceSettings;
use leitong_pipeline::templates;
use stop::Stop;

/// The stages to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// True to run the fingerprint stage, before the log.
    pub fingerprint: bool,
    /// True to run the cluster stage, after the log.
    pub cluster: bool,
}

/// Changes that an operator explicitly accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Hash of clustering settings that may replace those that the table was made with.
    pub cluster_hash: Option<u64>,
    /// True to continue after records of the log that retention has deleted.
    pub lost_records: bool,
    /// True to accept other settings of `corpus.*`. No page may be in flight.
    pub corpus_change: bool,
}

/// Runs the worker until it is stopped.
///
/// # Errors
/// The worker refuses its configuration or topics, or an error occurs that cannot be retried.
pub fn run(config: Config, roles: Roles, accepted: Accepted) -> Result<()> {
    let stop = Stop::new();
    let runtime = admin_runtime()?;
    // Done first, because dictionaries take a while to load, and a signal before this would kill the process.
    stop::on_signals(&runtime, &stop)?;
    let traced = trace_settings(&config)?;
    let stage = Arc::new(FingerprintStage::new(config.clone())?);
    let config = Arc::new(config);
    let health = Arc::new(Health::default());
    // Registered before the admin port is served: the stages are not ready until they report it.
    let watch_fingerprint = roles.fingerprint.then(|| health.add("fingerprint"));
    let watch_cluster = roles.cluster.then(|| health.add("cluster"));
    serve_admin_port(&runtime, &config.admin, &health)?;
    if !config.api.address.is_empty() && !roles.cluster {
        tracing::warn!("api.address: look-ups are not served, since only the cluster role has tables");
    }
    templates::begin();
    let exporting = traced.map(|settings| traces::begin(&runtime, settings, trace_names(&config.kafka)));

    let log_partitions = check_surroundings(&config, roles)?;
    let topics = TopicWatch::new(&config.kafka).context("cannot request the ids of topics")?;
    startup::refuse_another(&config, &stage, &topics, log_partitions, accepted)?;
    tracing::info!(
        app = config.kafka.app,
        fingerprint_hash = format!("{:016x}", stage.fingerprint_hash()),
        log_partitions,
        ?roles,
        "worker starts"
    );
    let topics = &Arc::new(topics);
    let (config, stage, stop) = (&config, &stage, &stop);
    let result = thread::scope(|scope| -> Result<()> {
        scope.spawn(|| topics.run(|time| stop.wait(time)));
        scope.spawn(|| topic_check::run(&config.kafka, stop));
        let fingerprint = watch_fingerprint.map(|watch| {
            let stage_of_worker = move || {
                let health = &watch;
                PageSessions { config, stage, log_partitions, topics, health, stop }.run()
            };
            scope.spawn(move || stop_after(stop, stage_of_worker))
        });
        let cluster = watch_cluster.map(|watch| {
            let stage_of_worker =
                move || cluster::run(config, stage, log_partitions, accepted, topics, &watch, stop);
            scope.spawn(move || stop_after(stop, stage_of_worker))
        });
        for stage in [fingerprint, cluster].into_iter().flatten() {
            stage.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(())
    });
    if let Some(exporting) = exporting {
        exporting.end(&runtime);
    }
    result
}

/// Creates the runtime of signals, admin port and traces.
fn admin_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("leitong-admin")
        .enable_all()
        .build()
}

/// Checks the topics, and warns if the machine may be too small for the configuration. Returns the number of
/// the log's partitions.
fn check_surroundings(config: &Config, roles: Roles) -> Result<u32> {
    let counts = checked_topics(config)?;
    let log_partitions = counts.log_partitions;
    let surroundings = resources::Surroundings { roles, counts };
    for warning in resources::warnings(config, surroundings, resources::Limits::read()) {
        tracing::warn!("{warning}");
    }
    metrics::LOG_PARTITIONS.set(f64::from(log_partitions));
    Ok(log_partitions)
}

/// Returns the settings of tracing, from configuration and environment.
fn trace_settings(config: &Config) -> Result<Option<TraceSettings>> {
    let settings = config.traces.settings(|name| std::env::var(name).ok());
    settings.map_err(|fault| ConfigError::Faults { faults: vec![fault] }.into())
}

fn trace_names(config: &KafkaConfig) -> traces::Names {
    traces::Names {
        log: config.topics.fingerprints.clone(),
        verdicts: config.topics.verdicts.clone(),
        dead_letters: config.topics.dead_letters.clone(),
        pages_group: client::fingerprint_group(config),
        log_group: client::cluster_group(config),
    }
}

/// Runs a stage, and then stops the other one, because an operator requested both.
fn stop_after(stop: &Stop, stage: impl FnOnce() -> Result<()>) -> Result<()> {
    let result = stage();
    stop.request();
    result
}

fn serve_admin_port(
    runtime: &tokio::runtime::Runtime,
    config: &AdminConfig,
    health: &Arc<Health>,
) -> Result<()> {
    let recorder = metrics::install()?;
    metrics::begin();
    let upkeep = recorder.clone();
    let mut state = None;
    if !config.address.is_empty() {
        let port = runtime.block_on(AdminPort::bind(&config.address))?;
        let address = port.address();
        tracing::info!("admin port: http://{address}");
        let is_loopback = address.ip().is_loopback();
        let served = Arc::new(AdminState::begin(Arc::clone(health), recorder, is_loopback));
        runtime.spawn(port.serve(Arc::clone(&served)));
        state = Some(served);
    }
    runtime.spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(MOMENT_S.into())).await;
            upkeep.run_upkeep();
            if let Some(state) = &state {
                state.tick();
            }
        }
    });
    Ok(())
}

/// Checks the topics. Returns the numbers of partitions and brokers.
fn checked_topics(config: &Config) -> Result<Counts> {
    let (differences, counts) = Topics::new(&config.kafka)?.check(HEARD_WITHIN)?;
    if differences.is_empty() {
        return Ok(counts);
    }
    let list: Vec<String> = differences.iter().map(ToString::to_string).collect();
    Err(refused!("some topics are not configured as required:\n{}", list.join("\n")))
}
