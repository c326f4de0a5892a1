//! Finds the page's title, without the site's name.
//!
//! In: the page and its tree. Out: the longest heading of the first two levels that `<title>` contains, else the title
//! for social networks, else `<title>` without the part after its last separator. A page without `<title>` has its
//! first such heading as title. Cost: the title's length for each of the first few of these headings.

use crate::extract::parse::segment::Segment;
use crate::extract::parse::text;
use crate::extract::parse::tree::Tree;

/// Maximum number of headings that are compared with the title.
const HEADINGS_MAX: usize = 8;

/// Separators that sites put between the page's title and their name.
const SEPARATORS: [&str; 12] = [" - ", " | ", "_", "|", " – ", " — ", "－", "——", " :: ", " » ", " · ", "-"];

/// Returns the title of the page.
pub(super) fn find(html: &str, tree: &Tree) -> Option<String> {
    let read = |segment: Option<Segment>| text::of_segment(html, segment);
    let title = read(tree.head.title);
    let (mut longest, mut first_heading) = (None::<String>, None);
    let headings = tree.blocks.iter().filter(|block| {
        tree.ancestors(block.node)
            .take(3)
            .any(|node| matches!(tree.nodes[node as usize].tag.heading_level(), 1 | 2))
    });
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
