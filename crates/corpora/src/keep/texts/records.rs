//! Reads the records of all inputs once more, as in the first reading.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;

use crate::keep::reread::{check_unchanged, open_again};
use crate::source::reading::Reading;
use crate::source::rules::InputRules;
use crate::source::{Record, Source};
use leitong_base::record::Place;

/// Size of the records that are read together, in bytes.
const BATCH_BYTES: usize = 1 << 20;

/// A second reading of the inputs, one after the other.
pub(super) struct Records {
    inputs: Vec<PathBuf>,
    readings: Vec<Arc<Reading>>,
    rules: InputRules,
    current: Option<Current>,
}

/// The input that is being read.
struct Current {
    input: usize,
    source: Box<dyn Source>,
    again: Arc<Reading>,
    /// Records that were read but not requested yet.
    ahead: VecDeque<Record>,
    has_more: bool,
}

impl Records {
    pub(super) fn new(inputs: Vec<PathBuf>, readings: Vec<Arc<Reading>>, rules: InputRules) -> Self {
        Self { inputs, readings, rules, current: None }
    }

    /// Returns the number of values for `--fields` that cannot be written as JSON, by column.
    pub(super) fn without_json(&self) -> BTreeMap<String, u64> {
        self.rules.extra.without_json()
    }

    /// Moves to the start of `input`.
    pub(super) fn begin_with(&mut self, input: usize) -> anyhow::Result<()> {
        let path = &self.inputs[input];
        let rules = &self.rules;
        let (again, source) =
            open_again(path, &self.readings[input], |input| input.into_source(rules, Arc::default()))?;
        self.current = Some(Current { input, source, again, ahead: VecDeque::new(), has_more: true });
        Ok(())
    }

    /// Returns the record `number` of `input`. Records must be requested in order.
    pub(super) fn find(&mut self, (input, number): (usize, u64)) -> anyhow::Result<Record> {
        while self.current.as_ref().is_none_or(|current| current.input < input) {
            let next = self.current.as_ref().map_or(0, |current| current.input + 1);
            self.end()?;
            self.begin_with(next)?;
        }
        while let Some(record) = self.next()? {
            if number_of(&record.place) == number {
                return Ok(record);
            }
        }
        anyhow::bail!(
            "{}: record {number} is missing: the file changed while it was read; run again",
            self.inputs[input].display()
        )
    }

    /// Returns the next record of the current input.
    fn next(&mut self) -> anyhow::Result<Option<Record>> {
        let Some(current) = &mut self.current else { return Ok(None) };
        while current.ahead.is_empty() && current.has_more {
            let mut batch = Vec::new();
            let more = current.source.read_batch(&mut batch, BATCH_BYTES);
            current.has_more = more.with_context(|| format!("{}", self.inputs[current.input].display()))?;
            current.ahead.extend(batch);
        }
        Ok(current.ahead.pop_front())
    }

    /// Reads the rest of the current input, and compares it with the first reading.
    fn end(&mut self) -> anyhow::Result<()> {
        while self.next()?.is_some() {}
        let Some(Current { input, again, .. }) = self.current.take() else { return Ok(()) };
        check_unchanged(&self.inputs[input], &self.readings[input], &again)
    }

    /// Reads the rest of all inputs.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        loop {
            let next = self.current.as_ref().map_or(0, |current| current.input + 1);
            self.end()?;
            if next >= self.inputs.len() {
                return Ok(());
            }
            self.begin_with(next)?;
        }
    }
}

fn number_of(place: &Place) -> u64 {
    match place {
        Place::Line { line, .. } => *line,
        Place::Record { record, .. } => *record,
        Place::Message { offset, .. } => *offset,
    }
}
