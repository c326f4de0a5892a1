//! Writes the chosen blocks as paragraphs. This is the only place where text is copied.
//!
//! In: the page, its tree, the indices of the chosen blocks in order. Out: paragraphs with character references decoded
//! and white space collapsed. A line break between two Chinese characters is not a space. Cost: linear in the text.

use crate::extract::parse::entities;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, Tree, block_flag};
use crate::extract::{Document, PageBlock, Paragraph, ParagraphKind, Place};

/// Number of nodes above a block that are examined for its kind. Deeper lists and quotes are rare, and the walk must
/// end.
const ANCESTORS_MAX: usize = 12;

/// Writes the blocks `chosen`.
pub(super) fn write(html: &str, tree: &Tree, chosen: &[u32]) -> Document {
    let mut paragraphs: Vec<Paragraph> = Vec::with_capacity(chosen.len());
    let mut headings: [Option<u32>; 6] = [None; 6];
    for &block in chosen {
        let block = &tree.blocks[block as usize];
        let (kind, list_level) = kind_of(tree, block);
        let text = text_of(html, tree, block, kind == ParagraphKind::Code);
        if text.is_empty() {
            continue;
        }
        let level = if let ParagraphKind::Heading(level) = kind { usize::from(level) } else { 7 };
        let heading = headings.iter().take(level - 1).rev().find_map(|heading| *heading);
        if level <= 6 {
            headings[level - 1..].fill(None);
            headings[level - 1] = u32::try_from(paragraphs.len()).ok();
        }
        paragraphs.push(Paragraph { kind, text, place: Place { heading, list_level } });
    }
    Document { paragraphs, ..Document::default() }
}

/// Returns all blocks of the page, each with a flag for those in `chosen`, which is in ascending order.
pub(super) fn blocks(html: &str, tree: &Tree, chosen: &[u32]) -> Vec<PageBlock> {
    let mut chosen = chosen.iter().map(|block| *block as usize).peekable();
    let mut blocks = Vec::with_capacity(tree.blocks.len());
    for (number, block) in tree.blocks.iter().enumerate() {
        let kept = chosen.next_if_eq(&number).is_some();
        let (kind, _) = kind_of(tree, block);
        let text = text_of(html, tree, block, kind == ParagraphKind::Code);
        if !text.is_empty() {
            blocks.push(PageBlock { kind, text, kept, region: region_of(tree, block) });
        }
    }
    blocks
}

/// Returns the name of the innermost element around a block that has a role.
fn region_of(tree: &Tree, block: &Block) -> Option<&'static str> {
    let named = |node: u32| match tree.nodes[node as usize].tag {
        Tag::Nav => Some("nav"),
        Tag::Header => Some("header"),
        Tag::Footer => Some("footer"),
        Tag::Aside => Some("aside"),
        Tag::Form => Some("form"),
        Tag::Menu => Some("menu"),
        Tag::Dialog => Some("dialog"),
        _ => None,
    };
    tree.ancestors(block.node).take(ANCESTORS_MAX).find_map(named)
}

/// Returns a block's kind, and the number of lists around it.
fn kind_of(tree: &Tree, block: &Block) -> (ParagraphKind, u8) {
    let mut kind = ParagraphKind::Paragraph;
    let mut list_level = 0_u8;
    let set = |found: ParagraphKind, kind: &mut ParagraphKind| {
        if *kind == ParagraphKind::Paragraph {
            *kind = found;
        }
    };
    if block.features & block_flag::PREFORMATTED != 0 {
        set(ParagraphKind::Code, &mut kind);
    }
    for node in tree.ancestors(block.node).take(ANCESTORS_MAX) {
        let node = &tree.nodes[node as usize];
        let is_alone = node.end_block - node.first_block <= 1;
        match node.tag {
            tag if tag.heading_level() != 0 => set(ParagraphKind::Heading(tag.heading_level()), &mut kind),
            Tag::Li | Tag::Dd | Tag::Dt => set(ParagraphKind::ListItem, &mut kind),
            Tag::Ul | Tag::Ol => list_level = list_level.saturating_add(1),
            Tag::Blockquote => set(ParagraphKind::Quote, &mut kind),
            // A cell with many blocks is layout, not data.
            Tag::Td | Tag::Th if is_alone => set(ParagraphKind::TableCell, &mut kind),
            _ => {}
        }
    }
    (kind, list_level)
}

/// Returns the text of a block.
pub(super) fn text_of(html: &str, tree: &Tree, block: &Block, keep_lines: bool) -> String {
    let segments = &tree.segments[block.first_segment as usize..block.end_segment as usize];
    let mut text = String::with_capacity(block.counts.bytes as usize + block.counts.words as usize + 8);
    for segment in segments {
        if *segment == Segment::LINE_BREAK {
            text.push('\n');
        } else {
            entities::decode_into(&html[segment.start as usize..segment.end as usize], &mut text);
        }
    }
    if keep_lines { trim_lines(&text) } else { collapse(text) }
}

/// Returns the lines without white space at their ends, and without blank lines at the start and end.
fn trim_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(is_blank)).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| line.is_empty()).count();
    lines[blank..].join("\n")
}

pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\0' | '\u{200b}' | '\u{feff}')
}

/// Returns `text` with one space between words, trimmed.
pub(super) fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces each run of white space and invisible characters by one space, or by nothing at the ends and between
/// Chinese characters. Allocates only if something changes.
pub(super) fn collapse(text: String) -> String {
    let text = match text.trim_matches(is_blank) {
        trimmed if trimmed.len() == text.len() => text,
        trimmed => trimmed.to_owned(),
    };
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        // Most blanks are one space between two words.
        let is_plain = |byte: u8| !MAY_BE_BLANK[usize::from(byte)];
        if is_plain(byte) || (byte == b' ' && bytes.get(at + 1).is_some_and(|next| is_plain(*next))) {
            at += 1;
            continue;
        }
        let after = text[at..].trim_start_matches(is_blank);
        let end = text.len() - after.len();
        if end == at {
            at += after.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        out.push_str(&text[copied..at]);
        let run = &text[at..end];
        let joins = |c: Option<char>| c.is_some_and(is_cjk);
        let only_invisible = run.chars().all(|c| matches!(c, '\0' | '\u{200b}' | '\u{feff}'));
        let wrapped = run.contains('\n') && joins(out.chars().next_back()) && joins(after.chars().next());
        if !only_invisible && !wrapped {
            out.push(' ');
        }
        (at, copied) = (end, end);
    }
    if copied == 0 {
        return text;
    }
    out.push_str(&text[copied..]);
    out
}

/// True for the first bytes of characters for which [`is_blank`] is true.
static MAY_BE_BLANK: [bool; 256] = {
    let mut may = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        // U+0085, U+00A0; U+1680; U+2000–U+205F; U+3000; U+FEFF.
        may[byte] = matches!(byte as u8, 0..=b' ' | 0xc2 | 0xe1 | 0xe2 | 0xe3 | 0xef);
        byte += 1;
    }
    may
};

/// Returns true for characters of scripts that are written without spaces, and for their punctuation.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_collapses_but_not_within_chinese() {
        assert_eq!(collapse(" a \n\t b\u{a0}c\u{3000}".to_owned()), "a b c");
        assert_eq!(collapse("一行\n 二行\nthree\nfour".to_owned()), "一行二行 three four");
        assert_eq!(collapse("x\u{feff}y\u{200b} z\u{200b}".to_owned()), "xy z");
        assert_eq!(collapse("一 二".to_owned()), "一 二");
        assert_eq!(collapse("a  b c\u{b}\u{1680}、d 、 e".to_owned()), "a b c 、d 、 e");
    }

    #[test]
    fn program_text_keeps_its_lines() {
        assert_eq!(trim_lines("\n  a  \n\n    b\n\n"), "  a\n\n    b");
    }
}
