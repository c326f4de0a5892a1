//! `leitong config example | check | docs`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::settings::{self, Wrong};
use crate::config::describe;
use crate::pipeline::fingerprint_half::FingerprintHalf;
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
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Example => print!("{}", describe::example()),
        Action::Docs => print!("{}", describe::markdown()),
        Action::Metrics => print!("{}", metrics::markdown()),
        Action::Check { file } => {
            let config = settings::config(Some(file), None, None)?;
            let half = FingerprintHalf::new(config).map_err(Wrong::from)?;
            println!(
                "{}: right; detector {}, fingerprint_hash {:016x}",
                file.display(),
                half.detector().name(),
                half.fingerprint_hash()
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}
