//! One shard of the layout that the Hamming index uses for many fingerprints: a table for each key of a
//! [`Plan`], from the key's hash to the fingerprints that have it. Here a *block* is a range of bits, a *key* is the
//! value of a fingerprint in it, and a *piece* is one segment of one table (`buckets.rs`).
//!
//! In: a batch of queries. Out: the stored fingerprints that may be within the distance, as hits. A look-up visits
//! the query's own value of each key and all values within the key's radius ([`masks`]), and compares further bits
//! of each fingerprint there. No fingerprint within the distance is missed, since the plan covers all ways in
//! which so few bits can differ. Cost: one cache miss for each visited value; the misses overlap, because
//! [`AHEAD`] buckets are prefetched together.

use std::hint::black_box;

use super::batch::{AHEAD, Batch, Hit, Hits, SEGMENTS, Share};
use super::buckets::{Buckets, Entry};
use super::plan::{BitOrder, Key, Plan};
use super::spill::Prefilter;

/// Maximum number of candidates that are gathered before their slots are read. The buckets that are prefetched
/// together have more only if spills are long.
const FOUND_MAX: usize = 4_096;

/// Number of hash bits that are kept together with the compared bits if these are only 24 ([`Key::prefilter_width`]).
const KEPT: u32 = 8;

/// A shard of a plan's tables.
#[derive(Debug)]
pub(super) struct BlockShard {
    cut: Cut,
    /// The shard's segments of the first table, then those of the second, and so on.
    pieces: Vec<Buckets>,
}

/// The plan by which fingerprints are split into keys.
#[derive(Debug)]
struct Cut {
    share: Share,
    order: BitOrder,
    tables: Vec<KeyTable>,
}

#[derive(Debug)]
struct KeyTable {
    key: Key,
    /// The masks to XOR with a key's hash to get the hashes of all keys within the radius.
    masks: Box<[u64]>,
    /// Maximum useful number of buckets in a piece: not more than there are keys.
    most: usize,
    /// The kept bits that are compared. The others are the highest bits of the hash, by which large pieces split
    /// their buckets without reading fingerprints elsewhere.
    mask: u32,
}

/// A possible place of a fingerprint.
#[derive(Debug, Clone, Copy, Default)]
struct FingerprintPlace {
    /// The number of the query or fingerprint in its batch.
    number: u32,
    /// The [kept](KeyTable::kept) bits.
    bits: u32,
    table: u32,
    piece: u32,
    hash: u32,
}

/// A candidate: the query's number, the piece, and the place in the piece.
type Candidate = (u32, u32, Entry);

impl BlockShard {
    /// Creates shard `number` of `shards`.
    pub(super) fn new(plan: &Plan, number: usize, shards: usize) -> Self {
        let share = Share::new(number, shards);
        let tables: Vec<KeyTable> = plan.keys().map(KeyTable::new).collect();
        let pieces = (0..share.count * tables.len()).map(|_| Buckets::new()).collect();
        Self { cut: Cut { share, order: plan.order().clone(), tables }, pieces }
    }

    /// Adds the slots of those fingerprints in this shard that may be within `max_distance` of `queries`.
    pub(super) fn find(&self, queries: &Batch, max_distance: u32, hits: &mut Hits<'_>) {
        // Uses the machine's own instructions for counting bits, if it has them.
        pulp::Arch::new().dispatch(Find { shard: self, queries, max_distance, hits });
    }

    #[inline(always)]
    fn compare(
        &self,
        places: &[FingerprintPlace],
        max_distance: u32,
        found: &mut Vec<Candidate>,
        hits: &mut Hits<'_>,
    ) {
        let buckets = homes(&self.pieces, places);
        prefetch(&self.pieces, places, &buckets, Buckets::prefetch);
        prefetch(&self.pieces, places, &buckets, Buckets::prefetch_spill);
        prefetch(&self.pieces, places, &buckets, Buckets::prefetch_more);
        for (bucket, place) in buckets.iter().zip(places) {
            let mask = self.cut.tables[place.table as usize].mask;
            let prefilter = Prefilter { bits: place.bits, mask, max_distance };
            let found = |entry| {
                found.push((place.number, place.piece, entry));
                // Long spills hold any number of candidates.
                if found.len() >= FOUND_MAX {
                    self.push_slots(found, hits);
                }
            };
            self.pieces[place.piece as usize].find(*bucket, prefilter, found);
        }
        // Slots are read in a separate loop, so their cache misses overlap too.
        self.push_slots(found, hits);
    }

    #[inline(always)]
    fn push_slots(&self, found: &mut Vec<Candidate>, hits: &mut Hits<'_>) {
        for (number, piece, entry) in found.drain(..) {
            hits.push(Hit::new(number, self.pieces[piece as usize].slot(entry)));
        }
    }

    /// Inserts the fingerprints of `batch` into this shard's pieces. `bits_of` returns the fingerprint of
    /// another slot.
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

    /// Removes a fingerprint from this shard's pieces.
    pub(super) fn remove(&mut self, slot: u32, batch: &Batch) {
        let Self { cut, pieces } = self;
        cut.places(batch, |places| {
            places.iter().for_each(|place| pieces[place.piece as usize].remove(place.hash, slot));
        });
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.iter().map(Buckets::bytes).sum()
    }
}

/// Returns the buckets of `places`.
#[inline(always)]
fn homes(pieces: &[Buckets], places: &[FingerprintPlace]) -> [usize; AHEAD] {
    let mut buckets = [0; AHEAD];
    for (bucket, place) in buckets.iter_mut().zip(places) {
        *bucket = pieces[place.piece as usize].home(place.hash);
    }
    buckets
}

/// Prefetches something at each place. Each kind has a separate loop: the shorter a loop, the more fetches
/// overlap.
#[inline(always)]
fn prefetch(
    pieces: &[Buckets],
    places: &[FingerprintPlace],
    buckets: &[usize; AHEAD],
    prefetch: impl Fn(&Buckets, usize) -> u32,
) {
    let prefetch =
        |(bucket, place): (&usize, &FingerprintPlace)| prefetch(&pieces[place.piece as usize], *bucket);
    black_box(buckets.iter().zip(places).map(prefetch).fold(0, |all, touched| all ^ touched));
}

/// A look-up. It is a separate type because the compiler would not use the machine's own instructions in all of
/// a closure.
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
    /// Passes the places of the fingerprints of `batch` to `take`, some at a time.
    fn places(&self, batch: &Batch, take: impl FnMut(&[FingerprintPlace])) {
        self.each_place(batch, |_| &[0], take);
    }

    /// Passes the places at which fingerprints near `queries` may be to `take`, some at a time.
    #[inline(always)]
    fn probe(&self, queries: &Batch, take: impl FnMut(&[FingerprintPlace])) {
        self.each_place(queries, |table| &table.masks, take);
    }

    #[inline(always)]
    fn each_place(
        &self,
        batch: &Batch,
        masks: impl Fn(&KeyTable) -> &[u64],
        mut take: impl FnMut(&[FingerprintPlace]),
    ) {
        let mut places = [FingerprintPlace::default(); AHEAD];
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
                    places[count] = FingerprintPlace { number, bits, table: at, piece, hash: in_piece(hash) };
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

impl KeyTable {
    fn new(key: Key) -> Self {
        let masks = masks(key.width(), key.radius).iter().map(|mask| mix(*mask, key.width())).collect();
        let most = ((1_u128 << key.width()) / SEGMENTS as u128).clamp(1, 1 << 31) as usize;
        Self { key, masks, most, mask: u32::MAX >> (32 - key.prefilter_width()) }
    }

    /// Returns the mixed key of a fingerprint. The lowest byte is the segment's number.
    #[inline(always)]
    fn hash(&self, bits: u64) -> u64 {
        mix(self.key.value(bits), self.key.width())
    }

    /// Returns the kept bits of a fingerprint: the compared bits, and above them the highest bits of its hash.
    #[inline(always)]
    fn kept(&self, bits: u64, hash: u64) -> u32 {
        let last = hash >> self.key.width().saturating_sub(KEPT);
        self.key.prefilter(bits) | (last as u32) << (32 - KEPT) & !self.mask
    }

    /// Returns the position in the kept bits of this bit of [`in_piece`], or `None` if it is not kept.
    fn kept_bit(&self, bit: u32) -> Option<u32> {
        let first = self.key.width().checked_sub(SEGMENTS.ilog2() + KEPT)?;
        let kept = 32 - KEPT + bit.checked_sub(first)?;
        (kept < 32 && self.mask >> kept & 1 == 0).then_some(kept)
    }
}

/// Returns the bits of a hash that distinguish keys in a piece.
#[inline(always)]
fn in_piece(hash: u64) -> u32 {
    (hash >> SEGMENTS.ilog2()) as u32
}

/// Mixes a key of `width` bits, so its lower bits are nearly as discriminating as all of them. Two
/// different keys stay different, and the mix of `a ^ b` is the mix of `a` XOR the mix of `b`.
#[inline(always)]
fn mix(key: u64, width: u32) -> u64 {
    let third = width.div_ceil(3);
    let key = key ^ key >> third;
    let key = (key ^ key << third) & u64::MAX >> (64 - width);
    key ^ key >> third
}

/// Returns the masks to XOR with a value of `width` bits to get all values within the radius, nearest first.
fn masks(width: u32, radius: u32) -> Box<[u64]> {
    let mut masks = vec![0_u64];
    let mut shell = 0..1;
    for _ in 0..radius.min(width) {
        let start = masks.len();
        for at in shell {
            let mask = masks[at];
            // Sets only bits above those already set, so each combination occurs once.
            let from = 64 - mask.leading_zeros();
            masks.extend((from..width).map(|bit| mask | 1 << bit));
        }
        shell = start..masks.len();
    }
    masks.into()
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

    #[test]
    fn lists_each_value_within_the_radius_once() {
        for (width, radius) in [(1, 0), (1, 3), (8, 0), (8, 1), (10, 3), (13, 4), (64, 1)] {
            let masks = masks(width, radius);
            let mut sorted = masks.to_vec();
            sorted.sort_unstable();
            if width < 64 {
                let naive: Vec<u64> =
                    (0..1 << width).filter(|mask: &u64| mask.count_ones() <= radius).collect();
                assert_eq!(sorted, naive, "{width} bits, radius {radius}");
            } else {
                assert_eq!(masks.len(), 65);
            }
            assert!(masks.windows(2).all(|pair| pair[0].count_ones() <= pair[1].count_ones()));
        }
    }
}
