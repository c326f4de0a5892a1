//! A table without what has expired, and with as few runs of keys as its settings allow.
//!
//! While pages come, runs merge four at a time, and a block is deleted when all of it has expired. A
//! table that rests, or of which much has just expired, is made smaller here at once. It is saved
//! after each merge: so the disk has to have room for the longest run once more and not for all, and
//! a crash leaves the table as it was after the last one. Verdicts are the same before and after.

use super::SnapshotError;
use super::file::{FILE_NAME, TableDir, TableSettings, begin};

/// What became smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Centroids before and after.
    pub centroids: (u64, u64),
    /// Runs of keys before and after; none where all of the table is in memory.
    pub runs: (usize, usize),
    /// Bytes on disk before and after.
    pub bytes: (u64, u64),
}

/// Whether the table in this folder has blocks; none where there is no table.
///
/// # Errors
/// [`SnapshotError`], where the file that names them cannot be read or is damaged.
pub fn has_blocks(folder: &std::path::Path) -> Result<Option<bool>, SnapshotError> {
    Ok(begin(&folder.join(FILE_NAME))?.map(|(_, saved)| saved.blocks.is_some()))
}

impl TableDir {
    /// Takes out what has expired, and merges what can be merged; none where there is no table.
    ///
    /// # Errors
    /// [`SnapshotError`], where the table cannot be loaded, written or saved. It is then as it was
    /// saved last.
    pub fn compact(&self, settings: &TableSettings) -> Result<Option<Compacted>, SnapshotError> {
        let Some((mut clusterer, watermarks)) = self.load_with_watermarks(settings, false)? else {
            return Ok(None);
        };
        clusterer.insert_pending()?;
        let figures = || self.blocks().map_or((0, 0), |blocks| (blocks.counts().1, blocks.file_bytes()));
        let ((runs, block_bytes), count) = (figures(), clusterer.centroid_count() as u64);
        let bytes = block_bytes + self.saved_bytes();
        clusterer.evict_expired()?;
        self.save_with_watermarks(&clusterer, &watermarks, settings)?;
        if let Some(blocks) = self.blocks() {
            while blocks.compact_once()?.is_some() {
                self.save_with_watermarks(&clusterer, &watermarks, settings)?;
            }
        }
        let (runs_left, block_bytes) = figures();
        Ok(Some(Compacted {
            centroids: (count, clusterer.centroid_count() as u64),
            runs: (runs, runs_left),
            bytes: (bytes, block_bytes + self.saved_bytes()),
        }))
    }
}
