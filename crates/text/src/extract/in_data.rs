//! Text that stands in a page's data in place of its markup: a script puts it there.
//!
//! In: the page, and where its data stands ([`Head`](crate::extract::parse::tree::Head)). Out:
//! paragraphs; none where nothing in the data is sure to be the page's text. Sure are: the article's
//! text in linked data; the posts, questions and answers of linked data, where it says that the page is
//! made of them; a product's description there; and in a script's state (`__NEXT_DATA__`,
//! `data-preloaded` and the like) the longest string that holds the page's own description, with all
//! others of the same name where it is a post. State without such a string gives nothing: pages of one
//! application share their messages and terms there, and would all be copies of each other. What is no
//! JSON string gives nothing. Cost: linear in the data, since each string is read once and decoded at
//! most twice; memory: the length of the data.

use crate::extract::credits::marks::Kind;
use crate::extract::features::described::Described;
use crate::extract::parse::entities;
use crate::extract::parse::tag::{Tag, flag};
use crate::extract::parse::tree::{Segment, Tree, says};
use crate::extract::write::single_spaced;
use crate::extract::{Paragraph, ParagraphKind};

/// Bytes from which a string of the data is a text.
const TEXT_BYTES_MIN: usize = 100;

/// Thousandths of the page's description that a text of its state begins with.
const DESCRIBED_SHARE_MIN: i16 = 250;

/// What programs call the text of each post of a thread (Discourse).
const POST: &str = "cooked";

/// The text of `html` that its data holds.
pub(super) fn text(html: &str, tree: &Tree) -> Vec<Paragraph> {
    let range = |segment: Segment| html.get(segment.start as usize..segment.end as usize);
    let found = paragraphs(tree.head.body.and_then(range).unwrap_or_default());
    if !found.is_empty() {
        return found;
    }
    let scripts = tree.marks.iter().filter(|mark| mark.kind == Kind::LinkedData);
    let scripts: Vec<&str> = scripts.filter_map(|mark| range(mark.value)).collect();
    let named = |wanted: &str| {
        let strings = scripts.iter().flat_map(|script| Strings::of(script));
        strings.filter(|(name, _)| *name == wanted).map(|(_, value)| value).collect::<Vec<_>>()
    };
    if tree.head.says(says::FORUM | says::QUESTIONS) {
        let posts = named("text");
        if posts.iter().map(|post| post.len()).sum::<usize>() >= TEXT_BYTES_MIN {
            return posts.into_iter().flat_map(paragraphs).collect();
        }
    }
    if tree.head.says(says::PRODUCT) {
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
    // The value of an attribute.
    let mut decoded = String::new();
    if !state.contains('"') {
        entities::decode_into(state, &mut decoded);
    }
    of_state(if decoded.is_empty() { state } else { &decoded }, descriptions())
}

/// The text in `state` that `descriptions` are of.
fn of_state<'a>(state: &str, descriptions: impl Iterator<Item = &'a [u8]>) -> Vec<Paragraph> {
    let inner: Vec<String> = Strings::of(state)
        .filter(|(_, value)| value.len() >= TEXT_BYTES_MIN && value.starts_with(['{', '[']))
        .filter_map(|(_, value)| unescaped(value))
        .collect();
    let all = || std::iter::once(state).chain(inner.iter().map(String::as_str)).flat_map(Strings::of);
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

/// The strings of JSON, each with the name that stands before it, both as they are
/// escaped. What is no JSON gives what looks like strings.
struct Strings<'a> {
    rest: &'a str,
    name: &'a str,
}

impl<'a> Strings<'a> {
    fn of(json: &'a str) -> Self {
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

/// What `source`, a JSON string without its quotes, says.
fn unescaped(source: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{source}\"")).ok()
}

/// The paragraphs of `source`, a JSON string without its quotes, without the
/// markup that some sites leave in it: blocks and line breaks part them.
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
                let tag = Tag::of(name.as_bytes());
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
    fn what_is_no_string_gives_nothing() {
        assert_eq!(lines("a\u{1}b"), [""; 0]);
        assert_eq!(lines(r"\u12"), [""; 0]);
        assert_eq!(lines(""), [""; 0]);
    }

    #[test]
    fn strings_come_with_the_name_before_them() {
        let json = r#"{"a": "one", "b" : ["two", 3, "th\"ree"], "c": {"d": "\\"}}"#;
        let expected = [("a", "one"), ("b", "two"), ("b", r#"th\"ree"#), ("d", r"\\")];
        assert_eq!(Strings::of(json).collect::<Vec<_>>(), expected);
        for broken in ["", "\"", "\"a", "\"a\\", "\"a\\\"", "{\"a\":"] {
            assert_eq!(Strings::of(broken).count(), 0, "{broken}");
        }
    }
}
