//! `leitong serve`: serves the HTTP API over a table, without a broker.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::runtime::Builder;
use tokio::sync::watch;

use crate::cli::interrupt;
use crate::cli::settings::DecisionArguments;
use crate::cli::settings::Wrong;
use crate::cli::settings::wrong;
use leitong_base::terminal;
use leitong_graph::telemetry::metrics;
use leitong_graph::thread_count;
use leitong_http::api::{ApiPort, Core, Found, Store, Token};
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::Config;
use leitong_store::snapshot::TableDir;

/// Time between two runs of the metrics recorder's upkeep.
const UPKEEP: Duration = Duration::from_secs(5);
/// Limit on threads that serve sockets. Other threads work on pages.
const SOCKET_THREADS_MAX: usize = 4;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  leitong serve --table state
  curl -H 'Content-Type: text/html' --data-binary @page.html 'http://127.0.0.1:8642/v1/pages?url=https://a.example/'")]
pub(crate) struct Arguments {
    /// Folder of the centroid table; it is created if it is missing. `leitong dedup --table` can use the same
    /// folder while the server is stopped
    #[arg(long, value_name = "DIR")]
    table: PathBuf,
    /// Address to serve on, instead of api.address; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    #[command(flatten)]
    decision: DecisionArguments,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = configuration(arguments)?;
    let token = Token::from_config(&config.api).map_err(wrong)?;
    let stage = Arc::new(FingerprintStage::new(config.clone()).map_err(Wrong::from)?);
    let settings = config.table_settings(stage.detector(), stage.fingerprint_hash());
    let folder = TableDir::open_beside_journal(&arguments.table)?;
    let (store, committer, found) = Store::open(folder, settings, &config)?;
    report_found(found);
    // Counting starts only now, because the run that answered the pages of the journal has already counted
    // them.
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
        let signalled = interrupt::signalled()?;
        tokio::spawn(async move {
            signalled.await;
            terminal::note("stopping: answering requests in flight, then saving the table");
            // The receiver is gone if the server has already ended.
            let _ = stop.send(true);
        });
        let port = ApiPort::bind(config.api.address_of_serve()).await?;
        if token.is_none() && !port.address().ip().is_loopback() {
            tracing::warn!(
                "anybody who can reach this port can use the API, since no token is set; set api.token_env or api.token_file"
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
        port.serve(&config, core, Some((committer, metrics)), token, stopped).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Returns the settings of this run.
fn configuration(arguments: &Arguments) -> anyhow::Result<Config> {
    let mut config = arguments
        .decision
        .config("requests have no keys; send pages as text/html with ?url=…, which needs no preset")?;
    if let Some(address) = &arguments.address {
        config.api.address.clone_from(address);
        if let Some(fault) = config.api.fault() {
            return Err(wrong(fault.replacen("api.address =", "--address", 1)));
        }
    }
    Ok(config)
}

fn report_found(found: Found) {
    let Found { replayed, torn } = found;
    if replayed > 0 {
        terminal::note(format_args!(
            "the last run did not shut down cleanly; {replayed} page(s) were restored from its journal"
        ));
    }
    if let Some(torn) = torn {
        terminal::note(format_args!(
            "the journal ended in an incomplete write; {} byte(s) from byte {} on were moved to {}. They \
             belong to pages that were not answered yet, unless the disk damaged the file; delete them if a kill or a power \
             failure explains this",
            torn.bytes,
            torn.at,
            torn.moved_to.display()
        ));
    }
}
