//! Copies documents from the inputs to the outputs for kept and dropped documents.

use std::sync::Arc;

use super::Decision;
use super::accounts::{Accounts, AccountsReport, Fate};
use super::annotate::{Added, Annotation};
use super::fields::Field;
use super::output::Output;
use super::prefer::Choice;
use super::revisit::{Referent, Referents, Response};
use super::sizes::Sizes;
use super::spool::Spooled;
use super::texts::Texts;
use super::texts::counts::TextCounts;
use crate::error::{Context, Error, Result};
use crate::sink::copied::Copied;
use crate::sink::{COPIED, Counts, Extent, Extents};
use leitong_base::terminal;
use leitong_formats::{Content, Framing, Original, SecondReading};

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
    fn note(&self) {
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
    /// Counts of the texts that were written, if any were.
    texts: Option<TextCounts>,
}

impl Finished {
    /// Reports the counts, also of what was cut out of texts if passages were.
    pub(super) fn note(&self, cuts: bool) {
        self.copied.note();
        self.texts.iter().for_each(TextCounts::note);
        self.texts.iter().filter(|_| cuts).for_each(TextCounts::note_cut);
    }
}

/// Copies each document when its decision arrives.
pub(crate) struct Copier {
    reading: SecondReading,
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
    /// Creates a copier. It takes documents from `reading`, asks `choice` which ones to keep, and adds the documents that
    /// are in no output to `counts`.
    pub(crate) fn new(reading: SecondReading, outputs: Outputs, choice: Choice, counts: Arc<Counts>) -> Self {
        let copied = Copied::default();
        Self { reading, outputs, choice, copied, accounts: None, sizes: None, counts, ordinal: 0 }
    }

    /// Counts documents by `field`, if one is given.
    pub(crate) fn with_accounts(mut self, field: Option<Field>) -> Self {
        self.accounts = field.map(|field| (field, Accounts::default()));
        self
    }

    /// Adds the sizes of clusters to annotated documents.
    pub(crate) fn with_sizes(mut self, sizes: Option<Sizes>) -> Self {
        self.sizes = sizes;
        self
    }

    /// Adds the counts of documents that an earlier process has copied.
    pub(crate) fn after(mut self, earlier: Option<Copied>) -> Self {
        self.copied = earlier.unwrap_or_default();
        self
    }

    /// Skips all records up to `number` of `input`, which an earlier run has copied.
    ///
    /// # Errors
    /// The records cannot be read.
    pub(crate) fn pass_over(&mut self, (input, number): (usize, u64)) -> Result<()> {
        self.reading.begin_with(input)?;
        while let Some((_, original)) = self.reading.next_record(input)? {
            if original.number >= number {
                break;
            }
        }
        Ok(())
    }

    /// Syncs all documents to disk, and returns the length of each output.
    ///
    /// # Errors
    /// The documents cannot be written.
    pub(crate) fn extents(&mut self) -> Result<Extents> {
        let outputs = [("keep", &mut self.outputs.keep), ("drop", &mut self.outputs.drop)];
        let outputs = outputs.into_iter().filter_map(|(name, output)| Some((name, output.as_mut()?)));
        let mut extents: Extents =
            outputs.map(|(name, output)| Ok((name.to_owned(), output.extent()?))).collect::<Result<_>>()?;
        if let Some(texts) = &mut self.outputs.texts {
            extents.insert("keep".to_owned(), texts.extent()?);
        }
        if let Some(referents) = &mut self.outputs.revisit {
            extents.insert("referents".to_owned(), referents.extent().context(CANNOT_STORE)?);
        }
        extents.insert(COPIED.to_owned(), Extent { copied: Some(self.copied), ..Extent::default() });
        Ok(extents)
    }

    /// Copies the document of `decision`, or writes the compressed text that `text` returns. Decisions must come in the
    /// order of the inputs.
    ///
    /// # Errors
    /// The document or its text cannot be read or written.
    pub(crate) fn copy(
        &mut self,
        decision: &Decision,
        text: impl FnOnce() -> Result<Option<Box<[u8]>>>,
    ) -> Result<()> {
        let is_kept = self.choice.keeps(self.ordinal, decision);
        let is_canonical = self.choice.is_canonical(self.ordinal, decision);
        self.ordinal += 1;
        self.counts.document_copied();
        let annotation = annotation(decision, &self.choice, self.sizes.as_ref(), self.outputs.added);
        let keep = &mut self.outputs.keep;
        let place = (decision.input, decision.number);
        let found = self.reading.find(place, |input, passed| keep_other_record(keep, input, passed))?;
        if let Some(accounts) = &mut self.accounts {
            account(accounts, decision, is_kept, &found);
        }
        if let Some(texts) = &mut self.outputs.texts {
            if is_kept {
                texts.take(decision, &annotation, &found, text()?)?;
            }
            if self.outputs.drop.is_none() {
                self.copied.count(decision, is_kept, found.bytes);
                return Ok(());
            }
        }
        match found.content {
            Content::TooLarge => {
                self.copied.too_long += 1;
                self.counts.document_left_out();
            }
            Content::Unreadable => {
                self.copied.unreadable += 1;
                self.counts.document_left_out();
            }
            Content::Row(row) => {
                self.copied.count(decision, is_kept, found.bytes);
                let output = if is_kept { &mut self.outputs.keep } else { &mut self.outputs.drop };
                if let Some(output) = output {
                    output.write_row(decision.input, (&row, found.bytes), &annotation)?;
                }
            }
            Content::Bytes(framing, mut bytes) => {
                self.copied.count(decision, is_kept, found.bytes);
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

    /// Skips a record from which no page was read.
    ///
    /// # Errors
    /// The records before it cannot be read or written.
    pub(crate) fn leave_out(&mut self, input: usize, number: u64) -> Result<()> {
        let keep = &mut self.outputs.keep;
        self.reading
            .pass_to((input, number), |input, passed| keep_other_record(keep, input, passed))
            .map(drop)
    }

    /// Copies the rest of the inputs, and completes the files.
    ///
    /// # Errors
    /// The files cannot be written.
    pub(crate) fn finish(mut self) -> Result<Finished> {
        while let Some((input, original)) = self.reading.next_record(usize::MAX)? {
            keep_other_record(&mut self.outputs.keep, input, &original)?;
        }
        self.reading.end()?;
        let texts = self.outputs.texts.map(|texts| texts.finish()).transpose()?;
        for output in [self.outputs.keep, self.outputs.drop].into_iter().flatten() {
            output.finish()?;
        }
        let accounts = self.accounts.map(|(field, accounts)| accounts.finish(field.to_string()));
        Ok(Finished { copied: self.copied, accounts, texts })
    }
}

/// Counts the document in the accounts of its source.
fn account((field, accounts): &mut (Field, Accounts), decision: &Decision, is_kept: bool, found: &Original) {
    let (fate, bytes) = match found.content {
        Content::TooLarge | Content::Unreadable => (Fate::NotCopied, 0),
        _ => (if is_kept { Fate::Kept } else { Fate::Dropped }, found.bytes),
    };
    accounts.count(decision, field.value(decision, found.json()).as_deref(), fate, bytes);
}

/// Returns the fields about the verdict on a document.
fn annotation<'a>(
    decision: &'a Decision,
    choice: &'a Choice,
    sizes: Option<&Sizes>,
    added: Added,
) -> Annotation<'a> {
    let size = |sizes: &Sizes| sizes.get(&decision.founded).copied();
    let cluster_size = decision.cluster_id.as_ref().and(sizes).and_then(size);
    Annotation { decision, canonical: choice.canonical(decision), cluster_size, cut: None, added }
}

/// Copies a record that is not a page. Requests and metadata in a WARC file are kept, whichever pages are dropped. The
/// header of a CSV file is not copied here: the output writes it when it creates a file.
fn keep_other_record(keep: &mut Option<Output>, input: usize, original: &Original) -> Result<()> {
    match (keep, &original.content) {
        (Some(keep), Content::Bytes(framing, bytes))
            if !original.is_page && !matches!(framing, Framing::Csv(_)) =>
        {
            keep.write(input, *framing, bytes)
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
) -> Result<Option<Vec<u8>>> {
    // A document with a passage of a benchmark is dropped without a trace.
    if framing != Framing::Warc || decision.cluster_id.is_none() || decision.benchmark.is_some() {
        return Ok(None);
    }
    let Some(response) = Response::parse(bytes) else { return Ok(None) };
    let referent = referents.find(decision).context(CANNOT_STORE)?;
    Ok(referent.map(|referent| response.revisit(&referent)))
}

impl Referents {
    /// Adds the data about the canonical documents of all clusters. Used if a canonical document may come after
    /// documents that are dropped. Reads the inputs once.
    ///
    /// # Errors
    /// The inputs cannot be read.
    pub(crate) fn collect(
        &mut self,
        mut reading: SecondReading,
        choice: &Choice,
        spooled: &mut Spooled,
    ) -> Result<()> {
        let mut ordinals = 0..;
        spooled.each(|_, decision| {
            if ordinals.next().is_none_or(|ordinal| !choice.is_canonical(ordinal, decision)) {
                return Ok(());
            }
            let found = reading.find((decision.input, decision.number), |_, _| Ok::<_, Error>(()))?;
            let referent = match found.content {
                Content::Bytes(framing, bytes) => referent_of(decision, framing, &bytes),
                _ => Referent { url: decision.url.clone(), ..Referent::default() },
            };
            self.add(decision, &referent).context(CANNOT_STORE)
        })?;
        self.complete();
        Ok(())
    }
}
