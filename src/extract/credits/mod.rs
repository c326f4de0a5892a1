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
mod name;
mod published;
mod source;

use crate::extract::features::phrases::Phrases;
use crate::extract::parse::entities;
use crate::extract::parse::tree::{Segment, Tree};
use crate::extract::{Document, title};
use crate::limits::{CREDIT_LINE_BYTES_MAX, SITE_NAME_BYTES_MAX};
use crate::record::timestamp::Timestamp;
use crate::record::{Credits, PublicationTime};
use lines::{Line, Place};
use linked::LinkedData;
use marks::{Kind, Mark};
use source::Source;

/// Scripts with linked data that are read of a page.
const SCRIPTS_MAX: usize = 8;

/// Elements with an author's or a source's name that are read of a page.
const ELEMENTS_MAX: usize = 6;

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
    let lines = lines::of_page(page.html, page.tree, page.chosen, page.phrases);
    let linked = page.linked_data();
    let language = language::of(document, page.languages(&linked));
    let source = publisher(Some((page, &linked)), &lines);
    let mut credits = Credits {
        authors: page.authors(&lines, &linked, language.as_deref()),
        published_at: page.published(&lines, &linked, known),
        canonical_link: page.canonical_link(known.url),
        site_name: page.site_name(&linked),
        language,
        ..Credits::default()
    };
    set_source(&mut credits, source);
    // What is called the author and is the site or the source has no name of its own.
    let is_other = |name: &String| {
        let is =
            |other: &Option<String>| other.as_ref().is_some_and(|other| other.eq_ignore_ascii_case(name));
        !(is(&credits.site_name) && credits.authors.len() > 1)
            && !author::is_editor(&lines, name)
            && !(credits.language.as_deref().is_some_and(|language| language.starts_with("zh"))
                && is(&credits.publisher))
    };
    let authors: Vec<String> = credits.authors.iter().filter(|name| is_other(name)).cloned().collect();
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
fn publisher(page: Option<(&Parsed<'_>, &LinkedData)>, lines: &[Line]) -> Option<Source> {
    let of_lines = |places: &[Place]| {
        lines
            .iter()
            .filter(|line| places.contains(&line.place))
            .find_map(|line| source::of_line(&line.text, line.place))
    };
    let linked = || {
        let name = page?.1.source.clone()?;
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

impl Parsed<'_> {
    /// Marks of a kind, the most trusted first, else in the order of the page.
    fn marks(&self, kind: Kind) -> Vec<&Mark> {
        let mut marks: Vec<&Mark> = self.tree.marks.iter().filter(|mark| mark.kind == kind).collect();
        marks.sort_by_key(|mark| mark.rank);
        marks
    }

    /// What an attribute says; none where that is empty.
    fn value(&self, segment: Segment) -> Option<String> {
        title::raw(self.html, Some(segment))
    }

    fn values(&self, kind: Kind) -> impl Iterator<Item = String> {
        self.marks(kind).into_iter().filter_map(|mark| self.value(mark.value))
    }

    /// The first text at or after a mark that is within the same block as its first segment.
    fn text_at(&self, mark: &Mark) -> Option<String> {
        let rest = self.tree.segments.get(mark.segment as usize..)?;
        let mut text = String::new();
        for segment in rest.iter().take(4) {
            let Some(piece) = self.html.get(segment.start as usize..segment.end as usize) else { continue };
            if piece.len() > 300 {
                break;
            }
            entities::decode_into(piece, &mut text);
            // `By`, `来源：`: the name follows in an element of its own.
            let words = text.trim().trim_end_matches([':', '：', ' ']);
            let is_cue = words.is_empty()
                || ["by", "written by", "posted by", "author", "source", "来源", "來源", "作者", "文章来源"]
                    .iter()
                    .any(|cue| words.eq_ignore_ascii_case(cue));
            if !is_cue {
                break;
            }
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(text)
    }

    fn linked_data(&self) -> LinkedData {
        let mut all = LinkedData::default();
        for mark in self.marks(Kind::LinkedData).into_iter().take(SCRIPTS_MAX) {
            let script = self.html.get(mark.value.start as usize..mark.value.end as usize);
            let Some(found) = script.and_then(linked::read) else { continue };
            if all.authors.is_empty() {
                all.authors = found.authors;
            }
            all.published = all.published.or(found.published);
            all.publisher = all.publisher.or(found.publisher);
            all.source = all.source.or(found.source);
            all.language = all.language.or(found.language);
        }
        all
    }

    fn languages(&self, linked: &LinkedData) -> Vec<String> {
        self.values(Kind::Language).chain(linked.language.clone()).collect()
    }

    /// What metadata and marked elements say of the source.
    fn source(&self) -> Option<Source> {
        let metas = self.values(Kind::Source).filter(|value| !value.contains('/'));
        let metas = metas.into_iter().find_map(|value| source::of_markup(&value));
        metas.or_else(|| {
            let elements = self.marks(Kind::SourceElement).into_iter().take(ELEMENTS_MAX);
            elements.filter_map(|mark| self.text_at(mark)).find_map(|text| {
                let is_short = text.chars().count() <= 30 && text.chars().any(source::is_han);
                source::of_markup(&text).filter(|_| is_short)
            })
        })
    }

    fn authors(&self, lines: &[Line], linked: &LinkedData, language: Option<&str>) -> Vec<String> {
        let is_chinese = language.is_some_and(|language| language.starts_with("zh"));
        let of_values = |values: &mut dyn Iterator<Item = String>| {
            let mut names = Vec::new();
            values.flat_map(|value| author::split(&value)).for_each(|name| author::add(&mut names, name));
            names
        };
        let of_linked = || of_values(&mut linked.authors.iter().cloned());
        let of_metas = || {
            // Several of one name are several authors; other names say the same again.
            let best = self
                .marks(Kind::Author)
                .into_iter()
                .filter(|mark| self.value(mark.value).is_some_and(|value| !author::split(&value).is_empty()));
            let best: Vec<&Mark> = best.collect();
            let rank = best.first().map(|mark| mark.rank);
            let best = best.into_iter().filter(|mark| Some(mark.rank) == rank);
            of_values(&mut best.filter_map(|mark| self.value(mark.value)))
        };
        let of_elements = || {
            let elements = self.marks(Kind::AuthorElement).into_iter().take(ELEMENTS_MAX);
            let mut texts = elements.filter_map(|mark| self.text_at(mark));
            texts.find_map(|text| {
                let names = author::split(&text);
                let is_name = text.chars().count() <= 60 && !text.chars().any(|c| c.is_ascii_digit());
                (is_name && !names.is_empty()).then_some(names)
            })
        };
        let of_lines = || author::of_lines(lines);
        let first_of = |found: [&dyn Fn() -> Vec<String>; 5]| {
            found.into_iter().map(|found| found()).find(|names| !names.is_empty()).unwrap_or_default()
        };
        let elements = || of_elements().unwrap_or_default();
        let byline = || author::byline(lines);
        match is_chinese {
            true => first_of([&of_lines, &of_linked, &elements, &of_metas, &byline]),
            false => first_of([&of_linked, &of_metas, &byline, &elements, &of_lines]),
        }
    }

    fn published(&self, lines: &[Line], linked: &LinkedData, known: Known<'_>) -> Option<PublicationTime> {
        let read = |text: &str| published::of_markup(text, known.latest);
        let of_linked = || linked.published.as_deref().and_then(read);
        let of_marks = |from: u8, to: u8| {
            let marks =
                self.marks(Kind::Published).into_iter().filter(|mark| (from..to).contains(&mark.rank));
            marks.filter_map(|mark| self.value(mark.value)).find_map(|text| read(&text))
        };
        let shown = published::of_lines(lines, known.latest);
        let said = of_linked().or_else(|| of_marks(0, marks::TIME_RANK));
        let said = said.or_else(|| of_marks(marks::TIME_RANK, u8::MAX));
        match (said, shown) {
            (Some(said), Some(shown)) if !said.has_time() && shown.has_time() && said.is_same_day(&shown) => {
                Some(shown)
            }
            (None, shown) => shown.or_else(|| published::of_url(known.url, known.latest)),
            (said, _) => said,
        }
    }

    fn canonical_link(&self, url: &str) -> Option<String> {
        let link = self.values(Kind::Canonical).next()?;
        let base = self.values(Kind::Base).next();
        link::absolute(&link, base.as_deref(), url)
    }

    fn site_name(&self, linked: &LinkedData) -> Option<String> {
        let is_name =
            |name: &String| name.len() <= SITE_NAME_BYTES_MAX && name.chars().any(char::is_alphabetic);
        self.values(Kind::SiteName).find(is_name).or_else(|| linked.publisher.clone().filter(is_name))
    }
}
