//! The journal next to a saved table: pages that are stored but not yet part of the table's file.
//!
//! ```text
//! journal.leitong:   frame 0: head │ frame 1: pages │ frame 2: pages │ …
//! frame:             mark (8 bytes) │ number (8) │ length (4) │ XXH3-64 (8) │ a protobuf message
//! ```
//! All numbers are big-endian. The checksum covers number, length and message, with the salt from the head as
//! seed (the head's own checksum uses 0). So a page cannot contain bytes that look like a frame.
//!
//! Invariant: [`Journal::append`] writes one frame and returns when it is on disk. So at most the last frame
//! of a file was never durable. A broken frame at the end of the file is moved to another file instead of
//! deleted, because it may be a durable frame that was damaged later. If a whole frame follows it, pages that
//! were confirmed to clients are damaged, and the file is refused. Memory: one frame, or all bytes after a
//! broken one.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use memchr::memmem;
use prost::Message;
use prost::bytes::Buf as _;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::SnapshotError;
use super::file::at;
use super::folder::{Unfinished, if_there};
use leitong_base::proto::{FORMAT_VERSION, JournalBatch, JournalHead};

const MARK: &[u8; 8] = b"\xf2leitong";
/// Number of bytes of mark, number, length and checksum.
const HEAD_BYTES: usize = 28;
/// Maximum number of bytes of a frame's message. More pages cannot be stored at once.
const FRAME_BYTES_MAX: usize = 1 << 30;

/// A journal that is open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    head: JournalHead,
    /// Number of bytes that are on disk and whole.
    bytes: u64,
    next_frame: u64,
    /// Number of bytes of the last write, if it failed and was undone; otherwise 0.
    refused: usize,
    /// True if a write may or may not have reached the disk. No more pages can be stored then.
    failed: bool,
}

/// The part that was cut off the end of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The offset in the journal at which this part began.
    pub at: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// The file that has these bytes now.
    pub moved_to: PathBuf,
}

impl Journal {
    /// Creates an empty journal at `path`, and replaces an existing file. The journal is durable when this function
    /// returns.
    ///
    /// # Errors
    /// The operating system reported an error.
    pub fn create(path: &Path, head: JournalHead) -> Result<Self, SnapshotError> {
        let write = || {
            let new = Unfinished::new(path.with_extension("leitong.new"));
            let mut options = File::options();
            let mut file = options.create(true).truncate(true).read(true).write(true).open(new.path())?;
            let frame = frame(0, 0, &head.encode_to_vec());
            file.write_all(&frame)?;
            file.sync_all()?;
            new.replace(path)?;
            Ok((file, frame.len() as u64))
        };
        let (file, bytes) = write().map_err(at(path))?;
        Ok(Self { file, path: path.to_owned(), head, bytes, next_frame: 1, refused: 0, failed: false })
    }

    /// Opens the journal at `path`. Passes its head to `check`, and its batches to `each` in order. Returns
    /// `None` if the file does not exist. A torn end is moved to another file.
    ///
    /// # Errors
    /// [`SnapshotError`] if the file is damaged or newer than this program, or if `check` or `each` returns
    /// an error.
    pub fn open(
        path: &Path,
        check: impl FnOnce(&JournalHead) -> Result<(), SnapshotError>,
        mut each: impl FnMut(JournalBatch) -> Result<(), SnapshotError>,
    ) -> Result<Option<(Self, Option<Torn>)>, SnapshotError> {
        let file = if_there(File::options().read(true).write(true).open(path)).map_err(at(path))?;
        let Some(mut file) = file else { return Ok(None) };
        let length = file.metadata().map_err(at(path))?.len();
        let mut reader = BufReader::with_capacity(1 << 18, &mut file);
        let damaged = |at: u64, problem: &str| SnapshotError::JournalDamaged {
            path: path.to_owned(),
            at,
            problem: problem.to_owned(),
        };
        // The head was complete before the file got this name, so a broken head is damage.
        let head = read_frame(&mut reader, 0, 0).map_err(at(path))?;
        let head = head.and_then(|message| JournalHead::decode(&*message).ok());
        let Some(head) = head else { return Err(damaged(0, "its header is broken")) };
        if head.format_version > FORMAT_VERSION {
            let found = head.format_version;
            return Err(SnapshotError::TooNew { path: path.to_owned(), found, known: FORMAT_VERSION });
        }
        check(&head)?;
        let mut bytes = (HEAD_BYTES + head.encoded_len()) as u64;
        let mut next_frame = 1;
        while let Some(message) = read_frame(&mut reader, next_frame, head.salt).map_err(at(path))? {
            bytes += (HEAD_BYTES + message.len()) as u64;
            let batch = JournalBatch::decode(&*message);
            each(batch.map_err(|error| damaged(bytes, &error.to_string()))?)?;
            next_frame += 1;
        }
        drop(reader);
        let mut torn = None;
        if bytes < length {
            let mut rest = Vec::new();
            file.seek(SeekFrom::Start(bytes)).map_err(at(path))?;
            file.read_to_end(&mut rest).map_err(at(path))?;
            if let Some(after) = find_whole_frame(&rest, next_frame, head.salt) {
                let problem = format!("a whole frame follows at byte {}", bytes + after as u64);
                return Err(damaged(bytes, &problem));
            }
            let moved_to = set_aside(path, &rest).map_err(at(path))?;
            torn = Some(Torn { at: bytes, bytes: length - bytes, moved_to });
            file.set_len(bytes).and_then(|()| file.sync_all()).map_err(at(path))?;
        }
        file.seek(SeekFrom::Start(bytes)).map_err(at(path))?;
        let journal =
            Self { file, path: path.to_owned(), head, bytes, next_frame, refused: 0, failed: false };
        Ok(Some((journal, torn)))
    }

    /// Appends a batch, which is on disk when this returns.
    ///
    /// # Errors
    /// The batch is not on disk, or may not be. If the partial write could be undone, the next call may
    /// succeed. Otherwise, this and all later calls fail until the journal is opened again.
    pub fn append(&mut self, batch: &JournalBatch) -> io::Result<()> {
        let message = batch.encode_to_vec();
        if message.len() > FRAME_BYTES_MAX {
            return Err(io::Error::other("the batch is too large; send smaller batches"));
        }
        let frame = frame(self.next_frame, self.head.salt, &message);
        self.write(&frame)?;
        self.bytes += frame.len() as u64;
        self.next_frame += 1;
        Ok(())
    }

    /// Tries whether the last batch that [`Self::append`] could not write would have room now. The journal stays as it
    /// is.
    ///
    /// # Errors
    /// There is still no room, or the disk has failed.
    pub fn try_again(&mut self) -> io::Result<()> {
        // Zeros are no frame. If the process is killed here, they are cut off at the next start.
        self.write(&vec![0; self.refused])?;
        self.take_back()
    }

    /// Writes these bytes after the last frame.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier write has failed; restart the process"));
        }
        if let Err(error) = self.file.write_all(bytes) {
            // On a full disk, this restores the previous state.
            self.refused = bytes.len();
            let _ = self.take_back();
            return Err(error);
        }
        // It is unknown what a failed sync has left on disk.
        self.file.sync_data().inspect_err(|_| self.failed = true)?;
        self.refused = 0;
        Ok(())
    }

    /// Removes everything after the last frame.
    fn take_back(&mut self) -> io::Result<()> {
        let back = self.file.set_len(self.bytes);
        let back = back.and_then(|()| self.file.seek(SeekFrom::Start(self.bytes)).map(drop));
        back.and_then(|()| self.file.sync_all()).inspect_err(|_| self.failed = true)
    }

    /// Returns the number of bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if a write may or may not have reached the disk. No more can be stored then.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Makes every later [`Self::append`] fail, because the file may have lost its name.
    pub fn give_up(&mut self) {
        self.failed = true;
    }

    /// Deletes the file. All of its pages must be part of the saved table.
    ///
    /// # Errors
    /// The operating system reported an error.
    pub fn remove(self) -> Result<(), SnapshotError> {
        let remove = || {
            std::fs::remove_file(&self.path)?;
            Unfinished::sync_parent(&self.path)
        };
        remove().map_err(at(&self.path))
    }
}

/// Writes the bytes that are cut off the journal at `path` to a new file next to it, and returns its path.
fn set_aside(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let aside = path.with_extension(format!("leitong.cut-{number}"));
        match File::create_new(&aside) {
            Ok(mut file) => {
                let new = Unfinished::new(aside.clone());
                file.write_all(bytes)?;
                file.sync_all()?;
                new.keep()?;
                return Ok(aside);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Encodes a frame.
fn frame(number: u64, salt: u64, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("a message is bounded");
    let mut frame = Vec::with_capacity(HEAD_BYTES + message.len());
    frame.extend_from_slice(MARK);
    frame.extend_from_slice(&number.to_be_bytes());
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&checksum(number, salt, message).to_be_bytes());
    frame.extend_from_slice(message);
    frame
}

fn checksum(number: u64, salt: u64, message: &[u8]) -> u64 {
    let of_place = [number, message.len() as u64].map(u64::to_be_bytes).concat();
    xxh3_64_with_seed(message, xxh3_64_with_seed(&of_place, salt))
}

/// Returns number, length and checksum if this is the head of a frame.
fn parse_head(head: &[u8]) -> Option<(u64, usize, u64)> {
    let mut rest = head.strip_prefix(MARK)?;
    let number = rest.try_get_u64().ok()?;
    let length = rest.try_get_u32().ok()? as usize;
    let sum = rest.try_get_u64().ok()?;
    (length <= FRAME_BYTES_MAX).then_some((number, length, sum))
}

/// Returns the message of the next frame, or `None` if it is not whole or the file ends.
fn read_frame(reader: &mut impl Read, number: u64, salt: u64) -> io::Result<Option<Vec<u8>>> {
    let head = read_up_to(reader, HEAD_BYTES)?;
    let Some((found, length, sum)) = parse_head(&head) else { return Ok(None) };
    let message = read_up_to(reader, length)?;
    let is_whole = found == number && message.len() == length && checksum(number, salt, &message) == sum;
    Ok(is_whole.then_some(message))
}

/// Reads up to this many bytes. Returns fewer if the file ends.
fn read_up_to(reader: &mut impl Read, bytes: usize) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    reader.take(bytes as u64).read_to_end(&mut read)?;
    Ok(read)
}

/// Returns the position in `rest` of a whole frame that was written after frame `number`.
fn find_whole_frame(rest: &[u8], number: u64, salt: u64) -> Option<usize> {
    memmem::find_iter(rest, MARK).find(|at| {
        let head = &rest[*at..];
        let Some((found, length, sum)) = parse_head(head) else { return false };
        let message = head.get(HEAD_BYTES..).and_then(|rest| rest.get(..length));
        found > number && message.is_some_and(|message| checksum(found, salt, message) == sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(number: u64) -> JournalBatch {
        JournalBatch { first_log_offset: number, decided_at_ms: 7, pages: Vec::new() }
    }

    fn written(folder: &Path, batches: u64) -> (PathBuf, Vec<u8>) {
        let path = folder.join("journal.leitong");
        let head = JournalHead { format_version: FORMAT_VERSION, salt: 99, ..JournalHead::default() };
        let mut journal = Journal::create(&path, head).expect("a journal");
        (1000..1000 + batches).for_each(|number| journal.append(&batch(number)).expect("written"));
        assert_eq!(journal.bytes(), std::fs::metadata(&path).expect("a file").len());
        let bytes = std::fs::read(&path).expect("a file");
        (path, bytes)
    }

    /// Returns the offsets of the batches, and the part that was cut off.
    fn read(path: &Path) -> Result<(Vec<u64>, Option<Torn>), SnapshotError> {
        let mut offsets = Vec::new();
        let opened = Journal::open(
            path,
            |_| Ok(()),
            |batch| {
                offsets.push(batch.first_log_offset);
                Ok(())
            },
        )?;
        Ok((offsets, opened.expect("a file").1))
    }

    /// A trial must leave no trace, so that the next batch follows the last one.
    #[test]
    fn trying_again_leaves_the_journal_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, before) = written(folder.path(), 2);
        let (mut journal, _) =
            Journal::open(&path, |_| Ok(()), |_| Ok(())).expect("it opens").expect("a file");
        for refused in [0, 1, 100_000] {
            journal.refused = refused;
            journal.try_again().expect("there is room");
            assert_eq!(std::fs::read(&path).expect("a file"), before);
        }
        journal.append(&batch(1002)).expect("written");
        assert_eq!(read(&path).expect("it opens"), (vec![1000, 1001, 1002], None));
        // A trial that a kill interrupts leaves zeros, which are cut off.
        journal.write(&[0; 100]).expect("written");
        let (offsets, torn) = read(&path).expect("it opens");
        assert_eq!((offsets, torn.map(|torn| torn.bytes)), (vec![1000, 1001, 1002], Some(100)));
        journal.give_up();
        assert!(journal.try_again().is_err());
    }

    /// The end that is cut off must not be deleted: it may be a frame that was damaged after its pages were
    /// answered.
    #[test]
    fn torn_ends_are_cut_wherever_they_are_torn() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, whole) = written(folder.path(), 4);
        let (_, three) = written(folder.path(), 3);
        for length in three.len()..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("written");
            let (offsets, torn) = read(&path).expect("it opens");
            assert_eq!(offsets, [1000, 1001, 1002]);
            assert_eq!(torn.as_ref().map_or(0, |torn| torn.bytes), (length - three.len()) as u64);
            assert_eq!(std::fs::read(&path).expect("a file"), three);
            let moved = torn.map_or_else(Vec::new, |torn| std::fs::read(torn.moved_to).expect("a file"));
            assert_eq!([three.clone(), moved].concat(), whole[..length], "no byte is deleted");
        }
        // A torn write may also leave wrong bytes, such as zeros instead of a disk block.
        for at in three.len()..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).expect("written");
            let (offsets, torn) = read(&path).expect("it opens");
            assert_eq!(offsets, [1000, 1001, 1002], "byte {at}");
            let moved = std::fs::read(torn.expect("cut off").moved_to).expect("a file");
            assert_eq!([three.clone(), moved].concat(), bytes, "byte {at}: no byte is deleted");
        }
    }

    #[test]
    fn a_journal_can_be_continued_after_a_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, whole) = written(folder.path(), 4);
        std::fs::write(&path, &whole[..whole.len() - 3]).expect("written");
        let (mut journal, _) = Journal::open(&path, |_| Ok(()), |_| Ok(())).expect("opens").expect("a file");
        journal.append(&batch(2000)).expect("written");
        assert_eq!(read(&path).expect("it opens"), (vec![1000, 1001, 1002, 2000], None));
        // Each cut has a file of its own.
        let asides = || std::fs::read_dir(folder.path()).expect("a folder").count() - 1;
        assert_eq!(asides(), 1);
        let end = std::fs::read(&path).expect("a file");
        std::fs::write(&path, &end[..end.len() - 1]).expect("written");
        read(&path).expect("it opens");
        assert_eq!(asides(), 2);
    }

    #[test]
    fn damage_before_answered_pages_is_refused_whatever_byte_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, whole) = written(folder.path(), 4);
        let (_, three) = written(folder.path(), 3);
        for at in 0..three.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).expect("written");
            let error = read(&path).expect_err("refused").to_string();
            assert!(error.contains("journal.leitong: damaged at byte"), "byte {at}: {error}");
            assert_eq!(std::fs::read(&path).expect("a file"), bytes, "left as it is");
        }
    }
}
