//! `leitong config example | check | docs`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, Subcommand};

use super::settings::{self, Wrong, detector_fault, wrong};
use super::{documents, reference};
use crate::config::{Config, describe, load};
#[cfg(feature = "kafka")]
use crate::kafka::client;
use crate::pipeline::fingerprint_stage::FingerprintStage;
use crate::telemetry::metrics;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print a configuration file with every key at its default
    Example,
    /// Check a configuration file, and the files it names
    Check {
        /// The file
        file: PathBuf,
    },
    /// Print the reference of all keys as Markdown
    #[command(hide = true)]
    Docs,
    /// Print the reference of the worker's metrics as Markdown
    #[command(hide = true)]
    Metrics,
    /// Print the reference of all commands as Markdown
    #[command(hide = true)]
    Commands,
}

pub(super) fn run(arguments: &Arguments, program: Command) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Example => documents::print(&describe::example())?,
        Action::Docs => documents::print(&describe::markdown())?,
        Action::Metrics => documents::print(&metrics::markdown())?,
        Action::Commands => documents::print(&reference::markdown(program))?,
        Action::Check { file } => {
            let config = settings::config(Some(file), None, None)?;
            let unfit = for_the_worker(file, &config)?;
            let stage = FingerprintStage::new(config).map_err(Wrong::from)?;
            documents::print(&format!(
                "{}: right{}; detector {}, fingerprint_hash {:016x}\n",
                file.display(),
                if unfit { ", but not for `leitong run`" } else { "" },
                stage.detector().name(),
                stage.fingerprint_hash()
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The properties under `[kafka.properties]` that librdkafka refuses, a message each.
#[cfg(feature = "kafka")]
fn properties_refused(config: &Config) -> Vec<String> {
    client::faults(&config.kafka).iter().map(ToString::to_string).collect()
}

/// Nothing is refused where there is no librdkafka to ask.
#[cfg(not(feature = "kafka"))]
fn properties_refused(_: &Config) -> Vec<String> {
    Vec::new()
}

/// Refuses what `leitong run` would refuse, if the file is for it: a
/// detector for comparison is right for all other commands, so with one and
/// without a table `kafka` it is only said that the worker does not take it.
fn for_the_worker(file: &Path, config: &Config) -> anyhow::Result<bool> {
    let text = std::fs::read_to_string(file)?;
    let mut faults = properties_refused(config);
    let detector = detector_fault(config);
    let unfit = detector.is_some();
    if load::line_of_key(&text, "kafka").is_some() {
        faults.splice(0..0, detector);
        let folder = config.kafka.snapshots.dir.as_deref();
        faults.extend(config.table.fault_of_worker(folder).map(str::to_owned));
    }
    if faults.is_empty() {
        return Ok(unfit);
    }
    let lines = faults.iter().map(|fault| {
        let line = load::line_of_key(&text, load::key_of(fault));
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        format!("{}: {line}{fault}", file.display())
    });
    Err(wrong(lines.collect::<Vec<_>>().join("\n")))
}
