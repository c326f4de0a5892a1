//! `leitong dedup`: the whole flow over files, without a broker.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;

use super::documents;
use super::settings::{self, Wrong, wrong};
use crate::cluster::{Clusterer, Position};
use crate::config::hash::cluster_hash;
use crate::pipeline::cluster_half::ClusterHalf;
use crate::pipeline::fingerprint_half::FingerprintHalf;
use crate::sink::files::{DeadLetters, FileSink};
use crate::sink::whole_lines::WholeLines;
use crate::snapshot::{TableDir, TableSettings};
use crate::source::inputs::Inputs;
use crate::source::open::Input;
use crate::telemetry::counts::Counts;
use crate::telemetry::progress::Progress;
use crate::telemetry::summary::summary;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Detector that decides, in place of the configured one
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Verdicts, one JSON object a line [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Records that are no pages, one JSON object a line [default: standard error, for people]
    #[arg(long, value_name = "FILE")]
    dead_letters: Option<PathBuf>,
    /// Threads for decoding, extraction, segmentation and fingerprints [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Folder of a centroid table: loaded before and saved after, so that daily files are one stream
    #[arg(long, value_name = "DIR")]
    table: Option<PathBuf>,
    /// JSON lines or WARC, plain, gzip or zstd; `-` is standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let config =
        settings::config(arguments.config.as_deref(), arguments.detector.as_deref(), arguments.threads)?;
    let inputs = open_inputs(&arguments.inputs)?;
    refuse_overwriting(arguments)?;
    let fingerprint_half = Arc::new(FingerprintHalf::new(config.clone()).map_err(Wrong::from)?);
    let detector = fingerprint_half.detector();
    let table = TableSettings {
        detector: Arc::clone(detector),
        expiry: config.expiry.clone(),
        fingerprint_hash: fingerprint_half.fingerprint_hash(),
        cluster_hash: cluster_hash(&config, &**detector),
    };
    let table_dir = arguments.table.as_deref().map(TableDir::open).transpose()?;
    let clusterer = match table_dir.as_ref().map(|dir| dir.load(&table)).transpose()?.flatten() {
        Some(clusterer) => clusterer,
        None => Clusterer::new(Arc::clone(detector), config.expiry.clone(), Position::default()),
    };
    let cluster_half = ClusterHalf::new(clusterer, Arc::clone(detector), table.cluster_hash);

    let counts = Arc::new(Counts::default());
    let bytes_read = Arc::new(AtomicU64::new(0));
    let bytes_total = inputs.iter().map(|input| input.bytes).sum();
    let progress = Progress::start(bytes_total, Arc::clone(&bytes_read), Arc::clone(&counts));
    let sink = FileSink::new(
        create(arguments.output.as_deref().unwrap_or(Path::new("-")))?,
        match &arguments.dead_letters {
            Some(path) => DeadLetters::File(create(path)?),
            None => DeadLetters::Log(Box::new({
                let progress = progress.clone();
                move |letter| {
                    progress
                        .log(&format!("leitong: {}: {} ({})", letter.source, letter.message, letter.cause));
                }
            })),
        },
        Arc::clone(&counts),
    );
    let source = Box::new(Inputs::new(inputs, config.page.clone(), bytes_read));
    let mended = Arc::clone(&counts);
    let result = crate::pipeline::run(
        &config.pipeline,
        source,
        &fingerprint_half,
        cluster_half,
        sink,
        move |fingerprinted| mended.mended(fingerprinted.mended),
    );
    progress.finish();
    let (cluster_half, _, source) = result?;
    let clusterer = cluster_half.into_clusterer();
    if let Some(dir) = table_dir {
        dir.save(&clusterer, &table)?;
    }
    eprint!("{}", summary(&counts, source.skipped(), clusterer.centroid_count(), started.elapsed()));
    Ok(if counts.dead_letters() > 0 { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// All inputs, or standard input where none is named.
fn open_inputs(paths: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    if paths.is_empty() {
        if std::io::stdin().is_terminal() {
            return Err(wrong("no INPUT; name files, or `-` for standard input"));
        }
        return Ok(vec![Input::open(Path::new("-")).context("standard input")?]);
    }
    documents::open(paths)
}

/// Verdicts must not overwrite pages, and dead letters not verdicts.
fn refuse_overwriting(arguments: &Arguments) -> anyhow::Result<()> {
    let outputs = [("--output", &arguments.output), ("--dead-letters", &arguments.dead_letters)];
    let mut taken: Vec<PathBuf> =
        arguments.inputs.iter().filter_map(|path| path.canonicalize().ok()).collect();
    for (option, path) in outputs {
        let Some(path) = path else { continue };
        // What is no regular file, such as /dev/null, may well be named twice.
        let Ok(known) = path.canonicalize() else {
            if taken.contains(path) {
                bail!("{option} {}: is named twice", path.display());
            }
            taken.push(path.clone());
            continue;
        };
        if known.is_file() && taken.contains(&known) {
            return Err(wrong(format_args!("{option} {}: is an input or output already", path.display())));
        }
        taken.push(known);
    }
    Ok(())
}

fn create(path: &Path) -> anyhow::Result<WholeLines> {
    WholeLines::create(path).with_context(|| format!("cannot write {}", path.display()))
}
