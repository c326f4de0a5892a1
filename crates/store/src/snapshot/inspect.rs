//! Reads and verifies a saved table without knowing its settings.
//!
//! In: the folder of a table, which another process may have locked. Out: its contents as protobuf
//! messages, or the outcome of checking each file. Memory: some centroids.

use std::path::Path;
use std::time::SystemTime;

use super::file::{at, begin, manifest_of};
use super::ours::{FILE_NAME, JOURNAL_NAME, RECENT_NAME};
use super::table_dir::TableDir;
use super::{SnapshotError, recent};
use crate::blocks::Folder;
use leitong_base::proto;
use leitong_cluster::SeenTexts;

/// An item of a saved table.
#[derive(Debug)]
pub(super) enum Saved {
    /// A centroid.
    Centroid(proto::Centroid),
    /// A change of the known crawls of urls.
    Crawl(proto::Centroid),
    /// Texts of pages that joined clusters.
    Texts(SeenTexts),
}

/// Files next to the table in a folder, for readers that do not lock it.
#[derive(Debug, Clone, Default)]
pub struct CompanionFiles {
    /// The recent verdicts of `serve` at its last save, as JSON, oldest first.
    pub verdicts: Vec<Box<[u8]>>,
    /// Time at which the table was saved.
    pub saved_at: Option<SystemTime>,
    /// Number of bytes of the journal, which has pages that the saved table lacks.
    pub journal_bytes: u64,
}

impl TableDir {
    /// Reads the table in `folder`, and calls `take` with each centroid, oldest first. Returns the table's
    /// position record, or `None` if there is no table.
    ///
    /// # Errors
    /// [`SnapshotError`] if a file cannot be read or is damaged. Some damage is found only at the end.
    pub fn inspect(
        folder: &Path,
        mut take: impl FnMut(&proto::Position, proto::Centroid),
    ) -> Result<Option<proto::Position>, SnapshotError> {
        let mut centroids = |position: &proto::Position, saved| match saved {
            Saved::Centroid(centroid) => take(position, centroid),
            Saved::Crawl(_) | Saved::Texts(_) => {}
        };
        Self::inspect_all(folder, |_| Ok(()), &mut centroids)
    }

    /// Reads the table in `folder` like [`Self::inspect`], including crawls of urls and texts of pages that joined
    /// clusters, which follow the centroids. `begin_with` is called first, with the position record, and may
    /// return an error. The returned record also counts the texts in blocks.
    ///
    /// # Errors
    /// The errors of [`Self::inspect`] and of `begin_with`.
    pub(super) fn inspect_all(
        folder: &Path,
        begin_with: impl FnOnce(&proto::Position) -> Result<(), SnapshotError>,
        take: &mut impl FnMut(&proto::Position, Saved),
    ) -> Result<Option<proto::Position>, SnapshotError> {
        let path = folder.join(FILE_NAME);
        let Some((mut reader, mut saved)) = begin(&path)? else { return Ok(None) };
        begin_with(&saved)?;
        let own = proto::Position { text_count: saved.text_count, ..proto::Position::default() };
        let blocks = saved.blocks.as_ref().map(|blocks| (manifest_of(blocks), blocks.detector.clone()));
        let files = blocks.as_ref().map(|_| Folder::open(folder)).transpose().map_err(at(folder))?;
        let blocks = blocks.zip(files);
        if let Some(((manifest, _), files)) = &blocks {
            let mut in_blocks = 0;
            manifest.read_texts(files, |seen| in_blocks += seen.texts.len() as u64)?;
            saved.text_count += in_blocks;
        }
        reader.articles(&saved, |_| {})?;
        let mut expired = 0;
        if let Some(((manifest, detector), files)) = &blocks {
            manifest.read_all(files, |corpus, fingerprint_hash, centroid| {
                take(&saved, Saved::Centroid(centroid.to_message(corpus, fingerprint_hash, detector)));
            })?;
            // If few centroids are kept, some may have expired before they were in a block.
            expired = manifest.first.saturating_sub(manifest.end);
        }
        for number in 0..saved.centroid_count {
            let centroid = reader.message()?;
            if number >= expired {
                take(&saved, Saved::Centroid(centroid));
            }
        }
        reader.crawls(&saved, |_, crawl| {
            take(&saved, Saved::Crawl(crawl));
            Ok(())
        })?;
        if let Some(((manifest, _), files)) = &blocks {
            manifest.read_texts(files, |seen| take(&saved, Saved::Texts(seen)))?;
        }
        reader.texts(&own, |_, seen| {
            take(&saved, Saved::Texts(seen));
            Ok(())
        })?;
        reader.check_hash()?;
        Ok(Some(saved))
    }

    /// Reads the files next to the table in `folder`. Another process may be using the table.
    ///
    /// # Errors
    /// [`SnapshotError`] if the verdicts cannot be read or are damaged.
    pub fn companion_files(folder: &Path) -> Result<CompanionFiles, SnapshotError> {
        let id = begin(&folder.join(FILE_NAME))?.and_then(|(_, saved)| saved.table_id);
        let metadata = |name: &str| std::fs::metadata(folder.join(name)).ok();
        Ok(CompanionFiles {
            verdicts: recent::load(&folder.join(RECENT_NAME), id)?.unwrap_or_default(),
            saved_at: metadata(FILE_NAME).and_then(|file| file.modified().ok()),
            journal_bytes: metadata(JOURNAL_NAME).map_or(0, |file| file.len()),
        })
    }

    /// Verifies all checksums of the table in `folder`. Calls `each` with the name of each file, and with its
    /// number of verified bytes or its error. Returns false if there is no table.
    ///
    /// # Errors
    /// [`SnapshotError`] if the file that names the others cannot be read or is damaged.
    pub fn verify(
        folder: &Path,
        mut each: impl FnMut(&str, Result<u64, SnapshotError>),
    ) -> Result<bool, SnapshotError> {
        let path = folder.join(FILE_NAME);
        let Some((reader, saved)) = begin(&path)? else { return Ok(false) };
        let read = reader.verify(&saved);
        let bytes = std::fs::metadata(&path).map_err(at(&path))?.len();
        each(FILE_NAME, read.map(|()| bytes));
        if let Some(blocks) = &saved.blocks {
            let files = Folder::open(folder).map_err(at(folder))?;
            manifest_of(blocks).verify(&files, |name, read| each(name, read.map_err(SnapshotError::from)));
        }
        Ok(true)
    }
}
