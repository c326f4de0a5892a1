//! WARC files (ISO 28500, versions 0.17 to 1.1): HTTP responses, conversions to text or HTML, and resources that are
//! HTML are pages; all else is passed over and counted by type.
//!
//! Our own code, since memory must stay bounded and a broken record must not cost the rest of the
//! file: a record above the limit keeps its head only, after a broken head reading goes on at the
//! next line that begins a record, and a record that claims more bytes than it has is found out:
//!
//! * its bytes end with the file, or no record follows them, and a record's head begins
//!   among them: reading goes on at that head ([`Window`] still holds it). Of a record above
//!   the limit only the last bytes are looked at so;
//! * no such head: what was claimed is passed over, and a dead letter says so.
//!
//! A head among the bytes alone proves nothing, since a page may well show a WARC file, or
//! pretend to be one. Only of records that are no pages, and are longer than any page may
//! be, the first head that stands in them ends them. Memory: one batch and one record.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use super::page_file::begins_page;
use super::window::Window;
use super::{FramingError, Payload, Record, Skipped, Source, fill, framing_error};
use crate::page::config::PageConfig;
use crate::page::warc::{WarcKind, WarcRecord};
use crate::record::Place;
use crate::record::timestamp::Timestamp;

/// Bytes of a record's head; a longer one is no head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes of HTTP head that a page may have on top of its body.
const HTTP_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes of both heads.
pub(super) const RECORD_HEADS_MAX: usize = HEAD_BYTES_MAX + HTTP_HEAD_BYTES_MAX;
/// Bytes by which the beginning of a head is told: a line feed and `WARC/1.0`.
const MARK_BYTES: usize = 9;
/// Bytes of a claimed end in which the next record's head is looked for, of a record that is not held.
const TAIL_BYTES: usize = HEAD_BYTES_MAX;
/// Bytes of a resource without a type by which a page is told.
const SNIFFED_BYTES: usize = 2048;

/// A source of WARC records.
pub struct WarcReader<R> {
    window: Window<R>,
    input: Arc<str>,
    content_bytes_max: usize,
    /// Number of the record read last, from 1.
    record: u64,
    /// Where it begins in the unpacked input.
    start: u64,
    /// Whether records that are no pages are handed on as well.
    all_records: bool,
    skipped: Skipped,
    ended: bool,
}

/// The fields of a record's head that matter here.
#[derive(Debug, Clone, Default)]
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
        let window = Window::new(reader);
        Self {
            window,
            input,
            content_bytes_max,
            record: 0,
            start: 0,
            all_records: false,
            skipped: Skipped::default(),
            ended: false,
        }
    }

    /// Hands on records that are no pages as well, as [`Payload::NoPage`].
    #[must_use]
    pub fn with_all_records(self) -> Self {
        Self { all_records: true, ..self }
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        while !self.ended {
            let payload = match self.read_record() {
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
                    self.ended = true;
                    self.record += 1;
                    Payload::Broken(error)
                }
            };
            let place = Place::Record { input: Arc::clone(&self.input), record: self.record };
            let span = self.start..self.window.taken();
            return Ok(Some(Record { place, span, payload }));
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
                self.seek_head(u64::MAX, true)?;
                return Ok(Some(Some(Payload::Broken(FramingError::BrokenWarc(fault)))));
            }
        };
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
                true => (self.window.pass_over(length)?, false),
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
        if let Err(fault) = self.pass_over_content(&head, wanted)? {
            return Ok(Some(Some(fault)));
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

    /// Passes over the content of a page, of which `held` bytes are held, or says what is wrong with its end.
    fn pass_over_content(&mut self, head: &Head, held: usize) -> io::Result<Result<(), Payload>> {
        let length = head.content_length.unwrap_or(0);
        // The next head may begin in what is held, and go on behind it.
        let tail = match length == held as u64 {
            true => 0,
            false => usize::try_from(length).unwrap_or(usize::MAX).min(TAIL_BYTES),
        };
        let before = length - tail as u64;
        let mut passed = self.window.pass_over(before)?;
        if passed == before {
            self.window.hold(tail)?;
            if tail > 0
                && let Some(next) = self.head_within(tail)
            {
                self.window.take(next);
                return Ok(Err(Payload::Broken(head.clone().wrong_length(before + next as u64))));
            }
            passed += self.window.pass_over(tail as u64)?;
        }
        Ok(if passed < length { Err(self.breaks_off(head.clone(), passed)) } else { Ok(()) })
    }

    /// Where the next record begins, if that is before the claimed end after `length` bytes, and the claim is false:
    /// no record follows that end. A head of which only the first bytes are claimed counts. `length` bytes are held,
    /// or all there are.
    fn head_within(&mut self, length: usize) -> Option<usize> {
        let content = &self.window.held()[..self.window.held().len().min(length)];
        let next = match next_head(content) {
            Some(next) => next,
            None => {
                let next = content.len() - begun_head(content)?;
                let held = self.window.hold_ahead(next + MARK_BYTES);
                Some(next).filter(|next| begins_record(&held[*next..]))?
            }
        };
        (!self.is_followed_by_record(length)).then_some(next)
    }

    /// The dead letter for a record with which the input ends.
    fn breaks_off(&mut self, head: Head, found: u64) -> Payload {
        self.ended = true;
        let expected = head.content_length.unwrap_or(0);
        Payload::Broken(FramingError::TruncatedWarc { url: head.name(), expected, found })
    }

    /// Whether a record begins, or the input ends, behind `length` bytes and line ends.
    /// What cannot be looked at counts as right: the next record will say what is wrong.
    fn is_followed_by_record(&mut self, length: usize) -> bool {
        let mut ahead = 2 * MARK_BYTES;
        loop {
            self.window.hold_ahead(length.saturating_add(ahead));
            let has_failed = self.window.has_failed();
            let Some(behind) = self.window.held().get(length..) else { return has_failed };
            let ended = behind.len() < ahead;
            if ended && has_failed {
                return true;
            }
            let text = behind.trim_ascii_start();
            if ended || text.len() >= MARK_BYTES || ahead > HEAD_BYTES_MAX {
                return (ended && text.is_empty()) || begins_record(text);
            }
            ahead *= 2;
        }
    }

    /// The next line that is not blank.
    fn first_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            self.start = self.window.taken();
            match self.read_line()? {
                None => return Ok(None),
                Some(line) if line.trim_ascii().is_empty() => {}
                Some(line) => return Ok(Some(line)),
            }
        }
    }

    /// One line without its end, cut at [`HEAD_BYTES_MAX`]; none at the end of the input.
    fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        let count = loop {
            let held = self.window.held();
            let end = memchr::memchr(b'\n', &held[searched..]).map(|end| searched + end + 1);
            searched = held.len();
            match end {
                Some(end) => break end,
                None if searched > HEAD_BYTES_MAX => break searched,
                None if !self.window.read_on()? => break searched,
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
            // A line without a colon continues the one before
            // (RFC 822); no field that matters here does that.
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

    /// Passes over at most `limit` bytes, up to the next line that begins a
    /// record. Says how many bytes it passed over, and whether it found one.
    fn seek_head(&mut self, limit: u64, at_line_start: bool) -> io::Result<(u64, bool)> {
        if at_line_start && begins_record(self.window.hold(MARK_BYTES)?) {
            return Ok((0, true));
        }
        let mut passed = 0;
        loop {
            let (held, left) = (self.window.held(), limit - passed);
            // A head that begins before the limit may go on behind it.
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(MARK_BYTES - 1);
            let searched = held.len().min(wanted);
            if let Some(next) = next_head(&held[..searched]).filter(|next| (*next as u64) < left) {
                self.window.take(next);
                return Ok((passed + next as u64, true));
            }
            // A mark may begin in the last bytes.
            let done = searched.saturating_sub(MARK_BYTES - 1);
            self.window.take(done);
            passed += done as u64;
            if searched == wanted || (!self.window.read_on()?) {
                let rest = self.window.pass_over(limit - passed)?;
                return Ok((passed + rest, false));
            }
        }
    }
}

impl Head {
    /// What page the record holds, whose content begins with `start`; none if it holds none.
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
            // DNS look-ups are responses as well, but not of HTTP.
            "response" => media_type
                .is_none_or(|media_type| media_type == "application/http")
                .then_some(WarcKind::Response),
            "conversion" | "resource" if is_html => Some(WarcKind::Resource),
            "conversion" => media_type
                .is_none_or(|media_type| media_type.starts_with("text/"))
                .then_some(WarcKind::Conversion),
            // Crawlers write their logs and settings as resources of plain text, with urls of their own.
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

    /// Whose record it is, in messages.
    fn name(self) -> String {
        self.url.unwrap_or_else(|| "an unnamed page".to_owned())
    }

    /// The fault of a record that ends before its `Content-Length`.
    fn wrong_length(self, found: u64) -> FramingError {
        let expected = self.content_length.unwrap_or(0);
        FramingError::WrongWarcLength { url: self.name(), expected, found }
    }
}

/// Whether a record's head begins here.
fn begins_record(bytes: &[u8]) -> bool {
    matches!(bytes, [b'W', b'A', b'R', b'C', b'/', major, b'.', minor, ..]
        if major.is_ascii_digit() && minor.is_ascii_digit())
}

/// Where in `bytes` the next line begins that begins a record.
fn next_head(bytes: &[u8]) -> Option<usize> {
    let mut marks = memchr::memmem::find_iter(bytes, b"\nWARC/");
    marks.find(|at| begins_record(&bytes[at + 1..])).map(|at| at + 1)
}

/// With how many bytes of a head `bytes` end, if not all of those are there by which it is told.
fn begun_head(bytes: &[u8]) -> Option<usize> {
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

/// A content type without its parameters, in lower case.
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

impl<R: Read + Send> Source for WarcReader<R> {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        // With little at hand the next record might have to be waited for.
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

    /// What becomes of each record: its url, or the cause
    /// of its dead letter; and how many were passed over.
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

    /// The same however the input comes in.
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

    /// A record that is no page, and claims too much,
    /// swallowed the rest of the file, with exit status 0.
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

    /// Beyond what is held of a page, what it shows is not
    /// believed to be a record: a dead letter says what is lost.
    #[test]
    fn a_long_record_that_claims_too_much_is_told() {
        let b = record("response", "http://b/", None, "<p>b");
        for (kind, outcomes) in
            [("response", &["TRUNCATED_INPUT"][..]), ("metadata", &["BROKEN_WARC", "http://b/"])]
        {
            let long = record(kind, "http://long/", Some(1 << 40), &"long".repeat(2_000));
            assert_outcomes(&format!("{long}{b}"), outcomes, 0);
        }
    }

    #[test]
    fn a_length_that_ends_inside_another_record_is_found_out() {
        let long = record("response", "http://long/", Some(60), "short");
        let rest = record("response", "http://b/", None, &"<p>b".repeat(50));
        assert_outcomes(&format!("{long}{rest}"), &["BROKEN_WARC", "http://b/"], 0);
    }

    /// A page may hold what looks like a record: as long as
    /// its length is right, it is part of the page.
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

    /// After a broken head, a record whose first bytes stood
    /// at a buffer's end was passed over without a trace.
    #[test]
    fn the_record_behind_a_broken_one_is_found_wherever_buffers_end() {
        for padding in 0..40 {
            let broken = format!("WARC/1.0\r\nContent-Length: x\r\n{}\r\n\r\n", "y".repeat(padding));
            let b = record("response", "http://b/", None, "<p>b");
            assert_outcomes(&format!("{broken}{b}"), &["BROKEN_WARC", "http://b/"], 0);
        }
    }

    /// A length that ended inside the head of the next record, as 5 to 11 bytes too many do, lost that record.
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
                    // With up to four more only line ends are taken in.
                    let own = (kind != "request").then_some("http://a/").filter(|_| more < 5);
                    let own = own.or((more >= 5).then_some("BROKEN_WARC"));
                    assert_eq!(found.len(), 2 + usize::from(own.is_some()), "{kind} {bytes} +{more}");
                    assert!(own.is_none_or(|own| found[0] == own), "{kind} {bytes} +{more}: {found:?}");
                    assert_eq!(skipped, u64::from(own.is_none()));
                }
            }
        }
    }

    /// Resources of HTML were passed over in silence, as tools that pack saved pages write them.
    #[test]
    fn what_a_record_holds_is_told_by_its_types() {
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
            ("conversion", "http://a/", "text/plain", "words", true),
            ("conversion", "http://a/", "", "words", true),
            ("conversion", "http://a/", "text/html", "<p>", true),
            ("conversion", "http://a/", "image/jpeg", "x", false),
            ("response", "dns:a", "text/dns", "x", false),
            ("response", "http://a/", "Application/HTTP; msgtype=response", "x", true),
            ("metadata", "http://a/", "text/html", "<p>", false),
        ] {
            let (found, skipped) = outcomes(&record(kind, url, content_type, content), 4096, 100);
            let expected = if is_page { vec![url.to_owned()] } else { vec![] };
            assert_eq!((found, skipped), (expected, u64::from(!is_page)), "{kind} {content_type}");
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
