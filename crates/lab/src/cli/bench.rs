//! `leitong-lab bench`: measures throughput and table size on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use leitong::Config;
use leitong::command_line::{Overwrite, Parts, config, open_records, print, write, wrong};
use leitong_base::record::Place;
use leitong_base::terminal;
use leitong_formats::source::{Payload, Record};

use crate::bench::{Plan, Report, StageFigures};

/// Limit on the bytes of pages read, since they are held in memory.
const BYTES_MAX: usize = 256 << 20;
/// The pages that are measured if no input is named.
const SAMPLE: &str = include_str!("../../../../examples/pages.jsonl");

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong-lab bench
  leitong-lab bench --sizes 1,10 --json bench.json pages.jsonl.gz")]
pub(super) struct Arguments {
    /// Configuration file [default: the default settings]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Table sizes to measure, in millions of centroids. 100 million need about 30 GB of memory; a size that
    /// does not fit is skipped
    #[arg(long, value_name = "MILLIONS", value_delimiter = ',', default_value = "0.1,1")]
    sizes: Vec<f64>,
    /// Maximum distances of SimHashes at which to measure the paper's plain look-up as well, for comparison with the
    /// configured one
    #[arg(long, value_name = "BITS", value_delimiter = ',', default_values_t = [3])]
    distances: Vec<u32>,
    /// Leave out page ids and urls of centroids, to fit more centroids into memory
    #[arg(long)]
    no_urls: bool,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures as JSON; `-` for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Input files, in any format that `leitong dedup` reads [default: the built-in sample pages]
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = config(arguments.config.as_deref(), None, None)?;
    if let Some(distance) = arguments.distances.iter().find(|distance| **distance > 16) {
        return Err(wrong(format_args!("--distances {distance}: must be at most 16")));
    }
    let plan = Plan { sizes: sizes(&arguments.sizes)?, seed: arguments.seed, texts: !arguments.no_urls };
    let json: Vec<_> = arguments.json.iter().map(|path| ("--json", path.clone())).collect();
    let parts = Parts::begin_checked(&json, &arguments.inputs, &[], arguments.overwrite)?;
    let records = if arguments.inputs.is_empty() { sample() } else { read(&arguments.inputs, &config)? };
    let names = match &arguments.inputs[..] {
        [] => vec!["the sample pages".to_owned()],
        named => named.iter().map(|path| path.display().to_string()).collect(),
    };
    terminal::note(format_args!("read {} records from {}", records.len(), names.join(", ")));
    let stages = StageFigures::measure(records, &config).map_err(wrong)?;
    if stages.pages == 0 {
        return Err(wrong(
            "no page has a fingerprint, so there is nothing to measure; name files with longer pages",
        ));
    }
    let progress = |what: &str| terminal::note(what);
    let report = Report::measure(names, stages, &config.simhash, &arguments.distances, &plan, progress);
    if let Some(path) = &arguments.json {
        write(path, &(serde_json::to_string_pretty(&report)? + "\n"))?;
    }
    parts.finish()?;
    if arguments.json.as_deref() != Some(Path::new("-")) {
        print(&report.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn sizes(millions: &[f64]) -> anyhow::Result<Vec<usize>> {
    let mut sizes = Vec::new();
    for size in millions {
        if !(0.001..=4_000.0).contains(size) {
            return Err(wrong(format_args!(
                "--sizes {size}: must be from 0.001 to 4000 (millions of centroids)"
            )));
        }
        sizes.push((size * 1e6) as usize);
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

fn sample() -> Vec<Record> {
    let input: Arc<str> = "examples/pages.jsonl".into();
    let record = |(line, text): (u64, &str)| Record {
        place: Place::Line { input: Arc::clone(&input), line },
        span: 0..text.len() as u64,
        payload: Payload::Json(text.into()),
    };
    (1..).zip(SAMPLE.lines()).map(record).collect()
}

/// Reads records from the inputs until there are [`BYTES_MAX`] bytes of them.
fn read(paths: &[PathBuf], config: &Config) -> anyhow::Result<Vec<Record>> {
    let mut source = open_records(paths, config)?;
    let mut records = Vec::new();
    let mut bytes = 0;
    for record in source.records() {
        let record = record.context("cannot read the inputs")?;
        if bytes >= BYTES_MAX {
            terminal::note(format_args!("only the first {} MB of the pages are used", BYTES_MAX >> 20));
            break;
        }
        bytes += record.bytes();
        records.push(record);
    }
    Ok(records)
}
