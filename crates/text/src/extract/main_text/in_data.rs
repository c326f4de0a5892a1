//! Finds text that is in a page's data instead of its markup, where a script would insert it.
//!
//! In: the page, and the ranges of its data ([`Head`](crate::extract::parse::tree::Head)). Out: paragraphs; none
//! unless the data surely holds the page's text. It does in these places: the article's text in linked data; the
//! posts, questions and answers of linked data, if it says that the page consists of them; the ingredients and steps
//! of a recipe or of instructions; a product's description in linked data. Text that is not a JSON string is ignored.
//! Cost: linear in the data, since each string is read once and decoded at most twice. Memory: the length of the data.

use crate::extract::config::ExtractConfig;
use crate::extract::document::Paragraph;
use crate::extract::main_text::json::{Json, unescaped};
use crate::extract::main_text::linked_text::{article_body, steps};
use crate::extract::main_text::write;
use crate::extract::parse::marks::MarkKind;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tree::{Tree, declared};
use crate::extract::parse::{Builder, Show, Stack, scan, twice};

/// Minimum length in bytes of a string in the data that is taken for text of the page.
pub(super) const TEXT_BYTES_MIN: usize = 100;

/// Returns the text in the data of `html`.
pub(super) fn text(html: &str, tree: &Tree) -> Vec<Paragraph> {
    let range = |segment: Segment| html.get(segment.range());
    let scripts = tree.marks.iter().filter(|mark| mark.kind == MarkKind::LinkedData);
    let scripts: Vec<Json<'_>> = scripts.filter_map(|mark| range(mark.value)).map(Json::parse).collect();
    let found = paragraphs(scripts.iter().find_map(article_body).unwrap_or_default());
    if !found.is_empty() {
        return found;
    }
    let named = |wanted: &str| {
        let values = scripts.iter().flat_map(|script| &script.values);
        values.filter(|value| value.name == wanted).map(|value| value.text).collect::<Vec<_>>()
    };
    let steps = scripts.iter().flat_map(steps).collect::<Vec<_>>();
    if steps.iter().map(|step| step.len()).sum::<usize>() >= TEXT_BYTES_MIN {
        return steps.into_iter().flat_map(paragraphs).collect();
    }
    if tree.head.declares(declared::FORUM | declared::QUESTIONS) {
        let posts = named("text");
        if posts.iter().map(|post| post.len()).sum::<usize>() >= TEXT_BYTES_MIN {
            return posts.into_iter().flat_map(paragraphs).collect();
        }
    }
    if tree.head.declares(declared::PRODUCT) {
        let longest = named("description").into_iter().max_by_key(|description| description.len());
        if let Some(longest) = longest.filter(|description| description.len() >= TEXT_BYTES_MIN) {
            return paragraphs(longest);
        }
    }
    Vec::new()
}

/// Returns the paragraphs of `source`, a JSON string without its quotes. It may hold markup; without block elements, each
/// line is a paragraph.
pub(super) fn paragraphs(source: &str) -> Vec<Paragraph> {
    let Some(text) = unescaped(source) else { return Vec::new() };
    let has_blocks = ["<p", "<br", "<div", "<li"].iter().any(|tag| text.contains(tag));
    let html = if has_blocks { text } else { text.replace('\n', "<br>") };
    let html = twice::in_source(&html).unwrap_or(html);
    let (mut tree, mut stack, config) = (Tree::default(), Stack::default(), ExtractConfig::default());
    let mut builder = Builder::new(&html, &config, Show::Also(&[]), &mut tree, &mut stack);
    let is_read = scan::scan(html.as_bytes(), &mut builder).is_ok();
    let blocks: Vec<u32> = (0..).take(if is_read { tree.blocks.len() } else { 0 }).collect();
    write::paragraphs(&html, &tree, &blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<String> {
        paragraphs(source).into_iter().map(|paragraph| paragraph.text).collect()
    }

    #[test]
    fn escapes_references_and_markup_are_resolved() {
        assert_eq!(lines(r"One &amp; two\nthr\u0065e \u8336"), ["One & two", "three 茶"]);
        assert_eq!(lines(r"<p>One<\/p><p>two 1 < 2</p>"), ["One", "two 1 < 2"]);
        assert_eq!(lines("<p>1 << 2 <b>bold</b> <a <b"), ["1 << 2 bold"]);
    }

    #[test]
    fn text_that_is_not_a_string_gives_nothing() {
        assert_eq!(lines("a\u{1}b"), [""; 0]);
        assert_eq!(lines(r"\u12"), [""; 0]);
        assert_eq!(lines(""), [""; 0]);
    }
}
