//! Finds text that is in a page's data instead of its markup, where a script would insert it.
//!
//! In: the page, and the ranges of its data ([`Head`](crate::extract::parse::tree::Head)). Out: paragraphs; none unless
//! the data surely holds the page's text. It does in these places: the article's text in linked data; the posts,
//! questions and answers of linked data, if it says that the page consists of them; a product's description in linked
//! data; and in a script's state (`__NEXT_DATA__`, `data-preloaded` and the like) the longest string that contains the
//! page's own description, with all other posts if it is a post. State without such a string is ignored: pages of one
//! application share messages and terms there, and would all be copies of one another. Text that is not a JSON string
//! is ignored too. Cost: linear in the data, since each string is read once and decoded at most twice. Memory: the
//! length of the data.

use crate::extract::document::{Paragraph, ParagraphKind};
use crate::extract::main_text::features::described::Described;
use crate::extract::parse::entities;
use crate::extract::parse::marks::Kind;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tag::{Tag, flag};
use crate::extract::parse::text::single_spaced;
use crate::extract::parse::tree::{Tree, declared};

/// Minimum length in bytes of a string in the data that counts as a text.
const TEXT_BYTES_MIN: usize = 100;

/// Minimum share of the page's description, in thousandths, that a string of the state must contain.
const DESCRIBED_SHARE_MIN: i16 = 250;

/// The name of the field that holds a post's text in threads of Discourse.
const POST: &str = "cooked";

/// Returns the text in the data of `html`.
pub(super) fn text(html: &str, tree: &Tree) -> Vec<Paragraph> {
    let range = |segment: Segment| html.get(segment.start as usize..segment.end as usize);
    let found = paragraphs(tree.head.body.and_then(range).unwrap_or_default());
    if !found.is_empty() {
        return found;
    }
    let scripts = tree.marks.iter().filter(|mark| mark.kind == Kind::LinkedData);
    let scripts: Vec<&str> = scripts.filter_map(|mark| range(mark.value)).collect();
    let named = |wanted: &str| {
        let strings = scripts.iter().flat_map(|script| Strings::parse(script));
        strings.filter(|(name, _)| *name == wanted).map(|(_, value)| value).collect::<Vec<_>>()
    };
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
    let state = tree.head.state.and_then(range).unwrap_or_default();
    let descriptions = || tree.head.descriptions.into_iter().flatten().filter_map(range).map(str::as_bytes);
    if state.len() < TEXT_BYTES_MIN || descriptions().next().is_none() {
        return Vec::new();
    }
    // A state without quotation marks is the value of an attribute, in which they are character references.
    let mut decoded = String::new();
    if !state.contains('"') {
        entities::decode_into(state, &mut decoded);
    }
    from_state(if decoded.is_empty() { state } else { &decoded }, descriptions())
}

/// Returns the longest text in `state` that contains enough of `descriptions`, with all other posts if it is a post.
fn from_state<'a>(state: &str, descriptions: impl Iterator<Item = &'a [u8]>) -> Vec<Paragraph> {
    let inner: Vec<String> = Strings::parse(state)
        .filter(|(_, value)| value.len() >= TEXT_BYTES_MIN && value.starts_with(['{', '[']))
        .filter_map(|(_, value)| unescaped(value))
        .collect();
    let all = || std::iter::once(state).chain(inner.iter().map(String::as_str)).flat_map(Strings::parse);
    let is_text = |value: &str| value.len() >= TEXT_BYTES_MIN && !value.starts_with(['{', '[']);
    let texts: Vec<_> = all().filter(|(_, value)| is_text(value)).collect();
    let mut described = Described::default();
    described.gather(descriptions, None, texts.iter().map(|(_, value)| value.as_bytes()));
    let found = texts.iter().zip(&described.shares);
    let found = found.filter(|(_, shares)| shares[1] >= DESCRIBED_SHARE_MIN);
    match found.max_by_key(|((_, value), _)| value.len()) {
        Some(((POST, _), _)) => {
            all().filter(|(name, _)| *name == POST).flat_map(|(_, value)| paragraphs(value)).collect()
        }
        Some(((_, value), _)) => paragraphs(value),
        None => Vec::new(),
    }
}

/// An iterator over the strings of JSON that are values, each with the last name before it. Both keep their escapes.
/// In text that is not JSON, it finds whatever looks like a string.
struct Strings<'a> {
    rest: &'a str,
    name: &'a str,
}

impl<'a> Strings<'a> {
    fn parse(json: &'a str) -> Self {
        Self { rest: json, name: "" }
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = memchr::memchr(b'"', self.rest.as_bytes())? + 1;
            let bytes = self.rest.as_bytes();
            let mut end = start;
            loop {
                end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
                if bytes[end] == b'"' {
                    break;
                }
                end += 2;
            }
            let string = self.rest.get(start..end)?;
            self.rest = &self.rest[end + 1..];
            if !self.rest.trim_ascii_start().starts_with(':') {
                return Some((self.name, string));
            }
            self.name = string;
        }
    }
}

/// Returns the value of `source`, a JSON string without its quotes.
fn unescaped(source: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{source}\"")).ok()
}

/// Returns the paragraphs of `source`, a JSON string without its quotes. Markup that some sites leave in it is removed;
/// block elements and line breaks separate paragraphs.
fn paragraphs(source: &str) -> Vec<Paragraph> {
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
    let lines = plain.lines().map(|line| {
        let mut decoded = String::with_capacity(line.len());
        entities::decode_into(line, &mut decoded);
        single_spaced(&decoded)
    });
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

    #[test]
    fn strings_come_with_the_name_before_them() {
        let json = r#"{"a": "one", "b" : ["two", 3, "th\"ree"], "c": {"d": "\\"}}"#;
        let expected = [("a", "one"), ("b", "two"), ("b", r#"th\"ree"#), ("d", r"\\")];
        assert_eq!(Strings::parse(json).collect::<Vec<_>>(), expected);
        for broken in ["", "\"", "\"a", "\"a\\", "\"a\\\"", "{\"a\":"] {
            assert_eq!(Strings::parse(broken).count(), 0, "{broken}");
        }
    }
}
