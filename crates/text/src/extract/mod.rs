//! Extracts the main text of an HTML page, as a [`Document`], without the boilerplate around it, and what the page says
//! about itself.
//!
//! ```text
//! page → parse → main_text ─┬→ paragraphs and title → Document
//!        (tree)  (chosen    ├→ page_kind: kind, content, paged article
//!                 blocks)   ├→ metadata: publisher, authors, date, …
//!                           └→ markdown
//! ```
//! A *node* is a block element such as `<div>` or `<p>`. A *block* is a run of text that no block element interrupts:
//! it is kept or dropped as a whole. A *segment* is a piece of the source between two tags within a block. `parse`
//! turns the page into a tree of these, `main_text` chooses the blocks that are main text, and the others read both.
//! Each uses only those before it.
//!
//! In: a decoded page. Out: title, kind of page, whether it has content, and the paragraphs of its main text in order,
//! each with its kind and place; or an [`ExtractError`] if the page exceeds the limits of [`ExtractConfig`].
//!
//! Invariants: the same page gives the same document on every machine (integers only); paragraphs are in the order of
//! the page; recursion is bounded, so nesting cannot exhaust the stack. Cost: linear in the page's bytes, at any
//! nesting. Memory: the tree of `parse/tree.rs`, about half of the page's bytes, and 520 bytes of features per block.
//! `docs/extraction.md` has the measurements.

// Each module uses only those above it. Blank lines keep rustfmt from sorting them.
mod config;

mod document;

mod word_lists;

mod parse;

mod main_text;

mod markdown;

mod metadata;

mod page_kind;

mod without_markup;

pub use config::{ExtractConfig, ExtractError, VERSION};
pub use document::{Document, NoContent, PageBlock, PageKind, Paragraph, ParagraphKind, ParagraphPlace};
use leitong_base::record::Metadata;
use leitong_base::work::Work;
pub use main_text::training;
use main_text::{Chooser, MainText};
pub use metadata::Known;
use page_kind::{no_content, paged};
pub use parse::Syntax;
use parse::{streamed, twice};

/// Extracts pages. Keeps its buffers from page to page; use one per thread.
#[derive(Debug)]
pub struct Extractor {
    chooser: Chooser,
    /// The source of the current page, where it is not read as it came.
    source: String,
}

/// A page and its [`Document`], from which more can be read.
#[derive(Debug)]
pub struct ExtractedPage<'a> {
    /// The main text.
    pub document: Document,
    main_text: MainText<'a>,
    /// True if the text came from the page's data instead of its markup.
    is_from_data: bool,
    /// True if the extractor is [for Markdown](Extractor::for_markdown).
    is_for_markdown: bool,
}

impl Extractor {
    /// Creates an extractor with empty buffers.
    #[must_use]
    pub fn new(config: &ExtractConfig) -> Self {
        Self { chooser: Chooser::new(config, false), source: String::new() }
    }

    /// Returns an extractor whose pages can be written as [Markdown](ExtractedPage::markdown). It is a little slower.
    #[must_use]
    pub fn for_markdown(config: &ExtractConfig) -> Self {
        Self { chooser: Chooser::new(config, true), source: String::new() }
    }

    /// Returns the settings.
    #[must_use]
    pub fn config(&self) -> &ExtractConfig {
        &self.chooser.config
    }

    /// Returns the main text of `html`.
    ///
    /// # Errors
    /// Returns an [`ExtractError`] if the page exceeds the limits.
    pub fn extract(&mut self, html: &str) -> Result<Document, ExtractError> {
        Ok(self.extract_page(html, Syntax::default(), &mut Work::unbounded())?.document)
    }

    /// Extracts `html`, a page of the given syntax.
    ///
    /// # Errors
    /// Returns an [`ExtractError`] if the page exceeds the limits, or costs more than is left of `work`.
    pub fn extract_page<'a>(
        &'a mut self,
        html: &'a str,
        syntax: Syntax,
        work: &mut Work,
    ) -> Result<ExtractedPage<'a>, ExtractError> {
        let Self { chooser, source } = self;
        let placed = streamed::in_place(html);
        let html = match twice::in_source(placed.as_deref().unwrap_or(html)).or(placed) {
            Some(changed) => {
                *source = changed;
                source.as_str()
            }
            None => html,
        };
        chooser.choose(html, syntax, work)?;
        let in_data = chooser.text_in_data(html, work)?;
        if in_data.is_empty() {
            chooser.open_templates(html, work)?;
        }
        let is_from_data = !in_data.is_empty();
        let is_frame = chooser.is_frame && !is_from_data;
        let main_text = chooser.main_text(html);
        let mut document = Document { title: main_text.title(), is_frame, ..Document::default() };
        if is_from_data {
            document.paragraphs = in_data;
            // `classify` cannot tell the kind, because it examines the markup, which has next to no text.
            document.kind = PageKind::Article;
        } else {
            document.paragraphs = main_text.paragraphs();
            document.kind = page_kind::classify(&main_text);
            document.page_kind = no_content::detect_in_page(&main_text);
        }
        Ok(ExtractedPage { document, main_text, is_from_data, is_for_markdown: chooser.records_structure })
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

impl ExtractedPage<'_> {
    /// Returns all blocks of the page in its order.
    #[must_use]
    pub fn blocks(&self) -> Vec<PageBlock> {
        self.main_text.blocks()
    }

    /// Returns the text of the article's own `<h1>`, unless the main text has it; for [`Document::headline`].
    #[must_use]
    pub fn headline(&self) -> Option<String> {
        self.main_text.headline_text()
    }

    /// Returns the headline and the main text as Markdown; `url` is the page's address. `None` if the extractor is not
    /// [for Markdown](Extractor::for_markdown), or if the text came from the page's data, which has no markup;
    /// [`Document::markdown`] writes such a text.
    #[must_use]
    pub fn markdown(&self, url: &str) -> Option<String> {
        if self.is_from_data || !self.is_for_markdown {
            return None;
        }
        Some(markdown::of_blocks(&self.main_text, &markdown::Base::of_page(&self.main_text, url)))
    }

    /// Returns what the page says about its source and itself.
    #[must_use]
    pub fn metadata(&self, known: Known<'_>) -> Metadata {
        metadata::from_page(&self.main_text, &self.document, known)
    }

    /// Returns a text that identifies the article of which this page is a part, if the article is spread over several
    /// pages, and `None` for other pages. `url` is the page's address.
    #[must_use]
    pub fn paged_article(&self, url: &str) -> Option<String> {
        // The text is examined last, because few pages link to numbered pages.
        let article = paged::article(self.main_text.html, url, &self.document)?;
        // Without the current time: a fingerprint depends on the page alone.
        let is_dated = || self.metadata(Known { url, latest: None }).published_at.is_some();
        paged::has_text(&self.main_text, self.document.kind, is_dated).then_some(article)
    }
}

/// Builds the tables that are otherwise built on first use. If a process is forked while another of its threads builds
/// a table, the child waits for that table forever.
pub fn build_tables() {
    parse::entities::build_table();
    main_text::build_tables();
    metadata::build_tables();
    page_kind::build_tables();
}

/// Returns the main text of `html`. [`Extractor`] does the same and keeps its buffers.
///
/// # Errors
/// Returns an [`ExtractError`] if the page exceeds the limits.
pub fn extract(html: &str, config: &ExtractConfig) -> Result<Document, ExtractError> {
    Extractor::new(config).extract(html)
}
