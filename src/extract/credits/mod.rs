//! What a page says of its source and of itself: publisher, authors, date, canonical link, site,
//! language.
//!
//! ```text
//! marks of the parser ─┐
//! linked data ─────────┼→ source, author, published, language, link → Credits
//! lines round the text ┘
//! ```
//! In: the tree of a page whose main text is chosen, or a text without markup; the page's url, and
//! the time after which nothing can have been published. Out: [`Credits`], all of which the page
//! itself says. Invariants: the text of the page and so its fingerprint do not depend on it; what
//! is read is bounded (`lines`, `marks`, `linked`), and so is what is found
//! ([`crate::limits`]). `docs/source-credits.md` has rules and measurements.

mod author;
mod date;
mod dateline;
mod language;
mod lines;
mod link;
mod linked;
pub(in crate::extract) mod marks;
mod markup;
mod name;
mod published;
mod source;

use crate::extract::Document;
use crate::extract::features::phrases::Phrases;
use crate::extract::parse::tree::Tree;
use crate::limits::CREDIT_LINE_BYTES_MAX;
use crate::record::Credits;
use crate::record::timestamp::Timestamp;
use lines::{Line, Place};
use linked::LinkedData;
use markup::Markup;
use source::Source;

/// What is known of a page beside its body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// As given.
    pub url: &'a str,
    /// When it was fetched, or else read; dates after it are no dates of publication.
    pub latest: Option<Timestamp>,
}

/// A page whose main text is chosen.
pub(super) struct Parsed<'a> {
    pub(super) html: &'a str,
    pub(super) tree: &'a Tree,
    /// Its chosen blocks.
    pub(super) chosen: &'a [u32],
    /// For each block, the kinds of phrases in it.
    pub(super) phrases: &'a [Phrases],
}

/// What the page says that `document` was made of.
pub(super) fn of_page(page: &Parsed<'_>, document: &Document, known: Known<'_>) -> Credits {
    let range = lines::range(page.html, page.tree, page.chosen);
    let lines = range.map(|range| lines::of_page(page.html, page.tree, page.chosen, page.phrases, range));
    let lines = lines.unwrap_or_default();
    let page = Markup { html: page.html, tree: page.tree, range };
    let linked = page.linked_data();
    let language = language::of(document, page.languages(&linked));
    let source = publisher(Some((&page, &linked)), &lines);
    let mut credits = Credits {
        authors: page.authors(&lines, &linked, language.as_deref()),
        published_at: page.published(&lines, &linked, known),
        canonical_link: page.canonical_link(known.url),
        site_name: page.site_name(&linked),
        language,
        ..Credits::default()
    };
    set_source(&mut credits, source);
    // An editor is no author, and on pages in Chinese a source in its place has no name of its own.
    let is_chinese = credits.language.as_deref().is_some_and(|language| language.starts_with("zh"));
    let is_source =
        |name: &String| credits.publisher.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(name));
    let is_other = |name: &&String| author::is_editor(&lines, name) || (is_chinese && is_source(name));
    let authors = credits.authors.iter().filter(|name| !is_other(name)).cloned().collect();
    credits.authors = authors;
    credits
}

/// What a text without markup says.
pub(super) fn of_text(document: &Document, known: Known<'_>) -> Credits {
    let lines = lines::of_text(document);
    let language = language::of(document, []);
    let mut credits = Credits {
        authors: match author::of_lines(&lines) {
            authors if authors.is_empty() => author::byline(&lines),
            authors => authors,
        },
        published_at: published::of_lines(&lines, known.latest)
            .or_else(|| published::of_url(known.url, known.latest)),
        language,
        ..Credits::default()
    };
    set_source(&mut credits, publisher(None, &lines));
    credits
}

fn set_source(credits: &mut Credits, source: Option<Source>) {
    let Some(Source { publisher, mut line }) = source else { return };
    line.truncate(line.floor_char_boundary(CREDIT_LINE_BYTES_MAX));
    credits.publisher = Some(publisher);
    credits.credit_line = Some(line);
}

/// Who is said to have published the text, by what is trusted most: the line under the title,
/// metadata and marked elements, the end of the text, what follows it, the dateline.
fn publisher(page: Option<(&Markup<'_>, &LinkedData)>, lines: &[Line]) -> Option<Source> {
    let of_lines = |places: &[Place]| {
        lines
            .iter()
            .filter(|line| places.contains(&line.place))
            .find_map(|line| source::of_line(&line.text, line.place))
    };
    let linked = || {
        let (page, linked) = page?;
        let is_site = linked.source == linked.publisher || linked.source == page.site_name(linked);
        let name = linked.source.clone().filter(|_| !is_site)?;
        let publisher = name::publisher(&name)?;
        Some(Source { publisher, line: name })
    };
    of_lines(&[Place::Top])
        .or_else(|| page.and_then(|(page, _)| page.source()))
        .or_else(|| of_lines(&[Place::First, Place::Last]))
        .or_else(|| of_lines(&[Place::After]))
        .or_else(|| of_lines(&[Place::Within]))
        .or_else(linked)
        .or_else(|| {
            let first = lines.iter().filter(|line| matches!(line.place, Place::First | Place::Top));
            first.filter_map(|line| dateline::of(&line.text)).find_map(|dateline| dateline.source)
        })
}
