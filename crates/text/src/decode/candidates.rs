//! Lists the encodings that a page is declared to have, by the crawler's field, the header, `<meta>` and the XML
//! declaration.
//!
//! In: the bytes and the hints. Out: charsets with their origin, the most trustworthy first, and the first label that is
//! not known.
//! The order is the HTML standard's (transport before markup), with the crawler's own field first. Cost: reads the
//! first [`PRESCAN_BYTES`] bytes.

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

use super::How;
use super::charset::Charset;
use crate::page::Hints;

/// Number of bytes searched for a declaration. The standard reads 1,024; real pages have scripts and comments before
/// their `<meta>`.
const PRESCAN_BYTES: usize = 16 << 10;

/// The longest label that is shown if it is not known.
const UNKNOWN_MAX: usize = 40;

/// The charsets that a page is declared to have.
pub(super) struct Declared {
    /// Known charsets, the most trustworthy first.
    charsets: Vec<(Charset, How)>,
    /// The first label that is not known.
    pub(super) unknown: Option<Box<str>>,
}

impl Declared {
    /// Finds all declarations of a page.
    pub(super) fn new(bytes: &[u8], hints: &Hints) -> Self {
        let mut declared = Self { charsets: Vec::new(), unknown: None };
        declared.enter(hints.charset.as_deref().map(str::as_bytes), How::Charset);
        declared.enter(
            hints.content_type.as_deref().and_then(|h| charset_parameter(h.as_bytes())),
            How::ContentType,
        );
        declared.enter_markup(&bytes[..bytes.len().min(PRESCAN_BYTES)]);
        declared
    }

    /// Returns the known charsets, the most trustworthy first.
    pub(super) fn charsets(&self) -> impl Iterator<Item = (Charset, How)> {
        self.charsets.iter().copied()
    }

    /// Returns true if UTF-8 is among the charsets.
    pub(super) fn is_utf8(&self) -> bool {
        self.charsets().any(|(charset, _)| charset.is(UTF_8))
    }

    /// Enters a declared label. Returns true if it is known.
    fn enter(&mut self, label: Option<&[u8]>, how: How) -> bool {
        let Some(label) = label.map(<[u8]>::trim_ascii).filter(|label| !label.is_empty()) else {
            return false;
        };
        let charset = Charset::for_label(label);
        match charset {
            Some(charset) => self.charsets.push((charset, how)),
            None if self.unknown.is_none() => {
                let shown = String::from_utf8_lossy(&label[..label.len().min(UNKNOWN_MAX)]).into_owned();
                self.unknown = Some(shown.into());
            }
            None => {}
        }
        charset.is_some()
    }

    /// Enters the charset that the markup declares.
    fn enter_markup(&mut self, head: &[u8]) {
        let found = self.enter(xml_declaration(head), How::Meta) || self.enter_meta(head);
        // A declaration that is readable byte by byte is not in UTF-16 (a rule of the standard).
        if found && let Some((charset, How::Meta)) = self.charsets.last_mut() {
            if charset.is(UTF_16LE) || charset.is(UTF_16BE) {
                *charset = Charset::Standard(UTF_8);
            } else if charset.is(X_USER_DEFINED) {
                *charset = Charset::Standard(WINDOWS_1252);
            }
        }
    }

    /// Enters the charset of the first `<meta>` with a known one. Finds `charset=` anywhere in the tag, as an attribute
    /// or in `content`. Skips tags in comments.
    fn enter_meta(&mut self, head: &[u8]) -> bool {
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'<', &head[at..]) {
            let tag = &head[at + found..];
            if tag.starts_with(b"<!--") {
                at += found + memmem::find(tag, b"-->").map_or(4, |end| end + 3);
                continue;
            }
            let is_meta = tag.get(1..5).is_some_and(|name| name.eq_ignore_ascii_case(b"meta"));
            if is_meta {
                let end = memchr::memchr(b'>', tag).unwrap_or(tag.len());
                if self.enter(charset_parameter(&tag[..end]), How::Meta) {
                    return true;
                }
            }
            at += found + 1;
        }
        false
    }
}

/// Returns the label after `charset=` in a header or in a `content` attribute.
fn charset_parameter(value: &[u8]) -> Option<&[u8]> {
    let lower = value.to_ascii_lowercase();
    let after = memmem::find(&lower, b"charset")? + b"charset".len();
    let rest = value[after..].trim_ascii_start().strip_prefix(b"=")?;
    Some(label(rest.trim_ascii_start()))
}

/// Returns the label at the start of `value`, with or without quotes.
fn label(value: &[u8]) -> &[u8] {
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let end = value.iter().position(|b| b" \t\r\n\x0c;\"'>?/".contains(b)).unwrap_or(value.len());
    &value[..end]
}

/// Returns the label in the XML declaration.
fn xml_declaration(head: &[u8]) -> Option<&[u8]> {
    let head = head.trim_ascii_start();
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let after = memmem::find(declaration, b"encoding")? + b"encoding".len();
    let value = declaration[after..].trim_ascii_start().strip_prefix(b"=")?;
    Some(label(value.trim_ascii_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(bytes: &[u8], hints: &Hints) -> Vec<&'static str> {
        Declared::new(bytes, hints).charsets().map(|(charset, _)| charset.name()).collect()
    }

    #[test]
    fn the_field_comes_before_the_header_before_the_markup() {
        let hints = Hints {
            charset: Some("Big5".to_owned()),
            content_type: Some("text/html; Charset = \"EUC-KR\"".to_owned()),
        };
        assert_eq!(names(b"<meta charset=gb2312>", &hints), ["Big5", "EUC-KR", "GBK"]);
    }

    #[test]
    fn markup_forms_are_read() {
        let none = Hints::default();
        for (markup, name) in [
            ("<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=gb2312'>", "GBK"),
            ("<!-- <meta charset=big5> --><meta charset='shift_jis'/>", "Shift_JIS"),
            ("<?xml version='1.0' encoding='EUC-JP'?><html>", "EUC-JP"),
            ("<meta charset=utf-16le>", "UTF-8"),
        ] {
            assert_eq!(names(markup.as_bytes(), &none), [name], "{markup}");
        }
        assert!(names(b"<meta name=x><meta charset=nonsense>", &none).is_empty());
    }

    #[test]
    fn the_first_unknown_label_is_kept() {
        let hints = Hints { charset: None, content_type: Some("text/html; charset=x-mac-farsi".to_owned()) };
        let declared = Declared::new(b"<meta charset=nonsense><meta charset=gbk>", &hints);
        assert_eq!(declared.unknown.as_deref(), Some("x-mac-farsi"));
        assert_eq!(declared.charsets().count(), 1);
    }
}
