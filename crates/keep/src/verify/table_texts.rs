//! Stores the texts of kept documents in the folder of a centroid table, for comparisons in later runs.
//!
//! The file `texts.leitong` begins with the id of its table and the length up to the end of the last completed run. Then
//! come the compressed texts of kept documents, each with its cluster and its run, in the order in which they were kept.
//! Invariants: texts of another table are refused; texts of a run that was not completed are removed by that run if it
//! fails, or else by the next one, since the run is repeated; a file that is damaged before the end of a completed run is
//! refused and left as it is. Memory: about 60 bytes for each text, and 30 more for each further one of a cluster.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::texts::{TextFile, TextPlace, hash_of, length};
use crate::sink::summed::cut;
use leitong_store::snapshot::Unfinished;

/// The first line of the file in a table's folder.
const MAGIC: &[u8] = b"leitong texts 5\n";
/// Number of bytes before the first text: the first line, the id of the table, the length of the file up to the end of
/// the last completed run, XXH3-64 of these two numbers.
const HEADER_BYTES: usize = MAGIC.len() + 24;
/// Number of bytes before a compressed text in the file: log offset of the cluster's founder, log offset at which the
/// run began, length, XXH3-64 of these and of the hash of the text.
const RECORD_HEAD_BYTES: usize = 28;
/// Number of bytes of the hash of the text, which follows the head.
const TEXT_HASH_BYTES: usize = 8;

/// The text of a kept document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptText {
    /// Hash of the text.
    pub hash: u64,
    /// The place of the compressed text.
    pub place: TextPlace,
}

/// The texts of kept documents, by cluster. Most clusters have one.
#[derive(Debug, Default)]
pub(crate) struct KeptTexts {
    /// The texts by the log offset of their cluster's founder, and by their number in the cluster.
    texts: BTreeMap<(u64, u32), KeptText>,
    /// The numbers of the first of equal texts, by the founder and the hash of the text. First texts of a cluster are not
    /// here.
    equal: HashMap<(u64, u64), u32>,
}

impl KeptTexts {
    /// Adds a text to the cluster with this founder.
    pub(crate) fn add(&mut self, founder: u64, text: KeptText) {
        let number = self.count(founder);
        if number > 0 {
            self.equal.entry((founder, text.hash)).or_insert(number);
        }
        self.texts.insert((founder, number), text);
    }

    /// Returns the texts of a cluster in the order in which they were added.
    pub(crate) fn texts_of_cluster(&self, founder: u64) -> impl DoubleEndedIterator<Item = (u32, KeptText)> {
        let texts = self.texts.range((founder, 0)..=(founder, u32::MAX));
        texts.map(|((_, number), text)| (*number, *text))
    }

    /// Returns the first text of a cluster that has this hash.
    #[must_use]
    pub(crate) fn with_hash(&self, founder: u64, hash: u64) -> Option<KeptText> {
        let first = self.text(founder, 0).filter(|first| first.hash == hash);
        first.or_else(|| self.text(founder, *self.equal.get(&(founder, hash))?))
    }

    /// Returns the number of texts of a cluster.
    #[must_use]
    pub(crate) fn count(&self, founder: u64) -> u32 {
        self.texts_of_cluster(founder).next_back().map_or(0, |(last, _)| last + 1)
    }

    /// Returns the number of texts of each cluster that has several.
    #[must_use]
    pub(crate) fn counts(&self) -> HashMap<u64, u32> {
        // Of a cluster's numbers, the last one is inserted last.
        let others = self.texts.keys().filter(|(_, number)| *number > 0);
        others.map(|(founder, number)| (*founder, number + 1)).collect()
    }

    /// Returns a text of a cluster by its number, in the order in which texts were added.
    #[must_use]
    pub(crate) fn text(&self, founder: u64, number: u32) -> Option<KeptText> {
        self.texts.get(&(founder, number)).copied()
    }
}

/// The texts of kept documents in the folder of a table, by cluster.
pub(crate) struct TableTexts {
    texts: TextFile,
    path: PathBuf,
    /// The id of the table.
    table: u64,
    /// The log offset at which this run began.
    run: u64,
    kept: KeptTexts,
    /// Length of the file without the texts of this run, until the run is completed.
    before_run: Option<u64>,
}

/// The clusters whose texts are needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Founded {
    /// The log offset of the oldest centroid of the table. Older clusters have expired.
    pub oldest: u64,
    /// The log offset at which the run begins. Texts of a run that was not completed are removed.
    pub before: u64,
}

impl TableTexts {
    /// The version of the format of the file in a table's folder.
    pub(crate) const FORMAT_VERSION: u32 = 5;

    /// Opens the file of the table with the id `table` in its folder, or creates it. Texts of expired clusters are
    /// removed once they make up half of it.
    ///
    /// # Errors
    /// The file cannot be read or written, or is another file.
    pub(crate) fn open(folder: &Path, table: u64, founded: Founded) -> io::Result<Self> {
        let path = folder.join("texts.leitong");
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        let (texts, kept) = (TextFile::new(opened), KeptTexts::default());
        let mut file = Self { texts, path, table, run: founded.before, kept, before_run: None };
        let dead = file.read_index(founded)?;
        if dead * 2 > file.texts.bytes {
            file.remove_expired()?;
        }
        file.before_run = Some(file.texts.bytes);
        Ok(file)
    }

    /// Reads the places of all texts of completed runs before this one, and truncates the file after them. Returns the
    /// number of bytes of expired clusters.
    fn read_index(&mut self, founded: Founded) -> io::Result<u64> {
        let mut reader = BufReader::new(self.texts.file.try_clone()?);
        let mut header = Vec::new();
        reader.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        let mut at = HEADER_BYTES as u64;
        if header.is_empty() {
            self.complete(at)?;
            return Ok(0);
        }
        let completed = self.completed_length(&header)?;
        if self.texts.file.metadata()?.len() < completed {
            return Err(damaged(at));
        }
        let mut dead = 0;
        while at < completed {
            let head = RecordHead::read(&mut reader)?.ok_or_else(|| damaged(at))?;
            if head.run >= founded.before {
                break;
            }
            let text_at = at + RECORD_HEAD_BYTES as u64;
            let next = text_at + u64::from(head.bytes);
            if head.founder < founded.oldest {
                dead += next - at;
            } else {
                let place = TextPlace { at: text_at, bytes: head.bytes };
                self.kept.add(head.founder, KeptText { hash: head.hash, place });
            }
            reader.seek_relative(i64::from(head.bytes) - TEXT_HASH_BYTES as i64)?;
            at = next;
        }
        if at != completed {
            self.complete(at)?;
        }
        cut(&mut self.texts.file, at)?;
        self.texts.bytes = at;
        Ok(dead)
    }

    /// Returns the length of the file up to the end of the last completed run.
    fn completed_length(&self, header: &[u8]) -> io::Result<u64> {
        if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
            return Err(io::Error::other(
                "this is not a file of texts that this version of Leitong can read; move it away to begin without texts",
            ));
        }
        let numbers = &header[MAGIC.len()..];
        if numbers[..8] != self.table.to_le_bytes() {
            return Err(io::Error::other(
                "the texts belong to another table; restore the whole folder from one backup, or move the file away to \
                 begin without texts",
            ));
        }
        let length = numbers[8..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        length.filter(|length| self.header(*length) == header).ok_or_else(|| damaged(MAGIC.len() as u64))
    }

    /// Returns the first bytes of the file.
    fn header(&self, completed: u64) -> Vec<u8> {
        let numbers = [self.table.to_le_bytes(), completed.to_le_bytes()].concat();
        [MAGIC, &numbers, &xxh3_64(&numbers).to_le_bytes()].concat()
    }

    /// Stores on disk that the runs up to this length of the file are completed. Their texts must be on disk.
    fn complete(&mut self, length: u64) -> io::Result<()> {
        self.texts.file.write_all_at(&self.header(length), 0)?;
        self.texts.file.sync_data()?;
        self.texts.bytes = length;
        Ok(())
    }

    /// Writes the texts that are still needed into a new file, which replaces this one.
    fn remove_expired(&mut self) -> io::Result<()> {
        let new = Unfinished::new(self.path.with_extension("new"));
        let mut texts = TextFile::at(new.path(), None)?;
        texts.push(&self.header(0))?;
        let kept = std::mem::take(&mut self.kept);
        let old = std::mem::replace(&mut self.texts, texts);
        // The texts belong to completed runs, so the number of this run would be wrong.
        let run = std::mem::take(&mut self.run);
        for ((founder, _), text) in kept.texts {
            self.add(founder, &old.read(text.place)?)?;
        }
        self.run = run;
        self.texts.file.sync_data()?;
        self.complete(self.texts.bytes)?;
        new.replace(&self.path)
    }

    /// Appends a compressed text of the cluster with this founder.
    ///
    /// # Errors
    /// The text cannot be written. The error names the file.
    pub(crate) fn add(&mut self, founder: u64, compressed: &[u8]) -> io::Result<()> {
        let at = self.texts.bytes + RECORD_HEAD_BYTES as u64;
        let (bytes, hash) = (length(compressed)?, hash_of(compressed).unwrap_or_default());
        let head = RecordHead { founder, run: self.run, bytes, hash }.to_bytes();
        self.texts.push(&[&head, compressed].concat()).map_err(|error| self.named(&error))?;
        self.kept.add(founder, KeptText { hash, place: TextPlace { at, bytes } });
        Ok(())
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }

    /// Returns the texts by cluster.
    #[must_use]
    pub(crate) fn kept(&self) -> &KeptTexts {
        &self.kept
    }

    /// Returns the compressed text at `place`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self, place: TextPlace) -> io::Result<Vec<u8>> {
        self.texts.read(place)
    }

    /// Syncs all texts to disk.
    ///
    /// # Errors
    /// The texts cannot be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let synced = self.texts.file.sync_data().and_then(|()| self.complete(self.texts.bytes));
        synced.map_err(|error| self.named(&error))?;
        self.before_run = None;
        Ok(())
    }
}

impl Drop for TableTexts {
    /// Frees the room that the texts of a failed run occupy.
    fn drop(&mut self) {
        if let Some(length) = self.before_run {
            // If this fails, the next run cuts the file.
            let _ = self.complete(length).and_then(|()| self.texts.file.set_len(length));
        }
    }
}

/// Returns the error for a file with damage at this byte.
fn damaged(at: u64) -> io::Error {
    io::Error::other(format!(
        "damaged at byte {at}, before the end of a completed run; restore it from a backup, or move it away to begin \
         without texts"
    ))
}

/// The head of a text in the file of a table.
struct RecordHead {
    /// The log offset of the cluster's founder.
    founder: u64,
    /// The log offset at which the run began.
    run: u64,
    /// Length of the compressed text.
    bytes: u32,
    /// Hash of the text.
    hash: u64,
}

impl RecordHead {
    /// Reads a head and the hash after it. Returns `None` at the end of the file, or if they are damaged.
    fn read(reader: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = Vec::with_capacity(RECORD_HEAD_BYTES + TEXT_HASH_BYTES);
        reader.take((RECORD_HEAD_BYTES + TEXT_HASH_BYTES) as u64).read_to_end(&mut head)?;
        Ok(Self::from_bytes(&head))
    }

    fn from_bytes(head: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let bytes = u32::from_le_bytes(*head.get(16..)?.first_chunk()?);
        let found = Self { founder: number(0)?, run: number(8)?, bytes, hash: number(RECORD_HEAD_BYTES)? };
        (bytes as usize >= TEXT_HASH_BYTES && head.starts_with(&found.to_bytes())).then_some(found)
    }

    /// Returns the bytes before the text, with their checksum.
    fn to_bytes(&self) -> Vec<u8> {
        let mut head = [self.founder.to_le_bytes(), self.run.to_le_bytes()].concat();
        head.extend_from_slice(&self.bytes.to_le_bytes());
        head.extend_from_slice(&xxh3_64_with_seed(&head, self.hash).to_le_bytes());
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::texts::tests::compressed;

    const TABLE: u64 = 0x0123_4567_89ab_cdef;

    #[test]
    fn the_first_equal_text_is_found_in_a_cluster_of_any_size() {
        let mut kept = KeptTexts::default();
        for at in 0..60 {
            kept.add(at % 2, KeptText { hash: at / 3 % 13, place: TextPlace { at, bytes: 1 } });
        }
        for (founder, hash) in (0..3).flat_map(|founder| (0..15).map(move |hash| (founder, hash))) {
            let expected = kept.texts_of_cluster(founder).find(|(_, kept)| kept.hash == hash);
            assert_eq!(kept.with_hash(founder, hash), expected.map(|(_, text)| text));
        }
    }

    /// A flipped bit in a head must neither delete texts nor move a text to another cluster. The file is left as it is,
    /// so it can be restored from a copy.
    #[test]
    fn a_file_with_a_damaged_head_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let founded = Founded { oldest: 0, before: 9 };
        let mut texts = TableTexts::open(folder.path(), TABLE, Founded { oldest: 0, before: 0 })
            .expect("a file of texts");
        for founder in 0..4 {
            texts.add(founder, &compressed(&format!("text {founder}"))).expect("written");
        }
        texts.finish().expect("on disk");
        let path = folder.path().join("texts.leitong");
        let whole = std::fs::read(&path).expect("a file");
        let places = || {
            let texts = TableTexts::open(folder.path(), TABLE, founded)?;
            io::Result::Ok(
                (0..4).map(|founder| texts.kept.texts_of_cluster(founder).collect()).collect::<Vec<Vec<_>>>(),
            )
        };
        let sound = places().expect("a sound file");
        for bit in 0..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).expect("written");
            match places() {
                Ok(places) => assert_eq!(places, sound, "bit {bit}"),
                Err(error) => {
                    let why = match bit / 8 {
                        ..16 => "not a file",
                        16..24 => "belong to another table",
                        _ => "damaged",
                    };
                    assert!(error.to_string().contains(why), "bit {bit}: {error}");
                    assert_eq!(std::fs::read(&path).expect("a file"), bad, "bit {bit}");
                }
            }
        }
        for length in 1..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("written");
            assert!(places().is_err(), "{length} bytes");
            assert_eq!(std::fs::read(&path).expect("a file"), whole[..length], "{length} bytes");
        }
    }

    /// On a full disk, they would take the room that a repetition needs.
    #[test]
    fn texts_of_a_failed_run_are_removed_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let open =
            |before| TableTexts::open(folder.path(), TABLE, Founded { oldest: 0, before }).expect("a file");
        let length = || std::fs::metadata(folder.path().join("texts.leitong")).expect("a file").len();
        let mut texts = open(0);
        texts.add(0, &compressed("kept")).expect("written");
        texts.finish().expect("on disk");
        let completed = length();
        let mut failed = open(9);
        failed.add(1, &compressed("kept by a run that fails")).expect("written");
        assert!(length() > completed);
        drop(failed);
        assert_eq!(length(), completed);
    }

    #[test]
    fn texts_of_a_table_stay_until_their_cluster_expires() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |oldest, before| {
            TableTexts::open(folder.path(), TABLE, Founded { oldest, before }).expect("a file of texts")
        };
        let text = |texts: &TableTexts, founder| {
            let found = texts.kept().texts_of_cluster(founder);
            found.map(|(_, text)| texts.read(text.place).expect("read")).collect::<Vec<_>>()
        };
        let mut texts = open(0, 0);
        for founder in [3, 5, 3] {
            texts.add(founder, &compressed(&format!("text {founder}"))).expect("written");
        }
        texts.finish().expect("on disk");

        // A run that began at 9 was not completed. Its texts must not be found when it is repeated, because its
        // documents would be contained in themselves.
        let mut texts = open(0, 9);
        texts.add(3, &compressed("another text of 3")).expect("written");
        texts.add(9, &compressed("text 9")).expect("written");
        texts.finish().expect("on disk");
        let texts = open(0, 9);
        assert_eq!(text(&texts, 3), vec![compressed("text 3").to_vec(); 2]);
        assert_eq!((text(&texts, 5).len(), text(&texts, 9).len()), (1, 0));
        let whole = texts.texts.bytes;
        drop(texts);

        // A kill or a full disk left a part of a text.
        let path = folder.path().join("texts.leitong");
        let file = File::options().write(true).open(&path).expect("the file");
        file.write_all_at(&[0; 40], whole).expect("written");
        assert_eq!(open(0, 9).texts.bytes, whole);

        let texts = open(5, 9);
        assert_eq!((text(&texts, 3).len(), text(&texts, 5)), (0, vec![compressed("text 5").to_vec()]));
        assert!(texts.texts.bytes < whole, "more than half has expired");
        drop(texts);
        assert_eq!(text(&open(5, 9), 5), vec![compressed("text 5").to_vec()]);
        std::fs::write(&path, "something else altogether").expect("written");
        assert!(TableTexts::open(folder.path(), TABLE, Founded { oldest: 0, before: 9 }).is_err());
    }
    #[test]
    fn texts_of_another_table_are_refused_and_left_as_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let founded = Founded { oldest: 0, before: 9 };
        let mut texts =
            TableTexts::open(folder.path(), TABLE, Founded { oldest: 0, before: 0 }).expect("a file");
        texts.add(3, &compressed("text 3")).expect("written");
        texts.finish().expect("on disk");
        let path = folder.path().join("texts.leitong");
        let whole = std::fs::read(&path).expect("a file");
        for founded in [founded, Founded { oldest: 8, before: 9 }, Founded { oldest: 0, before: 0 }] {
            let refused = TableTexts::open(folder.path(), TABLE + 1, founded).err().expect("refused");
            assert!(refused.to_string().contains("belong to another table"), "{refused}");
            assert_eq!(std::fs::read(&path).expect("a file"), whole);
        }
        let own = TableTexts::open(folder.path(), TABLE, founded).expect("its own table");
        assert_eq!(own.kept().count(3), 1);
        drop(own);
        // Texts of earlier versions do not say which table they belong to.
        std::fs::write(&path, [b"leitong texts 4\n", &whole[HEADER_BYTES..]].concat()).expect("written");
        assert!(TableTexts::open(folder.path(), TABLE, founded).is_err());
    }
}
