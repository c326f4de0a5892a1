//! The verdicts that a server last gave, on disk: for whoever asks for a page or a cluster again.
//!
//! One file, `verdicts.leitong`: the magic line; how many there are, 8 bytes, big-endian; then the
//! verdicts as JSON, each behind its length in 4 bytes, oldest first; then the XXH3-64 of all that.
//! It is replaced in one step.

use std::fs::File;
use std::io;
use std::path::Path;

use super::SnapshotError;
use super::checksummed::{ChecksummedReader, ChecksummedWriter};
use super::folder::Unfinished;

const MAGIC: &[u8] = b"leitong recent verdicts\n";
/// Far above any verdict, so that a damaged length does not ask for the whole memory.
const VERDICT_BYTES_MAX: u32 = 1 << 20;

/// Saves `count` verdicts in place of the last ones, in one step.
pub(super) fn save<'a>(
    path: &Path,
    count: u64,
    verdicts: impl Iterator<Item = &'a [u8]>,
) -> Result<(), SnapshotError> {
    let write = || {
        let new = Unfinished::new(path.with_extension("leitong.new"));
        let mut writer = ChecksummedWriter::create(new.path())?;
        writer.all(MAGIC)?;
        writer.all(&count.to_be_bytes())?;
        for verdict in verdicts {
            writer.all(&(verdict.len() as u32).to_be_bytes())?;
            writer.all(verdict)?;
        }
        writer.finish()?;
        new.replace(path)
    };
    write().map_err(|error| SnapshotError::Io { path: path.to_owned(), error })
}

/// The verdicts that were saved, if any were.
pub(super) fn load(path: &Path) -> Result<Option<Vec<Box<[u8]>>>, SnapshotError> {
    let read = || -> io::Result<Option<Vec<Box<[u8]>>>> {
        let mut reader = ChecksummedReader::new(File::open(path)?);
        let mut magic = [0; MAGIC.len()];
        reader.exact(&mut magic)?;
        if magic != MAGIC {
            return Ok(None);
        }
        let mut count = [0; 8];
        reader.exact(&mut count)?;
        let mut verdicts = Vec::new();
        for _ in 0..u64::from_be_bytes(count) {
            let mut length = [0; 4];
            reader.exact(&mut length)?;
            let length = u32::from_be_bytes(length);
            if length > VERDICT_BYTES_MAX {
                return Ok(None);
            }
            let mut verdict = vec![0; length as usize];
            reader.exact(&mut verdict)?;
            verdicts.push(verdict.into());
        }
        Ok(reader.sum_fits()?.then_some(verdicts))
    };
    match read() {
        Ok(Some(recent)) => Ok(Some(recent)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            Err(SnapshotError::Io { path: path.to_owned(), error })
        }
        _ => Err(SnapshotError::RecentDamaged { path: path.to_owned() }),
    }
}
