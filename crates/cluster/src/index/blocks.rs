//! Fingerprints by the keys of a [`Plan`]: one shard's part.

use std::hint::black_box;

use super::buckets::{Buckets, Entry};
use super::masks::masks;
use super::order::BitOrder;
use super::plan::{Key, Plan};
use super::spill::Wanted;
use super::{Batch, Hit, Hits, SEGMENTS, Share};

/// Buckets that are fetched at once, of as many queries as it takes: their cache misses overlap.
const AHEAD: usize = 256;

/// Fingerprints that seem near, before their slots are read:
/// more than [`AHEAD`] places have but for long spills.
const FOUND_MAX: usize = 4_096;

/// Bits of a hash that are kept beside the compared ones.
const KEPT: u32 = 8;

/// A shard of a plan's tables.
#[derive(Debug)]
pub(super) struct BlockShard {
    cut: Cut,
    /// The shard's segments of the first table, then those of the second, and so on.
    pieces: Vec<Buckets>,
}

/// How fingerprints are cut into keys.
#[derive(Debug)]
struct Cut {
    share: Share,
    order: BitOrder,
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    key: Key,
    /// What is to be XORed to a key's hash to get those of all keys within the radius.
    masks: Box<[u64]>,
    /// Buckets that are of use in a piece: no more than there are keys.
    most: usize,
    /// The bits that are compared. The other ones are the last of the hash,
    /// so that a bucket is split without reading fingerprints elsewhere.
    mask: u32,
}

/// Where a fingerprint may stand, or is to stand.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// The query's or the fingerprint's number in its batch.
    number: u32,
    /// The bits that are compared, and some of the hash.
    bits: u32,
    table: u32,
    piece: u32,
    hash: u32,
}

/// What may be near a query: the query's number, piece, and place in the piece.
type Found = (u32, u32, Entry);

impl BlockShard {
    /// The shard of this number out of so many.
    pub(super) fn new(plan: &Plan, number: usize, shards: usize) -> Self {
        let share = Share::new(number, shards);
        let tables: Vec<Table> = plan.keys().map(Table::new).collect();
        let pieces = (0..share.count * tables.len()).map(|_| Buckets::new()).collect();
        Self { cut: Cut { share, order: plan.order().clone(), tables }, pieces }
    }

    /// Adds the slots of what may lie within `max_distance` of `queries` and is this shard's.
    pub(super) fn find(&self, queries: &Batch, max_distance: u32, hits: &mut Hits<'_>) {
        // With the machine's own instructions for counting bits, where it has them.
        pulp::Arch::new().dispatch(Find { shard: self, queries, max_distance, hits });
    }

    #[inline(always)]
    fn compare(&self, places: &[Place], max_distance: u32, found: &mut Vec<Found>, hits: &mut Hits<'_>) {
        let buckets = homes(&self.pieces, places);
        prefetch(&self.pieces, places, &buckets, Buckets::prefetch);
        prefetch(&self.pieces, places, &buckets, Buckets::prefetch_spill);
        prefetch(&self.pieces, places, &buckets, Buckets::prefetch_more);
        for (bucket, place) in buckets.iter().zip(places) {
            let mask = self.cut.tables[place.table as usize].mask;
            let wanted = Wanted { bits: place.bits, mask, max_distance };
            let found = |entry| {
                found.push((place.number, place.piece, entry));
                // Long spills hold any number of fingerprints that seem near.
                if found.len() >= FOUND_MAX {
                    self.push_slots(found, hits);
                }
            };
            self.pieces[place.piece as usize].find(*bucket, wanted, found);
        }
        // Apart from the comparison, so that these overlap too.
        self.push_slots(found, hits);
    }

    #[inline(always)]
    fn push_slots(&self, found: &mut Vec<Found>, hits: &mut Hits<'_>) {
        for (number, piece, entry) in found.drain(..) {
            hits.push(Hit::new(number, self.pieces[piece as usize].slot(entry)));
        }
    }

    /// Enters the fingerprints of `batch` in the pieces that
    /// are this shard's; `bits_of` gives those of other slots.
    pub(super) fn insert(&mut self, first: u32, batch: &Batch, bits_of: impl Fn(u32) -> u64) {
        let Self { cut, pieces } = self;
        cut.places(batch, |places| {
            let buckets = homes(pieces, places);
            prefetch(pieces, places, &buckets, Buckets::prefetch);
            prefetch(pieces, places, &buckets, Buckets::prefetch_slots);
            for place in places {
                let table = &cut.tables[place.table as usize];
                let is_set = |bit: u32, bits: u32, slot| match table.kept_bit(bit) {
                    Some(kept) => bits >> kept & 1 == 1,
                    None => in_piece(table.hash(cut.order.apply(bits_of(slot)))) >> bit & 1 == 1,
                };
                let slot = first.wrapping_add(place.number);
                pieces[place.piece as usize].insert(place.hash, place.bits, slot, table.most, is_set);
            }
        });
    }

    /// Takes a fingerprint out of the pieces that are this shard's.
    pub(super) fn remove(&mut self, slot: u32, batch: &Batch) {
        let Self { cut, pieces } = self;
        cut.places(batch, |places| {
            places.iter().for_each(|place| pieces[place.piece as usize].remove(place.hash, slot));
        });
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.iter().map(Buckets::bytes).sum()
    }
}

/// The buckets at which `places` are.
#[inline(always)]
fn homes(pieces: &[Buckets], places: &[Place]) -> [usize; AHEAD] {
    let mut buckets = [0; AHEAD];
    for (bucket, place) in buckets.iter_mut().zip(places) {
        *bucket = pieces[place.piece as usize].home(place.hash);
    }
    buckets
}

/// Fetches something of each place. Each in a loop of its own: the
/// shorter a loop is, the more of what it fetches is on its way at once.
#[inline(always)]
fn prefetch(
    pieces: &[Buckets],
    places: &[Place],
    buckets: &[usize; AHEAD],
    prefetch: impl Fn(&Buckets, usize) -> u32,
) {
    let prefetch = |(bucket, place): (&usize, &Place)| prefetch(&pieces[place.piece as usize], *bucket);
    black_box(buckets.iter().zip(places).map(prefetch).fold(0, |all, touched| all ^ touched));
}

/// A look-up, as a type of its own: of a closure, not all
/// is compiled for the machine's own instructions.
struct Find<'a, 'b> {
    shard: &'a BlockShard,
    queries: &'a Batch,
    max_distance: u32,
    hits: &'a mut Hits<'b>,
}

impl pulp::NullaryFnOnce for Find<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { shard, queries, max_distance, hits } = self;
        let mut found = Vec::new();
        shard.cut.probe(
            queries,
            #[inline(always)]
            |places| shard.compare(places, max_distance, &mut found, hits),
        );
    }
}

impl Cut {
    /// Where the fingerprints of `batch` stand, some at a time.
    fn places(&self, batch: &Batch, take: impl FnMut(&[Place])) {
        self.each_place(batch, |_| &[0], take);
    }

    /// Where fingerprints that are near those of `queries` may stand, some at a time.
    #[inline(always)]
    fn probe(&self, queries: &Batch, take: impl FnMut(&[Place])) {
        self.each_place(queries, |table| &table.masks, take);
    }

    #[inline(always)]
    fn each_place(&self, batch: &Batch, masks: impl Fn(&Table) -> &[u64], mut take: impl FnMut(&[Place])) {
        let mut places = [Place::default(); AHEAD];
        let mut count = 0;
        for (number, bits) in batch.iter() {
            let bits = self.order.apply(bits);
            for (at, table) in (0..).zip(&self.tables) {
                let hash = table.hash(bits);
                let bits = table.kept(bits, hash);
                for mask in masks(table) {
                    let hash = hash ^ mask;
                    let Some(piece) = self.share.own(hash as usize % SEGMENTS) else { continue };
                    let piece = at * self.share.count as u32 + piece as u32;
                    places[count] = Place { number, bits, table: at, piece, hash: in_piece(hash) };
                    count += 1;
                    if count == AHEAD {
                        take(&places);
                        count = 0;
                    }
                }
            }
        }
        take(&places[..count]);
    }
}

impl Table {
    fn new(key: Key) -> Self {
        let masks = masks(key.width(), key.radius).iter().map(|mask| mix(*mask, key.width())).collect();
        let most = ((1_u128 << key.width()) / SEGMENTS as u128).clamp(1, 1 << 31) as usize;
        Self { key, masks, most, mask: u32::MAX >> (32 - key.rest_bits()) }
    }

    /// A fingerprint's key, mixed: the lowest byte is the segment's number.
    #[inline(always)]
    fn hash(&self, bits: u64) -> u64 {
        mix(self.key.of(bits), self.key.width())
    }

    /// What is kept of a fingerprint: the bits that are
    /// compared, and the last bits of its hash above them.
    #[inline(always)]
    fn kept(&self, bits: u64, hash: u64) -> u32 {
        let last = hash >> self.key.width().saturating_sub(KEPT);
        self.key.rest(bits) | (last as u32) << (32 - KEPT) & !self.mask
    }

    /// Where in that this bit of [`in_piece`] is, if it is.
    fn kept_bit(&self, bit: u32) -> Option<u32> {
        let first = self.key.width().checked_sub(SEGMENTS.ilog2() + KEPT)?;
        let kept = 32 - KEPT + bit.checked_sub(first)?;
        (kept < 32 && self.mask >> kept & 1 == 0).then_some(kept)
    }
}

/// The bits of a hash that tell keys apart in a piece.
#[inline(always)]
fn in_piece(hash: u64) -> u32 {
    (hash >> SEGMENTS.ilog2()) as u32
}

/// Mixes a key of `width` bits, so that its lower bits tell nearly as much as all of them.
/// No two keys become the same, and the mix of `a ^ b` is that of `a` XORed to that of `b`.
#[inline(always)]
fn mix(key: u64, width: u32) -> u64 {
    let third = width.div_ceil(3);
    let key = key ^ key >> third;
    let key = (key ^ key << third) & u64::MAX >> (64 - width);
    key ^ key >> third
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_is_linear_and_keeps_keys_apart() {
        for width in 1..=12 {
            let keys = 0..1 << width;
            let mut mixed: Vec<u64> = keys.clone().map(|key| mix(key, width)).collect();
            assert!(keys.clone().all(|key| mix(key ^ 1, width) == mixed[key as usize] ^ mix(1, width)));
            mixed.sort_unstable();
            assert!(mixed.into_iter().eq(keys));
        }
        assert!((0..64).all(|bit| mix(1 << bit, 64) != 0));
    }
}
