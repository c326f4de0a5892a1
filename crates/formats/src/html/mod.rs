//! Reads a file that is a single HTML page, as `wget` and browsers save them: one record, the whole file.
//!
//! Such a file is recognised by its name or by its first bytes, because mirrors contain pages with names such
//! as `view.php?id=3`.

use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use super::form::Form;
use super::format::{Format, Head, Opened, WantedRecords};
use super::framing::Framing;
use crate::source::record::{Payload, Record, Source, framing_error};
use crate::source::rules::InputRules;
use leitong_base::record::Place;
use leitong_text::page::{PageConfig, WarcKind, WarcRecord};

/// File extensions of HTML pages, without those for compression.
const ENDINGS: [&str; 3] = ["html", "htm", "xhtml"];
/// Number of bytes in which the first element must follow an XML declaration.
const PROLOGUE_BYTES: usize = 1_024;

/// Characters that are escaped in urls. `%` and `?` are not escaped: in mirrors, they come from the original
/// url.
const NOT_IN_URLS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A file that is one HTML page.
pub(crate) struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "an HTML page"
    }

    fn recognise(&self, head: &Head<'_>) -> bool {
        head.is_file && !head.is_broken && is_page(head.name, head.start)
    }

    fn read(&self, opened: Opened, rules: &InputRules, _: &WantedRecords<'_>) -> io::Result<Box<dyn Source>> {
        Ok(Box::new(PageFile::new(opened.reader, opened.name, opened.url, &rules.limits)))
    }

    fn framing(&self, _: &InputRules) -> Framing {
        Framing::Page
    }

    fn form(&self, _: &Path, _: Opened, _: &InputRules) -> io::Result<Form> {
        Ok(Form::Page)
    }
}

/// Returns the url of the page at the path `below` relative to the folder with the url `base`.
pub(crate) fn url_below(base: &str, below: &Path) -> String {
    let slash = if base.ends_with('/') { "" } else { "/" };
    format!("{base}{slash}{}", percent_encode(below.as_os_str().as_bytes(), NOT_IN_URLS))
}

/// Returns true if a file with this name and these first bytes is an HTML page.
pub(super) fn is_page(name: &str, start: &[u8]) -> bool {
    is_called_page(name) || begins_page(start)
}

/// Returns true if the name is that of an HTML page, compressed or not.
fn is_called_page(name: &str) -> bool {
    let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = crate::source::extension::without_compression(&name);
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Returns true if the input begins like an HTML page.
pub(super) fn begins_page(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let begins =
        |text: &[u8], tag: &[u8]| text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag));
    let is_html = |text: &[u8]| begins(text, b"<!doctype html") || begins(text, b"<html");
    let prologue = &text[..text.len().min(PROLOGUE_BYTES)];
    is_html(text) || (begins(text, b"<?xml") && (0..prologue.len()).any(|at| is_html(&text[at..])))
}

/// A source with one record, the page in a file.
pub(super) struct PageFile<R> {
    /// The unread file. `None` after it was read.
    reader: Option<BufReader<R>>,
    input: Arc<str>,
    url: String,
    bytes_max: usize,
}

impl<R: Read> PageFile<R> {
    /// Creates a source for the page in `reader`. Messages call it `input`.
    pub(super) fn new(reader: BufReader<R>, input: Arc<str>, url: String, limits: &PageConfig) -> Self {
        Self { reader: Some(reader), input, url, bytes_max: limits.bytes_max }
    }

    /// Reads the page, up to one byte more than allowed. Returns its whole length, and the record.
    fn read(&mut self, reader: BufReader<R>) -> io::Result<(u64, Payload)> {
        let mut content = Vec::new();
        let mut limited = reader.take(self.bytes_max as u64 + 1);
        let read = limited.read_to_end(&mut content);
        let passed = read.and_then(|_| io::copy(&mut limited.into_inner(), &mut io::sink()));
        let (content_bytes, broken) = match passed {
            Ok(passed) => (content.len() as u64 + passed, None),
            Err(error) => (content.len() as u64, Some(framing_error(&error).ok_or(error)?)),
        };
        Ok((
            content_bytes,
            match broken {
                Some(error) => Payload::Broken(error),
                None => Payload::Warc(Box::new(WarcRecord {
                    kind: WarcKind::Resource,
                    url: Some(std::mem::take(&mut self.url)),
                    date: None,
                    content_type: None,
                    content,
                    content_bytes,
                    is_cut_short: false,
                })),
            },
        ))
    }
}

impl<R: Read + Send> Source for PageFile<R> {
    fn read_batch(&mut self, batch: &mut Vec<Record>, _: usize) -> io::Result<bool> {
        if let Some(reader) = self.reader.take() {
            let (bytes, payload) = self.read(reader)?;
            let place = Place::Record { input: Arc::clone(&self.input), record: 1 };
            batch.push(Record { place, span: 0..bytes, payload });
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_recognised_by_name_or_first_bytes() {
        for name in ["a.html", "x/B.HTM", "c.xhtml", "d.html.gz", "e.htm.ZST"] {
            assert!(is_page(name, b"words"), "{name}");
        }
        for name in ["a.html.txt", "html", "x.html/b", "view.php?id=3.jsonl", "a.gz"] {
            assert!(!is_page(name, b"words"), "{name}");
        }
        let xhtml =
            b"<?xml version=\"1.0\"?>\n<!-- saved -->\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0\">";
        for start in [&b"\xef\xbb\xbf \n<!DocType HTML>"[..], b"<html lang=zh>", xhtml] {
            assert!(is_page("view.php?id=3", start));
        }
        for start in
            [&b"<?xml version=\"1.0\"?><urlset>"[..], b"<!doctype svg>", b"", b"{\"html\": \"<html>\"}"]
        {
            assert!(!is_page("sitemap", start));
        }
    }

    #[test]
    fn characters_not_allowed_in_urls_are_escaped() {
        let url = |base, below| url_below(base, Path::new(below));
        assert_eq!(url("https://", "a.example/b/c.html"), "https://a.example/b/c.html");
        assert_eq!(url("https://a.example/x", "view.php?id=3%20"), "https://a.example/x/view.php?id=3%20");
        assert_eq!(url("http://a/", "\u{65b0} \"#\n.html"), "http://a/%E6%96%B0%20%22%23%0A.html");
        let below = Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9.html"));
        assert_eq!(url_below("http://a/", below), "http://a/caf%E9.html");
    }
}
