//! `leitong config example | check`, and the hidden subcommands that generate reference pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, Subcommand};

use crate::cli::about::reference;
use crate::cli::files::documents;
use crate::cli::settings::{self, Wrong, wrong};
use leitong_graph::telemetry::metrics;
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::{Config, describe, load};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print a configuration file with every key at its default
    Example,
    /// Check a configuration file and the files that it names
    #[command(after_help = "\
    Example:
  leitong config check leitong.toml")]
    Check {
        /// Configuration file to check
        file: PathBuf,
    },
    /// Print the reference of all keys as Markdown
    #[command(hide = true)]
    Docs,
    /// Print the reference of all settings of detectors as Markdown
    #[command(hide = true)]
    DetectorDocs,
    /// Print the reference of the worker's metrics as Markdown
    #[command(hide = true)]
    Metrics,
    /// Print the reference of all commands as Markdown
    #[command(hide = true)]
    Commands,
}

pub(crate) fn run(arguments: &Arguments, program: Command) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Example => documents::print(&describe::example())?,
        Action::Docs => documents::print(&describe::markdown())?,
        Action::DetectorDocs => documents::print(&describe::detector_markdown())?,
        Action::Metrics => documents::print(&metrics::markdown())?,
        Action::Commands => documents::print(&reference::markdown(program))?,
        Action::Check { file } => {
            let config = settings::config(Some(file), None, None)?;
            check_for_worker(file, &config)?;
            let stage = FingerprintStage::new(config).map_err(Wrong::from)?;
            documents::print(&format!(
                "{}: valid; detector {}, fingerprint_hash {:016x}\n",
                file.display(),
                stage.detector().name(),
                stage.fingerprint_hash()
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a message for each property under `[kafka.properties]` that librdkafka rejects.
#[cfg(feature = "kafka")]
fn properties_refused(config: &Config) -> Vec<String> {
    leitong_kafka::faults(&config.kafka).iter().map(ToString::to_string).collect()
}

/// Returns nothing, since there is no librdkafka to ask.
#[cfg(not(feature = "kafka"))]
fn properties_refused(_: &Config) -> Vec<String> {
    Vec::new()
}

/// Fails if only `leitong run` would refuse the configuration. Settings of the centroid table are checked only
/// if the file has a section `kafka`, and is thus meant for the worker.
fn check_for_worker(file: &Path, config: &Config) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let mut faults = properties_refused(config);
    if load::line_of_key(&text, "kafka").is_some() {
        let folder = config.kafka.snapshots.dir.as_deref();
        faults.extend(config.table.fault_of_worker(folder).map(str::to_owned));
    }
    if faults.is_empty() {
        return Ok(());
    }
    let lines = faults.iter().map(|fault| {
        let line = load::line_of_key(&text, load::key_of(fault));
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        format!("{}: {line}{fault}", file.display())
    });
    Err(wrong(lines.collect::<Vec<_>>().join("\n")))
}
