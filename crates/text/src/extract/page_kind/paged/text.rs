//! Decides if a page that links to numbered pages has a text of its own or lists other texts. Both kinds occur.
//!
//! In: the tree, the chosen blocks, the page's kind; on demand, whether the page has a date of publication. Out: true
//! for a text. Of 1,734 real pages of seven types, 42 link to numbered pages of their own: 17 threads, 21 lists of
//! articles and products, 4 texts. These rules accept exactly the 4 texts. They were made by looking at these pages, so
//! expect less on others. Cost: linear in the blocks.

use crate::extract::document::PageKind;
use crate::extract::main_text::MainText;
use crate::extract::parse::tree::{Block, Tree, declared};

/// Minimum length in bytes of a paragraph of a text: 35 English words, or 70 Chinese characters.
const PARAGRAPH_BYTES: u32 = 200;
/// Maximum number of links that are blocks of their own in a text.
const LINKED_MAX: usize = 2;

/// Returns true if a page has a text of its own.
pub(in crate::extract) fn has_text(
    page: &MainText<'_>,
    kind: PageKind,
    is_dated: impl FnOnce() -> bool,
) -> bool {
    let MainText { tree, chosen, .. } = *page;
    if kind != PageKind::Article
        || tree.head.declares(declared::LIST | declared::PRODUCT | declared::FORUM | declared::QUESTIONS)
    {
        return false;
    }
    let chosen: Vec<&Block> = chosen.iter().map(|&block| &tree.blocks[block as usize]).collect();
    let count = |is: fn(&Tree, &Block) -> bool| chosen.iter().filter(|block| is(tree, block)).count();
    let bytes = |is: fn(&Block) -> bool| -> u64 {
        chosen.iter().filter(|block| is(block)).map(|block| u64::from(block.counts.bytes)).sum()
    };
    let linked = count(|_, block| is_linked(block));
    if linked > LINKED_MAX && linked * 5 >= chosen.len() {
        return false;
    }
    // Accepts a text with little else on the page, or paragraphs with a date of publication, which lists seldom have.
    let is_plain = || {
        let other_texts = tree.blocks.iter().filter(|block| is_heading(tree, block) && is_linked(block));
        bytes(|_| true) * 2 > tree.bytes()
            && count(is_heading) * 4 <= chosen.len()
            && other_texts.count() <= LINKED_MAX
    };
    is_plain() || (bytes(is_paragraph) * 2 >= bytes(|_| true) && is_dated())
}

fn is_linked(block: &Block) -> bool {
    u64::from(block.link_bytes) * 2 > u64::from(block.counts.bytes)
}

fn is_paragraph(block: &Block) -> bool {
    block.counts.bytes >= PARAGRAPH_BYTES && u64::from(block.link_bytes) * 4 < u64::from(block.counts.bytes)
}

fn is_heading(tree: &Tree, block: &Block) -> bool {
    tree.heading_level(block).is_some()
}

#[cfg(test)]
mod tests {
    use crate::extract::{ExtractConfig, Extractor, Syntax};
    use leitong_base::work::Work;

    fn is_of_an_article(content: &str) -> bool {
        let mut extractor = Extractor::new(&ExtractConfig::default());
        let html = format!("<title>Ferries</title>{content}<p><a href='/tea?page=2'>2</a></p>");
        let page = extractor.extract_page(&html, Syntax::default(), &mut Work::unbounded());
        page.expect("within the limits").paged_article("https://a.example/tea").is_some()
    }

    #[test]
    fn a_text_is_distinguished_from_a_list_of_texts() {
        let text = "The ferry sails again from Monday on, the company says. ".repeat(6);
        let article = format!("<h1>Ferries</h1><p>{text}</p><p>{text}</p><p>{text}</p>");
        let teaser = format!("<h2><a href='/x'>The ferry sails again</a></h2><p>{text}</p>");
        let other = "<div><h3><a href='/y'>Another text</a></h3></div>".repeat(6);
        assert!(is_of_an_article(&article));
        assert!(!is_of_an_article(&teaser.repeat(5)), "a list");
        assert!(!is_of_an_article(&format!("{article}{other}")), "it may be one");
        let dated = "<meta property='article:published_time' content='2026-11-20T08:00:00Z'>";
        assert!(is_of_an_article(&format!("{dated}{article}{other}")), "it has a date of publication");
        let product = "<meta property='og:type' content='product'>";
        assert!(!is_of_an_article(&format!("{product}{article}")));
    }
}
