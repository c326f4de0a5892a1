//! Opens inputs by name, recognises their formats, and returns a [`Source`] for each.
//!
//! The format is recognised by the first bytes and not by the name, so standard input and files with unusual
//! names work. Only CSV and TSV are recognised by name, because they have no typical first bytes.
//! Gzip (any number of members), zstd and lz4 (any number of frames) are decompressed. Parquet is read at any
//! position, so it must be a file or an object in a store. The same holds for an HTML page, because it ends
//! where the file or object ends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ::parquet::file::reader::Length;
use serde::de::IgnoredAny;

use super::csv::{self, CsvRows, Wanted};
use super::frames;
use super::gzip;
use super::index::originals::IndexedOriginals;
use super::index::records::IndexedRecords;
use super::json_lines::JsonLines;
use super::location::{Location, Stored, is_object, shortened};
use super::machine_error::MachineError;
use super::originals::{Framing, Originals, RecordOriginals};
use super::other_formats::other_format;
use super::page_file::{PageFile, begins_page, is_page, url_below};
use super::parquet::originals::RowOriginals;
use super::parquet::{self, ParquetFile, ParquetSource, is_parquet};
use super::reading::{self, Reading};
use super::rules::InputRules;
use super::stamp::Stamp;
use super::warc::{self, WarcReader};
use super::{FramingError, ReadSoFar, Source};
use leitong_base::terminal;

/// Buffer size for reading from a file or decompressor. It also limits how much a batch reads without
/// waiting.
const BUFFER_BYTES: usize = 1 << 20;

/// Time after which a message says that no program writes to a named pipe yet.
const PIPE_SILENCE: Duration = Duration::from_secs(2);

/// An input that has not been read yet.
pub struct Input {
    /// The name on the command line. Bytes that are not UTF-8 are written as `\xE9`, so the documents of two files never
    /// get the same names.
    pub name: Arc<str>,
    /// Size of the file when it was opened first, if known. All of these bytes must be read.
    pub bytes: Option<u64>,
    /// The url, for a file that is an HTML page. `None` means that the input's name is used.
    pub url: Option<String>,
    /// The record of what is read, if one is needed.
    pub reading: Option<Arc<Reading>>,
    /// The metadata of the file when it was opened.
    pub stamp: Option<Stamp>,
    contents: Contents,
}

/// The way in which an input is read.
enum Contents {
    /// A stream that can be read only once.
    Stream(Box<dyn Read + Send>),
    /// A named pipe. It is opened when its turn comes: opening it waits for the program that writes to it, and that
    /// program may write to another pipe first.
    Pipe(PathBuf),
    /// A location that can be read several times. It is opened when its turn comes, because there may be more
    /// files than can be open at the same time.
    Again(Location),
}

impl Input {
    /// Opens `path`; `-` is standard input, and `s3://bucket/key` an object in a store.
    ///
    /// # Errors
    /// The operating system's error, or an error if `path` is a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::new(path, Contents::Stream(Box::new(terminal::Streams::input()?))));
        }
        if is_object(path) {
            let location = Location::object(path)?;
            return Ok(Self { bytes: location.bytes(), ..Self::new(path, Contents::Again(location)) });
        }
        if std::fs::metadata(path)?.file_type().is_fifo() {
            return Ok(Self::new(path, Contents::Pipe(path.to_owned())));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name the files in it"));
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        let contents = match bytes {
            Some(_) => Contents::Again(Location::File(path.to_owned())),
            // A device cannot be opened twice.
            None => Contents::Stream(Box::new(file)),
        };
        let stamp = bytes.map(|_| Stamp::from_metadata(&metadata));
        Ok(Self { bytes, stamp, ..Self::new(path, contents) })
    }

    fn new(path: &Path, contents: Contents) -> Self {
        let name = unambiguous(path).into();
        Self { name, bytes: None, url: None, reading: None, stamp: None, contents }
    }

    /// Sets the url of this input, an HTML page at the path `below` relative to the folder with the url `base`.
    pub fn set_url_below(&mut self, base: &str, below: &Path) {
        self.url = Some(url_below(base, below));
    }

    /// Starts to record what is read.
    pub fn take_note(&mut self) -> Arc<Reading> {
        let reading = Arc::new(Reading::new(self.version()));
        self.reading = Some(Arc::clone(&reading));
        reading
    }

    /// Returns true if this input can be read more than once.
    #[must_use]
    pub fn can_be_read_again(&self) -> bool {
        matches!(self.contents, Contents::Again(_))
    }

    /// Returns the version of the input, if known.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match &self.contents {
            Contents::Stream(_) | Contents::Pipe(_) => None,
            Contents::Again(location) => location.version(),
        }
    }

    /// Returns the time of the last modification of an object without a version, in seconds since 1970.
    #[must_use]
    pub fn modified(&self) -> Option<i64> {
        match &self.contents {
            Contents::Stream(_) | Contents::Pipe(_) => None,
            Contents::Again(location) => location.modified(),
        }
    }

    /// Returns the bytes of this input unchanged.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn into_reader(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self.contents {
            Contents::Stream(reader) => reader,
            Contents::Pipe(path) => Box::new(open_pipe(&path)?),
            Contents::Again(location) => {
                let inner = match self.reading {
                    Some(reading) => reading::noted(&location, reading)?,
                    None => location.reader()?,
                };
                Box::new(WholeReader { inner, left: self.bytes.unwrap_or(0) })
            }
        })
    }

    /// Returns the records of this input. `read` counts its bytes before decompression: compressed data when
    /// it is decompressed, other data when it is read.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn into_source(self, rules: &InputRules, read: Arc<ReadSoFar>) -> io::Result<Box<dyn Source>> {
        if let Some(base) = rules.warc_base.clone() {
            let name = Arc::clone(&self.name);
            let index = decompressed(self.into_reader()?, read)?;
            return Ok(Box::new(IndexedRecords::new(index, name, base, rules)));
        }
        if let Some(file) = self.parquet()? {
            return Ok(Box::new(ParquetSource::new(file, self.name, rules, read)?));
        }
        let (name, url) = (Arc::clone(&self.name), self.page_url());
        framed(decompressed(self.into_reader()?, read)?, (name, url), rules, &Wanted::Mapped(rules))
    }

    /// Returns the records of this input again, unchanged. For a table, `column` selects a single column.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn into_originals(self, rules: &InputRules, column: Option<&str>) -> io::Result<Originals> {
        let limits = &rules.limits;
        if let Some(base) = rules.warc_base.clone() {
            let index = decompressed(self.into_reader()?, Arc::default())?;
            return Ok(Originals::Indexed(Box::new(IndexedOriginals::new(index, base, rules))));
        }
        if let Some(file) = self.parquet()? {
            let file = match ParquetFile::open(file) {
                Ok(file) => Some(file),
                Err(fault) => fault.content_fault().map(|_| None)?,
            };
            return Ok(Originals::Rows(Box::new(RowOriginals::new(file, column, limits.line_bytes_max))));
        }
        let (name, url) = (Arc::clone(&self.name), self.page_url());
        let lines = self.framing(rules)?.unwrap_or(Framing::Line);
        let decompressed = decompressed(self.into_reader()?, Arc::default())?;
        let framed = |reader| framed(reader, (name, url), rules, &Wanted::Only(column));
        Ok(Originals::Records(RecordOriginals::new(decompressed, lines, limits, framed)?))
    }
}

impl Input {
    /// Returns the url to use if this input is an HTML page. `None` for pipes, which may contain several
    /// pages.
    fn page_url(&self) -> Option<String> {
        let Contents::Again(_) = &self.contents else { return None };
        Some(self.url.clone().unwrap_or_else(|| self.name.to_string()))
    }

    /// Opens this input for reading at any position, if it is a Parquet file.
    fn parquet(&self) -> io::Result<Option<Stored>> {
        let Contents::Again(location) = &self.contents else { return Ok(None) };
        let stored = location.open()?;
        if !is_parquet(&stored)? {
            return Ok(None);
        }
        if Length::len(&stored) < self.bytes.unwrap_or(0) {
            return Err(shortened());
        }
        if let Some(reading) = &self.reading {
            reading::note_all(&stored, reading)?;
        }
        Ok(Some(stored))
    }

    /// Returns the format of the records, or `None` if the input is empty or can be read only once. It is not a Parquet
    /// file.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn framing(&self, rules: &InputRules) -> io::Result<Option<Framing>> {
        let Contents::Again(location) = &self.contents else { return Ok(None) };
        let mut reader = BufReader::new(decompressed(location.reader()?, Arc::default())?);
        let broken = begin(&mut reader)?;
        let start = reader.buffer();
        let is_page = || broken.is_none() && other_format(start).is_none() && is_page(&self.name, start);
        Ok(match csv::dialect(&self.name, rules.quotes) {
            _ if is_warc(start) => Some(Framing::Warc),
            _ if is_page() => Some(Framing::Page),
            Some(dialect) => Some(Framing::Csv(dialect)),
            None if start.is_empty() && broken.is_none() => None,
            None => Some(Framing::Line),
        })
    }

    /// Returns true if the input is a WARC file. Only for inputs that can be read again.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn is_warc(&self) -> io::Result<bool> {
        let Contents::Again(location) = &self.contents else { return Ok(false) };
        let mut reader = BufReader::new(decompressed(location.reader()?, Arc::default())?);
        begin(&mut reader)?;
        Ok(is_warc(reader.buffer()))
    }

    /// Returns what the lines or records of a file with these first bytes are, or `None` if the file may be one page.
    #[must_use]
    pub fn records_in(start: &[u8]) -> Option<&'static str> {
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_json = line.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        match start {
            _ if is_json => Some("JSON lines"),
            _ if start.starts_with(parquet::MAGIC) => Some("rows of Parquet"),
            _ if is_warc(start) => Some("WARC records"),
            _ => None,
        }
    }

    /// Returns the name of the input's format, with advice, if the format is not supported.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn other_format(&self) -> io::Result<Option<&'static str>> {
        if self.parquet()?.is_some() {
            return Ok(None);
        }
        let Contents::Again(location) = &self.contents else { return Ok(None) };
        let mut reader = BufReader::new(decompressed(location.reader()?, Arc::default())?);
        match reader.fill_buf() {
            Ok(start) => Ok(other_format(start)),
            Err(error) => super::framing_error(&error).map(|_| None).ok_or(error),
        }
    }

    /// Returns true if the whole input is an HTML page.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn is_page(&self) -> io::Result<bool> {
        let Contents::Again(location) = &self.contents else { return Ok(false) };
        let mut reader = BufReader::new(decompressed(location.reader()?, Arc::default())?);
        match reader.fill_buf() {
            Ok(start) => Ok(!is_warc(start) && other_format(start).is_none() && is_page(&self.name, start)),
            Err(error) => super::framing_error(&error).map(|_| false).ok_or(error),
        }
    }
}

/// Returns the name of a file as text. Two files never have the same name.
fn unambiguous(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        name.push_str(chunk.valid());
        name.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    name
}

/// A reader of a file that fails if the file has become shorter since it was opened first. Otherwise the documents at
/// its end would be lost without a message.
struct WholeReader {
    inner: Box<dyn Read + Send>,
    /// Number of bytes that are still expected.
    left: u64,
}

impl Read for WholeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 && self.left > 0 && !buffer.is_empty() { Err(shortened()) } else { Ok(count) }
    }
}

/// Opens a named pipe, and says so if no program writes to it for a while.
fn open_pipe(path: &Path) -> io::Result<File> {
    let (sender, opened) = mpsc::channel();
    let opening = path.to_path_buf();
    // If sending fails, nobody waits any more.
    thread::spawn(move || drop(sender.send(File::open(opening))));
    if let Ok(file) = opened.recv_timeout(PIPE_SILENCE) {
        return file;
    }
    terminal::note(format_args!("{}: waiting for a program that writes to this pipe", path.display()));
    opened.recv().map_err(io::Error::other)?
}

/// Decompresses `reader` if needed. `read` counts bytes as described for [`Input::into_source`].
fn decompressed(reader: Box<dyn Read + Send>, read: Arc<ReadSoFar>) -> io::Result<Box<dyn Read + Send>> {
    let raw = RawReader { inner: reader, read: Arc::clone(&read), counts: false };
    let mut raw = BufReader::with_capacity(BUFFER_BYTES, raw);
    if !raw.fill_buf()?.starts_with(b"\x1f\x8b") && !frames::may_begin(raw.buffer()) {
        read.bytes.fetch_add(raw.buffer().len() as u64, Ordering::Relaxed);
        raw.get_mut().counts = true;
        return Ok(Box::new(raw));
    }
    let compressed = CompressedReader { inner: raw, read };
    Ok(match compressed.inner.buffer().starts_with(b"\x1f\x8b") {
        true => Box::new(gzip::decompressed(compressed)),
        false => frames::decompressed(compressed),
    })
}

/// Splits `decompressed` into records. If only one column is wanted, the records of WARC files that are not pages
/// are included. `page_url` is the url to use for an HTML page; `None` if the input cannot be one.
fn framed(
    decompressed: Box<dyn Read + Send>,
    (name, page_url): (Arc<str>, Option<String>),
    rules: &InputRules,
    wanted: &Wanted<'_>,
) -> io::Result<Box<dyn Source>> {
    let limits = &rules.limits;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, decompressed);
    let broken = begin(&mut reader)?;
    let start = reader.buffer();
    if is_warc(start) {
        let reader = WarcReader::new(reader, name, limits).after(broken);
        let is_all = matches!(wanted, Wanted::Only(_));
        return Ok(Box::new(if is_all { reader.with_all_records() } else { reader }));
    }
    let (dialect, is_page) = (csv::dialect(&name, rules.quotes), is_page(&name, start));
    let other = match other_format(start) {
        None if begins_page(start) && !(is_page && page_url.is_some()) => {
            Some("an HTML page from a pipe (use `leitong extract`)")
        }
        other => other,
    };
    if broken.is_some() && (dialect.is_some() || is_page) {
        // Rows without the names of their columns are useless, and so are pieces of a page.
        let nothing: Box<dyn Read + Send> = Box::new(io::empty());
        reader = BufReader::new(nothing);
    }
    if let Some(broken) = broken.or(other.map(FramingError::OtherFormat)) {
        return Ok(Box::new(JsonLines::broken_from_the_start(reader, name, limits, broken)));
    }
    Ok(match (page_url, dialect) {
        (Some(url), _) if is_page => Box::new(PageFile::new(reader, name, url, limits)),
        (_, Some(dialect)) => Box::new(CsvRows::new(reader, name, dialect, limits, wanted)?),
        (_, None) => Box::new(JsonLines::new(reader, name, limits)),
    })
}

/// Fills the buffer of `reader`. If its beginning cannot be decompressed, returns the error, and fills the buffer with
/// what can be read after it, if there is anything.
///
/// # Errors
/// The operating system's error.
fn begin(reader: &mut BufReader<impl Read>) -> io::Result<Option<FramingError>> {
    let mut broken = None;
    while let Err(error) = reader.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            let error = super::framing_error(&error).ok_or(error)?;
            broken.get_or_insert(error);
        }
    }
    Ok(broken)
}

/// Returns true if the input begins with a WARC record, maybe after a byte order mark, blank lines and zeros.
fn is_warc(start: &[u8]) -> bool {
    let start = start.strip_prefix(warc::BYTE_ORDER_MARK).unwrap_or(start);
    let blank = start.iter().take_while(|byte| **byte == 0 || byte.is_ascii_whitespace()).count();
    start[blank..].starts_with(b"WARC/")
}

/// A reader that counts bytes, and marks errors as coming from the machine.
struct RawReader {
    inner: Box<dyn Read + Send>,
    read: Arc<ReadSoFar>,
    /// False if [`CompressedReader`] counts the bytes.
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
            Err(error) => Err(io::Error::new(error.kind(), MachineError::new(error))),
        }
    }
}

/// A reader that counts bytes when a decompressor takes them, because one buffer of them may contain ten times as
/// much text.
struct CompressedReader<R> {
    inner: R,
    read: Arc<ReadSoFar>,
}

impl<R: BufRead> BufRead for CompressedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.read.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.inner.consume(bytes);
    }
}

impl<R: BufRead> Read for CompressedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.read.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::source::Payload;

    fn rules() -> InputRules {
        InputRules::new(&Default::default(), &Default::default()).expect("default rules")
    }

    /// If two files got one name, the second document without a url would be a new version of the first.
    #[test]
    fn names_that_are_not_utf_8_stay_different() {
        let name = |name: &[u8]| unambiguous(Path::new(OsStr::from_bytes(name)));
        assert_eq!(name("é/b".as_bytes()), "é/b");
        assert_eq!([name(b"caf\xe9.jsonl"), name(b"caf\xe8\xff")], ["caf\\xE9.jsonl", "caf\\xE8\\xFF"]);
    }

    /// A file that was truncated while it was read gave half of its documents and no error.
    #[test]
    fn a_file_that_becomes_shorter_is_an_error_in_each_format() {
        let folder = tempfile::tempdir().expect("a folder");
        let lines: String = (0..60_000).map(|line| format!("{{\"url\":\"{line}\"}}\n")).collect();
        let csv: String = (0..60_000).map(|line| format!("{line},{line}\n")).collect();
        let record = "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 1\r\n\r\nx\r\n\r\n";
        let gzip = |member: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
            io::Write::write_all(&mut encoder, member.as_bytes()).expect("memory");
            encoder.finish().expect("memory")
        };
        let html = format!("<!doctype html><p>{}", "word ".repeat(400_000));
        for (name, contents) in [
            ("a.jsonl", lines.clone().into_bytes()),
            ("a.csv", format!("url,text\n{csv}").into_bytes()),
            ("a.warc", record.repeat(40_000).into_bytes()),
            ("a.jsonl.gz", gzip(&lines).repeat(2)),
            ("a.jsonl.zst", zstd::encode_all(lines.as_bytes(), 1).expect("memory").repeat(20)),
            ("a.html", html.into_bytes()),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, &contents).expect("written");
            let input = Input::open(&path).expect("a file");
            // The file has this length when it is opened a second time to be read.
            let shorter = File::options().write(true).open(&path).expect("a file");
            shorter.set_len(contents.len() as u64 / 2).expect("shorter");
            let read = || {
                let mut source = input.into_source(&rules(), Arc::default())?;
                let mut batch = Vec::new();
                while source.read_batch(&mut batch, 1 << 20)? {}
                Ok::<_, io::Error>(batch.iter().any(|record| matches!(record.payload, Payload::Broken(_))))
            };
            let error = read().expect_err(name).to_string();
            assert!(error.contains("became shorter"), "{name}: {error}");
        }
    }

    #[test]
    fn the_format_of_records_is_known_before_they_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let framing = |name: &str, contents: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, contents).expect("written");
            Input::open(&path).and_then(|input| input.framing(&rules())).expect("a file")
        };
        let is_csv = |framing| matches!(framing, Some(Framing::Csv(_)));
        assert_eq!(framing("a.jsonl", "{}\n"), Some(Framing::Line));
        assert_eq!(framing("b", "\r\nWARC/1.0\r\n"), Some(Framing::Warc));
        assert_eq!(framing("c.HTM", ""), Some(Framing::Page));
        assert_eq!(framing("d", " <HTML>"), Some(Framing::Page));
        assert_eq!(framing("e.jsonl", ""), None);
        assert!(is_csv(framing("F.CSV", "")) && is_csv(framing("G.TSV.GZ", "a\tb\n")));
    }
}
