//! Commits a checkpoint once all outputs have passed its milestone.

use std::sync::Arc;

use anyhow::Context;

use super::{Checkpoint, CheckpointDir, FORMAT_VERSION, Faults, RunId};
use leitong_base::record::Timestamp;
use leitong_cluster::verdict::Conclusion;
use leitong_formats::source::{InputNames, Reading, WarcBase};
use leitong_keep::Error;
use leitong_keep::sink::{Counts, Extents, Milestone, Sink};

/// A sink that turns milestones into checkpoints and forwards everything to another sink.
pub(crate) struct CheckpointSink<S> {
    /// The other sink.
    pub inner: S,
    /// The folder of checkpoints. Without it, there are none.
    pub folder: Option<Arc<CheckpointDir>>,
    /// The run.
    pub run: RunId,
    /// The inputs.
    pub names: InputNames,
    /// The log offset and the time at which the run began.
    pub begun_at: (u64, Timestamp),
    /// The progress in each input.
    pub readings: Vec<Arc<Reading>>,
    /// The WARC files that the inputs name, if they are indexes.
    pub warc_base: Option<Arc<WarcBase>>,
    /// The faults before the run was resumed, and the counts since then.
    pub faults: (Faults, Arc<Counts>),
}

impl<S: Sink> CheckpointSink<S> {
    fn commit(&mut self, milestone: &Milestone) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let last = self.names.find(&milestone.last).context("a record that belongs to no input")?;
        // Documents are copied by another thread, and counted when the extents are known.
        let extents = self.inner.extents()?;
        let (earlier, counts) = &self.faults;
        let checkpoint = Checkpoint {
            format_version: FORMAT_VERSION,
            run: self.run.clone(),
            last,
            read: self.readings.iter().take(last.0 + 1).map(|reading| reading.part()).collect(),
            warc_files: self.warc_base.as_ref().map(|base| base.used()).unwrap_or_default(),
            checksum: String::new(),
            begun_at: self.begun_at.0,
            started_at: self.begun_at.1,
            sequence: milestone.sequence,
            extents,
            faults: earlier.and(counts),
        };
        folder.commit(&checkpoint)
    }
}

impl<S: Sink> Sink for CheckpointSink<S> {
    fn write(&mut self, conclusions: Vec<Conclusion>) -> Result<(), Error> {
        self.inner.write(conclusions)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.inner.flush()
    }

    fn extents(&mut self) -> Result<Extents, Error> {
        self.inner.extents()
    }

    fn reached(&mut self, milestone: &Milestone) -> Result<(), Error> {
        let committed = self.commit(milestone);
        committed.map_err(|error| Error::Sink(error.reallocate_into_boxed_dyn_error_without_backtrace()))
    }
}
