//! File name → [`Source`]: what the input is shows in its first bytes, not
//! in its name, so that standard input and oddly named files work as well.
//! Gzip (one member or many), zstd and lz4 (one frame or many) are unpacked. CSV
//! has no such bytes, and is told by its name. Parquet is
//! read at any place, so it has to be a file; and so has a page of HTML, which ends where its file does.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::csv::{self, CsvRows, Wanted};
use super::frames;
use super::gzip::GzipMembers;
use super::index::originals::IndexedOriginals;
use super::index::records::IndexedRecords;
use super::json_lines::JsonLines;
use super::location::{Location, Stored, is_object};
use super::originals::{Framing, Originals, RecordOriginals};
use super::other_formats::other_format;
use super::page_file::{PageFile, begins_page, is_page};
use super::parquet::originals::RowOriginals;
use super::parquet::{ParquetFile, ParquetSource, is_parquet};
use super::reading::{self, Reading, Stamp};
use super::rules::InputRules;
use super::warc::WarcReader;
use super::{FramingError, ReadSoFar, Source};

/// Read at once from a file or decompressor; also the most that a batch takes in without waiting.
const BUFFER_BYTES: usize = 1 << 20;

/// An input that is open, and not yet read.
pub struct Input {
    /// As given on the command line.
    pub name: Arc<str>,
    /// Bytes of the file; none where that is not known.
    pub bytes: Option<u64>,
    /// Of a file that is a page of HTML; its name, unless it is set.
    pub url: Option<String>,
    /// Takes note of what is read; `None` if nobody asks.
    pub reading: Option<Arc<Reading>>,
    /// The file when it was opened.
    pub stamp: Option<Stamp>,
    contents: Contents,
}

/// How an input is read.
enum Contents {
    /// From its beginning to its end.
    Stream(Box<dyn Read + Send>),
    /// As often as one likes; opened when it is its turn, since there may be more files than can be open at once.
    Again(Location),
}

impl Input {
    /// Opens `path`; `-` is standard input, and `s3://bucket/key` an object of a store.
    ///
    /// # Errors
    /// What the operating system says; also where `path` is a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let name = path.to_string_lossy().into();
        if path == Path::new("-") {
            return Ok(Self {
                name,
                bytes: None,
                url: None,
                reading: None,
                stamp: None,
                contents: Contents::Stream(Box::new(io::stdin())),
            });
        }
        if is_object(path) {
            let location = Location::object(path)?;
            let bytes = location.bytes();
            let contents = Contents::Again(location);
            return Ok(Self { name, bytes, url: None, reading: None, stamp: None, contents });
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name the files in it"));
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        let contents = match bytes {
            Some(_) => Contents::Again(Location::File(path.to_owned())),
            // What is no file, such as a pipe, cannot be opened twice.
            None => Contents::Stream(Box::new(file)),
        };
        let stamp = bytes.map(|_| Stamp::of(&metadata));
        Ok(Self { name, bytes, url: None, reading: None, stamp, contents })
    }

    /// Takes note of what is read from here on.
    pub fn take_note(&mut self) -> Arc<Reading> {
        let reading = Arc::new(Reading::new(self.version()));
        self.reading = Some(Arc::clone(&reading));
        reading
    }

    /// Returns true if this input can be read as often as one likes.
    #[must_use]
    pub fn can_be_read_again(&self) -> bool {
        matches!(self.contents, Contents::Again(_))
    }

    /// What tells this version of the input from another, where that is known.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match &self.contents {
            Contents::Stream(_) => None,
            Contents::Again(location) => location.version(),
        }
    }

    /// The bytes of this input as they are.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn into_reader(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self.contents {
            Contents::Stream(reader) => reader,
            Contents::Again(location) => match self.reading {
                Some(reading) => reading::noted(&location, reading)?,
                None => location.reader()?,
            },
        })
    }

    /// The records of this input. `read` counts its bytes, before unpacking:
    /// of what is packed as they are unpacked, else as they are read.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn into_source(self, rules: &InputRules, read: Arc<ReadSoFar>) -> io::Result<Box<dyn Source>> {
        if let Some(base) = rules.warc_base.clone() {
            let name = Arc::clone(&self.name);
            let index = unpacked(self.into_reader()?, read)?;
            return Ok(Box::new(IndexedRecords::of(index, name, base, rules)));
        }
        if let Some(file) = self.parquet()? {
            return Ok(Box::new(ParquetSource::new(file, self.name, rules, read)?));
        }
        let (name, url) = (Arc::clone(&self.name), self.page_url());
        framed(unpacked(self.into_reader()?, read)?, (name, url), rules, &Wanted::Mapped(rules))
    }

    /// The records of this input once more, as they are: of a table all columns, or the one of this name.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn into_originals(self, rules: &InputRules, column: Option<&str>) -> io::Result<Originals> {
        let limits = &rules.limits;
        if let Some(base) = rules.warc_base.clone() {
            let index = unpacked(self.into_reader()?, Arc::default())?;
            return Ok(Originals::Indexed(Box::new(IndexedOriginals::of(index, base, rules))));
        }
        if let Some(file) = self.parquet()? {
            let file = match ParquetFile::open(file) {
                Ok(file) => Some(file),
                Err(fault) => fault.of_file().map(|_| None)?,
            };
            return Ok(Originals::Rows(Box::new(RowOriginals::new(file, column))));
        }
        let (name, url) = (Arc::clone(&self.name), self.page_url());
        let lines = match csv::dialect(&name, rules.quotes) {
            _ if url.is_some() && self.is_page()? => Framing::Page,
            Some(dialect) => Framing::Csv(dialect),
            None => Framing::Line,
        };
        let unpacked = unpacked(self.into_reader()?, Arc::default())?;
        let framed = |reader| framed(reader, (name, url), rules, &Wanted::Only(column));
        Ok(Originals::Records(RecordOriginals::new(unpacked, lines, limits, framed)?))
    }
}

impl Input {
    /// The url of the page that this input is, if it is one: what is no file may hold several.
    fn page_url(&self) -> Option<String> {
        let Contents::Again(_) = &self.contents else { return None };
        Some(self.url.clone().unwrap_or_else(|| self.name.to_string()))
    }

    /// This input to be read at any place, if it is a Parquet file.
    fn parquet(&self) -> io::Result<Option<Stored>> {
        let Contents::Again(location) = &self.contents else { return Ok(None) };
        let stored = location.open()?;
        if !is_parquet(&stored)? {
            return Ok(None);
        }
        if let Some(reading) = &self.reading {
            reading::note_all(&stored, reading)?;
        }
        Ok(Some(stored))
    }

    /// Whether this input is a page of HTML, all of it.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn is_page(&self) -> io::Result<bool> {
        let Contents::Again(location) = &self.contents else { return Ok(false) };
        let mut reader = BufReader::new(unpacked(location.reader()?, Arc::default())?);
        match reader.fill_buf() {
            Ok(start) => Ok(!is_warc(start) && other_format(start).is_none() && is_page(&self.name, start)),
            Err(error) => super::framing_error(&error).map(|_| false).ok_or(error),
        }
    }
}

/// The bytes of `reader`, unpacked. `read` counts them as [`Input::into_source`] says.
fn unpacked(reader: Box<dyn Read + Send>, read: Arc<ReadSoFar>) -> io::Result<Box<dyn Read + Send>> {
    let raw = RawReader { inner: reader, read: Arc::clone(&read), counts: false };
    let mut raw = BufReader::with_capacity(BUFFER_BYTES, raw);
    if !raw.fill_buf()?.starts_with(b"\x1f\x8b") && !frames::may_begin(raw.buffer()) {
        read.bytes.fetch_add(raw.buffer().len() as u64, Ordering::Relaxed);
        raw.get_mut().counts = true;
        return Ok(Box::new(raw));
    }
    let packed = Packed { inner: raw, read };
    Ok(match packed.inner.buffer().starts_with(b"\x1f\x8b") {
        true => Box::new(GzipMembers::new(packed)),
        false => frames::unpacked(packed),
    })
}

/// The records of `unpacked`; of WARC files those that are no pages as well, unless only what is mapped
/// is wanted. `page_url`: its url if it is a page of HTML; none where it cannot be one.
fn framed(
    unpacked: Box<dyn Read + Send>,
    (name, page_url): (Arc<str>, Option<String>),
    rules: &InputRules,
    wanted: &Wanted<'_>,
) -> io::Result<Box<dyn Source>> {
    let limits = &rules.limits;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, unpacked);
    match reader.fill_buf() {
        Ok(start) if is_warc(start) => {
            let reader = WarcReader::new(reader, name, limits);
            let is_all = matches!(wanted, Wanted::Only(_));
            Ok(Box::new(if is_all { reader.with_all_records() } else { reader }))
        }
        Ok(start) => match other_format(start) {
            None if is_page(&name, start)
                && let Some(url) = page_url =>
            {
                Ok(Box::new(PageFile::new(reader, name, url, limits)))
            }
            None if begins_page(start) => {
                let broken = FramingError::OtherFormat("a page of HTML from a pipe; see `leitong extract`");
                Ok(Box::new(JsonLines::broken_from_the_start(reader, name, limits, broken)))
            }
            None => match csv::dialect(&name, rules.quotes) {
                Some(dialect) => Ok(Box::new(CsvRows::new(reader, name, dialect, limits, wanted)?)),
                None => Ok(Box::new(JsonLines::new(reader, name, limits))),
            },
            Some(format) => {
                let broken = FramingError::OtherFormat(format);
                Ok(Box::new(JsonLines::broken_from_the_start(reader, name, limits, broken)))
            }
        },
        Err(error) => match super::framing_error(&error) {
            // A decompressor that failed says nothing more, so what it said must be kept.
            Some(broken) => Ok(Box::new(JsonLines::broken_from_the_start(reader, name, limits, broken))),
            None => Err(error),
        },
    }
}

fn is_warc(start: &[u8]) -> bool {
    start.starts_with(b"WARC/")
}

/// Counts bytes, and marks errors as the machine's own.
struct RawReader {
    inner: Box<dyn Read + Send>,
    read: Arc<ReadSoFar>,
    /// Else [`Packed`] counts.
    counts: bool,
}

impl Read for RawReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(bytes) => {
                if self.counts {
                    self.read.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
                }
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(io::Error::new(error.kind(), MachineError(error))),
        }
    }
}

/// Counts bytes as a decompressor takes them: one buffer of
/// them may hold ten times as many of text.
struct Packed<R> {
    inner: R,
    read: Arc<ReadSoFar>,
}

impl<R: BufRead> BufRead for Packed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.read.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.inner.consume(bytes);
    }
}

impl<R: BufRead> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.read.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// What the operating system says, as opposed to a decompressor.
#[derive(Debug)]
pub(super) struct MachineError(io::Error);

impl MachineError {
    /// What a store says counts as the machine's own as well: nothing is wrong with the contents.
    #[cfg(feature = "s3")]
    pub(super) fn of(error: io::Error) -> Self {
        Self(error)
    }
}

/// Whether the machine or a store could not be read, as opposed to contents that are not as they should be.
pub(super) fn is_machine_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<MachineError>)
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for MachineError {}
