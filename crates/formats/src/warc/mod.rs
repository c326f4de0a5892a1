//! Reads WARC files (ISO 28500, versions 0.17 to 1.1). HTTP responses, conversions to text or HTML, and HTML
//! resources are pages. All other records are skipped and counted by type.
//!
//! This is our own parser, because memory must be bounded and a broken record must not cost the rest of the
//! file. If a record exceeds the limit, only its header and the beginning of its content are kept. After a
//! broken header, reading continues at the next line that begins a record. A record that claims too many
//! bytes is detected: its bytes extend to the end of the file, or no record follows them. Then there are two
//! cases:
//!
//! * The header of another record begins among these bytes. Reading continues at that header, which
//!   [`Window`] still holds. In a record above the limit, only the last bytes are searched.
//! * There is no such header. The claimed bytes are skipped, and a dead letter reports this.
//!
//! A header within the content alone proves nothing, because a page may show a WARC file, or imitate one. There
//! is one exception: if a record is not a page and is longer than any page may be, the first header in its
//! content ends it. Memory: one batch and one record.

pub(crate) mod folder;
mod window;

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use self::window::Window;
use super::form::Form;
use super::format::{self, Format, Opened, WantedRecords};
use super::framing::Framing;
use super::html::begins_page;
use crate::source::record::{FramingError, Payload, Record, Skipped, Source, fill, framing_error};
use crate::source::rules::InputRules;
use leitong_base::record::Place;
use leitong_text::page::{PageConfig, WarcKind, WarcRecord};

/// Maximum size of a record's header.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of the HTTP header of a page, in addition to its body.
const HTTP_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of both headers together.
pub(super) const RECORD_HEADS_MAX: usize = HEAD_BYTES_MAX + HTTP_HEAD_BYTES_MAX;
/// Number of bytes that identify the start of a header: a line feed and `WARC/1.0`.
const MARK_BYTES: usize = 9;
/// U+FEFF in UTF-8, which editors write.
pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// Number of bytes before the claimed end of a long record in which the next header is searched.
const TAIL_BYTES: usize = HEAD_BYTES_MAX;
/// Number of bytes by which a resource without a content type is recognised as a page.
const SNIFFED_BYTES: usize = 2048;

/// Archives of records.
pub(crate) struct Warc;

impl Format for Warc {
    fn name(&self) -> &'static str {
        "a WARC file"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["warc", "wet"]
    }

    fn recognise(&self, head: &format::Head<'_>) -> bool {
        self.records_in(head.start).is_some()
    }

    /// Recognises a first record, maybe after a byte order mark, blank lines and zeros.
    fn records_in(&self, start: &[u8]) -> Option<&'static str> {
        let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        let blank = start.iter().take_while(|byte| **byte == 0 || byte.is_ascii_whitespace()).count();
        start[blank..].starts_with(b"WARC/").then_some("WARC records")
    }

    fn read(
        &self,
        opened: Opened,
        rules: &InputRules,
        wanted: &WantedRecords<'_>,
    ) -> io::Result<Box<dyn Source>> {
        let reader = WarcReader::new(opened.reader, opened.name, &rules.limits).after(opened.broken);
        Ok(Box::new(match wanted {
            WantedRecords::Mapped => reader,
            WantedRecords::Again(_) => reader.with_all_records(),
        }))
    }

    fn framing(&self, _: &InputRules) -> Framing {
        Framing::Warc
    }

    fn form(&self, _: &Path, _: Opened, _: &InputRules) -> io::Result<Form> {
        Ok(Form::Warc)
    }
}

/// A source that reads WARC records.
pub struct WarcReader<R> {
    window: Window<R>,
    input: Arc<str>,
    content_bytes_max: usize,
    /// Number of the last record read, from 1.
    record: u64,
    /// The position of that record in the decompressed input.
    start: u64,
    /// True if records that are not pages are returned, too.
    all_records: bool,
    skipped: Skipped,
    /// An error to report before anything is read.
    broken: Option<FramingError>,
    ended: bool,
}

/// The fields of a record's header that are needed.
#[derive(Debug, Clone, Default)]
struct Head {
    record_type: String,
    url: Option<String>,
    date: Option<String>,
    content_type: Option<String>,
    content_length: Option<u64>,
    /// The values of earlier lines, if `Content-Length` is repeated.
    earlier_lengths: Vec<u64>,
    /// True if the record says that its content is only a part.
    is_cut_short: bool,
}

impl<R: Read> WarcReader<R> {
    /// Creates a source that reads records from `reader`. Messages call it `input`.
    pub fn new(reader: BufReader<R>, input: Arc<str>, limits: &PageConfig) -> Self {
        let content_bytes_max = limits.bytes_max + HTTP_HEAD_BYTES_MAX;
        let window = Window::new(reader);
        Self {
            window,
            input,
            content_bytes_max,
            record: 0,
            start: 0,
            all_records: false,
            skipped: Skipped::default(),
            broken: None,
            ended: false,
        }
    }

    /// Reports an error before the first record.
    fn after(self, broken: Option<FramingError>) -> Self {
        Self { broken, ..self }
    }

    /// Makes the source also return records that are not pages, as [`Payload::NoPage`].
    #[must_use]
    pub fn with_all_records(self) -> Self {
        Self { all_records: true, ..self }
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        while !self.ended {
            let record = match self.broken.take() {
                Some(error) => {
                    self.record += 1;
                    Ok(Some(Some(Payload::Broken(error))))
                }
                None => self.read_record(),
            };
            let payload = match record {
                Ok(None) => break,
                Ok(Some(None)) => {
                    if !self.all_records {
                        continue;
                    }
                    Payload::NoPage
                }
                Ok(Some(Some(payload))) => payload,
                Err(error) => {
                    let error = framing_error(&error).ok_or(error)?;
                    // Only the beginning of a record is held. The next gzip member begins another one.
                    self.window.take_held();
                    self.record += 1;
                    Payload::Broken(error)
                }
            };
            let place = Place::Record { input: Arc::clone(&self.input), record: self.record };
            let span = self.start..self.window.bytes_taken();
            return Ok(Some(Record { place, span, payload }));
        }
        self.ended = true;
        Ok(None)
    }

    /// Reads a record. Returns `None` at the end of the input, and `Some(None)` for a record that is not a
    /// page.
    fn read_record(&mut self) -> io::Result<Option<Option<Payload>>> {
        if self.window.bytes_taken() == 0
            && self.window.hold(BYTE_ORDER_MARK.len())?.starts_with(BYTE_ORDER_MARK)
        {
            self.window.take(BYTE_ORDER_MARK.len());
        }
        let zeros = self.skip_blank()?;
        if self.window.hold(1)?.is_empty() {
            return Ok(None);
        }
        self.record += 1;
        if zeros > 0 && begins_record(self.window.hold(MARK_BYTES)?) {
            let fault = format!("{zeros} zero bytes in front of a record");
            return Ok(Some(Some(Payload::Broken(FramingError::BrokenWarc(fault)))));
        }
        self.start = self.window.bytes_taken();
        let first_line = self.read_line()?.unwrap_or_default();
        let mut head = match self.read_head(&first_line)? {
            Ok(head) => head,
            Err(fault) => {
                self.seek_head(u64::MAX, true)?;
                return Ok(Some(Some(Payload::Broken(FramingError::BrokenWarc(fault)))));
            }
        };
        if !head.earlier_lengths.is_empty() {
            head.content_length = self.right_length(&head).or(head.content_length);
        }
        let length = head.content_length.unwrap_or(0);
        let wanted = usize::try_from(length).unwrap_or(usize::MAX).min(self.content_bytes_max);
        let found = self.window.hold(wanted)?.len().min(wanted);
        if found < wanted || length == wanted as u64 {
            if let Some(next) = self.head_within(wanted) {
                self.window.take(next);
                return Ok(Some(Some(Payload::Broken(head.wrong_length(next as u64)))));
            }
            if found < wanted {
                self.window.take(found);
                return Ok(Some(Some(self.breaks_off(head, found as u64))));
            }
        }
        let Some(kind) = head.kind(&self.window.held()[..wanted.min(SNIFFED_BYTES)]) else {
            let (passed, found) = match length == wanted as u64 {
                true => (self.window.skip(length)?, false),
                false => self.seek_head(length, false)?,
            };
            return Ok(Some(match passed {
                passed if found => Some(Payload::Broken(head.wrong_length(passed))),
                passed if passed < length => Some(self.breaks_off(head, passed)),
                _ => {
                    self.skipped.warc_records.count(&head.record_type);
                    None
                }
            }));
        };
        let content = self.window.held()[..wanted].to_vec();
        if let Err(fault) = self.skip_content(&head, wanted)? {
            return Ok(Some(Some(fault)));
        }
        Ok(Some(Some(Payload::Warc(Box::new(WarcRecord {
            kind,
            url: head.url,
            date: head.date,
            content_type: head.content_type,
            content,
            content_bytes: length,
            is_cut_short: head.is_cut_short,
        })))))
    }

    /// Skips the content of a page, whose first `held` bytes are in the window. Returns a dead letter if its
    /// end is wrong.
    fn skip_content(&mut self, head: &Head, held: usize) -> io::Result<Result<(), Payload>> {
        let length = head.content_length.unwrap_or(0);
        // The next header may begin in the window and continue after it.
        let tail = match length == held as u64 {
            true => 0,
            false => usize::try_from(length).unwrap_or(usize::MAX).min(TAIL_BYTES),
        };
        let before = length - tail as u64;
        let mut passed = self.window.skip(before)?;
        if passed == before {
            self.window.hold(tail)?;
            if tail > 0
                && let Some(next) = self.head_within(tail)
            {
                self.window.take(next);
                return Ok(Err(Payload::Broken(head.clone().wrong_length(before + next as u64))));
            }
            passed += self.window.skip(tail as u64)?;
        }
        Ok(if passed < length { Err(self.breaks_off(head.clone(), passed)) } else { Ok(()) })
    }

    /// Returns the position of the next record if the claimed length of `length` bytes is wrong: the next
    /// record begins before the claimed end, and no record follows that end. A header counts even if only its
    /// first bytes are before that end. The window must hold `length` bytes, or all that are left.
    fn head_within(&mut self, length: usize) -> Option<usize> {
        let content = &self.window.held()[..self.window.held().len().min(length)];
        let next = match next_head(content) {
            Some(next) => next,
            None => {
                let next = content.len() - incomplete_header_bytes(content)?;
                let held = self.window.hold_ahead(next + MARK_BYTES);
                Some(next).filter(|next| begins_record(&held[*next..]))?
            }
        };
        (!self.is_followed_by_record(length)).then_some(next)
    }

    /// Returns the first of several lengths of a record after which another record follows. Only lengths of pages are
    /// tried.
    fn right_length(&mut self, head: &Head) -> Option<u64> {
        let fitting = |length: &u64| usize::try_from(*length).ok().filter(|l| *l <= self.content_bytes_max);
        let lengths = head.earlier_lengths.iter().chain(&head.content_length);
        let fitting: Vec<usize> = lengths.filter_map(fitting).collect();
        fitting.into_iter().find(|length| self.is_followed_by_record(*length)).map(|length| length as u64)
    }

    /// Returns the dead letter for an incomplete record at the end of the input.
    fn breaks_off(&mut self, head: Head, found: u64) -> Payload {
        self.ended = true;
        let expected = head.content_length.unwrap_or(0);
        Payload::Broken(FramingError::TruncatedWarc { url: head.name(), expected, found })
    }

    /// Returns true if `length` bytes and any line ends are followed by a record or by the end of the input.
    /// Also returns true if these bytes cannot be read; the next record will report the error.
    fn is_followed_by_record(&mut self, length: usize) -> bool {
        let mut ahead = 2 * MARK_BYTES;
        loop {
            self.window.hold_ahead(length.saturating_add(ahead));
            let has_failed = self.window.has_failed();
            let Some(after) = self.window.held().get(length..) else { return has_failed };
            let ended = after.len() < ahead;
            if ended && has_failed {
                return true;
            }
            let text = after.trim_ascii_start();
            if ended || text.len() >= MARK_BYTES || ahead > HEAD_BYTES_MAX {
                return (ended && text.is_empty()) || begins_record(text);
            }
            ahead *= 2;
        }
    }

    /// Skips blank lines, and the zeros with which disks fill up what was never written. Returns the number of zeros.
    fn skip_blank(&mut self) -> io::Result<u64> {
        let mut zeros = 0;
        self.start = self.window.bytes_taken();
        loop {
            let held = self.window.held();
            let is_blank = |byte: &&u8| **byte == 0 || byte.is_ascii_whitespace();
            let blank = held.iter().take_while(is_blank).count();
            zeros += held[..blank].iter().filter(|byte| **byte == 0).count() as u64;
            let ended = blank == held.len();
            self.window.take(blank);
            if !ended || !self.window.read_more()? {
                return Ok(zeros);
            }
        }
    }

    /// Reads a line without its line end, truncated to [`HEAD_BYTES_MAX`]. Returns `None` at the end of the
    /// input.
    fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        let count = loop {
            let held = self.window.held();
            let end = memchr::memchr(b'\n', &held[searched..]).map(|end| searched + end + 1);
            searched = held.len();
            match end {
                Some(end) => break end,
                None if searched > HEAD_BYTES_MAX => break searched,
                None if !self.window.read_more()? => break searched,
                None => {}
            }
        };
        let count = count.min(HEAD_BYTES_MAX + 1);
        if count == 0 {
            return Ok(None);
        }
        let line = &self.window.held()[..count];
        let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        let line = line[..end].to_vec();
        self.window.take(count);
        Ok(Some(line))
    }

    /// Reads the fields up to the blank line. Returns a message if they are wrong.
    fn read_head(&mut self, first_line: &[u8]) -> io::Result<Result<Head, String>> {
        if !first_line.starts_with(b"WARC/") {
            let start = String::from_utf8_lossy(&first_line[..first_line.len().min(60)]);
            return Ok(Err(format!("expected WARC/1.0 or WARC/1.1, found {start:?}")));
        }
        let mut fields: Vec<String> = Vec::new();
        let mut bytes = first_line.len();
        loop {
            let Some(line) = self.read_line()? else {
                return Ok(Err("the input ends inside a record's header".to_owned()));
            };
            if line.is_empty() {
                break;
            }
            bytes += line.len();
            if bytes > HEAD_BYTES_MAX {
                return Ok(Err(format!("a header of more than {HEAD_BYTES_MAX} bytes")));
            }
            let line = String::from_utf8_lossy(&line);
            match fields.last_mut() {
                // Values may continue on the next line (ISO 28500, section 4).
                Some(field) if line.starts_with([' ', '\t']) => {
                    field.push(' ');
                    field.push_str(line.trim());
                }
                _ => fields.push(line.into_owned()),
            }
        }
        Ok(Head::from_fields(&fields))
    }

    /// Skips at most `limit` bytes, up to the next line that begins a record. Returns the number of skipped
    /// bytes, and true if it found a record.
    fn seek_head(&mut self, limit: u64, at_line_start: bool) -> io::Result<(u64, bool)> {
        if at_line_start && begins_record(self.window.hold(MARK_BYTES)?) {
            return Ok((0, true));
        }
        let mut passed = 0;
        loop {
            let (held, left) = (self.window.held(), limit - passed);
            // A header that begins before the limit may extend beyond it.
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(MARK_BYTES - 1);
            let searched = held.len().min(wanted);
            if let Some(next) = next_head(&held[..searched]).filter(|next| (*next as u64) < left) {
                self.window.take(next);
                return Ok((passed + next as u64, true));
            }
            // A header may begin in the last bytes.
            let done = searched.saturating_sub(MARK_BYTES - 1);
            self.window.take(done);
            passed += done as u64;
            if searched == wanted || (!self.window.read_more()?) {
                let rest = self.window.skip(limit - passed)?;
                return Ok((passed + rest, false));
            }
        }
    }
}

impl Head {
    /// Parses the fields of a header. Returns a message if one is wrong or missing.
    fn from_fields(fields: &[String]) -> Result<Self, String> {
        let mut head = Self::default();
        // A line without a colon is ignored.
        for (name, value) in fields.iter().filter_map(|field| field.split_once(':')) {
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "warc-type" => head.record_type = value.to_ascii_lowercase(),
                // Old writers put the uri in angle brackets.
                "warc-target-uri" => {
                    head.url = Some(value.trim_matches(['<', '>']).to_owned()).filter(|url| !url.is_empty());
                }
                "warc-date" => head.date = Some(value.to_owned()).filter(|date| !date.is_empty()),
                "content-type" => head.content_type = Some(value.to_owned()),
                "warc-truncated" | "warc-segment-number" => head.is_cut_short |= !value.is_empty(),
                "content-length" => match value.parse() {
                    Ok(length) => head.earlier_lengths.extend(head.content_length.replace(length)),
                    Err(_) => return Err(format!("Content-Length: {value:?} is not a number of bytes")),
                },
                _ => {}
            }
        }
        if head.content_length.is_none() {
            return Err("a header without Content-Length".to_owned());
        }
        match head.record_type.is_empty() {
            true => Err("a header without WARC-Type".to_owned()),
            false => Ok(head),
        }
    }

    /// Returns the kind of page in the record, whose content begins with `start`. Returns `None` if it is not
    /// a page.
    fn kind(&self, start: &[u8]) -> Option<WarcKind> {
        let media_type = self.content_type.as_deref().map(media_type);
        let media_type = media_type.as_deref();
        let is_html = matches!(media_type, Some("text/html" | "application/xhtml+xml"));
        let is_of_web = || {
            let url = self.url.as_deref().unwrap_or_default();
            let begins = |scheme: &str| {
                url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            };
            begins("http://") || begins("https://")
        };
        match self.record_type.as_str() {
            // DNS look-ups are also stored as responses. Some writers give the media type of the page instead of the
            // response's.
            "response" if is_html && !begins_status_line(start) => Some(WarcKind::Resource),
            "response" => media_type
                .is_none_or(|media_type| media_type == "application/http" || begins_status_line(start))
                .then_some(WarcKind::Response),
            "conversion" | "resource" if is_html => Some(WarcKind::Resource),
            "resource" if media_type == Some("application/http") && begins_status_line(start) => {
                Some(WarcKind::Response)
            }
            "conversion" => media_type
                .is_none_or(|media_type| media_type.starts_with("text/"))
                .then_some(WarcKind::Conversion),
            // Crawlers store their logs and settings as plain text resources with special urls.
            "resource" => {
                let is_page = match media_type {
                    None => begins_page(start),
                    Some(media_type) => media_type == "text/plain" && is_of_web(),
                };
                is_page.then_some(WarcKind::Resource)
            }
            _ => None,
        }
    }

    /// Returns the name of the record, for messages.
    fn name(self) -> String {
        self.url.unwrap_or_else(|| "an unnamed page".to_owned())
    }

    /// Creates the error for a record that is shorter than its `Content-Length`.
    fn wrong_length(self, found: u64) -> FramingError {
        let expected = self.content_length.unwrap_or(0);
        FramingError::WrongWarcLength { url: self.name(), expected, found }
    }
}

/// Returns true if a record's header begins here.
fn begins_record(bytes: &[u8]) -> bool {
    matches!(bytes, [b'W', b'A', b'R', b'C', b'/', major, b'.', minor, ..]
        if major.is_ascii_digit() && minor.is_ascii_digit())
}

/// Returns true if an HTTP response begins here.
fn begins_status_line(content: &[u8]) -> bool {
    content.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"HTTP/"))
}

/// Returns the position of the next line in `bytes` that begins a record.
fn next_head(bytes: &[u8]) -> Option<usize> {
    let mut marks = memchr::memmem::find_iter(bytes, b"\nWARC/");
    marks.find(|at| begins_record(&bytes[at + 1..])).map(|at| at + 1)
}

/// Returns the number of bytes at the end of `bytes` that may be an incomplete header.
fn incomplete_header_bytes(bytes: &[u8]) -> Option<usize> {
    (1..MARK_BYTES - 1).rev().find(|count| {
        let start = bytes.len().checked_sub(count + 1).map(|start| &bytes[start..]);
        start.and_then(|start| start.strip_prefix(b"\n")).is_some_and(|head| {
            head.iter().zip(b"WARC/0.").enumerate().all(|(at, (byte, mark))| match at {
                5 => byte.is_ascii_digit(),
                _ => byte == mark,
            })
        })
    })
}

/// Returns a content type without its parameters, in lower case.
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

impl<R: Read + Send> Source for WarcReader<R> {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        // With only few bytes available, the next record might have to be waited for.
        fill(self, (batch, bytes_max), Self::next_record, |source| source.window.at_hand() < HEAD_BYTES_MAX)
    }

    fn skipped(&self) -> Skipped {
        self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::cpu_time;

    fn record(kind: &str, url: &str, length: Option<u64>, content: &str) -> String {
        let length = length.unwrap_or(content.len() as u64);
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nContent-Length: {length}\r\n\r\n{content}\r\n\r\n"
        )
    }

    /// Returns the url of each record or the cause of its dead letter, and the number of skipped records.
    fn outcomes(file: &str, content_bytes_max: usize, buffer: usize) -> (Vec<String>, u64) {
        let reader = BufReader::with_capacity(buffer, file.as_bytes());
        let mut source = WarcReader::new(reader, "a.warc".into(), &PageConfig::default());
        source.content_bytes_max = content_bytes_max;
        let mut outcomes = Vec::new();
        let mut place = 0;
        while let Some(record) = source.next_record().expect("memory can be read") {
            let Place::Record { record: number, .. } = record.place else { panic!("a record") };
            assert!(number > place, "records are numbered");
            place = number;
            outcomes.push(match record.payload {
                Payload::Warc(page) => page.url.expect("a url"),
                Payload::Broken(error) => error.cause().to_string(),
                other => panic!("{other:?}"),
            });
        }
        (outcomes, source.skipped.warc_records.total())
    }

    /// Asserts the same outcomes for all buffer sizes.
    #[track_caller]
    fn assert_outcomes(file: &str, expected: &[&str], skipped: u64) {
        for buffer in [1, 3, 7, 64, 1000, 1 << 20] {
            let (found, others) = outcomes(file, 4096, buffer);
            assert_eq!(
                (found, others),
                (expected.iter().map(ToString::to_string).collect(), skipped),
                "{buffer}"
            );
        }
    }

    /// A record that is not a page, and claims too many bytes, must not swallow the rest of the file.
    #[test]
    fn a_record_that_claims_too_much_costs_only_itself() {
        let a = record("response", "http://a/", None, "<p>a");
        let b = record("response", "http://b/", None, "<p>b");
        for kind in ["request", "metadata", "warcinfo", "revisit", "response", "conversion", "dns"] {
            for claimed in [50, 4096, 5000, 1 << 40, u64::MAX] {
                let long = record(kind, "http://long/", Some(claimed), "short");
                assert_outcomes(&format!("{a}{long}{b}"), &["http://a/", "BROKEN_WARC", "http://b/"], 0);
                assert_outcomes(&format!("{a}{long}"), &["http://a/", "TRUNCATED_INPUT"], 0);
            }
        }
    }

    /// If a page is longer than the part that is held, text in it that looks like a record is not trusted. A
    /// dead letter reports what is lost.
    #[test]
    fn a_long_record_that_claims_too_much_is_reported() {
        let b = record("response", "http://b/", None, "<p>b");
        for (kind, outcomes) in
            [("response", &["TRUNCATED_INPUT"][..]), ("metadata", &["BROKEN_WARC", "http://b/"])]
        {
            let long = record(kind, "http://long/", Some(1 << 40), &"long".repeat(2_000));
            assert_outcomes(&format!("{long}{b}"), outcomes, 0);
        }
    }

    #[test]
    fn a_length_that_ends_inside_another_record_is_detected() {
        let long = record("response", "http://long/", Some(60), "short");
        let rest = record("response", "http://b/", None, &"<p>b".repeat(50));
        assert_outcomes(&format!("{long}{rest}"), &["BROKEN_WARC", "http://b/"], 0);
    }

    /// A page may contain text that looks like a record. If the page's length is right, that text is part of
    /// the page.
    #[test]
    fn a_record_in_a_page_is_part_of_the_page() {
        let inner = format!("before\r\n\r\n{}", record("response", "http://forged/", None, "<p>forged"));
        let (page, b) =
            (record("response", "http://a/", None, &inner), record("response", "http://b/", None, "b"));
        assert_outcomes(&page, &["http://a/"], 0);
        assert_outcomes(&format!("{page}\r\n\n\n{b}"), &["http://a/", "http://b/"], 0);
        let long = record("response", "http://long/", None, &inner.repeat(100));
        assert_outcomes(&format!("{long}{b}"), &["http://long/", "http://b/"], 0);
        let request = record("request", "http://a/", None, &inner);
        assert_outcomes(&format!("{request}{b}"), &["http://b/"], 1);
    }

    /// The record after a broken header is found, even if its first bytes are at the end of a buffer.
    #[test]
    fn the_record_after_a_broken_one_is_found_for_all_buffer_sizes() {
        for padding in 0..40 {
            let broken = format!("WARC/1.0\r\nContent-Length: x\r\n{}\r\n\r\n", "y".repeat(padding));
            let b = record("response", "http://b/", None, "<p>b");
            assert_outcomes(&format!("{broken}{b}"), &["BROKEN_WARC", "http://b/"], 0);
        }
    }

    /// If a record's length is 5 to 11 bytes too large, it ends inside the header of the next record, which must not
    /// be lost.
    #[test]
    fn a_length_that_is_a_little_too_large_costs_only_its_own_record() {
        let b = record("response", "http://b/", None, "<p>b");
        let c = record("response", "http://c/", None, "<p>c");
        for kind in ["response", "conversion", "request"] {
            for bytes in [5, 200, 4090, 4096, 5000, 70_000] {
                let content = "x".repeat(bytes);
                for more in 0..60 {
                    let long = record(kind, "http://a/", Some((bytes + more) as u64), &content);
                    let file = format!("{long}{b}{c}");
                    let (found, skipped) = outcomes(&file, 4096, 1000);
                    assert_eq!(
                        found[found.len() - 2..],
                        ["http://b/", "http://c/"],
                        "{kind} {bytes} +{more}"
                    );
                    // Up to four additional bytes are only line ends.
                    let own = (kind != "request").then_some("http://a/").filter(|_| more < 5);
                    let own = own.or((more >= 5).then_some("BROKEN_WARC"));
                    assert_eq!(found.len(), 2 + usize::from(own.is_some()), "{kind} {bytes} +{more}");
                    assert!(own.is_none_or(|own| found[0] == own), "{kind} {bytes} +{more}: {found:?}");
                    assert_eq!(skipped, u64::from(own.is_none()));
                }
            }
        }
    }

    /// Tools that store saved pages in WARC files write HTML resources, which must not be skipped.
    #[test]
    fn pages_are_recognised_by_the_types_of_their_records() {
        let record = |kind: &str, url: &str, content_type: &str, content: &str| {
            let content_type = match content_type {
                "" => String::new(),
                content_type => format!("Content-Type: {content_type}\r\n"),
            };
            let length = content.len();
            format!(
                "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n{content_type}Content-Length: {length}\r\n\r\n{content}\r\n\r\n"
            )
        };
        for (kind, url, content_type, content, is_page) in [
            ("resource", "http://a/", "text/html; charset=GBK", "<p>", true),
            ("resource", "file:///a", "Application/XHTML+XML", "<p>", true),
            ("resource", "http://a/", "", "<!doctype html><p>", true),
            ("resource", "http://a/", "", "{}", false),
            ("resource", "https://a/", "text/plain", "words", true),
            ("resource", "metadata://gnu.org/software/wget/warc/wget.log", "text/plain", "words", false),
            ("resource", "urn:view:http://a/", "image/png", "\u{89}PNG", false),
            ("resource", "http://a/", "application/http", "HTTP/1.1 200 OK\r\n\r\n<p>", true),
            ("resource", "http://a/", "application/http", "GET / HTTP/1.1\r\n\r\n", false),
            ("conversion", "http://a/", "text/plain", "words", true),
            ("conversion", "http://a/", "", "words", true),
            ("conversion", "http://a/", "text/html", "<p>", true),
            ("conversion", "http://a/", "image/jpeg", "x", false),
            ("response", "dns:a", "text/dns", "x", false),
            ("response", "http://a/", "Application/HTTP; msgtype=response", "x", true),
            // A response with another type was skipped as if it were a look-up.
            ("response", "http://a/", "message/http", "HTTP/1.1 200 OK\r\n\r\n<p>", true),
            ("response", "http://a/", "text/html", "HTTP/1.1 200 OK\r\n\r\n<p>", true),
            ("response", "http://a/", "text/html; charset=utf-8", "<p>", true),
            ("metadata", "http://a/", "text/html", "<p>", false),
        ] {
            let (found, skipped) = outcomes(&record(kind, url, content_type, content), 4096, 100);
            let expected = if is_page { vec![url.to_owned()] } else { vec![] };
            assert_eq!((found, skipped), (expected, u64::from(!is_page)), "{kind} {content_type}");
        }
    }

    /// If values on a second line were lost, pages would have no url, or be skipped as records of an unknown type.
    #[test]
    fn fields_may_continue_on_the_next_line() {
        let file = "WARC/1.0\r\n WARC-Type:\r\n\tresponse\r\nWARC-Target-URI:\r\n http://a/\r\nX: a\r\n Content-Length: 9\r\n\
                    Content-Length:\r\n  2\r\n\r\nab\r\n\r\n";
        assert_eq!(outcomes(file, 4096, 7), (vec!["http://a/".to_owned()], 0));
    }

    /// If the last of several lengths counted, whatever it was, the page became empty.
    #[test]
    fn of_several_lengths_the_one_before_the_next_record_counts() {
        let b = record("response", "http://b/", None, "x");
        for lengths in [&["4", "2"][..], &["2", "4"], &["4", "99999999999"], &["4096", "4"], &["4", "4"]] {
            let lengths: String =
                lengths.iter().map(|length| format!("Content-Length: {length}\r\n")).collect();
            let a = format!(
                "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\n{lengths}\r\n<p>a\r\n\r\n"
            );
            assert_outcomes(&format!("{a}{b}{a}"), &["http://a/", "http://b/", "http://a/"], 0);
        }
    }

    /// A record without a type must not be skipped as if it were not a page.
    #[test]
    fn a_record_without_a_type_is_a_dead_letter() {
        for kind in ["", " "] {
            let file =
                [record(kind, "http://a/", None, "x"), record("response", "http://b/", None, "x")].concat();
            let expected = vec!["BROKEN_WARC".to_owned(), "http://b/".to_owned()];
            assert_eq!(outcomes(&file, 4096, 100), (expected, 0));
        }
    }

    /// The record after a gap of zeros must not be lost together with the gap.
    #[test]
    fn records_after_zeros_are_read_and_a_gap_is_a_dead_letter() {
        let [a, b] = ["http://a/", "http://b/"].map(|url| record("response", url, None, "x"));
        for zeros in [1, 3, 500] {
            let gap = "\0".repeat(zeros);
            let expected = ["http://a/", "BROKEN_WARC", "http://b/"].map(str::to_owned).to_vec();
            for gap in [gap.clone(), format!("\r\n{gap}\r\n")] {
                assert_eq!(outcomes(&format!("{a}{gap}{b}{gap}"), 4096, 64), (expected.clone(), 0));
            }
        }
    }

    #[test]
    fn many_false_lengths_take_linear_time() {
        let file = record("request", "http://a/", Some(1 << 20), "").repeat(50_000);
        let began = cpu_time();
        let (found, _) = outcomes(&file, 1 << 21, 1 << 20);
        assert_eq!(found.len(), 50_000);
        let took = cpu_time() - began;
        assert!(took.as_secs() < 60, "{took:?}");
    }
}
