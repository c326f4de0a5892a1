//! Records what was read of an input, to detect later that another file has replaced it.
//!
//! `dedup` reads its inputs a second time to copy the documents that are kept, and a killed run continues
//! with inputs that an earlier process has read. Decisions are valid only for the bytes that they were made
//! on. A file with the same [stamp](Stamp) has the same bytes. If the stamp differs, a digest of the bytes
//! that were read decides.

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

use super::location::{Location, Stored};
use super::stamp::Stamp;

/// Buffer size for reading bytes only to compute a digest.
const BUFFER_BYTES: usize = 1 << 20;

/// The part of an input that was read so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPart {
    /// The metadata of the file when it was opened. `None` for an object in a store, and before the file is
    /// opened.
    pub stamp: Option<Stamp>,
    /// Number of bytes read, from the start of the input.
    pub bytes: u64,
    /// 128-bit XXH3 of the bytes read, in hex.
    pub digest: String,
}

/// A record of what is read of an input. The reader shares it with the code that compares two readings.
#[derive(Default)]
pub struct Reading {
    /// The version of an object in a store.
    version: Option<String>,
    /// True if a digest is also needed of a file whose parts are read in any order.
    digests: bool,
    state: Mutex<BytesRead>,
}

#[derive(Default)]
struct BytesRead {
    stamp: Option<Stamp>,
    bytes: u64,
    /// The running digest. Present only during reading, because it takes half a kilobyte, and there may be
    /// many inputs.
    hash: Option<Box<Xxh3Default>>,
    /// The final state, of this process or an earlier one.
    before: Option<ReadPart>,
}

impl Reading {
    /// Creates the record of the first reading of an input with this version, if it has one.
    #[must_use]
    pub fn new(version: Option<&str>) -> Self {
        Self { version: version.map(str::to_owned), digests: true, state: Mutex::default() }
    }

    /// Creates the record of the second reading, which is compared with the first one. If parts of the file are
    /// read in any order, no digest is computed.
    #[must_use]
    pub fn again(version: Option<&str>) -> Self {
        Self { digests: false, ..Self::new(version) }
    }

    /// Restores the record of an earlier process.
    #[must_use]
    pub fn from_earlier_run(version: Option<&str>, part: ReadPart) -> Self {
        Self {
            state: Mutex::new(BytesRead { before: Some(part), ..BytesRead::default() }),
            ..Self::new(version)
        }
    }

    /// Returns true if the input is read in one version, since it is an object of a store.
    #[must_use]
    pub fn has_version(&self) -> bool {
        self.version.is_some()
    }

    /// Returns true if the second reading `again`, which has started, certainly reads another file or object.
    /// Before its end, only the version and the size are known.
    #[must_use]
    pub fn is_surely_another(&self, again: &Self) -> bool {
        let bytes = |reading: &Self| reading.part().stamp.map(|stamp| stamp.bytes);
        // In a continued run, the second reading may start before the first one.
        let differ = bytes(self).zip(bytes(again)).is_some_and(|(first, second)| first != second);
        self.version != again.version || differ
    }

    /// Returns true if the second reading `again`, which has ended, has read the same bytes from the file at
    /// `path`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn is_same(&self, again: &Self, path: &Path) -> io::Result<bool> {
        let (first, second) = (self.part(), again.part());
        let (Some(before), Some(then)) = (first.stamp, second.stamp) else {
            // An object in a store. If ranges of it are fetched in any order, it has no digest, but each answer of the
            // store is compared with the first one.
            let is_same = (first.bytes, first.digest) == (second.bytes, second.digest);
            return Ok(!self.is_surely_another(again) && (self.version.is_some() || is_same));
        };
        let now = Stamp::from_metadata(&std::fs::metadata(path)?);
        if before == then && then == now {
            return Ok(true);
        }
        if second.bytes > 0 || first.bytes == 0 {
            return Ok(
                (first.bytes, first.digest) == (second.bytes, second.digest) && before.bytes == then.bytes
            );
        }
        // Parts of the file were read in any order, so there is no digest.
        Ok(then == now && first.is_unchanged(path)?)
    }

    /// Returns the part that was read until now.
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
        *self.state() = BytesRead { stamp, hash: Some(Box::default()), ..BytesRead::default() };
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

    fn state(&self) -> MutexGuard<'_, BytesRead> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens `location` for reading from start to end, and records it in `reading`.
///
/// # Errors
/// The error of the operating system or the store.
pub(crate) fn noted(location: &Location, reading: Arc<Reading>) -> io::Result<Box<dyn Read + Send>> {
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

/// Records a file whose parts will be read in any order. If `reading` needs a digest, reads the whole file
/// first.
///
/// # Errors
/// The operating system's error.
pub(crate) fn note_all(stored: &Stored, reading: &Reading) -> io::Result<()> {
    // Objects in stores are identified by their versions.
    #[cfg_attr(
        not(feature = "stores"),
        expect(irrefutable_let_patterns, reason = "without stores there are only files")
    )]
    let Stored::File(file, _) = stored else { return Ok(()) };
    let stamp = Stamp::from_metadata(&file.metadata()?);
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

impl ReadPart {
    /// Returns the digest and the length of a whole input.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn digest(mut reader: impl Read) -> io::Result<(String, u64)> {
        let mut hash = Xxh3Default::new();
        let bytes = hash_next(&mut reader, u64::MAX, &mut hash, &mut vec![0; BUFFER_BYTES])?;
        Ok((hex(hash.digest128()), bytes))
    }

    /// Returns the digests of the first bytes of an input, for each of `lengths`, which are in ascending order. A
    /// length beyond the end of the input has none.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn digests_of_beginnings(mut reader: impl Read, lengths: &[u64]) -> io::Result<Vec<(u64, String)>> {
        let (mut hash, mut bytes) = (Xxh3Default::new(), 0);
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut found = Vec::new();
        for length in lengths {
            bytes += hash_next(&mut reader, length - bytes, &mut hash, &mut buffer)?;
            if bytes < *length {
                break;
            }
            found.push((*length, hex(hash.digest128())));
        }
        Ok(found)
    }

    /// Returns true if the file at `path` still has the bytes of this part, and the same size. Reads the file only
    /// if its stamp has changed.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn is_unchanged(&self, path: &Path) -> io::Result<bool> {
        let Some(before) = self.stamp else { return Ok(true) };
        let file = std::fs::File::open(path)?;
        let stamp = Stamp::from_metadata(&file.metadata()?);
        if stamp == before {
            return Ok(true);
        }
        if stamp.bytes != before.bytes {
            return Ok(false);
        }
        let (digest, bytes) = Self::digest(file.take(self.bytes))?;
        Ok((digest, bytes) == (self.digest.clone(), self.bytes))
    }
}

/// Adds the next bytes of `reader` to `hash`, at most `most`. Returns their number, which is less than `most` only at
/// the end of the input.
fn hash_next(
    reader: &mut impl Read,
    most: u64,
    hash: &mut Xxh3Default,
    buffer: &mut [u8],
) -> io::Result<u64> {
    let mut bytes = 0;
    while bytes < most {
        let wanted = usize::try_from(most - bytes).map_or(buffer.len(), |left| left.min(buffer.len()));
        match reader.read(&mut buffer[..wanted]) {
            Ok(0) => break,
            Ok(count) => {
                hash.update(&buffer[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
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
    fn a_changed_file_of_equal_size_and_time_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pages");
        fs::write(&path, "one page").expect("written");
        let time = fs::metadata(&path).expect("a file").modified().expect("a time");
        let part = read(&path);
        assert!(part.is_unchanged(&path).expect("read"));
        for contents in ["two page", "one page "] {
            fs::write(&path, contents).expect("written");
            fs::File::options().write(true).open(&path).expect("a file").set_modified(time).expect("set");
            assert!(!part.is_unchanged(&path).expect("read"), "{contents}");
        }
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "one page").expect("written");
        assert!(part.is_unchanged(&path).expect("read"), "another file with the same bytes");
    }

    #[test]
    fn beginnings_have_the_digests_of_files_with_the_same_bytes() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        let lengths = [0, 5, 1 << 20, 2_500_000, 4_000_000];
        let found = ReadPart::digests_of_beginnings(&bytes[..], &lengths).expect("memory");
        let expected = |length: u64| {
            let length = usize::try_from(length).expect("a length");
            ReadPart::digest(&bytes[..length]).expect("memory").0
        };
        let expected: Vec<_> = lengths[..4].iter().map(|length| (*length, expected(*length))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_that_is_read_at_any_position_gets_the_digest_of_all_its_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pages");
        fs::write(&path, vec![7; BUFFER_BYTES + 5]).expect("written");
        let reading = Reading::new(None);
        note_all(&Location::File(path.clone()).open().expect("a file"), &reading).expect("read");
        assert_eq!(reading.part(), read(&path));
    }
}
