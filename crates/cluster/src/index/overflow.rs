//! The slots of very many centroids under one key: a
//! posting list too long to be walked for each page.
//!
//! A passage on every page of a site, or pages made for the purpose, put any number of centroids
//! under one band of the sketch. Where the detector has a
//! [second key](leitong_fingerprint::SecondKey), a list of [`INDEXED_MIN`] is indexed by it: by the
//! Hamming distance of 64 bits, in a [`Hamming`] index of the list's own.
//!
//! That is exact, by two steps. What is near is at most `max_distance` bits apart in the second
//! key, by the detector's own definition of near; so no near centroid is lost when all others are
//! left out. And the Hamming index finds all within that distance, by the pigeonhole: 64 bits are
//! cut into blocks with radii rᵢ, Σ(rᵢ + 1) = `max_distance` + 1; if two values differed in more
//! than rᵢ bits of every block *i*, they would differ in Σ(rᵢ + 1) bits at least ([`super::plan`]).
//!
//! Slots leave in the order in which they came, so the list
//! is a queue: neither end costs more when it is long.

use std::collections::VecDeque;

use super::hamming::Hamming;
use super::{Batch, Hit, Hits};

/// Slots from which on a list is indexed. Fewer are walked:
/// an index takes some 700 bytes whatever is in it.
const INDEXED_MIN: usize = 128;

/// The greatest distance that there are plans for.
const PLANNED_MAX: u32 = 20;

/// The list of one key.
#[derive(Debug)]
pub(super) struct Overflow {
    /// Oldest first.
    slots: VecDeque<u32>,
    /// The number of the first one; they are numbered as they come, modulo 2^32.
    first: u32,
    /// Second keys by the numbers of their slots.
    seconds: Option<Box<Hamming>>,
}

impl Overflow {
    /// A list of these slots in any order, of which the last one is the youngest.
    pub(super) fn new(mut slots: Vec<u32>) -> Self {
        // Slots are numbers modulo 2^32: the oldest is the next one after the youngest.
        let youngest = slots.last().copied().unwrap_or(0);
        slots.sort_unstable_by_key(|slot| slot.wrapping_sub(youngest.wrapping_add(1)));
        Self { slots: slots.into(), first: 0, seconds: None }
    }

    /// Slots in it.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// All slots, oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().copied()
    }

    /// Adds `slot`, the youngest. `second_distance` says how far apart the second keys of near
    /// fingerprints are at most, if there are second keys; `second_of` gives that of a slot.
    pub(super) fn push(
        &mut self,
        slot: u32,
        second_distance: Option<u32>,
        second_of: &(impl Fn(u32) -> u64 + Sync),
    ) {
        self.slots.push_back(slot);
        let Some(max_distance) = second_distance else { return };
        if self.seconds.is_some() {
            self.index(self.slots.len() - 1, second_of);
        } else if self.slots.len() >= INDEXED_MIN {
            let of = if max_distance <= PLANNED_MAX { Hamming::one_of_many } else { Hamming::in_a_row };
            self.seconds = Some(Box::new(of(max_distance)));
            self.index(0, second_of);
        }
    }

    /// Enters the second keys of the slots from the `from`-th on.
    fn index(&mut self, from: usize, second_of: &(impl Fn(u32) -> u64 + Sync)) {
        let Self { slots, first, seconds: Some(seconds) } = self else { return };
        let mut batch = Batch::default();
        for slot in slots.range(from..) {
            batch.push(|values| {
                values.push(second_of(*slot));
                0
            });
        }
        let second_of = |number: u32| second_of(slots[number.wrapping_sub(*first) as usize]);
        seconds.insert(first.wrapping_add(from as u32), &batch, second_of);
    }

    /// Takes out `slot`, the oldest, which has this second
    /// key; false where it is not the oldest here.
    pub(super) fn remove(&mut self, slot: u32, second: u64) -> bool {
        if self.slots.front() != Some(&slot) {
            return false;
        }
        self.slots.pop_front();
        if let Some(seconds) = &mut self.seconds {
            let mut batch = Batch::default();
            batch.push(|values| {
                values.push(second);
                0
            });
            seconds.remove(self.first, &batch);
        }
        self.first = self.first.wrapping_add(1);
        // Half as many as make an index, so that a list which
        // stays at that length does not change with every slot.
        if self.slots.len() < INDEXED_MIN / 2 {
            self.seconds = None;
        }
        if self.slots.len() * 4 < self.slots.capacity() {
            self.slots.shrink_to(self.slots.len() * 2);
        }
        true
    }

    /// Calls `found` with the slots whose second key is near
    /// `second`, and perhaps with others; with all of a short list.
    pub(super) fn find(&self, second: u64, mut found: impl FnMut(u32)) {
        let Some(seconds) = &self.seconds else {
            self.slots.iter().for_each(|slot| found(*slot));
            return;
        };
        let mut query = Batch::default();
        query.push(|values| {
            values.push(second);
            0
        });
        let mut hand_on = |hits: &mut Vec<Hit>| {
            let numbers = hits.drain(..).map(|hit| hit.slot().wrapping_sub(self.first));
            numbers.filter_map(|at| self.slots.get(at as usize)).for_each(|slot| found(*slot));
        };
        let mut hits = Vec::new();
        seconds.find(&query, &mut Hits::new(&mut hits, &mut hand_on));
        hand_on(&mut hits);
    }

    /// The slots, youngest first.
    pub(super) fn youngest_first(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().rev().copied()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let seconds = self.seconds.as_ref().map_or(0, |seconds| size_of::<Hamming>() + seconds.bytes());
        size_of::<Self>() + self.slots.capacity() * 4 + seconds
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Second keys of a few families, so that some are near.
    fn second(slot: u32) -> u64 {
        let mix = |x: u64| (x ^ x >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        let slot = u64::from(slot) + 1;
        mix(mix(slot % 37)) ^ (1 << (mix(slot) % 64)) ^ (1 << (mix(slot * 7) % 64)) ^ (mix(slot) & 0x10_1010)
    }

    fn found(overflow: &Overflow, second: u64) -> Vec<u32> {
        let mut found = Vec::new();
        overflow.find(second, |slot| found.push(slot));
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// As a scan, whatever comes and goes, short or indexed, also where slots pass 2^32.
        #[test]
        fn finds_what_a_scan_finds(
            max_distance in 0_u32..=30,
            steps in prop::collection::vec((1_u32..400, 0_u32..350), 1..10),
            start in prop_oneof![Just(17_u32), Just(u32::MAX - 300)],
        ) {
            let mut end = start.wrapping_add(16);
            let mut slots: Vec<u32> = (0..16).map(|i| start.wrapping_add(i)).collect();
            // The segment gives them in the order of their numbers.
            slots[..15].sort_unstable();
            let mut overflow = Overflow::new(slots);
            let mut held: VecDeque<u32> = (0..16).map(|i| start.wrapping_add(i)).collect();
            for (come, go) in steps {
                for _ in 0..come {
                    overflow.push(end, Some(max_distance), &second);
                    held.push_back(end);
                    end = end.wrapping_add(1);
                }
                for _ in 0..go.min(held.len() as u32) {
                    let oldest = held.pop_front().expect("as many as that");
                    overflow.remove(oldest.wrapping_sub(1), 0); // what is not there
                    overflow.remove(oldest, second(oldest));
                }
                prop_assert_eq!(overflow.len(), held.len());
                prop_assert_eq!(overflow.seconds.is_some() && held.is_empty(), false);
                for asked in [end, end.wrapping_sub(40), end / 2] {
                    let near = |slot: &u32| (second(*slot) ^ second(asked)).count_ones() <= max_distance;
                    let mut found = found(&overflow, second(asked));
                    found.retain(near);
                    found.sort_unstable();
                    let mut naive: Vec<u32> = held.iter().copied().filter(near).collect();
                    naive.sort_unstable();
                    found.dedup();
                    prop_assert_eq!(found, naive);
                }
            }
        }
    }

    /// A list that grew long, was emptied and grew again takes
    /// what it took at first, and next to nothing in between.
    #[test]
    fn memory_of_a_list_is_given_back() {
        let mut overflow = Overflow::new(vec![0]);
        (1..20_000).for_each(|slot| overflow.push(slot, Some(16), &second));
        let full = overflow.bytes();
        (0..19_999).for_each(|slot| assert!(overflow.remove(slot, second(slot))));
        assert!(overflow.bytes() < 200, "{} bytes", overflow.bytes());
        (20_000..39_999).for_each(|slot| overflow.push(slot, Some(16), &second));
        assert!(overflow.bytes() < full + full / 4, "{} bytes, {full} at first", overflow.bytes());
        assert_eq!(overflow.len(), 20_000);
    }

    /// Of twice as many under one key a look-up hands on no more, but for what is near by chance.
    #[test]
    fn a_long_list_hands_on_what_is_near_alone() {
        let apart = |slot: u32| {
            let mix = |x: u64| (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            mix(mix(mix(u64::from(slot) + 1)))
        };
        let mut overflow = Overflow::new(vec![0]);
        let mut handed_on = Vec::new();
        for size in [20_000_u32, 40_000] {
            (overflow.len() as u32..size).for_each(|slot| overflow.push(slot, Some(16), &apart));
            let all: usize = (0..100).map(|asked| found(&overflow, apart(1_000_000 + asked)).len()).sum();
            handed_on.push(all);
        }
        assert!(handed_on[0] < 1_000 && handed_on[1] < 2_000, "{handed_on:?} of two and four millions");
    }
}
