//! `leitong-lab perturb`: generates near-duplicates for testing, in the same way as `eval`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use leitong::command_line::{Overwrite, Parts, config, write, wrong};

use super::inputs;
use crate::perturb::{Condition, copies};

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  leitong-lab perturb --change rewritten=0.05 --change deleted=0.2 --output copies.jsonl pages.jsonl.gz")]
pub(super) struct Arguments {
    /// Change to make, and how much of it: `rewritten=0.05`, `deleted=0.2`, `paragraphs-moved=0.5`,
    /// `boilerplate=4`, `headline`, …. If it is repeated, pages get the changes in turn
    #[arg(long, value_name = "CHANGE", required = true)]
    change: Vec<Condition>,
    /// Number of pages to copy, drawn at random from those with at least 300 characters of text
    #[arg(long, value_name = "N", default_value_t = 1000)]
    texts: usize,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File of synonyms for `synonyms=…`: one group per line, separated by tabs
    #[arg(long, value_name = "FILE")]
    synonyms: Option<PathBuf>,
    /// Configuration file, for extraction
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File to write to; `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Input files, in any format that `leitong dedup` reads. If the pages have labels, only the first page of each
    /// cluster is copied
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.synonyms.is_none() && arguments.change.iter().any(Condition::needs_synonyms) {
        return Err(wrong("--change synonyms=…: needs a list of synonyms; add --synonyms FILE"));
    }
    let synonyms = inputs::synonyms(arguments.synonyms.as_deref())?;
    let output = [("--output", arguments.output.clone())];
    let parts = Parts::begin_checked(&output, &arguments.inputs, &[], arguments.overwrite)?;
    let config = config(arguments.config.as_deref(), None, None)?;
    let (pages, status) = inputs::documents(&arguments.inputs, &config)?;
    let out = copies(&pages, &arguments.change, &synonyms, arguments.texts, arguments.seed)
        .map_err(|error| wrong(format_args!("--synonyms: {error}")))?;
    write(&arguments.output, &out)?;
    parts.finish()?;
    Ok(status)
}
