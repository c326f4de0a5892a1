//! Stores the texts of kept documents in the folder of a centroid table, for comparisons in later runs.
//!
//! The file `texts.leitong` has the id of its table, and then the compressed text of each kept document, with its cluster
//! and its run, in the order in which they were kept. Invariants: texts of another table are refused; texts of a run that was not completed are removed by that run if it fails, or
//! else by the next one, since the run is repeated; a file that is damaged before the end of a completed run is refused
//! and left as it is. Memory: 32 bytes and a slot of a map per text, and two slots for each further text of a cluster.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::texts::{TextFile, TextPlace, hash_of, length};
use crate::sink::summed::cut;
use leitong_store::snapshot::Unfinished;

/// The first line of the file in a table's folder.
const MAGIC: &[u8] = b"leitong texts 4\n";
/// Number of bytes before the first text: the first line, and the id of the table.
const HEADER_BYTES: usize = MAGIC.len() + 8;
/// Number of bytes before a compressed text in the file: log offset of the cluster's founder, log offset at which the
/// run began, length, XXH3-64 of these and of the hash of the text.
const RECORD_HEAD_BYTES: usize = 28;
/// Number of bytes of the head that are before its checksum.
const SUMMED_BYTES: usize = 20;
/// The founder in the head that ends the texts of a completed run.
const END_OF_RUN: u64 = u64::MAX;
/// Number of bytes of the hash of the text, which follows the head.
const TEXT_HASH_BYTES: usize = 8;
/// Number of bytes of a head and the hash of its text.
const FULL_HEAD_BYTES: usize = RECORD_HEAD_BYTES + TEXT_HASH_BYTES;
/// Number of bytes that are read at once.
const READ_BYTES: usize = 1 << 18;

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
    /// The first text of each cluster, by the log offset of its founder.
    first: HashMap<u64, KeptText>,
    /// Further texts of a cluster.
    more: HashMap<u64, Vec<KeptText>>,
    /// The places of the first of equal texts in `more`, by the founder and the hash of the text.
    equal: HashMap<(u64, u64), TextPlace>,
}

impl KeptTexts {
    /// Adds a text to the cluster with this founder.
    pub(crate) fn add(&mut self, founder: u64, text: KeptText) {
        match self.first.entry(founder) {
            Entry::Vacant(none) => drop(none.insert(text)),
            Entry::Occupied(_) => {
                self.equal.entry((founder, text.hash)).or_insert(text.place);
                self.more.entry(founder).or_default().push(text);
            }
        }
    }

    /// Returns the texts of a cluster in the order in which they were added.
    pub(crate) fn texts_of_cluster(&self, founder: u64) -> impl Iterator<Item = KeptText> + '_ {
        self.first.get(&founder).into_iter().chain(self.more(founder)).copied()
    }

    /// Returns the first text of a cluster that has this hash.
    #[must_use]
    pub(crate) fn with_hash(&self, founder: u64, hash: u64) -> Option<KeptText> {
        let first = self.first.get(&founder).copied().filter(|first| first.hash == hash);
        first.or_else(|| self.equal.get(&(founder, hash)).map(|place| KeptText { hash, place: *place }))
    }

    /// Returns the number of texts of a cluster.
    #[must_use]
    pub(crate) fn count(&self, founder: u64) -> usize {
        usize::from(self.first.contains_key(&founder)) + self.more(founder).len()
    }

    /// Returns a text of a cluster by its number, in the order in which texts were added.
    #[must_use]
    pub(crate) fn text(&self, founder: u64, number: usize) -> Option<KeptText> {
        match number.checked_sub(1) {
            None => self.first.get(&founder).copied(),
            Some(more) => self.more(founder).get(more).copied(),
        }
    }

    fn more(&self, founder: u64) -> &[KeptText] {
        self.more.get(&founder).map_or(&[], Vec::as_slice)
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
    pub(crate) const FORMAT_VERSION: u32 = 4;

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

    /// Reads the places of all texts, and truncates the file after the end of the last completed run. Returns the
    /// number of bytes of expired clusters. The part that is cut off must begin after the end of a completed run and
    /// contain no head of such a run: only then was it written by a run that was not completed.
    fn read_index(&mut self, founded: Founded) -> io::Result<u64> {
        let mut reader = BufReader::new(self.texts.file.try_clone()?);
        let mut header = Vec::new();
        reader.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        if header.is_empty() {
            self.texts.push(&self.header())?;
            return Ok(0);
        }
        if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
            return Err(io::Error::other(
                "this is not a file of texts that this version of Leitong can read; move it away to begin without texts",
            ));
        }
        if header != self.header() {
            return Err(io::Error::other(
                "the texts belong to another table; restore the whole folder from one backup, or move the file away to \
                 begin without texts",
            ));
        }
        let length = self.texts.file.metadata()?.len();
        let (mut at, mut dead) = (HEADER_BYTES as u64, 0);
        let mut run_end = at;
        while let Some(head) = RecordHead::read(&mut reader)? {
            let text_at = at + RECORD_HEAD_BYTES as u64;
            let next = text_at + u64::from(head.bytes);
            if next > length || head.run >= founded.before {
                break;
            }
            if head.founder == END_OF_RUN {
                run_end = next;
            } else if head.founder < founded.oldest {
                dead += next - at;
            } else {
                let place = TextPlace { at: text_at, bytes: head.bytes };
                self.kept.add(head.founder, KeptText { hash: head.hash, place });
            }
            reader.seek_relative(i64::from(head.bytes) - TEXT_HASH_BYTES as i64)?;
            at = next;
        }
        if at != run_end {
            return Err(damaged(at));
        }
        self.check_rest(at, founded)?;
        cut(&mut self.texts.file, at)?;
        self.texts.bytes = at;
        Ok(dead)
    }

    /// Returns the first bytes of the file.
    fn header(&self) -> Vec<u8> {
        [MAGIC, &self.table.to_le_bytes()].concat()
    }

    /// Checks that no text of a completed run is at `from` or after it.
    fn check_rest(&self, from: u64, founded: Founded) -> io::Result<()> {
        let mut file = self.texts.file.try_clone()?;
        file.seek(SeekFrom::Start(from))?;
        let has_head = |bytes: &[u8]| find_head(bytes, founded.before, RecordHead::from_bytes).is_some();
        let mut bytes = Vec::with_capacity(READ_BYTES);
        // The last bytes that were read, which are fewer than a head, are looked at again with the next ones.
        while (&file).take((READ_BYTES - bytes.len()) as u64).read_to_end(&mut bytes)? > 0 {
            if has_head(&bytes) {
                return Err(damaged(from));
            }
            bytes.drain(..bytes.len().saturating_sub(FULL_HEAD_BYTES - 1));
        }
        Ok(())
    }

    /// Writes the texts that are still needed into a new file, which replaces this one.
    fn remove_expired(&mut self) -> io::Result<()> {
        let new = Unfinished::new(self.path.with_extension("new"));
        let mut texts = TextFile::at(new.path(), None)?;
        texts.push(&self.header())?;
        let kept = std::mem::take(&mut self.kept);
        let mut founders: Vec<u64> = kept.first.keys().copied().collect();
        founders.sort_unstable();
        let old = std::mem::replace(&mut self.texts, texts);
        // The texts belong to completed runs, so the number of this run would be wrong.
        let run = std::mem::take(&mut self.run);
        for founder in founders {
            for text in kept.texts_of_cluster(founder) {
                self.add(founder, &old.read(text.place)?)?;
            }
        }
        self.end_run()?;
        self.run = run;
        self.texts.file.sync_data()?;
        new.replace(&self.path)
    }

    /// Appends a compressed text of the cluster with this founder.
    ///
    /// # Errors
    /// The text cannot be written. The error names the file.
    pub(crate) fn add(&mut self, founder: u64, compressed: &[u8]) -> io::Result<()> {
        let at = self.texts.bytes + RECORD_HEAD_BYTES as u64;
        self.push(&record(founder, self.run, compressed)?)?;
        let place = TextPlace { at, bytes: length(compressed)? };
        let hash = hash_of(compressed).unwrap_or_default();
        self.kept.add(founder, KeptText { hash, place });
        Ok(())
    }

    /// Appends the end of the run.
    fn end_run(&mut self) -> io::Result<()> {
        self.push(&record(END_OF_RUN, self.run, &[0; TEXT_HASH_BYTES])?)
    }

    fn push(&mut self, record: &[u8]) -> io::Result<()> {
        self.texts.push(record).map(drop).map_err(|error| self.named(&error))
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
        self.end_run()?;
        self.texts.file.sync_data().map_err(|error| self.named(&error))?;
        self.before_run = None;
        Ok(())
    }
}

impl Drop for TableTexts {
    /// Frees the room that the texts of a failed run occupy.
    fn drop(&mut self) {
        if let Some(length) = self.before_run {
            // If this fails, the next run cuts the file.
            let _ = self.texts.file.set_len(length);
        }
    }
}

/// Returns a text with its head, as the file of a table has it.
fn record(founder: u64, run: u64, compressed: &[u8]) -> io::Result<Vec<u8>> {
    let mut record = Vec::with_capacity(RECORD_HEAD_BYTES + compressed.len());
    record.extend_from_slice(&founder.to_le_bytes());
    record.extend_from_slice(&run.to_le_bytes());
    record.extend_from_slice(&length(compressed)?.to_le_bytes());
    let hash = hash_of(compressed).unwrap_or_default();
    record.extend_from_slice(&head_sum(&record, hash).to_le_bytes());
    record.extend_from_slice(compressed);
    Ok(record)
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
        let mut head = Vec::with_capacity(FULL_HEAD_BYTES);
        reader.take(FULL_HEAD_BYTES as u64).read_to_end(&mut head)?;
        Ok(Self::from_bytes(&head))
    }

    fn from_bytes(head: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let bytes = u32::from_le_bytes(*head.get(16..)?.first_chunk()?);
        let [founder, run, sum, hash] =
            [number(0)?, number(8)?, number(SUMMED_BYTES)?, number(RECORD_HEAD_BYTES)?];
        let is_whole = bytes as usize >= TEXT_HASH_BYTES && sum == head_sum(&head[..SUMMED_BYTES], hash);
        is_whole.then_some(Self { founder, run, bytes, hash })
    }
}

/// Returns the first head in `bytes` of a run before log offset `before`. `read` reads a head and compares its checksum;
/// it is called only where the other numbers could be those of such a head, which is hardly ever.
fn find_head(
    bytes: &[u8],
    before: u64,
    mut read: impl FnMut(&[u8]) -> Option<RecordHead>,
) -> Option<RecordHead> {
    bytes.windows(FULL_HEAD_BYTES).find_map(|head| {
        let number = |at: usize| head[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let length = head[16..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
        let (founder, run) = (number(0)?, number(8)?);
        let may_be_one =
            run < before && (founder < before || founder == END_OF_RUN) && length as usize >= TEXT_HASH_BYTES;
        if may_be_one { read(head).filter(|head| head.run < before) } else { None }
    })
}

/// Returns the checksum of a head up to the checksum, and of the hash of the text.
fn head_sum(head: &[u8], hash: u64) -> u64 {
    xxh3_64_with_seed(head, hash)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::growth::{GROWTH_MAX, growth};
    use crate::verify::texts::tests::compressed;

    const TABLE: u64 = 0x0123_4567_89ab_cdef;

    /// All documents of a run may be in one cluster, and each may be kept.
    #[test]
    fn the_first_equal_text_is_found_in_a_cluster_of_any_size() {
        let text = |at: u64| KeptText { hash: at / 3 % 1_000_003, place: TextPlace { at, bytes: 1 } };
        let kept = |count: usize| {
            let mut kept = KeptTexts::default();
            (0..count as u64).for_each(|at| kept.add(at % 2, text(at)));
            kept
        };
        let few = kept(60);
        for (founder, hash) in (0..3).flat_map(|founder| (0..25).map(move |hash| (founder, hash))) {
            let expected = few.texts_of_cluster(founder).find(|kept| kept.hash == hash);
            assert_eq!(few.with_hash(founder, hash), expected);
        }
        let grown = growth(3_000, kept, |kept| {
            for founder in [0, 1] {
                let has_text = |text: KeptText| kept.with_hash(founder, text.hash).is_some();
                assert!(kept.texts_of_cluster(founder).all(has_text));
            }
        });
        assert!(grown < GROWTH_MAX, "{grown}");
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
        // Before the end of the first text, the file may be one of a first run that was not completed.
        let first = sound[0][0].place;
        for length in (first.at + u64::from(first.bytes)) as usize..whole.len() {
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
            found.map(|text| texts.read(text.place).expect("read")).collect::<Vec<_>>()
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
    /// A killed run may leave gigabytes that are searched for texts of completed runs.
    #[test]
    fn the_rest_of_a_file_is_searched_with_hardly_any_checksum() {
        let before = 1 << 40;
        // Next to zeros, the places around a head look like one.
        let few = 2 * FULL_HEAD_BYTES;
        let head = record(5, 3, &[0; TEXT_HASH_BYTES]).expect("a record");
        let rest: Vec<u8> =
            (0..100_000_u32).flat_map(|number| hash_of_number(number).to_le_bytes()).collect();
        let found_in = |bytes: &[u8]| {
            let mut sums = 0;
            let read = |head: &[u8]| {
                sums += 1;
                RecordHead::from_bytes(head)
            };
            let found = find_head(bytes, before, read).map(|head| (head.founder, head.run));
            (found, sums)
        };
        for rest in [&rest[..], &[0; 100_000], &[0xff; 100_000]] {
            let (found, sums) = found_in(rest);
            assert!(found.is_none() && sums < few, "{sums} checksums");
            let (found, sums) = found_in(&[rest, &head, rest].concat());
            assert!(found == Some((5, 3)) && sums < few, "{sums} checksums");
        }
        // A head is found wherever it is, also if it is read in two parts.
        let folder = tempfile::tempdir().expect("a folder");
        let founded = Founded { oldest: 0, before: 9 };
        let path = folder.path().join("texts.leitong");
        for at in (READ_BYTES - FULL_HEAD_BYTES - 2..READ_BYTES + 2).chain([0, 2 * READ_BYTES - 60]) {
            let texts = TableTexts::open(folder.path(), TABLE, founded).expect("a file");
            texts.texts.file.write_all_at(&vec![1; at], HEADER_BYTES as u64).expect("written");
            assert!(texts.check_rest(HEADER_BYTES as u64, founded).is_ok());
            texts.texts.file.write_all_at(&head, (HEADER_BYTES + at) as u64).expect("written");
            assert!(texts.check_rest(HEADER_BYTES as u64, founded).is_err(), "at {at}");
            drop(texts);
            std::fs::remove_file(&path).expect("removed");
        }
    }

    fn hash_of_number(number: u32) -> u64 {
        xxh3_64_with_seed(&number.to_le_bytes(), 7)
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
        std::fs::write(&path, [b"leitong texts 3\n", &whole[HEADER_BYTES..]].concat()).expect("written");
        assert!(TableTexts::open(folder.path(), TABLE, founded).is_err());
    }
}
