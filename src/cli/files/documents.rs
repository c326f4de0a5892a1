//! Reads input files into records and documents, for commands that need whole pages.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, bail};
use clap::Args;

use crate::cli::files::outputs::identity_of_input;
use crate::cli::files::parts::{Overwrite, Parts};
use crate::cli::settings::{self, Wrong, wrong};
use leitong_base::record::Place;
use leitong_base::terminal;
use leitong_base::work::Work;
use leitong_corpora::sink::WholeLines;
use leitong_corpora::source::{
    Input, Inputs, ReadSoFar, Record, WithoutRecords, can_be_read_again, is_object,
};
use leitong_pipeline::config::Config;
use leitong_pipeline::document;
use leitong_pipeline::{NoPage, PageReader};
use leitong_text::extract::{Document, Extractor};
use leitong_text::page::mapping::MessageOutcome;
use leitong_text::segment::Terms;

/// Arguments of a command that counts something over all pages.
#[derive(Debug, Args)]
pub(crate) struct Counted {
    /// Configuration file for extraction and segmentation
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File to write to; `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Input files, in any format that `dedup` reads
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
}

/// Maximum number of inputs without a record, and of unreadable records, that are named; further ones are only
/// counted.
const NAMED_MAX: usize = 20;

/// Number of records that cannot be read. It decides the exit status.
#[derive(Debug, Default)]
pub(crate) struct UnreadRecords(usize);

impl UnreadRecords {
    /// Counts a record, and reports it unless [`NAMED_MAX`] records were reported already.
    pub(crate) fn count(&mut self, place: &Place, NoPage { cause, message, .. }: &NoPage) {
        self.0 += 1;
        if self.0 <= NAMED_MAX {
            terminal::note(format_args!("{place}: {message} ({cause})"));
        }
    }

    /// Reports the number of records, and returns the exit status.
    pub(crate) fn finish(self) -> ExitCode {
        match self.0 {
            0 => return ExitCode::SUCCESS,
            1 => terminal::note("1 record cannot be read and is not part of the result"),
            count => {
                let named = match count > NAMED_MAX {
                    true => format!("; the first {NAMED_MAX} of them are named above"),
                    false => String::new(),
                };
                terminal::note(format_args!(
                    "{count} records cannot be read and are not part of the result{named}"
                ));
            }
        }
        ExitCode::from(3)
    }
}

/// Reports the inputs that have no record.
///
/// # Errors
/// Fails if no input had a record, unless all inputs are empty. Such a run must not look like a success.
pub(crate) fn check_records(read: &ReadSoFar, is_resumed: bool) -> anyhow::Result<()> {
    let without_records = read.without_records();
    without_records.iter().take(NAMED_MAX).for_each(terminal::note);
    if without_records.len() > NAMED_MAX {
        terminal::note(format_args!("{} more inputs have no page", without_records.len() - NAMED_MAX));
    }
    let holds_something = without_records.iter().any(WithoutRecords::holds_something);
    if holds_something && !is_resumed && read.records.load(Ordering::Relaxed) == 0 {
        bail!("no input has a page; name files that contain pages");
    }
    Ok(())
}

/// Calls `take` with each record of `source`, in order, until it fails. Reports inputs without a record.
pub(crate) fn for_each_record(
    mut source: Inputs,
    mut take: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for record in source.records() {
        take(record.context("cannot read the inputs")?)?;
    }
    check_records(source.read_so_far(), false)
}

impl Counted {
    /// Calls `take` with the terms of each page. Returns the exit status, and the output for [`Self::write`].
    pub(crate) fn for_each(&self, mut take: impl FnMut(&Terms)) -> anyhow::Result<(ExitCode, Parts)> {
        let output = [("--output", self.output.clone())];
        let parts = Parts::begin_checked(&output, &self.inputs, &[], self.overwrite)?;
        let config = settings::config(self.config.as_deref(), None, None)?;
        let segmenter = settings::segmenter(&config)?;
        let mut terms = Terms::default();
        let status = for_each(&self.inputs, &config, |document| {
            segmenter.segment(&document, &mut terms);
            take(&terms);
        })?;
        Ok((status, parts))
    }

    /// Writes the result to the output.
    pub(crate) fn write(&self, parts: Parts, contents: &str) -> anyhow::Result<()> {
        write(&self.output, contents)?;
        parts.finish()
    }
}

/// Returns true if the file exists and can be read only once, such as a pipe. `-` is standard input.
pub(crate) fn is_read_once(path: &Path) -> bool {
    path == Path::new("-") || (path.exists() && !path.is_dir() && !can_be_read_again(path))
}

/// Opens all inputs before anything is written, to report a mistyped name at once.
///
/// # Errors
/// An input cannot be opened, or one that can be read only once is named twice.
pub(crate) fn open(paths: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    let (mut known, mut repeated) = (HashSet::new(), 0);
    let open = |path: &PathBuf| {
        let input = Input::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        if is_object(path) || known.insert(identity_of_input(path)) {
            return Ok(input);
        }
        if !input.can_be_read_again() {
            return Err(wrong(format_args!(
                "{}: is named twice, but can be read only once; name it once, or write it to a file first",
                path.display()
            )));
        }
        repeated += 1;
        if repeated <= NAMED_MAX {
            terminal::note(format_args!(
                "{}: is named twice, under this or another name, so all its pages are read twice",
                path.display()
            ));
        }
        Ok(input)
    };
    paths.iter().map(open).collect()
}

/// Opens all inputs and returns their records.
pub(crate) fn source(paths: &[PathBuf], config: &Config) -> anyhow::Result<Inputs> {
    Ok(Inputs::new(open(paths)?, settings::input_rules(config)?, Arc::default()))
}

/// Calls `take` with the document of each page that has a main text. Reports records that cannot be
/// read, and the number of pages without a main text. Returns the exit status.
fn for_each(inputs: &[PathBuf], config: &Config, mut take: impl FnMut(Document)) -> anyhow::Result<ExitCode> {
    let source = source(inputs, config)?;
    let reader = PageReader::new(config).map_err(Wrong::from)?.without_urls();
    let mut extractor = Extractor::new(&config.extract);
    let (mut left_out, mut unread) = (0_u64, UnreadRecords::default());
    for_each_record(source, |record| {
        let page = match reader.record_of_file(&record.place, record.payload) {
            Ok(MessageOutcome::Page(page)) => Some(page),
            Ok(MessageOutcome::Skipped(_)) => None,
            Err(no_page) => {
                unread.count(&record.place, &no_page);
                return Ok(());
            }
        };
        let mut work = Work::up_to(config.page.work_max);
        let mut document = |page: &_| {
            let reading = document::read(page, &mut extractor, &mut work).ok()?;
            reading.no_content.is_none().then_some(reading.document)
        };
        match page.and_then(|page| document(&page)) {
            Some(document) => take(document),
            None => left_out += 1,
        }
        Ok(())
    })?;
    if left_out > 0 {
        terminal::note(format_args!("{left_out} records are skipped: they are not pages with a main text"));
    }
    Ok(unread.finish())
}

/// Writes text for people to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    terminal::Streams::print(text).context("cannot write to standard output")
}

/// Writes text to the part of an output, or to standard output for `-`.
pub(crate) fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return print(contents);
    }
    let part = WholeLines::part_of(path);
    std::fs::write(part.as_deref().unwrap_or(path), contents)
        .with_context(|| format!("cannot write {}", path.display()))
}
