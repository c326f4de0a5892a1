//! Which blocks are main text.
//!
//! In: the tree. Out: the chosen blocks in order. Blocks are weighed twice ([`super::weigh`]); then the limit is
//! set for each page where the expected F1 of the chosen text is highest: with likelihood p and length L of each
//! block, at the largest 2·Σ(chosen p·L) ÷ (Σ(chosen L) + Σ(all p·L)). A page of which little is certain thus
//! gets a lower limit than one with a clear text. Cost: linear in the blocks.

use super::ExtractConfig;
use super::context::Context;
use super::facts::Facts;
use super::tree::{Block, Tree};
use super::weigh::weigh;
use super::weights::{BIAS_1, BIAS_2, TABLES_1, TABLES_2};

/// What is less likely than this is never chosen: on a page without any text the best of nothing would be.
const LIKELIHOOD_MIN: u16 = 60;

/// Where a block that holds the page's own description is likely, what is less likely than this is not chosen: the
/// page has a text, and the doubtful rest, such as the teasers below a short one, is wrong all at once.
const LIKELIHOOD_MIN_ANNOUNCED: u16 = 450;

/// From this likelihood on the announced block counts.
const ANNOUNCED_LIKELIHOOD_MIN: u16 = 550;

/// Bytes of text without comments that make comments dispensable.
const TEXT_BESIDE_COMMENTS: u64 = 200;

/// Mean likelihood from which comments stay. On pages that were not learned from, sections that people left out
/// of the text had .46 to .75 in two runs, posts of forums and weblogs that they kept .80 to .96.
const COMMENTS_LIKELIHOOD_MIN: u64 = 720;

/// Chosen blocks; kept from page to page for its memory.
#[derive(Debug, Default)]
pub(super) struct Selection {
    chosen: Vec<u32>,
    facts: Facts,
    context: Context,
    likelihoods: Vec<u16>,
}

impl Selection {
    /// The chosen blocks, in the page's order.
    pub(super) fn blocks(&self) -> &[u32] {
        &self.chosen
    }

    /// Whether next to nothing was chosen.
    pub(super) fn is_nearly_empty(&self, tree: &Tree) -> bool {
        self.chosen.iter().map(|&block| tree.blocks[block as usize].counts.bytes).sum::<u32>() < 200
    }

    /// Chooses among the blocks of `tree`.
    pub(super) fn select(&mut self, tree: &Tree, html: &str, config: &ExtractConfig) {
        let blocks = tree.blocks.len();
        self.facts.gather(tree, html.as_bytes(), config.comments);
        let Self { facts, likelihoods, .. } = self;
        weigh(&TABLES_1, BIAS_1, &facts.columns, blocks, likelihoods);
        self.context.append(tree, facts, likelihoods);
        weigh(&TABLES_2, BIAS_2, &facts.columns, blocks, likelihoods);
        for (likelihood, kept_out) in likelihoods.iter_mut().zip(&facts.kept_out) {
            *likelihood = if *kept_out { 0 } else { *likelihood };
        }
        let announced = likelihoods.iter().enumerate();
        let announced = announced.filter(|(_, likelihood)| **likelihood >= ANNOUNCED_LIKELIHOOD_MIN);
        let least = match announced.into_iter().any(|(at, _)| facts.is_announced(at)) {
            true => LIKELIHOOD_MIN_ANNOUNCED,
            false => LIKELIHOOD_MIN,
        };
        let mut limit = self::limit(tree, likelihoods).max(least);
        if drop_comments(tree, facts, likelihoods, limit) {
            limit = self::limit(tree, likelihoods).max(least);
        }
        self.chosen.clear();
        let likely = likelihoods.iter().enumerate().filter(|(_, likelihood)| **likelihood >= limit);
        self.chosen.extend(likely.filter_map(|(at, _)| u32::try_from(at).ok()));
        if self.is_nearly_empty(tree) && self.is_all_links(tree) {
            // A menu is no text, where there is nothing else.
            self.chosen.clear();
        }
    }

    fn is_all_links(&self, tree: &Tree) -> bool {
        let of = |of: fn(&Block) -> u32| -> u32 {
            self.chosen.iter().map(|&block| of(&tree.blocks[block as usize])).sum()
        };
        of(|block| block.counts.stops.into()) == 0
            && of(|block| block.link_bytes) * 10 >= of(|block| block.counts.bytes) * 9
    }
}

/// Makes comments unlikely if there is text beside them, unless they are as certain as the posts of a forum:
/// then they are what the page is for. Whether it did.
fn drop_comments(tree: &Tree, facts: &Facts, likelihoods: &mut [u16], limit: u16) -> bool {
    let (mut beside, mut comments, mut mass) = (0_u64, 0_u64, 0_u64);
    for (at, block) in tree.blocks.iter().enumerate().filter(|(at, _)| likelihoods[*at] >= limit) {
        let bytes = u64::from(block.counts.bytes);
        if facts.in_comment(block) {
            comments += bytes;
            mass += bytes * u64::from(likelihoods[at]);
        } else {
            beside += bytes;
        }
    }
    if comments == 0 || beside < TEXT_BESIDE_COMMENTS || mass >= comments * COMMENTS_LIKELIHOOD_MIN {
        return false;
    }
    for (block, likelihood) in tree.blocks.iter().zip(likelihoods) {
        if facts.in_comment(block) {
            *likelihood = 0;
        }
    }
    true
}

/// The likelihood from which on choosing gives the highest expected F1.
fn limit(tree: &Tree, likelihoods: &[u16]) -> u16 {
    let mut bytes_by_likelihood = [0_u64; 1001];
    let mut expected = 0;
    for (block, &likelihood) in tree.blocks.iter().zip(likelihoods) {
        let bytes = u64::from(block.counts.bytes);
        bytes_by_likelihood[usize::from(likelihood.min(1000))] += bytes;
        expected += bytes * u64::from(likelihood);
    }
    // F1 = 2 · hit ÷ (chosen + expected), all in thousandths of bytes; compared without division.
    let (mut hit, mut chosen, mut best, mut limit) = (0_u64, 0_u64, (0_u128, 1_u128), 1000);
    for (likelihood, &bytes) in bytes_by_likelihood.iter().enumerate().rev().filter(|(_, bytes)| **bytes > 0)
    {
        hit += bytes * likelihood as u64;
        chosen += bytes * 1000;
        let (f1, all) = (u128::from(hit), u128::from(chosen + expected).max(1));
        if f1 * best.1 > best.0 * all {
            best = (f1, all);
            limit = likelihood as u16;
        }
    }
    limit
}
