//! Computes the features by which a block is scored: of the block, its neighbours, the nodes around it, the page.
//!
//! In: the tree. Out: one column of integers per [`Feature`], one value per block. Shares are in thousandths. Cost:
//! linear in the blocks, with at most [`ANCESTORS_MAX`] nodes examined for each. Memory: 520 bytes per block, kept from
//! page to page.

mod apart;
mod block;
mod candidates;
mod columns;
pub(super) mod consent;
pub(super) mod context;
pub(super) mod described;
mod groups;
mod page;
pub(in crate::extract) mod phrases;

use xxhash_rust::xxh3::xxh3_64;

use crate::extract::parse::hints::{self, Hints};
use crate::extract::parse::marks::MarkKind;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tree::{Block, Tree};
use candidates::Candidates;
use columns::Feature;
pub(in crate::extract) use columns::{Columns, LANES, Tile, WIDTH, names};
use consent::Consent;
use described::Described;
use groups::Groups;
use page::Page;
use phrases::Phrases;

/// Builds the tables, which are otherwise built on first use.
pub(in crate::extract) fn build_tables() {
    consent::build_table();
    phrases::build_table();
}

/// Maximum number of nodes above a block that are examined.
const ANCESTORS_MAX: usize = 64;

/// Number of enclosing nodes whose sums are features; wrappers with the same blocks count once.
const ANCESTORS: usize = 4;

/// Minimum length in bytes of a block that counts as prose if it has few links: about 15 words, or 27 Chinese
/// characters.
pub(super) const PROSE_BYTES: u32 = 80;

/// Maximum length in bytes of a block that may be a button; the words of a longer block do not say what it is for.
const NAMED_BYTES_MAX: u32 = 60;

/// Share in thousandths of a block's windows that are in the page's description or article, or the reverse, from which
/// the block is about the page.
const ABOUT_SHARE_MIN: i16 = 100;

/// The trust in names of classes and the like as evidence against text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Names {
    /// Names count like other evidence.
    Read,
    /// Names do not count. This is for references.
    Doubted,
}

/// Sums over all blocks before a position.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    pub(in crate::extract) bytes: u32,
    pub(in crate::extract) linked: u32,
    /// Bytes in blocks that count as prose.
    pub(in crate::extract) text: u32,
    /// Evidence for text minus evidence against it.
    pub(in crate::extract) balance: i32,
    /// Number of blocks with a word of comment sections.
    comments: u32,
}

/// The features of one page, with the sums that they and later steps use.
#[derive(Debug, Default)]
pub(in crate::extract) struct Features {
    pub(in crate::extract) columns: Columns,
    /// Sums before each block and after the last one.
    sums: Vec<Sums>,
    /// For each block, its [`ANCESTORS`] enclosing block ranges.
    pub(in crate::extract) ancestor_ranges: Vec<[(u32, u32); ANCESTORS]>,
    /// For each block, the index of its group of similar blocks.
    pub(in crate::extract) similar: Vec<u32>,
    /// Number of blocks in each group of similar blocks, their bytes and link bytes.
    similar_sums: Vec<(u32, u32, u32)>,
    /// For each block, the index of its group of blocks with the same text, and the number of them that come before it.
    copies: Vec<(u32, u32)>,
    copy_counts: Vec<u32>,
    groups: Groups,
    /// The heading of the highest level that is most of the page's title.
    pub(in crate::extract) headline: Option<usize>,
    described: Described,
    consent: Consent,
    candidates: Candidates,
    /// For each node, the hints of itself and of those above it; boilerplate hints only if trusted.
    trusted: Vec<Hints>,
    /// For each block, the kinds of phrases in it.
    pub(in crate::extract) phrases: Vec<Phrases>,
    /// For each block, the range from the heading above it to the next one.
    pub(in crate::extract) sections: Vec<(u32, u32)>,
    /// For each block, true if a rule excludes it from the main text, whatever its score.
    pub(in crate::extract) kept_out: Vec<bool>,
    /// For each node, true if it is in a comment section or is one.
    in_comment: Vec<bool>,
    /// For each node, true if it is in a part that is not the page's article.
    apart: Vec<bool>,
}

/// Returns true if the block counts as prose.
pub(super) fn is_prose(block: &Block) -> bool {
    block.counts.bytes >= PROSE_BYTES && block.link_bytes * 3 < block.counts.bytes
}

/// Returns true if the block is a heading.
pub(in crate::extract) fn is_heading(tree: &Tree, block: &Block) -> bool {
    tree.heading_level(block).is_some()
}

/// Returns `part` in thousandths of `whole`.
fn share(part: u32, whole: u32) -> i16 {
    if whole == 0 { 0 } else { (u64::from(part) * 1000 / u64::from(whole)).min(1000) as i16 }
}

/// Limits a value; larger ones carry no more information.
fn clamp(value: u32) -> i16 {
    value.min(30_000) as i16
}

/// Returns a distance in blocks.
fn distance(from: usize, to: usize) -> i16 {
    (to as i64 - from as i64).clamp(-1000, 1000) as i16
}

impl Features {
    /// Returns the hints of the elements around a block, as far as they are trusted.
    pub(in crate::extract) fn hints(&self, block: &Block) -> Hints {
        self.trusted[block.node as usize]
    }

    /// Returns true if the block is in a comment section.
    pub(in crate::extract) fn in_comment(&self, block: &Block) -> bool {
        self.in_comment[block.node as usize]
    }

    /// Returns true if the block has most of the page's description.
    pub(in crate::extract) fn is_described(&self, at: usize) -> bool {
        self.described.shares[at][1] >= 500
    }

    /// Returns true if linked data holds text that the page shows.
    pub(in crate::extract) fn has_told(&self) -> bool {
        self.described.told.count > 0
    }

    /// Returns true if the block has a part of the page's description or of the texts in its linked data.
    pub(in crate::extract) fn is_about_page(&self, at: usize) -> bool {
        self.described.is_told[at] || self.described.shares[at].iter().any(|share| *share >= ABOUT_SHARE_MIN)
    }

    /// Returns true if the page's linked data holds the text of the block, and no block before it has the same text.
    pub(in crate::extract) fn is_told(&self, at: usize) -> bool {
        self.described.is_told[at] && self.copies[at].1 == 0
    }

    /// Returns true if the block is in a part that is not the page's article.
    pub(in crate::extract) fn is_apart(&self, block: &Block) -> bool {
        self.apart[block.node as usize]
    }

    /// Returns true if names and words both say that the block is a bar for sharing or links to other pages. Annotators
    /// of labelled pages kept one in a hundred of 2,000 such sharing bars, and three in a hundred of 2,200 such link
    /// lists. Weights learned from pages of many kinds miss this on small pages.
    pub(in crate::extract) fn is_named_boilerplate(&self, tree: &Tree, at: usize) -> bool {
        let block = &tree.blocks[at];
        let names = self.trusted[block.node as usize];
        let is_short = block.counts.bytes < NAMED_BYTES_MAX;
        let head = self.sections[at].0 as usize;
        let above = if is_heading(tree, &tree.blocks[head]) { self.phrases[head] } else { 0 };
        let said = above | if is_short { self.phrases[at] } else { 0 };
        names & hints::SHARE != 0 && is_short && said >> phrases::SHARE & 1 != 0
            || names & hints::RELATED != 0 && said >> phrases::RELATED & 1 != 0
    }

    /// Computes the features of all blocks of `tree`. With `comments`, comment sections are treated like other text.
    pub(in crate::extract) fn gather(&mut self, tree: &Tree, html: &[u8], comments: bool, names: Names) {
        self.consent.clear();
        self.phrases.clear();
        for block in &tree.blocks {
            let text = source(tree, block, html);
            self.phrases.push(if text.len() <= phrases::BYTES_MAX { phrases::find(text) } else { 0 });
        }
        self.sum(tree);
        let mut page = Page::from_tree(tree, html, &self.sums);
        if self.consent.find(tree, html, page.title_block) {
            // The sums and the best parts of the page are computed again without these dialogs and banners.
            self.sum(tree);
            page = Page::from_tree(tree, html, &self.sums);
        }
        self.headline = page.headline;
        self.trust(tree, &page, comments, names);
        apart::find(tree, html, &self.sums, &self.phrases, page.headline, &mut self.apart);
        for block in &tree.blocks {
            let bytes = if is_prose(block) { block.counts.bytes } else { 0 };
            let comment = self.in_comment[block.node as usize];
            *(if comment { &mut page.comment_text } else { &mut page.other_text }) += bytes;
        }
        self.group(tree, html);
        self.divide(tree);
        page.count(tree, &self.similar_sums, &self.phrases);
        self.ancestor_ranges.clear();
        self.ancestor_ranges.extend(
            tree.blocks.iter().enumerate().map(|(at, block)| block::ancestor_ranges(tree, at, block)),
        );
        self.describe(tree, html);
        self.candidates.gather(tree, &self.sums);
        self.columns.clear(tree.blocks.len());
        self.kept_out.clear();
        let mut since_heading = 1000;
        for at in 0..tree.blocks.len() {
            self.own_features(tree, html, at, &page, &mut since_heading);
            self.neighbours(tree, at);
            self.enclosing(tree, at, &page);
            self.near_candidates(tree, at, page.title_block);
        }
        let mut to_heading = 1000;
        for at in (0..tree.blocks.len()).rev() {
            let mut row = self.columns.row(at);
            row.set(Feature::ToHeading, to_heading);
            to_heading = if row.get(Feature::InHeading) != 0 { 1 } else { (to_heading + 1).min(1000) };
        }
    }

    fn describe(&mut self, tree: &Tree, html: &[u8]) {
        let text = |segment: Segment| html.get(segment.range());
        let script = |segment: Segment| std::str::from_utf8(text(segment)?).ok();
        let linked = tree.marks.iter().filter(|mark| mark.kind == MarkKind::LinkedData);
        self.described.gather(
            tree.head.descriptions.into_iter().flatten().filter_map(text),
            linked.filter_map(|mark| script(mark.value)),
            tree.blocks.iter().map(|block| source(tree, block, html)),
        );
    }

    fn sum(&mut self, tree: &Tree) {
        self.sums.clear();
        let mut sum = Sums::default();
        self.sums.push(sum);
        let mut is_apart = self.consent.blocks(tree);
        for (at, (block, found)) in tree.blocks.iter().zip(&self.phrases).enumerate() {
            sum.comments += found >> phrases::COMMENT & 1;
            sum.bytes += block.counts.bytes;
            sum.linked += block.link_bytes;
            let text = is_prose(block) && !is_apart(at);
            sum.text += if text { block.counts.bytes } else { 0 };
            // A block of text adds its length, up to that of a long paragraph. A short or linked block subtracts a
            // constant and the bytes of its links, up to those of a line of a menu.
            sum.balance += if text {
                block.counts.bytes.min(1000) as i32
            } else {
                -(30 + block.link_bytes.min(200) as i32)
            };
            self.sums.push(sum);
        }
    }

    /// Combines the hints of each node with those above it. Boilerplate hints are not trusted on a node that holds
    /// over 60 % of the best run, because its name refers to one part (`main-with-sidebar`) or to the page's initial
    /// state (`hide`). A comment section is trusted if it has the words of one, and does not hold the page's title or
    /// nearly all text. Dialogs and banners outside of the text are excluded in any case.
    fn trust(&mut self, tree: &Tree, page: &Page, comments: bool, names: Names) {
        self.trusted.clear();
        self.in_comment.clear();
        let all = self.sums[tree.blocks.len()];
        let best = self.sums[page.best_run.1].text - self.sums[page.best_run.0].text;
        for (at, node) in tree.nodes.iter().enumerate() {
            let (first, end) = (node.first_block as usize, node.end_block as usize);
            let text = self.sums[end].text - self.sums[first].text;
            let (from, to) = (first.max(page.best_run.0), end.min(page.best_run.1));
            let of_best = if from < to { self.sums[to].text - self.sums[from].text } else { 0 };
            let has_title = page.title_block.is_some_and(|title| first <= title && title < end);
            let mut doubted = if comments { hints::COMMENT } else { 0 };
            if node.hints & hints::COMMENT != 0 && !self.speaks_of_comments(first, end) {
                doubted |= hints::COMMENT;
            }
            if u64::from(of_best) * 10 > u64::from(best) * 6 {
                doubted |= (hints::BOILERPLATE | hints::HIDDEN) & !hints::COMMENT;
            }
            if has_title || u64::from(text) * 20 > u64::from(all.text) * 19 {
                doubted |= hints::COMMENT;
            }
            if node.hints & hints::CONSENT != 0 {
                doubted |= hints::CONSENT | hints::POPUP;
            }
            if names == Names::Doubted {
                doubted |= hints::BOILERPLATE | hints::HIDDEN;
            }
            let own = match self.consent.is_out(at) {
                true => node.hints | hints::CONSENT,
                false => node.hints & !doubted,
            };
            let above = self.trusted.get(node.parent as usize).copied().unwrap_or(0);
            self.trusted.push(own | above);
            self.in_comment.push((own | above) & hints::COMMENT != 0);
        }
    }

    /// Returns true if one of the blocks from `first` up to `end`, or the block before them, is short and has a word of
    /// comment sections: "3 replies".
    fn speaks_of_comments(&self, first: usize, end: usize) -> bool {
        self.sums[end].comments > self.sums[first.saturating_sub(1)].comments
    }

    /// Groups blocks whose node and its parent have the same signatures, and blocks with the same text.
    fn group(&mut self, tree: &Tree, html: &[u8]) {
        self.similar.clear();
        self.similar_sums.clear();
        self.groups.clear(tree.blocks.len());
        for block in &tree.blocks {
            let node = &tree.nodes[block.node as usize];
            let parent = &tree.nodes[node.parent as usize];
            let group = self.groups.number(u64::from(node.signature) << 32 | u64::from(parent.signature));
            self.similar.push(group);
            self.similar_sums.resize(self.groups.count as usize, (0, 0, 0));
            let sums = &mut self.similar_sums[group as usize];
            *sums = (sums.0 + 1, sums.1 + block.counts.bytes, sums.2 + block.link_bytes);
        }
        self.copies.clear();
        self.copy_counts.clear();
        self.groups.clear(tree.blocks.len());
        for block in &tree.blocks {
            let group = self.groups.number(xxh3_64(source(tree, block, html)));
            self.copy_counts.resize(self.groups.count as usize, 0);
            self.copies.push((group, self.copy_counts[group as usize]));
            self.copy_counts[group as usize] += 1;
        }
    }

    /// Divides the page into sections at its headings.
    fn divide(&mut self, tree: &Tree) {
        self.sections.clear();
        let mut start = 0;
        for at in 1..=tree.blocks.len() {
            let cut = tree.blocks.get(at).is_none_or(|block| is_heading(tree, block));
            if cut {
                self.sections.resize(at, (start, at as u32));
                start = at as u32;
            }
        }
    }
}

/// Returns the source from a block's first to its last segment, including the tags in between.
pub(super) fn source<'a>(tree: &Tree, block: &Block, html: &'a [u8]) -> &'a [u8] {
    let segments = &tree.segments[block.first_segment as usize..block.end_segment as usize];
    let real = |segment: &&Segment| segment.start != u32::MAX;
    let start = segments.iter().find(real).map_or(0, |segment| segment.start as usize);
    let end = segments.iter().rev().find(real).map_or(0, |segment| segment.end as usize);
    html.get(start..end).unwrap_or_default().trim_ascii()
}
