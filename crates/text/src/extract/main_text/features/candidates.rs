//! Finds nodes that probably hold the main text: by names, by `<article>` elements, and by the scores of Readability.
//!
//! In: the tree, sums over blocks. Out: for each block whether it is within such a node. Cost: linear in nodes and
//! blocks. Source of the scores: Arc90's Readability as in Mozilla's readability.js (`_grabArticle`). Each paragraph
//! gives 1 + its commas + up to 3 points for its length to the node above it, half of these points to the next node,
//! and the points divided by 3·n to the n-th node above the first one; names add or subtract 25; the result is reduced
//! by the share of links.

use crate::extract::main_text::features::columns::Feature;
use crate::extract::main_text::features::{ANCESTORS, Features, Sums, clamp, distance, share};
use crate::extract::parse::hints;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::Tree;

/// Minimum bytes of a paragraph that gives points.
const SCORED_BYTES_MIN: u32 = 25;

/// Number of nodes above a paragraph that get points from it.
const SCORED_ABOVE: usize = 5;

/// Hundredths of points that good names add and bad names subtract.
const NAME_POINTS: i64 = 2500;

/// Minimum share of the page's text, in thousandths, in a node that is named as the main text.
const NAMED_SHARE_MIN: i16 = 80;

/// The candidates of one page. Kept from page to page to avoid allocations.
#[derive(Debug, Default)]
pub(in crate::extract) struct Candidates {
    points: Vec<i64>,
    best: i64,
    /// Block range of the node with the most points.
    readable: (u32, u32),
    /// Block range of the first node that is named as the main text.
    named: Option<(u32, u32)>,
    /// For each node, the number of the innermost article around it, from 1 (0 for none), and its block range.
    articles: Vec<(u32, (u32, u32))>,
}

impl Candidates {
    pub(in crate::extract) fn gather(&mut self, tree: &Tree, sums: &[Sums]) {
        self.score(tree, sums);
        self.named = None;
        self.articles.clear();
        let (all, mut number) = (sums[tree.blocks.len()].text, 0);
        for node in &tree.nodes {
            let above = self.articles.get(node.parent as usize).copied().unwrap_or_default();
            let is_article = node.tag == Tag::Article;
            number += u32::from(is_article);
            let own = (number, (node.first_block, node.end_block));
            self.articles.push(if is_article { own } else { above });
            let text = sums[node.end_block as usize].text - sums[node.first_block as usize].text;
            if self.named.is_none() && is_named(node.hints) && share(text, all) >= NAMED_SHARE_MIN {
                self.named = Some((node.first_block, node.end_block));
            }
        }
    }

    fn score(&mut self, tree: &Tree, sums: &[Sums]) {
        self.points.clear();
        self.points.resize(tree.nodes.len(), 0);
        for block in &tree.blocks {
            let counts = &block.counts;
            if counts.bytes < SCORED_BYTES_MIN {
                continue;
            }
            let points = 100 + 100 * i64::from(counts.commas) + i64::from(counts.bytes).min(300);
            let tag = tree.nodes[block.node as usize].tag;
            // Text without a paragraph of its own counts as a paragraph of its node.
            let skipped = usize::from(matches!(tag, Tag::P | Tag::Td | Tag::Pre));
            for (up, node) in tree.ancestors(block.node).skip(skipped).take(SCORED_ABOVE).enumerate() {
                let divider = if up < 2 { up as i64 + 1 } else { 3 * up as i64 };
                self.points[node as usize] += points / divider;
            }
        }
        (self.best, self.readable) = (0, (0, 0));
        for (node, points) in tree.nodes.iter().zip(&mut self.points) {
            if *points == 0 {
                continue;
            }
            if node.hints & GOOD != 0 {
                *points += NAME_POINTS;
            }
            if node.hints & BAD != 0 {
                *points -= NAME_POINTS;
            }
            let (from, to) = (sums[node.first_block as usize], sums[node.end_block as usize]);
            let linked = i64::from(share(to.linked - from.linked, to.bytes - from.bytes));
            *points = *points * (1000 - linked) / 1000;
            if *points > self.best {
                self.best = *points;
                self.readable = (node.first_block, node.end_block);
            }
        }
    }
}

const GOOD: hints::Hints = hints::CONTENT | hints::ARTICLE | hints::MAIN | hints::POST;
const LAYOUT: hints::Hints = hints::HEADER | hints::PAGER | hints::WIDGET | hints::CAPTION | hints::TOC;
const BAD: hints::Hints = hints::BOILERPLATE & !(LAYOUT | hints::TITLE | hints::LIST);

/// Returns true if names say that a node holds an article's text: `article-body`, `post-content`, `entry_text`.
fn is_named(names: hints::Hints) -> bool {
    names & hints::CONTENT != 0 && names & (hints::ARTICLE | hints::POST) != 0 && names & BAD == 0
}

impl Features {
    /// Sets the features of candidates and of the described text, and those of the path from a block to the described
    /// text and to the title.
    pub(in crate::extract) fn near_candidates(&mut self, tree: &Tree, at: usize, title: Option<usize>) {
        let all = self.sums[tree.blocks.len()];
        let text = |(first, end): (u32, u32)| {
            share(self.sums[end as usize].text - self.sums[first as usize].text, all.text)
        };
        let holds = |(first, end): (u32, u32), place: usize| first as usize <= place && place < end as usize;
        let node = tree.blocks[at].node;
        let points = tree.ancestors(node).take(3).map(|node| self.candidates.points[node as usize]).max();
        let (article, article_blocks) = self.candidates.articles[node as usize];
        let anchor = self.described.anchor;
        // Returns the number of steps from this block up to the node that holds it and the block `place`, and that
        // node's share of the page's text.
        let way = |place: Option<usize>| {
            let Some(place) = place else { return (-1, 0) };
            let mut around = self.ancestor_ranges[at].iter().enumerate();
            let found = around.find(|(_, ancestor)| holds(**ancestor, place));
            found.map_or((ANCESTORS as i16, 1000), |(up, ancestor)| (up as i16, text(*ancestor)))
        };
        let (anchor_up, anchor_text) = way(anchor);
        let (title_up, title_text) = way(title);
        let values = [
            (Feature::Described, self.described.shares[at][0]),
            (Feature::DescribedCover, self.described.shares[at][1]),
            (Feature::DescribedBody, self.described.shares[at][2]),
            (Feature::PageDescribed, self.described.anchor_share),
            (Feature::PageBody, clamp(self.described.body.count)),
            (Feature::SinceAnchor, anchor.map_or(-1000, |anchor| distance(anchor, at))),
            (Feature::AnchorUp, anchor_up),
            (Feature::AnchorText, anchor_text),
            (
                Feature::AnchorSimilar,
                anchor.map_or(-1, |anchor| i16::from(self.similar[anchor] == self.similar[at])),
            ),
            (Feature::TitleUp, title_up),
            (Feature::TitleText, title_text),
            (Feature::ArticleNumber, clamp(article)),
            (Feature::ArticleText, text(article_blocks)),
            (
                Feature::ArticleAnchor,
                i16::from(anchor.or(title).is_some_and(|place| holds(article_blocks, place))),
            ),
            (Feature::InReadable, i16::from(holds(self.candidates.readable, at))),
            (Feature::ReadableText, text(self.candidates.readable)),
            (
                Feature::ReadablePoints,
                (points.unwrap_or(0).max(0) * 1000 / self.candidates.best.max(1)).min(1000) as i16,
            ),
            (Feature::InNamed, self.candidates.named.map_or(-1, |named| i16::from(holds(named, at)))),
            (Feature::NamedText, self.candidates.named.map_or(0, text)),
        ];
        let mut row = self.columns.row(at);
        for (flag, value) in values {
            row.set(flag, value);
        }
    }
}
