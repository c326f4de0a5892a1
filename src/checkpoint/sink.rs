//! Commits a checkpoint when its milestone has passed all outputs.

use std::sync::Arc;

use anyhow::Context;

use super::{Checkpoint, CheckpointDir, FORMAT_VERSION, RunId};
use crate::sink::{Extents, Milestone, Sink};
use crate::source::inputs::InputNames;
use crate::source::reading::Reading;
use crate::verdict::Conclusion;

/// A sink before another one.
pub struct CheckpointSink<S> {
    inner: S,
    folder: Option<Arc<CheckpointDir>>,
    run: RunId,
    names: InputNames,
    begun_at: u64,
    /// What is read of each input.
    readings: Vec<Arc<Reading>>,
}

impl<S: Sink> CheckpointSink<S> {
    /// Hands all on to `inner`; with a folder, milestones become checkpoints of `run`,
    /// which began at the offset `begun_at` of the log and reads its inputs with these `readings`.
    #[must_use]
    pub fn new(
        inner: S,
        folder: Option<Arc<CheckpointDir>>,
        run: RunId,
        names: InputNames,
        (begun_at, readings): (u64, Vec<Arc<Reading>>),
    ) -> Self {
        Self { inner, folder, run, names, begun_at, readings }
    }

    /// The sink behind.
    #[must_use]
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: Sink> Sink for CheckpointSink<S> {
    fn write(&mut self, conclusions: Vec<Conclusion>) -> anyhow::Result<()> {
        self.inner.write(conclusions)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.inner.flush()
    }

    fn extents(&mut self) -> anyhow::Result<Extents> {
        self.inner.extents()
    }

    fn reached(&mut self, milestone: &Milestone) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let last = self.names.find(&milestone.last).context("a record of no input")?;
        let checkpoint = Checkpoint {
            format_version: FORMAT_VERSION,
            run: self.run.clone(),
            last,
            read: self.readings.iter().take(last.0 + 1).map(|reading| reading.part()).collect(),
            checksum: String::new(),
            begun_at: self.begun_at,
            sequence: milestone.sequence,
            extents: self.inner.extents()?,
        };
        folder.commit(&checkpoint)
    }
}
