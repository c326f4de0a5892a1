//! The chosen blocks of a page → Markdown: CommonMark with GitHub's tables, without raw HTML.
//!
//! ```text
//! chosen blocks ─ outline (containers, tables) ─ inline (links, emphasis, escapes) ─ write (lines) → Markdown
//! ```
//!
//! In: a page, its tree with its [structure](crate::extract::parse::structure), and the same chosen blocks as
//! for the main text. Out: text that a parser of CommonMark reads as the same words in the same order, with the
//! page's headings, lists, quotations, code, tables, links, emphasis and alternative texts of images.
//!
//! Invariants: no character of the page acts as markup; whatever cannot be written without raw HTML is written
//! as its text. Cost: linear in the page; lists and quotations are nested at most [`outline::LEVELS_MAX`] deep.

mod code;
mod escape;
mod formula;
mod inline;
mod links;
mod outline;
mod paragraphs;
mod table;
#[cfg(test)]
mod tests;
mod write;

use crate::extract::main_text::MainText;
use crate::extract::parse::tree::Tree;

pub(in crate::extract) use links::Base;
pub(in crate::extract) use paragraphs::of_paragraphs;

/// Writes the article's headline and the chosen blocks of a page as Markdown. Links are made absolute by `base`.
pub(in crate::extract) fn of_blocks(page: &MainText<'_>, base: &Base) -> String {
    let MainText { html, tree, .. } = *page;
    let mut chosen: Vec<u32> = page.headline().chain(page.chosen.iter().copied()).collect();
    chosen.sort_unstable();
    let page = Page { html, tree, chosen: &chosen, base };
    write::write(&outline::outline(&page))
}

/// A page with its chosen blocks.
struct Page<'a> {
    html: &'a str,
    tree: &'a Tree,
    chosen: &'a [u32],
    base: &'a Base,
}
