//! `leitong table info | export | import | verify | compact | merge`: tables that `dedup --table` or `serve` has saved.

mod compact;
mod export;
mod import;
mod merge;
mod unfinished;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::documents;
use crate::proto;
use crate::record::timestamp::Timestamp;
use crate::snapshot::{inspect, unexpired, verify};

/// Corpora that are named.
const CORPORA_MAX: usize = 10;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say what the table holds, and whether its files are whole: all centroids are read
    Info {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// The table's folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Print its centroids, oldest first, one JSON object a line
    #[command(after_help = EXPORT_EXAMPLE)]
    Export(export::Arguments),
    /// Make a table of what `export --all` has printed: runs with it give the same verdicts
    #[command(after_help = IMPORT_EXAMPLE)]
    Import(import::Arguments),
    /// Check every checksum of its files, and name those that are damaged
    Verify {
        /// The table's folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Make its files smaller: take out what has expired, and merge its runs of keys (`table.on_disk`) as far as
    /// possible, so that look-ups ask few. A kill leaves a whole table
    Compact(compact::Arguments),
    /// Put tables together that were built apart: each centroid of a later one joins a cluster of those before it,
    /// or stays one
    #[command(after_help = MERGE_EXAMPLE)]
    Merge(merge::Arguments),
}

const EXPORT_EXAMPLE: &str = "Examples:
  leitong table export state | jq -r .url
  leitong table export --all --output state.jsonl state";

const IMPORT_EXAMPLE: &str = "Examples:
  leitong table import --output copy state.jsonl
  zcat state.jsonl.gz | leitong table import --output copy -";

const MERGE_EXAMPLE: &str = "Example:
  leitong table merge --output all --clusters renamed.jsonl monday tuesday";

/// What a table holds.
#[derive(Debug, Default, Serialize)]
struct Info {
    format_version: u32,
    centroids: u64,
    /// Of these, those in blocks on disk (`table.on_disk`).
    on_disk: u64,
    /// Where the rest of a worker's table is.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<String>,
    /// Centroids of each corpus.
    corpora: BTreeMap<String, u64>,
    /// Of the oldest centroid's fingerprint; a table has one.
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

/// When a centroid was founded.
#[derive(Debug, Serialize)]
struct Age {
    log_offset: u64,
    log_time: Option<Timestamp>,
    url: String,
}

impl Age {
    fn of(centroid: &proto::Centroid) -> Self {
        Self {
            log_offset: centroid.log_offset,
            log_time: centroid.log_time_ms.and_then(Timestamp::from_ms),
            url: centroid.url.clone(),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Info { json, folder } => {
            let info = info(folder)?;
            documents::print(&if *json {
                format!("{}\n", serde_json::to_string(&info)?)
            } else {
                text(&info)
            })?;
        }
        Action::Compact(arguments) => compact::run(arguments)?,
        Action::Merge(arguments) => merge::run(arguments)?,
        Action::Verify { folder } => check(folder)?,
        Action::Export(arguments) => export::run(arguments)?,
        Action::Import(arguments) => import::run(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn info(folder: &Path) -> anyhow::Result<Info> {
    let mut info = Info::default();
    let position = inspect(folder, |position, centroid| {
        info.centroids += 1;
        match info.corpora.get_mut(&centroid.corpus) {
            Some(count) => *count += 1,
            None => _ = info.corpora.insert(centroid.corpus.clone(), 1),
        }
        if info.centroids == 1 {
            info.oldest = Some(Age::of(&centroid));
            info.detector = centroid.fingerprint.as_ref().map(|fingerprint| fingerprint.detector.clone());
        }
        if info.centroids == unexpired(position) {
            info.newest = Some(Age::of(&centroid));
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
    let is_there = verify(folder, |_, read| match read {
        Ok(whole) => bytes += whole,
        Err(error) => damaged.push(error.to_string()),
    })?;
    there_is(is_there.then(proto::Position::default), folder)?;
    if !damaged.is_empty() {
        bail!("{}", damaged.join("\n"));
    }
    documents::print(&format!("all checksums fit: {bytes} bytes\n"))
}

fn there_is(position: Option<proto::Position>, folder: &Path) -> anyhow::Result<proto::Position> {
    position.with_context(|| there_is_no_table(folder))
}

fn there_is_no_table(folder: &Path) -> String {
    format!("{}: there is no table; `leitong dedup --table` makes one", folder.display())
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
        line("  the rest is in", rest.clone());
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
