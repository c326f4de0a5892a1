//! Saves and loads the recent verdicts of a server, so it can still answer requests for pages and clusters
//! after a restart.
//!
//! The file `verdicts.leitong` has a magic line, the id of its table and the number of verdicts in 8 bytes each, the verdicts as JSON,
//! oldest first, each after its length in 4 bytes, and the XXH3-64 of all that. Numbers are big-endian. The
//! file is replaced in one step.

use std::fs::File;
use std::io;
use std::path::Path;

use super::SnapshotError;
use super::checksummed::{ChecksummedReader, ChecksummedWriter};
use super::folder::Unfinished;

const MAGIC: &[u8] = b"leitong recent verdicts 2\n";
/// Maximum number of bytes of a verdict. It is far above any real one, and prevents a damaged length from
/// using up the memory.
const VERDICT_BYTES_MAX: u32 = 1 << 20;

/// Replaces the saved verdicts of the table with the id `table` with these `count` ones, in one step.
pub(super) fn save<'a>(
    path: &Path,
    table: u64,
    count: u64,
    verdicts: impl Iterator<Item = &'a [u8]>,
) -> Result<(), SnapshotError> {
    let write = || {
        let new = Unfinished::new(path.with_extension("leitong.new"));
        let mut writer = ChecksummedWriter::create(new.path())?;
        writer.all(MAGIC)?;
        writer.all(&table.to_be_bytes())?;
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

/// The verdicts in a file, and the id of their table.
type Loaded = (u64, Vec<Box<[u8]>>);

/// Loads the saved verdicts of the table with the id `table`. Returns `None` if none were saved.
pub(super) fn load(path: &Path, table: Option<u64>) -> Result<Option<Vec<Box<[u8]>>>, SnapshotError> {
    let read = || -> io::Result<Option<Loaded>> {
        let mut reader = ChecksummedReader::new(File::open(path)?);
        let mut magic = [0; MAGIC.len()];
        reader.exact(&mut magic)?;
        if magic != MAGIC {
            return Ok(None);
        }
        let [mut id, mut count] = [[0; 8]; 2];
        reader.exact(&mut id)?;
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
        Ok(reader.sum_fits()?.then_some((u64::from_be_bytes(id), verdicts)))
    };
    let refused = |problem| Err(SnapshotError::RecentDamaged { path: path.to_owned(), problem });
    match read() {
        Ok(Some((id, _))) if Some(id) != table => refused("the verdicts belong to another table"),
        Ok(Some((_, recent))) => Ok(Some(recent)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            Err(SnapshotError::Io { path: path.to_owned(), error })
        }
        _ => refused("damaged, or of an earlier version"),
    }
}
