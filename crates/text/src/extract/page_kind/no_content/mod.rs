//! Recognises pages without content, which only give a reason for its absence.
//!
//! In: a page of little text, as blocks or as lines. Out: the [`NoContent`] that it is, if any. A page has no content
//! if phrases of such pages (`phrases`), or sentences with the same meaning (`meanings`), are in its title, fill a
//! block, or accumulate in its text, and it says next to nothing else. Each phrase or sentence earns points, depending
//! on its strength and place, and each point allows a few bytes of other sentences. One phrase is never enough unless
//! the page says nothing else: a text that mentions a phrase remains content.
//!
//! Invariants: integers only; the text read is bounded by [`TEXT_BYTES_MAX`], and reading stops when a page has enough
//! other text, so pages with a text cost next to nothing. `docs/extraction.md` has the measurements.

mod judge;
mod meanings;
mod phrases;
mod source;

use crate::extract::document::{Document, NoContent};
use crate::extract::main_text::MainText;
use crate::extract::page_kind::no_content::judge::{Judge, TextOrigin};
use crate::extract::parse::hints::{CRUMB, FOOTER, NAV, RELATED, SIDE};
use crate::extract::parse::text;
use crate::extract::parse::tree::{Block, Tree, declared};

/// Maximum bytes of main text of a page that is examined. The longest of our sets, of consent managers, have
/// 2,100.
const TEXT_BYTES_MAX: u64 = 2_600;

/// Maximum bytes of text outside of the frame, whether chosen or not, of a page that may be without content. The time
/// for longer texts would grow with the square of their length.
const READ_BYTES_MAX: u64 = 2 * TEXT_BYTES_MAX;
/// Maximum length in bytes of a title that is read.
const TITLE_BYTES_MAX: usize = 600;

/// Bytes of text below which a page's source is searched as well.
const BARE_BYTES_MAX: u64 = 120;

/// Maximum bytes of text of a page whose labels of buttons and links are read. Such a page may be a question.
const LABELLED_BYTES_MAX: u64 = 1_200;
/// Maximum length in bytes of a line of labels.
const LABEL_BYTES_MAX: u32 = 80;
/// Maximum number of links in a line of labels.
const LABEL_LINKS_MAX: u16 = 4;

/// Names of the page's frame: menus, footers, side columns.
const FRAME: u32 = NAV | FOOTER | SIDE | CRUMB | RELATED;

/// Maximum number of nodes above a block that are examined for names of the frame.
const ANCESTORS_MAX: usize = 12;

/// Builds the tables, which are otherwise built on first use.
pub(in crate::extract) fn build_tables() {
    meanings::build_table();
    phrases::build_table();
}

/// Returns the kind of a page without content; `None` for other pages.
pub(in crate::extract) fn detect_in_page(page: &MainText<'_>) -> Option<NoContent> {
    let MainText { html, tree, chosen, .. } = *page;
    if tree.bytes_of(chosen) > TEXT_BYTES_MAX {
        return None;
    }
    let bytes = tree.bytes();
    if bytes <= READ_BYTES_MAX && source::is_check(html) {
        return Some(NoContent::Blocked);
    }
    let mut judge = Judge::for_page();
    if let Some(title) =
        text::of_segment(html, tree.head.title).filter(|title| title.len() <= TITLE_BYTES_MAX)
    {
        judge.title(&title);
    }
    let mut read = 0;
    let mut chosen = chosen.iter().peekable();
    for (at, block) in tree.blocks.iter().enumerate() {
        // Main text is never part of the frame, even if its names suggest it.
        if chosen.next_if(|&&chosen| chosen as usize == at).is_none() && is_frame(tree, block) {
            if bytes <= LABELLED_BYTES_MAX
                && block.counts.bytes <= LABEL_BYTES_MAX
                && block.links <= LABEL_LINKS_MAX
            {
                judge.label(&text::of_block(html, tree, block, false));
            }
            continue;
        }
        read += u64::from(block.counts.bytes);
        if read > READ_BYTES_MAX {
            return None;
        }
        judge.read(&text::of_block(html, tree, block, false), TextOrigin::Block);
        if judge.is_content() {
            return None;
        }
    }
    let links: u64 = tree.blocks.iter().map(|block| u64::from(block.link_bytes)).sum();
    judge.page(links, tree.head.declares(declared::PASSWORD), bytes <= LABELLED_BYTES_MAX);
    if bytes <= LABELLED_BYTES_MAX {
        source::labels(html, &mut judge);
    }
    if bytes < BARE_BYTES_MAX {
        source::read(html, bytes, &mut judge);
    }
    judge.kind()
}

/// Returns the kind of a text without markup or content; `None` for other texts.
pub(in crate::extract) fn detect_in_text(document: &Document) -> Option<NoContent> {
    let bytes: usize = document.paragraphs.iter().map(|paragraph| paragraph.text.len()).sum();
    if bytes as u64 > TEXT_BYTES_MAX {
        return None;
    }
    let mut judge = Judge::default();
    if let Some(title) = document.title.as_ref().filter(|title| title.len() <= TITLE_BYTES_MAX) {
        judge.title(title);
    }
    for paragraph in &document.paragraphs {
        judge.read(&paragraph.text, TextOrigin::Block);
        if judge.is_content() {
            return None;
        }
    }
    judge.kind()
}

/// Returns true if a block belongs to the page's frame, or is mainly links.
fn is_frame(tree: &Tree, block: &Block) -> bool {
    block.link_bytes * 2 > block.counts.bytes
        || tree.around(block).take(ANCESTORS_MAX).any(|node| node.hints & FRAME != 0)
}
