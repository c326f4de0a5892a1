//! Copies documents from the inputs to where they stay or go.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde::Serialize;

use super::annotate::Annotation;
use super::output::Output;
use super::prefer::Choice;
use super::referents::{Referent, Referents};
use super::revisit::Response;
use super::spool::Spooled;
use super::{Decision, Prefer};
use crate::sink::Extents;
use crate::source::open::Input;
use crate::source::originals::{Framing, Original, Originals};
use crate::source::parquet::originals::Row;
use crate::source::reading::Reading;
use crate::source::rules::InputRules;

/// The records of all inputs once more, one after the other.
pub struct Walk {
    inputs: Vec<PathBuf>,
    /// The first reading of each input.
    readings: Vec<Arc<Reading>>,
    rules: InputRules,
    /// Of tables, the one column that is of use; none: all.
    column: Option<String>,
    /// The input that is being read, and its number.
    current: Option<(usize, Originals)>,
    /// What is read of it now.
    again: Arc<Reading>,
}

/// A record that was looked for.
enum Found {
    Record(Original),
    /// None where it, or a part of it, cannot be read.
    Row(Option<Row>),
}

impl Walk {
    /// Walks through `inputs`, of which these are the first `readings`, by the same `rules`; of tables
    /// only the column of this name, if there is one.
    #[must_use]
    pub fn new(
        inputs: Vec<PathBuf>,
        readings: Vec<Arc<Reading>>,
        rules: InputRules,
        column: Option<String>,
    ) -> Self {
        Self { inputs, readings, rules, column, current: None, again: Arc::default() }
    }

    /// The next record, and the input that it is of, up to the end of the input `last`. Rows of tables
    /// are passed over: they are had by their numbers.
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

    /// Goes to the beginning of `input`.
    fn begin_with(&mut self, input: usize) -> anyhow::Result<()> {
        self.end()?;
        let path = &self.inputs[input];
        let open = || {
            let mut input = Input::open(path)?;
            let again = Arc::new(Reading::again(input.version()));
            input.reading = Some(Arc::clone(&again));
            Ok((again, input.into_originals(&self.rules, self.column.as_deref())?))
        };
        let opened: io::Result<_> = open();
        let (again, originals) = opened.with_context(|| format!("{}", path.display()))?;
        ensure!(!self.readings[input].is_surely_another(&again), "{}: {REPLACED}", path.display());
        self.again = again;
        self.current = Some((input, originals));
        Ok(())
    }

    /// Leaves the present input, of which all is read: compares what was read with the first reading.
    fn end(&mut self) -> anyhow::Result<()> {
        let Some((input, _)) = self.current.take() else { return Ok(()) };
        let path = &self.inputs[input];
        let is_same = self.readings[input].is_same(&self.again, path);
        ensure!(is_same.with_context(|| format!("{}", path.display()))?, "{}: {REPLACED}", path.display());
        Ok(())
    }

    /// The record with this number of this input; `passed` sees those before it.
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
            "{}: record {at_number} is not there any more: the file has changed while it was read; run again",
            self.inputs[at_input].display()
        )
    }
}

/// What is wrong with an input that is another one by now.
const REPLACED: &str = "was replaced or changed while this run read it, so some of its documents were never decided \
                        on; the outputs are not complete: run again";

/// Where documents go, and in what form.
pub struct Outputs {
    /// Those that stay.
    pub keep: Option<Output>,
    /// The others, with what their verdicts say.
    pub drop: Option<Output>,
    /// Whether those that stay get fields about the verdict as well.
    pub annotate: bool,
    /// What is known of the documents that stay, where revisit records stand in place of duplicates.
    pub revisit: Option<Referents>,
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Documents that stay.
    pub kept: u64,
    /// Documents that go.
    pub dropped: u64,
    /// Bytes of the latter.
    pub dropped_bytes: u64,
    /// Of these, those with a revisit record in their place.
    pub revisits: u64,
    /// Documents that could not be copied, since they are longer than a line may be.
    pub too_long: u64,
    /// Rows that could not be copied, since a column of theirs cannot be read.
    pub unreadable: u64,
}

impl Copied {
    fn count(&mut self, stays: bool, bytes: u64) {
        if stays {
            self.kept += 1;
        } else {
            self.dropped += 1;
            self.dropped_bytes += bytes;
        }
    }
}

/// Copies documents as decisions on them come.
pub struct Copier {
    walk: Walk,
    outputs: Outputs,
    choice: Choice,
    copied: Copied,
    ordinal: u64,
}

impl Copier {
    /// Copies what `walk` reads to where `choice` says.
    #[must_use]
    pub fn new(walk: Walk, outputs: Outputs, choice: Choice) -> Self {
        Self { walk, outputs, choice, copied: Copied::default(), ordinal: 0 }
    }

    /// Passes over all records up to `number` of `input`, which an earlier run has copied.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn pass_over(&mut self, (input, number): (usize, u64)) -> anyhow::Result<()> {
        self.walk.begin_with(input)?;
        while let Some((_, original)) = self.walk.next(input)? {
            if original.number >= number {
                break;
            }
        }
        Ok(())
    }

    /// Brings all documents to disk, and says how far the outputs have come.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn extents(&mut self) -> anyhow::Result<Extents> {
        let outputs = [("keep", &mut self.outputs.keep), ("drop", &mut self.outputs.drop)];
        let outputs = outputs.into_iter().filter_map(|(name, output)| Some((name, output.as_mut()?)));
        let mut extents: Extents = outputs
            .map(|(name, output)| Ok((name.to_owned(), output.extent()?)))
            .collect::<anyhow::Result<_>>()?;
        if let Some(referents) = &mut self.outputs.revisit {
            extents.insert("referents".to_owned(), referents.extent().context(WHAT_REVISITS_SAY)?);
        }
        Ok(extents)
    }

    /// Copies the document that `decision` is about. Decisions come in the order of the inputs.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn copy(&mut self, decision: &Decision) -> anyhow::Result<()> {
        let keep = &mut self.outputs.keep;
        let place = (decision.input, decision.number);
        let found = self.walk.find(place, |input, passed| keep_what_is_no_page(keep, input, passed))?;
        let stays = self.choice.stays(self.ordinal, decision);
        let stands = self.choice.stands(self.ordinal, decision);
        self.ordinal += 1;
        let annotation = Annotation {
            leitong_cluster: decision.cluster_id.as_deref(),
            leitong_kind: decision.kind,
            leitong_canonical: self.choice.canonical(decision),
        };
        match found {
            Found::Row(None) => self.copied.unreadable += 1,
            Found::Record(Original { bytes: None, .. }) => self.copied.too_long += 1,
            Found::Row(Some(row)) => {
                self.copied.count(stays, row.bytes);
                let output = if stays { &mut self.outputs.keep } else { &mut self.outputs.drop };
                if let Some(output) = output {
                    output.write_row(decision.input, &row, &annotation)?;
                }
            }
            Found::Record(Original { bytes: Some(mut bytes), framing, .. }) => {
                self.copied.count(stays, bytes.len() as u64);
                if let Outputs { revisit: Some(referents), keep: Some(keep), .. } = &mut self.outputs {
                    if stands && !referents.is_complete() {
                        let referent = referent_of(decision, framing, &bytes);
                        referents.add(decision, &referent).context(WHAT_REVISITS_SAY)?;
                    } else if !stays && let Some(revisit) = revisit(referents, decision, framing, &bytes)? {
                        keep.write(decision.input, framing, &annotation.added_to(revisit, framing))?;
                        self.copied.revisits += 1;
                    }
                }
                let output = if stays { &mut self.outputs.keep } else { &mut self.outputs.drop };
                let Some(output) = output else { return Ok(()) };
                if self.outputs.annotate || !stays {
                    bytes = annotation.added_to(bytes, framing);
                }
                let has_mark = framing != Framing::Page && bytes.starts_with(b"\xef\xbb\xbf");
                let start = if has_mark { 3 } else { 0 };
                output.write(decision.input, framing, &bytes[start..])?;
            }
        }
        Ok(())
    }

    /// Goes on behind a record that no page was read from.
    ///
    /// # Errors
    /// The records before it cannot be read or written.
    pub fn leave_out(&mut self, input: usize, number: u64) -> anyhow::Result<()> {
        let keep = &mut self.outputs.keep;
        self.walk.find((input, number), |input, passed| keep_what_is_no_page(keep, input, passed)).map(drop)
    }

    /// Copies what is left of the inputs, and ends the files.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(mut self) -> anyhow::Result<Copied> {
        while let Some((input, original)) = self.walk.next(usize::MAX)? {
            keep_what_is_no_page(&mut self.outputs.keep, input, &original)?;
        }
        self.walk.end()?;
        for output in [self.outputs.keep, self.outputs.drop].into_iter().flatten() {
            output.finish()?;
        }
        Ok(self.copied)
    }
}

/// Requests and descriptions of a WARC file stay, whatever becomes of its pages.
fn keep_what_is_no_page(keep: &mut Option<Output>, input: usize, original: &Original) -> anyhow::Result<()> {
    match (keep, &original.bytes) {
        (Some(keep), Some(bytes)) if !original.is_page && !matches!(original.framing, Framing::Csv(_)) => {
            keep.write(input, original.framing, bytes)
        }
        _ => Ok(()),
    }
}

/// What of the machine fails with it, in messages.
const WHAT_REVISITS_SAY: &str = "cannot take note of what revisit records are to say";

/// What revisit records say of a document that stays.
fn referent_of(decision: &Decision, framing: Framing, bytes: &[u8]) -> Referent {
    let response = if framing == Framing::Warc { Response::of(bytes) } else { None };
    let without_record = || Referent { url: decision.url.clone(), ..Referent::default() };
    response.map_or_else(without_record, |response| response.referent(&decision.url))
}

/// The revisit record for a document that goes, if it is a response and belongs to a cluster.
fn revisit(
    referents: &Referents,
    decision: &Decision,
    framing: Framing,
    bytes: &[u8],
) -> anyhow::Result<Option<Vec<u8>>> {
    if framing != Framing::Warc || decision.cluster_id.is_none() {
        return Ok(None);
    }
    let Some(response) = Response::of(bytes) else { return Ok(None) };
    let referent = referents.find(decision).context(WHAT_REVISITS_SAY)?;
    Ok(referent.map(|referent| response.revisit(&referent)))
}

/// Adds to `referents` what revisit records are to say of the documents that stand for clusters, where these may come
/// behind those that go. Reads the inputs once more.
///
/// # Errors
/// They cannot be read.
pub fn collect_referents(
    mut walk: Walk,
    choice: &Choice,
    spooled: &mut Spooled,
    referents: &mut Referents,
) -> anyhow::Result<()> {
    let mut ordinals = 0..;
    spooled.each(|_, decision| {
        if ordinals.next().is_none_or(|ordinal| !choice.stands(ordinal, decision)) {
            return Ok(());
        }
        let referent = match walk.find((decision.input, decision.number), |_, _| Ok(()))? {
            Found::Record(Original { bytes: Some(bytes), framing, .. }) => {
                referent_of(decision, framing, &bytes)
            }
            Found::Record(_) | Found::Row(_) => Referent { url: decision.url.clone(), ..Referent::default() },
        };
        referents.add(decision, &referent).context(WHAT_REVISITS_SAY)
    })?;
    referents.complete();
    Ok(())
}

/// Ranks documents by what they say themselves.
pub struct Ranker {
    walk: Walk,
    prefer: Prefer,
    choice: Choice,
    ordinal: u64,
    /// Documents without the number that decides.
    lacking: u64,
}

/// What ranking has come to.
pub struct Ranked {
    /// Knows the best document of each group.
    pub choice: Choice,
    /// Number of documents that were ranked.
    pub documents: u64,
    /// Number of those without the number that [`Prefer::Highest`] or [`Prefer::Lowest`] looks for.
    pub lacking: u64,
}

impl Ranker {
    /// Reads what `walk` reads only if the verdicts do not tell.
    #[must_use]
    pub fn new(walk: Walk, prefer: Prefer, choice: Choice) -> Self {
        Self { walk, prefer, choice, ordinal: 0, lacking: 0 }
    }

    /// Ranks the document that `decision` is about. Decisions come in the order of the inputs.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn rank(&mut self, decision: &Decision) -> anyhow::Result<()> {
        let rank = match self.prefer.of_decision(decision) {
            Some(rank) => rank,
            None => {
                let json = match self.walk.find((decision.input, decision.number), |_, _| Ok(()))? {
                    Found::Record(original) => original.json.or(original.bytes),
                    Found::Row(row) => row.map(|row| row.json()),
                };
                let rank = json.map_or(f64::NEG_INFINITY, |json| self.prefer.of_record(&json));
                self.lacking += u64::from(rank == f64::NEG_INFINITY);
                rank
            }
        };
        self.choice.offer(self.ordinal, decision, rank);
        self.ordinal += 1;
        Ok(())
    }

    /// Returns what knows the best document of each group.
    #[must_use]
    pub fn finish(self) -> Ranked {
        Ranked { choice: self.choice, documents: self.ordinal, lacking: self.lacking }
    }
}
