//! A worker's table on disk: blocks of old centroids, and the file that names them. It is to a table
//! on disk what a [snapshot](super::changelog_snapshot) is to one in memory.
//!
//! ```text
//! changelog:  expired │ centroids in blocks ──────────────────┤ those in none │ end
//! file:                 names the blocks; position; articles; └ from this offset on, read the rest
//! ```
//! The file is a saved table's (`centroids.leitong`) without the centroids that are in no block: the
//! changelog has those. Nothing but indexes is read when it is opened.
//!
//! Invariants: what it names was committed to the changelog, since it is written where all of the
//! table is; whoever opens it meets the youngest centroid of the blocks in the changelog again
//! ([`Restoration::of_old`](leitong_cluster::changelog::restore::Restoration::of_old)); a file that does not
//! fit is not used, and costs time alone. Memory: the indexes, and the articles.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use super::SnapshotError;
use super::changelog_snapshot::{Unusable, Wanted};
use super::checksummed::{ChecksummedReader, ChecksummedWriter, Sequential};
use super::file::{FILE_NAME, FORMAT_WITH_TEXTS, at, blocks_of, manifest_of, read_head, write_head};
use crate::blocks::{BlockStore, Files, StoreOptions};
use leitong_base::proto;
use leitong_base::record::timestamp::Timestamp;
use leitong_cluster::{ArticlePage, Clusterer, ExpiryConfig, OldCentroids, Position};
use leitong_fingerprint::Detector;

/// The name of the file before it is whole.
const NEW_NAME: &str = "centroids.leitong.new";

/// A table's blocks and what goes with them, read and not yet opened.
pub struct ChangelogBlocks {
    position: proto::Position,
    blocks: proto::Blocks,
    tail: proto::ChangelogTail,
    articles: Vec<proto::Article>,
}

/// Blocks that are open, with the table that they are the older part of.
pub struct OpenBlocks {
    /// The table without the centroids that are in no block.
    pub clusterer: Clusterer,
    /// The blocks.
    pub store: Arc<BlockStore>,
    /// Log offset of the youngest centroid in a block.
    pub newest: u64,
}

/// Saves which blocks there are, in one step. All of the table must be committed. `position` is its position
/// record, with the hashes of the settings that made the blocks. For a number, `tail` returns the offset of the
/// changelog from which on all centroids with at least this number are found.
///
/// # Errors
/// [`SnapshotError::Fault`] if the table cannot be relied on any more: then nothing is written. Otherwise
/// [`SnapshotError::Io`]: then the last saved state is still there, or this one.
pub fn save(
    files: &dyn Files,
    store: &BlockStore,
    clusterer: &Clusterer,
    detector: &dyn Detector,
    position: proto::Position,
    tail: impl FnOnce(u64) -> proto::ChangelogTail,
) -> Result<(), SnapshotError> {
    clusterer.check()?;
    let manifest = store.manifest();
    // The youngest one in a block is met again.
    let tail = tail(manifest.end.saturating_sub(1));
    let blocks = proto::Blocks { changelog: Some(tail), ..blocks_of(&manifest, clusterer, detector) };
    let position = proto::Position {
        format_version: FORMAT_WITH_TEXTS,
        centroid_count: 0,
        text_count: 0,
        blocks: Some(blocks),
        ..position
    };
    let write = || -> io::Result<()> {
        let mut writer = ChecksummedWriter::new(files.create(NEW_NAME)?);
        write_head(&mut writer, &position, clusterer)?;
        writer.finish()?;
        files.rename(NEW_NAME, FILE_NAME)
    };
    let written = write().inspect_err(|_| {
        // It would take the room that is left on a full disk.
        let _ = files.remove(NEW_NAME);
    });
    let path = files.path(FILE_NAME);
    written.and_then(|()| files.sync()).map_err(at(&path))?;
    store.saved();
    Ok(())
}

/// Takes away what names the blocks, which are to be begun anew.
///
/// # Errors
/// What the operating system says.
pub fn forget(files: &dyn Files) -> io::Result<()> {
    match files.remove(FILE_NAME) {
        Ok(()) => files.sync(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

impl ChangelogBlocks {
    /// What was saved in `files`, if anything was.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn read(files: &dyn Files) -> Result<Option<Self>, Unusable> {
        let file = match files.open(FILE_NAME) {
            Ok(file) => Sequential::new(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let path = files.path(FILE_NAME);
        let (mut reader, mut position) = read_head(ChecksummedReader::new(file), &path)?;
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
            None => Err(Unusable::Damaged("it is no worker's table".to_owned())),
        }
    }

    /// Centroids that were founded when it was saved: at least as many as the changelog must have.
    #[must_use]
    pub fn founded(&self) -> u64 {
        self.position.founded.unwrap_or_default()
    }

    /// Number of the first centroid that is in no block.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.blocks.end
    }

    /// The offset of the changelog from which on the rest is to be read.
    #[must_use]
    pub fn changelog_offset(&self) -> u64 {
        self.tail.offset
    }

    /// Whether it is of this table and these settings, and the rest of it is in the changelog, of
    /// which `last` is the last position.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn check(&self, wanted: &Wanted<'_>, last: &proto::Position) -> Result<(), Unusable> {
        let differs = |which, found: u64, wanted: u64| {
            Err(Unusable::OtherSettings { which, found: found.to_string(), wanted: wanted.to_string() })
        };
        // Brokers may have deleted some of what is in blocks as well: the restore has to meet the
        // youngest of these, wherever it begins.
        wanted.compare(&self.tail.topic, &self.position, self.tail.offset.max(wanted.bounds.0))?;
        let (saved, founded) = (&self.position, last.founded.unwrap_or_default());
        // Keys are made by the settings of whoever has sealed the block.
        let (found, ours) = (saved.fingerprint_hash, wanted.identity.fingerprint_hash);
        if found != ours {
            let [found, wanted] = [found, ours].map(|hash| format!("{hash:016x}"));
            return Err(Unusable::OtherSettings { which: "fingerprint_hash", found, wanted });
        }
        if saved.log_generation != last.log_generation {
            return differs("log", saved.log_generation.into(), last.log_generation.into());
        }
        if self.founded() > founded || saved.next_log_offset > last.next_log_offset {
            return differs("number of centroids", self.founded(), founded);
        }
        if saved.dead_below > last.dead_below || saved.dead_before_ms > last.dead_before_ms {
            return differs("bound of expiry", saved.dead_below, last.dead_below);
        }
        Ok(())
    }

    /// Opens the blocks: all that their headers and indexes say is checked.
    ///
    /// # Errors
    /// [`Unusable`].
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
            SnapshotError::TooNew { found, .. } => Self::Format { found },
            SnapshotError::Damaged { problem, .. } => Self::Damaged(problem),
            other => Self::Damaged(other.to_string()),
        }
    }
}
