//! The pages of the input files, in any format that `leitong dedup` reads.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, bail};
use leitong::pipeline::{PageReader, document};
use leitong::{Config, Extractor};
use leitong_base::record::Place;
use leitong_base::terminal;
use leitong_base::work::Work;
use leitong_formats::source::{Input, InputRules, Inputs, Payload, Record};
use leitong_text::page::Page;
use leitong_text::page::mapping::MessageOutcome;

use super::wrong;
use crate::pages::{EvalPage, Label};

/// Maximum number of unreadable records that are named; further ones are only counted.
const NAMED_MAX: usize = 20;

/// Opens all inputs, and returns their records.
pub(super) fn open(paths: &[PathBuf], config: &Config) -> anyhow::Result<Inputs> {
    let open = |path: &PathBuf| Input::open(path).with_context(|| format!("cannot read {}", path.display()));
    let inputs = paths.iter().map(open).collect::<Result<_, _>>()?;
    let rules = InputRules::new(&config.page, &config.input).map_err(|faults| wrong(faults.join("\n")))?;
    Ok(Inputs::new(inputs, rules, Arc::default()))
}

/// Calls `take` with each record of the inputs, in order, until it fails.
pub(super) fn for_each_record(
    paths: &[PathBuf],
    config: &Config,
    mut take: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut source = open(paths, config)?;
    for record in source.records() {
        take(record.context("cannot read the inputs")?)?;
    }
    let without_records = source.read_so_far().without_records();
    without_records.iter().take(NAMED_MAX).for_each(terminal::note);
    if source.read_so_far().records.load(Ordering::Relaxed) == 0 {
        bail!("no input has a page; name files that contain pages");
    }
    Ok(())
}

/// Calls `take` with each page of the inputs, its place and its label. Reports what cannot be read, and returns the
/// exit status.
pub(super) fn for_each_page(
    paths: &[PathBuf],
    config: &Config,
    mut take: impl FnMut(Place, Page, Option<Label>) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let reader = PageReader::new(config).map_err(wrong)?.without_urls();
    let (mut skipped, mut unread) = (0_u64, 0);
    for_each_record(paths, config, |record| {
        let label = match &record.payload {
            Payload::Json(line) => Label::from_line(line),
            _ => None,
        };
        match reader.record_of_file(&record.place, record.payload) {
            Ok(MessageOutcome::Page(page)) => return take(record.place, *page, label),
            Ok(MessageOutcome::Skipped(_)) => skipped += 1,
            Err(no_page) => {
                unread += 1;
                if unread <= NAMED_MAX {
                    terminal::note(format_args!("{}: {} ({})", record.place, no_page.message, no_page.cause));
                }
            }
        }
        Ok(())
    })?;
    if skipped > 0 {
        terminal::note(format_args!("{skipped} records are not pages, and are skipped"));
    }
    if unread == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    terminal::note(format_args!("{unread} records cannot be read and are not part of the result"));
    Ok(ExitCode::from(3))
}

/// Returns all pages that have a main text, and the exit status.
pub(super) fn documents(paths: &[PathBuf], config: &Config) -> anyhow::Result<(Vec<EvalPage>, ExitCode)> {
    let mut extractor = Extractor::new(&config.extract);
    let (mut pages, mut without_text) = (Vec::new(), 0_u64);
    let status = for_each_page(paths, config, |_, page, label| {
        let reading = document::read(&page, &mut extractor, &mut Work::up_to(config.page.work_max));
        match reading {
            Ok(reading) if reading.no_content.is_none() => {
                pages.push(EvalPage { id: page.id, document: reading.document, label });
            }
            _ => without_text += 1,
        }
        Ok(())
    })?;
    if without_text > 0 {
        terminal::note(format_args!("{without_text} pages are skipped: they have no main text"));
    }
    if pages.len() < 2 {
        return Err(wrong(
            "fewer than two pages have a main text, so there is nothing to compare; name more pages",
        ));
    }
    Ok((pages, status))
}

/// Returns the contents of a list of synonyms; an empty text if there is none.
pub(super) fn synonyms(path: Option<&Path>) -> anyhow::Result<String> {
    path.map_or_else(
        || Ok(String::new()),
        |path| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display())),
    )
}
