//! `leitong topics create | migrate`: sets up the worker's topics.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::files::documents;
use crate::cli::settings;
use leitong_kafka::CALL_TIMEOUT;
use leitong_kafka::{HEARD_WITHIN, Topics};

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
    /// Change the settings of a changelog topic from an older version in one request: no compaction, and no
    /// retention limit. Then check all topics
    #[command(after_help = "\
    Example:
  leitong topics migrate --config leitong.toml")]
    Migrate {
        /// Configuration file
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (Action::Create { config } | Action::Migrate { config }) = &arguments.action;
    let config = settings::kafka_config(config.as_deref())?.kafka;
    let topics = Topics::new(&config)?;
    let heard_within = match arguments.action {
        Action::Create { .. } => {
            for name in topics.create()? {
                documents::print(&format!("created topic {name}\n"))?;
            }
            // Brokers may not have heard yet of topics that were created a moment ago.
            CALL_TIMEOUT
        }
        Action::Migrate { .. } => {
            let what = if topics.migrate()? { "was migrated" } else { "needs no migration" };
            documents::print(&format!("topic {} {what}\n", config.topics.centroids))?;
            HEARD_WITHIN
        }
    };
    let (differences, counts) = topics.check(heard_within)?;
    if counts.compacted_changelog {
        documents::print(&format!(
            "topic {} is still compacted, as in older versions; owners of its partitions will change that, \
             or run `leitong topics migrate`\n",
            config.topics.centroids
        ))?;
    }
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
