//! The blocks and runs on disk at one moment. A look-up keeps its view while other threads replace the
//! present one.

use std::sync::Arc;

use super::block::Block;
use super::run::Run;

/// The blocks and runs, each in the order of their numbers.
#[derive(Clone, Default)]
pub(super) struct View {
    pub(super) blocks: Vec<Arc<Block>>,
    pub(super) runs: Vec<Arc<Run>>,
    /// Number of the first centroid that is in no block yet.
    pub(super) end: u64,
}

impl View {
    /// Returns the block with the centroid of this number; `None` if it was dropped or is not written yet.
    pub(super) fn block_of(&self, number: u64) -> Option<&Arc<Block>> {
        let after = self.blocks.partition_point(|block| block.numbers().end <= number);
        self.blocks.get(after).filter(|block| block.numbers().first <= number)
    }

    /// Returns the first `fan` neighbouring runs that have the same length, fit into one run of `span_max`
    /// numbers, and whose length is not in `left_out`.
    pub(super) fn due(&self, fan: usize, span_max: u64, left_out: &[u64]) -> Option<Vec<Arc<Run>>> {
        let mergeable = |runs: &&[Arc<Run>]| {
            let span = runs[0].span();
            let alike = runs.iter().all(|run| run.span() == span);
            alike && span.saturating_mul(fan as u64) <= span_max && !left_out.contains(&span)
        };
        self.runs.windows(fan).find(mergeable).map(<[Arc<Run>]>::to_vec)
    }

    /// Returns the oldest runs to compact: neighbouring ones that together have at most `span_max` numbers
    /// from `begin` on, or a single one that has numbers before `begin`. The first block begins with number
    /// `begin`. Returns `None` if no run can be shortened and no two can be merged.
    pub(super) fn to_compact(&self, span_max: u64, begin: u64) -> Option<Vec<Arc<Run>>> {
        let mut rest = &self.runs[..];
        while let Some(oldest) = rest.first() {
            let from = oldest.numbers().first.max(begin);
            let fit =
                rest.iter().take_while(|run| run.numbers().end.saturating_sub(from) <= span_max).count();
            let (together, others) = rest.split_at(fit.max(1));
            if together.len() > 1 || oldest.numbers().first < begin {
                return Some(together.to_vec());
            }
            rest = others;
        }
        None
    }

    /// Returns the number of centroids in all blocks.
    pub(super) fn span(&self) -> u64 {
        self.blocks.first().map_or(0, |block| self.end - block.numbers().first)
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(|block| block.bytes()).sum();
        blocks + self.runs.iter().map(|run| run.bytes()).sum::<usize>()
    }

    /// Returns the bytes on disk.
    pub(super) fn file_bytes(&self) -> u64 {
        let blocks: u64 = self.blocks.iter().map(|block| block.file_bytes()).sum();
        blocks + self.runs.iter().map(|run| run.file_bytes()).sum::<u64>()
    }
}
