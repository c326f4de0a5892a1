//! Selects the lines of a page that may name its source: those around its title, the first and last ones of its text,
//! and those after it.
//!
//! In: the tree with the chosen blocks, or the paragraphs of a text without markup. Out: at most [`LINES_MAX`] lines of
//! at most [`LINE_BYTES_MAX`] bytes, each with its place. Cost: linear in these, and a look at each block's counts.

use crate::extract::document::{Document, Paragraph};
use crate::extract::main_text::{MainText, phrases};
use crate::extract::parse::entities;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, Tree};

/// Maximum number of lines that are read of a page.
const LINES_MAX: usize = 120;

/// Maximum length of a line in bytes. The first lines of the text are read up to this length; longer lines elsewhere
/// are skipped.
const LINE_BYTES_MAX: usize = 400;

/// Number of blocks directly before the title, or before the text, that may name the source.
const BEFORE: usize = 8;
/// Number of blocks after the title that may name the source, if they are before the text.
const BETWEEN: usize = 30;
/// Number of blocks after the text that may name the source.
const AFTER: usize = 12;

/// Number of paragraphs at the start of the text that may begin with a dateline.
const FIRST: usize = 4;
/// Number of paragraphs at the end of the text that may end with the source.
const LAST: usize = 4;

/// Minimum length in bytes of an `<h1>` that may be the title although `<title>` has other words. A shorter one may be
/// the site's name.
const TITLE_BYTES: u32 = 18;

/// Minimum bytes of a chosen block that may be the start of the text instead of a line above it.
const TEXT_BYTES: u32 = 90;

/// Kinds of phrases in lines about the page: credit lines and dates.
const SPEAKING: phrases::Phrases = 1 << phrases::CREDIT_LINES | 1 << phrases::DATE;

/// Maximum length in bytes of a line that consists of an author's name.
const BYLINE_BYTES_MAX: u32 = 120;

/// Maximum bytes that are read of a paragraph for its dateline, including reporters in brackets.
const FIRST_BYTES_MAX: usize = 240;

/// Maximum length in bytes of a cue on a line of its own.
const CUE_BYTES_MAX: u32 = 12;

/// The place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePlace {
    /// A line around the title, before the text.
    Top,
    /// The beginning of one of the first paragraphs of the text.
    First,
    /// A short line within the text.
    Within,
    /// One of the last paragraphs of the text.
    Last,
    /// A line after the text.
    After,
}

/// A line and its place.
#[derive(Debug)]
pub(super) struct PageLine {
    pub(super) text: String,
    pub(super) place: LinePlace,
}

/// The range of blocks that are read of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    /// The block of the title, or the first block of the text.
    pub(super) title: usize,
    /// The first block of the text.
    pub(super) begin: usize,
    /// The last block of the text.
    pub(super) end: usize,
}

impl Range {
    /// Returns true if a block is near the title, or where the text begins.
    pub(super) fn is_top(&self, block: usize) -> bool {
        let from = self.title.min(self.begin).saturating_sub(BEFORE);
        let is_near = block <= self.title + BETWEEN || block + BEFORE >= self.begin;
        (from..self.begin + FIRST).contains(&block) && is_near
    }

    /// Returns true if a block is within the text or one of the first blocks after it.
    pub(super) fn is_within(&self, block: usize) -> bool {
        (self.begin..=self.end + FIRST).contains(&block)
    }
}

/// Returns the lines of a page, in order.
pub(super) fn from_page(page: &MainText<'_>, range: Range) -> Vec<PageLine> {
    let MainText { html, tree, chosen, phrases: found, .. } = *page;
    let mut lines = Vec::new();
    let from = range.title.min(range.begin).saturating_sub(BEFORE);
    let to = (range.end + AFTER + 1).min(tree.blocks.len());
    let is_chosen = |at: usize| chosen.binary_search(&(at as u32)).is_ok();
    let (mut first, last) = (0, chosen.len().saturating_sub(LAST));
    let last = chosen.get(last).map_or(range.end, |block| *block as usize);
    for at in from..to {
        let block = &tree.blocks[at];
        let place = if at < range.begin {
            let is_near = at <= range.title + BETWEEN || at + BEFORE >= range.begin;
            is_near.then_some(LinePlace::Top)
        } else if at > range.end {
            Some(LinePlace::After)
        } else if first < FIRST && block.counts.bytes > 20 && is_chosen(at) {
            first += 1;
            Some(LinePlace::First)
        } else if at >= last {
            Some(LinePlace::Last)
        } else {
            let names_source = found.get(at).is_some_and(|found| found >> phrases::CREDIT_LINES & 1 != 0);
            names_source.then_some(if first < 2 { LinePlace::Top } else { LinePlace::Within })
        };
        let Some(place) = place else { continue };
        let is_long = place != LinePlace::First && source_bytes(tree, block) > LINE_BYTES_MAX;
        let speaks = found.get(at).is_some_and(|found| found & SPEAKING != 0) || block.counts.digits >= 4;
        // A name on a line of its own follows its cue: `Written by`, `Jane Doe`.
        let follows_cue = at > from && tree.blocks[at - 1].counts.bytes <= CUE_BYTES_MAX;
        let is_menu = block.link_bytes >= block.counts.bytes && !follows_cue;
        let is_silent = match place {
            LinePlace::Top => !speaks && (is_menu || block.counts.bytes > BYLINE_BYTES_MAX),
            LinePlace::After => !speaks && at > range.end + LAST,
            _ => false,
        };
        if is_long || is_silent {
            continue;
        }
        let most = if place == LinePlace::First { FIRST_BYTES_MAX } else { LINE_BYTES_MAX };
        lines.push(PageLine { text: text(html, tree, block, most), place });
        if lines.len() >= LINES_MAX {
            break;
        }
    }
    lines
}

/// Returns the lines of a text without markup.
pub(super) fn from_text(document: &Document) -> Vec<PageLine> {
    let paragraphs = &document.paragraphs;
    let line = |(at, paragraph): (usize, &Paragraph)| {
        let text = &paragraph.text;
        let place = match text.len() <= LINE_BYTES_MAX {
            true if at < FIRST => LinePlace::Top,
            true if at + LAST >= paragraphs.len() => LinePlace::Last,
            _ if at < FIRST => LinePlace::First,
            _ => return None,
        };
        Some(PageLine { text: text[..text.floor_char_boundary(LINE_BYTES_MAX)].to_owned(), place })
    };
    let lines = paragraphs.iter().enumerate();
    let (head, tail) =
        (lines.clone().take(FIRST), lines.skip(FIRST.max(paragraphs.len().saturating_sub(LAST))));
    head.chain(tail).filter_map(line).collect()
}

/// Returns the range of title and text; `None` for a page without blocks.
pub(super) fn range(page: &MainText<'_>) -> Option<Range> {
    let MainText { tree, chosen, title_block, .. } = *page;
    if tree.blocks.is_empty() {
        return None;
    }
    let title = title_block.or_else(|| first_heading(tree));
    let is_text = |&&at: &&u32| {
        let block = &tree.blocks[at as usize];
        at as usize > title.unwrap_or(0)
            && block.counts.bytes >= TEXT_BYTES
            && block.link_bytes * 2 < block.counts.bytes
    };
    let begin =
        chosen.iter().find(is_text).or_else(|| chosen.iter().find(|at| **at as usize >= title.unwrap_or(0)));
    let begin = begin.map_or(title.map_or(0, |title| title + 1), |at| *at as usize);
    let end = chosen.last().map_or(begin, |at| *at as usize).max(begin);
    Some(Range { title: title.unwrap_or(begin), begin, end })
}

/// Returns the first block of the first `<h1>` that is long enough. Titles for search engines often have other words
/// than the heading.
fn first_heading(tree: &Tree) -> Option<usize> {
    let headings = tree.nodes.iter().filter(|node| node.tag == Tag::H1 && node.first_block < node.end_block);
    let mut blocks = headings.map(|node| node.first_block as usize);
    blocks.find(|at| tree.blocks[*at].counts.bytes >= TITLE_BYTES)
}

/// Returns the bytes of source in a block.
fn source_bytes(tree: &Tree, block: &Block) -> usize {
    let segments = &tree.segments[block.first_segment as usize..block.end_segment as usize];
    segments.iter().map(|segment| (segment.end - segment.start) as usize).sum()
}

/// Returns the text of a block, with a space between elements and at line breaks, since often only these separate
/// fields of a line. Reads only as much as is needed for `most` bytes.
pub(super) fn text(html: &str, tree: &Tree, block: &Block, most: usize) -> String {
    let segments = &tree.segments[block.first_segment as usize..block.end_segment as usize];
    let (mut text, mut piece) = (String::new(), String::new());
    for segment in segments {
        let Some(source) = html.get(segment.range()) else { continue };
        // A reference takes at most eight bytes of the page for one byte of text.
        let source = &source[..source.floor_char_boundary(8 * most)];
        piece.clear();
        entities::decode_into(source, &mut piece);
        for word in piece.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
            if text.len() >= most {
                text.truncate(text.floor_char_boundary(most));
                return text;
            }
        }
    }
    text
}
