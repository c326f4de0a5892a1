//! Fingerprints by the values of their blocks: one shard's part, laid out by one [`Plan`].

use super::flips::flips;
use super::lines::{At, Lines};
use super::plan::{Block, Plan};
use super::{Batch, Hit, SEGMENTS, Share, in_segment, spread};

/// Lines that are fetched at once, of as many queries as it takes: their cache misses overlap.
const AHEAD: usize = 64;

/// A shard of the blocks' tables.
#[derive(Debug)]
pub(super) struct BlockShard {
    share: Share,
    tables: Vec<BlockTable>,
}

/// A line that may hold what a query looks for.
#[derive(Debug, Clone, Copy, Default)]
struct Wanted {
    query: u32,
    bits: u64,
    table: u16,
    piece: u16,
    at: At,
    /// Some of the line, which was read so that it is in the cache when it is compared.
    fetched: u64,
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
        let mut wanted = [Wanted::default(); AHEAD];
        let mut count = 0;
        for query in 0..queries.len() {
            let Some(&bits) = queries.get(query).first() else { continue };
            for (table, own) in (0..).zip(&self.tables) {
                let value = own.block.of(bits);
                for flip in &own.flips {
                    let hash = own.hash(value ^ flip);
                    let Some(piece) = self.share.segment(hash) else { continue };
                    let Some((at, fetched)) = own.pieces[piece].line(in_segment(hash)) else { continue };
                    wanted[count] =
                        Wanted { query: query as u32, bits, table, piece: piece as u16, at, fetched };
                    count += 1;
                    if count == AHEAD {
                        self.compare(&wanted, max_distance, hits);
                        count = 0;
                    }
                }
            }
        }
        self.compare(&wanted[..count], max_distance, hits);
    }

    #[inline(always)]
    fn compare(&self, wanted: &[Wanted], max_distance: u32, hits: &mut Vec<Hit>) {
        let lines = |wanted: &Wanted| &self.tables[wanted.table as usize].pieces[wanted.piece as usize];
        let touched = wanted.iter().fold(0, |all, wanted| all ^ wanted.fetched);
        std::hint::black_box(touched);
        let touched = wanted.iter().fold(0, |all, wanted| all ^ lines(wanted).touch_spill(wanted.at));
        std::hint::black_box(touched);
        for wanted in wanted {
            lines(wanted).find(wanted.at, wanted.bits, max_distance, |slot| hits.push((wanted.query, slot)));
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
