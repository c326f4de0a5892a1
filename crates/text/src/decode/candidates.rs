//! Lists the encodings that a page is declared to have, by the crawler's field, the header, `<meta>` and the XML
//! declaration.
//!
//! In: the bytes and the hints. Out: encodings with their origin, the most trustworthy first, without unknown labels.
//! The order is the HTML standard's (transport before markup), with the crawler's own field first. Cost: reads the
//! first [`PRESCAN_BYTES`] bytes.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

use super::How;
use crate::page::Hints;

/// Number of bytes searched for a declaration. The standard reads 1,024; real pages have scripts and comments before
/// their `<meta>`.
const PRESCAN_BYTES: usize = 16 << 10;

/// Returns all declared encodings, the most trustworthy first.
pub(super) fn declared(bytes: &[u8], hints: &Hints) -> impl Iterator<Item = (&'static Encoding, How)> {
    let field = hints.charset.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
    let header = hints.content_type.as_deref().and_then(|header| charset_parameter(header.as_bytes()));
    let meta = prescan(&bytes[..bytes.len().min(PRESCAN_BYTES)]);
    [(field, How::Charset), (header, How::ContentType), (meta, How::Meta)]
        .into_iter()
        .filter_map(|(encoding, how)| Some((encoding?, how)))
}

/// Returns the encoding after `charset=` in a header or in a `content` attribute.
fn charset_parameter(value: &[u8]) -> Option<&'static Encoding> {
    let lower = value.to_ascii_lowercase();
    let after = memmem::find(&lower, b"charset")? + b"charset".len();
    let rest = lower[after..].trim_ascii_start().strip_prefix(b"=")?;
    Encoding::for_label(label(rest.trim_ascii_start()))
}

/// Returns the label at the start of `value`, with or without quotes.
fn label(value: &[u8]) -> &[u8] {
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let end = value.iter().position(|b| b" \t\r\n\x0c;\"'>?/".contains(b)).unwrap_or(value.len());
    &value[..end]
}

/// Returns the encoding that the markup declares.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    let encoding = xml_declaration(head).or_else(|| meta(head))?;
    // A declaration that is readable byte by byte is not in UTF-16 (a rule of the standard).
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

fn xml_declaration(head: &[u8]) -> Option<&'static Encoding> {
    let head = head.trim_ascii_start();
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let after = memmem::find(declaration, b"encoding")? + b"encoding".len();
    let value = declaration[after..].trim_ascii_start().strip_prefix(b"=")?;
    Encoding::for_label(label(value.trim_ascii_start()))
}

/// Returns the charset of the first `<meta>` with a known one. Finds `charset=` anywhere in the tag, as an attribute or
/// in `content`. Skips tags in comments.
fn meta(head: &[u8]) -> Option<&'static Encoding> {
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
            if let Some(encoding) = charset_parameter(&tag[..end]) {
                return Some(encoding);
            }
        }
        at += found + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(bytes: &[u8], hints: &Hints) -> Vec<&'static str> {
        declared(bytes, hints).map(|(encoding, _)| encoding.name()).collect()
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
}
