//! Turns a page into a document: checks the status, decodes the body, extracts the main text, and recognises
//! pages without content.
//!
//! Out: the document, or the reason why there is none; a function of the page and the settings, without side
//! effects.
//! Cost: bounded by the steps of [work](leitong_base::work) that the caller allows.

use std::borrow::Cow;
use std::path::Path;

use crate::marks::Marks;
use crate::marks::Step;
use leitong_base::record::{Reason, Timestamp};
use leitong_base::work::{TooMuchWork, Work};
use leitong_text::decode::{self, DecodeError, Decoded};
use leitong_text::extract::{
    Document, ExtractConfig, ExtractError, ExtractedPage, Extractor, Known, PageBlock, PageKind, Paragraph,
    Syntax,
};
use leitong_text::page::{Address, Body, Page, Repaired};
use thiserror::Error;

/// Steps of work per byte that is decoded, or divided into lines.
const BYTE_STEPS: u64 = 10;

/// The document of a page, and details of its decoding.
#[derive(Debug)]
pub struct DecodedDocument {
    /// The main text.
    pub document: Document,
    /// The charset that the body was decoded by. `None` if the page came as text.
    pub charset: Option<Charset>,
    /// The reason why the main text is not compared: it belongs to an error or log-in page, or describes other pages.
    /// `None` if it is compared.
    pub no_content: Option<Reason>,
}

/// The charset of a body.
#[derive(Debug, Clone)]
pub struct Charset {
    /// The name in the Encoding Standard, or the registered one.
    pub name: &'static str,
    /// The source of the charset.
    pub how: decode::How,
    /// Number of malformed characters, each replaced by U+FFFD.
    pub malformed: usize,
    /// The declared charset, if it is not known.
    pub unknown: Option<Box<str>>,
}

impl Charset {
    /// Notes in `repaired` what could not be decoded.
    pub fn note_in(self, repaired: &mut Repaired) {
        repaired.broken_bytes = self.malformed > 0;
        repaired.unknown_charset = self.unknown;
    }
}

/// The reason why a page has no document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {message}", reason.as_str())]
#[non_exhaustive]
pub struct Refusal {
    /// The reason in the verdict.
    pub reason: Reason,
    /// An explanation for people.
    pub message: String,
}

/// Reads `page`, until `work` is used up.
///
/// # Errors
/// [`Refusal`] if the page has no main text.
pub fn read(page: &Page, extractor: &mut Extractor, work: &mut Work) -> Result<DecodedDocument, Refusal> {
    Ok(read_and_mark(page, false, extractor, work, &mut Marks::default())?.0)
}

/// Works like [`read_markdown`] with any extractor, and records in `marks` when the body was decoded. The document
/// has its headline if it is `for_readers`. There is no Markdown if the extractor is not [for it](Extractor::for_markdown).
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn read_and_mark(
    page: &Page,
    for_readers: bool,
    extractor: &mut Extractor,
    work: &mut Work,
    marks: &mut Marks,
) -> Result<(DecodedDocument, Option<String>), Refusal> {
    let look = |extracted: &ExtractedPage<'_>| {
        (extracted.markdown(&page.url), if for_readers { extracted.headline() } else { None })
    };
    let (mut reading, found) = read_and_look(page, extractor, work, marks, look)?;
    let (markdown, headline) = found.unwrap_or_default();
    reading.document.headline = headline;
    Ok((reading, markdown))
}

/// Works like [`read`], and also returns all blocks of the page. Those with `kept` are the document's
/// paragraphs.
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn read_blocks(
    page: &Page,
    extractor: &mut Extractor,
    work: &mut Work,
) -> Result<(DecodedDocument, Vec<PageBlock>), Refusal> {
    let look = |page: &ExtractedPage<'_>| page.blocks();
    let (reading, blocks) = read_and_look(page, extractor, work, &mut Marks::default(), look)?;
    let mut blocks = blocks.unwrap_or_default();
    let paragraphs = &reading.document.paragraphs;
    let kept = blocks.iter().filter(|block| block.kept).map(|block| &block.text);
    if !kept.eq(paragraphs.iter().map(|paragraph| &paragraph.text)) {
        // Plain text has no blocks, and linked data is in none of them.
        blocks.iter_mut().for_each(|block| block.kept = false);
        let block = |paragraph: &Paragraph| {
            let Paragraph { kind, text, .. } = paragraph.clone();
            PageBlock { kind, text, kept: true, region: None }
        };
        blocks.splice(..0, paragraphs.iter().map(block));
    }
    Ok((reading, blocks))
}

/// Reads `page`, and returns the main text as Markdown as well, or `None` for a text without markup. The extractor
/// must be one [for Markdown](Extractor::for_markdown).
///
/// # Errors
/// The errors of [`read`].
pub fn read_markdown(
    page: &Page,
    extractor: &mut Extractor,
    work: &mut Work,
) -> Result<(DecodedDocument, Option<String>), Refusal> {
    read_and_mark(page, true, extractor, work, &mut Marks::default())
}

/// Reads `page`. Also returns what `look` finds in the extracted page, or `None` for a text, which is not extracted.
fn read_and_look<Found>(
    page: &Page,
    extractor: &mut Extractor,
    work: &mut Work,
    marks: &mut Marks,
    look: impl FnOnce(&ExtractedPage<'_>) -> Found,
) -> Result<(DecodedDocument, Option<Found>), Refusal> {
    if page.body == Body::Withdrawn {
        return Err(Refusal::new(Reason::Withdrawn, "the page is withdrawn"));
    }
    if let Some(status) = page.status.filter(|status| !(200..300).contains(status)) {
        return Err(Refusal::new(Reason::HttpStatus, format!("the HTTP status is {status}")));
    }
    work.add(page.body.bytes(), BYTE_STEPS)?;
    let mut charset = None;
    let html = match &page.body {
        Body::Missing | Body::InWarc(_) | Body::Withdrawn => {
            return Err(Refusal::new(Reason::Empty, "the page has no body"));
        }
        Body::TooLarge(bytes) => {
            let message = format!("the body has {bytes} bytes, more than page.bytes_max allows");
            return Err(Refusal::new(Reason::TooLarge, message));
        }
        Body::TooManyCodings(codings) => {
            let message = format!("the body has {codings} nested content codings; at most 5 are decoded");
            return Err(Refusal::new(Reason::TooComplex, message));
        }
        Body::Text(text) => return Ok((plain_text(page, text, None, extractor.config())?, None)),
        Body::Html(html) => {
            decode::check(html, &page.hints)?;
            Cow::Borrowed(html.as_str())
        }
        Body::HtmlBytes(bytes) => {
            let Decoded { text, charset: name, how, malformed, unknown } =
                decode::decode(bytes, &page.hints)?;
            charset = Some(Charset { name, how, malformed, unknown });
            text
        }
    };
    marks.end(Step::Decode);
    if decode::is_plain_text(&html, &page.hints) {
        return Ok((plain_text(page, &html, charset, extractor.config())?, None));
    }
    if html.trim().is_empty() {
        return Err(Refusal::empty());
    }
    let reads_metadata = extractor.config().metadata;
    let mut extracted = extractor.extract_page(&html, syntax(page), work)?;
    let found = look(&extracted);
    if page.title.is_some() {
        extracted.document.title.clone_from(&page.title);
    }
    extracted.document.address = Address::from_url(&page.url);
    extracted.document.address.article = extracted.paged_article(&page.url).unwrap_or_default();
    if reads_metadata {
        extracted.document.metadata = extracted.metadata(known(page)).boxed();
    }
    let document = extracted.document;
    let no_content = no_content(&document, extractor.config());
    Ok((DecodedDocument { document, charset, no_content }, Some(found)))
}

/// Returns the rules by which a page's markup is read. They follow from its content type, or else from the
/// suffix of its url, as on a web server.
fn syntax(page: &Page) -> Syntax {
    let Some(content_type) = &page.hints.content_type else {
        let path = page.url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        // A page's file may be compressed.
        let is_named = [".xhtml", ".xht", ".xhtml.gz", ".xhtml.zst"].iter().any(|end| path.ends_with(end));
        return if is_named { Syntax::Xml } else { Syntax::Unstated };
    };
    match content_type.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "text/html" => Syntax::Html,
        xml if xml.ends_with("/xml") || xml.ends_with("+xml") || xml.ends_with("/xhtml") => Syntax::Xml,
        _ => Syntax::Unstated,
    }
}

/// Returns the properties of a page apart from its body. A page without a fetch time counts as fetched now.
fn known(page: &Page) -> Known<'_> {
    Known { url: &page.url, latest: Some(page.fetched_at.unwrap_or_else(Timestamp::now)) }
}

fn plain_text(
    page: &Page,
    text: &str,
    charset: Option<Charset>,
    config: &ExtractConfig,
) -> Result<DecodedDocument, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::empty());
    }
    let mut document = Document::from_text(page.title.clone(), text);
    document.address = Address::from_url(&page.url);
    if config.metadata {
        document.metadata = document.text_metadata(known(page)).boxed();
    }
    let no_content = no_content(&document, config);
    Ok(DecodedDocument { document, charset, no_content })
}

/// Returns the reason for not comparing a document, if the configuration asks for it.
fn no_content(document: &Document, config: &ExtractConfig) -> Option<Reason> {
    if config.page_kinds && document.page_kind.is_some() {
        Some(Reason::NoContent)
    } else if config.page_kinds && document.is_frame {
        Some(Reason::NoArticle)
    } else if config.listings && document.kind == PageKind::Listing {
        Some(Reason::Listing)
    } else {
        None
    }
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

impl From<TooMuchWork> for Refusal {
    fn from(error: TooMuchWork) -> Self {
        Self::new(Reason::TooComplex, error.to_string())
    }
}

impl From<ExtractError> for Refusal {
    fn from(error: ExtractError) -> Self {
        let reason = match error {
            ExtractError::TooManyNodes { .. }
            | ExtractError::TooDeep { .. }
            | ExtractError::TooMuchWork(_) => Reason::TooComplex,
            ExtractError::TooLong { .. } => Reason::TooLarge,
        };
        Self::new(reason, error.to_string())
    }
}

/// Returns true if a file is plain text by its name, as a web server would decide.
#[must_use]
pub fn is_text_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By HTML's rules, a self-closing script would swallow the whole page of XHTML.
    #[test]
    fn the_content_type_or_file_name_of_a_page_decides_the_rules_for_its_markup() {
        for (url, content_type, expected) in [
            ("http://a/", Some("application/xhtml+xml; charset=utf-8"), Syntax::Xml),
            ("http://a/", Some("Application/XHTML+XML"), Syntax::Xml),
            ("http://a/x.xhtml", Some("text/html"), Syntax::Html),
            ("http://a/x", Some("application/octet-stream"), Syntax::Unstated),
            ("document:pages/x.xhtml", None, Syntax::Xml),
            ("http://a/x.XHTML?print#top", None, Syntax::Xml),
            ("http://a/x.html", None, Syntax::Unstated),
        ] {
            let mut page =
                Page::html(url, "<title>t</title><script src='x.js'/><p>The text of the page.</p>");
            page.hints.content_type = content_type.map(str::to_owned);
            assert_eq!(syntax(&page), expected, "{url} {content_type:?}");
            let mut extractor = Extractor::new(&ExtractConfig::default());
            let reading = read(&page, &mut extractor, &mut Work::unbounded()).expect("a page");
            let text = reading.document.text();
            assert_eq!(text.contains("The text"), expected != Syntax::Html, "{url} {content_type:?}");
        }
    }
}
