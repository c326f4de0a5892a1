//! Creates documents of texts that came without markup, and returns their metadata and Markdown.
//!
//! In: a title and a text of lines, or a document of these. Out: the document, its metadata, its Markdown. Pages with
//! markup are read by [`Extractor`]. Cost: linear in the text.
//!
//! [`Extractor`]: crate::extract::Extractor

use crate::extract::document::{Document, Paragraph, ParagraphKind};
use crate::extract::markdown;
use crate::extract::metadata::{self, Known};
use crate::extract::page_kind::no_content;
use crate::extract::parse::twice;
use leitong_base::record::Metadata;

impl Document {
    /// Creates the document of a text without markup: each line is a paragraph.
    #[must_use]
    pub fn from_text(title: Option<String>, text: &str) -> Self {
        let once = twice::in_text(text);
        let paragraphs = once
            .as_deref()
            .unwrap_or(text)
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(|line| Paragraph::new(ParagraphKind::Paragraph, line.to_owned()))
            .collect();
        let mut document = Self { title, paragraphs, ..Self::default() };
        document.page_kind = no_content::detect_in_text(&document);
        document
    }

    /// Returns what a text without markup says about its source and itself.
    #[must_use]
    pub fn text_metadata(&self, known: Known<'_>) -> Metadata {
        metadata::from_text(self, known)
    }

    /// Returns the paragraphs as Markdown, for a text that came without markup. For a page,
    /// [`ExtractedPage::markdown`] also writes links, emphasis, lists, tables and images.
    ///
    /// [`ExtractedPage::markdown`]: crate::extract::ExtractedPage::markdown
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::of_paragraphs(&self.paragraphs)
    }
}
