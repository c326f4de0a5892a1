//! Several inputs, one after the other, as one source.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::open::Input;
use super::{ReadSoFar, Record, Skipped, Source};
use crate::page::config::PageConfig;

/// All inputs of a run.
pub struct Inputs {
    waiting: VecDeque<Input>,
    current: Option<Box<dyn Source>>,
    limits: PageConfig,
    read: Arc<ReadSoFar>,
    skipped: Skipped,
}

impl Inputs {
    /// The records of `inputs`, in order; `read` counts what is read of them.
    #[must_use]
    pub fn new(inputs: Vec<Input>, limits: PageConfig, read: Arc<ReadSoFar>) -> Self {
        Self { waiting: inputs.into(), current: None, limits, read, skipped: Skipped::default() }
    }
}

impl Source for Inputs {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes: usize) -> io::Result<bool> {
        if self.current.is_none() {
            let Some(input) = self.waiting.pop_front() else { return Ok(false) };
            let name = Arc::clone(&input.name);
            let source = input.into_source(&self.limits, Arc::clone(&self.read));
            self.current = Some(source.map_err(|error| named(&name, &error))?);
        }
        let before = batch.len();
        let more = match &mut self.current {
            Some(source) => source.read_batch(batch, bytes)?,
            None => true,
        };
        self.read.records.fetch_add((batch.len() - before) as u64, Ordering::Relaxed);
        if let Some(source) = self.current.as_ref().filter(|_| !more) {
            self.skipped += source.skipped();
            self.current = None;
            return Ok(!self.waiting.is_empty());
        }
        Ok(true)
    }

    fn skipped(&self) -> Skipped {
        let mut skipped = self.skipped;
        if let Some(source) = &self.current {
            skipped += source.skipped();
        }
        skipped
    }
}

fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
