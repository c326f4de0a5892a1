//! The hash of a file that only grows, with which a continued run verifies what the killed one left in it.
//!
//! The files of a checkpoint decide which documents are kept, so damage in one must not go unnoticed. Cost: the bytes
//! that are appended are hashed; a continued run reads the file once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::Xxh3Default;

use crate::sink::Extent;
use crate::sink::whole_lines::cut;

/// Size of the buffer for reading.
const BUFFER_BYTES: usize = 1 << 20;

/// The XXH3-64 of all bytes of a file so far.
#[derive(Default)]
pub(super) struct Sum(Xxh3Default);

impl Sum {
    /// Opens the file at `path` for reading and writing and keeps what it had at `extent`, or creates it.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short or was changed.
    pub(super) fn open(path: &Path, extent: Option<Extent>) -> io::Result<(File, Self)> {
        let Some(extent) = extent else {
            let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
            return Ok((file, Self::default()));
        };
        let mut file = File::options().read(true).write(true).open(path)?;
        cut(&mut file, extent.bytes)?;
        let sum = Self::of_file(&file, extent)?;
        Ok((file, sum))
    }

    /// Reads the part of `file` that it had at `extent`, and compares its hash.
    fn of_file(file: &File, extent: Extent) -> io::Result<Self> {
        let mut sum = Self::default();
        let Extent { bytes, sum: expected, .. } = extent;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut at = 0;
        while at < bytes {
            let part = &mut buffer[..usize::try_from(bytes - at).unwrap_or(usize::MAX).min(BUFFER_BYTES)];
            file.read_exact_at(part, at)?;
            sum.add(part);
            at += part.len() as u64;
        }
        match expected {
            Some(expected) if expected != sum.0.digest() => Err(io::Error::other(
                "the file was damaged or changed since the checkpoint; restore it from a copy, or remove the folder of \
                 checkpoints to begin again",
            )),
            _ => Ok(sum),
        }
    }

    /// Adds bytes that are appended to the file.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the extent of the file, which has this number of bytes by now.
    pub(super) fn extent(&self, bytes: u64) -> Extent {
        Extent { file: 0, bytes, parts: 0, sum: Some(self.0.digest()) }
    }
}
