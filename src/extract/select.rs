//! Which blocks are main text (first version: hints, link density and the node that holds most text).

use super::ExtractConfig;
use super::hints::{self, Hints};
use super::tree::Tree;

/// Chosen blocks; kept from page to page for its memory.
#[derive(Debug, Default)]
pub(super) struct Selection {
    chosen: Vec<u32>,
    inherited: Vec<Hints>,
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
    pub(super) fn select(&mut self, tree: &Tree, _html: &str, config: &ExtractConfig) {
        self.chosen.clear();
        self.inherited.clear();
        let all = tree.bytes().max(1);
        let mut sums = Vec::with_capacity(tree.blocks.len() + 1);
        sums.push(0_u64);
        for block in &tree.blocks {
            sums.push(sums.last().copied().unwrap_or(0) + u64::from(block.counts.bytes));
        }
        for node in &tree.nodes {
            let bytes = sums[node.end_block as usize] - sums[node.first_block as usize];
            let own = if bytes * 2 > all { node.hints & !hints::FURNITURE } else { node.hints };
            let above = self.inherited.get(node.parent as usize).copied().unwrap_or(0);
            self.inherited.push(own | above);
        }
        let mut bad = hints::NAV
            | hints::FOOTER
            | hints::SIDE
            | hints::RELATED
            | hints::SHARE
            | hints::AD
            | hints::POPUP
            | hints::CRUMB
            | hints::PAGER
            | hints::FORM
            | hints::COPYRIGHT
            | hints::USER
            | hints::PROMO;
        if !config.comments {
            bad |= hints::COMMENT;
        }
        // The deepest node that holds most of the good text.
        let good: Vec<u64> = tree
            .blocks
            .iter()
            .map(|block| {
                let hints = self.inherited[block.node as usize];
                let linked = block.link_bytes * 3 > block.counts.bytes;
                if hints & bad != 0 || linked || block.counts.bytes < 40 {
                    0
                } else {
                    u64::from(block.counts.bytes)
                }
            })
            .collect();
        let mut good_sums = vec![0_u64];
        for bytes in &good {
            good_sums.push(good_sums.last().copied().unwrap_or(0) + bytes);
        }
        let total = good_sums.last().copied().unwrap_or(0);
        let main = tree
            .nodes
            .iter()
            .rposition(|node| {
                (good_sums[node.end_block as usize] - good_sums[node.first_block as usize]) * 10 >= total * 8
            })
            .unwrap_or(0);
        let range = tree.nodes[main].first_block..tree.nodes[main].end_block;
        for block in range {
            let facts = &tree.blocks[block as usize];
            let hints = self.inherited[facts.node as usize];
            let linked = facts.link_bytes * 2 > facts.counts.bytes;
            if hints & bad == 0 && (!linked || facts.counts.bytes > 200) {
                self.chosen.push(block);
            }
        }
    }
}
