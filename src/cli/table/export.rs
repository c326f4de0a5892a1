//! `leitong table export`: prints a saved table as lines of JSON.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::cli::files::documents::create;
use crate::cli::files::parts::Overwrite;
use crate::cli::files::parts::Parts;
use leitong_store::snapshot::TableDir;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print everything that `import` needs: also the table's position first, and the crawled urls and the
    /// texts of duplicates last
    #[arg(long)]
    all: bool,
    /// Print instead the number of documents in each cluster, to be joined to the outputs of earlier runs. They are
    /// counted if `dedup` runs with --cluster-sizes
    #[arg(long, conflicts_with = "all")]
    sizes: bool,
    /// File to write to [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Folder of the table
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { all, sizes, output, overwrite, folder } = arguments;
    let output = output.as_deref().unwrap_or(Path::new("-"));
    let parts = Parts::begin_checked(&[("--output", output.to_owned())], &[], &[folder], *overwrite)?;
    if *sizes {
        return super::sizes::run(output, parts, folder);
    }
    // Finds damage before the output is written.
    super::there_is(TableDir::inspect(folder, |_, _| {})?, folder)?;
    let mut lines = create(output)?;
    let mut failed = None;
    let take = |line| {
        if failed.is_none() {
            failed = lines.push(&line).err();
        }
    };
    if *all { TableDir::export(folder, take) } else { TableDir::export_centroids(folder, take) }?;
    failed
        .map_or_else(|| lines.flush(), Err)
        .with_context(|| format!("cannot write {}", output.display()))?;
    parts.finish()
}
