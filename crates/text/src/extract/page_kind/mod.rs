//! Says what kind of page a page is, by its structure and its main text: an article, a thread or a listing; without
//! content ([`no_content`]); or one of the pages over which an article is spread ([`paged`]).
//!
//! In: a page with its chosen blocks. Out: a [`PageKind`]. Invariant: integers only. Cost: linear in blocks and nodes.

pub(super) mod no_content;
pub(super) mod paged;

use std::sync::LazyLock;

use crate::extract::document::PageKind;
use crate::extract::main_text::{MainText, thread};
use crate::extract::parse::tree::Block;
use crate::extract::word_lists::Lists;

static LISTS: LazyLock<Lists> = LazyLock::new(|| Lists::read(include_str!("words.txt")));

/// Builds the tables, which are otherwise built on first use.
pub(super) fn build_tables() {
    LazyLock::force(&LISTS);
    no_content::build_tables();
}

/// Returns the words of a list in `words.txt`.
fn list(name: &str) -> &'static [&'static str] {
    LISTS.get(name)
}

/// Minimum bytes of sentences in a text: 35 English words, or 70 Chinese characters.
const TEXT_BYTES: u64 = 200;

/// Returns the kind of a page.
pub(super) fn classify(page: &MainText<'_>) -> PageKind {
    let MainText { tree, chosen, .. } = *page;
    let of_chosen = |count: fn(&Block) -> u32| -> u64 {
        chosen.iter().map(|&block| u64::from(count(&tree.blocks[block as usize]))).sum()
    };
    let bytes = tree.bytes_of(chosen);
    let linked = of_chosen(|block| block.link_bytes);
    let sentences = of_chosen(|block| if is_sentence(block) { block.counts.bytes } else { 0 });
    let page_linked: u64 = tree.blocks.iter().map(|block| u64::from(block.link_bytes)).sum();
    if thread::is_thread(tree, chosen, bytes) {
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
