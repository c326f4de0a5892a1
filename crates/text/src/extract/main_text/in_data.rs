//! Finds text that is in a page's data instead of its markup, where a script would insert it.
//!
//! In: the page, and the ranges of its data ([`Head`](crate::extract::parse::tree::Head)). Out: paragraphs; none
//! unless the data surely holds the page's text. It does in these places: the article's text in linked data; the
//! posts, questions and answers of linked data, if it says that the page consists of them; the ingredients and steps
//! of a recipe or of instructions; a product's description in linked data. Text that is not a JSON string is ignored.
//! Cost: linear in the data, since each string is read once and decoded at most twice. Memory: the length of the data.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::extract::document::{Paragraph, ParagraphKind};
use crate::extract::main_text::features::described::article_body;
use crate::extract::main_text::json::{Json, unescaped};
use crate::extract::parse::entities::decoded;
use crate::extract::parse::marks::MarkKind;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tag::{Tag, flag};
use crate::extract::parse::text::single_spaced;
use crate::extract::parse::tree::{Tree, declared};
use crate::extract::parse::twice;

/// Minimum length in bytes of a string in the data that is taken for text of the page.
pub(super) const TEXT_BYTES_MIN: usize = 100;

/// Returns the text in the data of `html`.
pub(super) fn text(html: &str, tree: &Tree) -> Vec<Paragraph> {
    let range = |segment: Segment| html.get(segment.range());
    let scripts = tree.marks.iter().filter(|mark| mark.kind == MarkKind::LinkedData);
    let scripts: Vec<&str> = scripts.filter_map(|mark| range(mark.value)).collect();
    let body = article_body(scripts.iter().map(|script| script.as_bytes()));
    let found = paragraphs(body.and_then(|body| std::str::from_utf8(body).ok()).unwrap_or_default());
    if !found.is_empty() {
        return found;
    }
    let scripts: Vec<Json<'_>> = scripts.into_iter().map(Json::parse).collect();
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

/// Fields of a recipe or of instructions whose values are text, and not objects with a type of their own.
const STEP_FIELDS: [&str; 7] =
    ["recipeIngredient", "ingredients", "recipeInstructions", "step", "steps", "supply", "tool"];

/// Returns the ingredients and steps of the recipes and instructions in linked data, in order. A step without a text is
/// its name.
fn steps<'a>(json: &Json<'a>) -> Vec<&'a str> {
    let mut types: HashMap<usize, &str> = HashMap::new();
    let mut whole: Vec<Range<usize>> = Vec::new();
    for value in json.values.iter().filter(|value| value.name == "@type") {
        let kind = value.text.rsplit(['/', ':']).next().unwrap_or_default();
        types.insert(value.object, kind);
        if matches!(kind, "Recipe" | "HowTo") {
            whole.push(json.objects[value.object].values.clone());
        }
    }
    let texts = json.values.iter().filter(|value| value.name == "text").map(|value| value.object);
    let with_text: HashSet<usize> = texts.collect();
    let (mut found, mut from) = (Vec::new(), 0);
    for range in whole {
        // A recipe within another one is part of it.
        for value in &json.values[range.start.max(from)..range.end.max(from)] {
            let kind = types.get(&value.object).copied().unwrap_or_default();
            let is_step = kind.starts_with("HowTo") && kind != "HowTo";
            let is_text = match value.name {
                "text" => is_step,
                "name" => is_step && !with_text.contains(&value.object),
                name => !is_step && STEP_FIELDS.contains(&name),
            };
            found.extend(is_text.then_some(value.text));
        }
        from = from.max(range.end);
    }
    found
}

/// Returns the paragraphs of `source`, a JSON string without its quotes. Markup that some sites leave in it is removed;
/// block elements and line breaks separate paragraphs.
pub(super) fn paragraphs(source: &str) -> Vec<Paragraph> {
    let Some(text) = unescaped(source) else { return Vec::new() };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        let name = after.strip_prefix('/').unwrap_or(after);
        let begins_tag = after.starts_with('/') || name.starts_with(|c: char| c.is_ascii_alphabetic());
        match begins_tag.then(|| after.find('>')).flatten() {
            Some(end) => {
                let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
                let tag = Tag::from_name(name.as_bytes());
                if tag.is(flag::BLOCK) || matches!(tag, Tag::Br | Tag::Hr) {
                    plain.push('\n');
                }
                rest = &after[end + 1..];
            }
            None => {
                plain.push('<');
                rest = after;
                if begins_tag {
                    break;
                }
            }
        }
    }
    plain.push_str(rest);
    let plain = decoded(&plain);
    let plain = twice::in_text(&plain).unwrap_or(plain);
    let lines = plain.lines().map(single_spaced);
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| Paragraph::new(ParagraphKind::Paragraph, line)).collect()
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
        assert_eq!(lines("<p>1 << 2 <b>bold</b> <a <b"), ["1 << 2 bold <a <b"]);
    }

    #[test]
    fn text_that_is_not_a_string_gives_nothing() {
        assert_eq!(lines("a\u{1}b"), [""; 0]);
        assert_eq!(lines(r"\u12"), [""; 0]);
        assert_eq!(lines(""), [""; 0]);
    }
}
