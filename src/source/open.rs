//! File name → [`Source`]: what the input is shows in its first bytes, not in its name, so that standard input
//! and oddly named files work as well. Gzip (one member or many) and zstd (one frame or many) are unpacked.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zstd::stream::read::Decoder as ZstdDecoder;

use super::Source;
use super::gzip::GzipMembers;
use super::json_lines::JsonLines;
use super::warc::WarcReader;
use crate::config::PageConfig;

/// Read at once from a file or decompressor; also the most that a batch takes in without waiting.
const BUFFER_BYTES: usize = 1 << 20;

/// An input that is open, and not yet read.
pub struct Input {
    /// As given on the command line.
    pub name: Arc<str>,
    /// Bytes of the file; none where that is not known.
    pub bytes: Option<u64>,
    reader: Box<dyn Read + Send>,
}

impl Input {
    /// Opens `path`; `-` is standard input.
    ///
    /// # Errors
    /// What the operating system says; also where `path` is a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let name = path.to_string_lossy().into();
        if path == Path::new("-") {
            return Ok(Self { name, bytes: None, reader: Box::new(io::stdin()) });
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name the files in it"));
        }
        Ok(Self { name, bytes: metadata.is_file().then_some(metadata.len()), reader: Box::new(file) })
    }

    /// The bytes of this input as they are.
    #[must_use]
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        self.reader
    }

    /// The records of this input. `bytes_read` counts its bytes as they are read, before unpacking.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn into_source(self, limits: &PageConfig, bytes_read: Arc<AtomicU64>) -> io::Result<Box<dyn Source>> {
        let raw = RawReader { inner: self.reader, bytes_read };
        let mut raw = BufReader::with_capacity(BUFFER_BYTES, raw);
        let magic = raw.fill_buf()?;
        if magic.starts_with(b"\x1f\x8b") {
            records(GzipMembers::new(raw), self.name, limits)
        } else if magic.starts_with(b"\x28\xb5\x2f\xfd") {
            records(ZstdDecoder::with_buffer(raw)?, self.name, limits)
        } else {
            framed(raw, self.name, limits)
        }
    }
}

fn records(
    unpacked: impl Read + Send + 'static,
    name: Arc<str>,
    limits: &PageConfig,
) -> io::Result<Box<dyn Source>> {
    framed(BufReader::with_capacity(BUFFER_BYTES, unpacked), name, limits)
}

fn framed<R: Read + Send + 'static>(
    mut reader: BufReader<R>,
    name: Arc<str>,
    limits: &PageConfig,
) -> io::Result<Box<dyn Source>> {
    match reader.fill_buf() {
        Ok(start) if start.starts_with(b"WARC/") => Ok(Box::new(WarcReader::new(reader, name, limits))),
        Ok(_) => Ok(Box::new(JsonLines::new(reader, name, limits))),
        Err(error) => match super::framing_error(&error) {
            // A decompressor that failed says nothing more, so what it said must be kept.
            Some(broken) => Ok(Box::new(JsonLines::broken_from_the_start(reader, name, limits, broken))),
            None => Err(error),
        },
    }
}

/// Counts bytes, and marks errors as the machine's own.
struct RawReader {
    inner: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
}

impl Read for RawReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(bytes) => {
                self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(io::Error::new(error.kind(), MachineError(error))),
        }
    }
}

/// What the operating system says, as opposed to a decompressor.
#[derive(Debug)]
pub(super) struct MachineError(io::Error);

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for MachineError {}
