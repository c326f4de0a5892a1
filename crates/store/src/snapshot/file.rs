//! The file of a saved table: reads and writes it message by message.
//!
//! The format is described in [`super`]. Invariant: a table is used only if its checksum is right. Cost: linear in the
//! file; one message is in memory at a time.

use std::fs::File;
use std::io;
use std::path::Path;

use prost::Message;

use super::SnapshotError;
use super::checksummed::{ChecksummedReader, ChecksummedWriter};
use super::folder::if_there;
use super::ours;
use crate::blocks::{Manifest, Output};
use leitong_base::proto::{self, Blocks};
use leitong_base::record::Timestamp;
use leitong_cluster::{ArticlePage, Clusterer, SeenText, SeenTexts};

/// The format version. Versions before 5 had no id of the table, and are refused.
pub(super) const FORMAT_VERSION: u32 = 5;
const MAGIC: &[u8] = b"leitong centroid table\n";
/// Maximum number of bytes of a message other than the position, which lists all runs. It is far above any centroid, and
/// prevents a damaged length from using up the memory.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;

/// Opens a saved table. Returns a reader that is before the articles and centroids, and the position record, or `None`
/// if no table was begun in the folder.
pub(super) fn begin(path: &Path) -> Result<Option<(Reader<'_>, proto::Position)>, SnapshotError> {
    match if_there(File::open(path)).map_err(at(path))? {
        Some(file) => read_head(ChecksummedReader::new(file), path).map(Some),
        None => path.parent().map_or(Ok(()), ours::check_head).map(|()| None),
    }
}

/// Opens a saved table like [`begin`], after verifying the checksum of the whole file. Callers that delete or
/// replace other files because of its contents need this.
pub(super) fn begin_verified(path: &Path) -> Result<Option<(Reader<'_>, proto::Position)>, SnapshotError> {
    let Some((reader, saved)) = begin(path)? else { return Ok(None) };
    if !reader.rest_fits()? {
        return Err(describe_damage(path, &saved));
    }
    begin(path)
}

/// Returns the most precise description of the damage in a file with a wrong checksum.
fn describe_damage(path: &Path, saved: &proto::Position) -> SnapshotError {
    let read = || begin(path)?.map_or(Ok(()), |(reader, _)| reader.verify(saved));
    let problem = "its checksum does not match its contents".to_owned();
    read().err().unwrap_or_else(|| SnapshotError::Damaged { path: path.to_owned(), problem })
}

/// Reads the beginning of a table. Returns a reader that is after the position record, and this record.
pub(super) fn read_head(
    inner: ChecksummedReader,
    path: &Path,
) -> Result<(Reader<'_>, proto::Position), SnapshotError> {
    let mut reader = Reader { inner, path };
    let mut magic = [0; MAGIC.len()];
    reader.exact(&mut magic)?;
    if magic != MAGIC {
        return Err(reader.damaged("this is not a centroid table"));
    }
    let saved: proto::Position = reader.message_up_to(u64::MAX)?;
    match saved.format_version {
        found if found > FORMAT_VERSION => {
            Err(SnapshotError::TooNew { path: path.to_owned(), found, known: FORMAT_VERSION })
        }
        found if found < FORMAT_VERSION => {
            Err(SnapshotError::TooOld { path: path.to_owned(), found, known: FORMAT_VERSION })
        }
        _ => Ok((reader, saved)),
    }
}

/// Writes the file of `clusterer` at `path`.
pub(super) fn write(path: &Path, clusterer: &Clusterer, position: &proto::Position) -> io::Result<()> {
    let mut writer = TableWriter::create(path, position)?;
    writer.articles(position, clusterer)?;
    let first = clusterer.founded() - position.centroid_count;
    for (number, (corpus, fingerprint_hash, centroid)) in (first..).zip(clusterer.centroids()) {
        let mut message = centroid.to_message(corpus, fingerprint_hash, clusterer.detector().name());
        if let Some(canonical) = clusterer.canonical(number) {
            canonical.add_to(&mut message);
        }
        writer.push(&message)?;
    }
    for change in clusterer.crawl_changes().1 {
        writer.push(&change.to_message())?;
    }
    let blocks_end = position.blocks.as_ref().map_or(0, |blocks| blocks.end);
    let (from, seen) = clusterer.seen_texts(blocks_end);
    let (mut seen, mut sequence) = (seen.peekable(), from.first);
    while seen.peek().is_some() {
        let some = seen.by_ref().take(SeenText::AT_ONCE);
        let message = SeenText::to_message(sequence, some, clusterer.founded());
        sequence += message.since.len() as u64;
        writer.push(&message)?;
    }
    writer.finish()
}

/// Writes the file of a table message by message.
pub(super) struct TableWriter(ChecksummedWriter);

impl TableWriter {
    /// Creates the file at `path`, and replaces an existing one.
    pub(super) fn create(path: &Path, position: &proto::Position) -> io::Result<Self> {
        Self::begin(Box::new(File::create(path)?), position)
    }

    /// Begins the file in `output`, which must be empty. The articles follow if the table has blocks, then centroids
    /// that are in no block.
    pub(super) fn begin(output: Box<dyn Output>, position: &proto::Position) -> io::Result<Self> {
        let mut writer = Self(ChecksummedWriter::new(output));
        writer.0.all(MAGIC)?;
        writer.push(position)?;
        Ok(writer)
    }

    /// Writes the articles of a table with blocks.
    pub(super) fn articles(&mut self, position: &proto::Position, clusterer: &Clusterer) -> io::Result<()> {
        let articles = position.blocks.is_some().then(|| clusterer.articles());
        articles.into_iter().flatten().try_for_each(|page| {
            let ArticlePage { corpus, fingerprint_hash, article, number } = page;
            self.push(&proto::Article { corpus: corpus.to_owned(), fingerprint_hash, article, number })
        })
    }

    pub(super) fn push(&mut self, message: &impl Message) -> io::Result<()> {
        self.0.all(&message.encode_length_delimited_to_vec())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

/// Returns the manifest in a position record.
pub(super) fn manifest_of(blocks: &Blocks) -> Manifest {
    Manifest {
        table_id: blocks.table_id,
        first: blocks.first,
        end: blocks.end,
        blocks: blocks.blocks.clone(),
        runs: blocks.runs.clone(),
    }
}

pub(super) fn blocks_of(manifest: &Manifest, clusterer: &Clusterer) -> Blocks {
    Blocks {
        table_id: manifest.table_id,
        first: manifest.first,
        end: manifest.end,
        blocks: manifest.blocks.clone(),
        runs: manifest.runs.clone(),
        first_time_ms: clusterer.first_time().map(Timestamp::as_ms),
        detector: clusterer.detector().name().to_owned(),
        article_count: clusterer.articles().count() as u64,
        changelog: None,
    }
}

/// Reads a saved table message by message.
pub(super) struct Reader<'a> {
    inner: ChecksummedReader,
    path: &'a Path,
}

impl Reader<'_> {
    fn exact(&mut self, bytes: &mut [u8]) -> Result<(), SnapshotError> {
        self.inner.exact(bytes).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> SnapshotError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("the file ends early"),
            _ => at(self.path)(error),
        }
    }

    pub(super) fn message<M: Message + Default>(&mut self) -> Result<M, SnapshotError> {
        self.message_up_to(MESSAGE_BYTES_MAX)
    }

    /// Reads a message of at most `bytes_max` bytes. Memory: no more than the file has bytes.
    fn message_up_to<M: Message + Default>(&mut self, bytes_max: u64) -> Result<M, SnapshotError> {
        let mut length = 0_u64;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.exact(&mut byte)?;
            length |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                break;
            }
        }
        if length > bytes_max {
            return Err(self.damaged("a message has an invalid length"));
        }
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < length {
            let begun = bytes.len();
            bytes.resize(begun + (length - begun as u64).min(MESSAGE_BYTES_MAX) as usize, 0);
            self.exact(&mut bytes[begun..])?;
        }
        M::decode(&*bytes).map_err(|error| self.damaged(&format!("a message is broken: {error}")))
    }

    /// Reads the articles. A table with blocks has them before its centroids.
    pub(super) fn articles(
        &mut self,
        saved: &proto::Position,
        mut take: impl FnMut(ArticlePage<'_>),
    ) -> Result<(), SnapshotError> {
        for _ in 0..saved.blocks.as_ref().map_or(0, |blocks| blocks.article_count) {
            let proto::Article { corpus, fingerprint_hash, article, number } = self.message()?;
            take(ArticlePage { corpus: &corpus, fingerprint_hash, article, number });
        }
        Ok(())
    }

    /// Reads the crawls of urls, which follow the centroids.
    pub(super) fn crawls(
        &mut self,
        saved: &proto::Position,
        mut take: impl FnMut(&mut Self, proto::Centroid) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        for _ in 0..saved.crawl_change_count {
            let message = self.message()?;
            take(self, message)?;
        }
        Ok(())
    }

    /// Reads the texts of pages that joined clusters, which follow the crawls.
    pub(super) fn texts(
        &mut self,
        saved: &proto::Position,
        mut take: impl FnMut(&mut Self, SeenTexts) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let mut left = saved.text_count;
        while left > 0 {
            let message: proto::Texts = self.message()?;
            let texts = SeenText::from_message(&message).map_err(|problem| self.damaged(&problem))?;
            let count = texts.len() as u64;
            if count == 0 || count > left {
                return Err(self.damaged("a message has an invalid number of texts"));
            }
            left -= count;
            take(self, SeenTexts { first: message.first, texts })?;
        }
        Ok(())
    }

    /// Reads the rest of the file. Returns true if the checksum at its end is right.
    fn rest_fits(self) -> Result<bool, SnapshotError> {
        self.inner.rest_fits().map_err(at(self.path))
    }

    /// Reads the rest of a table whose position record was read, and checks all of it.
    pub(super) fn verify(mut self, saved: &proto::Position) -> Result<(), SnapshotError> {
        self.articles(saved, |_| {})?;
        for _ in 0..saved.centroid_count {
            self.message::<proto::Centroid>()?;
        }
        self.crawls(saved, |_, _| Ok(()))?;
        self.texts(saved, |_, _| Ok(()))?;
        self.check_hash()
    }

    pub(super) fn check_hash(mut self) -> Result<(), SnapshotError> {
        match self.inner.sum_fits() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.damaged("its checksum does not match its contents")),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Returns an error about damage in the file.
    pub(super) fn damaged(&self, problem: &str) -> SnapshotError {
        SnapshotError::Damaged { path: self.path.to_owned(), problem: problem.to_owned() }
    }
}

pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> SnapshotError {
    let path = path.to_owned();
    move |error| SnapshotError::Io { path: path.clone(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_other_versions_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let begun = |format_version| {
            let position = proto::Position { format_version, ..proto::Position::default() };
            let path = folder.path().join("centroids.leitong");
            TableWriter::create(&path, &position).and_then(TableWriter::finish).expect("a table");
            let begun = begin(&path).map(|_| ());
            std::fs::remove_file(path).expect("removed");
            begun
        };
        let [older, newer] = [FORMAT_VERSION - 1, FORMAT_VERSION + 1].map(begun);
        assert!(matches!(older, Err(SnapshotError::TooOld { .. })), "{older:?}");
        assert!(matches!(newer, Err(SnapshotError::TooNew { .. })), "{newer:?}");
        assert!(begun(FORMAT_VERSION).is_ok());
    }
}
