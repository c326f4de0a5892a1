//! The options of `leitong dedup` that write documents, clusters and reports, and the work that they cause.
//!
//! In: decisions in log order, and the inputs, which are read a second time. Out: the documents that are kept
//! and those that are dropped, the clusters, and a report. If the choice of documents is known at once, they
//! are copied while the run goes on. Otherwise the decisions wait in a [`Spool`] on disk until the run is
//! over.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::settings::wrong;
use super::texts;
use crate::checkpoint::{Checkpoint, CheckpointDir};
use crate::config::Config;
use leitong_base::terminal;
use leitong_corpora::keep::copy::{Outputs, Ranked, Ranker, Walk, collect_referents};
use leitong_corpora::keep::forms;
use leitong_corpora::keep::output::{Output, Plan};
use leitong_corpora::keep::prefer::{Choice, Rules};
use leitong_corpora::keep::referents::Referents;
use leitong_corpora::keep::report::{self, Report};
use leitong_corpora::keep::sink::Kept;
use leitong_corpora::keep::spool::Spool;
use leitong_corpora::keep::texts::{TextCounts, TextPlan, Texts};
use leitong_corpora::keep::{Copied, Copier, Prefer, clusters};
use leitong_corpora::sink::whole_lines::WholeLines;
use leitong_corpora::source::location::{can_be_read_again, is_object};
use leitong_corpora::source::reading::Reading;
use leitong_corpora::source::rules::InputRules;

#[derive(Debug, Args)]
#[group(id = "documents")]
pub(super) struct Arguments {
    /// Write the documents that are kept, unchanged: to one file, or to a folder with one file per input.
    /// Compressed if the name ends in .gz or .zst. Verdicts are then written only with --output
    #[arg(long, value_name = "FILE|DIR", help_heading = "Documents")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    texts: texts::Arguments,
    /// Write the other documents, with the added fields `leitong_cluster`, `leitong_kind` and
    /// `leitong_canonical`
    #[arg(long, value_name = "FILE|DIR", help_heading = "Documents")]
    drop: Option<PathBuf>,
    /// Add these fields to kept documents as well
    #[arg(long, requires = "keep", help_heading = "Documents")]
    annotate: bool,
    /// Replace each duplicate from a WARC file by a `revisit` record in the output of --keep. It has the
    /// duplicate's HTTP headers and refers to the record with the same payload or, for a near-duplicate, to
    /// the record that is kept
    #[arg(long, requires = "keep", help_heading = "Documents")]
    revisit: bool,
    /// Document of each cluster to keep: first, longest (main text), newest (fetched_at), published (earliest
    /// by its own date), or highest:/POINTER or lowest:/POINTER for a number in the document
    #[arg(long, value_name = "WHICH", default_value = "first", help_heading = "Documents")]
    prefer: Prefer,
    /// Keep one document per host in each cluster
    #[arg(long, help_heading = "Documents")]
    one_per_host: bool,
    /// Drop undecidable pages instead of keeping them
    #[arg(long, help_heading = "Documents")]
    drop_undecidable: bool,
    /// Write the clusters with their members, one JSON object per line
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    clusters: Option<PathBuf>,
    /// Write a report of the run: largest clusters, hosts, likely templates. JSON or HTML if the name ends
    /// so, otherwise text
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    report: Option<PathBuf>,
}

impl Arguments {
    /// Returns true if documents are written. Verdicts then go to a file or nowhere.
    pub(super) fn copies(&self) -> bool {
        self.keep.is_some() || self.drop.is_some()
    }

    /// Returns the files that are written for inputs with these `names`, each with its option.
    pub(super) fn files(&self, names: &[PathBuf]) -> Vec<(&'static str, PathBuf)> {
        let folders = [("--keep", &self.keep), ("--drop", &self.drop)];
        let documents = folders.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
        let documents = documents.flat_map(|(option, path)| {
            Output::paths(path, names).into_iter().map(move |file| (option, file))
        });
        let clusters = self.clusters.iter().map(|path| ("--clusters", path.clone()));
        let report = self.report.iter().map(|path| ("--report", path.clone()));
        documents.chain(clusters).chain(report).collect()
    }

    /// Returns the options as they were given on the command line.
    pub(super) fn options(&self) -> Vec<String> {
        let paths = [
            ("--keep", &self.keep),
            ("--drop", &self.drop),
            ("--clusters", &self.clusters),
            ("--report", &self.report),
        ];
        let paths = paths
            .into_iter()
            .filter_map(|(option, path)| Some(format!("{option} {}", path.as_ref()?.display())));
        let flags = [
            ("--annotate", self.annotate),
            ("--revisit", self.revisit),
            ("--one-per-host", self.one_per_host),
            ("--drop-undecidable", self.drop_undecidable),
        ];
        let flags = flags.into_iter().filter(|(_, set)| *set).map(|(option, _)| option.to_owned());
        let preference = [format!("--prefer {}", self.prefer)];
        paths.chain(flags).chain(self.texts.options()).chain(preference).collect()
    }

    /// Rejects inputs that cannot be read a second time, and outputs in object stores.
    pub(super) fn check(&self, inputs: &[PathBuf]) -> anyhow::Result<()> {
        refuse_objects(&[
            ("--keep", &self.keep),
            ("--drop", &self.drop),
            ("--clusters", &self.clusters),
            ("--report", &self.report),
        ])?;
        self.texts.check(self.keep.as_deref(), self.revisit)?;
        for (option, path) in [("--keep", &self.keep), ("--drop", &self.drop)] {
            if let Some(ending) = path.as_deref().and_then(ending_not_written) {
                return Err(wrong(format_args!(
                    "{option} {}: {ending} files are not written; documents are written in the format of the inputs, and \
                     compressed if the name ends in .gz, .zst or .lz4; choose another name",
                    path.as_deref().unwrap_or(Path::new("")).display()
                )));
            }
        }
        let read_once = |path: &&PathBuf| !can_be_read_again(path);
        match inputs.iter().find(read_once) {
            Some(path) if self.copies() => Err(wrong(format_args!(
                "{}: can be read only once, but --keep and --drop read their inputs twice; write it to a file first",
                path.display()
            ))),
            None if self.copies() && inputs.is_empty() => Err(wrong(
                "--keep and --drop read their inputs twice, which standard input does not allow; name files",
            )),
            _ => Ok(()),
        }
    }
}

/// Endings of names that promise a format or compression that is not written.
const NOT_WRITTEN: [&str; 25] = [
    ".xz", ".bz2", ".lzma", ".lz", ".br", ".z", ".zip", ".7z", ".rar", ".tar", ".tgz", ".arrow", ".feather",
    ".orc", ".avro", ".npy", ".pkl", ".xls", ".xlsx", ".sqlite", ".db", ".html", ".htm", ".xml", ".pdf",
];

/// Returns the ending of a file's name that promises what is not written into it. A folder may have any name.
fn ending_not_written(path: &Path) -> Option<&'static str> {
    if path.is_dir() || path.to_string_lossy().ends_with('/') {
        return None;
    }
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let plain = [".gz", ".zst", ".lz4"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    NOT_WRITTEN.into_iter().find(|ending| plain.ends_with(ending))
}

/// Rejects outputs in object stores, before a folder called `s3:` is created.
pub(super) fn refuse_objects(outputs: &[(&str, &Option<PathBuf>)]) -> anyhow::Result<()> {
    let named = outputs.iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
    match named.into_iter().find(|(_, path)| is_object(path)) {
        None => Ok(()),
        Some((option, path)) => Err(wrong(format_args!(
            "{option} {}: outputs must be files; name a file, and copy it to the store after the run",
            path.display()
        ))),
    }
}

/// The documents of a run: where they go, and which of them are kept.
pub(super) struct Keeping<'a> {
    arguments: &'a Arguments,
    inputs: &'a [PathBuf],
    /// The first reading of each input, in which its pages were decided.
    readings: &'a [Arc<Reading>],
    input_rules: &'a InputRules,
    rules: Rules,
    /// The open outputs, until the copier takes them or the run is over.
    outputs: Option<Outputs>,
    /// The state of an earlier process when it was killed.
    checkpoint: Option<&'a Checkpoint>,
    /// Counts of the texts that are written, if any are.
    text_counts: Arc<TextCounts>,
}

impl<'a> Keeping<'a> {
    /// Opens the outputs for the documents of a run over `inputs`. Each input has the name of its file in
    /// folders and its first reading. The run begins at `log_offset`, or resumes at `checkpoint`.
    pub(super) fn begin(
        arguments: &'a Arguments,
        (inputs, names, readings): (&'a [PathBuf], &[PathBuf], &'a [Arc<Reading>]),
        (config, input_rules): (&Config, &'a InputRules),
        log_offset: u64,
        checkpoints: Option<&CheckpointDir>,
        checkpoint: Option<&'a Checkpoint>,
    ) -> anyhow::Result<Self> {
        let Arguments { one_per_host, drop_undecidable, .. } = *arguments;
        let rules = Rules { one_per_host, drop_undecidable, log_offset };
        let forms = if arguments.copies() { forms::of(inputs, input_rules)? } else { Vec::new() };
        let copies_at_once = arguments.prefer.is_known_at_once(rules);
        let folder = checkpoints.filter(|_| copies_at_once).map(CheckpointDir::folder);
        let output = |name, path: &Option<PathBuf>, is_annotated| {
            let Some(path) = path else { return Ok(None) };
            let checkpoints = folder.map(|folder| (name, folder.to_owned()));
            let waits = !copies_at_once;
            let plan = Plan { path, names, forms: &forms, is_annotated, checkpoints, waits };
            match checkpoint.and_then(|checkpoint| checkpoint.extents.get(name)) {
                None => Output::create(plan).map(Some),
                Some(extent) => Output::resume(plan, *extent).map(Some),
            }
        };
        let text_counts = Arc::new(TextCounts::default());
        let (unchanged, texts) = match &arguments.keep {
            Some(path) if arguments.texts.are_written() => {
                arguments.texts.check_fields(inputs, &forms, input_rules)?;
                let plan = TextPlan {
                    path: path.clone(),
                    inputs: inputs.to_vec(),
                    readings: readings.to_vec(),
                    rules: arguments.texts.rules(config, input_rules)?,
                    fields: arguments.texts.fields.clone(),
                    is_annotated: arguments.annotate,
                    converter: arguments.texts.converter(config)?,
                    counts: Arc::clone(&text_counts),
                    checkpoints: folder.map(Path::to_owned),
                    waits: !copies_at_once,
                };
                let extent = checkpoint.and_then(|checkpoint| checkpoint.extents.get("keep"));
                (&None, Some(Box::new(Texts::open(plan, extent.copied())?)))
            }
            keep => (keep, None),
        };
        let outputs = match arguments.copies() {
            true => Some(Outputs {
                keep: output("keep", unchanged, arguments.annotate)?,
                texts,
                drop: output("drop", &arguments.drop, true)?,
                annotate: arguments.annotate,
                revisit: referents(arguments, checkpoints.filter(|_| copies_at_once), checkpoint)?,
            }),
            false => None,
        };
        Ok(Self { arguments, inputs, readings, input_rules, rules, outputs, checkpoint, text_counts })
    }

    /// Returns true if the choice of a cluster's document is known while the run goes on.
    fn is_known_at_once(&self) -> bool {
        self.arguments.prefer.is_known_at_once(self.rules)
    }

    /// Returns a second reading of the inputs. Of tables it reads only the column `column`, if one is given.
    fn walk(&self, column: Option<String>) -> Walk {
        Walk::new(self.inputs.to_vec(), self.readings.to_vec(), self.input_rules.clone(), column)
    }

    /// Returns a copier that works while the run goes on, or `None` if the choice is known only at the end.
    pub(super) fn copier(&mut self) -> anyhow::Result<Option<Copier>> {
        let at_once = self.is_known_at_once();
        let Some(outputs) = self.outputs.take_if(|_| at_once) else { return Ok(None) };
        let mut copier = Copier::new(self.walk(None), outputs, Choice::first(self.rules));
        if let Some(checkpoint) = self.checkpoint {
            copier.pass_over(checkpoint.last)?;
        }
        Ok(Some(copier))
    }

    /// Returns the file in which decisions wait for the end of the run, or `None` if nothing needs them then.
    pub(super) fn spool(&self, checkpoints: Option<&CheckpointDir>) -> anyhow::Result<Option<Spool>> {
        let Arguments { keep, drop, clusters, report, .. } = self.arguments;
        let copies_later = self.arguments.copies() && !self.is_known_at_once();
        if clusters.is_none() && report.is_none() && !copies_later {
            return Ok(None);
        }
        if let Some(folder) = checkpoints {
            let path = folder.decisions();
            let extent = self.checkpoint.and_then(|checkpoint| checkpoint.extents.get("decisions"));
            let spool = Spool::at(&path, extent.map(|extent| extent.bytes));
            return Ok(Some(spool.with_context(|| format!("cannot write {}", path.display()))?));
        }
        let folder = folder_beside(&[keep, drop, clusters, report]);
        let spool =
            Spool::create(&folder).with_context(|| format!("cannot write into {}", folder.display()))?;
        Ok(Some(spool))
    }

    /// Copies the documents that had to wait, and writes the clusters and the report.
    pub(super) fn finish(self, kept: Kept) -> anyhow::Result<()> {
        let Kept { mut copied, spooled } = kept;
        if let Some(mut spooled) = spooled {
            let choice = match self.is_known_at_once() {
                true => Choice::first(self.rules),
                false => {
                    let (prefer, choice) = (self.arguments.prefer.clone(), Choice::ranked(self.rules));
                    let mut ranker = Ranker::new(self.walk(prefer.field()), prefer, choice);
                    spooled.each(|_, decision| ranker.rank(decision))?;
                    let ranked = ranker.finish();
                    self.check_field(&ranked)?;
                    ranked.choice
                }
            };
            if let Some(path) = &self.arguments.clusters {
                let cannot = || format!("cannot write {}", path.display());
                let mut lines = WholeLines::create(path).with_context(cannot)?;
                clusters::write(&mut spooled, &choice, &mut lines).with_context(cannot)?;
            }
            let [walk, first_walk] = [(); 2].map(|()| self.walk(None));
            if let Some(mut outputs) = self.outputs {
                if let Some(referents) = &mut outputs.revisit {
                    collect_referents(first_walk, &choice, &mut spooled, referents)?;
                }
                let mut copier = Copier::new(walk, outputs, choice);
                spooled.each(|_, decision| copier.copy(decision))?;
                copied = Some(copier.finish()?);
            }
            if let Some(path) = &self.arguments.report {
                write_report(path, &report::collect(&mut spooled, copied)?)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        if let Some(copied) = copied {
            report_copied(copied);
            texts::report(&self.text_counts);
        }
        Ok(())
    }
}

impl Keeping<'_> {
    /// Rejects a preference for a field that no document has, and reports how many documents lack it.
    fn check_field(&self, ranked: &Ranked) -> anyhow::Result<()> {
        let (prefer, documents, lacking) = (&self.arguments.prefer, ranked.documents, ranked.lacking);
        let (Prefer::Highest(pointer) | Prefer::Lowest(pointer)) = prefer else { return Ok(()) };
        if lacking == documents && documents > 0 {
            return Err(wrong(format_args!(
                "--prefer {prefer}: none of the {documents} documents has a number at {pointer}; check the pointer. No document is \
                 written, and the table is not saved"
            )));
        }
        if lacking > 0 {
            terminal::note(format_args!(
                "{lacking} of {documents} documents have no number at {pointer} (--prefer); in their clusters, documents that have \
                 one are preferred"
            ));
        }
        Ok(())
    }
}

/// Returns a folder for a temporary file: that of the first output that is a file.
fn folder_beside(outputs: &[&Option<PathBuf>]) -> PathBuf {
    let first = outputs.iter().copied().flatten().find(|path| *path != Path::new("-"));
    match first.and_then(|path| path.parent()) {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) => folder.to_owned(),
        None => std::env::temp_dir(),
    }
}

/// Opens the file of what revisit records refer to, or returns `None` if there are to be no such records.
fn referents(
    arguments: &Arguments,
    checkpoints: Option<&CheckpointDir>,
    checkpoint: Option<&Checkpoint>,
) -> anyhow::Result<Option<Referents>> {
    if !arguments.revisit {
        return Ok(None);
    }
    if let Some(folder) = checkpoints {
        let path = folder.referents();
        let extent = checkpoint.and_then(|checkpoint| checkpoint.extents.get("referents"));
        let referents = Referents::at(&path, extent.map(|extent| extent.bytes));
        return Ok(Some(referents.with_context(|| format!("cannot write {}", path.display()))?));
    }
    let folder = folder_beside(&[&arguments.keep]);
    let referents = Referents::create(&folder);
    Ok(Some(referents.with_context(|| format!("cannot write into {}", folder.display()))?))
}

/// Writes the report as JSON, HTML or text, depending on the name of the file.
fn write_report(path: &Path, report: &Report) -> anyhow::Result<()> {
    let mut lines = WholeLines::create(path)?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => lines.push(report)?,
        Some("html" | "htm") => lines.push_text(&report.html())?,
        _ => lines.push_text(&report.text())?,
    }
    Ok(lines.flush()?)
}

fn report_copied(Copied { kept, dropped, dropped_bytes, revisits, too_long, unreadable }: Copied) {
    terminal::note(format_args!(
        "documents: {kept} kept, {dropped} dropped ({:.1} MB before compression)",
        dropped_bytes as f64 / 1e6
    ));
    if revisits > 0 {
        terminal::note(format_args!("{revisits} of the dropped documents are replaced by a revisit record"));
    }
    if too_long > 0 {
        terminal::note(format_args!(
            "{too_long} documents are longer than page.line_bytes_max and are neither kept nor dropped; raise that setting to \
             include them"
        ));
    }
    if unreadable > 0 {
        terminal::note(format_args!(
            "{unreadable} rows have a column that cannot be read and are neither kept nor dropped; get their files again from \
             the source"
        ));
    }
}
