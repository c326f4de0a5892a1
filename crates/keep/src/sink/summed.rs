//! Hashes a file that only grows, so a continued run can verify what the killed run has written to it.
//!
//! The files of a checkpoint decide which documents are kept, and outputs are continued, so damage in one must not go
//! unnoticed. Cost: the bytes that are appended are hashed; a continued run reads the file once.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::Xxh3Default;

use super::Extent;
use super::part::{self, part_of};

/// Size of the buffer for reading.
const BUFFER_BYTES: usize = 1 << 20;

/// The XXH3-64 of all bytes of a file so far. Its state has half a kilobyte.
#[derive(Default)]
pub(crate) struct Sum(Box<Xxh3Default>);

impl Sum {
    /// Opens the file at `path` for reading and writing, and truncates it to `extent`. Without an extent, creates an
    /// empty file.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short or was changed.
    pub(crate) fn open(path: &Path, extent: Option<Extent>) -> io::Result<(File, Self)> {
        let Some(extent) = extent else {
            let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
            return Ok((file, Self::default()));
        };
        let mut file = File::options().read(true).write(true).open(path)?;
        let sum = Self::read(&file, extent.bytes)?;
        if extent.sum.is_some_and(|expected| expected != sum.digest()) {
            return Err(changed());
        }
        // The file is truncated only now, because another file could have been in its place.
        cut(&mut file, extent.bytes)?;
        Ok((file, sum))
    }

    /// Returns the hash of the first `bytes` bytes of `file`.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is shorter.
    pub(crate) fn read(file: &File, bytes: u64) -> io::Result<Self> {
        check_length(file, bytes)?;
        let mut sum = Self::default();
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut at = 0;
        while at < bytes {
            let part = &mut buffer[..usize::try_from(bytes - at).unwrap_or(usize::MAX).min(BUFFER_BYTES)];
            file.read_exact_at(part, at)?;
            sum.add(part);
            at += part.len() as u64;
        }
        Ok(sum)
    }

    /// Adds bytes that are appended to the file.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash of all bytes so far.
    pub(crate) fn digest(&self) -> u64 {
        self.0.digest()
    }

    /// Returns the extent of the file, which has this number of bytes by now.
    pub(crate) fn extent(&self, bytes: u64) -> Extent {
        Extent { bytes, sum: Some(self.digest()), ..Extent::default() }
    }
}

/// A file or standard output that is written from its beginning to its end, and the hash of its bytes.
pub(crate) struct SummedFile {
    file: File,
    sum: Sum,
}

impl SummedFile {
    /// Begins the output `path` as its [`part`]; `-` is standard output.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: part::create(path)?, sum: Sum::default() })
    }

    /// Opens the part of the output `path`, truncates it to `extent`, and appends to it.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short or was changed.
    pub(crate) fn resume(path: &Path, extent: Extent) -> io::Result<Self> {
        let (file, sum) = Sum::open(part_of(path).as_deref().unwrap_or(path), Some(extent))?;
        Ok(Self { file, sum })
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// The number of bytes that were written nevertheless, and the operating system's error.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < bytes.len() {
            match self.file.write(&bytes[written..]) {
                Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((written, error)),
            }
        }
        self.sum.add(bytes);
        Ok(())
    }

    /// Removes the last `bytes` bytes, an incomplete `what`, if this is a regular file. Returns the error to report
    /// instead of `error`.
    pub(crate) fn cut_back(&mut self, bytes: usize, what: &str, error: io::Error) -> io::Error {
        if bytes == 0 || !self.is_regular().unwrap_or(false) {
            return error;
        }
        match self.file.stream_position().and_then(|end| self.file.set_len(end - bytes as u64)) {
            Ok(()) => error,
            Err(cut_error) => io::Error::new(
                error.kind(),
                format!("{error}; the last {what} is incomplete and could not be removed ({cut_error})"),
            ),
        }
    }

    /// Syncs everything to disk, and returns the extent of the file.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn extent(&mut self) -> io::Result<Extent> {
        self.file.sync_data()?;
        Ok(self.sum.extent(self.file.stream_position()?))
    }

    /// Syncs a regular file to disk; pipes cannot be synced.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if self.is_regular()? { self.file.sync_data() } else { Ok(()) }
    }

    fn is_regular(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.is_file())
    }
}

/// Truncates a file to its first `bytes` bytes, and seeks to its end.
///
/// # Errors
/// The operating system's error, or an error if the file is shorter than `bytes`.
pub(crate) fn cut(file: &mut File, bytes: u64) -> io::Result<()> {
    check_length(file, bytes)?;
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0)).map(drop)
}

fn check_length(file: &File, bytes: u64) -> io::Result<()> {
    if file.metadata()?.len() < bytes {
        let problem = format!("the file is shorter than the {bytes} bytes that were written to it");
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
    }
    Ok(())
}

/// Returns the error for a file that is not as the checkpoint describes it.
pub(crate) fn changed() -> io::Error {
    io::Error::other(
        "the file was damaged or changed since the checkpoint; restore it from a copy, or remove the folder of \
         checkpoints to begin again",
    )
}

/// A file that is written by code that takes any writer, and the hash of its bytes. Clones are the same file.
#[derive(Clone)]
pub(crate) struct HashedFile(Arc<Mutex<(File, Sum)>>);

impl HashedFile {
    pub(crate) fn new(file: File) -> Self {
        Self(Arc::new(Mutex::new((file, Sum::default()))))
    }

    /// Syncs a regular file to disk; pipes cannot be synced. Returns the hash of all bytes.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let (file, sum) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if file.metadata()?.is_file() {
            file.sync_data()?;
        }
        Ok(sum.digest())
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (file, sum) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = file.write(bytes)?;
        sum.add(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.flush()
    }
}
