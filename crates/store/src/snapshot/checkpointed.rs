//! Checkpoints of the table of a long `dedup` run.
//!
//! A checkpoint is the file of a table, in a folder of its own. If old centroids are on disk, the blocks stay
//! in the table's folder, so a checkpoint takes at most a few hundred megabytes, however large the table is.
//! The saved table stays unchanged until the end of the run. Invariant: blocks are deleted only when neither
//! the saved table nor the checkpoint names them.
//!
//! Another run must not change the table between two parts of a run with checkpoints: it could write other
//! blocks under the same names, or add pages that the checkpoint lacks. So a run with checkpoints writes a
//! *mark*, a random number, into both folders. Any other run that opens the table removes the mark before it
//! writes anything. Without the mark, the checkpoint is refused.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::SnapshotError;
use super::file::at;
use super::folder::{Unfinished, if_there};
use super::ours::{self, FILE_NAME, MARK, START};
use super::table_dir::{SameSettings, TableDir, TableSettings, new_table_id};
use crate::blocks::{BlockStore, create_folder};
use leitong_base::record::Timestamp;
use leitong_cluster::Clusterer;
use leitong_cluster::log::Watermarks;

impl TableDir {
    /// Removes the mark from a folder of checkpoints. The folder may then be used for other files.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn remove_mark(checkpoints: &Path) -> io::Result<()> {
        if_there(fs::remove_file(checkpoints.join(MARK)))?;
        ours::unmark(checkpoints)
    }

    /// Removes the table of a checkpoint, and its folder `checkpoint`.
    ///
    /// # Errors
    /// The error of the operating system, also if the folder has a file of somebody else.
    pub fn remove_checkpoint(checkpoint: &Path) -> io::Result<()> {
        for name in [ours::LOCK, FILE_NAME, "centroids.leitong.new"] {
            if_there(fs::remove_file(checkpoint.join(name)))?;
        }
        fs::remove_dir(checkpoint)
    }

    /// Locks `folder` for a run whose checkpoints are in other folders.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_for_checkpoints(folder: &Path) -> Result<Self, SnapshotError> {
        let mut dir = Self::open(folder)?;
        dir.checkpointed = true;
        Ok(dir)
    }

    /// Begins a run with checkpoints in the folder `checkpoints`. Checkpoints of other runs become invalid.
    ///
    /// # Errors
    /// [`SnapshotError::Io`] if a file cannot be written or removed.
    pub fn begin_checkpoints(&self, checkpoints: &Path) -> Result<(), SnapshotError> {
        let mark = format!("{:016x}", new_table_id());
        for folder in [checkpoints, self.folder()] {
            write_whole(&folder.join(MARK), mark.as_bytes()).map_err(at(folder))?;
        }
        Ok(())
    }

    /// Loads the table of the checkpoint in the folder `checkpoint`, a subfolder of `checkpoints`. Returns
    /// `None` if there is none.
    ///
    /// # Errors
    /// [`SnapshotError`] if the checkpoint cannot be loaded, or if another run has opened the table since.
    pub fn load_checkpoint(
        &self,
        (checkpoints, checkpoint): (&Path, &Path),
        settings: &TableSettings,
    ) -> Result<Option<Clusterer>, SnapshotError> {
        if !self.has_mark_of(checkpoints)? {
            let (table, path) = (self.folder().to_owned(), checkpoints.to_owned());
            return Err(SnapshotError::CheckpointApart { path, table });
        }
        Ok(self
            .load_file(&checkpoint.join(FILE_NAME), settings, SameSettings::All)?
            .map(|(clusterer, _)| clusterer))
    }

    /// Returns true if both folders have the same mark, so no other run has opened the table since.
    fn has_mark_of(&self, checkpoints: &Path) -> Result<bool, SnapshotError> {
        let mark = |folder: &Path| if_there(fs::read(folder.join(MARK))).map_err(at(folder));
        let ours = mark(checkpoints)?;
        Ok(ours.is_some() && ours == mark(self.folder())?)
    }

    /// Saves a checkpoint into the folder `checkpoint`. Returns the checkpoint's number for
    /// [`Self::checkpoint_counts`].
    ///
    /// # Errors
    /// [`SnapshotError`] if the table cannot be relied on any more, or the checkpoint cannot be written.
    pub fn save_checkpoint(
        &self,
        checkpoint: &Path,
        clusterer: &Clusterer,
        settings: &TableSettings,
    ) -> Result<u64, SnapshotError> {
        create_folder(checkpoint).map_err(at(checkpoint))?;
        let blocks = self.blocks();
        if let Some(blocks) = blocks {
            blocks.wait_for_blocks()?;
        }
        self.save_file(&checkpoint.join(FILE_NAME), clusterer, &Watermarks::default(), settings)?;
        Ok(blocks.map_or(0, BlockStore::manifests))
    }

    /// Marks the checkpoint with this number as valid, and earlier ones as invalid. Blocks that only the
    /// earlier ones need may then be deleted.
    pub fn checkpoint_counts(&self, number: u64) {
        if let Some(blocks) = self.blocks() {
            blocks.saved_up_to(number);
        }
    }

    /// Returns the time at which a run began: the recorded one, if an earlier process began the run `run` and was then
    /// killed. Otherwise the run begins at `now`, which is recorded in the table's folder. `run` is a hash that
    /// identifies the run; `None` if it cannot be recognised when it is repeated.
    ///
    /// # Errors
    /// [`SnapshotError::Io`] if the file cannot be read or written.
    pub fn start_of_run(&self, run: Option<u64>, now: Timestamp) -> Result<Timestamp, SnapshotError> {
        let path = self.folder().join(START);
        let run = run.map(|run| format!("{run:016x} "));
        let recorded = if_there(fs::read_to_string(&path)).map_err(at(&path))?.unwrap_or_default();
        let of_this_run = run.as_ref().and_then(|run| recorded.strip_prefix(&**run));
        let started = of_this_run.and_then(|ms| Timestamp::from_ms(ms.trim_end().parse().ok()?));
        if let Some(started) = started {
            return Ok(started.min(now));
        }
        if let Some(run) = run {
            write_whole(&path, format!("{run}{}\n", now.as_ms()).as_bytes()).map_err(at(&path))?;
        }
        Ok(now)
    }

    /// Ends the run after its table was saved. Its checkpoints in the folder `checkpoints` become invalid. A
    /// mark of another run is kept.
    ///
    /// # Errors
    /// [`SnapshotError::Io`] if a file cannot be written or removed.
    pub fn end_checkpoints(&self, checkpoints: &Path) -> Result<(), SnapshotError> {
        if self.has_mark_of(checkpoints)? {
            self.remove_checkpoints()?;
        }
        if let Some(blocks) = self.blocks() {
            blocks.saved();
            blocks.keep_nothing();
        }
        Ok(())
    }

    /// Makes checkpoints of earlier runs invalid.
    ///
    /// # Errors
    /// [`SnapshotError::Io`] if a file cannot be written or removed.
    pub fn remove_checkpoints(&self) -> Result<(), SnapshotError> {
        let folder = self.folder();
        if_there(fs::remove_file(folder.join(MARK)))
            .and_then(|_| fs::File::open(folder)?.sync_all())
            .map_err(at(folder))
    }
}

/// Writes a file in one step.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = Unfinished::new(path.with_extension("new"));
    let mut file = fs::File::create(new.path())?;
    file.write_all(bytes)?;
    file.sync_all()?;
    new.replace(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_repeated_began_when_it_was_begun_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let start = |run, now| {
            let dir = TableDir::open(folder.path()).expect("a folder");
            dir.start_of_run(run, Timestamp::from_ms(now).expect("a time")).expect("recorded").as_ms()
        };
        assert_eq!(start(Some(7), 1_000), 1_000);
        assert_eq!(start(Some(7), 5_000), 1_000);
        // Standard input may be another one each time.
        assert_eq!((start(None, 6_000), start(None, 7_000)), (6_000, 7_000));
        assert_eq!(start(Some(7), 8_000), 1_000);
        assert_eq!((start(Some(8), 9_000), start(Some(7), 10_000)), (9_000, 10_000), "one run at a time");
        // A clock that was wrong must not put the start into the future.
        assert_eq!(start(Some(7), 500), 500);
        fs::write(folder.path().join(START), "something else").expect("written");
        assert_eq!(start(Some(7), 11_000), 11_000);
    }
}
