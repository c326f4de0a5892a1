//! `leitong topics create | check`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{documents, settings};
use crate::kafka::topics::Topics;

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
    let config = settings::kafka_config(config.as_deref())?.kafka;
    let topics = Topics::new(&config)?;
    if matches!(arguments.action, Action::Create { .. }) {
        for name in topics.create()? {
            documents::print(&format!("made topic {name}\n"))?;
        }
    }
    let (differences, counts) = topics.check()?;
    for difference in &differences {
        documents::print(&format!("{difference}\n"))?;
    }
    if differences.is_empty() {
        documents::print(&format!(
            "all topics are right; the log has {} partition(s)\n",
            counts.log_partitions
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}
