//! What stands in the markup and is not seen, or is not of the text that it stands in.
//!
//! In: a tag and its attributes. Out: whether its content is passed over. Cost: the length of its names and style.

use memchr::memmem;

use crate::extract::scan::Attributes;
use crate::extract::tag::Tag;

/// Whether the element is not shown. `visibility` does not count: large sites hide their text that way until a
/// script has run.
pub(super) fn is_hidden(attributes: &Attributes<'_>) -> bool {
    // React sends parts of a page as `<div hidden id="S:0">`, which a script then shows.
    if attributes.hidden && !attributes.id.starts_with(b"S:") {
        return true;
    }
    if attributes.style.len() < "display:none".len() {
        return false;
    }
    memmem::find(attributes.style, b"display").is_some_and(|at| {
        let value = attributes.style[at + "display".len()..].trim_ascii_start();
        value.strip_prefix(b":").is_some_and(|value| value.trim_ascii_start().starts_with(b"none"))
    })
}

/// Names of what programs put into a line that is not of its text: links from a heading to itself, "edit" of wikis, words
/// for screen readers.
const MARKS: [&[u8]; 8] = [
    b"headerlink",
    b"hash-link",
    b"anchorjs-link",
    b"header-anchor",
    b"mw-editsection",
    b"sr-only",
    b"visually-hidden",
    b"screen-reader-text",
];

/// Whether the element holds such a mark.
pub(super) fn is_mark(tag: Tag, class: &[u8]) -> bool {
    matches!(tag, Tag::A | Tag::Span)
        && class.len() >= "sr-only".len()
        && class.split(u8::is_ascii_whitespace).any(|name| MARKS.contains(&name))
}
