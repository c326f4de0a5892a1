//! When a checkpoint is due, seen from the thread that decides.

use std::time::{Duration, Instant};

use super::{Checkpoint, CheckpointDir};
use crate::pipeline::cluster_stage::ClusterStage;
use crate::record::Place;
use crate::sink::Milestone;
use crate::snapshot::TableSettings;

/// Saves the table now and then.
pub struct Milestones<'a> {
    folder: Option<&'a CheckpointDir>,
    settings: &'a TableSettings,
    every: Duration,
    due: Instant,
    /// The number of the next table.
    sequence: u64,
}

impl<'a> Milestones<'a> {
    /// Behind `checkpoint`, one at most in each interval `every`; none without a folder.
    #[must_use]
    pub fn new(
        folder: Option<&'a CheckpointDir>,
        checkpoint: Option<&Checkpoint>,
        every: Duration,
        settings: &'a TableSettings,
    ) -> Self {
        let sequence = checkpoint.map_or(0, |checkpoint| checkpoint.sequence + 1);
        Self { folder, settings, every, due: Instant::now() + every, sequence }
    }

    /// To be called when the record `last` and all before it are decided on. The table is written
    /// here, and decisions wait for it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn after(&mut self, stage: &ClusterStage, last: Place) -> anyhow::Result<Option<Milestone>> {
        let Some(folder) = self.folder.filter(|_| Instant::now() >= self.due) else { return Ok(None) };
        let sequence = self.sequence;
        folder.save_table(sequence, stage.clusterer(), self.settings)?;
        self.sequence += 1;
        // A table that takes long to write is not written all the time.
        self.due = Instant::now() + self.every;
        Ok(Some(Milestone { last, sequence }))
    }
}
