//! Files that end in the XXH3-64 of all that stands before it, 8 bytes, big-endian.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3Default;

use crate::blocks::{Input, Output};

/// Bytes held between the program and the disk.
const BUFFER_BYTES: usize = 1 << 18;
/// Bytes of the sum.
pub(super) const SUM_BYTES: u64 = 8;

/// Writes such a file.
pub(super) struct ChecksummedWriter {
    output: Box<dyn Output>,
    buffer: Vec<u8>,
    hash: Xxh3Default,
}

impl ChecksummedWriter {
    /// An empty file at `path`, in place of what was there.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(Box::new(File::create(path)?)))
    }

    /// Into `output`, which is empty.
    pub(super) fn new(output: Box<dyn Output>) -> Self {
        Self { output, buffer: Vec::with_capacity(BUFFER_BYTES), hash: Xxh3Default::new() }
    }

    pub(super) fn all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.write(bytes)
    }

    /// Writes the sum; after this the file is on disk.
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

/// Reads such a file.
pub(super) struct ChecksummedReader {
    inner: BufReader<Box<dyn Read + Send>>,
    hash: Xxh3Default,
}

impl ChecksummedReader {
    /// From where `file` stands.
    pub(super) fn new(file: impl Read + Send + 'static) -> Self {
        Self { inner: BufReader::with_capacity(BUFFER_BYTES, Box::new(file)), hash: Xxh3Default::new() }
    }

    pub(super) fn exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Reads the rest of the file, of which the last bytes are the sum. Returns true if that is the sum of
    /// everything before it.
    pub(super) fn rest_fits(mut self) -> io::Result<bool> {
        let mut sum = Vec::with_capacity(2 * SUM_BYTES as usize);
        loop {
            let bytes = self.inner.fill_buf()?;
            if bytes.is_empty() {
                return Ok(sum == self.hash.digest().to_be_bytes());
            }
            let count = bytes.len();
            // The last bytes so far may be the sum; those that turn out not to be are part of the contents.
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

    /// Whether the sum that stands here is that of all that was read.
    pub(super) fn sum_fits(&mut self) -> io::Result<bool> {
        let expected = self.hash.digest();
        let mut bytes = [0; SUM_BYTES as usize];
        self.inner.read_exact(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes) == expected)
    }
}

/// A file that is read from its beginning to its end.
pub(super) struct Sequential {
    input: Arc<dyn Input>,
    at: u64,
    bytes: u64,
}

impl Sequential {
    /// All of `input`.
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
