//! Reads a page's metadata from its markup, and from the lines of the page where these are more reliable.
//!
//! In: the marks left by the parser, linked data. Out: each field from its most trusted place. Cost: linear in the
//! marks, of which there are few.

use super::lines::{PageLine, Range};
use super::linked::{self, LinkedData};
use super::name;
use super::sender;
use super::source::{self, Source};
use super::words::{any_ends, list};
use super::{Known, author, byline, published};
use crate::extract::markdown::Base;
use crate::extract::parse::entities;
use crate::extract::parse::hints::{self, Hints};
use crate::extract::parse::marks::{self, Mark, MarkKind};
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::text::{self, single_spaced};
use crate::extract::parse::tree::{Node, Tree};
use leitong_base::record::{Metadata, PublicationTime};

/// Maximum number of scripts with linked data that are read of a page.
const SCRIPTS_MAX: usize = 8;

/// Maximum number of elements with an author's or a source's name that are read of a page.
const ELEMENTS_MAX: usize = 6;

/// Maximum length in bytes of a block that is a line and may announce a time of publication. A longer one is prose, and
/// its times belong to its events.
const LINE_BYTES_MAX: u32 = 100;

/// Names of parts of a page whose dates are not those of its text.
const OTHER_PARTS: Hints = hints::RELATED | hints::COMMENT | hints::SIDE | hints::COPYRIGHT | hints::NAV;

/// The place of a marked element, the most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ElementPlace {
    /// Around the title, but not before it.
    Title,
    /// Shortly before the title, like today's date and the latest news.
    BeforeTitle,
    /// Within the text or at its end.
    Elsewhere,
}

/// A page's markup, and the range of its title and text.
pub(super) struct Markup<'a> {
    pub(super) html: &'a str,
    pub(super) tree: &'a Tree,
    pub(super) range: Option<Range>,
}

impl Markup<'_> {
    /// Returns the marks of a kind, the most trusted first, then in the order of the page.
    fn marks(&self, kind: MarkKind) -> Vec<&Mark> {
        let mut marks: Vec<&Mark> = self.tree.marks.iter().filter(|mark| mark.kind == kind).collect();
        marks.sort_by_key(|mark| mark.rank);
        marks
    }

    /// Returns the value of an attribute; `None` if it is empty.
    fn value(&self, segment: Segment) -> Option<String> {
        text::of_segment(self.html, Some(segment))
    }

    pub(super) fn values(&self, kind: MarkKind) -> impl Iterator<Item = String> {
        self.marks(kind).into_iter().filter_map(|mark| self.value(mark.value))
    }

    /// Returns the marked elements of a kind: those around the title, then, for authors, those within the text.
    fn elements(&self, kind: MarkKind) -> impl Iterator<Item = &Mark> {
        let is_author = kind == MarkKind::AuthorElement;
        let after_top = |mark: &Mark| {
            let (range, block) = (self.range?, self.block_of(mark));
            let is_top = range.is_top(block);
            let is_of_page = !is_author || !self.is_in_comments(block);
            (is_of_page && (is_top || is_author && range.is_within(block))).then_some(!is_top)
        };
        let marks = self.marks(kind).into_iter().filter_map(|mark| Some((after_top(mark)?, mark)));
        let mut marks: Vec<(bool, &Mark)> = marks.collect();
        marks.sort_by_key(|(is_after_top, _)| *is_after_top);
        marks.into_iter().map(|(_, mark)| mark).take(ELEMENTS_MAX)
    }

    /// Returns the block that holds a mark, or the next one.
    fn block_of(&self, mark: &Mark) -> usize {
        self.tree.blocks.partition_point(|block| block.end_segment <= mark.segment)
    }

    /// Returns true if a block is in comments that do not hold the page's text, as the posts of a thread do.
    fn is_in_comments(&self, at: usize) -> bool {
        let Some((range, block)) = self.range.zip(self.tree.blocks.get(at)) else { return false };
        let mut around = self.tree.around(block).take_while(|node| !node.holds(range.begin));
        around.any(|node| node.hints & hints::COMMENT != 0)
    }

    /// Returns the place of a marked element if its date is that of the page's text, and not of an event in the text,
    /// a related article, a comment or the page's footer: it is near the title, or it is announced as the time of
    /// publication, and no part of the page that holds it but not the text is another article or has another role.
    /// Threads call their posts comments, so such names do not count before the text.
    fn place_of(&self, mark: &Mark) -> Option<ElementPlace> {
        let range = self.range?;
        let blocks = &self.tree.blocks;
        let at = self.block_of(mark);
        let block = blocks.get(at)?;
        let Range { begin, end, .. } = range;
        let is_top = range.is_top(at) && at <= begin;
        let is_announced = mark.rank < marks::TIME_RANK || self.is_announced(mark);
        if !is_top && !is_announced {
            return None;
        }
        // A time among the words of a sentence is that of an event.
        let begins = self.tree.segments.get(block.first_segment as usize)?.start;
        let after = self.tree.segments.get(mark.segment as usize + 1..block.end_segment as usize);
        let mut after = after.unwrap_or_default().iter().filter_map(|segment| self.html.get(segment.range()));
        let mut is_sentence = || after.any(|text| text.contains(['.', '!', '?', '。']));
        let is_prose = block.counts.bytes > LINE_BYTES_MAX && begins < mark.value.start;
        if is_prose || (!is_announced && is_sentence()) {
            return None;
        }
        let other = if is_top { hints::COPYRIGHT } else { OTHER_PARTS };
        let mut between = self.tree.around(block).take_while(|node| !node.holds(begin) && !node.holds(end));
        let is_other = between
            .any(|node| matches!(node.tag, Tag::Article | Tag::Aside | Tag::Nav) || node.hints & other != 0);
        // A time above the part of the page that begins with the title: the weather, today's date.
        let begins_later =
            |node: &Node| matches!(node.tag, Tag::Main | Tag::Article) && node.first_block as usize > at;
        if is_other || (!is_announced && self.tree.around(blocks.get(range.title)?).any(begins_later)) {
            return None;
        }
        Some(match (is_top, at < range.title) {
            (true, false) => ElementPlace::Title,
            (true, true) => ElementPlace::BeforeTitle,
            (false, _) => ElementPlace::Elsewhere,
        })
    }

    /// Returns the words directly before an element of a block, in lower case, without a colon or `on` at their end.
    fn words_before(&self, mark: &Mark) -> String {
        let block = self.tree.blocks.get(self.block_of(mark));
        let segments = block.map(|block| block.first_segment as usize..mark.segment as usize);
        let before =
            segments.and_then(|segments| self.tree.segments.get(segments)).and_then(<[Segment]>::last);
        let text = before.and_then(|segment| self.html.get(segment.range())).unwrap_or_default();
        let words = text.trim().trim_end_matches([':', '：']).trim_end().to_lowercase();
        words.strip_suffix(" on").map(str::to_owned).unwrap_or(words)
    }

    /// Returns true if the words directly before an element, its block or one of the two short ones before it say that
    /// something was published.
    fn is_announced(&self, mark: &Mark) -> bool {
        if any_ends("announced", &self.words_before(mark)) {
            return true;
        }
        let at = self.block_of(mark);
        let blocks = self.tree.blocks.get(at.saturating_sub(2)..=at).unwrap_or_default();
        let short = blocks.iter().filter(|block| block.counts.bytes <= LINE_BYTES_MAX);
        let mut short = short.map(|block| text::of_block(self.html, self.tree, block, false).to_lowercase());
        short.any(|text| list("announces").iter().any(|word| text.starts_with(word)))
    }

    /// Returns the first text at or after a mark.
    fn text_at(&self, mark: &Mark) -> Option<String> {
        let rest = self.tree.segments.get(mark.segment as usize..)?;
        let mut text = String::new();
        for segment in rest.iter().take(4) {
            let Some(piece) = self.html.get(segment.range()) else { continue };
            if piece.len() > 300 {
                break;
            }
            text.push(' ');
            entities::decode_into(piece, &mut text);
            // After `By` or `来源：`, the name is in an element of its own.
            let words = text.trim().trim_end_matches([':', '：', ' ']);
            let is_label = words.len() < text.trim().len() || name::is_label(words);
            if !words.is_empty() && !is_label {
                break;
            }
            if mark.kind == MarkKind::AuthorElement {
                text.clear();
            }
        }
        let text = single_spaced(&text);
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn linked_data(&self) -> LinkedData {
        let mut all = LinkedData::default();
        let mut left = linked::SCRIPTS_BYTES_MAX;
        for mark in self.marks(MarkKind::LinkedData).into_iter().take(SCRIPTS_MAX) {
            let script = self.html.get(mark.value.range());
            let Some(script) = script.filter(|script| script.len() <= left) else { continue };
            left -= script.len();
            all.read(script);
        }
        all
    }

    pub(super) fn languages(&self, linked: &LinkedData) -> Vec<String> {
        self.values(MarkKind::Language).chain(linked.language.clone()).collect()
    }

    /// Returns the source according to metadata and marked elements.
    pub(super) fn source(&self) -> Option<Source> {
        let metas = self.values(MarkKind::Source).filter(|value| !value.contains('/'));
        let metas = metas.into_iter().find_map(|value| source::from_markup(&value));
        metas.or_else(|| {
            self.elements(MarkKind::SourceElement).filter_map(|mark| self.text_at(mark)).find_map(|text| {
                // A line with spaces names the source only after a colon.
                let is_word = !text.contains(' ') || text.contains(['：', ':']);
                let is_short = text.chars().count() <= 30 && text.chars().any(sender::is_han) && is_word;
                source::from_markup(&text).filter(|_| is_short)
            })
        })
    }

    pub(super) fn authors(
        &self,
        lines: &[PageLine],
        linked: &LinkedData,
        language: Option<&str>,
    ) -> Vec<String> {
        let is_chinese = language.is_some_and(|language| language.starts_with("zh"));
        let of_values = |values: &mut dyn Iterator<Item = String>| {
            let mut names = Vec::new();
            values.flat_map(|value| author::split(&value)).for_each(|name| author::add(&mut names, name));
            names
        };
        let of_linked = || of_values(&mut linked.authors.iter().cloned());
        let of_metas = || {
            // Several `<meta>` of the same name are several authors; those of other names repeat them.
            let best = self
                .marks(MarkKind::Author)
                .into_iter()
                .filter(|mark| self.value(mark.value).is_some_and(|value| !author::split(&value).is_empty()));
            let best: Vec<&Mark> = best.collect();
            let rank = best.first().map(|mark| mark.rank);
            let best = best.into_iter().filter(|mark| Some(mark.rank) == rank);
            of_values(&mut best.filter_map(|mark| self.value(mark.value)))
        };
        let of_elements = || {
            let texts = self.elements(MarkKind::AuthorElement).filter_map(|mark| self.text_at(mark));
            let is_name =
                |text: &String| text.chars().count() <= 60 && !text.chars().any(|c| c.is_ascii_digit());
            let mut names = texts.filter(is_name).map(|text| author::split(&text));
            names.find(|names| !names.is_empty()).unwrap_or_default()
        };
        let of_lines = || author::from_lines(lines);
        let of_organisations = || of_values(&mut linked.organisations.iter().cloned());
        let byline = || byline::from_lines(lines, language);
        let found: [&dyn Fn() -> Vec<String>; 6] = match is_chinese {
            true => [&of_lines, &of_linked, &of_elements, &of_metas, &byline, &of_organisations],
            false => [&of_linked, &of_metas, &byline, &of_elements, &of_lines, &of_organisations],
        };
        // The site itself is no author, nor is the place of its office: `bay.example, Hamburg, Germany`.
        let people = found.into_iter().map(|found| {
            let names = found();
            let is_address = names.len() > 2 && self.is_site(&names[0], linked);
            names.into_iter().filter(|name| !is_address && !self.is_site(name, linked)).collect::<Vec<_>>()
        });
        people.into_iter().find(|people| !people.is_empty()).unwrap_or_default()
    }

    /// Returns true if `name` is the site's name, by the title, metadata or the host of the canonical link.
    fn is_site(&self, name: &str, linked: &LinkedData) -> bool {
        let title = self.tree.head.title.and_then(|title| self.value(title)).unwrap_or_default();
        let last = title.rsplit(['_', '|', '-', '–', '—', '·']).next().unwrap_or_default().trim();
        let mut sites = self.values(MarkKind::SiteName).chain(linked.publisher.clone());
        let letters =
            |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let link = self.values(MarkKind::Canonical).next().unwrap_or_default();
        let host = link.split('/').nth(2).unwrap_or_default().trim_start_matches("www.");
        let first = letters(name.split(' ').next().unwrap_or_default());
        last.len() < title.len() && last.starts_with(name)
            || sites.any(|site| {
                site.eq_ignore_ascii_case(name) || (!name.contains(' ') && site.starts_with(name))
            })
            || (!first.is_empty()
                && [host, host.split('.').next().unwrap_or_default()].map(letters).contains(&first))
    }

    pub(super) fn published(
        &self,
        lines: &[PageLine],
        linked: &LinkedData,
        known: Known<'_>,
    ) -> Option<PublicationTime> {
        let read = |text: &str| published::parse(text, known.latest);
        let of_linked = || linked.published.as_deref().and_then(read);
        let of_marks = || {
            let mut marks: Vec<(&Mark, ElementPlace)> =
                self.marks(MarkKind::Published).into_iter().map(|mark| (mark, ElementPlace::Title)).collect();
            let elements = self.marks(MarkKind::PublishedElement).into_iter();
            marks.extend(elements.filter_map(|mark| Some((mark, self.place_of(mark)?))));
            // Dates elsewhere count only if there are no others: at the end of a thread is the date of its last post.
            if marks.iter().any(|(_, place)| *place != ElementPlace::Elsewhere) {
                marks.retain(|(_, place)| *place != ElementPlace::Elsewhere);
            }
            // `Updated 2 May, published 1 May`.
            marks.sort_by_key(|(mark, place)| (mark.rank, !self.is_announced(mark), *place));
            marks.into_iter().filter_map(|(mark, _)| self.value(mark.value)).find_map(|text| read(&text))
        };
        let said = of_linked().or_else(of_marks);
        if said.is_some_and(|said| said.has_time()) {
            return said;
        }
        let shown = published::from_lines(lines, known.latest);
        match (said, shown) {
            (Some(said), Some(shown)) if !said.has_time() && shown.has_time() && said.is_same_day(&shown) => {
                Some(shown)
            }
            (None, shown) => shown.or_else(|| published::from_url(known.url, known.latest)),
            (said, _) => said,
        }
    }

    /// Returns the absolute address of `rel=canonical`, without its fragment, if it is that of a page.
    pub(super) fn canonical_link(&self, url: &str) -> Option<String> {
        let link = self.values(MarkKind::Canonical).next()?;
        let base = Base::new(url, self.values(MarkKind::Base).next().as_deref());
        let mut found = base.join(&link).filter(|_| link.len() <= Metadata::CANONICAL_LINK_BYTES_MAX)?;
        found.set_fragment(None);
        let is_page = matches!(found.scheme(), "http" | "https") && found.username().is_empty();
        (is_page && found.as_str().len() <= Metadata::CANONICAL_LINK_BYTES_MAX).then(|| found.into())
    }

    pub(super) fn site_name(&self, linked: &LinkedData) -> Option<String> {
        let is_name = |name: &String| {
            name.len() <= Metadata::SITE_NAME_BYTES_MAX && name.chars().any(char::is_alphabetic)
        };
        self.values(MarkKind::SiteName).find(is_name).or_else(|| linked.publisher.clone().filter(is_name))
    }
}
