//! Walls: pages that have no content, only a reason why there is none.
//!
//! In: a page of little text, as blocks or as lines. Out: the [`Wall`] that it is, or none. A page
//! is a wall where phrases of walls (`phrases`), or sentences that mean the same (`meanings`), stand in
//! its title, are what a block says, or come together in its text, and next to nothing else is said: each
//! earns points, by its strength and place, and each point allows a few bytes of other sentences.
//! One phrase is never enough, whatever it says, unless the page says nothing else; a text that
//! mentions one stays content.
//!
//! Invariants: integers only; what is read is bounded by [`TEXT_BYTES_MAX`],
//! and a page is given up where enough else was said, so that pages with a
//! text cost next to nothing. `docs/extraction.md` has the measurements.

mod judge;
mod meanings;
mod phrases;
mod source;

use serde::Serialize;

use crate::extract::parse::hints::{CRUMB, FOOTER, NAV, RELATED, SIDE};
use crate::extract::parse::tree::{Block, Tree, says};
use crate::extract::walls::judge::{Judge, Place};
use crate::extract::write::text_of;
use crate::extract::{Document, title};

/// What a page shows in place of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Wall {
    /// The page is not there, or its server failed: 403,
    /// 404, 5xx, deleted, suspended, under maintenance.
    Error,
    /// The visitor is refused, or is to prove to be a
    /// person: firewalls, captchas, checks of the browser.
    Blocked,
    /// An account is needed.
    Login,
    /// Consent to cookies, or an age, is asked for.
    Consent,
    /// Not for the visitor's country.
    Region,
    /// A domain that is for sale, or a server with its first page.
    Parked,
    /// A script would make the page, or sends on to another one.
    Shell,
}

impl Wall {
    const ALL: [Self; 7] =
        [Self::Error, Self::Blocked, Self::Login, Self::Consent, Self::Region, Self::Parked, Self::Shell];

    /// The name as it stands in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Blocked => "BLOCKED",
            Self::Login => "LOGIN",
            Self::Consent => "CONSENT",
            Self::Region => "REGION",
            Self::Parked => "PARKED",
            Self::Shell => "SHELL",
        }
    }
}

/// Bytes of main text from which a page is not looked at: the
/// longest walls of our sets, consent managers, have 2,100.
const TEXT_BYTES_MAX: u64 = 2_600;

/// Bytes that are read of one page, in its text outside its frame, chosen or not; and of
/// its title. What comes together in longer texts takes time that grows with their square.
const READ_BYTES_MAX: u64 = 2 * TEXT_BYTES_MAX;
const TITLE_BYTES_MAX: usize = 600;

/// Bytes of text below which a page's source is searched as well.
const BARE_BYTES_MAX: u64 = 120;

/// What stands here is the page's frame.
const FRAME: u32 = NAV | FOOTER | SIDE | CRUMB | RELATED;

/// Nodes above a block that may be a frame.
const ANCESTORS_MAX: usize = 12;

/// Whether the page in `tree`, whose main text is `chosen`, is a wall.
pub(super) fn of_page(html: &str, tree: &Tree, chosen: &[u32]) -> Option<Wall> {
    let text: u64 = chosen.iter().map(|&block| u64::from(tree.blocks[block as usize].counts.bytes)).sum();
    if text > TEXT_BYTES_MAX {
        return None;
    }
    let mut judge = Judge::default();
    if let Some(title) = title::raw(html, tree.head.title).filter(|title| title.len() <= TITLE_BYTES_MAX) {
        judge.title(&title);
    }
    let mut read = 0;
    let mut chosen = chosen.iter().peekable();
    for (at, block) in tree.blocks.iter().enumerate() {
        // Main text is no frame, whatever its names say.
        if chosen.next_if(|&&chosen| chosen as usize == at).is_none() && is_frame(tree, block) {
            continue;
        }
        read += u64::from(block.counts.bytes);
        if read > READ_BYTES_MAX {
            return None;
        }
        judge.read(&text_of(html, tree, block, false), Place::Block);
        if judge.is_content() {
            return None;
        }
    }
    let links: u64 = tree.blocks.iter().map(|block| u64::from(block.link_bytes)).sum();
    judge.page(links, tree.head.says(says::PASSWORD));
    let bytes = tree.bytes();
    if bytes < BARE_BYTES_MAX {
        source::read(html, bytes, &mut judge);
    }
    judge.wall()
}

/// Whether a text without markup is what a wall says.
pub(super) fn of_text(document: &Document) -> Option<Wall> {
    let bytes: usize = document.paragraphs.iter().map(|paragraph| paragraph.text.len()).sum();
    if bytes as u64 > TEXT_BYTES_MAX {
        return None;
    }
    let mut judge = Judge::default();
    if let Some(title) = document.title.as_ref().filter(|title| title.len() <= TITLE_BYTES_MAX) {
        judge.title(title);
    }
    for paragraph in &document.paragraphs {
        judge.read(&paragraph.text, Place::Block);
        if judge.is_content() {
            return None;
        }
    }
    judge.wall()
}

/// Whether a block is of the page's frame, or mainly links.
fn is_frame(tree: &Tree, block: &Block) -> bool {
    block.link_bytes * 2 > block.counts.bytes
        || tree
            .ancestors(block.node)
            .take(ANCESTORS_MAX)
            .any(|node| tree.nodes[node as usize].hints & FRAME != 0)
}
