//! The options of `leitong dedup` about passages: those that documents share with a benchmark, and those that are
//! in many documents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::settings;
use leitong_keep::PassageOptions;
use leitong_pipeline::config::Config;

/// Minimum of `--passage-letters`. Below it, ordinary phrases would count as passages.
const LETTERS_MIN: i64 = 20;

#[derive(Debug, Args)]
#[group(id = "passage_options")]
pub(crate) struct Arguments {
    /// Drop documents that share a passage with any string in this file of JSON lines or Parquet, such as a
    /// benchmark. May be given several times
    #[arg(long, value_name = "FILE", help_heading = "Passages")]
    against: Vec<PathBuf>,
    /// Write the passages that many kept documents have, one JSON object per line
    #[arg(long, value_name = "FILE", help_heading = "Passages")]
    pub(crate) passages: Option<PathBuf>,
    /// Remove sentences and lines that many kept documents share from the texts that --as text writes
    #[arg(long, requires = "keep", help_heading = "Passages")]
    pub(crate) cut: bool,
    /// Minimum number of letters of a passage. An ideograph counts as three
    #[arg(
        long,
        value_name = "N",
        default_value_t = 60,
        value_parser = clap::value_parser!(u32).range(LETTERS_MIN..=10_000),
        help_heading = "Passages"
    )]
    passage_letters: u32,
    /// List or cut only passages of at least N documents
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(2..),
        help_heading = "Passages"
    )]
    passage_documents: u32,
    /// Megabytes of memory for benchmarks, or for passages. The rest is sorted on disk, next to the first output
    #[arg(
        long,
        value_name = "MB",
        default_value_t = 512,
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Passages"
    )]
    passage_memory: u32,
}

impl Arguments {
    /// Returns true if documents are compared with benchmarks.
    pub(crate) fn compares(&self) -> bool {
        !self.against.is_empty()
    }

    /// Returns true if the texts of all documents are needed at the end of the run.
    pub(crate) fn needs_texts(&self) -> bool {
        self.compares() || self.passages.is_some() || self.cut
    }

    /// Returns the files of benchmarks.
    pub(crate) fn benchmarks(&self) -> &[PathBuf] {
        &self.against
    }

    /// Returns the options for a run with this configuration, or `None` if it does not look for passages.
    pub(crate) fn options(&self, config: &Config) -> anyhow::Result<Option<PassageOptions>> {
        if !self.needs_texts() {
            return Ok(None);
        }
        let segmenter = settings::segmenter(config)?;
        Ok(Some(PassageOptions {
            against: self.against.clone(),
            list: self.passages.clone(),
            cut: self.cut,
            letters_min: self.passage_letters,
            documents_min: self.passage_documents,
            memory_bytes: (self.passage_memory as usize) << 20,
            normalise: Arc::new(move |line: &str| segmenter.normalized(line)),
        }))
    }

    /// Returns the options as they were given on the command line, except the name of the output.
    pub(crate) fn given_options(&self) -> impl Iterator<Item = String> {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let against = self
            .against
            .iter()
            .map(move |path| format!("--against {} ({} bytes)", path.display(), bytes(path)));
        let limits = self.needs_texts().then(|| {
            format!(
                "--passage-letters {} --passage-documents {}",
                self.passage_letters, self.passage_documents
            )
        });
        against.chain(limits).chain(self.cut.then(|| "--cut".to_owned()))
    }
}
