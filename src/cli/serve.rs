//! `leitong serve`: the HTTP API over a table, without a broker.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::settings::{DecisionArguments, Wrong, wrong};
use crate::api::core::Core;
use crate::api::server::ApiPort;
use crate::api::store::{Found, Store};
use crate::api::token::Token;
use crate::config::Config;
use crate::pipeline::cpu::thread_count;
use crate::pipeline::fingerprint_stage::FingerprintStage;
use crate::snapshot::{TableDir, TableSettings};
use crate::telemetry::{metrics, terminal};

/// How often the recorder of metrics tidies up.
const UPKEEP: Duration = Duration::from_secs(5);
/// Threads that serve sockets; pages are worked on by others.
const SOCKET_THREADS_MAX: usize = 4;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folder of the centroid table, made where it is missing; `leitong dedup --table` reads and
    /// writes the same, while this does not run
    #[arg(long, value_name = "DIR")]
    table: PathBuf,
    /// Where to serve, in place of api.address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    #[command(flatten)]
    decision: DecisionArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = configuration(arguments)?;
    let token = Token::of(&config.api).map_err(wrong)?;
    let stage = Arc::new(FingerprintStage::new(config.clone()).map_err(Wrong::from)?);
    let settings = TableSettings::of(&config, stage.detector(), stage.fingerprint_hash());
    let folder = TableDir::open_beside_journal(&arguments.table)?;
    let (store, committer, found) = Store::open(folder, settings, &config)?;
    tell(found);
    // Pages of the journal were counted by the run that answered them.
    let metrics = metrics::install()?;
    metrics::begin_serving();
    let core = Core::new(&config, stage, store).map_err(Wrong::from)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(thread_count(0).min(SOCKET_THREADS_MAX))
        .enable_all()
        .build()
        .context("cannot start threads")?;
    runtime.block_on(async {
        let (stop, stopped) = watch::channel(false);
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to SIGINT")?;
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            terminal::note("stopping: answering what is in flight, and saving the table");
            // Nobody listens any more where the server has ended by itself.
            let _ = stop.send(true);
        });
        let port = ApiPort::bind(config.api.address_of_serve()).await?;
        if token.is_none() && !port.address().ip().is_loopback() {
            tracing::warn!(
                "without a token (api.token_env, api.token_file), whoever reaches this port may use it"
            );
        }
        terminal::note(format_args!("serving http://{}", port.address()));
        let upkeep = metrics.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP).await;
                upkeep.run_upkeep();
            }
        });
        port.serve(&config, core, Some(committer), token, Some(metrics), stopped).await
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The settings of this run.
fn configuration(arguments: &Arguments) -> anyhow::Result<Config> {
    let mut config = arguments
        .decision
        .config("requests have none; send pages as text/html with ?url=…, which needs no preset")?;
    if let Some(address) = &arguments.address {
        config.api.address.clone_from(address);
        if let Some(fault) = config.api.fault() {
            return Err(wrong(fault.replacen("api.address =", "--address", 1)));
        }
    }
    Ok(config)
}

fn tell(found: Found) {
    let Found { replayed, torn } = found;
    if replayed > 0 {
        terminal::note(format_args!(
            "the last run did not end in order: {replayed} page(s) of its journal are back in the table"
        ));
    }
    if let Some(torn) = torn {
        terminal::note(format_args!(
            "the journal broke off in the midst of a write: {} byte(s) are cut off its end, of pages that were not answered",
            torn.bytes
        ));
    }
}
