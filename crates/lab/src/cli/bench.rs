//! `leitong-lab bench`: measures throughput and table size on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use leitong::pipeline::{ClusterStage, FingerprintStage, Workspace, document};
use leitong::{Config, Document, Page, Segmenter, Verdict};
use leitong_base::record::{FingerprintRecord, LogRecord, Place, Timestamp};
use leitong_base::terminal;
use leitong_base::work::Work;
use leitong_cluster::verdict::Conclusion;
use leitong_cluster::{Clusterer, Position};
use leitong_formats::source::{Payload, Record};

use super::outputs::{self, Overwrite};
use super::{inputs, segmenter, wrong};
use crate::bench::{Plan, Program, Report, StageFigures};

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
    /// Measure the table with its old centroids on disk (`table.on_disk`) instead of in memory, in this empty
    /// folder. 100 million centroids take about 40 GB
    #[arg(long, value_name = "DIR")]
    table_dir: Option<PathBuf>,
    /// Limit the rate at which the table on disk is filled, to measure how long decisions pause at the load
    /// of a worker
    #[arg(long, value_name = "NUMBER", requires = "table_dir")]
    insertions_per_second: Option<f64>,
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
    let config = super::config(arguments.config.as_deref())?;
    let stage = FingerprintStage::new(config.clone()).map_err(wrong)?;
    let segmenter = segmenter(&config)?;
    if let Some(distance) = arguments.distances.iter().find(|distance| **distance > 16) {
        return Err(wrong(format_args!("--distances {distance}: must be at most 16")));
    }
    let insertions_per_second = arguments.insertions_per_second;
    if let Some(rate) = insertions_per_second.filter(|rate| !rate.is_finite() || *rate < 1.0) {
        return Err(wrong(format_args!("--insertions-per-second {rate}: must be at least 1")));
    }
    let plan = Plan {
        sizes: sizes(&arguments.sizes)?,
        seed: arguments.seed,
        texts: !arguments.no_urls,
        insertions_per_second,
        block_centroids: config.table.block_centroids,
    };

    arguments.overwrite.check(&[("--json", arguments.json.as_deref())], &arguments.inputs)?;
    let records = if arguments.inputs.is_empty() { sample() } else { read(&arguments.inputs, &config)? };
    let names = match &arguments.inputs[..] {
        [] => vec!["the sample pages".to_owned()],
        named => named.iter().map(|path| path.display().to_string()).collect(),
    };
    terminal::note(format_args!("read {} records from {}", records.len(), names.join(", ")));
    let stages = stages(records, &config, &stage, &segmenter);
    if stages.pages == 0 {
        return Err(wrong(
            "no page has a fingerprint, so there is nothing to measure; name files with longer pages",
        ));
    }
    let progress = |what: &str| terminal::note(what);
    let report = match &arguments.table_dir {
        None => Report::in_memory(names, stages, &config.simhash, &arguments.distances, &plan, progress),
        Some(folder) => Report::on_disk(names, stages, &config.simhash, folder, &plan, progress)?,
    };
    if let Some(path) = &arguments.json {
        outputs::write(path, &(serde_json::to_string_pretty(&report)? + "\n"))?;
    }
    if arguments.json.as_deref() != Some(Path::new("-")) {
        outputs::print(&report.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The stages as a run calls them, on one thread and with a table in memory.
struct Run<'a> {
    stage: &'a FingerprintStage,
    workspace: Workspace,
    cluster_stage: ClusterStage,
}

impl Program for Run<'_> {
    fn read(&mut self, place: &Place, payload: Payload) -> Option<Page> {
        self.stage.reader().page(place, payload)
    }

    fn log_record(&mut self, place: Place, page: Page) -> Option<Box<FingerprintRecord>> {
        match self.stage.process_page(place, page, &mut self.workspace).record {
            Ok(LogRecord::Page(record)) => Some(record),
            _ => None,
        }
    }

    fn extract(&mut self, page: &Page) -> Option<Document> {
        let reading = document::read(page, self.workspace.extractor(), &mut Work::unbounded());
        Some(reading.ok()?.document)
    }

    fn decide(&mut self, record: LogRecord) -> Option<Box<Verdict>> {
        let conclusion = self.cluster_stage.decide(record, Timestamp::now());
        match conclusion.expect("a table in memory does not fail") {
            Conclusion::Verdict(verdict) => Some(verdict),
            Conclusion::DeadLetter(_) => None,
        }
    }
}

/// Measures the stages of this program.
fn stages(
    records: Vec<Record>,
    config: &Config,
    stage: &FingerprintStage,
    segmenter: &Segmenter,
) -> StageFigures {
    let detector = stage.detector();
    let clusterer = Clusterer::new(detector.clone(), config.cluster_rules(), Position::default());
    let cluster_stage = ClusterStage::new(clusterer, detector.clone(), 0);
    let mut program = Run { stage, workspace: stage.workspace(), cluster_stage };
    StageFigures::measure(records, &mut program, &**detector, segmenter)
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
    let mut source = inputs::open(paths, config)?;
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
