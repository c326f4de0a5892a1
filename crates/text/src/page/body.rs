//! Turns the body string of a message into a [`Body`].
//!
//! The string is HTML, main text, or the Base64 of bytes in any encoding. If a crawler writes several of
//! these into the same field, the characters decide: HTML contains `<`, Base64 does not.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::Body;
use super::error::PageError;

/// The format of a body string, in rising order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BodyForm {
    /// HTML if it begins with `<`, otherwise the main text.
    Content,
    /// HTML or other text as fetched, or the Base64 of bytes that are not UTF-8.
    Mixed,
    /// The Base64 of bytes whose encoding is to be detected.
    Base64,
    /// HTML that is already decoded.
    Html,
    /// The main text.
    Text,
}

/// A body string and its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenBody {
    pub(super) form: BodyForm,
    pub(super) text: String,
}

impl GivenBody {
    /// Returns the body, or [`Body::TooLarge`] if it exceeds `page_bytes_max` bytes.
    pub(super) fn into_body(self, page_bytes_max: usize) -> Result<Body, PageError> {
        let bounded = |text: String, body: fn(String) -> Body| {
            if text.len() > page_bytes_max { Body::TooLarge(text.len() as u64) } else { body(text) }
        };
        let text = self.text;
        Ok(match self.form {
            BodyForm::Text => bounded(text, Body::Text),
            BodyForm::Html => bounded(text, Body::Html),
            BodyForm::Content if begins_as_markup(&text) => bounded(text, Body::Html),
            BodyForm::Content => bounded(text, Body::Text),
            BodyForm::Mixed if !may_be_base64(&text) => bounded(text, Body::Html),
            BodyForm::Mixed => match decode_base64(&text) {
                Ok(bytes) => Self::bytes(bytes, page_bytes_max),
                Err(_) => bounded(text, Body::Html),
            },
            BodyForm::Base64 if text.len() / 4 * 3 > page_bytes_max.saturating_add(3) => {
                Body::TooLarge((text.len() / 4 * 3) as u64)
            }
            BodyForm::Base64 => Self::bytes(decode_base64(&text)?, page_bytes_max),
        })
    }

    /// Returns the body for bytes whose encoding is to be detected.
    pub(super) fn bytes(bytes: Vec<u8>, page_bytes_max: usize) -> Body {
        if bytes.len() > page_bytes_max { Body::TooLarge(bytes.len() as u64) } else { Body::HtmlBytes(bytes) }
    }
}

fn begins_as_markup(text: &str) -> bool {
    text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('<')
}

/// Returns true if the text has only Base64 characters, in one line or in lines of equal length.
fn may_be_base64(text: &str) -> bool {
    let text = text.trim_ascii();
    let is_base64 = |line: &str| {
        let digits = line.trim_end_matches('=');
        line.len() - digits.len() <= 2
            && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
    };
    let mut lines = text.lines().map(str::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let mut last_seen = false;
    // Checking the first line first makes this fast for HTML: its first byte is not Base64.
    !text.is_empty()
        && is_base64(first)
        && lines.all(|line| {
            let fits = !last_seen && line.len() <= first.len() && is_base64(line);
            last_seen = line.len() < first.len();
            fits
        })
}

/// Decodes the standard alphabet, with or without padding, in one or several lines.
fn decode_base64(base64: &str) -> Result<Vec<u8>, PageError> {
    const ENGINE: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let mut base64 = Cow::Borrowed(base64);
    if base64.bytes().any(|byte| byte.is_ascii_whitespace()) {
        base64.to_mut().retain(|c| !c.is_ascii_whitespace());
    }
    ENGINE.decode(base64.as_bytes()).map_err(|error| PageError::BadBase64(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(form: BodyForm, text: &str) -> Body {
        GivenBody { form, text: text.to_owned() }.into_body(1000).expect("a body")
    }

    #[test]
    fn the_format_of_a_body_is_recognised_by_its_characters() {
        let html = |text: &str| Body::Html(text.to_owned());
        assert_eq!(body(BodyForm::Mixed, "<p>你好"), html("<p>你好"));
        assert_eq!(body(BodyForm::Mixed, "PHA+xOM8L3A+"), Body::HtmlBytes(b"<p>\xc4\xe3</p>".to_vec()));
        let broken = "PHA+\nxOM8\nL3A+\n";
        assert_eq!(body(BodyForm::Mixed, broken), Body::HtmlBytes(b"<p>\xc4\xe3</p>".to_vec()));
        assert_eq!(body(BodyForm::Mixed, &broken.replace('\n', "\r\n")), body(BodyForm::Mixed, broken));
        for text in ["", "two words", "a list\nof words", "word\nlonger", "你好", "a===", "-_-_"] {
            assert_eq!(body(BodyForm::Mixed, text), html(text), "{text:?}");
        }
        assert_eq!(body(BodyForm::Content, "\u{feff} <html>"), html("\u{feff} <html>"));
        assert_eq!(body(BodyForm::Content, "a < b"), Body::Text("a < b".to_owned()));
    }

    #[test]
    fn bodies_are_bounded() {
        let long = "x".repeat(1001);
        for form in [BodyForm::Text, BodyForm::Html, BodyForm::Content] {
            assert_eq!(body(form, &long), Body::TooLarge(1001));
        }
        assert_eq!(body(BodyForm::Mixed, &"PHA+".repeat(400)), Body::TooLarge(1200));
        assert_eq!(body(BodyForm::Base64, &"PHA+".repeat(400)), Body::TooLarge(1200));
    }
}
