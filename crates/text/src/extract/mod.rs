//! HTML → [`Document`]: the main text, without the boilerplate around it.
//!
//! ```text
//! page → parse (tree: nodes, blocks, segments) → features (of each block) → score → select → write (paragraphs)
//! ```
//! In: a decoded page. Out: title, kind of page, whether it is a wall,
//! and the paragraphs of its main text in order, each with its kind and
//! place, or an [`ExtractError`] past the limits of [`ExtractConfig`].
//!
//! Invariants: the same page gives the same document on every machine (integers only); every
//! paragraph's text stands in the page in that order; no recursion, so that nesting cannot exhaust
//! the stack. Cost: linear in the page's bytes, whatever its nesting; memory: the tree of
//! `parse/tree.rs`, about half of the page's bytes. `docs/extraction.md` has the measurements.

mod credits;
mod features;
mod hidden;
mod in_data;
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

/// Part of the fingerprint hash: raised whenever the same page
/// may give another text than before, or be another wall.
pub const VERSION: u32 = 9;

/// Steps of [work](leitong_base::work) for a byte of the page each time that
/// it is parsed, and for a block each time that blocks are scored.
const BYTE_STEPS: u64 = 10;
const BLOCK_STEPS: u64 = 2500;

/// Bytes of prose from which a page of which next to nothing is kept is looked at again, and the part of
/// its prose below which that is so, as a divisor. On either half of the labelled pages a tenth to three
/// tenths bring the same: two forums are saved, and no page gets worse.
const PROSE_MIN: u32 = 400;
const KEPT_PART_MIN: u32 = 10;

/// Hidden elements within one another that are opened.
const HIDDEN_LEVELS_MAX: usize = 4;

/// From HTML to main text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractConfig {
    /// Keeps readers' comments under an article. Posts of a forum are kept in any case.
    pub comments: bool,
    /// Pages that show a reason in place of content are UNDECIDABLE
    /// (WALL): errors, captchas and firewalls, log-in, consent, blocked
    /// regions, parked domains, empty shells of script applications.
    pub walls: bool,
    /// Pages that are mainly links to others are UNDECIDABLE (LISTING). Off by default, since
    /// now and then a page with a text of its own is taken for one (docs/extraction.md).
    pub listings: bool,
    /// Verdicts say what a page says of its source and of itself: publisher, authors, date,
    /// canonical link, site, language (docs/extraction.md). Off, they have `credits: null`, and
    /// a record of the fingerprint log takes some 80 bytes less. Changes no fingerprint.
    pub credits: bool,
    /// Block elements and runs of text of a page; one with more is UNDECIDABLE
    /// (TOO_COMPLEX). Each takes up to 500 bytes while its page is read.
    #[schemars(range(min = 100, max = 100_000_000))]
    pub nodes_max: usize,
    /// Elements that may be open within one another; a page with more is UNDECIDABLE (TOO_COMPLEX).
    #[schemars(range(min = 100, max = 100_000_000))]
    pub depth_max: usize,
}

impl Default for ExtractConfig {
    fn default() -> Self {
        // The largest page of our sets has 65,662 runs of text. Depth costs 24 bytes a level and no
        // time; what is deeper than this is no page.
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

/// Why a page gives no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ExtractError {
    /// The page has too many block elements and runs of text.
    #[error("the page has more than {nodes_max} block elements and runs of text (extract.nodes_max)")]
    TooManyNodes {
        /// The limit.
        nodes_max: usize,
    },
    /// The page's elements are nested too deeply.
    #[error("the page has more than {depth_max} elements within one another (extract.depth_max)")]
    TooDeep {
        /// The limit.
        depth_max: usize,
    },
    /// The page is longer than offsets reach.
    #[error("the page has {bytes} bytes, above the 4 GiB that can be read")]
    TooLong {
        /// Its length.
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
    /// What sort of page it is.
    pub kind: PageKind,
    /// In the order of the page.
    pub paragraphs: Vec<Paragraph>,
    /// What the page shows in place of content.
    pub wall: Option<Wall>,
    /// Where the page stands; empty where that is not known.
    pub address: Address,
    /// What the page says of its source and of itself; none where nothing, or it was not read.
    pub credits: Option<Box<Credits>>,
}

/// One block of the main text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// What it is on the page.
    pub kind: ParagraphKind,
    /// Its text, in one line but for [`ParagraphKind::Code`].
    pub text: String,
    /// Where it stands in the page's structure.
    pub place: Place,
}

/// Where a paragraph stands in the page's structure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The heading that it stands under, as an index into [`Document::paragraphs`].
    pub heading: Option<u32>,
    /// Lists round it.
    pub list_level: u8,
}

/// What a paragraph is on its page.
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

/// A block of a page, of its main text or not: for people who ask what became of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageBlock {
    /// What it is on the page.
    pub kind: ParagraphKind,
    /// Its text, as [`Paragraph::text`].
    pub text: String,
    /// It is part of the main text.
    pub kept: bool,
    /// The element round it that says what stands there: `nav`, `footer`, …
    pub region: Option<&'static str>,
}

impl Paragraph {
    /// A paragraph that stands nowhere in particular.
    #[must_use]
    pub fn new(kind: ParagraphKind, text: String) -> Self {
        Self { kind, text, place: Place::default() }
    }
}

impl Document {
    /// The document of a text that comes without markup: each line is a paragraph.
    #[must_use]
    pub fn from_text(title: Option<String>, text: &str) -> Self {
        let paragraphs = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(|line| Paragraph::new(ParagraphKind::Paragraph, line.to_owned()))
            .collect();
        let mut document = Self { title, paragraphs, ..Self::default() };
        document.wall = walls::of_text(&document);
        document
    }

    /// What a text that comes without markup says of its source and of itself.
    #[must_use]
    pub fn text_credits(&self, known: Known<'_>) -> Credits {
        credits::of_text(self, known)
    }

    /// The main text: one paragraph a line.
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

/// Extracts documents; keeps its buffers from page to page, so one a thread.
#[derive(Debug)]
pub struct Extractor {
    config: ExtractConfig,
    /// Syntax of the page that is read.
    syntax: Syntax,
    tree: Tree,
    stack: parse::Stack,
    selection: select::Selection,
}

impl Extractor {
    /// An extractor with empty buffers.
    #[must_use]
    pub fn new(config: &ExtractConfig) -> Self {
        Self {
            config: config.clone(),
            syntax: Syntax::default(),
            tree: Tree::default(),
            stack: parse::Stack::default(),
            selection: select::Selection::default(),
        }
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &ExtractConfig {
        &self.config
    }

    /// The main text of `html`.
    ///
    /// # Errors
    /// [`ExtractError`], where the page is past the limits.
    pub fn extract(&mut self, html: &str) -> Result<Document, ExtractError> {
        self.extract_within(html, Syntax::default(), &mut Work::unbounded())
    }

    /// The same for a page of this syntax, and gives up where it costs more than is left of `work`.
    ///
    /// # Errors
    /// [`ExtractError`], where the page is past the limits.
    pub fn extract_within(
        &mut self,
        html: &str,
        syntax: Syntax,
        work: &mut Work,
    ) -> Result<Document, ExtractError> {
        self.syntax = syntax;
        self.choose(html, work)?;
        let mut document = write::write(html, &self.tree, self.selection.blocks());
        document.kind = page_kind::of(&self.tree, self.selection.blocks());
        document.wall = walls::of_page(html, &self.tree, self.selection.blocks());
        if self.selection.is_nearly_empty(&self.tree) {
            self.read_data(html, &mut document);
        }
        document.title = title::of(html, &self.tree);
        Ok(document)
    }

    /// All blocks of the last page that was extracted, `html`, in its order.
    #[must_use]
    pub fn blocks(&self, html: &str) -> Vec<PageBlock> {
        write::blocks(html, &self.tree, self.selection.blocks())
    }

    /// What the page says of its source and of itself. `html` and `document` are those of the last
    /// page that was extracted.
    #[must_use]
    pub fn credits(&self, html: &str, document: &Document, known: Known<'_>) -> Credits {
        let (tree, selection) = (&self.tree, &self.selection);
        let page = credits::Parsed { html, tree, chosen: selection.blocks(), phrases: selection.phrases() };
        credits::of_page(&page, document, known)
    }

    /// What the page has in common with the other pages of an article that is spread over several;
    /// none where it is none of these. `html` and `document` are those of the last page that was
    /// extracted.
    /// Few pages link to numbered pages of their own, so the text is looked at last.
    #[must_use]
    pub fn paged_article(&self, html: &str, url: &str, document: &Document) -> Option<String> {
        let article = paged::article(html, url, document)?;
        // Whatever is taken for the present: a fingerprint is of the page alone.
        let is_dated = || self.credits(html, document, Known { url, latest: None }).published_at.is_some();
        paged::has_text(&self.tree, self.selection.blocks(), document.kind, is_dated).then_some(article)
    }

    /// Parses `html` and chooses among its blocks. Hidden parts that belong to the text are read too, and
    /// all of them where they alone have text. If next to nothing is left of a page with much prose, what
    /// names say is put aside.
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

    /// Reads hidden parts that belong to the text. What is hidden within them is looked at once more, as
    /// in a page under an open dialog that has collapsed sections, and again. Returns
    /// where the parts begin that are read now, in order.
    fn open_hidden(&mut self, html: &str, work: &mut Work) -> Result<Vec<u32>, ExtractError> {
        let mut shown: Vec<u32> = Vec::new();
        for _ in 0..HIDDEN_LEVELS_MAX {
            let more = hidden::belonging(html, &self.tree, self.selection.blocks());
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

    /// Where the markup has next to no text, that of linked data or of a script's state is the page's.
    fn read_data(&self, html: &str, document: &mut Document) {
        let paragraphs = in_data::text(html, &self.tree);
        if !paragraphs.is_empty() {
            document.paragraphs = paragraphs;
            document.kind = PageKind::Article;
            document.wall = None;
        }
    }

    fn parse(&mut self, html: &str, show: Show<'_>, work: &mut Work) -> Result<(), ExtractError> {
        work.add(html.len(), BYTE_STEPS)?;
        if u32::try_from(html.len()).is_err() {
            return Err(ExtractError::TooLong { bytes: html.len() });
        }
        let builder = parse::Builder::new(html, &self.config, show, &mut self.tree, &mut self.stack);
        let mut builder = builder.with_syntax(self.syntax);
        parse::scan::scan(html.as_bytes(), &mut builder)
    }

    /// Parses again with hidden nodes and `<noscript>`, if that gives clearly more
    /// text: pages that a script shows or makes, such as threads of Discourse. Otherwise the tree is again
    /// the one that blocks were chosen from, with the hidden parts that begin at `shown`.
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

/// The main text of `html`; [`Extractor`] does the same with buffers that are kept.
///
/// # Errors
/// [`ExtractError`], where the page is past the limits.
pub fn extract(html: &str, config: &ExtractConfig) -> Result<Document, ExtractError> {
    Extractor::new(config).extract(html)
}
