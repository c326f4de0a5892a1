//! The Kafka worker: both halves, or one, until it is told to stop.
//!
//! ```text
//!              fingerprint half (fingerprint.rs)               cluster half (cluster.rs)
//!  pages ──► poll thread ─► CPU tasks ─► send thread ──► log ──► owner thread a partition (owner.rs)
//!  topic       commits what is delivered ◄──┘                     restore ─► batch ─► transaction
//! ```
//! Beside them, if configured: a thread that makes local snapshots (snapshots.rs), one that follows the tables of others
//! (standby.rs); an owner's table comes from the nearest of these (restore/). Threads that talk to brokers are plain threads:
//! those calls block. Each half runs until the stop flag is up or something is refused; whatever may pass is tried again.

mod batch;
pub mod cluster;
mod corpus;
pub mod fingerprint;
mod owner;
pub mod replay;
mod restore;
mod snapshots;
mod standby;
pub mod stop;
mod writer;

use std::sync::Arc;
use std::thread;

use anyhow::bail;
use metrics_exporter_prometheus::PrometheusBuilder;

use crate::config::Config;
use crate::pipeline::fingerprint_half::FingerprintHalf;
use crate::pipeline::kafka::topics::Topics;
use crate::telemetry::admin::AdminPort;
use crate::telemetry::health::Health;
use crate::telemetry::metrics;
use stop::Stop;

/// Which halves run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// Left of the log.
    pub fingerprint: bool,
    /// Right of it.
    pub cluster: bool,
}

/// What an operator accepts explicitly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Settings of clustering that may replace those the table was made with.
    pub cluster_hash: Option<u64>,
    /// To go on behind records of the log that retention has deleted.
    pub lost_records: bool,
    /// Other settings of `corpus.*`: no page is in flight.
    pub corpus_change: bool,
}

/// Runs the worker until it is told to stop.
///
/// # Errors
/// What is refused, and what cannot be gone on from.
pub fn run(config: Config, roles: Roles, accepted: Accepted) -> anyhow::Result<()> {
    let stop = Stop::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("leitong-admin")
        .enable_all()
        .build()?;
    // First of all: dictionaries take a while to load, and a signal before this ends the process as it stands.
    stop::on_signals(&runtime, &stop)?;
    let half = Arc::new(FingerprintHalf::new(config.clone())?);
    let config = Arc::new(config);
    let health = Arc::new(Health::default());
    // Before anybody can ask: not ready until they say so.
    let watch_fingerprint = roles.fingerprint.then(|| health.add("fingerprint"));
    let watch_cluster = roles.cluster.then(|| health.add("cluster"));
    serve_admin_port(&runtime, &config.admin.address, &health)?;

    let log_partitions = checked_topics(&config)?;
    if !accepted.corpus_change {
        corpus::refuse_another(&config, log_partitions)?;
    }
    tracing::info!(
        app = config.kafka.app,
        fingerprint_hash = format!("{:016x}", half.fingerprint_hash()),
        log_partitions,
        ?roles,
        "worker starts"
    );
    thread::scope(|scope| {
        let left = watch_fingerprint.map(|watch| {
            let (config, half, stop) = (&config, &half, &stop);
            scope.spawn(move || {
                let result = fingerprint::run(config, half, log_partitions, &watch, stop);
                // One half alone is not what the operator asked for.
                stop.request();
                result
            })
        });
        let right = watch_cluster.map(|watch| {
            let (config, half, stop) = (&config, &half, &stop);
            scope.spawn(move || {
                let result = cluster::run(config, half, log_partitions, accepted, &watch, stop);
                stop.request();
                result
            })
        });
        for half in [left, right].into_iter().flatten() {
            half.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(())
    })
}

fn serve_admin_port(
    runtime: &tokio::runtime::Runtime,
    address: &str,
    health: &Arc<Health>,
) -> anyhow::Result<()> {
    let recorder = PrometheusBuilder::new().set_buckets(metrics::SECONDS)?.install_recorder()?;
    metrics::describe();
    let upkeep = recorder.clone();
    runtime.spawn(async move {
        loop {
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            upkeep.run_upkeep();
        }
    });
    if !address.is_empty() {
        let port = runtime.block_on(AdminPort::bind(address))?;
        tracing::info!("admin port: http://{}", port.address());
        runtime.spawn(port.serve(Arc::clone(health), recorder));
    }
    Ok(())
}

/// Partitions of the log, once all topics are what they must be.
fn checked_topics(config: &Config) -> anyhow::Result<u32> {
    let (differences, counts) = Topics::new(&config.kafka)?.check()?;
    if differences.is_empty() {
        return Ok(counts.log_partitions);
    }
    let list: Vec<String> = differences.iter().map(ToString::to_string).collect();
    bail!("the topics are not what they must be:\n{}", list.join("\n"))
}
