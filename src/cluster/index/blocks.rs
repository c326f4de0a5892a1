//! Fingerprints by the values of their blocks: one shard's part, laid out by one [`Plan`].

use super::flips::flips;
use super::lines::Lines;
use super::plan::{Block, Plan};
use super::{Batch, Hit, SEGMENTS, Share, in_segment, spread};

/// Values that are fetched at once: their cache misses overlap.
const AHEAD: usize = 32;

/// A shard of the blocks' tables.
#[derive(Debug)]
pub(super) struct BlockShard {
    share: Share,
    tables: Vec<BlockTable>,
}

#[derive(Debug)]
struct BlockTable {
    number: u64,
    block: Block,
    flips: Box<[u64]>,
    /// Lines that are of use in a piece: no more than the block has values.
    most: usize,
    pieces: Vec<Lines>,
}

impl BlockShard {
    /// The shard of this number out of so many.
    pub(super) fn new(plan: &Plan, number: usize, shards: usize) -> Self {
        let share = Share::new(number, shards);
        let table = |(number, block): (u64, &Block)| BlockTable {
            number,
            block: *block,
            flips: flips(*block),
            most: ((1_u128 << block.width) / SEGMENTS as u128).clamp(1, 1 << 31) as usize,
            pieces: (0..share.count).map(|_| Lines::default()).collect(),
        };
        Self { share, tables: (0..).zip(&plan.0).map(table).collect() }
    }

    /// Adds the slots of what lies within `max_distance` of `queries` and is this shard's.
    pub(super) fn find(&self, queries: &Batch, max_distance: u32, hits: &mut Vec<Hit>) {
        // With the machine's own instruction for counting bits, where it has one.
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || self.find_here(queries, max_distance, hits),
        );
    }

    #[inline(always)]
    fn find_here(&self, queries: &Batch, max_distance: u32, hits: &mut Vec<Hit>) {
        for (query, bits) in queries.iter() {
            for table in &self.tables {
                let value = table.block.of(bits);
                for flips in table.flips.chunks(AHEAD) {
                    let mut touched = 0;
                    let mut wanted = [(0, 0); AHEAD];
                    let mut count = 0;
                    for flip in flips {
                        let hash = table.hash(value ^ flip);
                        if let Some(piece) = self.share.segment(hash) {
                            wanted[count] = (piece, in_segment(hash));
                            touched ^= table.pieces[piece].touch(in_segment(hash));
                            count += 1;
                        }
                    }
                    std::hint::black_box(touched);
                    for &(piece, hash) in &wanted[..count] {
                        table.pieces[piece].find(hash, bits, max_distance, |slot| hits.push((query, slot)));
                    }
                }
            }
        }
    }

    /// Enters a fingerprint in the pieces that are this shard's.
    pub(super) fn insert(&mut self, bits: u64, slot: u32) {
        for table in &mut self.tables {
            let hash = table.hash(table.block.of(bits));
            if let Some(piece) = self.share.segment(hash) {
                let (number, block) = (table.number, table.block);
                let hash_of = |bits| in_segment(hash_of(number, block.of(bits)));
                table.pieces[piece].insert(in_segment(hash), bits, slot, table.most, hash_of);
            }
        }
    }

    /// Takes a fingerprint out of the pieces that are this shard's.
    pub(super) fn remove(&mut self, bits: u64, slot: u32) {
        for table in &mut self.tables {
            let hash = table.hash(table.block.of(bits));
            if let Some(piece) = self.share.segment(hash) {
                let (number, block) = (table.number, table.block);
                let hash_of = |bits| in_segment(hash_of(number, block.of(bits)));
                table.pieces[piece].remove(in_segment(hash), bits, slot, hash_of);
            }
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.tables.iter().flat_map(|table| &table.pieces).map(Lines::bytes).sum()
    }
}

impl BlockTable {
    #[inline(always)]
    fn hash(&self, value: u64) -> u64 {
        hash_of(self.number, value)
    }
}

#[inline(always)]
fn hash_of(table: u64, value: u64) -> u64 {
    spread(value ^ table << 60)
}
