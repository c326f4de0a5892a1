//! A worker's table on disk: blocks of old centroids, and a file that names them. A restore uses them like a
//! [snapshot](super::changelog_snapshot), which exists only for tables in memory.
//!
//! ```text
//! changelog:  expired │ centroids in blocks ──────────────────┤ those in none │ end
//! file:                 names the blocks; position; articles; └ from this offset on, read the rest
//! ```
//! The file has the format of a saved table (`centroids.leitong`), without the centroids that are in no
//! block. Those are in the changelog. Opening the blocks reads only indexes.
//!
//! Invariants: the file names only committed centroids, because it is written when all of the table is
//! committed. The tail of the changelog contains the youngest centroid in a block again, which shows that
//! both fit ([`Restoration::after_old`](leitong_cluster::changelog::Restoration::after_old)). A file that
//! does not fit is not used, which costs only time. Memory: the indexes and the articles.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use super::SnapshotError;
use super::changelog_snapshot::{ExpectedTable, Unusable};
use super::checksummed::{ChecksummedReader, Sequential};
use super::file::{TableWriter, at, blocks_of, manifest_of, read_head};
use super::folder::if_there;
use super::ours::FILE_NAME;
use super::table_dir::TableDir;
use crate::blocks::{BlockStore, Files, Manifest, StoreOptions};
use leitong_base::proto;
use leitong_base::record::Timestamp;
use leitong_cluster::{ArticlePage, Clusterer, ExpiryConfig, OldCentroids, Position};
use leitong_fingerprint::Detector;

/// The temporary name of the file until it is complete.
const NEW_NAME: &str = "centroids.leitong.new";

/// The contents of the file. The blocks are not opened yet.
pub struct ChangelogBlocks {
    position: proto::Position,
    blocks: proto::Blocks,
    tail: proto::ChangelogTail,
    articles: Vec<proto::Article>,
}

/// Opened blocks, and a table that has them as its older part.
pub struct OpenBlocks {
    /// The table without the centroids that are in no block.
    pub clusterer: Clusterer,
    /// The blocks.
    pub store: Arc<BlockStore>,
    /// Log offset of the youngest centroid in a block.
    pub newest: u64,
}

impl ChangelogBlocks {
    /// Saves the list of blocks in one step. All of the table must be committed. `position` is the table's
    /// position record, with the hashes of the settings that made the blocks. For the number of a centroid,
    /// `tail` returns a changelog offset at or after which this centroid and all younger ones are.
    ///
    /// # Errors
    /// [`SnapshotError::Fault`] if the table can no longer be relied on; then nothing is written. Otherwise
    /// [`SnapshotError::Io`]; then the file is the old one or the new one.
    pub fn save(
        files: &dyn Files,
        store: &BlockStore,
        clusterer: &Clusterer,
        position: proto::Position,
        tail: impl FnOnce(u64) -> proto::ChangelogTail,
    ) -> Result<(), SnapshotError> {
        clusterer.check()?;
        let manifest = store.manifest();
        // The tail includes the youngest centroid in a block, so a restore can check it.
        let tail = tail(manifest.end.saturating_sub(1));
        let blocks = proto::Blocks { changelog: Some(tail), ..blocks_of(&manifest, clusterer) };
        let position = proto::Position {
            format_version: TableDir::FORMAT_VERSION,
            centroid_count: 0,
            text_count: 0,
            blocks: Some(blocks),
            ..position
        };
        let write = || -> io::Result<()> {
            let mut writer = TableWriter::begin(files.create(NEW_NAME)?, &position)?;
            writer.articles(&position, clusterer)?;
            writer.finish()?;
            files.rename(NEW_NAME, FILE_NAME)
        };
        let written = write().inspect_err(|_| {
            // The file would occupy space on a full disk.
            let _ = files.remove(NEW_NAME);
        });
        let path = files.path(FILE_NAME);
        written.and_then(|()| files.sync()).map_err(at(&path))?;
        store.saved();
        Ok(())
    }

    /// Removes the file that names the blocks, and then the blocks, before a new table is created in the folder. The
    /// changelog has all that is in them.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn remove(files: &dyn Files) -> io::Result<()> {
        if_there(files.remove(FILE_NAME))?.map_or(Ok(()), |()| files.sync())?;
        Manifest::delete_all(files)
    }

    /// Reads the file. Returns `None` if there is none.
    ///
    /// # Errors
    /// [`Unusable`] if the file cannot be read or is damaged.
    pub fn read(files: &dyn Files) -> Result<Option<Self>, Unusable> {
        let Some(file) = if_there(files.open(FILE_NAME))? else { return Ok(None) };
        let path = files.path(FILE_NAME);
        let file = ChecksummedReader::new(Sequential::new(file)?);
        let (mut reader, mut position) = read_head(file, &path)?;
        let mut articles = Vec::new();
        reader.articles(&position, |page| {
            let ArticlePage { corpus, fingerprint_hash, article, number } = page;
            articles.push(proto::Article { corpus: corpus.to_owned(), fingerprint_hash, article, number });
        })?;
        reader.check_hash()?;
        let blocks = position.blocks.take();
        let tail = blocks.as_ref().and_then(|blocks| blocks.changelog.clone());
        match blocks.zip(tail) {
            Some((blocks, tail)) => Ok(Some(Self { position, blocks, tail, articles })),
            None => Err(Unusable::Damaged("it is not the table of a worker".to_owned())),
        }
    }

    /// Returns the number of centroids founded until the file was saved. The changelog must have at least as
    /// many.
    #[must_use]
    pub fn founded(&self) -> u64 {
        self.position.founded.unwrap_or_default()
    }

    /// Returns the number of the first centroid that is in no block.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.blocks.end
    }

    /// Returns the changelog offset from which on the rest of the table must be read.
    #[must_use]
    pub fn changelog_offset(&self) -> u64 {
        self.tail.offset
    }

    /// Checks that the blocks belong to this table and these settings, and that the changelog has the rest of
    /// the table. `last` is the last position record in the changelog.
    ///
    /// # Errors
    /// [`Unusable`] if they do not.
    pub fn check(&self, wanted: &ExpectedTable<'_>, last: &proto::Position) -> Result<(), Unusable> {
        let differs = |which, found: u64, wanted: u64| {
            Err(Unusable::OtherSettings { which, found: found.to_string(), wanted: wanted.to_string() })
        };
        // Brokers may also have deleted records of centroids that are in blocks. So only the records that
        // still exist are required, and the restore checks that the youngest centroid in a block is among
        // them.
        wanted.compare(&self.tail.topic, &self.position, self.tail.offset.max(wanted.bounds.0))?;
        let (saved, founded) = (&self.position, last.founded.unwrap_or_default());
        // The keys in a block depend on the settings of the process that made the block.
        let (found, ours) = (saved.fingerprint_hash, wanted.identity.fingerprint_hash);
        if found != ours {
            let [found, wanted] = [found, ours].map(|hash| format!("{hash:016x}"));
            return Err(Unusable::OtherSettings { which: "fingerprint_hash", found, wanted });
        }
        if saved.log_generation != last.log_generation {
            return differs("log", saved.log_generation.into(), last.log_generation.into());
        }
        let later =
            |which, saved: u64, last: u64| if saved > last { differs(which, saved, last) } else { Ok(()) };
        later("number of centroids", self.founded(), founded)?;
        later("next log offset", saved.next_log_offset, last.next_log_offset)?;
        later("bound of expiry", saved.dead_below, last.dead_below)?;
        let ms =
            |position: &proto::Position| position.dead_before_ms.unwrap_or_default().max(0).cast_unsigned();
        later("time of expiry", ms(saved), ms(last))
    }

    /// Opens the blocks. Checks their headers and indexes.
    ///
    /// # Errors
    /// [`Unusable`] if a block cannot be read, is damaged, or was made with another detector.
    pub fn open(
        self,
        files: Arc<dyn Files>,
        detector: &Arc<dyn Detector>,
        expiry: ExpiryConfig,
        options: StoreOptions,
    ) -> Result<OpenBlocks, Unusable> {
        if self.blocks.detector != detector.name() {
            let (found, wanted) = (self.blocks.detector, detector.name().to_owned());
            return Err(Unusable::OtherSettings { which: "detector", found, wanted });
        }
        let manifest = manifest_of(&self.blocks);
        if !manifest.is_dense() {
            return Err(Unusable::Damaged("there are gaps between its blocks".to_owned()));
        }
        let store = Arc::new(BlockStore::open(files, Arc::clone(detector), options, &manifest)?);
        let newest = store.newest()?.ok_or_else(|| Unusable::Damaged("it has no blocks".to_owned()))?;
        let first_time = self.blocks.first_time_ms.and_then(Timestamp::from_ms);
        let position = Position { log_partition: self.position.log_partition, ..Position::default() };
        let old = (Arc::clone(&store) as Arc<dyn OldCentroids>, manifest.first);
        let mut clusterer = Clusterer::with_old(Arc::clone(detector), expiry, position, first_time, old)?;
        for page in &self.articles {
            let proto::Article { corpus, fingerprint_hash, article, number } = page;
            let (fingerprint_hash, article, number) = (*fingerprint_hash, *article, *number);
            clusterer.restore_article(ArticlePage { corpus, fingerprint_hash, article, number });
        }
        Ok(OpenBlocks { clusterer, store, newest })
    }
}

impl From<SnapshotError> for Unusable {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Io { path, error } => {
                Self::Io(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
            }
            SnapshotError::TooNew { found, known, .. } | SnapshotError::TooOld { found, known, .. } => {
                Self::Format { found, known }
            }
            SnapshotError::Damaged { problem, .. } => Self::Damaged(problem),
            other => Self::Damaged(other.to_string()),
        }
    }
}
