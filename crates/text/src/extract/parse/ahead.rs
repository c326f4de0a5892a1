//! Looks ahead in the markup of an element that begins, where its own tag does not say what it is.
//!
//! In: a start tag. Out: whether the element is a word of a line, and whether its id repeats a section's title. Cost: at
//! most [`AHEAD_BYTES_MAX`] bytes for each element with such a style or id.

use memchr::{memchr, memmem};

use crate::extract::parse::scan::Attributes;
use crate::extract::parse::tag::{Tag, flag};
use crate::extract::parse::{Builder, hints};

/// Maximum number of bytes that are examined.
const AHEAD_BYTES_MAX: usize = 8192;
/// Maximum length in bytes of a title with its markup.
const TITLE_BYTES_MAX: usize = 512;
/// Maximum length in bytes of a word.
const WORD_BYTES_MAX: usize = 64;

impl Builder<'_> {
    /// Returns the bytes after the start tag that `attributes` come from.
    fn content(&self, attributes: &Attributes<'_>) -> &[u8] {
        let values = [attributes.style, attributes.id, attributes.class];
        let ends = values.iter().filter_map(|value| self.range_of(value)).map(|value| value.end as usize);
        let from = ends.fold(attributes.start, usize::max);
        let from = from + memchr(b'>', &self.html[from..]).map_or(0, |length| length + 1);
        &self.html[from..self.html.len().min(from + AHEAD_BYTES_MAX)]
    }

    /// Returns true if a block element is a word or letter of a line. Programs that animate a text put each into an
    /// element of its own, which the line holds like a word: `display: inline-block`.
    pub(super) fn is_word(&self, tag: Tag, attributes: &Attributes<'_>) -> bool {
        if !tag.is(flag::BLOCK)
            || !is_inline(attributes.style)
            || memmem::find(attributes.style, b"none").is_some()
        {
            return false;
        }
        let content = self.content(attributes);
        let Some(length) = memchr(b'<', content) else { return false };
        let text = content[..length].trim_ascii();
        let next = &content[length..content.len().min(length + AHEAD_BYTES_MAX / 16)];
        let holds_letters = || is_inline(next.split(|byte| *byte == b'>').next().unwrap_or_default());
        match text {
            [] => holds_letters(),
            _ => text.len() <= WORD_BYTES_MAX && !text.iter().any(u8::is_ascii_whitespace),
        }
    }

    /// Returns the hints of an element's id. An id that repeats the title of a section of prose says nothing of its
    /// role: Sphinx, pandoc and others write `id="related-work"` for a section "Related work".
    pub(super) fn hints_of_id(&self, tag: Tag, attributes: &Attributes<'_>) -> hints::Hints {
        match hints::from_names(attributes.id, &mut 0) {
            found if found & (hints::BOILERPLATE | hints::CONSENT) == 0 => found,
            _ if self.repeats_title(tag, attributes) == Some(true) => 0,
            found => found,
        }
    }

    fn repeats_title(&self, tag: Tag, attributes: &Attributes<'_>) -> Option<bool> {
        let mut rest = self.content(attributes);
        if tag.heading_level() == 0 {
            // The heading is the first in the element, apart from anchors and wrappers.
            for _ in 0..4 {
                rest = rest.trim_ascii_start().strip_prefix(b"<")?;
                let is_heading = matches!(rest, [b'h' | b'H', b'1'..=b'6', ..]);
                rest = &rest[memchr(b'>', rest)? + 1..];
                if is_heading {
                    break;
                }
            }
        }
        let begin = &rest[..rest.len().min(TITLE_BYTES_MAX)];
        let end = memmem::find(begin, b"</h").or_else(|| memmem::find(begin, b"</H"))?;
        let (title, rest) = rest.split_at(end);
        let without_link = &title[..memmem::rfind(title, b"<a").unwrap_or(title.len())];
        let id = letters(attributes.id);
        let repeats = id == letters(title) || id == letters(without_link);
        Some(repeats && (tag.heading_level() != 0 || is_prose(rest)))
    }
}

/// Returns true if a style lays out its element within a line.
fn is_inline(style: &[u8]) -> bool {
    memmem::find_iter(style, b"inline").any(|at| style[..at].trim_ascii_end().ends_with(b":"))
}

/// Returns the ASCII letters of `text` in lower case, without tags and references.
fn letters(text: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let mut until = None;
    for byte in text {
        match (until, byte) {
            (Some(end), byte) => until = Some(end).filter(|end| end != byte),
            (None, b'<') => until = Some(b'>'),
            (None, b'&') => until = Some(b';'),
            (None, byte) => found.extend(byte.is_ascii_alphabetic().then(|| byte.to_ascii_lowercase())),
        }
    }
    found
}

/// Returns true if the rest of a section, after its heading, begins with a paragraph and has few links and no form.
fn is_prose(rest: &[u8]) -> bool {
    let end = [&b"</section"[..], b"</article", b"<h1", b"<h2", b"<h3"].into_iter();
    let end = end.filter_map(|tag| memmem::find(rest, tag)).min().unwrap_or(rest.len());
    let rest = &rest[..end];
    let paragraph = memmem::find(rest, b"<p").filter(|at| letters(&rest[..*at]).is_empty());
    let linked = memmem::find_iter(rest, b"<a ").map(|at| {
        let link = &rest[at..];
        letters(&link[..memmem::find(link, b"</a").unwrap_or(link.len())]).len()
    });
    paragraph.is_some()
        && linked.sum::<usize>() * 3 < letters(rest).len().max(rest.len() / 4)
        && ["<form", "<input", "<iframe"].iter().all(|tag| memmem::find(rest, tag.as_bytes()).is_none())
}
