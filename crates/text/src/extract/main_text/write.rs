//! Writes the chosen blocks as paragraphs.
//!
//! In: the page, its tree, the indices of the chosen blocks in order. Out: paragraphs, each with its kind and place.
//! Cost: linear in the text.

use crate::extract::document::{PageBlock, Paragraph, ParagraphKind, ParagraphPlace};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::text;
use crate::extract::parse::tree::{Block, Node, Tree, block_flag};

/// Maximum number of nodes above a block that are examined for its kind. Deeper lists and quotes are rare, and the walk
/// must end.
const ANCESTORS_MAX: usize = 12;

/// Returns the blocks `chosen` as paragraphs.
pub(super) fn paragraphs(html: &str, tree: &Tree, chosen: &[u32]) -> Vec<Paragraph> {
    let mut paragraphs: Vec<Paragraph> = Vec::with_capacity(chosen.len());
    let mut headings: [Option<u32>; 6] = [None; 6];
    for &block in chosen {
        let block = &tree.blocks[block as usize];
        let (kind, list_level) = kind_of(tree, block);
        let text = text::of_block(html, tree, block, kind == ParagraphKind::Code);
        if text.is_empty() {
            continue;
        }
        let level = if let ParagraphKind::Heading(level) = kind { usize::from(level) } else { 7 };
        let heading = headings.iter().take(level - 1).rev().find_map(|heading| *heading);
        if level <= 6 {
            headings[level - 1..].fill(None);
            headings[level - 1] = u32::try_from(paragraphs.len()).ok();
        }
        paragraphs.push(Paragraph { kind, text, place: ParagraphPlace { heading, list_level } });
    }
    paragraphs
}

/// Returns all blocks of the page, each with a flag for those in `chosen`, which is in ascending order.
pub(super) fn blocks(html: &str, tree: &Tree, chosen: &[u32]) -> Vec<PageBlock> {
    let mut chosen = chosen.iter().map(|block| *block as usize).peekable();
    let mut blocks = Vec::with_capacity(tree.blocks.len());
    for (number, block) in tree.blocks.iter().enumerate() {
        let kept = chosen.next_if_eq(&number).is_some();
        let (kind, _) = kind_of(tree, block);
        let text = text::of_block(html, tree, block, kind == ParagraphKind::Code);
        if !text.is_empty() {
            blocks.push(PageBlock { kind, text, kept, region: region_of(tree, block) });
        }
    }
    blocks
}

/// Returns the name of the innermost element around a block that has a role.
fn region_of(tree: &Tree, block: &Block) -> Option<&'static str> {
    let named = |node: &Node| match node.tag {
        Tag::Nav => Some("nav"),
        Tag::Header => Some("header"),
        Tag::Footer => Some("footer"),
        Tag::Aside => Some("aside"),
        Tag::Form => Some("form"),
        Tag::Menu => Some("menu"),
        Tag::Dialog => Some("dialog"),
        _ => None,
    };
    tree.around(block).take(ANCESTORS_MAX).find_map(named)
}

/// Returns a block's kind, and the number of lists around it.
fn kind_of(tree: &Tree, block: &Block) -> (ParagraphKind, u8) {
    let mut kind = (block.features & block_flag::PREFORMATTED != 0).then_some(ParagraphKind::Code);
    let mut list_level = 0_u8;
    for node in tree.around(block).take(ANCESTORS_MAX) {
        let is_alone = node.end_block - node.first_block <= 1;
        list_level = list_level.saturating_add(u8::from(matches!(node.tag, Tag::Ul | Tag::Ol)));
        kind = kind.or(match node.tag {
            tag if tag.heading_level() != 0 => Some(ParagraphKind::Heading(tag.heading_level())),
            Tag::Li | Tag::Dd | Tag::Dt => Some(ParagraphKind::ListItem),
            Tag::Blockquote => Some(ParagraphKind::Quote),
            // A cell with many blocks is layout, not data.
            Tag::Td | Tag::Th if is_alone => Some(ParagraphKind::TableCell),
            _ => None,
        });
    }
    (kind.unwrap_or(ParagraphKind::Paragraph), list_level)
}
