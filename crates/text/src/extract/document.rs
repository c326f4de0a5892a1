//! The result of extraction: a [`Document`] with its paragraphs, its kind, and what it shows instead of content, if it
//! has none.

use serde::Serialize;

use crate::page::address::Address;
use leitong_base::record::Metadata;

/// The main text of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// The page's title, if it has one.
    pub title: Option<String>,
    /// The text of the article's own `<h1>`, if the paragraphs lack it. It is not compared, and only set for readers.
    pub headline: Option<String>,
    /// The kind of the page.
    pub kind: PageKind,
    /// The paragraphs in the order of the page.
    pub paragraphs: Vec<Paragraph>,
    /// The kind of page that is shown instead of content; `None` if the page has content.
    pub page_kind: Option<NoContent>,
    /// True if the page has an article, but only the frame of its site was found.
    pub is_frame: bool,
    /// The page's address; empty if unknown.
    pub address: Address,
    /// The page's own information about its source and itself; `None` if there is nothing or it was not read.
    pub metadata: Option<Box<Metadata>>,
}

/// One block of the main text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// The role of the paragraph on the page.
    pub kind: ParagraphKind,
    /// Text of the block, in one line except for [`ParagraphKind::Code`].
    pub text: String,
    /// Position of the block in the page's structure.
    pub place: ParagraphPlace,
}

/// A paragraph's position in the page's structure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParagraphPlace {
    /// The nearest heading above the paragraph, as an index into [`Document::paragraphs`].
    pub heading: Option<u32>,
    /// Number of lists around the paragraph.
    pub list_level: u8,
}

/// The role of a paragraph on its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParagraphKind {
    /// A heading, from 1 (highest) to 6.
    Heading(u8),
    /// Running text.
    Paragraph,
    /// An item of a list.
    ListItem,
    /// A cell of a table.
    TableCell,
    /// A quotation.
    Quote,
    /// Program text, with its line breaks.
    Code,
}

/// A block of a page, in its main text or not, for showing the result of extraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageBlock {
    /// The role of the block on the page.
    pub kind: ParagraphKind,
    /// Text of the block, like [`Paragraph::text`].
    pub text: String,
    /// True if the block is part of the main text.
    pub kept: bool,
    /// The innermost element around the block with a role: `nav`, `footer`, …
    pub region: Option<&'static str>,
}

impl Document {
    /// Returns the main text, one paragraph per line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.paragraphs.iter().map(|p| p.text.len() + 1).sum());
        for paragraph in &self.paragraphs {
            text.push_str(&paragraph.text);
            text.push('\n');
        }
        text
    }

    /// Returns the headline and the main text, one paragraph per line, for readers.
    #[must_use]
    pub fn text_with_headline(&self) -> String {
        let headline = self.headline.iter().flat_map(|headline| [headline.as_str(), "\n"]);
        headline.collect::<String>() + &self.text()
    }
}

impl Paragraph {
    /// Creates a paragraph without a place.
    #[must_use]
    pub fn new(kind: ParagraphKind, text: String) -> Self {
        Self { kind, text, place: ParagraphPlace::default() }
    }
}

/// The kind of page that a document comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// One text: news, blog, documentation, a paper.
    Article,
    /// Posts of several people on one question.
    Forum,
    /// Mainly links to other pages; any text describes those.
    Listing,
    /// None of these, or too little text to decide.
    #[default]
    Other,
}

leitong_base::named! {
    /// The reason that a page shows instead of content.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum NoContent {
        /// The page does not exist, or its server failed: 403, 404, 5xx, deleted, suspended, under maintenance.
        Error = "ERROR",
        /// The visitor is refused, or must prove to be a person: firewalls, captchas, browser checks.
        Blocked = "BLOCKED",
        /// An account is required.
        Login = "LOGIN",
        /// The page asks for consent to cookies, or for the visitor's age.
        Consent = "CONSENT",
        /// The page is not available in the visitor's country.
        Region = "REGION",
        /// The domain is for sale, or the server shows its default page.
        Parked = "PARKED",
        /// A script would build the page, or redirects to another one.
        Shell = "SHELL",
    }
}
