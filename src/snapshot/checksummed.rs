//! Files that end in the XXH3-64 of all that stands before it, 8 bytes, big-endian.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3Default;

/// Bytes held between the program and the disk.
const BUFFER_BYTES: usize = 1 << 18;
/// Bytes of the sum.
pub(super) const SUM_BYTES: u64 = 8;

/// Writes such a file.
pub(super) struct ChecksummedWriter {
    inner: BufWriter<File>,
    hash: Xxh3Default,
}

impl ChecksummedWriter {
    /// An empty file at `path`, in place of what was there.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let inner = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        Ok(Self { inner, hash: Xxh3Default::new() })
    }

    pub(super) fn all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.inner.write_all(bytes)
    }

    /// Writes the sum; after this the file is on disk.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let hash = self.hash.digest();
        self.inner.write_all(&hash.to_be_bytes())?;
        self.inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

/// Reads such a file.
pub(super) struct ChecksummedReader {
    inner: BufReader<File>,
    hash: Xxh3Default,
}

impl ChecksummedReader {
    /// From where `file` stands.
    pub(super) fn new(file: File) -> Self {
        Self { inner: BufReader::with_capacity(BUFFER_BYTES, file), hash: Xxh3Default::new() }
    }

    pub(super) fn exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Whether the sum that stands here is that of all that was read.
    pub(super) fn sum_fits(&mut self) -> io::Result<bool> {
        let expected = self.hash.digest();
        let mut bytes = [0; SUM_BYTES as usize];
        self.inner.read_exact(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes) == expected)
    }
}
