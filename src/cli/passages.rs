//! The options of `leitong dedup` about passages: those that documents share with a benchmark, and those that are
//! in many documents.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::settings::{self, wrong};
use crate::config::Config;
use leitong_base::terminal;
use leitong_corpora::keep::passages::{Benchmarks, Contaminated, Counts, Cut, Cutter, Limits, Search};
use leitong_corpora::keep::texts::TextCounts;
use leitong_corpora::keep::verify::TextFile;
use leitong_corpora::keep::{Choice, Spool, Spooled};
use leitong_corpora::sink::WholeLines;
use leitong_corpora::source::{InputRules, is_object};

/// Minimum of `--passage-letters`. Below it, ordinary phrases are passages.
const LETTERS_MIN: i64 = 20;

#[derive(Debug, Args)]
#[group(id = "passage_options")]
pub(super) struct Arguments {
    /// Drop documents that share a passage with any string in this file of JSON lines or Parquet, such as a
    /// benchmark. May be given several times
    #[arg(long, value_name = "FILE", help_heading = "Passages")]
    against: Vec<PathBuf>,
    /// Write the passages that many kept documents have, one JSON object per line
    #[arg(long, value_name = "FILE", help_heading = "Passages")]
    pub(super) passages: Option<PathBuf>,
    /// Cut these passages out of the texts of --as text
    #[arg(long, requires = "keep", help_heading = "Passages")]
    pub(super) cut: bool,
    /// Minimum number of letters of a passage. An ideograph counts as three
    #[arg(
        long,
        value_name = "N",
        default_value_t = 60,
        value_parser = clap::value_parser!(u32).range(LETTERS_MIN..=10_000),
        help_heading = "Passages"
    )]
    passage_letters: u32,
    /// Minimum number of documents that have a passage which is listed or cut
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
    pub(super) fn compares(&self) -> bool {
        !self.against.is_empty()
    }

    /// Returns true if the texts of all documents are needed at the end of the run.
    pub(super) fn needs_texts(&self) -> bool {
        self.compares() || self.repeats()
    }

    /// Returns true if passages that are in many documents are searched for.
    fn repeats(&self) -> bool {
        self.passages.is_some() || self.cut
    }

    /// Returns the files of benchmarks.
    pub(super) fn benchmarks(&self) -> &[PathBuf] {
        &self.against
    }

    fn limits(&self) -> Limits {
        Limits {
            letters_min: self.passage_letters,
            documents_min: self.passage_documents,
            memory_bytes: (self.passage_memory as usize) << 20,
        }
    }

    /// Returns the options as they were given on the command line, but for the name of the output.
    pub(super) fn options(&self) -> impl Iterator<Item = String> {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let against = self
            .against
            .iter()
            .map(move |path| format!("--against {} ({} bytes)", path.display(), bytes(path)));
        let limits = self.needs_texts().then(|| {
            let Limits { letters_min, documents_min, .. } = self.limits();
            format!("--passage-letters {letters_min} --passage-documents {documents_min}")
        });
        against.chain(limits).chain(self.cut.then(|| "--cut".to_owned()))
    }

    /// Reads the benchmarks, if there are any.
    pub(super) fn read_benchmarks(
        &self,
        config: &Config,
        rules: &InputRules,
    ) -> anyhow::Result<Option<Benchmarks>> {
        if !self.compares() {
            return Ok(None);
        }
        let segmenter = settings::segmenter(config)?;
        let normalised = |text: &str| {
            // A line feed ends a paragraph, and each paragraph has its own script.
            let lines: Vec<String> = text.lines().map(|line| segmenter.normalized(line)).collect();
            lines.join("\n")
        };
        let limits = self.limits();
        let mut benchmarks = Benchmarks::new(limits.letters_min, limits.memory_bytes);
        for path in &self.against {
            if !is_object(path) && !path.is_file() {
                return Err(wrong(format_args!("--against {}: there is no such file", path.display())));
            }
            benchmarks.add_items(path, rules, &normalised).with_context(|| {
                format!(
                    "--against {}: cannot read the benchmark (texts may take {} MB, see --passage-memory)",
                    path.display(),
                    self.passage_memory
                )
            })?;
        }
        let (found, short) = (benchmarks.len(), benchmarks.short());
        if found == 0 {
            return Err(wrong(format_args!(
                "--against: the benchmarks have no text of at least {} letters; lower --passage-letters, or \
                 name other files",
                limits.letters_min
            )));
        }
        if short > 0 {
            terminal::note(format_args!(
                "{short} of {} texts in the benchmarks have fewer than {} letters and are not looked for \
                 (--passage-letters)",
                found as u64 + short,
                limits.letters_min
            ));
        }
        Ok(Some(benchmarks))
    }

    /// Lists the passages that are in many of the documents that are kept. Returns the cutter, if they are to be cut.
    pub(super) fn find_repeated(
        &self,
        (spooled, choice, texts): (&mut Spooled, &Choice, &TextFile),
        (config, folder): (&Config, &Path),
    ) -> anyhow::Result<Option<Cutter>> {
        if !self.repeats() {
            return Ok(None);
        }
        let mut search = Search::new(self.limits(), folder, texts, choice);
        let frequent = search.frequent(spooled).context("cannot find passages")?;
        note_not_searched(search.counts().not_searched);
        if let Some(path) = &self.passages {
            let cannot = || format!("cannot write {}", path.display());
            let mut lines = WholeLines::create(path).with_context(cannot)?;
            let Counts { searched, passages, .. } =
                search.list(spooled, &frequent, &mut lines).with_context(cannot)?;
            terminal::note(format_args!(
                "passages: {passages} are in {} documents or more, of {searched} that are kept",
                self.passage_documents
            ));
        }
        if !self.cut {
            return Ok(None);
        }
        let segmenter = settings::segmenter(config)?;
        let normalise = Box::new(move |line: &str| segmenter.normalized(line));
        Ok(Some(Cutter::new(self.passage_letters, frequent, normalise)))
    }
}

/// Reports what was cut out of texts.
pub(super) fn note_cut(counts: &TextCounts) {
    let (documents, Cut { passages, bytes, left }, emptied) = counts.cut();
    terminal::note(format_args!(
        "cut: {passages} passages ({:.1} MB) out of {documents} documents",
        bytes as f64 / 1e6
    ));
    if emptied > 0 {
        terminal::note(format_args!(
            "{emptied} of these documents have no text any more; they are written with text \"\""
        ));
    }
    if left > 0 {
        terminal::note(format_args!(
            "{left} lines keep a passage, because normalising changes their number of letters, so its place \
             is uncertain"
        ));
    }
}

/// Compares all documents with the benchmarks.
pub(super) fn compare(
    spooled: &mut Spooled,
    texts: &TextFile,
    benchmarks: &Benchmarks,
    searched: Spool,
) -> anyhow::Result<Spooled> {
    let (searched, Contaminated { documents, not_searched }) = benchmarks
        .find_in_all(spooled, texts, searched)
        .context("cannot compare documents with benchmarks")?;
    terminal::note(format_args!(
        "benchmarks: {documents} documents contain a passage of {} letters or more and are dropped",
        benchmarks.letters_min()
    ));
    note_not_searched(not_searched);
    Ok(searched)
}

fn note_not_searched(count: u64) {
    if count > 0 {
        terminal::note(format_args!(
            "{count} documents are not searched for passages, since they have no main text (see the reasons of \
             undecidable pages)"
        ));
    }
}
