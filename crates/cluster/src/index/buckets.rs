//! A piece of one table of the Hamming index: hash of a key → 32 bits of each fingerprint, and its slot.
//!
//! Fingerprints are in *buckets* of 64 bytes, one cache miss each. A bucket holds 32 bits of fourteen
//! fingerprints, and the place of its [`Spill`], the list of fingerprints that did not fit. So if very many
//! centroids share a key, only their own bucket becomes long. All fingerprints of a bucket are compared, whatever
//! their key, so keys are not stored. Slots are stored separately, because only those of near candidates are read.
//!
//! The number of buckets follows linear hashing (Litwin 1980): whenever there are [`MEAN`] fingerprints per
//! bucket, the next bucket is split in two. So a piece grows bucket by bucket, and each fingerprint moves
//! about once per doubling.

use super::spill::{Prefilter, Spill, Spills};

/// Number of fingerprints in a bucket.
const BUCKET: usize = 14;
/// Mean number of fingerprints per bucket, spills included, at which a bucket is split.
pub(super) const MEAN: usize = 9;
/// Mean number of fingerprints per bucket below which the last bucket is merged into its sibling.
const MEAN_MIN: usize = 7;
/// Index of the word of a bucket that holds the start of the spill.
const SPILL_START: usize = 14;
/// Index of the word of a bucket that holds both counts.
const COUNTS: usize = 15;
/// Maximum length of a spill. Four bits of the word are the number of fingerprints in the bucket.
const SPILL_MAX: u32 = u32::MAX >> 4;

/// Fingerprints, the start of the spill, and the spill's length times 16 plus the number of fingerprints
/// here.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket([u32; 16]);

/// The buckets of one piece. There is at least one.
#[derive(Debug)]
pub(super) struct Buckets {
    buckets: Vec<Bucket>,
    slots: Vec<[u32; BUCKET]>,
    spills: Spills,
    count: usize,
    /// Scratch space for fingerprints that are being moved.
    moved: Vec<(u32, u32)>,
}

/// The place of a fingerprint: its index in a bucket, or its place in the spills.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    Bucket(u32, u32),
    Spill(u32),
}

impl Bucket {
    #[inline(always)]
    fn count(&self) -> usize {
        (self.0[COUNTS] & 15) as usize
    }

    fn set_count(&mut self, count: usize) {
        self.0[COUNTS] = self.0[COUNTS] & !15 | count as u32;
    }

    #[inline(always)]
    fn spill(&self) -> Spill {
        Spill { start: self.0[SPILL_START], length: self.0[COUNTS] >> 4 }
    }

    /// Sets the spill.
    ///
    /// # Panics
    /// Panics if the spill is too long. Without its first fingerprints, pages would be called new that are not.
    fn set_spill(&mut self, spill: Spill) {
        assert!(
            spill.length <= SPILL_MAX,
            "more than {SPILL_MAX} centroids have fingerprints with the same key, which this index cannot hold; keep fewer \
             (expiry.centroids_max), or use another detector"
        );
        self.0[SPILL_START] = spill.start;
        self.0[COUNTS] = self.0[COUNTS] & 15 | spill.length << 4;
    }

    /// Returns a mask of the fingerprints that may be near.
    #[inline(always)]
    fn near(&self, prefilter: Prefilter) -> u32 {
        let mut near = 0;
        for (number, other) in self.0.iter().enumerate() {
            near |= u32::from(prefilter.is_near(*other)) << number;
        }
        near & ((1 << self.count()) - 1)
    }
}

impl Buckets {
    /// Creates a piece with one empty bucket.
    pub(super) fn new() -> Self {
        Self {
            buckets: vec![Bucket::default()],
            slots: vec![[0; BUCKET]],
            spills: Spills::default(),
            count: 0,
            moved: Vec::new(),
        }
    }

    /// Inserts a fingerprint under `hash`. More than `most` buckets would be useless. `is_set` returns true
    /// if a bit of another fingerprint's hash is set; it gets the number of the bit, the fingerprint's 32
    /// bits, and its slot.
    pub(super) fn insert(
        &mut self,
        hash: u32,
        bits: u32,
        slot: u32,
        most: usize,
        is_set: impl Fn(u32, u32, u32) -> bool,
    ) {
        if self.count >= self.buckets.len() * MEAN && self.buckets.len() < most {
            self.split(is_set);
        }
        self.put(self.home(hash), bits, slot);
        self.count += 1;
        self.compact();
    }

    /// Removes a slot that was inserted under `hash`.
    pub(super) fn remove(&mut self, hash: u32, slot: u32) {
        let at = self.home(hash);
        let (bucket, slots) = (&mut self.buckets[at], &mut self.slots[at]);
        let count = bucket.count();
        let mut spill = bucket.spill();
        match slots[..count].iter().position(|other| *other == slot) {
            // The gap is filled from the spill, or from the end of the bucket.
            Some(i) => match self.spills.pop(&mut spill) {
                Some(last) => (bucket.0[i], slots[i]) = last,
                None => {
                    (bucket.0[i], slots[i]) = (bucket.0[count - 1], slots[count - 1]);
                    bucket.set_count(count - 1);
                }
            },
            None if self.spills.remove(&mut spill, slot) => {}
            None => return,
        }
        bucket.set_spill(spill);
        self.count -= 1;
        if self.count < self.buckets.len() * MEAN_MIN && self.buckets.len() > 1 {
            self.merge();
        }
        self.compact();
    }

    /// Returns the bucket of `hash`. It is chosen by as many bits as distinguish all buckets, or by one less
    /// if that bucket does not exist yet.
    #[inline(always)]
    pub(super) fn home(&self, hash: u32) -> usize {
        let buckets = self.buckets.len();
        let mask = buckets.next_power_of_two() - 1;
        let at = hash as usize & mask;
        // Arithmetic instead of a branch, which would be mispredicted half of the time and stop the
        // prefetching.
        at & mask >> usize::from(at >= buckets)
    }

    /// Prefetches a bucket.
    #[inline(always)]
    pub(super) fn prefetch(&self, at: usize) -> u32 {
        self.buckets[at].0[COUNTS]
    }

    /// Prefetches the first cache line of a bucket's spill.
    #[inline(always)]
    pub(super) fn prefetch_spill(&self, at: usize) -> u32 {
        self.spills.prefetch(self.buckets[at].spill())
    }

    /// Prefetches more cache lines of a bucket's spill, if it is long.
    #[inline(always)]
    pub(super) fn prefetch_more(&self, at: usize) -> u32 {
        self.spills.prefetch_more(self.buckets[at].spill())
    }

    /// Prefetches the slots of a bucket.
    #[inline(always)]
    pub(super) fn prefetch_slots(&self, at: usize) -> u32 {
        self.slots[at][0]
    }

    /// Calls `found` with the places of those fingerprints of a bucket that may be near.
    #[inline(always)]
    pub(super) fn find(&self, at: usize, prefilter: Prefilter, mut found: impl FnMut(Entry)) {
        let bucket = &self.buckets[at];
        let mut near = bucket.near(prefilter);
        while near != 0 {
            found(Entry::Bucket(at as u32, near.trailing_zeros()));
            near &= near - 1;
        }
        self.spills.find(bucket.spill(), prefilter, |at| found(Entry::Spill(at)));
    }

    /// Returns the slot of a fingerprint that was found here.
    #[inline(always)]
    pub(super) fn slot(&self, entry: Entry) -> u32 {
        match entry {
            Entry::Bucket(at, number) => self.slots[at as usize][number as usize],
            Entry::Spill(at) => self.spills.slot(at),
        }
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
            + self.slots.capacity() * size_of::<[u32; BUCKET]>()
            + self.spills.bytes()
            + self.moved.capacity() * size_of::<(u32, u32)>()
    }

    fn put(&mut self, at: usize, bits: u32, slot: u32) {
        let bucket = &mut self.buckets[at];
        let count = bucket.count();
        if count < BUCKET {
            (bucket.0[count], self.slots[at][count]) = (bits, slot);
            bucket.set_count(count + 1);
        } else {
            let mut spill = bucket.spill();
            self.spills.push(&mut spill, bits, slot);
            bucket.set_spill(spill);
        }
    }

    /// Adds a bucket, and distributes the fingerprints of its sibling over both. The sibling is the bucket
    /// with the same lower bits.
    fn split(&mut self, is_set: impl Fn(u32, u32, u32) -> bool) {
        let added = self.buckets.len();
        if added == self.buckets.capacity() {
            // Grows by an eighth instead of doubling.
            self.buckets.reserve_exact(added / 8 + 1);
            self.slots.reserve_exact(added / 8 + 1);
        }
        self.buckets.push(Bucket::default());
        self.slots.push([0; BUCKET]);
        let sibling = sibling(added);
        let mut moved = self.take(sibling);
        for (bits, slot) in moved.drain(..) {
            let at = if is_set(added.ilog2(), bits, slot) { added } else { sibling };
            self.put(at, bits, slot);
        }
        self.keep_scratch(moved);
    }

    /// Removes the last bucket. Its sibling gets its fingerprints.
    fn merge(&mut self) {
        let last = self.buckets.len() - 1;
        let mut moved = self.take(last);
        self.buckets.pop();
        self.slots.pop();
        moved.drain(..).for_each(|(bits, slot)| self.put(sibling(last), bits, slot));
        self.keep_scratch(moved);
        if last < self.buckets.capacity() / 4 * 3 {
            self.buckets.shrink_to(last + last / 8);
            self.slots.shrink_to(last + last / 8);
        }
    }

    /// Frees the room outside of all spills, if there is much.
    fn compact(&mut self) {
        if self.spills.is_sparse() {
            let mut spills = self.spills.successor();
            for bucket in &mut self.buckets {
                bucket.set_spill(spills.take_over(bucket.spill(), &self.spills));
            }
            self.spills = spills;
        }
    }

    /// Keeps `moved` as scratch space, but not more than buckets of ordinary length need.
    fn keep_scratch(&mut self, mut moved: Vec<(u32, u32)>) {
        moved.shrink_to(4 * BUCKET);
        self.moved = moved;
    }

    /// Empties a bucket, and returns its contents.
    fn take(&mut self, at: usize) -> Vec<(u32, u32)> {
        let mut all = std::mem::take(&mut self.moved);
        let bucket = std::mem::take(&mut self.buckets[at]);
        all.extend(bucket.0.into_iter().zip(self.slots[at]).take(bucket.count()));
        all.extend(self.spills.iter(bucket.spill()));
        self.spills.drop(bucket.spill());
        all
    }
}

/// Returns the bucket that bucket `at` was split from. `at` must not be the first bucket.
fn sibling(at: usize) -> usize {
    at & !(1 << at.ilog2())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_are_kept_up_to_the_longest_spill() {
        let mut bucket = Bucket::default();
        for (count, length) in [(BUCKET, SPILL_MAX), (3, SPILL_MAX - 1), (0, 1 << 27)] {
            bucket.set_count(count);
            bucket.set_spill(Spill { start: 7, length });
            let Spill { start, length: found } = bucket.spill();
            assert_eq!((bucket.count(), start, found), (count, 7, length));
        }
    }

    /// One more would be shifted out of the word: the spill would seem to be empty.
    #[test]
    #[should_panic(expected = "centroids have fingerprints with the same key")]
    fn a_spill_that_is_too_long_is_an_error() {
        Bucket::default().set_spill(Spill { start: 0, length: SPILL_MAX + 1 });
    }

    fn found(buckets: &Buckets, hash: u32, max_distance: u32) -> Vec<u32> {
        let prefilter = Prefilter { bits: 0, mask: u32::MAX, max_distance };
        let mut slots = Vec::new();
        buckets.find(buckets.home(hash), prefilter, |entry| slots.push(buckets.slot(entry)));
        slots.sort_unstable();
        slots
    }

    proptest! {
        /// Inserts and removes in any order. Some hashes occur so often that they spill.
        #[test]
        fn holds_the_same_fingerprints_as_a_map(
            events in prop::collection::vec((0..3_u8, 0..60_usize), 0..1_500),
            hashes in prop::collection::vec(any::<u32>(), 60),
            most in prop::sample::select(vec![1_usize, 4, 1_000]),
        ) {
            let mut buckets = Buckets::new();
            let mut held: BTreeMap<u32, usize> = BTreeMap::new();
            let mut hash_by_slot = Vec::new();
            for (slot, (what, number)) in (0..).zip(events) {
                // Half of the fingerprints have one of three hashes.
                let hash = hashes[if slot % 2 == 0 { number % 3 } else { number }];
                hash_by_slot.push(hash);
                if what > 0 || held.is_empty() {
                    buckets.insert(hash, slot / 4, slot, most, |bit, _, slot| hash_by_slot[slot as usize] >> bit & 1 == 1);
                    held.insert(slot, number);
                } else if let Some((oldest, _)) = held.pop_first() {
                    buckets.remove(hash_by_slot[oldest as usize], oldest);
                }
                prop_assert_eq!(buckets.count, held.len());
                let all: Vec<u32> = held.keys().copied().filter(|held| hash_by_slot[*held as usize] == hash).collect();
                let here = found(&buckets, hash, 32);
                prop_assert!(all.iter().all(|slot| here.contains(slot)));
                let near: Vec<u32> = here.iter().copied().filter(|slot| (slot / 4).count_ones() <= 1).collect();
                prop_assert_eq!(found(&buckets, hash, 1), near);
            }
            prop_assert!(buckets.buckets.len() <= most);
            while let Some((oldest, _)) = held.pop_first() {
                buckets.remove(hash_by_slot[oldest as usize], oldest);
            }
            prop_assert!(buckets.count == 0 && buckets.bytes() < 3_000, "{} bytes", buckets.bytes());
        }
    }
}
