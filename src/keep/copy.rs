//! Copies documents from the inputs to where they stay or go.

use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;

use super::annotate::Annotation;
use super::output::Output;
use super::prefer::Choice;
use super::{Decision, Prefer};
use crate::page::config::PageConfig;
use crate::sink::Extents;
use crate::source::open::Input;
use crate::source::originals::{Framing, Original, Originals};
use crate::source::parquet::originals::Row;

/// The records of all inputs once more, one after the other.
pub struct Walk {
    inputs: Vec<PathBuf>,
    limits: PageConfig,
    /// Of tables, the one column that is of use; none: all.
    column: Option<String>,
    /// The input that is being read, and its number.
    current: Option<(usize, Originals)>,
}

/// A record that was looked for.
enum Found {
    Record(Original),
    /// None where it, or a part of it, cannot be read.
    Row(Option<Row>),
}

impl Walk {
    /// Of `inputs`, within `limits`, which are those of the first reading; of tables only the column
    /// of this name, if there is one.
    #[must_use]
    pub fn new(inputs: Vec<PathBuf>, limits: PageConfig, column: Option<String>) -> Self {
        Self { inputs, limits, column, current: None }
    }

    /// The next record, and the input that it is of, up to the end of the input `last`. Rows of tables
    /// are passed over: they are had by their numbers.
    fn next(&mut self, last: usize) -> anyhow::Result<Option<(usize, Original)>> {
        loop {
            let next = match &mut self.current {
                None => 0,
                Some((input, _)) if *input > last => return Ok(None),
                Some((input, Originals::Rows(_))) => *input + 1,
                Some((input, Originals::Records(originals))) => {
                    let original = originals.next_record();
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
        let path = &self.inputs[input];
        let open = || Input::open(path)?.into_originals(&self.limits, self.column.as_deref());
        self.current = Some((input, open().with_context(|| format!("{}", path.display()))?));
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

/// Where documents go, and in what form.
pub struct Outputs {
    /// Those that stay.
    pub keep: Option<Output>,
    /// The others, with what their verdicts say.
    pub drop: Option<Output>,
    /// Whether those that stay get fields about the verdict as well.
    pub annotate: bool,
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
        outputs.map(|(name, output)| Ok((name.to_owned(), output.extent()?))).collect()
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
        self.ordinal += 1;
        let annotation = Annotation {
            leitong_cluster: decision.cluster_id.as_deref(),
            leitong_kind: decision.kind,
            leitong_canonical: self.choice.canonical(decision),
        };
        let output = if stays { &mut self.outputs.keep } else { &mut self.outputs.drop };
        match found {
            Found::Row(None) => self.copied.unreadable += 1,
            Found::Record(Original { bytes: None, .. }) => self.copied.too_long += 1,
            Found::Row(Some(row)) => {
                self.copied.count(stays, row.bytes);
                if let Some(output) = output {
                    output.write_row(decision.input, &row, &annotation)?;
                }
            }
            Found::Record(Original { bytes: Some(mut bytes), framing, .. }) => {
                self.copied.count(stays, bytes.len() as u64);
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
        for output in [self.outputs.keep, self.outputs.drop].into_iter().flatten() {
            output.finish()?;
        }
        Ok(self.copied)
    }
}

/// Requests and descriptions of a WARC file stay, whatever becomes of its pages.
fn keep_what_is_no_page(keep: &mut Option<Output>, input: usize, original: &Original) -> anyhow::Result<()> {
    match (keep, &original.bytes) {
        (Some(keep), Some(bytes))
            if !original.is_page && !matches!(original.framing, Framing::Csv { .. }) =>
        {
            keep.write(input, original.framing, bytes)
        }
        _ => Ok(()),
    }
}

/// Ranks documents by what they say themselves.
pub struct Ranker {
    walk: Walk,
    prefer: Prefer,
    choice: Choice,
    ordinal: u64,
}

impl Ranker {
    /// Reads what `walk` reads only if the verdicts do not tell.
    #[must_use]
    pub fn new(walk: Walk, prefer: Prefer, choice: Choice) -> Self {
        Self { walk, prefer, choice, ordinal: 0 }
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
                json.map_or(f64::NEG_INFINITY, |json| self.prefer.of_record(&json))
            }
        };
        self.choice.offer(self.ordinal, decision, rank);
        self.ordinal += 1;
        Ok(())
    }

    /// What knows the best of each group.
    #[must_use]
    pub fn finish(self) -> Choice {
        self.choice
    }
}
