//! `leitong replay`: clusters the fingerprint log again, offline, and writes the verdicts as JSON lines.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Args;

use crate::cli::files::documents::create;
use crate::cli::files::parts::{Overwrite, Parts};
use crate::cli::settings::{self, Wrong, wrong};
use leitong_base::terminal;
use leitong_cluster::Position;
use leitong_cluster::log::Watermarks;
use leitong_kafka::{ReplayFrom, Topics, replay};
use leitong_keep::sink::{Counts, DeadLetters, FileSink, Sink};
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::{Config, KafkaConfig};
use leitong_store::snapshot::{TableDir, TableSettings};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong replay --config leitong.toml --output verdicts.jsonl
  leitong replay --config other.toml --partition 0 --until 1000000 --output verdicts.jsonl")]
pub(crate) struct Arguments {
    /// Configuration file. Settings that apply after the log (near, expiry) may differ from the worker's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Replay only this partition of the log [default: all, one after the other]
    #[arg(long, value_name = "N")]
    partition: Option<u32>,
    /// File for the verdicts, one JSON object per line [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// File for the dead letters, one JSON object per line [default: messages on standard error]
    #[arg(long, value_name = "FILE")]
    dead_letters: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Stop before this offset of the log
    #[arg(long, value_name = "OFFSET")]
    until: Option<u64>,
    /// Start from the tables in this folder, each at the offset where it was saved. With table.on_disk, it
    /// must be the same folder as --save-table, if both are given
    #[arg(long, value_name = "DIR")]
    table: Option<PathBuf>,
    /// Save the tables to this folder at the end. It must be empty, or that of --table. With table.on_disk, old centroids are written there during
    /// the run
    #[arg(long, value_name = "DIR")]
    save_table: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut config = settings::kafka_config(arguments.config.as_deref())?;
    let blocks_in = arguments.save_table.as_ref().or(arguments.table.as_ref());
    let apart = matches!((&arguments.table, &arguments.save_table), (Some(from), Some(to)) if from != to);
    if config.table.on_disk && apart {
        return Err(wrong(
            "table.on_disk = true: --table and --save-table must be the same folder; copy it first to keep \
             the table as it is",
        ));
    }
    let outputs = [("--output", &arguments.output), ("--dead-letters", &arguments.dead_letters)];
    let outputs = outputs.into_iter().filter_map(|(option, path)| Some((option, path.clone()?)));
    let folders: Vec<&Path> =
        arguments.table.iter().chain(&arguments.save_table).map(PathBuf::as_path).collect();
    let parts = Parts::begin_checked(&outputs.collect::<Vec<_>>(), &[], &folders, arguments.overwrite)?;
    // Without a folder, all centroids are in memory; verdicts are the same.
    config.table.on_disk &= blocks_in.is_some();
    let stage = FingerprintStage::new(config.clone()).map_err(Wrong::from)?;
    let table = config.table_settings(stage.detector(), stage.fingerprint_hash());
    let partitions = match arguments.partition {
        Some(partition) => partition..partition + 1,
        None => 0..log_partitions(&config.kafka)?,
    };
    let counts = Arc::new(Counts::default());
    let dead_letters = match &arguments.dead_letters {
        Some(path) => DeadLetters::File(create(path)?),
        None => DeadLetters::Log(Box::new(|letter| {
            terminal::note(format_args!("{}: {} ({})", letter.source, letter.message, letter.cause));
        })),
    };
    let output = create(arguments.output.as_deref().unwrap_or(Path::new("-")))?;
    let mut sink = FileSink::new(Some(output), dead_letters, Arc::clone(&counts));
    let elsewhere = arguments.save_table.as_ref().filter(|save| arguments.table.as_ref() != Some(save));
    if let Some(save_table) = elsewhere.filter(|_| !config.table.on_disk) {
        for partition in partitions.clone() {
            if TableDir::open(&partition_folder(save_table, partition))?.saved_bytes() > 0 {
                return Err(another_table(partition));
            }
        }
    }
    let run = Run { arguments, config: &config, table: &table, blocks_in };
    for partition in partitions {
        run.replay(partition, &mut sink)?;
    }
    parts.finish()?;
    Ok(if counts.dead_letters() > 0 { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// A replay of some partitions, one by one.
struct Run<'a> {
    arguments: &'a Arguments,
    config: &'a Config,
    table: &'a TableSettings,
    /// The folder of the tables, if old centroids are on disk.
    blocks_in: Option<&'a PathBuf>,
}

impl Run<'_> {
    /// Decides on the records of one partition, and saves its table if that was requested.
    fn replay(&self, partition: u32, sink: &mut FileSink) -> anyhow::Result<()> {
        let Self { arguments, config, table, blocks_in } = *self;
        let folder = |folder: &PathBuf| partition_folder(folder, partition);
        let blocks = blocks_in.filter(|_| config.table.on_disk).map(|blocks| TableDir::open(&folder(blocks)));
        let blocks = blocks.transpose()?;
        let start = match (&arguments.table, &blocks) {
            (Some(table_folder), Some(blocks)) => load(blocks, &folder(table_folder), table)?,
            (Some(table_folder), None) => {
                let folder = folder(table_folder);
                load(&TableDir::open(&folder)?, &folder, table)?
            }
            (None, Some(blocks)) => begin(blocks, partition, table)?,
            (None, None) => ReplayFrom::empty(table, partition),
        };
        let (replayed, clusterer, watermarks) =
            replay(&config.kafka, table, partition, start, arguments.until, &mut |conclusions| {
                anyhow::Ok(sink.write(conclusions)?)
            })?;
        sink.flush()?;
        if let Some(offset) = replayed.start_is_missing {
            terminal::note(format_args!(
                "log partition {partition} begins at offset {offset}, since retention has deleted earlier \
                 records. Clusters that they founded are unknown, so verdicts differ from the published \
                 ones; to get the same verdicts, start from a saved table (--table)"
            ));
        }
        terminal::note(format_args!(
            "log partition {partition}: {} records, {} repeated or after a gap, {} centroids",
            replayed.taken,
            replayed.dropped,
            clusterer.centroid_count()
        ));
        if let Some(save_table) = &arguments.save_table {
            let dir = blocks.map_or_else(|| TableDir::open(&folder(save_table)), Ok)?;
            dir.save_with_watermarks(&clusterer, &watermarks, table)?;
        }
        Ok(())
    }
}

/// Returns an empty table whose old centroids will be on disk in this folder, which must not have a table
/// yet.
fn begin(dir: &TableDir, partition: u32, table: &TableSettings) -> anyhow::Result<ReplayFrom> {
    let mut clusterer = dir.load_or_begin(table)?;
    if clusterer.position() != Position::default() || clusterer.founded() > 0 {
        return Err(another_table(partition));
    }
    clusterer.set_position(Position { log_partition: partition, ..Position::default() });
    Ok(ReplayFrom { clusterer, watermarks: Watermarks::default(), loaded: false })
}

/// Returns the error for a folder in which another table would be replaced.
fn another_table(partition: u32) -> anyhow::Error {
    anyhow!(
        "--save-table: the folder already has a table of partition {partition}; name an empty folder, or continue from \
         that table with --table"
    )
}

fn load(dir: &TableDir, folder: &Path, table: &TableSettings) -> anyhow::Result<ReplayFrom> {
    let loaded = dir.load_for_new_rules(table)?;
    let (clusterer, watermarks) =
        loaded.with_context(|| format!("{}: has no table; save one with --save-table", folder.display()))?;
    Ok(ReplayFrom { clusterer, watermarks, loaded: true })
}

fn partition_folder(folder: &Path, partition: u32) -> PathBuf {
    folder.join(format!("partition-{partition}"))
}

fn log_partitions(config: &KafkaConfig) -> anyhow::Result<u32> {
    let topics = Topics::new(config)?;
    let count = topics.log_partitions()?;
    count.with_context(|| {
        format!("topic {} does not exist; create it with `leitong topics create`", config.topics.fingerprints)
    })
}
