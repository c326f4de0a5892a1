//! What sort of page this is, as far as its structure tells.
//!
//! In: the tree and the chosen blocks. Out: a [`PageKind`]. Cost: linear in the blocks.

use serde::Serialize;

use super::hints::{ARTICLE, POST};
use super::tree::Tree;

/// What sort of page a document comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// One text: news, blog, documentation, a paper.
    Article,
    /// Posts of several people on one question.
    Forum,
    /// Mainly links to other pages; what text there is describes them.
    Listing,
    /// None of these, or too little to tell.
    #[default]
    Other,
}

/// The kind of the page whose main text is `chosen`.
pub(super) fn of(tree: &Tree, chosen: &[u32]) -> PageKind {
    let (mut bytes, mut linked, mut long) = (0_u64, 0_u64, 0_u64);
    for &block in chosen {
        let block = &tree.blocks[block as usize];
        bytes += u64::from(block.counts.bytes);
        linked += u64::from(block.link_bytes);
        long +=
            u64::from(block.counts.bytes >= 120 && block.counts.stops > 0) * u64::from(block.counts.bytes);
    }
    let all: u64 = tree.bytes();
    let all_linked: u64 = tree.blocks.iter().map(|block| u64::from(block.link_bytes)).sum();
    let posts = tree.nodes.iter().filter(|node| {
        node.hints & POST != 0 && node.hints & ARTICLE == 0 && node.end_block > node.first_block
    });
    if all == 0 {
        PageKind::Other
    } else if linked * 2 > bytes || (all_linked * 2 > all && long * 4 < all) {
        PageKind::Listing
    } else if posts.count() >= 6 {
        PageKind::Forum
    } else if long * 2 > bytes {
        PageKind::Article
    } else {
        PageKind::Other
    }
}
