//! Reads and writes files with a checksum at the end: 8 bytes, the big-endian XXH3-64 of everything before
//! them.
//!
//! Memory: one buffer per file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3Default;

use crate::blocks::{Input, Output};

/// Size in bytes of the buffer between the program and the disk.
const BUFFER_BYTES: usize = 1 << 18;
/// Number of bytes of the checksum.
pub(super) const SUM_BYTES: u64 = 8;

/// A writer of a file with a checksum.
pub(super) struct ChecksummedWriter {
    output: Box<dyn Output>,
    buffer: Vec<u8>,
    hash: Xxh3Default,
}

impl ChecksummedWriter {
    /// Creates an empty file at `path`, and replaces an existing one.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(Box::new(File::create(path)?)))
    }

    /// Creates a writer to `output`, which must be empty.
    pub(super) fn new(output: Box<dyn Output>) -> Self {
        Self { output, buffer: Vec::with_capacity(BUFFER_BYTES), hash: Xxh3Default::new() }
    }

    pub(super) fn all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.write(bytes)
    }

    /// Writes the checksum. The file is durable when this returns.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let hash = self.hash.digest();
        self.write(&hash.to_be_bytes())?;
        self.output.write(&self.buffer)?;
        self.output.sync()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.output.write(&self.buffer)?;
            self.buffer.clear();
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }
}

/// A reader of a file with a checksum.
pub(super) struct ChecksummedReader {
    inner: BufReader<Box<dyn Read + Send>>,
    hash: Xxh3Default,
}

impl ChecksummedReader {
    /// Creates a reader from the present position of `file` on.
    pub(super) fn new(file: impl Read + Send + 'static) -> Self {
        Self { inner: BufReader::with_capacity(BUFFER_BYTES, Box::new(file)), hash: Xxh3Default::new() }
    }

    pub(super) fn exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Reads the rest of the file, which ends in the checksum. Returns true if the checksum is right.
    pub(super) fn rest_fits(mut self) -> io::Result<bool> {
        let mut sum = Vec::with_capacity(2 * SUM_BYTES as usize);
        loop {
            let bytes = self.inner.fill_buf()?;
            if bytes.is_empty() {
                return Ok(sum == self.hash.digest().to_be_bytes());
            }
            let count = bytes.len();
            // The last bytes read so far may be the checksum. If more bytes follow, they belong to the
            // contents.
            let (contents, end) = bytes.split_at(count.saturating_sub(SUM_BYTES as usize));
            let keep = (SUM_BYTES as usize).saturating_sub(end.len());
            let gone = sum.len().saturating_sub(keep);
            self.hash.update(&sum[..gone]);
            sum.drain(..gone);
            self.hash.update(contents);
            sum.extend_from_slice(end);
            self.inner.consume(count);
        }
    }

    /// Reads the checksum. Returns true if it is that of everything read before, and nothing follows it.
    pub(super) fn sum_fits(&mut self) -> io::Result<bool> {
        let expected = self.hash.digest();
        let mut bytes = [0; SUM_BYTES as usize];
        self.inner.read_exact(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes) == expected && self.inner.fill_buf()?.is_empty())
    }
}

/// A reader from the beginning of a file to its end.
pub(super) struct Sequential {
    input: Arc<dyn Input>,
    at: u64,
    bytes: u64,
}

impl Sequential {
    /// Creates a reader of all of `input`.
    pub(super) fn new(input: Arc<dyn Input>) -> io::Result<Self> {
        let bytes = input.bytes()?;
        Ok(Self { input, at: 0, bytes })
    }
}

impl Read for Sequential {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes - self.at).unwrap_or(usize::MAX);
        let length = left.min(buffer.len());
        self.input.read(&mut buffer[..length], self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}
