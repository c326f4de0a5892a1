//! Copies documents from the inputs to the outputs for kept and dropped documents.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde::Serialize;

use super::Decision;
use super::accounts::{Accounts, AccountsReport, Fate};
use super::annotate::{Added, Annotation};
use super::fields::Field;
use super::forms::EarlyForm;
use super::guard::Sources;
use super::output::Output;
use super::prefer::{Choice, Prefer};
use super::referents::{Referent, Referents};
use super::reread::{REPLACED, check_unchanged, open_again};
use super::revisit::Response;
use super::sizes::Sizes;
use super::spool::Spooled;
use super::texts::Texts;
use crate::sink::{Counts, Extents};
use crate::source::open::Input;
use crate::source::originals::{Framing, Original, Originals};
use crate::source::parquet::originals::{NoRow, Row};
use crate::source::reading::Reading;
use crate::source::rules::InputRules;
use leitong_base::terminal;

/// Reads the records of all inputs again, one input after the other.
pub(crate) struct Walk {
    inputs: Vec<PathBuf>,
    /// The record of the first reading of each input.
    readings: Vec<Arc<Reading>>,
    rules: InputRules,
    /// The forms of all inputs if documents are written unchanged, otherwise empty.
    forms: Arc<[EarlyForm]>,
    /// For tables, the only column that is needed. `None` means all.
    column: Option<String>,
    /// The index of the current input, and its records.
    current: Option<(usize, Originals)>,
    /// The record of the second reading of the current input.
    again: Arc<Reading>,
}

/// The result of looking for a record.
enum Found {
    Record(Original),
    Row(Result<Row, NoRow>),
}

impl Found {
    /// Returns the content as a JSON object, if it is one. For a row of a table, only the column `column` is
    /// used.
    fn json(&self, column: &str) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Record(Original { json, bytes, .. }) => {
                json.as_deref().or(bytes.as_deref()).map(Cow::Borrowed)
            }
            Self::Row(row) => row.as_ref().ok().map(|row| Cow::Owned(row.json_of(column))),
        }
    }

    /// Returns the content as a JSON object, if it is one.
    fn into_json(self) -> Option<Vec<u8>> {
        match self {
            Self::Record(original) => original.json.or(original.bytes),
            Self::Row(row) => row.ok().map(|row| row.json()),
        }
    }
}

impl Walk {
    /// Creates a walk through `inputs` with the same `rules` as in the first reading, which is recorded in
    /// `readings`. If `column` is set, only that column of tables is read. If documents are written unchanged, `forms`
    /// are the forms of all inputs, otherwise empty.
    #[must_use]
    pub(crate) fn new(
        inputs: Vec<PathBuf>,
        readings: Vec<Arc<Reading>>,
        rules: InputRules,
        forms: Arc<[EarlyForm]>,
        column: Option<String>,
    ) -> Self {
        Self { inputs, readings, rules, forms, column, current: None, again: Arc::default() }
    }

    /// Returns the next record and the index of its input, up to the end of input `last`. Tables are skipped,
    /// because their rows are read by number.
    fn next(&mut self, last: usize) -> anyhow::Result<Option<(usize, Original)>> {
        loop {
            let next = match &mut self.current {
                None => 0,
                Some((input, _)) if *input > last => return Ok(None),
                Some((input, originals)) => {
                    let original = match originals {
                        Originals::Records(originals) => originals.next_record(),
                        Originals::Indexed(originals) => originals.next_record(),
                        Originals::Rows(_) => Ok(None),
                    };
                    match original.with_context(|| format!("{}", self.inputs[*input].display()))? {
                        Some(original) => return Ok(Some((*input, original))),
                        None => *input + 1,
                    }
                }
            };
            if next > last || next >= self.inputs.len() {
                return Ok(None);
            }
            self.begin_with(next)?;
        }
    }

    /// Moves to the start of `input`.
    fn begin_with(&mut self, input: usize) -> anyhow::Result<()> {
        self.end()?;
        let into = |input: Input| input.into_originals(&self.rules, self.column.as_deref());
        let path = &self.inputs[input];
        let (again, originals) = open_again(path, &self.readings[input], into)?;
        if let Some(form) = self.forms.get(input) {
            ensure!(form.verify(path, &self.rules, &again)?, "{}: {REPLACED}", path.display());
        }
        self.again = again;
        self.current = Some((input, originals));
        Ok(())
    }

    /// Ends the current input after all of it was read, and compares it with the first reading.
    fn end(&mut self) -> anyhow::Result<()> {
        let Some((input, _)) = self.current.take() else { return Ok(()) };
        check_unchanged(&self.inputs[input], &self.readings[input], &self.again)
    }

    /// Finds a record by the index of its input and its number. Calls `passed` for the records before it.
    fn find(
        &mut self,
        (at_input, at_number): (usize, u64),
        mut passed: impl FnMut(usize, &Original) -> anyhow::Result<()>,
    ) -> anyhow::Result<Found> {
        if let Some(before) = at_input.checked_sub(1) {
            while let Some((input, original)) = self.next(before)? {
                passed(input, &original)?;
            }
        }
        if self.current.as_ref().is_none_or(|(input, _)| *input < at_input) {
            self.begin_with(at_input)?;
        }
        if let Some((input, Originals::Rows(rows))) = &mut self.current {
            let row = rows.find(at_number);
            return row.map(Found::Row).with_context(|| format!("{}", self.inputs[*input].display()));
        }
        while let Some((input, original)) = self.next(at_input)? {
            if (input, original.number) == (at_input, at_number) {
                return Ok(Found::Record(original));
            }
            passed(input, &original)?;
        }
        anyhow::bail!(
            "{}: record {at_number} is missing: the file changed while it was read; run again",
            self.inputs[at_input].display()
        )
    }
}

/// The outputs of documents.
pub(crate) struct Outputs {
    /// The output for kept documents.
    pub keep: Option<Output>,
    /// The output for dropped documents, with fields about their verdicts.
    pub drop: Option<Output>,
    /// True if kept documents get fields about the verdict, too.
    pub annotate: bool,
    /// The groups of fields that annotated documents get in addition to those about the verdict.
    pub added: Added,
    /// The data about kept documents that revisit records need. Set if revisit records replace dropped documents.
    pub revisit: Option<Referents>,
    /// The output for the texts of kept documents, instead of `keep`.
    pub texts: Option<Box<Texts>>,
}

/// Counts of copied documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Copied {
    /// Number of kept documents.
    pub kept: u64,
    /// Number of dropped documents.
    pub dropped: u64,
    /// Size of the dropped documents in bytes.
    pub dropped_bytes: u64,
    /// Number of kept documents that would have been dropped without `--verify`.
    pub kept_by_verify: u64,
    /// Number of dropped documents that contain a passage of a benchmark.
    pub benchmark: u64,
    /// Number of dropped documents that are replaced by a revisit record.
    pub revisits: u64,
    /// Number of documents that were not copied because they exceed the maximum length of a line.
    pub too_long: u64,
    /// Number of rows that were not copied because one of their columns cannot be read.
    pub unreadable: u64,
}

impl Copied {
    fn count(&mut self, decision: &Decision, is_kept: bool, bytes: u64) {
        self.kept_by_verify += u64::from(decision.is_kept_by_verify());
        self.benchmark += u64::from(decision.benchmark.is_some());
        if is_kept {
            self.kept += 1;
        } else {
            self.dropped += 1;
            self.dropped_bytes += bytes;
        }
    }

    /// Reports the counts.
    pub(super) fn note(&self) {
        let Self { kept, dropped, dropped_bytes, revisits, too_long, unreadable, .. } = self;
        terminal::note(format_args!(
            "documents: {kept} kept, {dropped} dropped ({:.1} MB before compression)",
            *dropped_bytes as f64 / 1e6
        ));
        if *revisits > 0 {
            terminal::note(format_args!(
                "{revisits} of the dropped documents are replaced by a revisit record"
            ));
        }
        if *too_long > 0 {
            terminal::note(format_args!(
                "{too_long} documents are longer than page.line_bytes_max and are neither kept nor dropped; raise that \
                 setting to include them"
            ));
        }
        if *unreadable > 0 {
            terminal::note(format_args!(
                "{unreadable} rows have a column that cannot be read and are neither kept nor dropped; get their files \
                 again from the source"
            ));
        }
    }
}

/// The results of copying.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Counts of copied documents.
    pub copied: Copied,
    /// The accounts by source, if they were requested.
    pub accounts: Option<AccountsReport>,
}

/// Copies each document when its decision arrives.
pub(crate) struct Copier {
    walk: Walk,
    outputs: Outputs,
    choice: Choice,
    copied: Copied,
    /// The field whose values are sources, and the counts by source.
    accounts: Option<(Field, Accounts)>,
    sizes: Option<Sizes>,
    counts: Arc<Counts>,
    ordinal: u64,
}

impl Copier {
    /// Creates a copier. It reads from `walk`, asks `choice` which documents to keep, and adds the documents that are
    /// in no output to `counts`.
    #[must_use]
    pub(crate) fn new(walk: Walk, outputs: Outputs, choice: Choice, counts: Arc<Counts>) -> Self {
        let copied = Copied::default();
        Self { walk, outputs, choice, copied, accounts: None, sizes: None, counts, ordinal: 0 }
    }

    /// Counts documents by `field`, if one is given.
    #[must_use]
    pub(crate) fn with_accounts(mut self, field: Option<Field>) -> Self {
        self.accounts = field.map(|field| (field, Accounts::default()));
        self
    }

    /// Adds the sizes of clusters to annotated documents.
    #[must_use]
    pub(crate) fn with_sizes(mut self, sizes: Option<Sizes>) -> Self {
        self.sizes = sizes;
        self
    }

    /// Skips all records up to `number` of `input`, which an earlier run has copied.
    ///
    /// # Errors
    /// The records cannot be read.
    pub(crate) fn pass_over(&mut self, (input, number): (usize, u64)) -> anyhow::Result<()> {
        if let Some(texts) = &mut self.outputs.texts {
            texts.pass_over((input, number))?;
        }
        if !self.reads_originals() {
            return Ok(());
        }
        self.walk.begin_with(input)?;
        while let Some((_, original)) = self.walk.next(input)? {
            if original.number >= number {
                break;
            }
        }
        Ok(())
    }

    /// Returns true if the original documents are read, because they are written unchanged or counted by source.
    fn reads_originals(&self) -> bool {
        let Outputs { keep, drop, texts, .. } = &self.outputs;
        texts.is_none() || keep.is_some() || drop.is_some() || self.accounts.is_some()
    }

    /// Syncs all documents to disk, and returns the length of each output.
    ///
    /// # Errors
    /// The documents cannot be written.
    pub(crate) fn extents(&mut self) -> anyhow::Result<Extents> {
        let outputs = [("keep", &mut self.outputs.keep), ("drop", &mut self.outputs.drop)];
        let outputs = outputs.into_iter().filter_map(|(name, output)| Some((name, output.as_mut()?)));
        let mut extents: Extents = outputs
            .map(|(name, output)| Ok((name.to_owned(), output.extent()?)))
            .collect::<anyhow::Result<_>>()?;
        if let Some(texts) = &mut self.outputs.texts {
            extents.insert("keep".to_owned(), texts.extent()?);
        }
        if let Some(referents) = &mut self.outputs.revisit {
            extents.insert("referents".to_owned(), referents.extent().context(CANNOT_STORE)?);
        }
        Ok(extents)
    }

    /// Copies the document of `decision`. Decisions must come in the order of the inputs.
    ///
    /// # Errors
    /// The document cannot be read or written.
    pub(crate) fn copy(&mut self, decision: &Decision) -> anyhow::Result<()> {
        let is_kept = self.choice.keeps(self.ordinal, decision);
        let is_canonical = self.choice.is_canonical(self.ordinal, decision);
        self.ordinal += 1;
        let annotation = annotation(decision, &self.choice, self.sizes.as_ref(), self.outputs.added);
        let text_bytes = match &mut self.outputs.texts {
            Some(texts) => texts.take(decision, is_kept, &annotation)?,
            None => 0,
        };
        if !self.reads_originals() {
            self.copied.count(decision, is_kept, text_bytes);
            return Ok(());
        }
        let keep = &mut self.outputs.keep;
        let place = (decision.input, decision.number);
        let found = self.walk.find(place, |input, passed| keep_other_record(keep, input, passed))?;
        if let Some(accounts) = &mut self.accounts {
            account(accounts, decision, is_kept, &found);
        }
        match found {
            Found::Row(Err(why)) => self.count_left_out(why),
            Found::Record(Original { bytes: None, .. }) => self.count_left_out(NoRow::TooLarge),
            Found::Row(Ok(row)) => {
                self.copied.count(decision, is_kept, row.bytes);
                let output = if is_kept { &mut self.outputs.keep } else { &mut self.outputs.drop };
                if let Some(output) = output {
                    output.write_row(decision.input, &row, &annotation)?;
                }
            }
            Found::Record(Original { bytes: Some(mut bytes), framing, .. }) => {
                self.copied.count(decision, is_kept, bytes.len() as u64);
                if let Outputs { revisit: Some(referents), keep: Some(keep), .. } = &mut self.outputs {
                    if is_canonical && !referents.is_complete() {
                        let referent = referent_of(decision, framing, &bytes);
                        referents.add(decision, &referent).context(CANNOT_STORE)?;
                    } else if !is_kept && let Some(revisit) = revisit(referents, decision, framing, &bytes)? {
                        keep.write(decision.input, framing, &annotation.added_to(revisit, framing))?;
                        self.copied.revisits += 1;
                    }
                }
                let output = if is_kept { &mut self.outputs.keep } else { &mut self.outputs.drop };
                let Some(output) = output else { return Ok(()) };
                if self.outputs.annotate || !is_kept {
                    bytes = annotation.added_to(bytes, framing);
                }
                let has_mark = framing != Framing::Page && bytes.starts_with(b"\xef\xbb\xbf");
                let start = if has_mark { 3 } else { 0 };
                output.write(decision.input, framing, &bytes[start..])?;
            }
        }
        Ok(())
    }

    /// Counts a document that is in no output: by its cause for the report, and in the counts of the run, which a
    /// checkpoint saves.
    fn count_left_out(&mut self, why: NoRow) {
        match why {
            NoRow::Unreadable => self.copied.unreadable += 1,
            NoRow::TooLarge => self.copied.too_long += 1,
        }
        self.counts.document_left_out();
    }

    /// Skips a record from which no page was read.
    ///
    /// # Errors
    /// The records before it cannot be read or written.
    pub(crate) fn leave_out(&mut self, input: usize, number: u64) -> anyhow::Result<()> {
        if !self.reads_originals() {
            return Ok(());
        }
        let keep = &mut self.outputs.keep;
        self.walk.find((input, number), |input, passed| keep_other_record(keep, input, passed)).map(drop)
    }

    /// Copies the rest of the inputs, and completes the files.
    ///
    /// # Errors
    /// The files cannot be written.
    pub(crate) fn finish(mut self) -> anyhow::Result<Finished> {
        let reads_originals = self.reads_originals();
        if let Some(texts) = self.outputs.texts {
            texts.finish()?;
        }
        if !reads_originals {
            return Ok(Finished { copied: self.copied, accounts: None });
        }
        while let Some((input, original)) = self.walk.next(usize::MAX)? {
            keep_other_record(&mut self.outputs.keep, input, &original)?;
        }
        self.walk.end()?;
        for output in [self.outputs.keep, self.outputs.drop].into_iter().flatten() {
            output.finish()?;
        }
        let accounts = self.accounts.map(|(field, accounts)| accounts.finish(field.to_string()));
        Ok(Finished { copied: self.copied, accounts })
    }
}

/// Counts the document in the accounts of its source.
fn account((field, accounts): &mut (Field, Accounts), decision: &Decision, is_kept: bool, found: &Found) {
    let fate = if is_kept { Fate::Kept } else { Fate::Dropped };
    let (fate, bytes) = match found {
        Found::Row(Ok(row)) => (fate, row.bytes),
        Found::Record(Original { bytes: Some(bytes), .. }) => (fate, bytes.len() as u64),
        Found::Row(Err(_)) | Found::Record(Original { bytes: None, .. }) => (Fate::NotCopied, 0),
    };
    let column = field.column();
    let json = column.as_deref().and_then(|column| found.json(column));
    accounts.count(decision, field.value(decision, json.as_deref()).as_deref(), fate, bytes);
}

/// Returns the fields about the verdict on a document.
fn annotation<'a>(
    decision: &'a Decision,
    choice: &'a Choice,
    sizes: Option<&Sizes>,
    added: Added,
) -> Annotation<'a> {
    let size = |sizes: &Sizes| sizes.get(&decision.founded).copied();
    let size = decision.cluster_id.as_ref().and(sizes).and_then(size);
    Annotation::new(decision, choice.canonical(decision), size, added)
}

/// Copies a record that is not a page. Requests and metadata in a WARC file are kept, whichever pages are dropped. The
/// header of a CSV file is not copied here: the output writes it when it creates a file.
fn keep_other_record(keep: &mut Option<Output>, input: usize, original: &Original) -> anyhow::Result<()> {
    match (keep, &original.bytes) {
        (Some(keep), Some(bytes)) if !original.is_page && !matches!(original.framing, Framing::Csv(_)) => {
            keep.write(input, original.framing, bytes)
        }
        _ => Ok(()),
    }
}

/// Context of errors in reading or writing [`Referents`].
const CANNOT_STORE: &str = "cannot store or read the data that revisit records need";

/// Returns the data about a kept document that revisit records need.
fn referent_of(decision: &Decision, framing: Framing, bytes: &[u8]) -> Referent {
    let response = if framing == Framing::Warc { Response::parse(bytes) } else { None };
    let without_record = || Referent { url: decision.url.clone(), ..Referent::default() };
    response.map_or_else(without_record, |response| response.referent(&decision.url))
}

/// Returns the revisit record for a dropped document, if the document is an HTTP response and belongs to a
/// cluster.
fn revisit(
    referents: &Referents,
    decision: &Decision,
    framing: Framing,
    bytes: &[u8],
) -> anyhow::Result<Option<Vec<u8>>> {
    // A document with a passage of a benchmark is dropped without a trace.
    if framing != Framing::Warc || decision.cluster_id.is_none() || decision.benchmark.is_some() {
        return Ok(None);
    }
    let Some(response) = Response::parse(bytes) else { return Ok(None) };
    let referent = referents.find(decision).context(CANNOT_STORE)?;
    Ok(referent.map(|referent| response.revisit(&referent)))
}

impl Walk {
    /// Adds to `referents` the data about the canonical documents of clusters. Used if a canonical document may
    /// come after documents that are dropped. Reads the inputs once.
    ///
    /// # Errors
    /// The inputs cannot be read.
    pub(crate) fn collect_referents(
        mut self,
        choice: &Choice,
        spooled: &mut Spooled,
        referents: &mut Referents,
    ) -> anyhow::Result<()> {
        let mut ordinals = 0..;
        spooled.each(|_, decision| {
            if ordinals.next().is_none_or(|ordinal| !choice.is_canonical(ordinal, decision)) {
                return Ok(());
            }
            let referent = match self.find((decision.input, decision.number), |_, _| Ok(()))? {
                Found::Record(Original { bytes: Some(bytes), framing, .. }) => {
                    referent_of(decision, framing, &bytes)
                }
                Found::Record(_) | Found::Row(_) => {
                    Referent { url: decision.url.clone(), ..Referent::default() }
                }
            };
            referents.add(decision, &referent).context(CANNOT_STORE)
        })?;
        referents.complete();
        Ok(())
    }
}

/// Ranks documents by a preference, and groups them by fields, which may depend on their content.
pub(crate) struct Ranker {
    walk: Walk,
    needs: Needs,
    choice: Choice,
    ordinal: u64,
    /// Number of documents without the value that the preference needs.
    lacking: u64,
    /// Number of documents without a value of [`Needs::one_per`].
    lacking_group: u64,
    sources: Sources,
}

/// The settings and fields that a choice depends on.
#[derive(Debug, Clone)]
pub(crate) struct Needs {
    /// The preference that ranks the documents of a cluster.
    pub prefer: Prefer,
    /// The field that groups the documents of a cluster. One document per value is kept.
    pub one_per: Option<Field>,
    /// The field whose values are sources, if the share of a source that may be dropped is limited.
    pub source: Option<Field>,
}

impl Needs {
    /// Returns the column of tables that is needed, or `None` if there is not exactly one.
    #[must_use]
    pub(crate) fn column(&self) -> Option<String> {
        let fields = self.one_per.iter().chain(&self.source).filter_map(Field::column);
        let mut columns: Vec<String> = self.prefer.field().into_iter().chain(fields).collect();
        columns.dedup();
        columns.pop().filter(|_| columns.is_empty())
    }

    fn needs_content(&self, decision: &Decision) -> bool {
        self.one_per.iter().chain(&self.source).any(Field::needs_content)
            || self.prefer.rank_from_verdict(decision).is_none()
    }
}

/// The result of ranking.
pub(crate) struct Ranked {
    /// The choice, with the best document of each group.
    pub choice: Choice,
    /// Number of documents that were ranked.
    pub documents: u64,
    /// Number of documents without the number or time that the preference needs.
    pub lacking: u64,
    /// Number of documents without a value of [`Needs::one_per`].
    pub lacking_group: u64,
    /// The sources of the documents, if they are needed.
    pub sources: Sources,
}

impl Ranker {
    /// Creates a ranker. It reads from `walk` only if the verdicts are not sufficient.
    #[must_use]
    pub(crate) fn new(walk: Walk, needs: Needs, choice: Choice) -> Self {
        Self { walk, needs, choice, ordinal: 0, lacking: 0, lacking_group: 0, sources: Sources::default() }
    }

    /// Ranks the document of `decision`. Decisions must come in the order of the inputs.
    ///
    /// # Errors
    /// The document cannot be read.
    pub(crate) fn rank(&mut self, decision: &Decision) -> anyhow::Result<()> {
        let Needs { prefer, one_per, source } = &self.needs;
        let json = match self.needs.needs_content(decision) {
            true => self.walk.find((decision.input, decision.number), |_, _| Ok(()))?.into_json(),
            false => None,
        };
        let rank = prefer.rank_from_verdict(decision).unwrap_or_else(|| {
            json.as_ref().map_or(f64::NEG_INFINITY, |json| prefer.rank_from_content(json))
        });
        self.lacking += u64::from(rank == f64::NEG_INFINITY);
        let value = |field: &Option<Field>| field.as_ref()?.value(decision, json.as_deref());
        let group = value(one_per);
        self.lacking_group += u64::from(one_per.is_some() && group.is_none());
        self.choice.offer(self.ordinal, decision, rank, group.as_deref());
        if source.is_some() {
            self.sources.push(value(source).as_deref());
        }
        self.ordinal += 1;
        Ok(())
    }

    /// Returns the result.
    #[must_use]
    pub(crate) fn finish(mut self) -> Ranked {
        self.choice.end_offers();
        let Self { choice, ordinal: documents, lacking, lacking_group, sources, .. } = self;
        Ranked { choice, documents, lacking, lacking_group, sources }
    }
}

#[cfg(test)]
mod tests {
    use leitong_text::page::PageConfig;
    use leitong_text::page::mapping::InputConfig;

    use super::*;

    /// The names of columns are read before the run. If another file has replaced the table when rows are read, the
    /// rows of that file must not be written below those names.
    #[test]
    fn a_table_whose_columns_change_before_it_is_read_ends_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        let rules = InputRules::new(&PageConfig::default(), &InputConfig::default()).expect("rules");
        let begin = |early: &str, later: &str| {
            std::fs::write(&path, early).expect("written");
            let forms = EarlyForm::read_all(std::slice::from_ref(&path), &rules).expect("a file");
            std::fs::remove_file(&path).expect("removed");
            std::fs::write(&path, later).expect("written");
            let readings = vec![Input::open(&path).expect("a file").take_note()];
            let mut walk = Walk::new(vec![path.clone()], readings, rules.clone(), forms.into(), None);
            walk.begin_with(0)
        };
        assert!(begin("url,text\na,b\n", "url,text\nc,d\n").is_ok(), "other rows are decided on");
        for (early, later) in [
            ("url,text\na,b\n", "text,url\nb,a\n"),
            ("url,text\na,b\n", "<!DOCTYPE html><p>text"),
            ("", "url,text\na,b\n"),
        ] {
            let error = begin(early, later).expect_err(later);
            assert!(format!("{error:#}").contains("a.csv: the file was replaced"), "{error:#}");
        }
    }
}
