//! The lines of a page in which it speaks of its source: those round its title, the
//! first and last ones of its text, and what follows it.
//!
//! In: the tree with the chosen blocks, or the paragraphs of a text without markup. Out: at most
//! [`LINES_MAX`] lines of at most [`LINE_BYTES_MAX`] bytes, each with its place. Cost: linear in
//! these, and a look at each block's numbers.

use crate::extract::features::phrases;
use crate::extract::parse::tree::{Block, Tree};
use crate::extract::write::text_of;
use crate::extract::{Document, Paragraph};

/// Lines that are read of one page.
const LINES_MAX: usize = 120;

/// Bytes of a line; of the first ones of the text only the beginning is read.
const LINE_BYTES_MAX: usize = 400;

/// Blocks before the title, between title and text, and after the text in which a page speaks of
/// its source.
const BEFORE: usize = 8;
const BETWEEN: usize = 30;
const AFTER: usize = 12;

/// Paragraphs that may begin with a dateline, and that may end with the source.
const FIRST: usize = 4;
const LAST: usize = 4;

/// First-level headings that are compared with the title.
const HEADINGS_MAX: usize = 8;

/// Bytes from which a chosen block is the text's beginning rather than a line above it.
const TEXT_BYTES: u32 = 90;

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Round the title, before the text.
    Top,
    /// One of the first paragraphs of the text, cut.
    First,
    /// A short line within the text.
    Within,
    /// One of the last paragraphs of the text.
    Last,
    /// After the text.
    After,
}

/// A line, and where it stands.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) place: Place,
}

/// Which blocks are to be read of a page.
struct Range {
    /// The block of the title, or the first of the text.
    title: usize,
    /// The first and the last block of the text.
    begin: usize,
    end: usize,
}

/// The lines of the page in `tree`, whose main text is `chosen`, in their order.
pub(super) fn of_page(html: &str, tree: &Tree, chosen: &[u32], found: &[phrases::Phrases]) -> Vec<Line> {
    let mut lines = Vec::new();
    let Some(range) = range(html, tree, chosen) else { return lines };
    let from = range.title.min(range.begin).saturating_sub(BEFORE);
    let to = (range.end + AFTER + 1).min(tree.blocks.len());
    let is_chosen = |at: usize| chosen.binary_search(&(at as u32)).is_ok();
    let (mut first, last) = (0, chosen.len().saturating_sub(LAST));
    let last = chosen.get(last).map_or(range.end, |block| *block as usize);
    for at in from..to {
        let block = &tree.blocks[at];
        let bytes = source_bytes(tree, block);
        let place = if at < range.begin {
            let is_near = at <= range.title + BETWEEN || at + BEFORE >= range.begin;
            is_near.then_some(Place::Top)
        } else if at > range.end {
            Some(Place::After)
        } else if is_chosen(at) && first < FIRST && block.counts.bytes > 20 {
            first += 1;
            Some(Place::First)
        } else if at >= last {
            Some(Place::Last)
        } else {
            let names_source = found.get(at).is_some_and(|found| found >> phrases::CREDITS & 1 != 0);
            names_source.then_some(if first < 2 { Place::Top } else { Place::Within })
        };
        let Some(place) = place else { continue };
        let text = match place {
            Place::First => beginning(html, tree, block),
            Place::Last if bytes > LINE_BYTES_MAX => continue,
            _ if bytes > LINE_BYTES_MAX => continue,
            _ => text_of(html, tree, block, false),
        };
        lines.push(Line { text, place });
        if lines.len() >= LINES_MAX {
            break;
        }
    }
    lines
}

/// The lines of a text without markup.
pub(super) fn of_text(document: &Document) -> Vec<Line> {
    let paragraphs = &document.paragraphs;
    let line = |(at, paragraph): (usize, &Paragraph)| {
        let text = &paragraph.text;
        let place = match text.len() <= LINE_BYTES_MAX {
            true if at < FIRST => Place::Top,
            true if at + LAST >= paragraphs.len() => Place::Last,
            _ if at < FIRST => Place::First,
            _ => return None,
        };
        Some(Line { text: text[..text.floor_char_boundary(LINE_BYTES_MAX)].to_owned(), place })
    };
    let lines = paragraphs.iter().enumerate();
    let (head, tail) =
        (lines.clone().take(FIRST), lines.skip(FIRST.max(paragraphs.len().saturating_sub(LAST))));
    head.chain(tail).filter_map(line).collect()
}

/// Where title and text stand; none for a page without blocks.
fn range(html: &str, tree: &Tree, chosen: &[u32]) -> Option<Range> {
    if tree.blocks.is_empty() {
        return None;
    }
    let title = title(html, tree);
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

/// The first block of a first- or second-level heading that the page's title holds.
fn title(html: &str, tree: &Tree) -> Option<usize> {
    let title = super::super::title::raw(html, tree.head.title.or(tree.head.social_title))?;
    let is_heading = |block: &Block| {
        tree.ancestors(block.node)
            .take(3)
            .any(|node| matches!(tree.nodes[node as usize].tag.heading_level(), 1 | 2))
    };
    let headings = tree.blocks.iter().enumerate().filter(|(_, block)| is_heading(block));
    headings.take(HEADINGS_MAX).find_map(|(at, block)| {
        let heading = text_of(html, tree, block, false);
        (heading.len() * 3 >= title.len() && title.contains(&heading)).then_some(at)
    })
}

/// Bytes of the page that a block takes.
fn source_bytes(tree: &Tree, block: &Block) -> usize {
    let segments = &tree.segments[block.first_segment as usize..block.end_segment as usize];
    segments.iter().map(|segment| (segment.end - segment.start) as usize).sum()
}

/// The first bytes of a block's text.
fn beginning(html: &str, tree: &Tree, block: &Block) -> String {
    let mut beginning = *block;
    let segments = &tree.segments[block.first_segment as usize..block.end_segment as usize];
    let (mut bytes, mut taken) = (0, 0);
    for segment in segments {
        bytes += (segment.end - segment.start) as usize;
        taken += 1;
        if bytes > LINE_BYTES_MAX {
            break;
        }
    }
    beginning.end_segment = beginning.first_segment + taken;
    let whole = bytes <= 8 * LINE_BYTES_MAX;
    let mut text = if whole { text_of(html, tree, &beginning, false) } else { String::new() };
    text.truncate(text.floor_char_boundary(LINE_BYTES_MAX));
    text
}
