//! What the first weighing made of a block's neighbourhood, as facts for the second.
//!
//! In: likelihoods of all blocks, the block ranges of the nodes round each, its kin. Out: [`WIDTH`] further
//! columns. Means are weighted by length, up to [`BYTES_MAX`] bytes a block, and leave the block itself out where
//! they are of a node or of kin. Cost: linear in the blocks.

use super::facts::{self, Facts};
use super::tree::Tree;

/// Columns that are added.
pub(super) const WIDTH: usize = 24;

/// Longer blocks weigh no more than this in a mean.
const BYTES_MAX: u32 = 1500;

/// Buffers, kept from page to page.
#[derive(Debug, Default)]
pub(super) struct Context {
    /// Sums of weight and of weight times likelihood over all blocks before.
    sums: Vec<(u64, u64)>,
    kin: Vec<(u64, u64)>,
    highest_after: Vec<u16>,
}

impl Context {
    /// Sets the columns after those of the facts.
    pub(super) fn append(&mut self, tree: &Tree, facts: &mut Facts, likelihoods: &[u16]) {
        let blocks = likelihoods.len();
        let weight = |at: usize| u64::from(tree.blocks[at].counts.bytes.clamp(1, BYTES_MAX));
        let part = |at: usize| weight(at) * u64::from(likelihoods[at]);
        let (mut all, mut mass, mut highest) = (0, 0, 0);
        self.sums.clear();
        self.sums.push((0, 0));
        self.kin.clear();
        self.kin.resize(blocks, (0, 0));
        for (at, &likelihood) in likelihoods.iter().enumerate() {
            all += weight(at);
            mass += part(at);
            highest = highest.max(likelihood);
            self.sums.push((all, mass));
            let kin = &mut self.kin[facts.kin[at] as usize];
            *kin = (kin.0 + weight(at), kin.1 + part(at));
        }
        self.highest_after.clear();
        self.highest_after.resize(blocks, 0);
        let mut after = 0;
        for at in (0..blocks).rev() {
            after = likelihoods[at].max(after);
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
            u64::from(place.and_then(|place| likelihoods.get(place)).copied().unwrap_or(0))
        };
        let mut highest_before = 0;
        for at in 0..blocks {
            highest_before = likelihoods[at].max(highest_before);
            let own = (weight(at), part(at));
            let without_own = |(weight, mass): (u64, u64)| {
                if weight > own.0 { mean((weight - own.0, mass - own.1)) } else { u64::from(likelihoods[at]) }
            };
            let ring = |ring: usize| {
                let (first, end) = facts.rings[at][ring];
                without_own(between(first as usize, end as usize))
            };
            let values: [u64; WIDTH] = [
                u64::from(likelihoods[at]),
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
                ring(0),
                ring(1),
                ring(2),
                ring(3),
                without_own(self.kin[facts.kin[at] as usize]),
                (sums[at].1 * 1000).checked_div(mass).unwrap_or(0),
                mean((all, mass)),
                mass / 1000,
                u64::from(highest),
                u64::from(highest_before),
                u64::from(self.highest_after[at]),
                u64::from(likelihoods[facts.sections[at].0 as usize]),
                without_own(between(facts.sections[at].0 as usize, facts.sections[at].1 as usize)),
            ];
            let mut row = facts.columns.row(at);
            for (column, value) in values.into_iter().enumerate() {
                row.put(facts::WIDTH + column, value.min(30_000) as i16);
            }
        }
    }
}
