//! Selects the blocks that are main text.
//!
//! In: the tree. Out: the chosen blocks in order. Blocks are scored twice ([`crate::extract::main_text::score`]). Then
//! the probability limit is set for each page to the value with the highest expected F1 of the chosen text: with
//! probability p and length L of each block, the maximum of 2·Σ(chosen p·L) ÷ (Σ(chosen L) + Σ(all p·L)). A page with
//! little certain text thus gets a lower limit than one with a clear text. Cost: linear in the blocks.

use crate::extract::config::ExtractConfig;
use crate::extract::main_text::features::context::Context;
use crate::extract::main_text::features::{Features, Names, is_prose};
use crate::extract::main_text::score::{Weights, Writing, score};
use crate::extract::main_text::{frame, gaps, thread};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, Node, Tree, block_flag, declared};

/// Minimum probability of a chosen block, in thousandths. Without it, blocks would be chosen even on a page without any
/// text.
pub(super) const PROBABILITY_MIN: u16 = 60;

/// [`PROBABILITY_MIN`] of a page with code on which a block with the page's own description is probably main text: there,
/// doubtful blocks are lists of other pages. On pages of other kinds they may be text, such as the steps of a recipe.
const PROBABILITY_MIN_DESCRIBED: u16 = 450;

/// Minimum probability, in thousandths, at which a block with the page's own description is probably main text.
const DESCRIBED_PROBABILITY_MIN: u16 = 550;

/// Minimum bytes of text outside of comments on a page whose comments may be left out.
const OTHER_TEXT_MIN: u64 = 200;

/// Bytes of chosen text below which a page has next to nothing.
pub(super) const NEARLY_EMPTY: u32 = 200;

/// [`NEARLY_EMPTY`] for text without an end of a sentence, such as links to other articles and the footer.
const LABELS_NEARLY_EMPTY: u32 = 400;

/// Maximum number of nodes between a block and the article's body that are examined.
const BODY_LEVELS_MAX: usize = 64;

/// The chosen blocks of a page, with the buffers used to choose them. Kept from page to page to avoid allocations.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// The chosen blocks in the page's order.
    pub(super) chosen: Vec<u32>,
    pub(super) features: Features,
    context: Context,
    probabilities: Vec<u16>,
    /// Minimum probability of a chosen block of the page, in thousandths.
    probability_min: u16,
}

impl Selection {
    /// Returns true if next to nothing was chosen, or a few labels and links without any sentence.
    pub(super) fn is_nearly_empty(&self, tree: &Tree) -> bool {
        let bytes = self.bytes(tree);
        bytes < NEARLY_EMPTY || (bytes < LABELS_NEARLY_EMPTY && self.stops(tree) == 0)
    }

    /// Returns the number of ends of sentences in the chosen text.
    fn stops(&self, tree: &Tree) -> u32 {
        self.chosen.iter().map(|&block| u32::from(tree.blocks[block as usize].counts.stops)).sum()
    }

    /// Returns the bytes of the chosen text.
    pub(super) fn bytes(&self, tree: &Tree) -> u32 {
        self.chosen.iter().map(|&block| tree.blocks[block as usize].counts.bytes).sum()
    }

    /// Chooses among the blocks of `tree`.
    pub(super) fn select(&mut self, tree: &Tree, html: &str, config: &ExtractConfig, names: Names) {
        let blocks = tree.blocks.len();
        self.features.gather(tree, html.as_bytes(), config.comments, names);
        let Self { features, probabilities, .. } = self;
        let weights = Weights::for_writing(Writing::detect(tree, html.as_bytes()));
        score(weights.first, &features.columns, blocks, probabilities);
        self.context.append(tree, features, probabilities);
        score(weights.second, &features.columns, blocks, probabilities);
        for (at, probability) in probabilities.iter_mut().enumerate() {
            let is_named =
                weights.named_out && names == Names::Read && features.is_named_boilerplate(tree, at);
            if features.kept_out[at] || features.is_apart(&tree.blocks[at]) || is_named {
                *probability = 0;
            } else if features.is_told(at) {
                *probability = 1000;
            }
        }
        let is_code = |block: &Block| block.features & block_flag::PREFORMATTED != 0;
        let mut likely = (0..blocks).filter(|at| probabilities[*at] >= DESCRIBED_PROBABILITY_MIN);
        let is_described = tree.blocks.iter().any(is_code) && likely.any(|at| features.is_described(at));
        self.probability_min = if is_described { PROBABILITY_MIN_DESCRIBED } else { PROBABILITY_MIN };
        let limit = self::limit(tree, probabilities).max(self.probability_min);
        drop_comments(tree, features, probabilities, limit, weights.comments_min);
        self.choose_probable(tree);
    }

    /// Chooses the blocks that are probable enough for this page.
    fn choose_probable(&mut self, tree: &Tree) {
        let limit = self::limit(tree, &self.probabilities).max(self.probability_min);
        self.chosen.clear();
        let likely = self.probabilities.iter().enumerate().filter(|(_, probability)| **probability >= limit);
        self.chosen.extend(likely.filter_map(|(at, _)| u32::try_from(at).ok()));
        self.complete_bodies(tree);
    }

    /// Adds the rest of each part that the page calls the article's body, if some but less than half of its sentences
    /// are chosen, whatever the names around them, except in comments and in elements for something else.
    fn complete_bodies(&mut self, tree: &Tree) {
        let mut found = Vec::new();
        let mut from = 0;
        for &body in &tree.bodies {
            let Node { first_block, end_block, .. } = tree.nodes[body as usize];
            let next = self.chosen.partition_point(|block| *block < first_block);
            if first_block < from || self.chosen.get(next).is_none_or(|block| *block >= end_block) {
                continue;
            }
            from = end_block;
            let is_other = |node: u32| {
                matches!(
                    tree.nodes[node as usize].tag,
                    Tag::Nav | Tag::Aside | Tag::Footer | Tag::Form | Tag::Figure
                )
            };
            let is_sentence = |block: &u32| {
                let block = &tree.blocks[*block as usize];
                if self.features.in_comment(block) {
                    return false;
                }
                let mut around =
                    tree.ancestors(block.node).take(BODY_LEVELS_MAX).take_while(|node| *node != body);
                (is_prose(block) || (block.counts.stops > 0 && block.links == 0)) && !around.any(is_other)
            };
            let sentences: Vec<u32> = (first_block..end_block).filter(is_sentence).collect();
            let is_chosen = |block: &&u32| self.chosen.binary_search(block).is_ok();
            if sentences.iter().filter(is_chosen).count() * 2 < sentences.len() {
                found.extend(sentences);
            }
        }
        if !found.is_empty() {
            self.chosen.append(&mut found);
            self.chosen.sort_unstable();
            self.chosen.dedup();
        }
    }

    /// Chooses again among the other blocks if the chosen ones have nothing of what the page is about. If none has,
    /// keeps the choice, and returns true if the page has an article.
    pub(super) fn leave_frame(&mut self, html: &str, tree: &Tree) -> bool {
        if self.is_thread(tree) || !self.is_frame(html, tree) {
            return false;
        }
        let (chosen, probabilities) = (self.chosen.clone(), self.probabilities.clone());
        for &block in &chosen {
            self.probabilities[block as usize] = 0;
        }
        self.choose_probable(tree);
        if self.bytes(tree) >= NEARLY_EMPTY && !self.is_frame(html, tree) {
            return false;
        }
        (self.chosen, self.probabilities) = (chosen, probabilities);
        tree.head.declares(declared::ARTICLE) || self.features.has_told()
    }

    /// Returns true if no chosen block has anything of the description, the linked data or the title.
    fn is_frame(&self, html: &str, tree: &Tree) -> bool {
        let has_some = |block: &u32| self.features.is_about_page(*block as usize);
        !self.chosen.iter().any(has_some)
            && frame::is_frame(html, tree, self.features.headline, &self.chosen, self.bytes(tree))
    }

    /// Returns true if the chosen text is that of a thread.
    fn is_thread(&self, tree: &Tree) -> bool {
        thread::is_thread(tree, &self.chosen, self.bytes(tree).into())
    }

    /// Adds the blocks that fill gaps in the chosen text. Between the posts of a thread are their authors.
    pub(super) fn fill_gaps(&mut self, tree: &Tree) {
        if self.is_thread(tree) {
            return;
        }
        gaps::fill(tree, &self.features, &self.probabilities, &mut self.chosen);
    }

    /// Takes all blocks of `tree` for main text.
    #[cfg(test)]
    pub(super) fn choose_all(&mut self, tree: &Tree) {
        self.chosen = (0..).take(tree.blocks.len()).collect();
    }
}

/// Sets the probabilities of comments to zero if there is enough other text. Comments with a mean probability of at
/// least `probability_min` are kept: like the posts of a forum, they are the purpose of the page.
fn drop_comments(
    tree: &Tree,
    features: &Features,
    probabilities: &mut [u16],
    limit: u16,
    probability_min: u64,
) {
    let (mut other_text, mut comments, mut mass) = (0_u64, 0_u64, 0_u64);
    for (at, block) in tree.blocks.iter().enumerate().filter(|(at, _)| probabilities[*at] >= limit) {
        let bytes = u64::from(block.counts.bytes);
        if features.in_comment(block) {
            comments += bytes;
            mass += bytes * u64::from(probabilities[at]);
        } else {
            other_text += bytes;
        }
    }
    if comments == 0 || other_text < OTHER_TEXT_MIN || mass >= comments * probability_min {
        return;
    }
    for (block, probability) in tree.blocks.iter().zip(probabilities) {
        if features.in_comment(block) {
            *probability = 0;
        }
    }
}

/// Returns the probability limit that gives the highest expected F1.
fn limit(tree: &Tree, probabilities: &[u16]) -> u16 {
    let mut bytes_by_probability = [0_u64; 1001];
    let mut expected = 0;
    for (block, &probability) in tree.blocks.iter().zip(probabilities) {
        let bytes = u64::from(block.counts.bytes);
        bytes_by_probability[usize::from(probability.min(1000))] += bytes;
        expected += bytes * u64::from(probability);
    }
    // F1 = 2 · hit ÷ (chosen + expected), all in thousandths of bytes; compared without division.
    let (mut hit, mut chosen, mut best, mut limit) = (0_u64, 0_u64, (0_u128, 1_u128), 1000);
    for (probability, &bytes) in
        bytes_by_probability.iter().enumerate().rev().filter(|(_, bytes)| **bytes > 0)
    {
        hit += bytes * probability as u64;
        chosen += bytes * 1000;
        let (f1, all) = (u128::from(hit), u128::from(chosen + expected).max(1));
        if f1 * best.1 > best.0 * all {
            best = (f1, all);
            limit = probability as u16;
        }
    }
    limit
}
