//! `leitong topics create`: sets up the worker's topics.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::files::documents;
use crate::cli::settings;
use leitong_kafka::{CALL_TIMEOUT, Topics};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create missing topics, then check all topics
    #[command(after_help = "\
    Example:
  leitong topics create --config leitong.toml")]
    Create {
        /// Configuration file
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Action::Create { config } = &arguments.action;
    let config = settings::kafka_config(config.as_deref())?.kafka;
    let topics = Topics::new(&config)?;
    for name in topics.create()? {
        documents::print(&format!("created topic {name}\n"))?;
    }
    // Brokers may not have heard yet of topics that were created a moment ago.
    let (differences, counts) = topics.check(CALL_TIMEOUT)?;
    for difference in &differences {
        documents::print(&format!("{difference}\n"))?;
    }
    if differences.is_empty() {
        documents::print(&format!(
            "all topics have the right settings; the log has {} partition(s)\n",
            counts.log_partitions
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}
