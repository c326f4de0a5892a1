//! `leitong table info | export | import | compact | merge`: work on tables that `dedup --table` or
//! `serve` has saved.

mod compact;
mod export;
mod import;
mod merge;
mod sizes;
mod unfinished;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::files::documents;
use leitong_base::proto;
use leitong_base::record::Timestamp;
use leitong_store::snapshot::TableDir;

/// Maximum number of corpora that `info` lists by name.
const CORPORA_MAX: usize = 10;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read a whole table, and print its size, age and settings
    #[command(after_help = INFO_EXAMPLE)]
    Info {
        /// Print the information as JSON
        #[arg(long)]
        json: bool,
        /// Instead, verify all checksums of the table's files, and list damaged files
        #[arg(long, conflicts_with = "json")]
        verify: bool,
        /// Folder of the table
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Print the centroids of a table, oldest first, one JSON object per line
    #[command(after_help = EXPORT_EXAMPLE)]
    Export(export::Arguments),
    /// Create a table from the output of `export --all`. Runs with it give the same verdicts
    #[command(after_help = IMPORT_EXAMPLE)]
    Import(import::Arguments),
    /// Make a table smaller: remove expired centroids and, with `table.on_disk`, merge runs of keys to speed
    /// look-ups up. The table stays intact if the command is killed
    Compact(compact::Arguments),
    /// Merge tables that were built independently. Each cluster of a later table joins a cluster of an
    /// earlier one if they are near, or stays a cluster of its own
    #[command(after_help = MERGE_EXAMPLE)]
    Merge(merge::Arguments),
}

const INFO_EXAMPLE: &str = "Examples:
  leitong table info state
  leitong table info --verify state";
const EXPORT_EXAMPLE: &str = "Examples:
  leitong table export state | jq -r .url
  leitong table export --all --output state.jsonl state
  leitong table export --sizes --output sizes.jsonl state";

const IMPORT_EXAMPLE: &str = "Examples:
  leitong table import --output copy state.jsonl
  zcat state.jsonl.gz | leitong table import --output copy -";

const MERGE_EXAMPLE: &str = "Example:
  leitong table merge --output all --clusters renamed.jsonl monday tuesday";

/// Contents of a table, as `info` prints them.
#[derive(Debug, Default, Serialize)]
struct Info {
    format_version: u32,
    centroids: u64,
    /// Number of centroids in blocks on disk (`table.on_disk`).
    on_disk: u64,
    /// Topic of the other centroids of a worker's table, and the offset from which to read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<String>,
    /// Number of centroids by corpus.
    corpora: BTreeMap<String, u64>,
    /// Detector of the oldest centroid's fingerprint. A table has only one detector.
    detector: Option<String>,
    log_generation: u32,
    log_partition: u32,
    next_log_offset: u64,
    log_time: Option<Timestamp>,
    oldest: Option<Age>,
    newest: Option<Age>,
    fingerprint_hash: String,
    cluster_hash: String,
}

/// The founding of a centroid.
#[derive(Debug, Serialize)]
struct Age {
    log_offset: u64,
    log_time: Option<Timestamp>,
    url: String,
}

impl Age {
    fn from_centroid(centroid: &proto::Centroid) -> Self {
        Self {
            log_offset: centroid.log_offset,
            log_time: centroid.log_time_ms.and_then(Timestamp::from_ms),
            url: centroid.url.clone(),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Info { verify: true, folder, .. } => check(folder)?,
        Action::Info { json, folder, .. } => {
            let info = info(folder)?;
            documents::print(&if *json {
                format!("{}\n", serde_json::to_string(&info)?)
            } else {
                text(&info)
            })?;
        }
        Action::Compact(arguments) => compact::run(arguments)?,
        Action::Merge(arguments) => merge::run(arguments)?,
        Action::Export(arguments) => export::run(arguments)?,
        Action::Import(arguments) => import::run(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn info(folder: &Path) -> anyhow::Result<Info> {
    let mut info = Info::default();
    let position = TableDir::inspect(folder, |position, centroid| {
        info.centroids += 1;
        match info.corpora.get_mut(&centroid.corpus) {
            Some(count) => *count += 1,
            None => _ = info.corpora.insert(centroid.corpus.clone(), 1),
        }
        if info.centroids == 1 {
            info.oldest = Some(Age::from_centroid(&centroid));
            info.detector = centroid.fingerprint.as_ref().map(|fingerprint| fingerprint.detector.clone());
        }
        if info.centroids == TableDir::unexpired(position) {
            info.newest = Some(Age::from_centroid(&centroid));
        }
    })?;
    let position = there_is(position, folder)?;
    let tail = position.blocks.as_ref().and_then(|blocks| blocks.changelog.as_ref());
    Ok(Info {
        rest: tail.map(|tail| format!("topic {}, from offset {} on", tail.topic, tail.offset)),
        format_version: position.format_version,
        on_disk: position.blocks.as_ref().map_or(0, |blocks| blocks.end.saturating_sub(blocks.first)),
        log_generation: position.log_generation,
        log_partition: position.log_partition,
        next_log_offset: position.next_log_offset,
        log_time: position.log_time_ms.and_then(Timestamp::from_ms),
        fingerprint_hash: format!("{:016x}", position.fingerprint_hash),
        cluster_hash: format!("{:016x}", position.cluster_hash),
        ..info
    })
}

fn check(folder: &Path) -> anyhow::Result<()> {
    let (mut bytes, mut damaged) = (0, Vec::new());
    let is_there = TableDir::verify(folder, |_, read| match read {
        Ok(whole) => bytes += whole,
        Err(error) => damaged.push(error.to_string()),
    })?;
    there_is(is_there.then(proto::Position::default), folder)?;
    if !damaged.is_empty() {
        bail!("{}", damaged.join("\n"));
    }
    documents::print(&format!("all checksums match: {bytes} bytes\n"))
}

fn there_is(position: Option<proto::Position>, folder: &Path) -> anyhow::Result<proto::Position> {
    position.with_context(|| there_is_no_table(folder))
}

fn there_is_no_table(folder: &Path) -> String {
    format!("{}: has no table; `leitong dedup --table` creates one", folder.display())
}

fn text(info: &Info) -> String {
    let mut out = String::new();
    let mut line = |what: &str, value: String| {
        let _ = writeln!(out, "{what:<17} {value}");
    };
    line("centroids", info.centroids.to_string());
    if info.on_disk > 0 {
        line("  on disk", info.on_disk.to_string());
    }
    if let Some(rest) = &info.rest {
        line("  newer ones in", rest.clone());
    }
    let mut corpora: Vec<_> = info.corpora.iter().collect();
    corpora.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (corpus, count) in corpora.iter().take(CORPORA_MAX) {
        line("  of corpus", format!("{corpus}: {count}"));
    }
    if corpora.len() > CORPORA_MAX {
        line("", format!("and {} corpora more", corpora.len() - CORPORA_MAX));
    }
    line("detector", info.detector.clone().unwrap_or_else(|| "-".to_owned()));
    for (what, age) in [("oldest", &info.oldest), ("newest", &info.newest)] {
        let Some(age) = age else { continue };
        let time = age.log_time.map_or("no time".to_owned(), |time| time.to_string());
        line(what, format!("{time}, log offset {}, {}", age.log_offset, age.url));
    }
    line("log", format!("generation {:08x}, partition {}", info.log_generation, info.log_partition));
    line("records so far", info.next_log_offset.to_string());
    line("fingerprint_hash", info.fingerprint_hash.clone());
    line("cluster_hash", info.cluster_hash.clone());
    line("file", format!("whole, format {}", info.format_version));
    out
}
