//! `leitong topics create | check | migrate`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{documents, settings};
use crate::kafka::client::CALL_TIMEOUT;
use crate::kafka::topics::{HEARD_WITHIN, Topics};

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
    /// Have the changelog kept without limits and not compacted, in one request, then check all
    Migrate {
        /// Configuration file
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (Action::Create { config } | Action::Check { config } | Action::Migrate { config }) =
        &arguments.action;
    let config = settings::kafka_config(config.as_deref())?.kafka;
    let topics = Topics::new(&config)?;
    if matches!(arguments.action, Action::Create { .. }) {
        for name in topics.create()? {
            documents::print(&format!("made topic {name}\n"))?;
        }
    }
    if matches!(arguments.action, Action::Migrate { .. }) {
        let what = if topics.migrate()? { "is a queue now" } else { "is a queue already" };
        documents::print(&format!("topic {} {what}\n", config.topics.centroids))?;
    }
    let heard_within = match arguments.action {
        // Some were made a moment ago.
        Action::Create { .. } => CALL_TIMEOUT,
        Action::Check { .. } | Action::Migrate { .. } => HEARD_WITHIN,
    };
    let (differences, counts) = topics.check(heard_within)?;
    if counts.compacted_changelog {
        documents::print(&format!(
            "topic {} is compacted, as older versions of Leitong had it: its owners change that, or `leitong topics \
             migrate` does\n",
            config.topics.centroids
        ))?;
    }
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
