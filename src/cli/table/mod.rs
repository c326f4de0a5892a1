//! `leitong table info | export | verify | compact | merge`: tables that `dedup --table` or `serve` has saved.

mod compact;
mod merge;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::documents;
use crate::cluster::ClusterId;
use crate::proto;
use crate::record::timestamp::Timestamp;
use crate::sink::whole_lines::WholeLines;
use crate::snapshot::{inspect, verify};

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
    Export {
        /// Where to [default: standard output]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The table's folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
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

/// A centroid as it is printed.
#[derive(Debug, Serialize)]
struct Centroid<'a> {
    cluster_id: ClusterId,
    page_id: &'a str,
    url: &'a str,
    /// The page that stands for the cluster.
    canonical_page_id: &'a str,
    canonical_url: &'a str,
    corpus: &'a str,
    log_offset: u64,
    log_time: Option<Timestamp>,
    text_digest: String,
    detector: &'a str,
    /// All of it, in hex, as its detector encodes it.
    fingerprint: String,
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
        Action::Export { output, folder } => export(folder, output.as_deref().unwrap_or(Path::new("-")))?,
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

/// Centroids of a table that have not expired.
fn unexpired(position: &proto::Position) -> u64 {
    let of_blocks = |blocks: &proto::Blocks| (blocks.end + position.centroid_count) - blocks.first;
    position.blocks.as_ref().map_or(position.centroid_count, of_blocks)
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

fn export(folder: &Path, output: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", output.display());
    let mut lines = WholeLines::create(output).with_context(cannot)?;
    let mut failed = None;
    let position = inspect(folder, |position, centroid| {
        if failed.is_none() {
            failed = lines.push(&exported(position, &centroid)).err();
        }
    })?;
    if let Some(error) = failed {
        return Err(error).with_context(cannot);
    }
    there_is(position, folder)?;
    lines.flush().with_context(cannot)
}

fn exported<'a>(position: &proto::Position, centroid: &'a proto::Centroid) -> Centroid<'a> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let fingerprint = centroid.fingerprint.as_ref();
    Centroid {
        cluster_id: ClusterId {
            log_generation: position.log_generation,
            log_partition: position.log_partition,
            log_offset: centroid.log_offset,
        },
        page_id: &centroid.page_id,
        url: &centroid.url,
        canonical_page_id: centroid.canonical_page_id.as_ref().unwrap_or(&centroid.page_id),
        canonical_url: centroid.canonical_url.as_ref().unwrap_or(&centroid.url),
        corpus: &centroid.corpus,
        log_offset: centroid.log_offset,
        log_time: centroid.log_time_ms.and_then(Timestamp::from_ms),
        text_digest: hex(&centroid.text_digest),
        detector: fingerprint.map_or("", |fingerprint| &fingerprint.detector),
        fingerprint: fingerprint.map_or(String::new(), |fingerprint| hex(&fingerprint.data)),
    }
}
