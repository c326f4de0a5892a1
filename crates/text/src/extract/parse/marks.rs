//! Recognises names in the markup that announce an author, a source or a date: names of `<meta>`, classes, ids and
//! properties, and `<time>`. The parser collects the marks; `metadata` reads the announced values.
//!
//! In: the attributes of one tag. Out: what it announces, and its rank among others of the kind; the lowest rank wins.
//! Cost: 1 ns per byte of the names; a page has at most [`MARKS_MAX`] marks.

use crate::extract::parse::scan::Attributes;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tag::Tag;

/// Maximum number of marks kept for a page: enough for its head and some hundred elements.
pub(in crate::extract) const MARKS_MAX: usize = 512;

/// The kind of value that a mark announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum MarkKind {
    /// `<meta>` with an author.
    Author,
    /// `<meta>` with the source of the text.
    Source,
    /// `<meta>` with the time of publication.
    Published,
    /// `<time>` or another element with a time, of this text or of other parts of the page.
    PublishedElement,
    /// `<meta>` with the site's name.
    SiteName,
    /// The page's language.
    Language,
    /// A script with linked data.
    LinkedData,
    /// `rel=canonical`.
    Canonical,
    /// The base of relative links.
    Base,
    /// An element that holds an author's name.
    AuthorElement,
    /// An element that holds the source.
    SourceElement,
}

/// A place in the markup that announces a value.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Mark {
    pub(in crate::extract) kind: MarkKind,
    /// The rank among the marks of the same kind; the lowest wins.
    pub(in crate::extract) rank: u8,
    /// The value of an attribute, as a range of the page; may be empty.
    pub(in crate::extract) value: Segment,
    /// The next segment of text, as an index into the tree's segments.
    pub(in crate::extract) segment: u32,
}

/// Names of `<meta>` by kind, the most reliable first.
#[rustfmt::skip]
const METAS: [(MarkKind, &[&str]); 5] = [
    (MarkKind::Author, &[
        "author", "article:author", "og:article:author", "parsely-author", "sailthru.author", "dc.creator",
        "dcterms.creator", "dc.creator.personalname", "citation_author", "byl", "cxenseparse:author",
        "rnews:author", "article:author_name",
    ]),
    (MarkKind::Source, &["contentsource", "source", "mediaid", "article:source", "og:article:source", "laiyuan"]),
    (MarkKind::Published, &[
        "article:published_time", "datepublished", "og:article:published_time", "weibo: article:create_at",
        "weibo:article:create_at", "news:published_time", "og:published_time", "og:release_date",
        "apub:time", "og:time", "pubdate", "publishdate", "publish-date", "publish_date",
        "parsely-pub-date", "sailthru.date", "citation_publication_date", "citation_date", "dc.date.issued",
        "dcterms.issued", "dcterms.created", "dc.date.created", "dc.date", "cxenseparse:recs:publishtime",
        "rnews:datepublished", "firstpublishedtime", "article.published", "published_date", "published",
        "article:published", "publication_date", "article_date_original", "article:post_date", "maketime",
        "date", "dateupdate",
    ]),
    (MarkKind::SiteName, &["og:site_name", "application-name", "sitename", "apple-mobile-web-app-title"]),
    (MarkKind::Language, &["", "content-language", "language", "og:locale"]),
];

/// Returns what a `<meta>` announces, and its rank.
pub(in crate::extract) fn from_meta(attributes: &Attributes<'_>) -> Option<(MarkKind, u8)> {
    let name = if attributes.property.is_empty() { attributes.itemprop } else { attributes.property };
    let name = name.trim_ascii();
    // Most names in a head announce none of these: sizes of pictures, cards of social networks.
    let is_other = name.starts_with(b"twitter:") || name.starts_with(b"og:image") || name.starts_with(b"al:");
    if name.is_empty() || attributes.content.is_empty() || is_other {
        return None;
    }
    METAS.iter().find_map(|(kind, names)| {
        let rank = names.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()))?;
        Some((*kind, rank as u8))
    })
}

/// Rank of a `<time>` without further names: after every `<meta>`.
pub(in crate::extract) const TIME_RANK: u8 = 100;

/// Returns what a visible element announces, and its rank. With `names`, also reads the words of class and id.
#[inline]
pub(in crate::extract) fn from_element(
    tag: Tag,
    attributes: &Attributes<'_>,
    names: bool,
) -> Option<(MarkKind, u8)> {
    if !attributes.itemprop.is_empty() || !attributes.datetime.is_empty() {
        return from_property(tag, attributes);
    }
    let may_be_author =
        attributes.rel.len() >= b"author".len() && memchr::memchr(b'u', attributes.rel).is_some();
    if may_be_author && has_word(attributes.rel, b"author") {
        return Some((MarkKind::AuthorElement, 1));
    }
    if !names {
        return None;
    }
    [attributes.class, attributes.id].into_iter().find_map(from_names)
}

fn from_property(tag: Tag, attributes: &Attributes<'_>) -> Option<(MarkKind, u8)> {
    if has_word(attributes.itemprop, b"datePublished") && !attributes.datetime.is_empty() {
        return Some((MarkKind::PublishedElement, 1));
    }
    if has_word(attributes.itemprop, b"author") || has_word(attributes.itemprop, b"creator") {
        return Some((MarkKind::AuthorElement, 0));
    }
    if tag == Tag::Time && !attributes.datetime.is_empty() {
        let is_update = holds(attributes.class, b"updated") && !holds(attributes.class, b"published");
        return Some((MarkKind::PublishedElement, TIME_RANK + u8::from(is_update)));
    }
    [attributes.class, attributes.id].into_iter().find_map(from_names)
}

/// Returns what the words of a class or id announce.
fn from_names(names: &[u8]) -> Option<(MarkKind, u8)> {
    if names.len() < b"author".len() {
        return None;
    }
    let mut before = b' ';
    for (at, &byte) in names.iter().enumerate() {
        let begins =
            !before.is_ascii_alphabetic() || (byte.is_ascii_uppercase() && before.is_ascii_lowercase());
        before = byte;
        if !begins || !matches!(byte | 0x20, b'a' | b'b' | b's' | b'l' | b'w') {
            continue;
        }
        let rest = &names[at..];
        let is = |word: &[u8]| rest.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
        if is(b"author") || is(b"byline") || is(b"writer") {
            return Some((MarkKind::AuthorElement, 2));
        }
        if is(b"source") || is(b"laiyuan") {
            return Some((MarkKind::SourceElement, 0));
        }
    }
    None
}

/// Returns true if `word` is one of the words in `words`, which are separated by white space.
pub(in crate::extract) fn has_word(words: &[u8], word: &[u8]) -> bool {
    words.len() >= word.len()
        && words.split(u8::is_ascii_whitespace).any(|found| found.eq_ignore_ascii_case(word))
}

/// Returns true if `names` contains `part`, in any case.
fn holds(names: &[u8], part: &[u8]) -> bool {
    names.windows(part.len()).any(|found| found.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_announce_authors_sources_and_dates() {
        let mark = |names: &str| from_names(names.as_bytes()).map(|(kind, _)| kind);
        assert_eq!(mark("date-source"), Some(MarkKind::SourceElement));
        assert_eq!(mark("ep-source cDGray"), Some(MarkKind::SourceElement));
        assert_eq!(mark("postAuthor"), Some(MarkKind::AuthorElement));
        assert_eq!(mark("byline__name"), Some(MarkKind::AuthorElement));
        for other in ["resource", "coauthor", "datasource", "btn", "", "s"] {
            assert_eq!(mark(other), None, "{other}");
        }
    }

    #[test]
    fn metas_are_recognised_in_any_case() {
        let mark = |name: &'static str| {
            let attributes = Attributes { property: name.as_bytes(), content: b"x", ..Attributes::default() };
            from_meta(&attributes)
        };
        assert_eq!(mark("ContentSource"), Some((MarkKind::Source, 0)));
        assert_eq!(mark("article:published_time"), Some((MarkKind::Published, 0)));
        assert_eq!(mark("viewport"), None);
        assert_eq!(mark(""), None);
    }
}
