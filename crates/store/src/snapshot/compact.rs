//! Makes a table on disk smaller: removes expired centroids, and merges runs of keys as far as the settings
//! allow.
//!
//! While pages arrive, runs are merged four at a time, and a block is deleted when all of it has expired.
//! Compaction does the rest at once, for a table that is not in use, or of which much has just expired. The
//! table is saved after each merge. So the disk needs free space only for a copy of the longest run, and a
//! crash loses at most the last merge. Verdicts stay the same.

use super::SnapshotError;
use super::file::begin;
use super::ours::FILE_NAME;
use super::table_dir::{TableDir, TableSettings};

/// The sizes before and after compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Number of centroids before and after.
    pub centroids: (u64, u64),
    /// Number of runs of keys before and after; 0 if all of the table is in memory.
    pub runs: (usize, usize),
    /// Number of bytes on disk before and after.
    pub bytes: (u64, u64),
}

impl TableDir {
    /// Returns true if the table in this folder has blocks, or `None` if there is no table.
    ///
    /// # Errors
    /// [`SnapshotError`] if the table's file cannot be read or is damaged.
    pub fn has_blocks(folder: &std::path::Path) -> Result<Option<bool>, SnapshotError> {
        Ok(begin(&folder.join(FILE_NAME))?.map(|(_, saved)| saved.blocks.is_some()))
    }

    /// Removes expired centroids and merges runs of keys. Returns `None` if there is no table.
    ///
    /// # Errors
    /// [`SnapshotError`] if the table cannot be loaded, written or saved. The table is then as it was last
    /// saved.
    pub fn compact(&self, settings: &TableSettings) -> Result<Option<Compacted>, SnapshotError> {
        let Some((mut clusterer, watermarks)) = self.load_with_watermarks(settings)? else {
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
