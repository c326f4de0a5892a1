//! Features for the second scoring: the results of the first one in a block's neighbourhood.
//!
//! In: probabilities of all blocks, the block ranges of the nodes around each, the blocks similar to it. Out: [`WIDTH`]
//! more columns. Means are weighted by length, up to [`BYTES_MAX`] bytes per block. Means over a node or over similar
//! blocks leave out the block itself. Cost: linear in the blocks.

use crate::extract::main_text::features::{self, Features};
use crate::extract::parse::tree::Tree;

/// Number of columns added.
pub(in crate::extract) const WIDTH: usize = 24;

/// Maximum weight of a block in a mean, in bytes.
const BYTES_MAX: u32 = 1500;

/// Buffers, kept from page to page to avoid allocations.
#[derive(Debug, Default)]
pub(in crate::extract) struct Context {
    /// Sums of weight, and of weight times probability, over all previous blocks.
    sums: Vec<(u64, u64)>,
    similar: Vec<(u64, u64)>,
    highest_after: Vec<u16>,
}

impl Context {
    /// Adds, for each block, columns about the probabilities of its neighbours, ancestors and similar blocks.
    pub(in crate::extract) fn append(&mut self, tree: &Tree, features: &mut Features, probabilities: &[u16]) {
        let blocks = probabilities.len();
        let weight = |at: usize| u64::from(tree.blocks[at].counts.bytes.clamp(1, BYTES_MAX));
        let part = |at: usize| weight(at) * u64::from(probabilities[at]);
        let (mut all, mut mass, mut highest) = (0, 0, 0);
        self.sums.clear();
        self.sums.push((0, 0));
        self.similar.clear();
        self.similar.resize(blocks, (0, 0));
        for (at, &probability) in probabilities.iter().enumerate() {
            all += weight(at);
            mass += part(at);
            highest = highest.max(probability);
            self.sums.push((all, mass));
            let similar = &mut self.similar[features.similar[at] as usize];
            *similar = (similar.0 + weight(at), similar.1 + part(at));
        }
        self.highest_after.clear();
        self.highest_after.resize(blocks, 0);
        let mut after = 0;
        for at in (0..blocks).rev() {
            after = probabilities[at].max(after);
            self.highest_after[at] = after;
        }
        let sums = &self.sums;
        let between = |from: usize, to: usize| {
            let (from, to) = (sums[from.min(blocks)], sums[to.min(blocks)]);
            (to.0 - from.0, to.1 - from.1)
        };
        let mean = |(weight, mass): (u64, u64)| mass.checked_div(weight).unwrap_or(0);
        let near = |at: usize, back: usize, on: usize| {
            let place = (at + on).checked_sub(back);
            u64::from(place.and_then(|place| probabilities.get(place)).copied().unwrap_or(0))
        };
        let mut highest_before = 0;
        for at in 0..blocks {
            highest_before = probabilities[at].max(highest_before);
            let own = (weight(at), part(at));
            let without_own = |(weight, mass): (u64, u64)| {
                if weight > own.0 {
                    mean((weight - own.0, mass - own.1))
                } else {
                    u64::from(probabilities[at])
                }
            };
            let ancestor = |ancestor: usize| {
                let (first, end) = features.ancestor_ranges[at][ancestor];
                without_own(between(first as usize, end as usize))
            };
            let values: [u64; WIDTH] = [
                u64::from(probabilities[at]),
                near(at, 1, 0),
                near(at, 0, 1),
                near(at, 2, 0),
                near(at, 0, 2),
                mean(between(at.saturating_sub(3), at)),
                mean(between(at + 1, at + 4)),
                mean(between(at.saturating_sub(8), at)),
                mean(between(at + 1, at + 9)),
                mean(between(at.saturating_sub(20), at)),
                mean(between(at + 1, at + 21)),
                ancestor(0),
                ancestor(1),
                ancestor(2),
                ancestor(3),
                without_own(self.similar[features.similar[at] as usize]),
                (sums[at].1 * 1000).checked_div(mass).unwrap_or(0),
                mean((all, mass)),
                mass / 1000,
                u64::from(highest),
                u64::from(highest_before),
                u64::from(self.highest_after[at]),
                u64::from(probabilities[features.sections[at].0 as usize]),
                without_own(between(features.sections[at].0 as usize, features.sections[at].1 as usize)),
            ];
            let mut row = features.columns.row(at);
            for (column, value) in values.into_iter().enumerate() {
                row.put(features::WIDTH + column, value.min(30_000) as i16);
            }
        }
    }
}
