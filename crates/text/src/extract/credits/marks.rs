//! Names in the markup that announce an author, a source, a date: of `<meta>`, of classes, ids and
//! properties, of `<time>`. The parser collects them; [`super`] reads what they announce.
//!
//! In: attributes of one tag. Out: what it announces, and its rank among others of the kind, the
//! lowest first. Cost: 1 ns a byte of the names; the marks of a page are at most [`MARKS_MAX`].

use crate::extract::parse::scan::Attributes;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::Segment;

/// Marks that are kept of a page: the head's, and those of some hundred elements.
pub(in crate::extract) const MARKS_MAX: usize = 512;

/// What a mark announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Kind {
    /// `<meta>` with an author.
    Author,
    /// `<meta>` with the source of the text.
    Source,
    /// `<meta>` with the time of publication.
    Published,
    /// `<time>` or another element with a time, of this text or of something else on the page.
    PublishedElement,
    /// `<meta>` with the site's name.
    SiteName,
    /// The page's language.
    Language,
    /// A script with linked data.
    LinkedData,
    /// `rel=canonical`.
    Canonical,
    /// What relative links are relative to.
    Base,
    /// An element that holds an author's name.
    AuthorElement,
    /// An element that holds the source.
    SourceElement,
}

/// A place of the markup that announces something.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Mark {
    pub(in crate::extract) kind: Kind,
    /// Among others of its kind the lowest wins.
    pub(in crate::extract) rank: u8,
    /// What an attribute says, as a range of the page; empty where nothing.
    pub(in crate::extract) value: Segment,
    /// The next segment of text, as an index into the tree's.
    pub(in crate::extract) segment: u32,
}

/// Names of `<meta>`, the most telling of a kind first.
const METAS: [(Kind, &[&str]); 5] = [
    (
        Kind::Author,
        &[
            "author",
            "article:author",
            "og:article:author",
            "parsely-author",
            "sailthru.author",
            "dc.creator",
            "dcterms.creator",
            "dc.creator.personalname",
            "citation_author",
            "byl",
            "cxenseparse:author",
            "rnews:author",
            "article:author_name",
        ],
    ),
    (Kind::Source, &["contentsource", "source", "mediaid", "article:source", "og:article:source", "laiyuan"]),
    (
        Kind::Published,
        &[
            "article:published_time",
            "datepublished",
            "og:article:published_time",
            "weibo: article:create_at",
            "weibo:article:create_at",
            "news:published_time",
            "og:published_time",
            "og:release_date",
            "apub:time",
            "og:time",
            "pubdate",
            "publishdate",
            "publish-date",
            "publish_date",
            "parsely-pub-date",
            "sailthru.date",
            "citation_publication_date",
            "citation_date",
            "dc.date.issued",
            "dcterms.issued",
            "dcterms.created",
            "dc.date.created",
            "dc.date",
            "cxenseparse:recs:publishtime",
            "rnews:datepublished",
            "firstpublishedtime",
            "article.published",
            "published_date",
            "published",
            "article:published",
            "publication_date",
            "article_date_original",
            "article:post_date",
            "maketime",
            "date",
            "dateupdate",
        ],
    ),
    (Kind::SiteName, &["og:site_name", "application-name", "sitename", "apple-mobile-web-app-title"]),
    (Kind::Language, &["", "content-language", "language", "og:locale"]),
];

/// What a `<meta>` announces.
pub(in crate::extract) fn of_meta(attributes: &Attributes<'_>) -> Option<(Kind, u8)> {
    let name = if attributes.property.is_empty() { attributes.itemprop } else { attributes.property };
    let name = name.trim_ascii();
    // Most of what a head has: sizes of pictures, cards of social networks.
    let is_other = name.starts_with(b"twitter:") || name.starts_with(b"og:image") || name.starts_with(b"al:");
    if name.is_empty() || attributes.content.is_empty() || is_other {
        return None;
    }
    METAS.iter().find_map(|(kind, names)| {
        let rank = names.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()))?;
        Some((*kind, rank as u8))
    })
}

/// Rank of a `<time>` without further words: behind every `<meta>`.
pub(in crate::extract) const TIME_RANK: u8 = 100;

/// What an element that is shown announces; by the words of class and id as well, with `names`.
#[inline]
pub(in crate::extract) fn of_element(
    tag: Tag,
    attributes: &Attributes<'_>,
    names: bool,
) -> Option<(Kind, u8)> {
    if !attributes.itemprop.is_empty() || !attributes.datetime.is_empty() {
        return of_property(tag, attributes);
    }
    let may_be_author =
        attributes.rel.len() >= b"author".len() && memchr::memchr(b'u', attributes.rel).is_some();
    if may_be_author && has_word(attributes.rel, b"author") {
        return Some((Kind::AuthorElement, 1));
    }
    if !names {
        return None;
    }
    [attributes.class, attributes.id].into_iter().find_map(of_names)
}

fn of_property(tag: Tag, attributes: &Attributes<'_>) -> Option<(Kind, u8)> {
    if has_word(attributes.itemprop, b"datePublished") && !attributes.datetime.is_empty() {
        return Some((Kind::PublishedElement, 1));
    }
    if has_word(attributes.itemprop, b"author") || has_word(attributes.itemprop, b"creator") {
        return Some((Kind::AuthorElement, 0));
    }
    if tag == Tag::Time && !attributes.datetime.is_empty() {
        let is_update = holds(attributes.class, b"updated") && !holds(attributes.class, b"published");
        return Some((Kind::PublishedElement, TIME_RANK + u8::from(is_update)));
    }
    [attributes.class, attributes.id].into_iter().find_map(of_names)
}

/// What the words of a class or id announce.
fn of_names(names: &[u8]) -> Option<(Kind, u8)> {
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
            return Some((Kind::AuthorElement, 2));
        }
        if is(b"source") || is(b"laiyuan") {
            return Some((Kind::SourceElement, 0));
        }
    }
    None
}

/// Whether `word` is one of the words that white space parts.
pub(in crate::extract) fn has_word(words: &[u8], word: &[u8]) -> bool {
    words.len() >= word.len()
        && words.split(u8::is_ascii_whitespace).any(|found| found.eq_ignore_ascii_case(word))
}

/// Whether `names` holds `part`, in any case.
fn holds(names: &[u8], part: &[u8]) -> bool {
    names.windows(part.len()).any(|found| found.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_announce_what_they_say() {
        let of = |names: &str| of_names(names.as_bytes()).map(|(kind, _)| kind);
        assert_eq!(of("date-source"), Some(Kind::SourceElement));
        assert_eq!(of("ep-source cDGray"), Some(Kind::SourceElement));
        assert_eq!(of("postAuthor"), Some(Kind::AuthorElement));
        assert_eq!(of("byline__name"), Some(Kind::AuthorElement));
        for other in ["resource", "coauthor", "datasource", "btn", "", "s"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn metas_are_known_in_any_case() {
        let of = |name: &'static str| {
            let attributes = Attributes { property: name.as_bytes(), content: b"x", ..Attributes::default() };
            of_meta(&attributes)
        };
        assert_eq!(of("ContentSource"), Some((Kind::Source, 0)));
        assert_eq!(of("article:published_time"), Some((Kind::Published, 0)));
        assert_eq!(of("viewport"), None);
        assert_eq!(of(""), None);
    }
}
