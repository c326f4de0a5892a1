//! Fetches the byte ranges that an index names, in its order. While one is processed, the next ones are
//! already being fetched.
//!
//! Memory: about [`AHEAD_BYTES`] for at most [`AHEAD_MAX`] pending ranges, and the current range.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use bytes::Bytes;
use flate2::bufread::GzDecoder;

use super::line::{BYTE_ORDER_MARK, Columns, IndexLine};
use crate::source::fetch::Fetch;
use crate::source::frames;
use crate::source::record::{FramingError, framing_error};
use crate::source::rules::InputRules;
use crate::source::warc_base::{Missing, WarcBase};
use crate::warc::RECORD_HEADS_MAX;
use leitong_text::page::PageConfig;
use leitong_text::page::mapping::Mapping;

/// Maximum number of pending ranges.
const AHEAD_MAX: usize = 16;
/// Total size of the pending ranges, in bytes, from which on no further range is requested.
const AHEAD_BYTES: u64 = 32 << 20;
/// Maximum length of a line in an index. A longer line is reported as broken.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Number of bytes that are fetched first if the index does not have the length of a record.
const UNKNOWN_BYTES: u64 = 256 << 10;

/// The byte ranges that an index names.
pub(super) struct Ranges {
    index: BufReader<Box<dyn Read + Send>>,
    base: Arc<WarcBase>,
    /// The filter for lines, by status and media type.
    filter: Arc<Mapping>,
    limits: PageConfig,
    columns: Option<Columns>,
    /// The number of the last line read, from 1.
    line: u64,
    ahead: VecDeque<Ahead>,
    ahead_bytes: u64,
    /// Number of lines that the filter skipped.
    skipped_lines: u64,
    ended: bool,
}

/// A pending range.
struct Ahead {
    line: u64,
    bytes: u64,
    named: Result<(IndexLine, Fetch), FramingError>,
}

/// The result for one line.
pub(super) struct Range {
    /// The number of the line, from 1.
    pub(super) line: u64,
    /// The decompressed record at the start of the range, or the reason why there is none.
    pub(super) record: Result<Vec<u8>, FramingError>,
    /// The name of the range, for messages.
    pub(super) name: String,
}

impl Ranges {
    /// Creates a reader of the ranges that the decompressed `index` names.
    pub(super) fn new(index: Box<dyn Read + Send>, base: Arc<WarcBase>, rules: &InputRules) -> Self {
        Self {
            index: BufReader::new(index),
            base,
            filter: Arc::clone(&rules.mapping),
            limits: rules.limits.clone(),
            columns: None,
            line: 0,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            skipped_lines: 0,
            ended: false,
        }
    }

    /// Returns the number of lines that the filter skipped.
    pub(super) fn skipped_lines(&self) -> u64 {
        self.skipped_lines
    }

    /// Returns the next range, or `None` at the end of the index.
    ///
    /// # Errors
    /// The machine or a store fails.
    pub(super) fn next(&mut self) -> io::Result<Option<Range>> {
        while !self.ended && self.ahead.len() < AHEAD_MAX && self.ahead_bytes < AHEAD_BYTES {
            self.begin_next()?;
        }
        let Some(Ahead { line, bytes, named }) = self.ahead.pop_front() else { return Ok(None) };
        self.ahead_bytes -= bytes;
        let (index_line, fetch) = match named {
            Ok(named) => named,
            Err(error) => return Ok(Some(Range { line, record: Err(error), name: String::new() })),
        };
        let name = format!("{} at byte {}", index_line.file, index_line.offset);
        let record = match self.record(&index_line, fetch) {
            Ok(record) => Ok(record),
            Err(Missing::Named(problem)) => Err(FramingError::BrokenRange(format!("{name}: {problem}"))),
            Err(Missing::Machine(error)) => return Err(error),
        };
        Ok(Some(Range { line, record, name }))
    }

    /// Reads a line, and starts to fetch its range.
    fn begin_next(&mut self) -> io::Result<()> {
        let Some(text) = self.next_line()? else {
            self.ended = true;
            return Ok(());
        };
        let line = self.line;
        let named = match text.and_then(|text| self.index_line(&text)) {
            Ok(None) => return Ok(()),
            Ok(Some(index_line)) => self.begin(index_line)?,
            Err(error) => Err(error),
        };
        let bytes = match &named {
            Ok((index_line, _)) => index_line.length.unwrap_or(UNKNOWN_BYTES),
            Err(_) => 0,
        };
        self.ahead_bytes += bytes;
        self.ahead.push_back(Ahead { line, bytes, named });
        Ok(())
    }

    /// Parses a line. Returns `None` if it should be skipped.
    fn index_line(&mut self, text: &str) -> Result<Option<IndexLine>, FramingError> {
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        // Lines of metadata, such as `!OpenWayback-CDXJ 1.0`.
        if text.trim().is_empty() || text.starts_with('!') {
            return Ok(None);
        }
        // A file is often several indexes in a row, each with its header.
        if let Some(columns) = Columns::parse_header(text) {
            self.columns = Some(columns.map_err(FramingError::BrokenIndex)?);
            return Ok(None);
        }
        let line = IndexLine::parse(text, self.columns).map_err(FramingError::BrokenIndex)?;
        if self.filter.skips(line.status, line.mime.as_deref()) {
            self.skipped_lines += 1;
            return Ok(None);
        }
        Ok(Some(line))
    }

    /// Starts to fetch the range of `line`.
    fn begin(&self, line: IndexLine) -> io::Result<Result<(IndexLine, Fetch), FramingError>> {
        let (bytes, max) = (line.length.unwrap_or(UNKNOWN_BYTES), self.bytes_max());
        let fetch = match bytes > max {
            true => Err(Missing::Named(format!(
                "the record has {bytes} bytes, but a page may have at most {max} including its headers (page.bytes_max)"
            ))),
            false => self.fetch(&line, bytes),
        };
        match fetch {
            Ok(fetch) => Ok(Ok((line, fetch))),
            Err(Missing::Machine(error)) => Err(error),
            Err(Missing::Named(problem)) => {
                let IndexLine { file, offset, .. } = line;
                Ok(Err(FramingError::BrokenRange(format!("{file} at byte {offset}: {problem}"))))
            }
        }
    }

    fn bytes_max(&self) -> u64 {
        (self.limits.bytes_max + RECORD_HEADS_MAX) as u64
    }

    fn fetch(&self, line: &IndexLine, bytes: u64) -> Result<Fetch, Missing> {
        let end = line.offset.checked_add(bytes);
        let end = end.ok_or_else(|| Missing::Named("the offset is larger than any file".to_owned()))?;
        self.base.file(&line.file)?.fetch(line.offset..end).map_err(Missing::from_error)
    }

    /// Waits for the bytes of a line, and returns its record.
    fn record(&self, line: &IndexLine, fetch: Fetch) -> Result<Vec<u8>, Missing> {
        let bytes = fetch.wait().map_err(Missing::from_error)?;
        self.base.verify(&line.file)?;
        if bytes.is_empty() {
            return Err(Missing::Named("the file ends before this offset".to_owned()));
        }
        let wanted = line.length.unwrap_or(UNKNOWN_BYTES);
        let is_whole = bytes.len() as u64 >= wanted;
        match self.decompressed(&bytes) {
            Ok(record) if line.length.is_some() || !is_whole || is_compressed(&bytes) => Ok(record),
            // The length is unknown, so the record may continue after the fetched bytes.
            _ if line.length.is_none() && is_whole => {
                let bytes = self.fetch(line, self.bytes_max())?.wait().map_err(Missing::from_error)?;
                self.decompressed(&bytes)
            }
            Ok(record) => Ok(record),
            Err(_) if !is_whole => Err(Missing::Named(format!(
                "the file ends {} bytes after this offset, and the record there is incomplete or broken",
                bytes.len()
            ))),
            Err(problem) => Err(problem),
        }
    }

    /// Decompresses the gzip member or zstd frame at the start of `bytes`, or returns `bytes` unchanged if they are not
    /// compressed.
    fn decompressed(&self, bytes: &Bytes) -> Result<Vec<u8>, Missing> {
        if !is_compressed(bytes) {
            return Ok(bytes.to_vec());
        }
        let mut record = Vec::new();
        let member: io::Result<Box<dyn Read + '_>> = match frames::may_begin(bytes) {
            true => frames::first(bytes),
            false => Ok(Box::new(GzDecoder::new(Cursor::new(bytes)))),
        };
        match member.and_then(|member| member.take(self.bytes_max()).read_to_end(&mut record)) {
            Ok(_) => Ok(record),
            Err(error) => Err(Missing::Named(format!("the compressed record is broken ({error})"))),
        }
    }

    /// Reads the next line of the index, or the reason why it cannot be read.
    fn next_line(&mut self) -> io::Result<Option<Result<String, FramingError>>> {
        let mut line = Vec::new();
        let read = (&mut self.index).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if let Err(error) = read {
            let broken = framing_error(&error).ok_or(error)?;
            // After an error, a decompressor returns no more data.
            self.line += 1;
            self.index = BufReader::new(Box::new(io::empty()));
            return Ok(Some(Err(broken)));
        }
        if line.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
            self.index.skip_until(b'\n')?;
            let problem = format!("a line of more than {LINE_BYTES_MAX} bytes");
            return Ok(Some(Err(FramingError::BrokenIndex(problem))));
        }
        // Keys and urls may be in any charset. They are not needed.
        let text = String::from_utf8_lossy(&line);
        Ok(Some(Ok(text.trim_end_matches(['\n', '\r']).to_owned())))
    }
}

fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x1f\x8b") || frames::may_begin(bytes)
}
