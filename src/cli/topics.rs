//! `leitong topics create | check`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::settings;
use crate::pipeline::kafka::topics::Topics;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make the topics that are not there, then check all of them
    Create {
        /// Configuration file
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Name every setting that differs from what the worker needs; exit status 1 if any does
    Check {
        /// Configuration file
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (Action::Create { config } | Action::Check { config }) = &arguments.action;
    let config = settings::config(config.as_deref(), None, None)?.kafka;
    let topics = Topics::new(&config)?;
    if matches!(arguments.action, Action::Create { .. }) {
        for name in topics.create()? {
            println!("made topic {name}");
        }
    }
    let (differences, counts) = topics.check()?;
    for difference in &differences {
        println!("{difference}");
    }
    if differences.is_empty() {
        println!("all topics are right; the log has {} partition(s)", counts.log_partitions);
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}
