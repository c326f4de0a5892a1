//! WARC files (ISO 28500, versions 0.17 to 1.1): responses and conversions are pages, all else is passed over
//! and counted.
//!
//! Own code, since memory must stay bounded and a broken record must not cost the rest of the file: a record
//! above the limit keeps its head only, and after a broken head reading goes on at the next line that begins
//! with `WARC/`. Memory: one batch and one record.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use super::{FramingError, Payload, Record, Skipped, Source, framing_error};
use crate::config::PageConfig;
use crate::fingerprint::record::Place;
use crate::page::timestamp::Timestamp;
use crate::page::warc::{WarcKind, WarcRecord};

/// Bytes of a record's head; a longer one is no head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes of HTTP head that a page may have on top of its body.
const HTTP_HEAD_BYTES_MAX: usize = 64 * 1024;

/// A source of WARC records.
pub struct WarcReader<R> {
    reader: BufReader<R>,
    input: Arc<str>,
    content_bytes_max: usize,
    /// Number of the record read last, from 1.
    record: u64,
    skipped: Skipped,
    ended: bool,
}

/// The fields of a record's head that matter here.
#[derive(Debug, Default)]
struct Head {
    record_type: String,
    url: Option<String>,
    date: Option<Timestamp>,
    content_type: Option<String>,
    content_length: Option<u64>,
}

impl<R: Read> WarcReader<R> {
    /// Records of `reader`, which is `input` in messages.
    pub fn new(reader: BufReader<R>, input: Arc<str>, limits: &PageConfig) -> Self {
        let content_bytes_max = limits.bytes_max + HTTP_HEAD_BYTES_MAX;
        Self { reader, input, content_bytes_max, record: 0, skipped: Skipped::default(), ended: false }
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        while !self.ended {
            let payload = match self.read_record() {
                Ok(None) => break,
                Ok(Some(None)) => {
                    self.skipped.warc_records += 1;
                    continue;
                }
                Ok(Some(Some(payload))) => payload,
                Err(error) => {
                    let error = framing_error(&error).ok_or(error)?;
                    self.ended = true;
                    self.record += 1;
                    Payload::Broken(error)
                }
            };
            let place = Place::Record { input: Arc::clone(&self.input), record: self.record };
            return Ok(Some(Record { place, payload }));
        }
        self.ended = true;
        Ok(None)
    }

    /// None at the end of the input, `Some(None)` for a record that is no page.
    fn read_record(&mut self) -> io::Result<Option<Option<Payload>>> {
        let Some(first_line) = self.first_line()? else { return Ok(None) };
        self.record += 1;
        let head = match self.read_head(&first_line)? {
            Ok(head) => head,
            Err(fault) => {
                self.resynchronize()?;
                return Ok(Some(Some(Payload::Broken(FramingError::BrokenWarc(fault)))));
            }
        };
        let length = head.content_length.unwrap_or(0);
        let kind = match head.record_type.as_str() {
            // DNS look-ups are responses as well, but not of HTTP.
            "response" if head.content_type.as_deref().is_none_or(is_http) => WarcKind::Response,
            "conversion" => WarcKind::Conversion,
            _ => {
                self.pass_over(length)?;
                return Ok(Some(None));
            }
        };
        let mut content = Vec::new();
        let wanted = length.min(self.content_bytes_max as u64);
        let mut found = (&mut self.reader).take(wanted).read_to_end(&mut content)? as u64;
        if found == wanted {
            found += self.pass_over(length - wanted)?;
        }
        if found < length {
            self.ended = true;
            let url = head.url.unwrap_or_else(|| "an unnamed page".to_owned());
            let error = FramingError::TruncatedWarc { url, expected: length, found };
            return Ok(Some(Some(Payload::Broken(error))));
        }
        Ok(Some(Some(Payload::Warc(Box::new(WarcRecord {
            kind,
            url: head.url,
            date: head.date,
            content_type: head.content_type,
            content,
            content_bytes: length,
        })))))
    }

    /// The next line that is not blank.
    fn first_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.read_line()? {
                None => return Ok(None),
                Some(line) if line.trim_ascii().is_empty() => {}
                Some(line) => return Ok(Some(line)),
            }
        }
    }

    /// One line without its end, cut at [`HEAD_BYTES_MAX`]; none at the end of the input.
    fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let limit = HEAD_BYTES_MAX as u64 + 1;
        if (&mut self.reader).take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        Ok(Some(line))
    }

    /// The fields up to the blank line, or what is wrong with them.
    fn read_head(&mut self, first_line: &[u8]) -> io::Result<Result<Head, String>> {
        if !first_line.starts_with(b"WARC/") {
            let start = String::from_utf8_lossy(&first_line[..first_line.len().min(60)]);
            return Ok(Err(format!("expected WARC/1.0 or WARC/1.1, found {start:?}")));
        }
        let mut head = Head::default();
        let mut bytes = first_line.len();
        loop {
            let Some(line) = self.read_line()? else {
                return Ok(Err("the input ends inside a record's head".to_owned()));
            };
            if line.is_empty() {
                break;
            }
            bytes += line.len();
            if bytes > HEAD_BYTES_MAX {
                return Ok(Err(format!("a head of more than {HEAD_BYTES_MAX} bytes")));
            }
            let line = String::from_utf8_lossy(&line);
            // A line without a colon continues the one before (RFC 822); no field that matters here does that.
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "warc-type" => head.record_type = value.to_ascii_lowercase(),
                // Old writers put the uri in angle brackets.
                "warc-target-uri" => {
                    head.url = Some(value.trim_matches(['<', '>']).to_owned()).filter(|url| !url.is_empty());
                }
                "warc-date" => head.date = Timestamp::from_rfc3339(value),
                "content-type" => head.content_type = Some(value.to_owned()),
                "content-length" => match value.parse() {
                    Ok(length) => head.content_length = Some(length),
                    Err(_) => return Ok(Err(format!("Content-Length: {value:?} is no number of bytes"))),
                },
                _ => {}
            }
        }
        if head.content_length.is_none() {
            return Ok(Err("a head without Content-Length".to_owned()));
        }
        Ok(Ok(head))
    }

    /// Passes over `bytes` bytes, or what there is of them, and says how many there were.
    fn pass_over(&mut self, bytes: u64) -> io::Result<u64> {
        io::copy(&mut (&mut self.reader).take(bytes), &mut io::sink())
    }

    /// Passes over all lines before the next one that begins a record.
    fn resynchronize(&mut self) -> io::Result<()> {
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() || available.starts_with(b"WARC/") {
                return Ok(());
            }
            // Short of the five bytes at a buffer's end, the record after this one is found instead.
            let line = memchr::memchr(b'\n', available).map_or(available.len(), |end| end + 1);
            self.reader.consume(line);
        }
    }
}

fn is_http(content_type: &str) -> bool {
    content_type.to_ascii_lowercase().starts_with("application/http")
}

impl<R: Read + Send> Source for WarcReader<R> {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        let mut bytes = 0;
        while bytes < bytes_max {
            let Some(record) = self.next_record()? else { return Ok(false) };
            bytes += record.bytes();
            batch.push(record);
            // With little at hand the next record might have to be waited for.
            if self.reader.buffer().len() < HEAD_BYTES_MAX {
                break;
            }
        }
        Ok(true)
    }

    fn skipped(&self) -> Skipped {
        self.skipped
    }
}
