//! Finds parts of a page that announce themselves as something other than its text: teasers of other pages ("You might
//! also like"), and invitations to subscribe ("Join our newsletter").
//!
//! In: the nodes, and the phrases of each block. Out: for each node, whether it is in such a part. The part's first line
//! must say so. A part with teasers must also be below the title and have a name that says so; an invitation needs a
//! form. The learned weights judge each block by its neighbourhood, so below a short text they take teasers with full
//! sentences for more of it. Cost: linear in the nodes.

use super::phrases::{self, Phrases};
use super::{NAMED_BYTES_MAX, Sums, is_heading};
use crate::extract::parse::hints;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::Tree;

/// Maximum bytes of text in an invitation to subscribe.
const INVITATION_BYTES_MAX: u32 = 600;

/// Writes into `announced` whether each node is in such a part. A part that contains `title`, the block of the page's
/// title, announces nothing.
pub(super) fn find(
    tree: &Tree,
    sums: &[Sums],
    phrases: &[Phrases],
    title: Option<usize>,
    announced: &mut Vec<bool>,
) {
    announced.clear();
    announced.resize(tree.nodes.len(), false);
    // First, `announced` says which nodes hold a form. Nodes come after their parents, so the next loop has replaced
    // the value of a parent before that of the node.
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        if (node.tag == Tag::Form || announced[at]) && at > 0 {
            announced[node.parent as usize] = true;
        }
    }
    for (at, node) in tree.nodes.iter().enumerate() {
        let has_form = announced[at] || node.tag == Tag::Form;
        let (first, end) = (node.first_block as usize, node.end_block as usize);
        let says = |kind: u32| {
            first < end
                && tree.blocks[first].counts.bytes < NAMED_BYTES_MAX
                && phrases[first] >> kind & 1 != 0
                && title.is_none_or(|title| title < first || end <= title)
        };
        let is_below = title.is_some_and(|title| title < first);
        let teases = is_below && node.hints & hints::RELATED != 0 && says(phrases::RELATED);
        let bytes = sums[end].bytes - sums[first].bytes;
        let invites = has_form
            && bytes <= INVITATION_BYTES_MAX
            && says(phrases::ACCOUNT)
            && is_heading(tree, &tree.blocks[first]);
        announced[at] = teases || invites || (at > 0 && announced[node.parent as usize]);
    }
}
