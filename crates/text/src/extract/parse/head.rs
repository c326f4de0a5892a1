//! Reads what a page says about itself: social titles, and its kind by `og:type` and linked data.
//!
//! In: `<meta>` elements and scripts with linked data (JSON-LD), as the parser finds them. Out: the tree's `head`. None
//! of it is trusted alone. Cost: linear in these elements.

use memchr::memmem;

use crate::extract::parse::marks::{self, MARKS_MAX, Mark, MarkKind};
use crate::extract::parse::scan::Attributes;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::declared;
use crate::extract::parse::{Builder, index, segment_of};

/// Maximum number of `@type` names that are read in one script of linked data.
const LINKED_TYPES_MAX: usize = 64;

impl Builder<'_> {
    /// Reads a script with linked data: the kinds of page that it names.
    pub(in crate::extract) fn linked_data(&mut self, start: usize, end: usize) {
        self.mark(MarkKind::LinkedData, 0, segment_of(start, end));
        let data = &self.html[start..end];
        for at in memmem::find_iter(data, b"\"@type\"").take(LINKED_TYPES_MAX) {
            let value = data[at + 7..].trim_ascii_start();
            let Some(value) = value.strip_prefix(b":") else { continue };
            let value = value.trim_ascii_start();
            let value = value.strip_prefix(b"\"").unwrap_or(value);
            let end = value.iter().position(|byte| *byte == b'"').unwrap_or(0);
            self.tree.head.declared |= match &value[..end] {
                b"Article" | b"NewsArticle" | b"BlogPosting" | b"Report" | b"TechArticle" => {
                    declared::ARTICLE
                }
                b"Product" | b"ProductGroup" => declared::PRODUCT,
                b"ItemList" | b"CollectionPage" => declared::LIST,
                b"DiscussionForumPosting" => declared::FORUM,
                b"QAPage" | b"FAQPage" => declared::QUESTIONS,
                _ => 0,
            };
        }
    }

    /// Reads the page in an `<iframe srcdoc>`; the longest one is kept.
    pub(in crate::extract) fn inner_page(&mut self, page: &[u8]) {
        let length = |segment: Segment| (segment.end - segment.start) as usize;
        if self.tree.head.inner_page.map_or(0, length) < page.len() {
            self.tree.head.inner_page = self.range_of(page);
        }
    }

    pub(in crate::extract) fn meta(&mut self, attributes: &Attributes<'_>) {
        if let Some((kind, rank)) = marks::from_meta(attributes) {
            let end = attributes.content_start + attributes.content.len();
            self.mark(kind, rank, segment_of(attributes.content_start, end));
        }
        let head = &mut self.tree.head;
        let content =
            segment_of(attributes.content_start, attributes.content_start + attributes.content.len());
        let names: [&[u8]; 3] = [b"description", b"og:description", b"twitter:description"];
        for (slot, name) in head.descriptions.iter_mut().zip(names) {
            if slot.is_none() && attributes.property.eq_ignore_ascii_case(name) {
                *slot = content;
            }
        }
        match attributes.property {
            b"og:title" | b"twitter:title" if head.social_title.is_none() => {
                head.social_title = content;
            }
            b"og:type" if attributes.content.eq_ignore_ascii_case(b"article") => {
                head.declared |= declared::ARTICLE;
            }
            b"og:type" if attributes.content.eq_ignore_ascii_case(b"product") => {
                head.declared |= declared::PRODUCT;
            }
            _ => {}
        }
    }

    /// Reads a `<link>` or `<base>`: the canonical link, and the base of relative links.
    pub(in crate::extract) fn link(&mut self, tag: Tag, attributes: &Attributes<'_>) {
        let is_canonical = || marks::has_word(attributes.rel, b"canonical");
        let kind = match tag {
            Tag::Base => MarkKind::Base,
            _ if is_canonical() => MarkKind::Canonical,
            _ => return,
        };
        self.mark(kind, 0, self.range_of(attributes.href));
    }

    /// Marks a visible start tag that announces an author, a source or a date. Its class and id are read only if
    /// `names` is true.
    #[inline]
    pub(in crate::extract) fn mark_element(&mut self, tag: Tag, attributes: &Attributes<'_>, names: bool) {
        if tag == Tag::Html {
            self.mark(MarkKind::Language, 0, self.range_of(attributes.lang));
        } else if let Some((kind, rank)) = marks::from_element(tag, attributes, names) {
            self.mark(kind, rank, self.range_of(attributes.datetime));
        }
    }

    fn mark(&mut self, kind: MarkKind, rank: u8, value: Option<Segment>) {
        if self.tree.marks.len() < MARKS_MAX {
            let value = value.unwrap_or(Segment { start: 0, end: 0 });
            let segment = index(self.tree.segments.len());
            self.tree.marks.push(Mark { kind, rank, value, segment });
        }
    }

    /// Returns the range of an attribute's value in the page.
    pub(super) fn range_of(&self, value: &[u8]) -> Option<Segment> {
        let start = value.as_ptr().addr().checked_sub(self.html.as_ptr().addr())?;
        (start + value.len() <= self.html.len()).then(|| segment_of(start, start + value.len()))?
    }
}
