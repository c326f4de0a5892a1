//! Handles the documents of a run: opens their outputs, takes decisions during the run, and at its end writes the
//! documents that had to wait.
//!
//! If the choice of documents is known at once, they are copied while the run goes on. Otherwise the decisions, and the
//! texts if they are needed, wait in files on disk until the run is over.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::annotate::Added;
use super::choose::choose;
use super::copy::{Copier, Finished, Outputs};
use super::keep_sink::{KeepSink, Kept, PageTexts, StoredTexts};
use super::options::{Checkpoints, Options, TableOfRun, TextOptions, folder_beside};
use super::output::{Output, Plan};
use super::passages::benchmark::Benchmarks;
use super::passages::steps;
use super::prefer::{Choice, Rules};
use super::report::Report;
use super::revisit::Referents;
use super::sizes::{Sizes, TableSizes};
use super::spool::{Spool, Spooled};
use super::texts::{InputField, Texts};
use super::verify::table_texts::TableTexts;
use super::verify::texts::TextFile;
use super::verify::{self, LostMax, Verifier};
use crate::error::{Context, Result};
use crate::sink::whole_lines::WholeLines;
use crate::sink::{COPIED, Counts, Extent, Sink};
use leitong_formats::source::{InputNames, InputRules, Reading};
use leitong_formats::{Again, EarlyForm, Form, SecondReading};

/// The documents of a run: where they go, and which of them are kept.
pub struct Keeping<'a> {
    options: Options,
    inputs: &'a [PathBuf],
    /// The record of the first reading of each input, from which the verdicts come.
    readings: &'a [Arc<Reading>],
    input_rules: &'a InputRules,
    /// The forms of the inputs, in which unchanged documents are written. Empty if none are written.
    forms: Arc<[EarlyForm]>,
    rules: Rules,
    /// The open outputs, until the copier takes them or the run is over.
    outputs: Option<Outputs>,
    checkpoints: Option<Checkpoints<'a>>,
    /// True if texts are written instead of documents.
    writes_texts: bool,
    /// The parts of each copied document that are read again.
    again: Again,
    benchmarks: Option<Benchmarks>,
    /// Counts of the run, to which the documents that are in no output are added.
    counts: Arc<Counts>,
}

impl<'a> Keeping<'a> {
    /// Opens the outputs for the documents of a run over `inputs`. For each input, `names` has the name of its file in
    /// an output folder, and `readings` the record of its first reading. The run begins at `log_offset`, or resumes at
    /// an earlier checkpoint.
    ///
    /// # Errors
    /// An input or a benchmark cannot be read, or an output cannot be written;
    /// [`WrongOption`](super::Error::WrongOption) if the options do not fit the inputs.
    pub fn begin(
        mut options: Options,
        (inputs, names, readings): (&'a [PathBuf], &[PathBuf], &'a [Arc<Reading>]),
        input_rules: &'a InputRules,
        log_offset: u64,
        checkpoints: Option<Checkpoints<'a>>,
    ) -> Result<Self> {
        let rules = Rules {
            one_per_value: options.one_per.is_some(),
            drop_undecidable: options.drop_undecidable,
            log_offset,
        };
        let passages = options.passages.as_ref().filter(|_| options.compares());
        let benchmarks =
            passages.map(|passages| steps::read_benchmarks(passages, input_rules)).transpose()?;
        let early: Arc<[EarlyForm]> = match options.copies() {
            true => EarlyForm::read_all(inputs, input_rules)?.into(),
            false => Arc::default(),
        };
        let forms: Vec<Form> = early.iter().map(|early| early.form.clone()).collect();
        let writes_texts = options.texts.is_some();
        let again = options.read_again();
        let outputs = match options.copies() {
            true => {
                let texts = options.texts.take();
                let opening = Opening {
                    options: &options,
                    inputs,
                    names,
                    forms: &forms,
                    again: &again,
                    checkpoints: checkpoints.as_ref(),
                    waits: !options.copies_at_once(rules),
                };
                Some(opening.outputs(texts, input_rules)?)
            }
            false => None,
        };
        let forms = if writes_texts && options.drop.is_none() { Arc::default() } else { early };
        Ok(Self {
            options,
            inputs,
            readings,
            input_rules,
            forms,
            rules,
            outputs,
            checkpoints,
            writes_texts,
            again,
            benchmarks,
            counts: Arc::default(),
        })
    }

    /// Adds the documents that are in no output to `counts`.
    #[must_use]
    pub fn counting(self, counts: Arc<Counts>) -> Self {
        Self { counts, ..self }
    }

    /// Creates the sink that takes the decisions of the run, in front of `inner`, the sink of verdicts. `texts` gives the
    /// texts of each record, in the order of the decisions, if any are needed.
    ///
    /// # Errors
    /// A file cannot be written, or a thread cannot be started.
    pub fn sink<S: Sink>(
        &mut self,
        inner: S,
        names: InputNames,
        texts: Receiver<PageTexts>,
    ) -> Result<KeepSink<S>> {
        let spool = self.spool()?;
        let needs_texts = self.options.needs_pages() || self.writes_texts;
        let file = self.texts()?;
        let texts = needs_texts.then_some(StoredTexts { received: texts, file });
        KeepSink::new(inner, names, self.copier_at_once()?, spool, texts)
    }

    /// Returns a second reading of the inputs.
    fn read_again(&self, again: Again) -> SecondReading {
        let (inputs, readings, forms) =
            (self.inputs.to_vec(), self.readings.to_vec(), Arc::clone(&self.forms));
        SecondReading::new(inputs, readings, self.input_rules.clone(), forms, again)
    }

    /// Creates a copier of the documents that `choice` keeps.
    fn copier(&self, outputs: Outputs, choice: Choice) -> Copier {
        Copier::new(self.read_again(self.again.clone()), outputs, choice, Arc::clone(&self.counts))
    }

    /// Returns a copier that works during the run, or `None` if the choice is known only at the end.
    fn copier_at_once(&mut self) -> Result<Option<Copier>> {
        let at_once = self.options.copies_at_once(self.rules);
        let Some(outputs) = self.outputs.take_if(|_| at_once) else { return Ok(None) };
        let mut copier = self.copier(outputs, Choice::first(self.rules));
        if let Some(checkpoints) = &self.checkpoints
            && let Some((_, last)) = checkpoints.earlier
        {
            copier = copier.after(checkpoints.extent(COPIED).and_then(|extent| extent.copied));
            copier.pass_over(last)?;
        }
        Ok(Some(copier))
    }

    /// Returns the file that stores decisions until the end of the run, or `None` if they are not needed then.
    fn spool(&self) -> Result<Option<Spool>> {
        let Options { clusters, report, .. } = &self.options;
        let copies_later = self.options.copies() && !self.options.copies_at_once(self.rules);
        if clusters.is_none() && report.is_none() && !copies_later && !self.options.needs_texts() {
            return Ok(None);
        }
        let Some(checkpoints) = &self.checkpoints else { return self.new_spool().map(Some) };
        let path = checkpoints.folder.join("decisions");
        let spool = Spool::at(&path, checkpoints.extent("decisions"));
        Ok(Some(spool.with_context(|| format!("cannot use {}", path.display()))?))
    }

    /// Returns a temporary file for decisions.
    fn new_spool(&self) -> Result<Spool> {
        let folder = self.options.temporary_folder();
        Spool::create(&folder).with_context(|| format!("cannot write into {}", folder.display()))
    }

    /// Returns the file for the texts of documents, or `None` if none are needed at the end of the run.
    fn texts(&self) -> Result<Option<TextFile>> {
        let writes_later = self.writes_texts && !self.options.copies_at_once(self.rules);
        if !self.options.needs_texts() && !writes_later {
            return Ok(None);
        }
        if let Some(checkpoints) = &self.checkpoints {
            let path = checkpoints.folder.join("texts");
            let texts = TextFile::at(&path, checkpoints.extent("texts"));
            return Ok(Some(texts.with_context(|| format!("cannot use {}", path.display()))?));
        }
        let folder = self.options.temporary_folder();
        let texts = TextFile::create(&folder);
        Ok(Some(texts.with_context(|| format!("cannot write into {}", folder.display()))?))
    }

    /// Compares each document that would be dropped with the kept ones of its cluster.
    fn verify(
        &self,
        (spooled, choice, texts): (&mut Spooled, &Choice, &TextFile),
        lost_max: LostMax,
        table: Option<&TableOfRun<'_>>,
    ) -> Result<(Spooled, verify::Counts)> {
        let table = table.map(|table| {
            let texts = TableTexts::open(table.folder, table.id, table.founded());
            texts.with_context(|| format!("cannot use the texts in the table {}", table.folder.display()))
        });
        let verifier = Verifier::new(lost_max, texts, table.transpose()?);
        verifier
            .verify(spooled, choice, || self.new_spool())
            .context("cannot verify the documents that would be dropped (--verify)")
    }

    /// Finds the passages that many kept documents have, which are listed, cut out of texts, or both.
    fn find_repeated(&mut self, spooled: &mut Spooled, choice: &Choice, texts: &TextFile) -> Result<()> {
        let Some(passages) = &self.options.passages else { return Ok(()) };
        let folder = self.options.temporary_folder();
        let cutter = steps::find_repeated(passages, (spooled, choice, texts), &folder)?;
        let texts = self.outputs.as_mut().and_then(|outputs| outputs.texts.as_mut());
        if let (Some(cutter), Some(texts)) = (cutter, texts) {
            texts.cut_with(cutter);
        }
        Ok(())
    }

    /// Copies all documents, since the choice is known now.
    fn copy_now(
        &self,
        mut outputs: Outputs,
        (spooled, texts): (&mut Spooled, Option<&TextFile>),
        choice: Choice,
        table: Option<&TableOfRun<'_>>,
    ) -> Result<Finished> {
        if let Some(referents) = &mut outputs.revisit {
            referents.collect(self.read_again(Again::default()), &choice, spooled)?;
        }
        let sizes = self.options.cluster_sizes.then(|| sizes(spooled, table)).transpose()?;
        let copier = self.copier(outputs, choice);
        let mut copier = copier.with_accounts(self.options.by.clone()).with_sizes(sizes);
        spooled.each(|_, decision| {
            let text = || {
                let text = decision.written.zip(texts).map(|(place, texts)| texts.read(place));
                Ok(text.transpose().context("cannot read a stored text")?.map(Vec::into_boxed_slice))
            };
            copier.copy(decision, text)
        })?;
        copier.finish()
    }

    /// Copies the documents that had to wait, and writes the clusters, the accounts and the report. `sink` has taken
    /// all decisions. Returns counts of documents, and the results of verification, as JSON.
    ///
    /// # Errors
    /// A document cannot be read or written; [`WrongOption`](super::Error::WrongOption) if the options do not fit the
    /// documents.
    pub fn finish<S: Sink>(mut self, sink: KeepSink<S>, table: Option<&TableOfRun<'_>>) -> Result<Value> {
        let Kept { mut copied, spooled, texts } = sink.finish()?;
        let Some(mut spooled) = spooled else {
            let copied = copied.inspect(|finished| finished.note(false)).map(|finished| finished.copied);
            return Ok(json!({ "documents": copied }));
        };
        if let (Some(texts), Some(benchmarks)) = (&texts, &self.benchmarks) {
            spooled = steps::compare(&mut spooled, texts, benchmarks, self.new_spool()?)?;
        }
        let reading = |fields| self.read_again(Again::fields(fields));
        let (choice, sources) = choose(&self.options, self.rules, reading, &mut spooled)?;
        let mut verified = None;
        if let (Some(texts), Some(lost_max)) = (&texts, self.options.verify) {
            let (checked, counts) = self.verify((&mut spooled, &choice, texts), lost_max, table)?;
            (spooled, verified) = (checked, Some((counts, texts.bytes())));
        }
        if let (Some(removed_max), Some(sources)) = (self.options.source_removed_max, &sources) {
            sources.check(&mut spooled, &choice, removed_max)?;
        }
        if let Some(texts) = &texts {
            self.find_repeated(&mut spooled, &choice, texts)?;
        }
        if let Some(path) = &self.options.clusters {
            let cannot = || format!("cannot write {}", path.display());
            let mut lines = WholeLines::create(path).with_context(cannot)?;
            choice.write_clusters(&mut spooled, &mut lines).with_context(cannot)?;
        }
        if let Some(outputs) = self.outputs.take() {
            copied = Some(self.copy_now(outputs, (&mut spooled, texts.as_ref()), choice, table)?);
        }
        let accounts = copied.as_mut().and_then(|finished| finished.accounts.take());
        if let (Some(path), Some(accounts)) = (&self.options.accounts, &accounts) {
            accounts.write(path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let mut report_verified = None;
        if let Some(path) = &self.options.report {
            let languages = self.options.languages.then(|| self.counts.languages());
            let counted = (copied.as_ref().map(|finished| finished.copied), accounts, languages);
            let report = Report::collect(&mut spooled, counted, self.benchmarks.is_some())?;
            report.write(path).with_context(|| format!("cannot write {}", path.display()))?;
            report_verified = report.verified;
        }
        let copied = copied.inspect(|finished| finished.note(self.options.cuts()));
        if let Some((counts, stored)) = verified {
            counts.note(stored);
        }
        let verified = verified.map(|(counts, _)| counts);
        let copied = copied.map(|finished| finished.copied);
        Ok(json!({ "documents": copied, "verified": verified, "sample": report_verified }))
    }
}

/// Opens the outputs of a run for documents.
struct Opening<'o> {
    options: &'o Options,
    inputs: &'o [PathBuf],
    /// The name of each input's file in an output folder.
    names: &'o [PathBuf],
    /// The forms of the inputs.
    forms: &'o [Form],
    /// The parts of each copied document that are read again.
    again: &'o Again,
    checkpoints: Option<&'o Checkpoints<'o>>,
    /// True if documents are copied only at the end of the run.
    waits: bool,
}

impl Opening<'_> {
    /// Opens all outputs. Kept documents are written as `texts`, if there are any, or unchanged.
    fn outputs(&self, texts: Option<TextOptions>, input_rules: &InputRules) -> Result<Outputs> {
        let (options, added) = (self.options, self.options.added());
        let unchanged = options.keep.as_ref().filter(|_| texts.is_none());
        let texts = match (&options.keep, texts) {
            (Some(path), Some(texts)) => {
                InputField::check(&texts.fields, self.inputs, self.forms, input_rules)?;
                let added = Added { cut: options.cuts(), ..added };
                let plan = self.plan("keep", path, options.annotate.then_some(added));
                Some(Box::new(Texts::open(plan, texts.fields, self.again.clone(), self.extent("keep"))?))
            }
            _ => None,
        };
        let at_once = self.checkpoints.filter(|_| !self.waits);
        Ok(Outputs {
            keep: self.output("keep", unchanged, options.annotate.then_some(added))?,
            texts,
            drop: self.output("drop", options.drop.as_ref(), Some(added))?,
            annotate: options.annotate,
            added,
            revisit: options.revisit.then(|| referents(options, at_once)).transpose()?,
        })
    }

    /// Opens the output `path` for unchanged documents, or continues it where it was at the checkpoint.
    fn output(
        &self,
        name: &'static str,
        path: Option<&PathBuf>,
        added: Option<Added>,
    ) -> Result<Option<Output>> {
        let Some(path) = path else { return Ok(None) };
        Output::begin(self.plan(name, path, added), self.extent(name)).map(Some)
    }

    /// Returns the parameters of the output `path`.
    fn plan<'p>(&'p self, name: &'static str, path: &'p Path, added: Option<Added>) -> Plan<'p> {
        let checkpoints = self.checkpoint_folder().map(|folder| (name, folder.to_owned()));
        let shard_bytes = self.options.shard_bytes.filter(|_| name == "keep");
        Plan { path, names: self.names, shard_bytes, forms: self.forms, added, checkpoints }
    }

    /// Returns the checkpoint folder, if documents are copied during the run.
    fn checkpoint_folder(&self) -> Option<&Path> {
        self.checkpoints.filter(|_| !self.waits).map(|checkpoints| checkpoints.folder)
    }

    fn extent(&self, name: &str) -> Option<Extent> {
        self.checkpoints.and_then(|checkpoints| checkpoints.extent(name))
    }
}

/// Opens the file for the data about the documents that revisit records refer to.
fn referents(options: &Options, checkpoints: Option<&Checkpoints<'_>>) -> Result<Referents> {
    if let Some(checkpoints) = checkpoints {
        let path = checkpoints.folder.join("referents");
        let referents = Referents::at(&path, checkpoints.extent("referents"));
        return referents.with_context(|| format!("cannot use {}", path.display()));
    }
    let folder = folder_beside(options.keep.iter());
    Referents::create(&folder).with_context(|| format!("cannot write into {}", folder.display()))
}

/// Counts the documents of each cluster, including those of earlier runs with the same table.
fn sizes(spooled: &mut Spooled, table: Option<&TableOfRun<'_>>) -> Result<Sizes> {
    let run = spooled.cluster_sizes()?;
    let Some(table) = table else { return Ok(run) };
    let all = TableSizes::add((table.folder, table.id), &run, table.founded(), table.until);
    Ok(all
        .with_context(|| format!("cannot count the documents of clusters in {}", table.folder.display()))?
        .sizes)
}
