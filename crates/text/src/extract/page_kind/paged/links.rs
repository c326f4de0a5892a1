//! Lists the links of a page with their labels.
//!
//! In: the page. Out: each `href` in the order of the page, and on demand its tag's `rel` and its text. Reads the
//! markup itself, since the tree has no links; links in comments and scripts are included. Cost: one search, and at
//! most [`LABEL_BYTES_MAX`] bytes per label.

use memchr::{memchr, memchr_iter, memrchr};

use crate::extract::page_kind::list;
use crate::extract::parse::entities;
use crate::extract::parse::scan::values;
use crate::extract::parse::text::without_tags;

/// Maximum length of a link in bytes; a longer one does not lead to a page of an article.
const HREF_BYTES_MAX: usize = 512;
/// Maximum bytes of a tag that are read before its `href`, and also from there on.
const TAG_BYTES_MAX: usize = 512;
/// Maximum bytes of markup that are read of a link's content.
const LABEL_BYTES_MAX: usize = 200;
/// Maximum number of characters of a pager's label.
const LABEL_CHARS_MAX: usize = 24;

/// The meaning of a link's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// A page number.
    Number(u32),
    /// A phrase for a page: "next page", `第2页`.
    Page,
    /// A phrase for "next" or "previous" that does not say of what.
    Next,
    /// Anything else.
    Other,
}

/// A link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link<'a> {
    html: &'a str,
    /// The link as written in the page.
    pub(super) href: &'a str,
    /// Offset of the link in the page.
    start: usize,
}

/// Returns all links of a page.
pub(super) fn find(html: &str) -> impl Iterator<Item = Link<'_>> {
    let bytes = html.as_bytes();
    let names = memchr_iter(b'=', bytes)
        .filter(|at| at.checked_sub(4).is_some_and(|start| bytes[start..*at].eq_ignore_ascii_case(b"href")));
    names.filter_map(|at| {
        let quoted = bytes.get(at + 1).filter(|byte| matches!(byte, b'"' | b'\''));
        let start = at + 1 + usize::from(quoted.is_some());
        let rest = bytes.get(start..)?;
        let rest = &rest[..rest.len().min(HREF_BYTES_MAX)];
        let length = match quoted {
            Some(quote) => memchr(*quote, rest),
            None => rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'>'),
        }?;
        let href = html.get(start..start + length)?.trim();
        (!href.is_empty() && !href.starts_with('#')).then_some(Link { html, href, start })
    })
}

impl Link<'_> {
    /// Returns the link with character references decoded.
    pub(super) fn href(&self) -> String {
        entities::decoded_link(self.href)
    }

    /// Returns the label of the link: its text, else its `rel`.
    pub(super) fn label(&self) -> Label {
        match self.text().as_deref().map(label) {
            None | Some(Label::Other) if self.is_next() => Label::Next,
            None => Label::Other,
            Some(label) => label,
        }
    }

    /// Returns the text of the link in lower case; `None` if its tag is not an `<a>` or its end is not found.
    fn text(&self) -> Option<String> {
        let bytes = self.html.as_bytes();
        let tag = &bytes[self.tag_start()..self.start];
        if !tag.get(..2)?.eq_ignore_ascii_case(b"<a") {
            return None;
        }
        let end = self.start + self.href.len();
        let from = end + memchr(b'>', &bytes[end..(end + TAG_BYTES_MAX).min(bytes.len())])? + 1;
        let content = &bytes[from..(from + LABEL_BYTES_MAX).min(bytes.len())];
        let length = content.windows(3).position(|bytes| bytes.eq_ignore_ascii_case(b"</a"))?;
        let text = without_tags(self.html.get(from..from + length)?);
        Some(entities::decoded(&text).to_lowercase())
    }

    /// Returns the offset of the link's tag, or of the link itself if the tag is not found.
    fn tag_start(&self) -> usize {
        let first = self.start.saturating_sub(TAG_BYTES_MAX);
        memrchr(b'<', &self.html.as_bytes()[first..self.start]).map_or(self.start, |at| first + at)
    }

    /// Returns true if the tag's `rel` is `next` or `prev`.
    fn is_next(&self) -> bool {
        let bytes = self.html.as_bytes();
        let bytes = &bytes[..(self.start + TAG_BYTES_MAX).min(bytes.len())];
        let [rel] = values(bytes, self.tag_start() + 1, ["rel"]);
        rel.starts_with(b"next") || rel.starts_with(b"prev")
    }
}

/// Classifies a text in lower case.
fn label(text: &str) -> Label {
    let words = text.trim_matches(|c: char| !c.is_alphanumeric());
    let has_arrow = || text.chars().any(|c| matches!(c, '»' | '›' | '>' | '→' | '«' | '‹' | '<' | '←'));
    if let Ok(number @ 0..=99) = words.parse() {
        Label::Number(number)
    } else if words.is_empty() {
        if has_arrow() { Label::Next } else { Label::Other }
    } else if words.chars().nth(LABEL_CHARS_MAX).is_some() {
        Label::Other
    } else if list("page").iter().any(|word| words.contains(word)) {
        Label::Page
    } else if list("next").iter().any(|word| words.starts_with(word)) {
        Label::Next
    } else {
        Label::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_with_their_labels() {
        let page = r##"<link rel="next" href="/b?p=2"><a href = 'x'></a><a class=n href=/c_2.html >
            <b>第2页</b></a><a href="#d">2</a><A HREF='/e'> [ 12 ] </A><a href="/f" rel=prev>Tea</a>
            <a href="">1</a><a href="/g">&raquo;</a><a href="/next-week">Next week's tea, in detail</a>"##;
        let found: Vec<(&str, Label)> = find(page).map(|link| (link.href, link.label())).collect();
        assert_eq!(
            found,
            [
                ("/b?p=2", Label::Next),
                ("/c_2.html", Label::Page),
                ("/e", Label::Number(12)),
                ("/f", Label::Next),
                ("/g", Label::Next),
                ("/next-week", Label::Other),
            ]
        );
    }
}
