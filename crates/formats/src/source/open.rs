//! Opens inputs by name, recognises their formats, and returns a [`Source`] for each.
//!
//! The format is recognised by the first bytes and not by the name, so standard input and files with unusual
//! names work. Only CSV and TSV are recognised by name, because they have no typical first bytes.
//! Gzip (any number of members), zstd and lz4 (any number of frames) are decompressed. Parquet is read at any
//! position, so it must be a file or an object in a store. The same holds for an HTML page, because it ends
//! where the file or object ends.

use std::borrow::Cow;
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

use parquet::file::reader::Length;

use super::frames;
use super::gzip;
use super::location::{Location, Stored, is_object, shortened};
use super::machine_error::MachineError;
use super::reading::{self, Reading};
use super::record::{FramingError, ReadSoFar, Source};
use super::rules::InputRules;
use super::stamp::Stamp;
use crate::csv;
use crate::form::Form;
use crate::format::{Format, Head, Opened, WantedRecords};
use crate::html::{Html, url_below};
use crate::jsonl::bare_words;
use crate::list::{FORMATS, recognise};
use crate::originals::{Again, Originals};
use crate::other::other_format;
use leitong_base::terminal;

/// Buffer size for reading from a file or decompressor. It also limits how much a batch reads without
/// waiting.
const BUFFER_BYTES: usize = 1 << 20;

/// Number of first bytes by which formats are recognised that are read at any position.
const MAGIC_BYTES_MAX: usize = 8;

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

    /// Returns true if the input at `path` can be read more than once.
    #[must_use]
    pub fn is_lasting(path: &Path) -> bool {
        is_object(path) || path.is_file()
    }

    /// Returns the delimiter between the fields of an input with this name, or `None` if it is not a CSV or TSV file.
    #[must_use]
    pub fn delimiter(name: &str) -> Option<u8> {
        csv::delimiter(name)
    }

    /// Returns the line of JSON with null for each of Python's words for numbers without a value, such as `NaN`.
    #[must_use]
    pub fn without_bare_words(line: &[u8]) -> Cow<'_, [u8]> {
        bare_words::replaced(line)
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
        let (format, opened) = self.opened(rules, read)?;
        format.read(opened, rules, &WantedRecords::Mapped)
    }

    /// Returns the records of this input again, unchanged.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn into_originals(self, rules: &InputRules, again: &Again) -> io::Result<Box<dyn Originals>> {
        let (format, opened) = self.opened(rules, Arc::default())?;
        format.reread(opened, rules, again)
    }

    /// Returns the form in which documents of this input, whose path is `path`, are written.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn into_form(self, path: &Path, rules: &InputRules) -> io::Result<Form> {
        if !self.can_be_read_again() {
            return Ok(Form::Empty);
        }
        let (format, opened) = self.opened(rules, Arc::default())?;
        format.form(path, opened, rules)
    }

    /// Opens this input and recognises its format.
    fn opened(self, rules: &InputRules, read: Arc<ReadSoFar>) -> io::Result<(&'static dyn Format, Opened)> {
        let name = Arc::clone(&self.name);
        let url = self.url.clone().unwrap_or_else(|| name.to_string());
        let (is_index, is_file) = (rules.warc_base.is_some(), self.can_be_read_again());
        if !is_index && let Some((format, stored)) = self.stored()? {
            let reader: BufReader<Box<dyn Read + Send>> = BufReader::new(Box::new(io::empty()));
            return Ok((format, Opened { name, url, reader, stored: Some(stored), broken: None, read }));
        }
        let decompressed = decompressed(self.into_reader()?, Arc::clone(&read))?;
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, decompressed);
        let broken = if is_index { None } else { begin(&mut reader)? };
        let head =
            Head { name: &name, start: reader.buffer(), is_index, is_file, is_broken: broken.is_some() };
        let format = recognised(&head);
        Ok((format, Opened { name, url, reader, stored: None, broken, read }))
    }

    /// Opens this input for reading at any position, if its format needs that.
    fn stored(&self) -> io::Result<Option<(&'static dyn Format, Stored)>> {
        let Contents::Again(location) = &self.contents else { return Ok(None) };
        let stored = location.open()?;
        let mut start = [0; MAGIC_BYTES_MAX];
        let count = usize::try_from(Length::len(&stored)).map_or(MAGIC_BYTES_MAX, |len| len.min(start.len()));
        let start = &mut start[..count];
        let is_read = stored.read_at(start, 0)?;
        let head = Head { name: &self.name, start, is_index: false, is_file: true, is_broken: false };
        let Some(format) = recognise(&head, true).filter(|_| is_read) else { return Ok(None) };
        if Length::len(&stored) < self.bytes.unwrap_or(0) {
            return Err(shortened());
        }
        if let Some(reading) = &self.reading {
            reading::note_all(&stored, reading)?;
        }
        Ok(Some((format, stored)))
    }

    /// Returns a name for the records of a file with these first bytes, or `None` if the file may be one page.
    #[must_use]
    pub fn records_in(start: &[u8]) -> Option<&'static str> {
        FORMATS.iter().find_map(|format| format.records_in(start))
    }

    /// Returns the name of the input's format, with advice, if the format is not supported.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn other_format(&self) -> io::Result<Option<&'static str>> {
        Ok(self.look()?.and_then(|(_, other)| other))
    }

    /// Returns true if the whole input is an HTML page.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn is_page(&self) -> io::Result<bool> {
        Ok(self.look()?.is_some_and(|(format, _)| format.name() == Html.name()))
    }

    /// Returns the format of an input that can be read again, and what is known of it if it is not supported.
    fn look(&self) -> io::Result<Option<(&'static dyn Format, Option<&'static str>)>> {
        let Contents::Again(location) = &self.contents else { return Ok(None) };
        if let Some((format, _)) = self.stored()? {
            return Ok(Some((format, None)));
        }
        let mut reader = BufReader::new(decompressed(location.reader()?, Arc::default())?);
        let is_broken = begin(&mut reader)?.is_some();
        let start = reader.buffer();
        let head = Head { name: &self.name, start, is_index: false, is_file: true, is_broken };
        Ok(Some((recognised(&head), other_format(start).filter(|_| !is_broken))))
    }
}

/// Returns the format of an input that is read from its start.
fn recognised(head: &Head<'_>) -> &'static dyn Format {
    recognise(head, false).unwrap_or(FORMATS[FORMATS.len() - 1])
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

/// Fills the buffer of `reader`. If its beginning cannot be decompressed, returns the error, and fills the buffer with
/// what can be read after it, if there is anything.
///
/// # Errors
/// The operating system's error.
fn begin(reader: &mut BufReader<impl Read>) -> io::Result<Option<FramingError>> {
    let mut broken = None;
    while let Err(error) = reader.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            let error = super::record::framing_error(&error).ok_or(error)?;
            broken.get_or_insert(error);
        }
    }
    Ok(broken)
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
        let form = |name: &str, contents: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, contents).expect("written");
            Input::open(&path).and_then(|input| input.into_form(&path, &rules())).expect("a file")
        };
        assert!(matches!(form("a.jsonl", "{}\n"), Form::Lines));
        assert!(matches!(form("b", "\r\nWARC/1.0\r\n"), Form::Warc));
        assert!(matches!(form("c.HTM", ""), Form::Page));
        assert!(matches!(form("d", " <HTML>"), Form::Page));
        assert!(matches!(form("e.jsonl", ""), Form::Empty));
        assert!(matches!(form("F.CSV", ""), Form::Unreadable));
        assert!(matches!(form("G.TSV.GZ", "a\tb\n"), Form::Csv(form) if form.dialect.delimiter == b'\t'));
    }
}
