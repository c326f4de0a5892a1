//! `leitong-lab eval`: measures how well detectors work on the user's pages.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use leitong::command_line::{Overwrite, Parts, config, print, segmenter, with_variant, write, wrong};
use leitong::{Config, ConfigError, DETECTORS};

use super::score::{self, VerdictFile, verdict_file};
use super::{inputs, thread_count};
use crate::eval::{EvaluatedDetector, Plan, evaluate};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong-lab eval --detector simhash --detector paragraph pages.jsonl.gz
  leitong-lab eval --markdown tables.md labelled.jsonl.gz")]
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
    #[arg(long, value_name = "[NAME=]FILE", value_parser = verdict_file, conflicts_with_all = ["detector", "variant", "config", "texts", "pairs", "synonyms"])]
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
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true,
          value_parser = clap::value_parser!(u16).range(..=1024))]
    threads: u16,
    /// Input files, in any format that `leitong dedup` reads. If the pages have the fields `cluster` and `label`
    /// (new, dup or ambiguous), verdicts are scored as well
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
}

impl Arguments {
    /// Returns the files that are written, each with its option.
    fn outputs(&self) -> Vec<(&'static str, PathBuf)> {
        let outputs = [("--json", &self.json), ("--markdown", &self.markdown)];
        outputs.into_iter().filter_map(|(option, path)| Some((option, path.clone()?))).collect()
    }

    fn files_to_read(&self) -> Vec<PathBuf> {
        let verdicts = self.verdicts.iter().map(|(_, path)| path);
        let settings = self.variant.iter().chain(&self.config).chain(&self.synonyms);
        self.inputs.iter().chain(settings).chain(verdicts).cloned().collect()
    }

    /// Writes the report to the files that were named, and prints its tables.
    fn write(&self, parts: Parts, json: &str, tables: &str) -> anyhow::Result<()> {
        for (path, contents) in [(&self.json, json), (&self.markdown, tables)] {
            path.as_ref().map_or(Ok(()), |path| write(path, contents))?;
        }
        parts.finish()?;
        print(tables)
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let parts =
        Parts::begin_checked(&arguments.outputs(), &arguments.files_to_read(), &[], arguments.overwrite)?;
    if !arguments.verdicts.is_empty() {
        let (json, tables, status) = score::scores(&arguments.verdicts, &arguments.inputs, arguments.seed)?;
        arguments.write(parts, &json, &tables)?;
        return Ok(status);
    }
    let config = config(arguments.config.as_deref(), None, None)?;
    let evaluated = evaluated(arguments, &config)?;
    let segmenter = segmenter(&config)?;
    let plan = Plan {
        seed: arguments.seed,
        texts: arguments.texts,
        pairs: arguments.pairs,
        synonyms: inputs::synonyms(arguments.synonyms.as_deref())?,
        threads: thread_count(arguments.threads),
    };
    let (pages, status) = inputs::compared_documents(&arguments.inputs, &config)?;
    let names = arguments.inputs.iter().map(|path| path.display().to_string()).collect();
    let report = evaluate(names, &pages, &evaluated, &segmenter, &plan)
        .map_err(|error| wrong(format_args!("--synonyms: {error}")))?;
    let json = serde_json::to_string_pretty(&report)? + "\n";
    arguments.write(parts, &json, &report.markdown())?;
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
        let mut config = config.clone();
        config.detector = name.to_owned();
        evaluated.push(evaluated_detector(name.to_owned(), &config)?);
    }
    for path in &arguments.variant {
        let variant = with_variant(config.clone(), path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        evaluated.push(evaluated_detector(name, &variant)?);
    }
    Ok(evaluated)
}

pub(super) fn evaluated_detector(name: String, config: &Config) -> anyhow::Result<EvaluatedDetector> {
    let resources = config.resources().map_err(wrong)?;
    let unknown = || wrong(ConfigError::UnknownDetector(config.detector.clone()));
    let detector = leitong::detector(&config.detector, config, &resources).ok_or_else(unknown)?;
    Ok(EvaluatedDetector { name, detector: detector.map_err(wrong)?.into() })
}
