//! Extracts the main text of an HTML page, as a [`Document`], without the boilerplate around it.
//!
//! ```text
//! page → parse (tree: nodes, blocks, segments) → features (of each block) → score → select → write (paragraphs)
//! ```
//! A *node* is a block element such as `<div>` or `<p>`. A *block* is a run of text that no block element interrupts: it
//! is kept or dropped as a whole. A *segment* is a piece of the source between two tags within a block. Each block gets
//! features (length, share of links, names of the elements around it, …), and from these the probability that it is main
//! text. Each step is the module of its name. The other modules answer further questions about a page: `page_kind`,
//! `walls`, `title`, `credits`, `paged` (pages of one article), `hidden` and `in_data` (text that only scripts show), and
//! `markdown`.
//!
//! In: a decoded page. Out: title, kind of page, whether it is a wall, and the paragraphs of its main text in order,
//! each with its kind and place; or an [`ExtractError`] if the page exceeds the limits of [`ExtractConfig`].
//!
//! Invariants: the same page gives the same document on every machine (integers only); paragraphs are in the order of
//! the page; no recursion, so nesting cannot exhaust the stack. Cost: linear in the page's bytes, at any nesting.
//! Memory: the tree of `parse/tree.rs`, about half of the page's bytes. `docs/extraction.md` has the measurements.

mod credits;
mod features;
mod hidden;
mod in_data;
pub mod markdown;
mod page_kind;
mod paged;
mod parse;
pub mod score;
mod select;
mod title;
mod walls;
mod write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::page::address::Address;
pub use credits::Known;
use features::Names;
use leitong_base::record::Credits;
use leitong_base::work::{TooMuchWork, Work};
pub use page_kind::PageKind;
use parse::Show;
pub use parse::Syntax;
use parse::tree::Tree;
pub use walls::Wall;

/// Version of these rules, part of the fingerprint hash. Raised whenever the same page may give another text than
/// before, or another wall.
pub const VERSION: u32 = 9;

/// Steps of [work](leitong_base::work) for a byte each time the page is parsed, and for a block each time the blocks
/// are scored.
const BYTE_STEPS: u64 = 10;
const BLOCK_STEPS: u64 = 2500;

/// Bytes of prose from which a page is extracted again if next to nothing was kept, and the share of its prose (as a
/// divisor) below which that is so. On either half of the labelled pages, a tenth to three tenths give the same result:
/// two forums are saved, and no page gets worse.
const PROSE_MIN: u32 = 400;
const KEPT_PART_MIN: u32 = 10;

/// Levels of hidden elements within one another that are opened.
const HIDDEN_LEVELS_MAX: usize = 4;

/// Settings for extracting the main text of HTML (`[extract]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractConfig {
    /// Keeps readers' comments under an article. Posts of a forum are kept in any case.
    pub comments: bool,
    /// Makes pages that show a reason instead of content UNDECIDABLE (WALL): errors, captchas and firewalls, log-in,
    /// consent, blocked regions, parked domains, empty shells of script applications.
    pub walls: bool,
    /// Makes pages that are mainly links to others UNDECIDABLE (LISTING). Off by default, because some pages with a
    /// text of their own are taken for listings (docs/extraction.md).
    pub listings: bool,
    /// Adds to verdicts what a page says about its source and itself: publisher, authors, date, canonical link, site,
    /// language (docs/extraction.md). If off, verdicts have `credits: null`, and a record of the fingerprint log
    /// takes about 80 bytes less. Fingerprints are the same.
    pub credits: bool,
    /// Maximum number of block elements and runs of text in a page. A page with more is UNDECIDABLE (TOO_COMPLEX). Each
    /// takes up to 500 bytes while the page is read.
    #[schemars(range(min = 100, max = 100_000_000))]
    pub nodes_max: usize,
    /// Maximum number of elements that are open within one another. A page with more is UNDECIDABLE (TOO_COMPLEX).
    #[schemars(range(min = 100, max = 100_000_000))]
    pub depth_max: usize,
}

impl Default for ExtractConfig {
    fn default() -> Self {
        // The largest page of our sets has 65,662 runs of text. Depth costs 24 bytes per level and no time; no real
        // page is nested deeper.
        Self {
            comments: false,
            walls: true,
            listings: false,
            credits: true,
            nodes_max: 300_000,
            depth_max: 50_000,
        }
    }
}

/// The reason why a page gives no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ExtractError {
    /// The page has too many block elements and runs of text.
    #[error("the page has more than {nodes_max} block elements and runs of text")]
    TooManyNodes {
        /// The limit.
        nodes_max: usize,
    },
    /// The page's elements are nested too deeply.
    #[error("the page has more than {depth_max} elements within one another")]
    TooDeep {
        /// The limit.
        depth_max: usize,
    },
    /// The page is longer than the offsets allow.
    #[error("the page has {bytes} bytes, above the 4 GiB that can be read")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The page costs more than is left of its work.
    #[error(transparent)]
    TooMuchWork(#[from] TooMuchWork),
}

/// The main text of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// The page's title, if it has one.
    pub title: Option<String>,
    /// The kind of the page.
    pub kind: PageKind,
    /// The paragraphs in the order of the page.
    pub paragraphs: Vec<Paragraph>,
    /// The wall that the page shows instead of content.
    pub wall: Option<Wall>,
    /// The page's address; empty if unknown.
    pub address: Address,
    /// The page's own information about its source and itself; `None` if there is nothing or it was not read.
    pub credits: Option<Box<Credits>>,
}

/// One block of the main text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// The role of the paragraph on the page.
    pub kind: ParagraphKind,
    /// Its text, in one line except for [`ParagraphKind::Code`].
    pub text: String,
    /// Its position in the page's structure.
    pub place: Place,
}

/// A paragraph's position in the page's structure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The nearest heading above it, as an index into [`Document::paragraphs`].
    pub heading: Option<u32>,
    /// Number of lists around it.
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
    /// Its text, like [`Paragraph::text`].
    pub text: String,
    /// True if it is part of the main text.
    pub kept: bool,
    /// The innermost element around it with a role: `nav`, `footer`, …
    pub region: Option<&'static str>,
}

impl Paragraph {
    /// Creates a paragraph without a place.
    #[must_use]
    pub fn new(kind: ParagraphKind, text: String) -> Self {
        Self { kind, text, place: Place::default() }
    }
}

impl Document {
    /// Creates the document of a text without markup: each line is a paragraph.
    #[must_use]
    pub fn from_text(title: Option<String>, text: &str) -> Self {
        let paragraphs = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(|line| Paragraph::new(ParagraphKind::Paragraph, line.to_owned()))
            .collect();
        let mut document = Self { title, paragraphs, ..Self::default() };
        document.wall = walls::detect_in_text(&document);
        document
    }

    /// Returns what a text without markup says about its source and itself.
    #[must_use]
    pub fn text_credits(&self, known: Known<'_>) -> Credits {
        credits::from_text(self, known)
    }

    /// Returns the paragraphs as Markdown, for a text that came without markup. [`Extractor::markdown`] knows
    /// more of a page.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::of_paragraphs(&self.paragraphs)
    }

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
}

/// Extracts documents. Keeps its buffers from page to page; use one per thread.
#[derive(Debug)]
pub struct Extractor {
    config: ExtractConfig,
    /// The syntax of the current page.
    syntax: Syntax,
    tree: Tree,
    stack: parse::Stack,
    selection: select::Selection,
    /// True if the structure that only Markdown needs is recorded, too.
    records: bool,
    /// True if the text of the last page came from its data instead of its markup.
    is_from_data: bool,
}

impl Extractor {
    /// Creates an extractor with empty buffers.
    #[must_use]
    pub fn new(config: &ExtractConfig) -> Self {
        Self {
            config: config.clone(),
            syntax: Syntax::default(),
            tree: Tree::default(),
            stack: parse::Stack::default(),
            selection: select::Selection::default(),
            records: false,
            is_from_data: false,
        }
    }

    /// Returns an extractor whose documents can be written as [Markdown](Self::markdown). It is a little
    /// slower.
    #[must_use]
    pub fn for_markdown(config: &ExtractConfig) -> Self {
        Self { records: true, ..Self::new(config) }
    }

    /// Returns the settings.
    #[must_use]
    pub fn config(&self) -> &ExtractConfig {
        &self.config
    }

    /// Returns the main text of `html`.
    ///
    /// # Errors
    /// Returns an [`ExtractError`] if the page exceeds the limits.
    pub fn extract(&mut self, html: &str) -> Result<Document, ExtractError> {
        self.extract_within(html, Syntax::default(), &mut Work::unbounded())
    }

    /// Does the same for a page of this syntax, but stops when it would cost more than is left of `work`.
    ///
    /// # Errors
    /// Returns an [`ExtractError`] if the page exceeds the limits.
    pub fn extract_within(
        &mut self,
        html: &str,
        syntax: Syntax,
        work: &mut Work,
    ) -> Result<Document, ExtractError> {
        self.syntax = syntax;
        self.choose(html, work)?;
        let mut document = write::write(html, &self.tree, self.selection.blocks());
        document.kind = page_kind::classify(&self.tree, self.selection.blocks());
        document.wall = walls::detect_in_page(html, &self.tree, self.selection.blocks());
        self.is_from_data = self.selection.is_nearly_empty(&self.tree) && self.read_data(html, &mut document);
        document.title = title::find(html, &self.tree);
        Ok(document)
    }

    /// Returns all blocks of `html`, which must be the last extracted page, in its order.
    #[must_use]
    pub fn blocks(&self, html: &str) -> Vec<PageBlock> {
        write::blocks(html, &self.tree, self.selection.blocks())
    }

    /// Returns the main text as Markdown. `html` is the last page that was extracted, by an extractor
    /// [for Markdown](Self::for_markdown); `url` is the page's. None if the text came from the page's data, without
    /// markup: then [`Document::markdown`] is all there is.
    #[must_use]
    pub fn markdown(&self, html: &str, url: &str) -> Option<String> {
        if self.is_from_data || !self.records {
            return None;
        }
        let base = credits::base(html, &self.tree);
        let base = markdown::Base::new(url, base.as_deref());
        Some(markdown::of_blocks(html, &self.tree, self.selection.blocks(), &base))
    }

    /// Returns what the page says about its source and itself. `html` and `document` must be those of the last
    /// extracted page.
    #[must_use]
    pub fn credits(&self, html: &str, document: &Document, known: Known<'_>) -> Credits {
        let (tree, selection) = (&self.tree, &self.selection);
        let page = credits::Parsed { html, tree, chosen: selection.blocks(), phrases: selection.phrases() };
        credits::from_page(&page, document, known)
    }

    /// Returns what the page has in common with the other pages of an article that is spread over several; `None` if it
    /// is not one of these. `html` and `document` must be those of the last extracted page. Few pages link to numbered
    /// pages of their own, so the text is examined last.
    #[must_use]
    pub fn paged_article(&self, html: &str, url: &str, document: &Document) -> Option<String> {
        let article = paged::article(html, url, document)?;
        // Without the current time: a fingerprint depends on the page alone.
        let is_dated = || self.credits(html, document, Known { url, latest: None }).published_at.is_some();
        paged::has_text(&self.tree, self.selection.blocks(), document.kind, is_dated).then_some(article)
    }

    /// Parses `html` and chooses among its blocks. Also reads hidden parts that belong to the text, or all hidden parts
    /// if only they have text. If next to nothing is kept of a page with much prose, chooses again without the evidence
    /// of names.
    fn choose(&mut self, html: &str, work: &mut Work) -> Result<(), ExtractError> {
        self.parse(html, Show::Also(&[]), work)?;
        self.select(html, Names::Read, work)?;
        let shown = self.open_hidden(html, work)?;
        if self.selection.is_nearly_empty(&self.tree) && self.parse_hidden(html, &shown, work)? {
            self.select(html, Names::Read, work)?;
        }
        let (kept, prose) = (self.selection.bytes(&self.tree), self.selection.prose(&self.tree));
        if prose >= PROSE_MIN && kept < prose / KEPT_PART_MIN {
            self.select(html, Names::Doubted, work)?;
            if self.selection.bytes(&self.tree) < 2 * kept {
                self.select(html, Names::Read, work)?;
            }
        }
        Ok(())
    }

    /// Reads hidden parts that belong to the text, up to a few levels deep, as in a page with collapsed sections under
    /// an open dialog. Returns the offsets of the parts that were read, in order.
    fn open_hidden(&mut self, html: &str, work: &mut Work) -> Result<Vec<u32>, ExtractError> {
        let mut shown: Vec<u32> = Vec::new();
        for _ in 0..HIDDEN_LEVELS_MAX {
            let more = hidden::parts_of_text(html, &self.tree, self.selection.blocks());
            if more.is_empty() {
                break;
            }
            shown.extend(more);
            shown.sort_unstable();
            self.parse(html, Show::Also(&shown), work)?;
            self.select(html, Names::Read, work)?;
        }
        Ok(shown)
    }

    fn select(&mut self, html: &str, names: Names, work: &mut Work) -> Result<(), TooMuchWork> {
        work.add(self.tree.blocks.len(), BLOCK_STEPS)?;
        self.selection.select(&self.tree, html, &self.config, names);
        Ok(())
    }

    /// Uses the text in linked data or in a script's state if the markup has next to no text. Returns true if there
    /// is some.
    fn read_data(&self, html: &str, document: &mut Document) -> bool {
        let paragraphs = in_data::text(html, &self.tree);
        if paragraphs.is_empty() {
            return false;
        }
        document.paragraphs = paragraphs;
        document.kind = PageKind::Article;
        document.wall = None;
        true
    }

    fn parse(&mut self, html: &str, show: Show<'_>, work: &mut Work) -> Result<(), ExtractError> {
        work.add(html.len(), BYTE_STEPS)?;
        if u32::try_from(html.len()).is_err() {
            return Err(ExtractError::TooLong { bytes: html.len() });
        }
        let builder = parse::Builder::new(html, &self.config, show, &mut self.tree, &mut self.stack);
        let mut builder = builder.with_syntax(self.syntax).with_structure(self.records);
        parse::scan::scan(html.as_bytes(), &mut builder)
    }

    /// Parses again with hidden nodes and `<noscript>`, if that gives clearly more text. This is for pages that a
    /// script shows or builds, such as threads of Discourse. Otherwise restores the tree from which blocks were chosen,
    /// with the hidden parts that begin at `shown`.
    fn parse_hidden(&mut self, html: &str, shown: &[u32], work: &mut Work) -> Result<bool, ExtractError> {
        let visible = self.tree.bytes();
        self.parse(html, Show::Everything, work)?;
        if self.tree.bytes() > 4 * visible.max(40) {
            return Ok(true);
        }
        self.parse(html, Show::Also(shown), work)?;
        Ok(false)
    }
}

/// Returns the main text of `html`. [`Extractor`] does the same and keeps its buffers.
///
/// # Errors
/// Returns an [`ExtractError`] if the page exceeds the limits.
pub fn extract(html: &str, config: &ExtractConfig) -> Result<Document, ExtractError> {
    Extractor::new(config).extract(html)
}
