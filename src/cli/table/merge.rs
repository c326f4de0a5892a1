//! `leitong table merge`: combines tables that were built independently.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::unfinished::{self, NewTable};
use crate::cli::files::documents;
use crate::cli::files::parts::{Overwrite, Parts};
use crate::cli::settings::{self, Wrong, wrong};
use leitong_cluster::{ClusterId, Merged};
use leitong_keep::sink::WholeLines;
use leitong_pipeline::FingerprintStage;
use leitong_store::snapshot::{Merge, TableDir, TableSettings};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folder of the merged table, which must not exist yet
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// File that lists the new id of each cluster, one JSON object per line: `table`, `cluster_id`,
    /// `merged_cluster_id`, and whether it `joined` another cluster
    #[arg(long, value_name = "FILE")]
    clusters: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Configuration file with the settings that the tables were made with
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Detector that the tables were made with, instead of the configured one
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
    /// Folders of the tables, oldest pages first
    #[arg(value_name = "DIR", required = true, num_args = 2..)]
    tables: Vec<PathBuf>,
}

/// A cluster and its id in the merged table, one line of `--clusters`.
#[derive(Debug, Serialize)]
struct MergedCluster<'a> {
    table: &'a str,
    cluster_id: ClusterId,
    merged_cluster_id: ClusterId,
    joined: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { output, clusters, tables, .. } = arguments;
    let config = settings::config(arguments.config.as_deref(), arguments.detector.as_deref(), None)?;
    let parts = check(tables, output, clusters.as_ref(), arguments.overwrite)?;
    let stage = FingerprintStage::new(config.clone()).map_err(Wrong::from)?;
    let settings = config.table_settings(stage.detector(), stage.fingerprint_hash());
    // The locks keep other processes from changing the tables.
    let _locks = tables.iter().map(|folder| TableDir::open(folder)).collect::<Result<Vec<_>, _>>()?;
    let cannot_write =
        || format!("cannot write --clusters {}", clusters.as_deref().unwrap_or(output).display());
    let mut lines = clusters.as_deref().map(WholeLines::create).transpose().with_context(cannot_write)?;
    let mut failed = None;

    let table = NewTable::begin(output)?;
    let (count, joined) = merge(tables, table.path(), &settings, |table, cluster_id, merged| {
        let Merged { cluster_id: merged_cluster_id, joined, .. } = merged;
        let table = &*table.to_string_lossy();
        if let (Some(lines), None) = (&mut lines, &failed) {
            let line = MergedCluster { table, cluster_id, merged_cluster_id, joined };
            failed = lines.push(&line).err();
        }
    })?;
    let flushed = lines.as_mut().map_or(Ok(()), WholeLines::flush);
    failed.map_or(flushed, Err).with_context(cannot_write)?;
    // Without its list of ids, the table would be of little use.
    parts.finish()?;
    table.finish()?;
    documents::print(&format!(
        "{count} centroids from {} tables; {joined} clusters of later tables joined those of earlier ones\n",
        tables.len()
    ))
}

/// Merges the tables into one in the folder `unfinished`, and calls `take` with each cluster. Returns the number of its centroids, and of
/// clusters that joined another one.
fn merge(
    tables: &[PathBuf],
    unfinished: &Path,
    settings: &TableSettings,
    mut take: impl FnMut(&Path, ClusterId, Merged),
) -> anyhow::Result<(usize, u64)> {
    let dir = TableDir::open(unfinished)?;
    let mut merge = Merge::into_empty(&dir, settings)?;
    let mut joined = 0;
    for folder in tables {
        merge.take_in(folder, |cluster_id, merged| {
            joined += u64::from(merged.joined);
            take(folder, cluster_id, merged);
        })?;
    }
    let count = merge.save(&dir).context("cannot save the merged table (--output)")?;
    Ok((count, joined))
}

/// Rejects arguments that cannot work, before anything is written. Takes over the file of `--clusters`.
fn check(
    tables: &[PathBuf],
    output: &Path,
    clusters: Option<&PathBuf>,
    overwrite: Overwrite,
) -> anyhow::Result<Parts> {
    let mut seen: Vec<PathBuf> = Vec::with_capacity(tables.len());
    for folder in tables {
        let path = folder.canonicalize().with_context(|| folder.display().to_string())?;
        if seen.contains(&path) {
            return Err(wrong(format_args!("{}: is named twice; name each table once", folder.display())));
        }
        seen.push(path);
    }
    let folders: Vec<&Path> = tables.iter().map(PathBuf::as_path).chain([output]).collect();
    unfinished::is_free(output)?;
    let clusters: Vec<_> = clusters.iter().map(|path| ("--clusters", path.to_path_buf())).collect();
    Parts::begin_checked(&clusters, &[], &folders, overwrite)
}
