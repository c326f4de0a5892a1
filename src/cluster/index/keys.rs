//! 64-bit key → slots of the centres entered under it.
//!
//! A hash of the key chooses a [`Segment`], which is a small table of its own: so no growth halts the flow for long or
//! needs the memory of a second index. Keys are told apart by 40 bits of their hash. Where two agree in them, a
//! look-up gives centres that the detector's comparison then turns down: at 100 million centres with eight keys each
//! one or two a look-up.
//!
//! Cost: `leitong bench table` measures look-ups, insertions and bytes a centre.

use super::segment::Segment;
use super::{Batch, Hit, Share, spread};

/// Keys that are fetched at once: their cache misses overlap.
const AHEAD: usize = 64;

/// The keys whose hashes begin alike.
#[derive(Debug)]
pub(in crate::cluster) struct KeyShard {
    share: Share,
    segments: Vec<Segment>,
}

impl KeyShard {
    /// The shard of this number out of so many.
    pub(super) fn new(number: usize, shards: usize) -> Self {
        let share = Share::new(number, shards);
        Self { share, segments: (0..share.count).map(|_| Segment::default()).collect() }
    }

    /// Adds the slots under the keys of `queries` that are this shard's.
    pub(super) fn find(&self, queries: &Batch, hits: &mut Vec<Hit>) {
        let mut own = queries.iter().filter_map(|(query, key)| {
            let hash = spread(key);
            Some((query, self.share.own(segment(hash))?, in_segment(hash)))
        });
        let mut wanted = [(0, 0, 0); AHEAD];
        loop {
            let mut count = 0;
            let mut touched = 0;
            for (place, next) in wanted.iter_mut().zip(&mut own) {
                *place = next;
                touched ^= self.segments[next.1].touch(next.2);
                count += 1;
            }
            std::hint::black_box(touched);
            for &(query, segment, hash) in &wanted[..count] {
                hits.extend(self.segments[segment].get(hash).map(|slot| (query, slot)));
            }
            if count < AHEAD {
                return;
            }
        }
    }

    /// Enters the keys that are this shard's.
    pub(super) fn insert(&mut self, first: u32, batch: &Batch) {
        for (number, key) in batch.iter() {
            let hash = spread(key);
            if let Some(segment) = self.share.own(segment(hash)) {
                self.segments[segment].insert(in_segment(hash), first.wrapping_add(number));
            }
        }
    }

    /// Takes `slot` out from under the keys that are this shard's.
    pub(super) fn remove(&mut self, slot: u32, batch: &Batch) {
        for (_, key) in batch.iter() {
            let hash = spread(key);
            if let Some(segment) = self.share.own(segment(hash)) {
                self.segments[segment].remove(in_segment(hash), slot);
            }
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.segments.iter().map(Segment::bytes).sum()
    }
}

/// The segment that a hash belongs to.
#[inline]
fn segment(hash: u64) -> usize {
    (hash >> 56) as usize
}

/// The bits of a hash that tell keys apart in a segment: those after the segment's number.
#[inline]
fn in_segment(hash: u64) -> u32 {
    // The greatest hash is left to free entries.
    ((hash >> 24) as u32).min(u32::MAX - 1)
}
