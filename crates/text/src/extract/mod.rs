//! Extracts the main text of an HTML page, as a [`Document`], without the boilerplate around it, and what the page says
//! about itself.
//!
//! ```text
//! page → parse → main_text ─┬→ paragraphs and title → Document
//!        (tree)  (chosen    ├→ page_kind: kind, wall, paged article
//!                 blocks)   ├→ credits: publisher, authors, date, …
//!                           └→ markdown
//! ```
//! A *node* is a block element such as `<div>` or `<p>`. A *block* is a run of text that no block element interrupts:
//! it is kept or dropped as a whole. A *segment* is a piece of the source between two tags within a block. `parse`
//! turns the page into a tree of these, `main_text` chooses the blocks that are main text, and the others read both.
//! Each uses only those before it.
//!
//! In: a decoded page. Out: title, kind of page, whether it is a wall, and the paragraphs of its main text in order,
//! each with its kind and place; or an [`ExtractError`] if the page exceeds the limits of [`ExtractConfig`].
//!
//! Invariants: the same page gives the same document on every machine (integers only); paragraphs are in the order of
//! the page; recursion is bounded, so nesting cannot exhaust the stack. Cost: linear in the page's bytes, at any
//! nesting. Memory: the tree of `parse/tree.rs`, about half of the page's bytes. `docs/extraction.md` has the
//! measurements.

// Each module uses only those above it. Blank lines keep rustfmt from sorting them.
mod config;

mod document;

mod parse;

mod main_text;

mod markdown;

mod credits;

mod page_kind;

mod without_markup;

pub use config::{ExtractConfig, ExtractError, VERSION};
pub use credits::Known;
pub use document::{Document, PageBlock, PageKind, Paragraph, ParagraphKind, Place, Wall};
use leitong_base::record::Credits;
use leitong_base::work::Work;
use main_text::Chooser;
pub use main_text::training;
use page_kind::{paged, walls};
pub use parse::Syntax;

/// Extracts documents. Keeps its buffers from page to page; use one per thread.
#[derive(Debug)]
pub struct Extractor {
    chooser: Chooser,
    /// True if the text of the last page came from its data instead of its markup.
    is_from_data: bool,
}

impl Extractor {
    /// Creates an extractor with empty buffers.
    #[must_use]
    pub fn new(config: &ExtractConfig) -> Self {
        Self { chooser: Chooser::new(config, false), is_from_data: false }
    }

    /// Returns an extractor whose documents can be written as [Markdown](Self::markdown). It is a little
    /// slower.
    #[must_use]
    pub fn for_markdown(config: &ExtractConfig) -> Self {
        Self { chooser: Chooser::new(config, true), is_from_data: false }
    }

    /// Returns the settings.
    #[must_use]
    pub fn config(&self) -> &ExtractConfig {
        self.chooser.config()
    }

    /// Returns the main text of `html`.
    ///
    /// # Errors
    /// Returns an [`ExtractError`] if the page exceeds the limits.
    pub fn extract(&mut self, html: &str) -> Result<Document, ExtractError> {
        self.extract_within(html, Syntax::default(), &mut Work::unbounded())
    }

    /// Returns the main text of `html`, like [`extract`](Self::extract), for a page of the given syntax.
    ///
    /// # Errors
    /// Returns an [`ExtractError`] if the page exceeds the limits, or costs more than is left of `work`.
    pub fn extract_within(
        &mut self,
        html: &str,
        syntax: Syntax,
        work: &mut Work,
    ) -> Result<Document, ExtractError> {
        self.chooser.choose(html, syntax, work)?;
        let in_data = self.chooser.text_in_data(html, work)?;
        let page = self.chooser.main_text(html);
        let mut document = Document { title: page.title(), ..Document::default() };
        self.is_from_data = !in_data.is_empty();
        if self.is_from_data {
            document.paragraphs = in_data;
            // `classify` cannot tell the kind, because it examines the markup, which has next to no text.
            document.kind = PageKind::Article;
        } else {
            document.paragraphs = page.paragraphs();
            document.kind = page_kind::classify(&page);
            document.wall = walls::detect_in_page(&page);
        }
        Ok(document)
    }

    /// Returns all blocks of `html`, which must be the last extracted page, in its order.
    #[must_use]
    pub fn blocks(&self, html: &str) -> Vec<PageBlock> {
        self.chooser.main_text(html).blocks()
    }

    /// Returns the main text of `html` as Markdown. `html` must be the last extracted page, and `url` is its address.
    /// `None` if this extractor is not [for Markdown](Self::for_markdown), or if the text came from the page's data,
    /// which has no markup; [`Document::markdown`] writes such a text.
    #[must_use]
    pub fn markdown(&self, html: &str, url: &str) -> Option<String> {
        if self.is_from_data || !self.chooser.records() {
            return None;
        }
        let page = self.chooser.main_text(html);
        Some(markdown::of_blocks(&page, &markdown::Base::of_page(&page, url)))
    }

    /// Returns what the page says about its source and itself. `html` and `document` must be those of the last
    /// extracted page.
    #[must_use]
    pub fn credits(&self, html: &str, document: &Document, known: Known<'_>) -> Credits {
        credits::from_page(&self.chooser.main_text(html), document, known)
    }

    /// Returns a text that identifies the article of which this page is a part, if the article is spread over several
    /// pages, and `None` for other pages. `html` and `document` must be those of the last extracted page.
    #[must_use]
    pub fn paged_article(&self, html: &str, url: &str, document: &Document) -> Option<String> {
        // The text is examined last, because few pages link to numbered pages.
        let article = paged::article(html, url, document)?;
        // Without the current time: a fingerprint depends on the page alone.
        let is_dated = || self.credits(html, document, Known { url, latest: None }).published_at.is_some();
        paged::has_text(&self.chooser.main_text(html), document.kind, is_dated).then_some(article)
    }

    /// Returns all blocks of `html` with the features by which they are scored, to learn the weights.
    ///
    /// # Errors
    /// Returns an [`ExtractError`] if the page exceeds the limits.
    pub fn block_features(&mut self, html: &str) -> Result<Vec<training::BlockFeatures>, ExtractError> {
        self.chooser.choose(html, Syntax::default(), &mut Work::unbounded())?;
        Ok(training::block_features(&self.chooser.main_text(html)))
    }
}

/// Builds the tables that are otherwise built on first use. If a process is forked while another of its threads builds
/// a table, the child waits for that table forever.
pub fn build_tables() {
    parse::entities::build_table();
    main_text::build_tables();
    page_kind::walls::build_tables();
}

/// Returns the main text of `html`. [`Extractor`] does the same and keeps its buffers.
///
/// # Errors
/// Returns an [`ExtractError`] if the page exceeds the limits.
pub fn extract(html: &str, config: &ExtractConfig) -> Result<Document, ExtractError> {
    Extractor::new(config).extract(html)
}
