//! Checkpoints of a table, as a long run of `dedup` makes them.
//!
//! Where old centroids are on disk, blocks stay in the table's folder. A checkpoint is, in a folder of its own, the file that names them,
//! with the centroids that are in none: some hundred megabytes at most, however large the table is. The
//! saved table itself stays as it was before the run until the run is through. So two files name
//! blocks, and none goes that either needs.
//!
//! Another run knows nothing of them. It would write other blocks under the same names, or add pages to the saved
//! table, which the table of the checkpoint would then replace. So a run with checkpoints leaves a *mark* in the table's folder, a number that it draws and keeps in
//! the checkpoint's folder as well; whoever else opens the table takes the mark away before writing
//! anything, and the checkpoint is refused then.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::SnapshotError;
use super::file::{FILE_NAME, TableDir, TableSettings, at, new_table_id};
use super::folder::Unfinished;
use crate::blocks::{BlockStore, create_folder};
use leitong_cluster::Clusterer;
use leitong_cluster::log::watermarks::Watermarks;

/// The mark in the table's folder, and the copy of it in the checkpoint's.
const MARK: &str = "checkpoint.mark";

impl TableDir {
    /// Locks `folder` for a run whose checkpoints are in other folders.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn open_for_checkpoints(folder: &Path) -> Result<Self, SnapshotError> {
        let mut dir = Self::open(folder)?;
        dir.checkpointed = true;
        Ok(dir)
    }

    /// Begins with checkpoints in the folder `checkpoints`; those of other runs do not count any more.
    ///
    /// # Errors
    /// [`SnapshotError::Io`].
    pub fn begin_checkpoints(&self, checkpoints: &Path) -> Result<(), SnapshotError> {
        let mark = format!("{:016x}", new_table_id());
        for folder in [checkpoints, self.folder()] {
            write_whole(&folder.join(MARK), mark.as_bytes()).map_err(at(folder))?;
        }
        Ok(())
    }

    /// The table of the checkpoint in the folder `checkpoint`, which is one of `checkpoints`; none if
    /// there is none.
    ///
    /// # Errors
    /// [`SnapshotError`], where it cannot be loaded, or others have written to the table since.
    pub fn load_checkpoint(
        &self,
        (checkpoints, checkpoint): (&Path, &Path),
        settings: &TableSettings,
    ) -> Result<Option<Clusterer>, SnapshotError> {
        if !self.has_mark_of(checkpoints)? {
            let (table, path) = (self.folder().to_owned(), checkpoints.to_owned());
            return Err(SnapshotError::CheckpointApart { path, table });
        }
        Ok(self.load_file(&checkpoint.join(FILE_NAME), settings, false)?.map(|(clusterer, _)| clusterer))
    }

    /// Returns true if the mark in the table's folder is the one in the folder `checkpoints`: no other run has
    /// opened the table since.
    fn has_mark_of(&self, checkpoints: &Path) -> Result<bool, SnapshotError> {
        let mark = |folder: &Path| match fs::read(folder.join(MARK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(at(folder)),
        };
        let ours = mark(checkpoints)?;
        Ok(ours.is_some() && ours == mark(self.folder())?)
    }

    /// Saves a checkpoint into the folder `checkpoint`; its number for [`Self::checkpoint_counts`].
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

    /// The checkpoint of this number counts, and those before it do not any more.
    pub fn checkpoint_counts(&self, number: u64) {
        if let Some(blocks) = self.blocks() {
            blocks.saved_up_to(number);
        }
    }

    /// The table has been saved, and the checkpoints in the folder `checkpoints` do not count any more. The mark of
    /// another run stays.
    ///
    /// # Errors
    /// [`SnapshotError::Io`].
    pub fn end_checkpoints(&self, checkpoints: &Path) -> Result<(), SnapshotError> {
        if self.has_mark_of(checkpoints)? {
            self.forget_checkpoints()?;
        }
        if let Some(blocks) = self.blocks() {
            blocks.saved();
            blocks.keep_nothing();
        }
        Ok(())
    }

    /// Checkpoints of earlier runs do not count any more.
    ///
    /// # Errors
    /// [`SnapshotError::Io`].
    pub fn forget_checkpoints(&self) -> Result<(), SnapshotError> {
        let folder = self.folder();
        match fs::remove_file(folder.join(MARK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| fs::File::open(folder)?.sync_all()).map_err(at(folder)),
        }
    }
}

/// Takes the mark out of a folder of checkpoints.
///
/// # Errors
/// As of the operating system.
pub fn forget_mark(checkpoints: &Path) -> io::Result<()> {
    match fs::remove_file(checkpoints.join(MARK)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
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
