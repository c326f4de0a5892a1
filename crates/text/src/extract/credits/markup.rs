//! What the markup of a page says of its source, with the lines of the page beside where these are
//! trusted more.
//!
//! In: the marks that the parser has left, linked data. Out: each field by what is trusted most.
//! Cost: linear in the marks, of which there are few.

use super::lines::{Line, Range};
use super::linked::{self, LinkedData};
use super::marks::{self, Kind, Mark};
use super::source::{self, Source};
use super::{Known, author, link, published};
use crate::extract::parse::entities;
use crate::extract::parse::hints::{self, Hints};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Node, Segment, Tree};
use crate::extract::title;
use crate::extract::write::{single_spaced, text_of};
use leitong_base::limits::SITE_NAME_BYTES_MAX;
use leitong_base::record::PublicationTime;

/// Scripts with linked data that are read of a page.
const SCRIPTS_MAX: usize = 8;

/// Elements with an author's or a source's name that are read of a page.
const ELEMENTS_MAX: usize = 6;

/// Bytes of a block up to which it is a line that may announce a time of publication. A longer one is prose,
/// whose times are those of what it tells.
const LINE_BYTES_MAX: u32 = 100;

/// Names of parts of a page whose dates are not of its text.
const OTHER_PARTS: Hints = hints::RELATED | hints::COMMENT | hints::SIDE | hints::COPYRIGHT | hints::NAV;

/// Where a marked element stands, the most trusted place first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Round the title, but not before it.
    Title,
    /// Shortly before the title, as do today's date and the last news.
    BeforeTitle,
    /// Within the text or where it ends.
    Elsewhere,
}

/// A page's markup, and where in it title and text stand.
pub(super) struct Markup<'a> {
    pub(super) html: &'a str,
    pub(super) tree: &'a Tree,
    pub(super) range: Option<Range>,
}

impl Markup<'_> {
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

    /// Marked elements of a kind that stand round the title, then those within the text.
    fn elements(&self, kind: Kind) -> impl Iterator<Item = &Mark> {
        let block_of =
            |mark: &Mark| self.tree.blocks.partition_point(|block| block.end_segment <= mark.segment);
        let marks: Vec<(usize, &Mark)> =
            self.marks(kind).into_iter().map(|mark| (block_of(mark), mark)).collect();
        let range = self.range;
        let top: Vec<&Mark> = marks
            .iter()
            .filter(|(block, _)| range.is_some_and(|range| range.is_top(*block)))
            .map(|(_, mark)| *mark)
            .collect();
        let within = marks.into_iter().filter(move |(block, _)| {
            kind == Kind::AuthorElement
                && range.is_some_and(|range| range.is_within(*block) && !range.is_top(*block))
        });
        top.into_iter().chain(within.map(|(_, mark)| mark)).take(ELEMENTS_MAX)
    }

    /// Returns where a marked element stands, if it is of the page's text, and not of what that tells, of a
    /// related story, a comment or the foot of the page: it stands round the title or where the text ends,
    /// and no part of the page in between is another article or is named as something else. An element that
    /// stands elsewhere must be announced as the time of publication. Threads call their posts comments, so
    /// that such a name does not count before the text.
    fn place_of(&self, mark: &Mark) -> Option<Place> {
        let range = self.range?;
        let blocks = &self.tree.blocks;
        let at = blocks.partition_point(|block| block.end_segment <= mark.segment);
        let is_near = range.is_top(at) || range.is_within(at);
        let block = blocks.get(at).filter(|_| is_near || self.is_announced(at))?;
        let begins = self.tree.segments.get(block.first_segment as usize)?.start;
        if block.counts.bytes > LINE_BYTES_MAX && begins < mark.value.start {
            return None;
        }
        let is_top = range.is_top(at) && at <= range.text().0;
        let other = match is_top {
            true => OTHER_PARTS & !(hints::COMMENT | hints::SIDE | hints::NAV),
            false => OTHER_PARTS,
        };
        let (begin, end) = range.text();
        let holds_text = |node: &Node| {
            let blocks = node.first_block as usize..node.end_block as usize;
            blocks.contains(&begin) || blocks.contains(&end)
        };
        let around = self.tree.ancestors(block.node).map(|node| &self.tree.nodes[node as usize]);
        let mut between = around.take_while(|node| !holds_text(node));
        let has_links = |node: &Node| {
            let blocks = &self.tree.blocks[node.first_block as usize..node.end_block as usize];
            blocks.iter().any(|block| block.links > 0)
        };
        // Below the text, what has a link is another story, and what stands in the foot of the page is its own
        // date, unless they say when something was published.
        let is_below = at > end && !self.is_announced(at);
        let is_other = between.any(|node| {
            let has_links = has_links(node);
            let other = if has_links { other } else { other & !hints::RELATED };
            matches!(node.tag, Tag::Article | Tag::Aside | Tag::Nav)
                || node.hints & other != 0
                || (is_below && (has_links || node.tag == Tag::Footer))
        });
        let place = match (is_top, at < range.title()) {
            (true, false) => Place::Title,
            (true, true) => Place::BeforeTitle,
            (false, _) => Place::Elsewhere,
        };
        (!is_other).then_some(place)
    }

    /// Returns true if the block, or one of the two short ones before it, says that something was published.
    fn is_announced(&self, at: usize) -> bool {
        let blocks = &self.tree.blocks[at.saturating_sub(2)..=at];
        let short = blocks.iter().filter(|block| block.counts.bytes <= LINE_BYTES_MAX);
        short.map(|block| text_of(self.html, self.tree, block, false).to_lowercase()).any(|text| {
            ["publish", "posted", "发布", "發布", "发表"].iter().any(|word| text.starts_with(word))
        })
    }

    /// The first text at or after a mark.
    fn text_at(&self, mark: &Mark) -> Option<String> {
        let rest = self.tree.segments.get(mark.segment as usize..)?;
        let mut text = String::new();
        for segment in rest.iter().take(4) {
            let Some(piece) = self.html.get(segment.start as usize..segment.end as usize) else { continue };
            if piece.len() > 300 {
                break;
            }
            text.push(' ');
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
        let text = single_spaced(&text);
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn linked_data(&self) -> LinkedData {
        let mut all = LinkedData::default();
        let mut left = linked::SCRIPTS_BYTES_MAX;
        for mark in self.marks(Kind::LinkedData).into_iter().take(SCRIPTS_MAX) {
            let script = self.html.get(mark.value.start as usize..mark.value.end as usize);
            let Some(script) = script.filter(|script| script.len() <= left) else { continue };
            left -= script.len();
            let Some(found) = linked::read(script) else { continue };
            if all.authors.is_empty() {
                (all.authors, all.organisations) = (found.authors, found.organisations);
            }
            all.published = all.published.or(found.published);
            all.publisher = all.publisher.or(found.publisher);
            all.source = all.source.or(found.source);
            all.language = all.language.or(found.language);
        }
        all
    }

    pub(super) fn languages(&self, linked: &LinkedData) -> Vec<String> {
        self.values(Kind::Language).chain(linked.language.clone()).collect()
    }

    /// What metadata and marked elements say of the source.
    pub(super) fn source(&self) -> Option<Source> {
        let metas = self.values(Kind::Source).filter(|value| !value.contains('/'));
        let metas = metas.into_iter().find_map(|value| source::of_markup(&value));
        metas.or_else(|| {
            self.elements(Kind::SourceElement).filter_map(|mark| self.text_at(mark)).find_map(|text| {
                // With a cue it may be any line; without, it is one word.
                let is_word = !text.contains(' ') || text.contains(['：', ':']);
                let is_short = text.chars().count() <= 30 && text.chars().any(source::is_han) && is_word;
                source::of_markup(&text).filter(|_| is_short)
            })
        })
    }

    pub(super) fn authors(&self, lines: &[Line], linked: &LinkedData, language: Option<&str>) -> Vec<String> {
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
            let mut texts = self.elements(Kind::AuthorElement).filter_map(|mark| self.text_at(mark));
            texts.find_map(|text| {
                let names = author::split(&text);
                let is_name = text.chars().count() <= 60 && !text.chars().any(|c| c.is_ascii_digit());
                (is_name && !names.is_empty()).then_some(names)
            })
        };
        let of_lines = || author::of_lines(lines);
        let of_organisations = || of_values(&mut linked.organisations.iter().cloned());
        let of_elements = || of_elements().unwrap_or_default();
        let byline = || author::byline(lines);
        let found: [&dyn Fn() -> Vec<String>; 6] = match is_chinese {
            true => [&of_lines, &of_linked, &of_elements, &of_metas, &byline, &of_organisations],
            false => [&of_linked, &of_metas, &byline, &of_elements, &of_lines, &of_organisations],
        };
        // The site itself is named as the author where nobody else is.
        let title = self.tree.head.title.and_then(|title| self.value(title)).unwrap_or_default();
        let last = title.rsplit(['_', '|', '-', '–', '—', '·']).next().unwrap_or_default().trim();
        let sites: Vec<String> = self.values(Kind::SiteName).chain(linked.publisher.clone()).collect();
        let mut site = Vec::new();
        for found in found {
            let names = found();
            let is_site = |name: &String| {
                last.len() < title.len() && last.starts_with(name.as_str())
                    || sites.iter().any(|site| site.eq_ignore_ascii_case(name))
            };
            let (named, people): (Vec<String>, Vec<String>) = names.into_iter().partition(is_site);
            if !people.is_empty() {
                return people;
            }
            site = if site.is_empty() { named } else { site };
        }
        // On sites in Chinese it stands in every page's metadata.
        if is_chinese { Vec::new() } else { site }
    }

    pub(super) fn published(
        &self,
        lines: &[Line],
        linked: &LinkedData,
        known: Known<'_>,
    ) -> Option<PublicationTime> {
        let read = |text: &str| published::of_markup(text, known.latest);
        let of_linked = || linked.published.as_deref().and_then(read);
        let of_marks = |from: u8, to: u8| {
            let mut marks: Vec<(&Mark, Place)> =
                self.marks(Kind::Published).into_iter().map(|mark| (mark, Place::Title)).collect();
            let elements = self.marks(Kind::PublishedElement).into_iter();
            marks.extend(elements.filter_map(|mark| Some((mark, self.place_of(mark)?))));
            // The last post of a thread, too, stands where the text ends.
            if marks.iter().any(|(_, place)| *place != Place::Elsewhere) {
                marks.retain(|(_, place)| *place != Place::Elsewhere);
            }
            marks.sort_by_key(|(mark, place)| (mark.rank, *place));
            let marks = marks.into_iter().filter(|(mark, _)| (from..to).contains(&mark.rank));
            marks.filter_map(|(mark, _)| self.value(mark.value)).find_map(|text| read(&text))
        };
        let said = of_linked().or_else(|| of_marks(0, marks::TIME_RANK));
        let said = said.or_else(|| of_marks(marks::TIME_RANK, u8::MAX));
        if said.is_some_and(|said| said.has_time()) {
            return said;
        }
        let shown = published::of_lines(lines, known.latest);
        match (said, shown) {
            (Some(said), Some(shown)) if !said.has_time() && shown.has_time() && said.is_same_day(&shown) => {
                Some(shown)
            }
            (None, shown) => shown.or_else(|| published::of_url(known.url, known.latest)),
            (said, _) => said,
        }
    }

    pub(super) fn canonical_link(&self, url: &str) -> Option<String> {
        let link = self.values(Kind::Canonical).next()?;
        let base = self.values(Kind::Base).next();
        link::absolute(&link, base.as_deref(), url)
    }

    pub(super) fn site_name(&self, linked: &LinkedData) -> Option<String> {
        let is_name =
            |name: &String| name.len() <= SITE_NAME_BYTES_MAX && name.chars().any(char::is_alphabetic);
        self.values(Kind::SiteName).find(is_name).or_else(|| linked.publisher.clone().filter(is_name))
    }
}
