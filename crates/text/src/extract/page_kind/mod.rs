//! Says what kind of page a page is, by its structure and its main text: an article, a thread or a listing; a wall
//! ([`walls`]); or one of the pages over which an article is spread ([`paged`]).
//!
//! In: a page with its chosen blocks. Out: a [`PageKind`]. Invariant: integers only. Cost: linear in blocks and nodes.

pub(super) mod paged;
pub(super) mod walls;

use std::collections::BTreeMap;

use crate::extract::document::PageKind;
use crate::extract::main_text::MainText;
use crate::extract::parse::hints::{COMMENT, POST};
use crate::extract::parse::tree::{Block, Tree, declared};

/// Minimum bytes of sentences in a text: 35 English words, or 70 Chinese characters.
const TEXT_BYTES: u64 = 200;

/// Minimum number of posts in a thread.
const POSTS_MIN: u32 = 3;

/// Returns the kind of a page.
pub(super) fn classify(page: &MainText<'_>) -> PageKind {
    let MainText { tree, chosen, .. } = *page;
    let of_chosen = |count: fn(&Block) -> u32| -> u64 {
        chosen.iter().map(|&block| u64::from(count(&tree.blocks[block as usize]))).sum()
    };
    let bytes = of_chosen(|block| block.counts.bytes);
    let linked = of_chosen(|block| block.link_bytes);
    let sentences = of_chosen(|block| if is_sentence(block) { block.counts.bytes } else { 0 });
    let page_linked: u64 = tree.blocks.iter().map(|block| u64::from(block.link_bytes)).sum();
    if tree.head.declares(declared::FORUM) || is_thread(tree, chosen, bytes) {
        PageKind::Forum
    } else if linked * 2 > bytes || (sentences < TEXT_BYTES && page_linked * 2 > tree.bytes()) {
        PageKind::Listing
    } else if sentences >= TEXT_BYTES && sentences * 2 > bytes {
        PageKind::Article
    } else {
        PageKind::Other
    }
}

fn is_sentence(block: &Block) -> bool {
    block.counts.stops > 0 && block.counts.bytes >= 60 && block.link_bytes * 2 < block.counts.bytes
}

/// Returns true if most of the text is in several nodes with the same structural signature that are named as posts or
/// comments.
fn is_thread(tree: &Tree, chosen: &[u32], bytes: u64) -> bool {
    let mut sums = vec![0_u64; tree.blocks.len() + 1];
    for &block in chosen {
        sums[block as usize + 1] = u64::from(tree.blocks[block as usize].counts.bytes);
    }
    for at in 1..sums.len() {
        sums[at] += sums[at - 1];
    }
    let mut signatures: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
    for node in tree.nodes.iter().filter(|node| node.hints & (POST | COMMENT) != 0) {
        let within = sums[node.end_block as usize] - sums[node.first_block as usize];
        if within > 0 {
            let signature = signatures.entry(node.signature).or_default();
            *signature = (signature.0 + 1, signature.1 + within);
        }
    }
    signatures.values().any(|&(nodes, within)| nodes >= POSTS_MIN && within * 2 > bytes && within < bytes * 2)
}
