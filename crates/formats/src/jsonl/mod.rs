//! Reads JSON lines, with one page per line.
//!
//! A line of up to `page.line_bytes_max` is passed on, and parsed by later stages in parallel; numbers without a value,
//! as Python writes them, become null ([`bare_words`]). In a
//! longer line, long strings are cut here ([`Skim`]), and its other fields can still be read. Memory: one
//! batch and one line.

pub(crate) mod bare_words;
mod skim;

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::de::IgnoredAny;

use self::skim::Skim;
use super::form::Form;
use super::format::{Format, Head, Opened, WantedRecords};
use super::{csv, html};
use crate::source::record::{FramingError, Payload, Record, Skipped, Source, fill, framing_error};
use crate::source::rules::InputRules;
use leitong_base::record::Place;
use leitong_text::page::PageConfig;

/// JSON lines, and everything that no other format recognises.
pub(crate) struct Jsonl;

impl Format for Jsonl {
    fn name(&self) -> &'static str {
        "JSON lines"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["jsonl", "ndjson", "json"]
    }

    fn recognise(&self, _: &Head<'_>) -> bool {
        true
    }

    fn records_in(&self, start: &[u8]) -> Option<&'static str> {
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_json = line.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        is_json.then_some("JSON lines")
    }

    fn read(&self, opened: Opened, rules: &InputRules, _: &WantedRecords<'_>) -> io::Result<Box<dyn Source>> {
        let Opened { name, mut reader, broken, .. } = opened;
        let Some(broken) = broken else { return Ok(Box::new(JsonLines::new(reader, name, &rules.limits))) };
        // Rows without the names of their columns are useless, and so are pieces of a page.
        if csv::delimiter(&name).is_some() || html::is_page(&name, reader.buffer()) {
            reader = BufReader::new(Box::new(io::empty()));
        }
        Ok(Box::new(JsonLines { broken: Some(broken), ..JsonLines::new(reader, name, &rules.limits) }))
    }

    fn form(&self, _: &Path, opened: Opened, _: &InputRules) -> io::Result<Form> {
        let is_empty = opened.reader.buffer().is_empty() && opened.broken.is_none();
        Ok(if is_empty { Form::Empty } else { Form::Lines })
    }
}

/// A source that reads JSON lines.
pub struct JsonLines<R> {
    reader: BufReader<R>,
    input: Arc<str>,
    line_bytes_max: usize,
    /// Number of the last line read, from 1.
    line: u64,
    /// Number of bytes read so far.
    at: u64,
    skipped: Skipped,
    /// An error to report before the first line.
    broken: Option<FramingError>,
    ended: bool,
}

/// The next line of the input.
enum NextLine {
    Whole(Vec<u8>),
    /// The beginning of a line that exceeds the limit. The rest is not read yet.
    Long(Vec<u8>),
    End,
}

impl<R: Read> JsonLines<R> {
    /// Creates a source that reads lines from `reader`. Messages call it `input`.
    pub fn new(reader: BufReader<R>, input: Arc<str>, limits: &PageConfig) -> Self {
        let line_bytes_max = limits.line_bytes_max;
        let skipped = Skipped::default();
        Self { reader, input, line_bytes_max, line: 0, at: 0, skipped, broken: None, ended: false }
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        while !self.ended {
            self.line += 1;
            let start = self.at;
            if let Some(error) = self.broken.take() {
                self.ended = !matches!(error, FramingError::BrokenCompression(_));
                return Ok(Some(self.record(start..start, Payload::Broken(error))));
            }
            let (bytes, payload) = match self.read_line() {
                Ok(NextLine::End) => break,
                Ok(NextLine::Whole(line)) if line.iter().all(u8::is_ascii_whitespace) => {
                    self.skipped.blank_lines += 1;
                    continue;
                }
                Ok(NextLine::Whole(line)) => {
                    let bytes = line.len() as u64;
                    let replaced = match bare_words::replaced(&line) {
                        Cow::Borrowed(_) => None,
                        Cow::Owned(replaced) => Some(replaced),
                    };
                    (bytes, Payload::Json(replaced.unwrap_or(line)))
                }
                Ok(NextLine::Long(beginning)) => match self.skim(&beginning) {
                    Ok((bytes, json)) => (bytes, Payload::Head { json, bytes }),
                    Err(error) => (self.at - start, self.broken(error)?),
                },
                Err(error) => (self.at - start, self.broken(error)?),
            };
            return Ok(Some(self.record(start..start + bytes, payload)));
        }
        self.ended = true;
        Ok(None)
    }

    fn record(&self, span: Range<u64>, payload: Payload) -> Record {
        Record { place: Place::Line { input: Arc::clone(&self.input), line: self.line }, span, payload }
    }

    fn read_line(&mut self) -> io::Result<NextLine> {
        let mut line = Vec::new();
        loop {
            let available = match self.reader.fill_buf() {
                Ok([]) if line.is_empty() => return Ok(NextLine::End),
                Ok([]) => return Ok(NextLine::Whole(line)),
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            if line.len() + part.len() > self.line_bytes_max {
                return Ok(NextLine::Long(line));
            }
            line.extend_from_slice(part);
            let consumed = part.len() + usize::from(end.is_some());
            self.reader.consume(consumed);
            self.at += consumed as u64;
            if end.is_some() {
                return Ok(NextLine::Whole(line));
            }
        }
    }

    /// Skims the rest of a long line that starts with `beginning`. Returns its length, and the line with long
    /// strings cut.
    fn skim(&mut self, beginning: &[u8]) -> io::Result<(u64, Result<Vec<u8>, String>)> {
        let mut skim = Skim::new(beginning, &mut self.reader);
        let mut json = Vec::new();
        let read = (&mut skim).read_to_end(&mut json);
        let bytes = skim.finish()?;
        self.at += bytes - beginning.len() as u64;
        if !self.reader.fill_buf()?.is_empty() {
            self.reader.consume(1); // the line feed
            self.at += 1;
        }
        Ok((bytes, read.map(|_| json).map_err(|error| error.to_string())))
    }

    /// Returns the record for an input whose decompression failed. Lines of the next gzip member may follow.
    fn broken(&mut self, error: io::Error) -> io::Result<Payload> {
        let error: FramingError = framing_error(&error).ok_or(error)?;
        self.ended = !matches!(error, FramingError::BrokenCompression(_));
        Ok(Payload::Broken(error))
    }
}

impl<R: Read + Send> Source for JsonLines<R> {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        // Read the next line only if all of it is available. Waiting would delay this batch.
        fill(self, (batch, bytes_max), Self::next_record, |source| {
            memchr::memchr(b'\n', source.reader.buffer()).is_none()
        })
    }

    fn skipped(&self) -> Skipped {
        self.skipped
    }
}
