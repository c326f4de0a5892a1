//! `leitong table compact`: removes expired centroids from a table, and merges its runs of keys.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::there_is_no_table;
use crate::cli::files::documents;
use crate::cli::settings::{self, Wrong};
use leitong_pipeline::FingerprintStage;
use leitong_store::snapshot::{Compacted, TableDir};

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  leitong table compact --config leitong.toml state")]
pub(super) struct Arguments {
    /// Configuration file with the settings that the table was made with; `expiry` determines what has
    /// expired
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Detector that the table was made with, instead of the configured one
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
    /// Folder of the table
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { config, detector, folder } = arguments;
    let mut config = settings::config(config.as_deref(), detector.as_deref(), None)?;
    // The table itself tells whether its centroids are on disk.
    let no_table = || there_is_no_table(folder);
    config.table.on_disk = TableDir::has_blocks(folder)?.with_context(no_table)?;
    let stage = FingerprintStage::new(config.clone()).map_err(Wrong::from)?;
    let settings = config.table_settings(stage.detector(), stage.fingerprint_hash());
    let compacted = TableDir::open(folder)?.compact(&settings)?.with_context(no_table)?;
    documents::print(&text(compacted))
}

fn text(Compacted { centroids, runs, bytes }: Compacted) -> String {
    let runs = match runs {
        (0, _) => String::new(),
        (before, after) => format!("; {before} run(s) of keys merged into {after}"),
    };
    format!(
        "{} centroids, {} expired ones removed{runs}; {} bytes on disk, {} before\n",
        centroids.1,
        centroids.0 - centroids.1,
        bytes.1,
        bytes.0
    )
}
