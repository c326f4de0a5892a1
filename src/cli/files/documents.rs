//! Reads input files into records and documents, for commands that need whole pages.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, bail};
use clap::Args;

use crate::cli::files::outputs::identity_of_input;
use crate::cli::files::parts::Overwrite;
use crate::cli::files::parts::Parts;
use crate::cli::settings;
use crate::cli::settings::Wrong;
use crate::cli::settings::wrong;
use leitong_base::record::Place;
use leitong_base::terminal;
use leitong_formats::source::{Input, Inputs, Payload, ReadSoFar, Record, WithoutRecords, is_object};
use leitong_keep::sink::WholeLines;
use leitong_pipeline::config::Config;
use leitong_pipeline::text_reader::TextReader;
use leitong_pipeline::{NoPage, PageReader};
use leitong_text::extract::Document;
use leitong_text::page::Page;
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
            count @ 2..=NAMED_MAX => {
                terminal::note(format_args!("{count} records cannot be read and are not part of the result"));
            }
            count => terminal::note(format_args!(
                "{count} records cannot be read and are not part of the result; the first {NAMED_MAX} of them are named \
                 above"
            )),
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

/// Calls `take` with each record of the inputs, in order, until it fails. Reports inputs without a record.
///
/// # Errors
/// The error of `take`; or an input cannot be read, or none has a page.
pub fn for_each_record(
    paths: &[PathBuf],
    config: &Config,
    take: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for_each_record_of(open_records(paths, config)?, take)
}

/// Calls `take` with each record of `source`, in order, until it fails. Reports inputs without a record.
pub(crate) fn for_each_record_of(
    mut source: Inputs,
    mut take: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for record in source.records() {
        take(record.context("cannot read the inputs")?)?;
    }
    check_records(source.read_so_far(), false)
}

/// Calls `take` with each page of the inputs, its place, and what `look` has found in its record, until it fails.
/// Reports records that are not pages, or cannot be read. Returns the exit status.
///
/// # Errors
/// The errors of [`for_each_record`].
pub fn for_each_page<T>(
    paths: &[PathBuf],
    config: &Config,
    look: impl Fn(&Payload) -> T,
    mut take: impl FnMut(&Place, Page, T) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let reader = PageReader::new(config).map_err(Wrong::from)?.without_urls();
    let (mut skipped, mut unread) = (0_u64, UnreadRecords::default());
    for_each_record(paths, config, |Record { place, payload, .. }| {
        let found = look(&payload);
        match reader.record_of_file(&place, payload) {
            Ok(MessageOutcome::Page(page)) => return take(&place, *page, found),
            Ok(MessageOutcome::Skipped(_)) => skipped += 1,
            Err(no_page) => unread.count(&place, &no_page),
        }
        Ok(())
    })?;
    note_skipped(skipped);
    Ok(unread.finish())
}

/// Reports the number of records that are not pages, if there are any.
pub(crate) fn note_skipped(skipped: u64) {
    if skipped > 0 {
        terminal::note(format_args!("{skipped} records are skipped: they are not pages"));
    }
}

/// Calls `take` with the id and the document of each page of the inputs that has a main text, and what `look` has found
/// in its record. Reports what is left out. Returns the exit status.
///
/// # Errors
/// The errors of [`for_each_record`].
pub fn for_each_document<T>(
    paths: &[PathBuf],
    config: &Config,
    look: impl Fn(&Payload) -> T,
    mut take: impl FnMut(String, Document, T),
) -> anyhow::Result<ExitCode> {
    let mut reader = TextReader::new(config);
    let mut without_text = 0_u64;
    let status = for_each_page(paths, config, look, |_, page, found| {
        match reader.decode(&page).ok().filter(|reading| reading.no_content.is_none()) {
            Some(reading) => take(page.id, reading.document, found),
            None => without_text += 1,
        }
        Ok(())
    })?;
    if without_text > 0 {
        terminal::note(format_args!("{without_text} pages are skipped: they have no main text"));
    }
    Ok(status)
}

impl Counted {
    /// Calls `take` with the terms of each page. Returns the exit status, and the output for [`Self::write`].
    pub(crate) fn for_each(&self, mut take: impl FnMut(&Terms)) -> anyhow::Result<(ExitCode, Parts)> {
        let output = [("--output", self.output.clone())];
        let parts = Parts::begin_checked(&output, &self.inputs, &[], self.overwrite)?;
        let config = settings::config(self.config.as_deref(), None, None)?;
        let segmenter = settings::segmenter(&config)?;
        let mut terms = Terms::default();
        let status = for_each_document(
            &self.inputs,
            &config,
            |_| (),
            |_, document, ()| {
                segmenter.segment(&document, &mut terms);
                take(&terms);
            },
        )?;
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
    path == Path::new("-") || (path.exists() && !path.is_dir() && !Input::is_lasting(path))
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
///
/// # Errors
/// An input cannot be opened, or a setting of `[input]` is invalid.
pub fn open_records(paths: &[PathBuf], config: &Config) -> anyhow::Result<Inputs> {
    Ok(Inputs::new(open(paths)?, settings::input_rules(config)?, Arc::default()))
}

/// Creates an output of lines, or its part; `-` is standard output.
///
/// # Errors
/// The operating system's error.
pub(crate) fn create(path: &Path) -> anyhow::Result<WholeLines> {
    WholeLines::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes text for people to standard output.
///
/// # Errors
/// The operating system's error.
pub fn print(text: &str) -> anyhow::Result<()> {
    terminal::Streams::print(text).context("cannot write to standard output")
}

/// Writes text to the part of an output, or to standard output for `-`.
///
/// # Errors
/// The operating system's error.
pub fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return print(contents);
    }
    let part = WholeLines::part_of(path);
    std::fs::write(part.as_deref().unwrap_or(path), contents)
        .with_context(|| format!("cannot write {}", path.display()))
}
