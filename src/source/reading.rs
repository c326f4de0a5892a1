//! What an input was when it was read, to find out later whether another file has taken its place.
//!
//! `dedup` reads its inputs a second time for the documents that stay, and a killed run goes on with inputs
//! that an earlier process has read. Decisions are only good for the bytes that they were made on. A file
//! whose [stamp](Stamp) is the same has the same bytes; otherwise a digest of what was read decides.

use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

use super::location::{Location, Stored};

/// Bytes that are read at once for a digest alone.
const BUFFER_BYTES: usize = 1 << 20;

/// A file as the operating system describes it. Whoever writes to a file, or puts another one in its place,
/// changes one of these: the time of the last change of the inode cannot be set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Time of the last write, in seconds and nanoseconds.
    pub modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file.
    #[must_use]
    pub fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

/// What was read of an input so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPart {
    /// The file when it was opened; `None` for an object of a store, and before it is opened.
    pub stamp: Option<Stamp>,
    /// Bytes from its beginning on.
    pub bytes: u64,
    /// XXH3 of these bytes in 128 bits, as hex digits.
    pub digest: String,
}

/// Takes note of what is read of an input. Shared by the reader and those who compare.
#[derive(Default)]
pub struct Reading {
    /// The version of an object of a store.
    version: Option<String>,
    /// A digest is of use.
    digests: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stamp: Option<Stamp>,
    bytes: u64,
    /// Only while it is read: half a kilobyte, and there may be very many inputs.
    hash: Option<Box<Xxh3Default>>,
    /// What was read in the end, by this process or an earlier one.
    before: Option<ReadPart>,
}

impl Reading {
    /// The reading of an input with this version, as far as it has one.
    #[must_use]
    pub fn new(version: Option<&str>) -> Self {
        Self { version: version.map(str::to_owned), digests: true, state: Mutex::default() }
    }

    /// The second reading, with which the first one is compared. A file that is read at any place is not
    /// read for a digest.
    #[must_use]
    pub fn again(version: Option<&str>) -> Self {
        Self { digests: false, ..Self::new(version) }
    }

    /// The reading of an earlier process.
    #[must_use]
    pub fn of_earlier(version: Option<&str>, part: ReadPart) -> Self {
        Self { state: Mutex::new(State { before: Some(part), ..State::default() }), ..Self::new(version) }
    }

    /// Returns true if `again`, which has begun, reads a file or object that is surely another one, as far as
    /// that can be told before its end.
    #[must_use]
    pub fn is_surely_another(&self, again: &Self) -> bool {
        let bytes = |reading: &Self| reading.part().stamp.map(|stamp| stamp.bytes);
        // Where a killed run goes on, the second reading may begin first.
        let differ = bytes(self).zip(bytes(again)).is_some_and(|(first, second)| first != second);
        self.version != again.version || differ
    }

    /// Returns true if `again`, which has come to its end, has read the same bytes from the file at `path`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn is_same(&self, again: &Self, path: &Path) -> io::Result<bool> {
        let (first, second) = (self.part(), again.part());
        let (Some(before), Some(then)) = (first.stamp, second.stamp) else {
            return Ok(!self.is_surely_another(again));
        };
        let now = Stamp::of(&std::fs::metadata(path)?);
        if before == then && then == now {
            return Ok(true);
        }
        if second.bytes > 0 || first.bytes == 0 {
            return Ok(
                (first.bytes, first.digest) == (second.bytes, second.digest) && before.bytes == then.bytes
            );
        }
        // It was read at any place.
        Ok(then == now && is_as_read(path, &first)?)
    }

    /// What was read until now.
    #[must_use]
    pub fn part(&self) -> ReadPart {
        let state = self.state();
        let so_far = || {
            let digest =
                state.hash.as_ref().map_or_else(|| Xxh3Default::new().digest128(), |hash| hash.digest128());
            ReadPart { stamp: state.stamp, bytes: state.bytes, digest: hex(digest) }
        };
        state.before.clone().unwrap_or_else(so_far)
    }

    fn begin(&self, stamp: Option<Stamp>) {
        *self.state() = State { stamp, hash: Some(Box::default()), ..State::default() };
    }

    fn end(&self) {
        let part = self.part();
        let mut state = self.state();
        (state.before, state.hash) = (Some(part), None);
    }

    fn add(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.bytes += bytes.len() as u64;
        if let Some(hash) = &mut state.hash {
            hash.update(bytes);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens `location` to be read from its beginning to its end, and has `reading` take note.
///
/// # Errors
/// The operating system's error, or the store's.
pub fn noted(location: &Location, reading: Arc<Reading>) -> io::Result<Box<dyn Read + Send>> {
    let (stamp, inner) = location.stamped_reader()?;
    reading.begin(stamp);
    Ok(Box::new(Noted { inner, reading }))
}

struct Noted {
    inner: Box<dyn Read + Send>,
    reading: Arc<Reading>,
}

impl Read for Noted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.reading.add(&buffer[..count]);
        Ok(count)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.reading.end();
    }
}

/// Has `reading` take note of a file that is read at any place: all of it, before anything else is read.
///
/// # Errors
/// The operating system's error.
pub fn note_all(stored: &Stored, reading: &Reading) -> io::Result<()> {
    // Objects of stores are told apart by their versions.
    let Stored::File(file) = stored else { return Ok(()) };
    let stamp = Stamp::of(&file.metadata()?);
    reading.begin(Some(stamp));
    if !reading.digests {
        reading.end();
        return Ok(());
    }
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut at = 0;
    while at < stamp.bytes {
        let count = usize::try_from(stamp.bytes - at).map_or(BUFFER_BYTES, |left| left.min(BUFFER_BYTES));
        if !stored.read_at(&mut buffer[..count], at)? {
            break;
        }
        reading.add(&buffer[..count]);
        at += count as u64;
    }
    reading.end();
    Ok(())
}

/// Returns true if the file at `path` has the bytes that `part` has read, and no others if `part` has read
/// it to its end. Reads it if its stamp is another one.
///
/// # Errors
/// The operating system's error.
pub fn is_as_read(path: &Path, part: &ReadPart) -> io::Result<bool> {
    let Some(before) = part.stamp else { return Ok(true) };
    let file = std::fs::File::open(path)?;
    let stamp = Stamp::of(&file.metadata()?);
    if stamp == before {
        return Ok(true);
    }
    if stamp.bytes != before.bytes {
        return Ok(false);
    }
    let (digest, bytes) = digest(file.take(part.bytes))?;
    Ok((digest, bytes) == (part.digest.clone(), part.bytes))
}

/// The digest of all of an input, and its bytes.
///
/// # Errors
/// The operating system's error.
pub fn digest(mut reader: impl Read) -> io::Result<(String, u64)> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut hash, mut bytes) = (Xxh3Default::new(), 0);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((hex(hash.digest128()), bytes)),
            Ok(count) => {
                hash.update(&buffer[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hex(digest: u128) -> String {
    format!("{digest:032x}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(path: &Path) -> ReadPart {
        let reading = Arc::new(Reading::new(None));
        let mut reader = noted(&Location::File(path.to_owned()), Arc::clone(&reading)).expect("a file");
        reader.read_to_end(&mut Vec::new()).expect("read");
        reading.part()
    }

    #[test]
    fn a_file_of_equal_size_and_time_is_known_as_another_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pages");
        fs::write(&path, "one page").expect("written");
        let time = fs::metadata(&path).expect("a file").modified().expect("a time");
        let part = read(&path);
        assert!(is_as_read(&path, &part).expect("read"));
        for contents in ["two page", "one page "] {
            fs::write(&path, contents).expect("written");
            fs::File::options().write(true).open(&path).expect("a file").set_modified(time).expect("set");
            assert!(!is_as_read(&path, &part).expect("read"), "{contents}");
        }
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "one page").expect("written");
        assert!(is_as_read(&path, &part).expect("read"), "another file with the same bytes");
    }

    #[test]
    fn a_file_that_is_read_at_any_place_has_the_digest_of_all_its_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pages");
        fs::write(&path, vec![7; BUFFER_BYTES + 5]).expect("written");
        let reading = Reading::new(None);
        note_all(&Location::File(path.clone()).open().expect("a file"), &reading).expect("read");
        assert_eq!(reading.part(), read(&path));
    }
}
