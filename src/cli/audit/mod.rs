//! `leitong audit`: finds out if the content of removed documents is in the documents that were kept, whatever tool
//! removed them, and counts the answers of a person who has looked at a sample.

mod answers;
mod removed;
mod sample;
mod summary;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use rayon::prelude::*;

use crate::cli::files::documents::{self, UnreadRecords};
use crate::cli::files::parts::{Overwrite, Parts};
use crate::cli::files::receipt::Receipt;
use crate::cli::settings::{self, Wrong, wrong};
use leitong_base::record::{LogRecord, Place};
use leitong_base::terminal;
use leitong_formats::source::{FolderContent, FoundFiles, InputNames, Inputs, Record};
use leitong_http::console::{Pair, Review, file_of_review};
use leitong_keep::sink::WholeLines;
use leitong_keep::{AuditOutcome, Audited, Auditor, LostMax};
use leitong_pipeline::NoPage;
use leitong_pipeline::comparison::{Comparer, Side};
use leitong_pipeline::config::Config;
use leitong_pipeline::{CompressedTexts, FingerprintStage, Fingerprinted, Workspace};
use leitong_text::page::mapping::{MessageOutcome, pointer_to_field};
use leitong_text::page::{Body, Page};
use removed::{Removals, has_flag};
use sample::Sampler;
use summary::{Summary, source};

/// Number of records that are fingerprinted together.
const BATCH_RECORDS: usize = 1_024;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong audit --kept kept/ --removed removed/ > audit.jsonl
  leitong audit --kept crawl.jsonl.gz --removed-ids minhash/remove_ids --output audit.jsonl
  leitong audit --kept all.parquet --removed-if is_duplicate --output audit.jsonl --report review.html
  leitong audit --answers answers.json
  leitong audit --receipt receipt.json")]
pub(super) struct Arguments {
    /// Files or folders with the documents that were kept or, with --removed-ids or --removed-if, with all documents
    #[arg(long, value_name = "PATH", num_args = 1.., required_unless_present_any = ["answers", "receipt"])]
    kept: Vec<PathBuf>,
    /// Files or folders with the documents that were removed
    #[arg(long, value_name = "PATH", num_args = 1..)]
    removed: Vec<PathBuf>,
    /// Files or folders that list the removed documents: `.remove` files of datatrove; or ids or urls, one per line, as
    /// JSON, or in a table
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with = "removed")]
    removed_ids: Vec<PathBuf>,
    /// Field of --removed-ids with the id
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,
    /// Field of documents that is true if they were removed
    #[arg(long, value_name = "NAME", conflicts_with_all = ["removed", "removed_ids"])]
    removed_if: Option<String>,
    /// File for the results, one JSON object for each removed document; `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write a page on which a person judges a sample of removals if the name ends in .html, otherwise the summary: JSON
    /// if it ends in .json, else text
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Number of removals on the page
    #[arg(long, value_name = "N", default_value_t = 50)]
    sample: usize,
    /// Seed by which the sample is drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How much of a document may be lost, as in `dedup --verify-lost-max`
    #[arg(long, value_name = "SHARE,LETTERS", default_value_t)]
    lost_max: LostMax,
    /// Print the share of wrong removals, with its interval, from a file that the page has saved
    #[arg(long, value_name = "FILE", exclusive = true)]
    answers: Option<PathBuf>,
    /// Compare the files of a run with the receipt that `dedup --receipt` wrote
    #[arg(long, value_name = "FILE", exclusive = true)]
    receipt: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.answers {
        documents::print(&answers::text(path)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &arguments.receipt {
        let (is_same, result) = Receipt::check(path)?;
        documents::print(&result)?;
        return Ok(if is_same { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let config = settings::config(arguments.config.as_deref(), None, None)?;
    let audit = Audit::begin(arguments, &config)?;
    audit.run()
}

/// An audit that is to be run.
struct Audit<'a> {
    arguments: &'a Arguments,
    config: &'a Config,
    /// The files with documents: first those of `--kept`, then those of `--removed`.
    files: Vec<PathBuf>,
    /// Number of files of `--kept`.
    kept_files: usize,
    removals: Removals,
    parts: Parts,
}

/// The content of a record.
enum Read {
    Document { fingerprinted: Box<Fingerprinted>, has_text: bool, is_flagged: Option<bool> },
    Skipped,
    Unreadable(Place, NoPage),
}

impl<'a> Audit<'a> {
    fn begin(arguments: &'a Arguments, config: &'a Config) -> anyhow::Result<Self> {
        let Arguments { kept, removed, removed_ids, removed_if, report, output, .. } = arguments;
        if removed.is_empty() && removed_ids.is_empty() && removed_if.is_none() {
            return Err(wrong(
                "name the documents that were removed with --removed, --removed-ids or --removed-if",
            ));
        }
        let mut files = found(kept)?;
        let kept_files = files.len();
        files.extend(found(removed)?);
        let is_page = report.as_deref().is_some_and(is_html);
        if let Some(path) = files.iter().find(|path| is_page && documents::is_read_once(path)) {
            return Err(wrong(format_args!(
                "{}: can be read only once, but --report reads documents twice; write it to a file first",
                path.display()
            )));
        }
        let mut outputs = vec![("--output", output.clone())];
        outputs.extend(report.iter().map(|path| ("--report", path.clone())));
        let inputs: Vec<PathBuf> = files.iter().chain(removed_ids).cloned().collect();
        let parts = Parts::begin_checked(&outputs, &inputs, &[], arguments.overwrite)?;
        let removals = match removed_if {
            Some(_) => Removals::default(),
            None => Removals::read(removed_ids, &arguments.id_field, config)?,
        };
        Ok(Self { arguments, config, files, kept_files, removals, parts })
    }

    fn run(mut self) -> anyhow::Result<ExitCode> {
        let stage = FingerprintStage::new(self.config.clone()).map_err(Wrong::from)?;
        let stage = stage.compressing_texts(CompressedTexts::All);
        let folder = std::env::temp_dir();
        let mut auditor = Auditor::new(Arc::clone(stage.detector()), self.arguments.lost_max, &folder)
            .with_context(|| format!("cannot write to {}", folder.display()))?;
        let (documents, unread) = self.read(&stage, &mut auditor)?;
        let removed = auditor.removed();
        if removed == 0 {
            self.removals.note_missing();
            return Err(wrong("no document was removed, so there is nothing to audit; check the names"));
        }
        let mut out = WholeLines::create(&self.arguments.output)?;
        let (mut summary, mut sampler) =
            (Summary::new(documents - removed), Sampler::new(self.arguments.seed));
        auditor.audit(0..removed, |audited| {
            summary.count(&audited);
            sampler.add(audited.outcome, &source(&audited.removed));
            anyhow::Ok(out.push(&audited)?)
        })?;
        out.flush()?;
        terminal::note_lines(summary.text());
        self.report(&stage, &mut auditor, &summary, &sampler)?;
        self.parts.finish()?;
        let status = unread.finish();
        Ok(if self.removals.note_missing() { ExitCode::from(3) } else { status })
    }

    /// Adds all documents to the audit. Returns their number, and the records that cannot be read.
    fn read(
        &mut self,
        stage: &FingerprintStage,
        auditor: &mut Auditor,
    ) -> anyhow::Result<(usize, UnreadRecords)> {
        let inputs = documents::open(&self.files)?;
        let mut names = InputNames::new(inputs.iter().map(|input| Arc::clone(&input.name)).collect());
        let flag = self.arguments.removed_if.as_deref();
        let mut config = self.config.clone();
        // A table is read with the column of the flag.
        config.input.passthrough.0.extend(flag.map(|flag| ("removed".to_owned(), pointer_to_field(flag))));
        let source = Inputs::new(inputs, settings::input_rules(&config)?, Arc::default());
        let (mut documents, mut skipped, mut flags, mut unread) = (0, 0_u64, 0_u64, UnreadRecords::default());
        let mut take = |records: &mut Vec<Record>| -> anyhow::Result<()> {
            let read = std::mem::take(records).into_par_iter();
            let read: Vec<Read> = read
                .map_init(
                    || stage.workspace(),
                    |workspace, record| read_record(stage, flag, record, workspace),
                )
                .collect();
            for read in read {
                let (fingerprinted, has_text, is_flagged) = match read {
                    Read::Skipped => {
                        skipped += 1;
                        continue;
                    }
                    Read::Unreadable(place, no_page) => {
                        unread.count(&place, &no_page);
                        continue;
                    }
                    Read::Document { fingerprinted, has_text, is_flagged } => {
                        (fingerprinted, has_text, is_flagged)
                    }
                };
                let Fingerprinted { record: Ok(LogRecord::Page(record)), texts, .. } = *fingerprinted else {
                    continue;
                };
                let (file, _) = names.find(&record.source).context("a record of no input")?;
                documents += 1;
                flags += u64::from(is_flagged.is_some());
                let is_listed = self.removals.take(file, has_text, &record);
                let is_removed = file >= self.kept_files || is_listed || is_flagged == Some(true);
                auditor
                    .add(&record, texts.normalised.as_deref(), is_removed)
                    .context("cannot store a text")?;
            }
            Ok(())
        };
        let mut batch = Vec::new();
        documents::for_each_record_of(source, |record| {
            batch.push(record);
            if batch.len() == BATCH_RECORDS { take(&mut batch) } else { Ok(()) }
        })?;
        take(&mut batch)?;
        documents::note_skipped(skipped);
        match flag {
            Some(flag) if flags == 0 => Err(wrong(format_args!(
                "--removed-if {flag}: no document has this field, or its value is neither true nor false"
            ))),
            _ => Ok((documents, unread)),
        }
    }

    /// Writes the report, if one was requested.
    fn report(
        &self,
        stage: &FingerprintStage,
        auditor: &mut Auditor,
        summary: &Summary,
        sampler: &Sampler,
    ) -> anyhow::Result<()> {
        let Some(path) = &self.arguments.report else { return Ok(()) };
        if !is_html(path) {
            let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
            let contents = if is_json { serde_json::to_string(summary)? + "\n" } else { summary.text() };
            return documents::write(path, &contents);
        }
        let (mut drawn, mut pages) = (Vec::new(), HashMap::new());
        auditor.audit(sampler.draw(self.arguments.sample), |audited| {
            let (removed, kept) = audited.numbers;
            pages.extend([Some(removed), kept].into_iter().flatten().map(|number| (number, None)));
            drawn.push(audited);
            anyhow::Ok(())
        })?;
        self.read_again(stage, &mut pages)?;
        let comparer = Comparer::new(self.config.clone()).map_err(Wrong::from)?;
        let pairs = drawn.into_iter().map(|audited| pair(audited, &pages, &comparer));
        let review = Review {
            seed: self.arguments.seed,
            removed: auditor.removed(),
            same_text: summary.with(AuditOutcome::SameText),
            pairs: pairs.collect::<anyhow::Result<_>>()?,
        };
        documents::write(path, &file_of_review(&review))
    }

    /// Reads the inputs until the pages with these numbers are found.
    fn read_again(
        &self,
        stage: &FingerprintStage,
        pages: &mut HashMap<usize, Option<Page>>,
    ) -> anyhow::Result<()> {
        let mut missing = pages.len();
        let mut source = documents::open_records(&self.files, self.config)?;
        let mut numbers = 0..;
        for record in source.records() {
            let record = record.context("cannot read the inputs again")?;
            let Some(page) = stage.reader().page(&record.place, record.payload) else { continue };
            if let Some(wanted) = numbers.next().and_then(|number| pages.get_mut(&number)) {
                *wanted = Some(page);
                missing -= 1;
            }
            if missing == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the files that `paths` stand for.
fn found(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let found = FoundFiles::find(paths, FolderContent::Documents)?;
    found.report_left_out(FolderContent::Documents);
    Ok(found.files)
}

fn is_html(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| ["html", "htm"].iter().any(|html| extension.eq_ignore_ascii_case(html)))
}

fn read_record(
    stage: &FingerprintStage,
    flag: Option<&str>,
    record: Record,
    workspace: &mut Workspace,
) -> Read {
    let is_flagged = flag.and_then(|flag| has_flag(&record.payload, flag));
    match stage.reader().record_of_file(&record.place, record.payload) {
        Ok(MessageOutcome::Page(page)) => {
            let has_text = match &page.body {
                Body::Missing => false,
                Body::Text(text) => !text.is_empty(),
                _ => true,
            };
            let fingerprinted = Box::new(stage.process_page(record.place, *page, workspace));
            Read::Document { fingerprinted, has_text, is_flagged }
        }
        Ok(MessageOutcome::Skipped(_)) => Read::Skipped,
        Err(no_page) => Read::Unreadable(record.place, no_page),
    }
}

/// Returns a removal with both texts and what differs.
fn pair(audited: Audited, pages: &HashMap<usize, Option<Page>>, comparer: &Comparer) -> anyhow::Result<Pair> {
    let side = |number: usize| -> anyhow::Result<Side> {
        let page = pages.get(&number).and_then(Option::clone);
        let page = page.with_context(|| {
            format!("{}: an input has changed during the audit; run again", audited.removed.place)
        });
        Ok(comparer.side(String::new(), page?))
    };
    let (removed, kept) = audited.numbers;
    let removed = side(removed)?;
    let (kept, removed) = match kept.map(side).transpose()? {
        Some(kept) => {
            let sides = [kept, removed];
            let [of_kept, of_removed] = comparer.pieces(&sides);
            let [kept, removed] = sides;
            (Some((kept, of_kept)), (removed, of_removed))
        }
        None => {
            let none = vec![Vec::new(); removed.blocks.len()];
            (None, (removed, none))
        }
    };
    Ok(Pair { source: source(&audited.removed), audited, removed, kept })
}
