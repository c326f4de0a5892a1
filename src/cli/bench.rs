//! `leitong bench`: how much this machine carries.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::documents;
use super::settings::{self, Wrong, wrong};
use crate::bench::fingerprints::Fingerprints;
use crate::bench::machine::{self, Machine};
use crate::bench::on_disk::{self, OnDiskFigures};
use crate::bench::report::Report;
use crate::bench::stages;
use crate::bench::table::{self, Plan, TableFigures};
use crate::config::Config;
use crate::pipeline::fingerprint_stage::FingerprintStage;
use crate::record::Place;
use crate::source::{Payload, Record, Source};
use crate::telemetry::terminal;

/// Bytes of pages that are read at most: they stay in memory.
const BYTES_MAX: usize = 256 << 20;
/// Pages from which on their fingerprints say how often bits are set.
const EXAMPLES_MIN: usize = 100;
/// Where no pages are named.
const SAMPLE: &str = include_str!("../../examples/pages.jsonl");

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Configuration file [default: the default settings]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Millions of centroids at which the table is measured; 100 need
    /// some 20 GB of memory, and are left out where that is short
    #[arg(long, value_name = "MILLIONS", value_delimiter = ',', default_values_t = [0.1, 1.0])]
    sizes: Vec<f64>,
    /// Hamming distances whose plain look-up, the paper's
    /// method, is measured beside the configured one
    #[arg(long, value_name = "BITS", value_delimiter = ',', default_values_t = [3])]
    distances: Vec<u32>,
    /// Empty folder in which the table is measured with its old centroids on disk
    /// (`table.on_disk`), and not in memory; 100 million take some 40 GB
    #[arg(long, value_name = "DIR")]
    table_dir: Option<PathBuf>,
    /// Fill the table on disk no faster than this, as a worker does that has so many pages: how
    /// long its decisions halt meanwhile
    #[arg(long, value_name = "NUMBER", requires = "table_dir")]
    insertions_per_second: Option<f64>,
    /// Leave page ids and urls of centroids out, so that more of them fit into memory
    #[arg(long)]
    no_urls: bool,
    /// Of all that is drawn at random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures as JSON; `-` for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Pages as for `dedup` [default: the sample pages]
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = settings::config(arguments.config.as_deref(), None, None)?;
    let stage = FingerprintStage::new(config.clone()).map_err(Wrong::from)?;
    let segmenter = settings::segmenter(&config)?;
    if let Some(distance) = arguments.distances.iter().find(|distance| **distance > 16) {
        return Err(wrong(format_args!("--distances {distance}: the greatest is 16")));
    }
    let insertions_per_second = arguments.insertions_per_second;
    if let Some(rate) = insertions_per_second.filter(|rate| !rate.is_finite() || *rate < 1.0) {
        return Err(wrong(format_args!("--insertions-per-second {rate}: must be a number from 1 on")));
    }
    let plan = Plan {
        sizes: sizes(&arguments.sizes)?,
        seed: arguments.seed,
        texts: !arguments.no_urls,
        insertions_per_second,
    };

    let records = if arguments.inputs.is_empty() { sample() } else { read(&arguments.inputs, &config)? };
    let inputs = match &arguments.inputs[..] {
        [] => vec!["the sample pages".to_owned()],
        named => named.iter().map(|path| path.display().to_string()).collect(),
    };
    terminal::note(format_args!("{} records of {}", records.len(), inputs.join(", ")));
    let stages = stages::measure(records, &config, &stage, &segmenter);
    if stages.pages == 0 {
        return Err(wrong("none of the pages has a fingerprint: there is nothing to measure"));
    }
    let (table, on_disk) = match &arguments.table_dir {
        None => (table(arguments, &config, &plan, &stages.hashes), Vec::new()),
        Some(folder) => (Vec::new(), on_disk(folder, &config, &plan)?),
    };
    let report = Report::new(Machine::this(), inputs, stages, table, on_disk);
    if let Some(path) = &arguments.json {
        documents::write(path, &(serde_json::to_string_pretty(&report)? + "\n"))?;
    }
    if arguments.json.as_deref() != Some(Path::new("-")) {
        documents::print(&report.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The table with the configured look-up and with plain ones,
/// with even and skewed fingerprints and some like the pages'.
fn table(arguments: &Arguments, config: &Config, plan: &Plan, hashes: &[u64]) -> Vec<TableFigures> {
    let mut sources =
        vec![("even", Fingerprints::even(plan.seed)), ("skewed", Fingerprints::skewed(plan.seed))];
    if hashes.len() >= EXAMPLES_MIN {
        sources.push(("like the pages'", Fingerprints::like(plan.seed, hashes)));
    }
    let configured = (table::default_detector(config), config.simhash.near.max_distance);
    let plain = arguments.distances.iter().map(|distance| (table::plain_detector(*distance), *distance));
    let mut figures = Vec::new();
    for (detector, max_distance) in std::iter::once(configured).chain(plain) {
        for source in &sources {
            let progress = |what: &str| terminal::note(what);
            figures.extend(table::measure(
                &detector,
                max_distance,
                source,
                plan,
                machine::memory_is_short,
                progress,
            ));
        }
    }
    figures
}

/// The table with its old centroids on disk, with even and skewed fingerprints.
fn on_disk(folder: &Path, config: &Config, plan: &Plan) -> anyhow::Result<Vec<OnDiskFigures>> {
    let (_, detector) = table::default_detector(config);
    let mut figures = Vec::new();
    for source in [("even", Fingerprints::even(plan.seed)), ("skewed", Fingerprints::skewed(plan.seed))] {
        let folder = folder.join(source.0);
        let max_distance = config.simhash.near.max_distance;
        figures.extend(on_disk::measure(&detector, max_distance, &source, plan, &folder, |what| {
            terminal::note(what);
        })?);
    }
    Ok(figures)
}

fn sizes(millions: &[f64]) -> anyhow::Result<Vec<usize>> {
    let mut sizes = Vec::new();
    for size in millions {
        if !(0.001..=4_000.0).contains(size) {
            return Err(wrong(format_args!("--sizes {size}: from 0.001 to 4000 millions")));
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

/// The first pages of the inputs.
fn read(inputs: &[PathBuf], config: &Config) -> anyhow::Result<Vec<Record>> {
    let mut source = documents::source(inputs, config)?;
    let mut records = Vec::new();
    let mut bytes = 0;
    while bytes < BYTES_MAX {
        let mut batch = Vec::new();
        let more = source.read_batch(&mut batch, 1 << 20).context("cannot read on")?;
        bytes += batch.iter().map(Record::bytes).sum::<usize>();
        records.append(&mut batch);
        if !more {
            return Ok(records);
        }
    }
    terminal::note(format_args!("only the first {} MB of the pages are taken", BYTES_MAX >> 20));
    Ok(records)
}
