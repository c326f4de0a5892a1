//! Page → document: the status looked at, the body decoded, the main text extracted.

use std::borrow::Cow;

use crate::decode::{self, DecodeError, Decoded};
use crate::extract::{Document, ExtractError, Extractor};
use crate::page::{Body, Page};
use crate::verdict::Reason;

/// A page's document, and what it was decoded from.
#[derive(Debug)]
pub struct Reading {
    /// The main text.
    pub document: Document,
    /// How the bytes became text; none for pages that came decoded.
    pub charset: Option<Charset>,
}

/// How bytes became text.
#[derive(Debug, Clone, Copy)]
pub struct Charset {
    /// Its name in the Encoding Standard.
    pub name: &'static str,
    /// What told it.
    pub how: decode::How,
    /// Characters that it does not have, each now U+FFFD.
    pub malformed: usize,
}

/// Why a page has no document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// For the verdict.
    pub reason: Reason,
    /// For a person.
    pub message: String,
}

/// Reads `page`.
///
/// # Errors
/// [`Refusal`], where there is no main text to be had.
pub fn read(page: &Page, extractor: &mut Extractor) -> Result<Reading, Refusal> {
    if let Some(status) = page.status.filter(|status| !(200..300).contains(status)) {
        return Err(Refusal::new(Reason::HttpStatus, format!("the HTTP status is {status}")));
    }
    let mut charset = None;
    let html = match &page.body {
        Body::Missing => return Err(Refusal::new(Reason::Empty, "there is no body")),
        Body::TooLarge(bytes) => {
            let message = format!("the body has {bytes} bytes, more than page.bytes_max allows");
            return Err(Refusal::new(Reason::TooLarge, message));
        }
        Body::Text(text) => return plain_text(page, text, None),
        Body::Html(html) => {
            decode::check(html, &page.hints)?;
            Cow::Borrowed(html.as_str())
        }
        Body::HtmlBytes(bytes) => {
            let Decoded { text, charset: name, how, malformed } = decode::decode(bytes, &page.hints)?;
            charset = Some(Charset { name, how, malformed });
            text
        }
    };
    if decode::is_plain_text(&html, &page.hints) {
        return plain_text(page, &html, charset);
    }
    if html.trim().is_empty() {
        return Err(Refusal::empty());
    }
    let mut document = extractor.extract(&html)?;
    if page.title.is_some() {
        document.title.clone_from(&page.title);
    }
    Ok(Reading { document, charset })
}

fn plain_text(page: &Page, text: &str, charset: Option<Charset>) -> Result<Reading, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::empty());
    }
    Ok(Reading { document: Document::from_text(page.title.clone(), text), charset })
}

impl Refusal {
    fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    fn empty() -> Self {
        Self::new(Reason::Empty, "the body is empty")
    }
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        let reason = match error {
            DecodeError::NotHtml(_) => Reason::NotHtml,
            DecodeError::NotText { .. } => Reason::NotText,
        };
        Self::new(reason, error.to_string())
    }
}

impl From<ExtractError> for Refusal {
    fn from(error: ExtractError) -> Self {
        let reason = match error {
            ExtractError::TooManyNodes { .. } | ExtractError::TooDeep { .. } => Reason::TooComplex,
            ExtractError::TooLong { .. } => Reason::TooLarge,
        };
        Self::new(reason, error.to_string())
    }
}
