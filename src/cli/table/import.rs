//! `leitong table import`: makes a table from the JSON lines that `leitong table export --all` has printed.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::unfinished::NewTable;
use crate::cli::files::documents;
use crate::cli::settings::{self, Wrong};
use leitong_formats::source::Input;
use leitong_pipeline::FingerprintStage;
use leitong_store::snapshot::TableDir;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folder of the new table, which must not exist yet
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Configuration file with the settings that the table was made with; `table.on_disk` may differ
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Detector that the table was made with, instead of the configured one
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
    /// File of JSON lines; `-` for standard input
    #[arg(value_name = "FILE")]
    lines: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { output, config, detector, lines } = arguments;
    let config = settings::config(config.as_deref(), detector.as_deref(), None)?;
    let stage = FingerprintStage::new(config.clone()).map_err(Wrong::from)?;
    let settings = config.table_settings(stage.detector(), stage.fingerprint_hash());
    let input = Input::open(lines).and_then(Input::into_reader);
    let input = input.with_context(|| format!("cannot read {}", lines.display()))?;
    let table = NewTable::begin(output)?;
    let count = TableDir::import(input, lines, table.path(), &settings)
        .with_context(|| format!("cannot import a table (--output {})", output.display()))?;
    table.finish()?;
    documents::print(&format!("{count} centroids\n"))
}
