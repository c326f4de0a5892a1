//! What a page says of itself: social titles, its sort by `og:type` and by linked data.

use memchr::memmem;

use super::{Builder, segment_of};
use crate::extract::scan::Attributes;
use crate::extract::tree::says;

/// Names of sorts that are read of one script with linked data.
const LINKED_TYPES_MAX: usize = 64;
impl Builder<'_> {
    /// A script with linked data: only the sorts of page that it names are read.
    pub(in crate::extract) fn linked_data(&mut self, start: usize, end: usize) {
        let data = &self.html[start..end];
        for at in memmem::find_iter(data, b"\"@type\"").take(LINKED_TYPES_MAX) {
            let value = data[at + 7..].trim_ascii_start();
            let Some(value) = value.strip_prefix(b":") else { continue };
            let value = value.trim_ascii_start();
            let value = value.strip_prefix(b"\"").unwrap_or(value);
            let end = value.iter().position(|byte| *byte == b'"').unwrap_or(0);
            self.tree.head.says |= match &value[..end] {
                b"Article" | b"NewsArticle" | b"BlogPosting" | b"Report" | b"TechArticle" => says::ARTICLE,
                b"Product" | b"ProductGroup" => says::PRODUCT,
                b"ItemList" | b"CollectionPage" => says::LIST,
                b"DiscussionForumPosting" => says::FORUM,
                b"QAPage" | b"FAQPage" => says::QUESTIONS,
                _ => 0,
            };
        }
    }

    pub(super) fn meta(&mut self, attributes: &Attributes<'_>) {
        let head = &mut self.tree.head;
        match attributes.property {
            b"og:title" | b"twitter:title" if head.social_title.is_none() => {
                let start = attributes.content_start;
                head.social_title = segment_of(start, start + attributes.content.len());
            }
            b"og:type" if attributes.content.eq_ignore_ascii_case(b"article") => head.says |= says::ARTICLE,
            b"og:type" if attributes.content.eq_ignore_ascii_case(b"product") => head.says |= says::PRODUCT,
            _ => {}
        }
    }
}
