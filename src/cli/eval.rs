//! `leitong eval`: measures how well detectors work on the user's pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::documents;
use super::parts::{Overwrite, Parts};
use super::score::{self, VerdictFile};
use super::settings::{self, Wrong, wrong};
use crate::config::detectors::{self, DETECTORS};
use crate::config::{Config, load};
use crate::graph::cpu::thread_count;
use leitong_lab::eval::{EvaluatedDetector, Plan, evaluate};
use leitong_lab::pages::EvalPage;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong eval --detector simhash --detector paragraph pages.jsonl.gz
  leitong eval --html report.html labelled.jsonl.gz")]
pub(super) struct Arguments {
    /// Detector to evaluate; repeat the option to evaluate several [default: all]
    #[arg(long, value_name = "NAME")]
    detector: Vec<String>,
    /// Detector file to evaluate under the file's name: a detector and any settings of detectors, as in
    /// docs/detector-settings.md; repeat the option to evaluate several
    #[arg(long, value_name = "FILE")]
    variant: Vec<PathBuf>,
    /// File of verdicts of any program, scored instead of detectors; repeat the option to score several. One
    /// JSON object per line, with `page_id`, `kind` and `canonical_page_id` as `dedup` writes them
    #[arg(long, value_name = "[NAME=]FILE", conflicts_with_all = ["detector", "variant", "config", "html", "texts", "pairs", "synonyms"])]
    verdicts: Vec<VerdictFile>,
    /// Configuration file for extraction, segmentation, and the detectors named by --detector
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the report with plots as HTML to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of texts to perturb; 0 skips these tests
    #[arg(long, default_value_t = 1000)]
    texts: usize,
    /// Number of unrelated pairs to compare
    #[arg(long, default_value_t = 20_000)]
    pairs: usize,
    /// File of synonyms for replacing words: one group per line, separated by tabs. Do not use the detector's
    /// own list, which would make the test circular
    #[arg(long, value_name = "FILE")]
    synonyms: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Input files, in any format that `dedup` reads. If the pages have the fields `cluster` and `label`
    /// (new, dup or ambiguous), verdicts are scored as well
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
}

impl Arguments {
    /// Returns the files that are written, each with its option.
    fn outputs(&self) -> Vec<(&'static str, PathBuf)> {
        let outputs = [("--json", &self.json), ("--markdown", &self.markdown), ("--html", &self.html)];
        outputs.into_iter().filter_map(|(option, path)| Some((option, path.clone()?))).collect()
    }

    fn files_to_read(&self) -> Vec<PathBuf> {
        let verdicts = self.verdicts.iter().map(VerdictFile::path);
        let settings = self.variant.iter().chain(&self.config).chain(&self.synonyms);
        self.inputs.iter().chain(settings).chain(verdicts).cloned().collect()
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    settings::checked_threads(arguments.threads)?;
    let outputs = arguments.outputs();
    let parts = Parts::begin_checked(&outputs, &arguments.files_to_read(), &[], arguments.overwrite)?;
    if !arguments.verdicts.is_empty() {
        let outputs = (arguments.json.as_deref(), arguments.markdown.as_deref());
        return score::run(&arguments.verdicts, &arguments.inputs, outputs, parts, arguments.seed);
    }
    let config = settings::config(arguments.config.as_deref(), None, None)?;
    let evaluated = evaluated(arguments, &config)?;
    let segmenter = settings::segmenter(&config)?;
    let synonyms = match &arguments.synonyms {
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        None => String::new(),
    };
    let plan = Plan {
        seed: arguments.seed,
        texts: arguments.texts,
        pairs: arguments.pairs,
        synonyms,
        threads: thread_count(arguments.threads),
    };
    let (pages, status) = pages(&arguments.inputs, &config)?;
    let inputs = arguments.inputs.iter().map(|path| path.display().to_string()).collect();
    let report = evaluate(inputs, &pages, &evaluated, &segmenter, &plan)
        .map_err(|error| wrong(format_args!("--synonyms: {error}")))?;
    let tables = report.markdown();
    let files = [
        (&arguments.json, serde_json::to_string_pretty(&report)? + "\n"),
        (&arguments.markdown, tables.clone()),
        (&arguments.html, report.html()),
    ];
    for (path, contents) in files {
        let Some(path) = path else { continue };
        documents::write(path, &contents)?;
    }
    parts.finish()?;
    documents::print(&tables)?;
    Ok(status)
}

/// Builds the detectors to evaluate: those named by `--detector`, then the variants.
fn evaluated(arguments: &Arguments, config: &Config) -> anyhow::Result<Vec<EvaluatedDetector>> {
    let names: Vec<&str> = match (arguments.detector.is_empty(), arguments.variant.is_empty()) {
        (true, true) => DETECTORS.iter().map(|(name, _)| *name).collect(),
        _ => arguments.detector.iter().map(String::as_str).collect(),
    };
    let mut evaluated = Vec::new();
    for name in names {
        evaluated.push(evaluated_detector(
            name.to_owned(),
            &Config { detector: name.to_owned(), ..config.clone() },
        )?);
    }
    for path in &arguments.variant {
        let variant = settings::with_variant(config.clone(), path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        evaluated.push(evaluated_detector(name, &variant)?);
    }
    Ok(evaluated)
}

pub(super) fn evaluated_detector(name: String, config: &Config) -> anyhow::Result<EvaluatedDetector> {
    let resources = config.resources().map_err(Wrong::from)?;
    let detector = detectors::detector(&config.detector, config, &resources)
        .ok_or_else(|| wrong(format_args!("--detector {name:?}: {}", load::detectors_hint(&name))))?
        .map_err(wrong)?;
    Ok(EvaluatedDetector { name, detector: detector.into() })
}

/// Returns all pages that have a main text, and the exit status.
pub(super) fn pages(inputs: &[PathBuf], config: &Config) -> anyhow::Result<(Vec<EvalPage>, ExitCode)> {
    let mut pages = Vec::new();
    let status = documents::for_each(inputs, config, |id, document, label| {
        pages.push(EvalPage { id, document, label });
    })?;
    if pages.len() < 2 {
        return Err(wrong(
            "fewer than two pages have a main text, so there is nothing to compare; name more pages",
        ));
    }
    Ok((pages, status))
}
