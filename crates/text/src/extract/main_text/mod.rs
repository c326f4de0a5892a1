//! Finds the main text of a page: chooses among its blocks, and writes the chosen ones as paragraphs.
//!
//! ```text
//! page → parse → features (of each block) → score → select → gaps → write (paragraphs), title
//!          ↑                                          │
//!          └──────── hidden parts of the text ────────┘      in_data, in_state (text that only a script shows)
//! ```
//! Each block gets features (length, share of links, names of the elements around it, …), and from these the
//! probability that it is main text. Hidden parts that belong to the chosen text are parsed as if they were visible,
//! and the blocks are chosen again. Each step is the module of its name.
//!
//! In: a decoded page and its syntax. Out: a [`MainText`], from which title and paragraphs are written, and from which
//! `markdown`, `page_kind` and `metadata` read on; or an [`ExtractError`] if the page exceeds the limits of
//! [`ExtractConfig`]. Invariants: the chosen blocks are in the order of the page; integers only. Cost: linear in the
//! page's bytes; a page is parsed and its blocks are scored a fixed number of times at most.

mod features;
mod frame;
mod gaps;
mod hidden;
mod in_data;
mod in_state;
mod json;
mod linked_text;
mod score;
mod select;
pub(super) mod thread;
mod title;
pub mod training;
mod write;

use std::ops::Range;

use crate::extract::config::{ExtractConfig, ExtractError};
use crate::extract::document::{PageBlock, Paragraph};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::Tree;
use crate::extract::parse::{Builder, Show, Stack, Syntax, entities, scan, text};
use features::Names;
pub(super) use features::{build_tables, phrases};
use leitong_base::work::{TooMuchWork, Work};
use phrases::Phrases;
use select::Selection;

/// Steps of [work](leitong_base::work) per byte, each time the page is parsed.
const BYTE_STEPS: u64 = 10;
/// Steps of work per block, each time the blocks are scored.
const BLOCK_STEPS: u64 = 2500;

/// Minimum bytes of text in the page of an `<iframe srcdoc>`, or in a script's state, that is used instead of the
/// page's.
const PROSE_MIN: u32 = 400;
/// Minimum number of terms and definitions among the chosen blocks of a reference, such as API documentation. This
/// limit and the next were chosen with both halves of the labelled API documentation (ADR 38); with a value of twelve
/// or more, the result on one half gets worse.
const DEFINITIONS_MIN: usize = 8;
/// One in this many chosen blocks of a reference must be a term or a definition.
const DEFINITIONS_DIVISOR: usize = 8;

/// Maximum number of levels of nested hidden elements that are opened.
const HIDDEN_LEVELS_MAX: usize = 4;

/// A parsed page with its chosen blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct MainText<'a> {
    pub(super) html: &'a str,
    pub(super) tree: &'a Tree,
    /// The chosen blocks, in the page's order.
    pub(super) chosen: &'a [u32],
    /// The block with the page's title.
    pub(super) title_block: Option<usize>,
    /// For each block of the page, the kinds of phrases in it.
    pub(super) phrases: &'a [Phrases],
}

impl MainText<'_> {
    /// Returns the page's title.
    pub(super) fn title(&self) -> Option<String> {
        title::find(self.html, self.tree)
    }

    /// Returns the blocks of the article's own `<h1>`, unless the chosen ones have it.
    pub(super) fn headline(&self) -> Range<u32> {
        title::headline(self.html, self.tree, self.chosen).unwrap_or_default()
    }

    /// Returns the text of [`Self::headline`].
    pub(super) fn headline_text(&self) -> Option<String> {
        let blocks = self.headline().map(|block| &self.tree.blocks[block as usize]);
        let lines: Vec<String> =
            blocks.map(|block| text::of_block(self.html, self.tree, block, false)).collect();
        (!lines.is_empty()).then(|| lines.join(" "))
    }

    /// Returns the chosen blocks as paragraphs.
    pub(super) fn paragraphs(&self) -> Vec<Paragraph> {
        write::paragraphs(self.html, self.tree, self.chosen)
    }

    /// Returns all blocks of the page.
    pub(super) fn blocks(&self) -> Vec<PageBlock> {
        write::blocks(self.html, self.tree, self.chosen)
    }
}

/// Chooses the main text of pages. Keeps its buffers from page to page.
#[derive(Debug)]
pub(super) struct Chooser {
    /// The settings.
    pub(super) config: ExtractConfig,
    /// The syntax of the current page.
    syntax: Syntax,
    tree: Tree,
    stack: Stack,
    selection: Selection,
    /// True if only the frame of the site was chosen on the current page.
    pub(super) is_frame: bool,
    /// True if the structure that only Markdown needs is recorded, too.
    pub(super) records_structure: bool,
}

impl Chooser {
    /// Creates a chooser with empty buffers. If `records_structure` is true, it records the structure that Markdown
    /// needs.
    pub(super) fn new(config: &ExtractConfig, records_structure: bool) -> Self {
        Self {
            config: config.clone(),
            syntax: Syntax::default(),
            tree: Tree::default(),
            stack: Stack::default(),
            selection: Selection::default(),
            is_frame: false,
            records_structure,
        }
    }

    /// Returns the main text of `html`, which must be the last page for which blocks were chosen.
    pub(super) fn main_text<'a>(&'a self, html: &'a str) -> MainText<'a> {
        let (tree, selection) = (&self.tree, &self.selection);
        MainText {
            html,
            tree,
            chosen: &selection.chosen,
            title_block: selection.features.headline,
            phrases: &selection.features.phrases,
        }
    }

    /// Returns true if next to nothing was chosen.
    pub(super) fn is_nearly_empty(&self) -> bool {
        self.selection.is_nearly_empty(&self.tree)
    }

    /// Returns the text of `html` that is in linked data, in a script's state or in an `<iframe srcdoc>`, if next to
    /// nothing was chosen from its markup; otherwise nothing.
    pub(super) fn text_in_data(&self, html: &str, work: &mut Work) -> Result<Vec<Paragraph>, ExtractError> {
        if !self.is_nearly_empty() && !self.is_frame {
            return Ok(Vec::new());
        }
        let mut found = in_data::text(html, &self.tree);
        if found.is_empty() {
            work.add(html.len(), BYTE_STEPS)?;
            found = in_state::text(html, &self.tree);
        }
        let kept = self.selection.bytes(&self.tree);
        let bytes: usize = found.iter().map(|paragraph| paragraph.text.len()).sum();
        if kept >= select::NEARLY_EMPTY && bytes < 2 * kept as usize && !self.is_frame {
            found.clear();
        }
        let inner = self.tree.head.inner_page.filter(|_| found.is_empty());
        let inner = inner.and_then(|inner| html.get(inner.range()));
        let Some(source) = inner else { return Ok(found) };
        let inner = entities::decoded(source);
        let mut chooser = Self::new(&self.config, false);
        chooser.choose(&inner, Syntax::Html, work)?;
        let bytes = chooser.selection.bytes(&chooser.tree);
        let is_text = bytes >= PROSE_MIN && bytes > 4 * kept;
        Ok(if is_text { chooser.main_text(&inner).paragraphs() } else { found })
    }

    /// Parses `html`, chooses the blocks that are probably main text, and fills gaps between them.
    pub(super) fn choose(&mut self, html: &str, syntax: Syntax, work: &mut Work) -> Result<(), ExtractError> {
        self.syntax = syntax;
        self.choose_likely(html, work)?;
        self.is_frame = self.selection.leave_frame(html, &self.tree);
        self.selection.fill_gaps(&self.tree);
        Ok(())
    }

    /// Chooses the blocks that are probably main text. Also reads hidden parts that belong to the text, or all hidden
    /// parts if only they have text. Chooses again without the evidence of names if the page is a reference, which
    /// names its parts `member`, `details` and `summary`.
    fn choose_likely(&mut self, html: &str, work: &mut Work) -> Result<(), ExtractError> {
        self.parse(html, Show::Also(&[]), work)?;
        self.select(html, Names::Read, work)?;
        let shown = self.open_hidden(html, work)?;
        if self.is_nearly_empty() {
            if self.parse_hidden(html, Show::Everything, work)? {
                self.select(html, Names::Read, work)?;
            } else {
                self.parse(html, Show::Also(&shown), work)?;
            }
        }
        if self.is_reference() {
            self.select(html, Names::Doubted, work)?;
        }
        Ok(())
    }

    /// Parses `html` and takes all of its blocks for main text.
    #[cfg(test)]
    pub(super) fn choose_all(&mut self, html: &str) {
        self.parse(html, Show::Also(&[]), &mut Work::unbounded()).expect("within the limits");
        self.selection.choose_all(&self.tree);
    }

    /// Reads hidden parts that belong to the text, up to a few levels deep, as in a page with collapsed sections under
    /// an open dialog. Returns the offsets of the parts that were read, in order.
    fn open_hidden(&mut self, html: &str, work: &mut Work) -> Result<Vec<u32>, ExtractError> {
        let mut shown: Vec<u32> = Vec::new();
        for _ in 0..HIDDEN_LEVELS_MAX {
            let Selection { chosen, features, .. } = &self.selection;
            let more = hidden::parts_of_text(html, &self.tree, chosen, features.headline);
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

    /// Returns true if many of the chosen blocks are terms and definitions, as in API documentation.
    fn is_reference(&self) -> bool {
        let chosen = &self.selection.chosen;
        let tag = |block: &u32| self.tree.nodes[self.tree.blocks[*block as usize].node as usize].tag;
        let definitions = chosen.iter().filter(|block| matches!(tag(block), Tag::Dt | Tag::Dd)).count();
        definitions >= DEFINITIONS_MIN && definitions * DEFINITIONS_DIVISOR >= chosen.len()
    }

    fn select(&mut self, html: &str, names: Names, work: &mut Work) -> Result<(), TooMuchWork> {
        work.add(self.tree.blocks.len(), BLOCK_STEPS)?;
        self.selection.select(&self.tree, html, &self.config, names);
        Ok(())
    }

    fn parse(&mut self, html: &str, show: Show<'_>, work: &mut Work) -> Result<(), ExtractError> {
        work.add(html.len(), BYTE_STEPS)?;
        if u32::try_from(html.len()).is_err() {
            return Err(ExtractError::TooLong { bytes: html.len() });
        }
        let builder = Builder::new(html, &self.config, show, &mut self.tree, &mut self.stack);
        let mut builder = builder.with_syntax(self.syntax).with_structure(self.records_structure);
        scan::scan(html.as_bytes(), &mut builder)
    }

    /// Parses the page again with hidden nodes, `<noscript>`, `<template>` and the like. Returns true if the new tree
    /// has more than four times as much text or prose. This is for pages that a script shows or builds, such as
    /// threads of Discourse; prose counts because their menus may be longer than the text.
    fn parse_hidden(&mut self, html: &str, show: Show<'_>, work: &mut Work) -> Result<bool, ExtractError> {
        let visible = self.tree.bytes();
        let prose = hidden::visible_prose(&self.tree).max(self.selection.bytes(&self.tree).into());
        self.parse(html, show, work)?;
        Ok(self.tree.bytes() > 4 * visible.max(40)
            || hidden::opened_prose(html, &self.tree) > 4 * prose.max(100))
    }

    /// Reads templates that a script fills, if the page has no other text.
    pub(super) fn open_templates(&mut self, html: &str, work: &mut Work) -> Result<(), ExtractError> {
        if !self.is_nearly_empty() || !scan::has_templates(html) {
            return Ok(());
        }
        if self.parse_hidden(html, Show::Templates, work)? {
            self.select(html, Names::Read, work)?;
            self.selection.fill_gaps(&self.tree);
            return Ok(());
        }
        self.choose(html, self.syntax, work)
    }
}

#[cfg(test)]
mod tests {
    use crate::extract::{ExtractConfig, extract};
    use crate::lost_text_tests::SENTENCES;

    /// Pages whose text is only in elements like these must give a text, even if the menus are longer.
    #[test]
    fn a_text_that_only_a_script_shows_is_found_next_to_menus() {
        let article = SENTENCES.map(|text| format!("<p>{text}</p>")).concat();
        let escaped = article.replace('<', "&lt;");
        let menu = "<li><a href=/a>Harbour and islands</a><li><a href=/b>Weather and tides</a>".repeat(8);
        for (part, is_text) in [
            (format!("<noscript>{article}</noscript>"), true),
            (format!("<template id=page>{article}</template>"), true),
            (format!("<div class='modal popup' hidden>{article}</div>"), true),
            (format!("<dialog>{article}</dialog>"), true),
            (format!("<noframes><body>{article}</body></noframes>"), true),
            (format!("<textarea id=source>\n{}\n</textarea>", SENTENCES.join("\n\n")), true),
            (format!("<script type='text/markdown'>{}</script>", SENTENCES.join("\n\n")), true),
            (format!("<script type='text/template'>{article}</script>"), true),
            (format!("<script type='text/html; charset=utf-8' id=page>{article}</script>"), true),
            (
                format!("<script type='text/template'>{{{{#if a}}}}{article}<p>{{{{name}}}}</p></script>"),
                true,
            ),
            (format!("<script type='text/x-kendo-template'><% a %>{article}</script>"), true),
            (format!("<template><h2>${{a}}</h2>{article}</template>"), true),
            (format!("<script type='text/plain'>{}</script>", SENTENCES.join("\n\n")), true),
            (format!("<script type='text/babel'>{article}</script>"), false),
            (format!("<video src=a.mp4 />{article}"), true),
            (format!("<canvas>{article}</canvas>"), true),
            (
                format!(
                    "<svg><style>p {{ color: red }}</style><foreignObject>{article}</foreignObject></svg>"
                ),
                true,
            ),
            (format!("<svg><text>{}</text></svg>", SENTENCES.join("</text><text>")), true),
            (format!("<svg><script>{}</script></svg>", SENTENCES.join(" ")), false),
            (format!("<style>p {{ color: red }}<p>{article}"), true),
            (format!("<iframe src=advert>{article}"), true),
            (format!("<title>Islands<p>{article}"), true),
            (format!("<script src=menu>{article}"), false),
            (format!("<form hidden>{article}</form>"), true),
            (format!("<iframe srcdoc=\"{article}\"></iframe>"), true),
            (format!("<iframe srcdoc='{escaped}'></iframe>"), true),
            (format!("<div class=popup hidden><p>{}</p></div>", SENTENCES[0]), false),
            (format!("<p>{}</p><template>{article}</template>", SENTENCES[0].repeat(3)), false),
            (format!("<p>{}</p><iframe srcdoc='{escaped}'></iframe>", SENTENCES[0].repeat(3)), false),
        ] {
            let html = format!(
                "<title>Ferry</title><nav><ul>{menu}</ul></nav><main><h1>Ferry</h1>{part}</main><footer>Harbour</footer>"
            );
            let text = extract(&html, &ExtractConfig::default()).expect("within the limits").text();
            let found = SENTENCES[1..].iter().filter(|sentence| text.contains(*sentence)).count();
            assert_eq!(found, if is_text { 4 } else { 0 }, "{part}: {text}");
        }
    }

    /// Below a short text, teasers of other pages and an invitation to subscribe must not be taken for more of it,
    /// although each of them looks like a short text, too.
    #[test]
    fn parts_that_announce_other_pages_or_a_newsletter_are_left_out() {
        let teaser = |at: usize| {
            format!(
                "<article class=feed><h2 class=feed-title>Harbour news {at}</h2><div class=feed-excerpt>{}</div></article>",
                SENTENCES[at]
            )
        };
        let teasers = [2, 3, 4].map(teaser).concat();
        let related = format!(
            "<section class=related-wrapper><h3>You might also like...</h3><div>{teasers}</div></section>"
        );
        let invitation = |form: &str| {
            format!(
                "<section><div><div class=text-center><h2>Join our newsletter</h2><p class=text-light>{} {}</p>{form}\
                 </div></div></section>",
                SENTENCES[3], SENTENCES[2]
            )
        };
        let form = "<form action=/join><input type=text placeholder='Your address'><button>Subscribe</button></form>";
        for (part, is_out) in [
            (related.clone(), true),
            (related.replace("You might also like...", "Before the meeting"), false),
            (invitation(form), true),
            (invitation(""), false),
        ] {
            let html = format!(
                "<title>The ferry stops in October</title><body><section><div><a href=/c>Journal</a><h2>The ferry stops \
                 in October</h2><div class=post-meta><span>By Rita Moss</span> <span>5 February 2024</span></div>\
                 <div class=content><p>{}</p></div></div></section>{part}<footer><p>Harbour</p></footer>",
                SENTENCES[0]
            );
            let text = extract(&html, &ExtractConfig::default()).expect("within the limits").text();
            assert!(text.contains(SENTENCES[0]), "{part}: {text}");
            assert_eq!(!text.contains(SENTENCES[3]), is_out, "{part}: {text}");
        }
    }

    /// Classes such as `details`, `info` and `member` mean other things in API documentation than elsewhere. If
    /// signatures and summaries were dropped because of them, the same page in another theme would not be recognised as
    /// a copy. Without the rule, three of the six descriptions of parameters are kept here.
    #[test]
    fn names_around_a_reference_do_not_drop_its_members() {
        let member = |tide: &str| {
            format!(
                "<li><section class=detail><h3>{tide}</h3><div class=member-signature>public Tide {tide}(Harbour \
                 harbour)</div><div class=block>Returns the {tide} tide of a harbour.</div><dl class=notes>\
                 <dt>Parameters:</dt><dd>harbour - where it is measured</dd><dt>Returns:</dt><dd>the {tide} tide</dd>\
                 </dl></section></li>"
            )
        };
        let members = ["high", "low", "spring", "neap", "ebb", "flood"].map(member).concat();
        let html = format!(
            "<title>Tides</title><main><h1>Tides</h1><section class=class-description><div>Tables of tides, computed \
             for one harbour at a time, for sailors and for builders of piers.</div></section><section \
             class=details><h2>Methods</h2><ul class='tab-panel info'>{members}</ul></section></main>"
        );
        let text = extract(&html, &ExtractConfig::default()).expect("within the limits").text();
        assert_eq!(text.matches("public Tide").count(), 6, "{text}");
        assert!(text.matches("harbour - where").count() >= 5, "{text}");
    }
}
