//! Finds the page's title, without the site's name, and the article's own headline.
//!
//! In: the page and its tree. Out: the longest heading of the first two levels that `<title>` contains, else the title
//! for social networks, else `<title>` without the part after its last separator. A page without `<title>` has its
//! first such heading as title. Cost: the title's length for each of the first few of these headings.

use std::ops::Range;

use crate::extract::parse::marks::MarkKind;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::text;
use crate::extract::parse::tree::{Node, Tree};

/// Maximum number of headings that are compared with the title.
const HEADINGS_MAX: usize = 8;

/// Maximum number of nodes above a heading that are examined.
const LEVELS_MAX: usize = 64;

/// Separators that sites put between the page's title and their name.
const SEPARATORS: [&str; 12] = [" - ", " | ", "_", "|", " – ", " — ", "－", "——", " :: ", " » ", " · ", "-"];

/// Returns the title of the page.
pub(super) fn find(html: &str, tree: &Tree) -> Option<String> {
    let read = |segment: Option<Segment>| text::of_segment(html, segment);
    let title = read(tree.head.title);
    let (mut longest, mut first_heading) = (None::<String>, None);
    let headings = tree.blocks.iter().filter(|block| matches!(tree.heading_level(block), Some(1 | 2)));
    for block in headings.take(HEADINGS_MAX) {
        let heading = text::of_block(html, tree, block, false);
        let Some(title) = &title else { return Some(heading) };
        // A heading shorter than a third of the title is probably the site's name, and so is the shorter of two
        // headings.
        if title.contains(&heading)
            && heading.len() * 3 >= title.len()
            && longest.as_ref().is_none_or(|longest| longest.len() < heading.len())
        {
            longest = Some(heading.clone());
        }
        first_heading.get_or_insert(heading);
    }
    if longest.is_some() {
        return longest;
    }
    read(tree.head.social_title)
        .or_else(|| title.map(|title| without_site(&title).to_owned()))
        .or(first_heading)
}

/// Returns the blocks of the article's own `<h1>`, if none of the page's is among the `chosen` ones: the one that is the
/// page's title, else the last one above the text, unless it names the site or belongs to another part of the page.
pub(super) fn headline(html: &str, tree: &Tree, chosen: &[u32]) -> Option<Range<u32>> {
    let first = *chosen.first()?;
    let headings = tree.nodes.iter().filter(|node| node.tag == Tag::H1 && node.first_block < node.end_block);
    let headings: Vec<&Node> = headings.take(HEADINGS_MAX).collect();
    let is_chosen = |node: &&Node| {
        let next = chosen.partition_point(|block| *block < node.first_block);
        chosen.get(next).is_some_and(|block| *block < node.end_block)
    };
    if headings.iter().any(is_chosen) {
        return None;
    }
    let text_of = |node: &Node| text::of_block(html, tree, &tree.blocks[node.first_block as usize], false);
    let title = find(html, tree);
    let sites = tree.marks.iter().filter(|mark| mark.kind == MarkKind::SiteName);
    let sites: Vec<String> = sites.filter_map(|mark| text::of_segment(html, Some(mark.value))).collect();
    let is_own = |node: &&Node| {
        let around = tree.ancestors(node.parent).map(|node| tree.nodes[node as usize].tag).take(LEVELS_MAX);
        let around: Vec<Tag> = around.collect();
        let is_in_text = around.iter().any(|tag| matches!(tag, Tag::Article | Tag::Main));
        let is_other = |tag: &Tag| match tag {
            Tag::Header => !is_in_text,
            tag => matches!(tag, Tag::Nav | Tag::Aside | Tag::Footer | Tag::Dialog),
        };
        node.end_block <= first && !around.iter().any(is_other)
    };
    let mut named = headings.iter().filter(|node| !sites.contains(&text_of(node)));
    let titled = named.clone().find(|node| title.as_ref() == Some(&text_of(node)));
    let found = titled.or_else(|| named.rfind(|node| is_own(node)))?;
    Some(found.first_block..found.end_block)
}

/// Returns `title` up to its last separator if at least half of it is left, and otherwise all of it.
fn without_site(title: &str) -> &str {
    let cut = SEPARATORS.iter().filter_map(|separator| title.rfind(separator)).max();
    match cut {
        Some(at) if at * 2 >= title.len() => title[..at].trim(),
        _ => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sites_name_is_removed() {
        assert_eq!(without_site("A long headline about tea - Tea News"), "A long headline about tea");
        assert_eq!(without_site("今年头采茶晚了九天_山野茶讯"), "今年头采茶晚了九天");
        assert_eq!(
            without_site("Tea - a short history of everything"),
            "Tea - a short history of everything"
        );
    }
}
