//! Turns the bytes of a fetched page into text: finds the character encoding and decodes.
//!
//! ```text
//! bytes → media (is this HTML or text at all?) → UTF-8? → candidates: BOM, charset field, Content-Type, <meta>
//!       → plausibility of the declared one on a sample → detection on that sample → words → encoding_rs, tables
//! ```
//! In: a body as fetched and what the crawler and server say about it ([`Hints`]). Out: [`Decoded`], borrowed if the
//! bytes are UTF-8 already, or a [`DecodeError`] with the reason why there is no text.
//!
//! Invariants: valid UTF-8 is never passed to the detector, and never decoded as anything else, except ISO-2022 (by
//! its escape codes), HZ and UTF-7 (whose bytes are all ASCII), EBCDIC, and UTF-16 with too many control bytes for a
//! text; the detector reads at most [`sample::BYTES_MAX`] bytes; no input panics. Cost: for UTF-8 one SIMD check of
//! the bytes (about 20 GB/s); else one decoding pass, and 0.2 ms for sample and detector. Memory: the text.

mod candidates;
mod charset;
mod cns11643;
mod detect;
mod ebcdic;
mod hz;
mod iso2022;
mod media;
mod plausible;
mod sample;
mod tables;
mod utf16;
mod utf7;
mod utf8;
mod visual;
mod words;

use std::borrow::Cow;

use candidates::Declared;
use charset::{Charset, SevenBit};
use encoding_rs::{Encoding, ISO_8859_8, UTF_8};
use serde::Serialize;
use tables::CodePage;
use thiserror::Error;

use crate::page::Hints;

/// Version of these rules, part of the fingerprint hash. Raise it whenever the same bytes may give another text than
/// before.
pub const VERSION: u32 = 5;

/// A decoded page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// The Encoding Standard's name, or the registered one of a charset that it lacks, such as `UTF-32LE`, `EUC-TW`,
    /// `HZ-GB-2312` and `IBM850`.
    pub charset: &'static str,
    /// The source of the charset.
    pub how: How,
    /// Number of U+FFFD that replace bytes without a character in the charset (one may replace several).
    pub malformed: usize,
    /// The declared charset, if it is not known and the charset was detected instead.
    pub unknown: Option<Box<str>>,
}

/// The source of a page's charset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The bytes are UTF-8, except for a few broken ones if [`Decoded::malformed`] is above 0.
    Utf8,
    /// A byte order mark.
    Bom,
    /// The crawler's charset field.
    Charset,
    /// The `Content-Type` header.
    ContentType,
    /// `<meta>` or the XML declaration.
    Meta,
    /// Statistics of a sample of the bytes.
    Detected,
}

/// The reason why a body is not a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The body is a document of another kind, such as a PDF or an image.
    #[error("the body is {0}, not HTML")]
    NotHtml(&'static str),
    /// The bytes are not text in any encoding.
    #[error("the body is not text: {control} of its first {looked_at} bytes are control bytes")]
    NotText {
        /// Number of control bytes that do not occur in text.
        control: usize,
        /// Number of bytes examined.
        looked_at: usize,
    },
}

/// Decodes a fetched body.
///
/// # Errors
/// Returns a [`DecodeError`] if the body is neither an HTML page nor plain text.
pub fn decode<'a>(bytes: &'a [u8], hints: &Hints) -> Result<Decoded<'a>, DecodeError> {
    media::check_signature(bytes)?;
    let decoded = text(bytes, hints)?;
    media::check_content_type(&decoded.text, hints.content_type.as_deref())?;
    Ok(decoded)
}

/// Decodes a body without checking its `Content-Type`.
fn text<'a>(bytes: &'a [u8], hints: &Hints) -> Result<Decoded<'a>, DecodeError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes)
        && !utf16::is_utf32_mark(bytes)
    {
        return Ok(decode_as(encoding, How::Bom, &bytes[mark..]));
    }
    if let Some(decoded) = utf16::decode(bytes) {
        return Ok(decoded);
    }
    if let Some(detected) = ebcdic::detect(bytes) {
        return Ok(ebcdic(bytes, hints, detected));
    }
    if let Err(not_text) = media::check_control_bytes(bytes) {
        return utf16::decode_without_zeros(bytes).ok_or(not_text);
    }
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return Ok(
            seven_bit(bytes, hints).unwrap_or_else(|| decoded_as(text.into(), UTF_8.name(), How::Utf8))
        );
    }
    let declared = Declared::new(bytes, hints);
    if utf8::is_meant(bytes, declared.is_utf8()) {
        return Ok(decode_as(UTF_8, How::Utf8, bytes));
    }
    Ok(legacy(bytes, declared))
}

/// Checks if `text`, which is decoded already, may be a page.
///
/// # Errors
/// Returns a [`DecodeError`] if it is neither an HTML page nor plain text.
pub fn check(text: &str, hints: &Hints) -> Result<(), DecodeError> {
    media::check_signature(text.as_bytes())?;
    media::check_control_bytes(text.as_bytes())?;
    media::check_content_type(text, hints.content_type.as_deref())
}

/// Returns true if `hints` declare plain text and `text` does not look like markup.
#[must_use]
pub fn is_plain_text(text: &str, hints: &Hints) -> bool {
    let content_type = hints.content_type.as_deref().unwrap_or_default().trim_start();
    content_type.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("text/plain"))
        && !media::looks_like_markup(text)
}

/// Decodes EBCDIC. The header or the markup, which is in EBCDIC itself, may declare another code page than the detected
/// one.
fn ebcdic(bytes: &[u8], hints: &Hints, detected: &'static CodePage) -> Decoded<'static> {
    let text = detected.decode(bytes);
    let is_ebcdic = |(charset, how)| match charset {
        Charset::CodePage(table) if table.is_ebcdic() => Some((table, how)),
        _ => None,
    };
    match Declared::new(text.as_bytes(), hints).charsets().find_map(is_ebcdic) {
        Some((table, how)) => decoded_as(table.decode(bytes).into(), table.name, how),
        None => decoded_as(text.into(), detected.name, How::Detected),
    }
}

/// Decodes the charsets whose bytes are all ASCII, if they are declared or detected.
fn seven_bit(bytes: &[u8], hints: &Hints) -> Option<Decoded<'static>> {
    let has_escapes = memchr::memchr(0x1b, bytes).is_some();
    let may_be_ascii_form = bytes.is_ascii() && (hz::may_be(bytes) || utf7::may_be(bytes));
    if !has_escapes && !may_be_ascii_form {
        return None;
    }
    let declared = Declared::new(bytes, hints);
    let declaration = |wanted: SevenBit| {
        declared
            .charsets()
            .find(|(charset, _)| matches!(charset, Charset::SevenBit(found) if *found == wanted))
    };
    if has_escapes && let Some(iso2022::Text { text, charset, characters }) = iso2022::decode(bytes) {
        let how = declaration(SevenBit::Iso2022).map(|(_, how)| how);
        let decoded = decoded_as(text.into(), charset, how.unwrap_or(How::Detected));
        if how.is_some() || decoded.malformed * 4 <= characters {
            return Some(decoded);
        }
    }
    if !may_be_ascii_form {
        return None;
    }
    let hz = declaration(SevenBit::Hz);
    let utf7 = declaration(SevenBit::Utf7);
    let how = |declared: Option<(Charset, How)>| declared.map_or(How::Detected, |(_, how)| how);
    hz::decode(bytes, hz.is_some()).map(|text| decoded_as(text.into(), "HZ-GB-2312", how(hz))).or_else(|| {
        utf7::decode(bytes, utf7.is_some()).map(|text| decoded_as(text.into(), "UTF-7", how(utf7)))
    })
}

/// Decodes bytes that are not UTF-8.
fn legacy(bytes: &[u8], declared: Declared) -> Decoded<'_> {
    let sample = sample::take(bytes);
    let detected = detect::detect(&sample);
    let plausible = |charset: Charset| !charset.is(UTF_8) && plausible::may_be(charset, detected, &sample);
    let found = declared.charsets().find(|(charset, _)| plausible(*charset));
    if found.is_none()
        && let Some(text) = cns11643::decode(bytes, &sample)
    {
        return Decoded { unknown: declared.unknown, ..decoded_as(text.into(), "EUC-TW", How::Detected) };
    }
    let (charset, how) = found.unwrap_or((Charset::Standard(detected), How::Detected));
    let (charset, how) = match words::corrected(charset, detected, &sample) {
        Some(corrected) => (corrected, How::Detected),
        None => (charset, how),
    };
    let unknown = declared.unknown.filter(|_| how == How::Detected);
    let mut decoded = decoded_as(charset.decode(bytes), charset.name(), how);
    if charset.is(ISO_8859_8)
        && let Some(logical) = visual::to_logical(&decoded.text)
    {
        decoded.text = logical.into();
    }
    Decoded { unknown, ..decoded }
}

/// Decodes `bytes` as `encoding`, replacing invalid bytes.
fn decode_as<'a>(encoding: &'static Encoding, how: How, bytes: &'a [u8]) -> Decoded<'a> {
    decoded_as(encoding.decode_without_bom_handling(bytes).0, encoding.name(), how)
}

/// Returns a decoded page.
fn decoded_as<'a>(text: Cow<'a, str>, charset: &'static str, how: How) -> Decoded<'a> {
    let malformed = match &text {
        Cow::Borrowed(_) => 0,
        Cow::Owned(text) => memchr::memmem::find_iter(text.as_bytes(), "\u{fffd}").count(),
    };
    Decoded { text, charset, how, malformed, unknown: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset_of(bytes: &[u8], hints: &Hints) -> (&'static str, How) {
        decode(bytes, hints).map(|decoded| (decoded.charset, decoded.how)).unwrap_or(("none", How::Detected))
    }

    const CHINESE: &str = "<meta charset=utf-8><p>他们说这个问题现在还没有解决，我们要看以后的发展。</p>";

    #[test]
    fn valid_utf8_wins_over_every_declaration() {
        let hints = Hints {
            charset: Some("gbk".to_owned()),
            content_type: Some("text/html; charset=big5".to_owned()),
        };
        assert_eq!(charset_of(CHINESE.as_bytes(), &hints), ("UTF-8", How::Utf8));
    }

    #[test]
    fn a_declaration_that_the_bytes_contradict_is_ignored() {
        let (gbk, _, _) = encoding_rs::GBK.encode(CHINESE);
        let latin = Hints { charset: None, content_type: Some("text/html; charset=iso-8859-1".to_owned()) };
        assert_eq!(charset_of(&gbk, &latin), ("GBK", How::Detected));
        let big5 = Hints { charset: Some("big5".to_owned()), content_type: None };
        assert_eq!(charset_of(&gbk, &big5), ("GBK", How::Detected));
    }

    #[test]
    fn byte_order_marks_and_escape_codes_are_read() {
        let none = Hints::default();
        assert_eq!(charset_of(b"\xef\xbb\xbfabc", &none), ("UTF-8", How::Bom));
        assert_eq!(charset_of(b"\xff\xfea\0b\0", &none), ("UTF-16LE", How::Bom));
        assert_eq!(charset_of(b"\xff\xfe\0\0a\0\0\0", &none), ("UTF-32LE", How::Bom));
        assert_eq!(charset_of(b"\x1b$B$3$s\x1b(B", &none), ("ISO-2022-JP", How::Detected));
        assert_eq!(charset_of(b"\x1b$)C\x0e?*;g@{\x0f", &none), ("ISO-2022-KR", How::Detected));
    }

    /// HZ, UTF-7, EBCDIC and ISO-2022-CN were read as they stand, without a word.
    #[test]
    fn charsets_that_the_standard_lacks_are_decoded_and_named() {
        let declared = |charset: &str| Hints { charset: Some(charset.to_owned()), content_type: None };
        let read = |bytes: &[u8], hints: &Hints| {
            decode(bytes, hints).map(|found| (found.text.into_owned(), found.charset, found.malformed))
        };
        for (bytes, hints, text, charset) in [
            (&b"<p>~{VPND~}"[..], declared("hz-gb-2312"), "<p>中文", "HZ-GB-2312"),
            (b"<meta charset=utf-7>+AOk-", Hints::default(), "<meta charset=utf-7>é", "UTF-7"),
            (b"<p>\x1b$)A\x0eVPND", declared("iso-2022-cn"), "<p>中文", "ISO-2022-CN"),
            (b"<p>caf\x82", declared("cp850"), "<p>café", "IBM850"),
            (b"\x1b$)C\x0e?*;g~~\x0f", declared("iso-2022-kr"), "역사\u{fffd}", "ISO-2022-KR"),
        ] {
            let malformed = text.matches('\u{fffd}').count();
            assert_eq!(read(bytes, &hints), Ok((text.to_owned(), charset, malformed)));
        }
    }

    #[test]
    fn an_unknown_charset_is_named_if_it_was_guessed() {
        let hints = Hints { charset: Some("x-mac-farsi".to_owned()), content_type: None };
        let unknown = |bytes: &[u8]| decode(bytes, &hints).expect("text").unknown.map(String::from);
        assert_eq!(unknown(b"caf\xe9").as_deref(), Some("x-mac-farsi"));
        assert_eq!(unknown("café".as_bytes()), None);
    }

    #[test]
    fn a_utf8_page_with_a_broken_byte_stays_utf8() {
        let mut bytes = CHINESE.as_bytes().to_vec();
        bytes.push(0xe4);
        let decoded = decode(&bytes, &Hints::default()).expect("text");
        assert_eq!((decoded.charset, decoded.how, decoded.malformed), ("UTF-8", How::Utf8, 1));
    }

    #[test]
    fn an_empty_body_is_an_empty_text() {
        assert_eq!(decode(b"", &Hints::default()).map(|d| d.text.into_owned()), Ok(String::new()));
    }
}
