//! Decides when a checkpoint is due. Runs in the thread that decides on pages.

use std::time::{Duration, Instant};

use super::{Checkpoint, CheckpointDir};
use leitong_base::record::Place;
use leitong_keep::sink::Milestone;
use leitong_pipeline::ClusterStage;
use leitong_store::snapshot::TableSettings;

/// Schedule of checkpoints: saves the table at regular intervals.
pub(crate) struct Milestones<'a> {
    folder: Option<&'a CheckpointDir>,
    settings: &'a TableSettings,
    every: Duration,
    due: Instant,
    /// The number of the next table to save.
    sequence: u64,
}

impl<'a> Milestones<'a> {
    /// Continues after `checkpoint`, and saves at most once in each interval `every`. Without a folder,
    /// nothing is saved.
    pub(crate) fn new(
        folder: Option<&'a CheckpointDir>,
        checkpoint: Option<&Checkpoint>,
        every: Duration,
        settings: &'a TableSettings,
    ) -> Self {
        let sequence = checkpoint.map_or(0, |checkpoint| checkpoint.sequence + 1);
        Self { folder, settings, every, due: Instant::now() + every, sequence }
    }

    /// Saves the table if a checkpoint is due, and returns the milestone. Call this when the record `last`
    /// and all records before it are decided. The table is written in this call, and decisions wait for it.
    ///
    /// # Errors
    /// The table cannot be written.
    pub(crate) fn after(&mut self, stage: &ClusterStage, last: Place) -> anyhow::Result<Option<Milestone>> {
        let Some(folder) = self.folder.filter(|_| Instant::now() >= self.due) else { return Ok(None) };
        let sequence = self.sequence;
        folder.save_table(sequence, stage.clusterer(), self.settings)?;
        self.sequence += 1;
        // The interval starts after the write, so a table that takes long to write is not written all the
        // time.
        self.due = Instant::now() + self.every;
        Ok(Some(Milestone { last, sequence }))
    }
}
