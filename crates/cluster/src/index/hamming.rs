//! The Hamming index: finds all 64-bit fingerprints within a Hamming distance of a query, exactly.
//!
//! A few fingerprints are compared one by one; more are looked up by blocks of bits, as the [`Plan`] says.
//! The plan is chosen again whenever the number of fingerprints has grown or shrunk enough. If another plan
//! is faster, a new arrangement is built next to the present one, some fingerprints at each insertion, and
//! replaces it when complete. Look-ups never wait for this.

use std::collections::VecDeque;

use super::batch::{Batch, Hit, Hits, for_each_shard, gather};
use super::blocks::BlockShard;
use super::plan::Plan;

/// Number of fingerprints that each insertion moves to the next arrangement.
const MOVED_PER_INSERTION: u32 = 16;
/// Maximum cost of a new plan, as a share of the present plan's cost.
const WORTH_MOVING: f64 = 0.8;
/// Sampling interval of the bit statistics: one in 8 fingerprints is counted.
const SAMPLED: u32 = 8;

/// The index.
#[derive(Debug)]
pub(super) struct Hamming {
    max_distance: u32,
    shards: usize,
    arrangement: Arrangement,
    /// The arrangement that will replace the present one, and the first slot that it does not hold yet.
    next: Option<(Arrangement, u32)>,
    /// The oldest slot.
    first: u32,
    /// Number of slots.
    count: u32,
    /// The plan is chosen again when the count leaves these bounds.
    planned_for: std::ops::RangeInclusive<u32>,
    sample: Sample,
}

#[derive(Debug)]
enum Arrangement {
    Scan(LinearScan),
    Blocks(Box<Plan>, Vec<BlockShard>),
}

/// Fingerprints that are compared one by one, oldest first.
#[derive(Debug, Default)]
struct LinearScan {
    bits: VecDeque<u64>,
    first: u32,
}

/// The number of sampled fingerprints in which each bit is set.
#[derive(Debug)]
struct Sample {
    ones: [u32; 64],
    seen: u32,
}

impl Hamming {
    /// Creates an empty index.
    pub(super) fn new(max_distance: u32, shards: usize) -> Self {
        Self {
            max_distance,
            shards,
            arrangement: Arrangement::Scan(LinearScan::default()),
            next: None,
            first: 0,
            count: 0,
            planned_for: 0..=64,
            sample: Sample { ones: [0; 64], seen: 0 },
        }
    }

    /// Works as `Index::find` does.
    pub(super) fn find_on_all_cores<K: Default + Send>(
        &self,
        queries: &Batch,
        hits: &mut Vec<Hit>,
        keep: impl Fn(&mut Vec<Hit>, &mut K) + Sync,
    ) -> Vec<K> {
        let max_distance = self.max_distance;
        match &self.arrangement {
            Arrangement::Scan(scan) => gather(&[scan], queries, hits, keep, |scan, queries, hits| {
                scan.find(queries, max_distance, hits);
            }),
            Arrangement::Blocks(_, shards) => gather(shards, queries, hits, keep, |shard, queries, hits| {
                shard.find(queries, max_distance, hits);
            }),
        }
    }

    /// Works as `Index::insert` does.
    pub(super) fn insert(&mut self, first: u32, batch: &Batch, bits_of: impl Fn(u32) -> u64 + Sync) {
        if self.count == 0 {
            self.first = first;
        }
        self.arrangement.insert(first, batch, &bits_of);
        for (_, bits) in batch.iter() {
            if self.count.is_multiple_of(SAMPLED) || self.count < 64 * SAMPLED {
                self.sample.take(bits);
            }
            self.count += 1;
        }
        self.move_on(MOVED_PER_INSERTION * batch.len() as u32, &bits_of);
        self.replan();
    }

    /// Works as `Index::remove` does.
    pub(super) fn remove(&mut self, slot: u32, batch: &Batch) {
        self.arrangement.remove(slot, batch);
        if let Some((arrangement, unmoved)) = &mut self.next {
            if *unmoved == slot {
                *unmoved = unmoved.wrapping_add(1);
            } else {
                arrangement.remove(slot, batch);
            }
        }
        self.first = slot.wrapping_add(1);
        self.count -= 1;
        self.replan();
    }

    /// Moves up to `most` more fingerprints to the next arrangement.
    fn move_on(&mut self, most: u32, bits_of: &(impl Fn(u32) -> u64 + Sync)) {
        let Some((arrangement, unmoved)) = &mut self.next else { return };
        let end = self.first.wrapping_add(self.count);
        let mut moved = Batch::default();
        for number in 0..most.min(end.wrapping_sub(*unmoved)) {
            moved.push(|values| {
                values.push(bits_of(unmoved.wrapping_add(number)));
                0
            });
        }
        arrangement.insert(*unmoved, &moved, bits_of);
        *unmoved = unmoved.wrapping_add(moved.len() as u32);
        if *unmoved == end
            && let Some((arrangement, _)) = self.next.take()
        {
            self.arrangement = arrangement;
        }
    }

    /// Chooses the plan again if the count has left its bounds.
    fn replan(&mut self) {
        if self.planned_for.contains(&self.count) || self.next.is_some() {
            return;
        }
        self.planned_for = self.count / 4..=self.count.saturating_add(self.count / 4).max(64);
        let differ = self.sample.differ();
        let count = self.count as usize;
        let (best, cost) = Plan::choose(count, self.max_distance, &differ);
        if cost < self.arrangement.plan().cost(count, self.max_distance, &differ) * WORTH_MOVING {
            self.next = Some((Arrangement::new(best, self.shards, self.first), self.first));
        }
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.arrangement.bytes() + self.next.as_ref().map_or(0, |(arrangement, _)| arrangement.bytes())
    }
}

impl Arrangement {
    fn new(plan: Plan, shards: usize, first: u32) -> Self {
        if plan.is_scan() {
            return Self::Scan(LinearScan { bits: VecDeque::new(), first });
        }
        let made = (0..shards).map(|number| BlockShard::new(&plan, number, shards)).collect();
        Self::Blocks(plan.into(), made)
    }

    fn plan(&self) -> Plan {
        match self {
            Self::Scan(_) => Plan::scan(),
            Self::Blocks(plan, _) => (**plan).clone(),
        }
    }

    fn insert(&mut self, first: u32, batch: &Batch, bits_of: &(impl Fn(u32) -> u64 + Sync)) {
        match self {
            Self::Scan(scan) => scan.insert(first, batch),
            Self::Blocks(_, shards) => {
                for_each_shard(shards, batch, |shard| shard.insert(first, batch, bits_of));
            }
        }
    }

    fn remove(&mut self, slot: u32, batch: &Batch) {
        match self {
            Self::Scan(scan) => scan.remove_oldest(slot),
            Self::Blocks(_, shards) => shards.iter_mut().for_each(|shard| shard.remove(slot, batch)),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Scan(scan) => scan.bits.capacity() * 8,
            Self::Blocks(_, shards) => shards.iter().map(BlockShard::bytes).sum(),
        }
    }
}

impl LinearScan {
    fn find(&self, queries: &Batch, max_distance: u32, hits: &mut Hits<'_>) {
        // Uses the machine's own instructions for counting bits, if it has them.
        pulp::Arch::new().dispatch(FindByScan { scan: self, queries, max_distance, hits });
    }

    fn insert(&mut self, first: u32, batch: &Batch) {
        if self.bits.is_empty() {
            self.first = first;
        }
        self.bits.extend(batch.iter().map(|(_, bits)| bits));
    }

    fn remove_oldest(&mut self, slot: u32) {
        self.bits.pop_front();
        self.first = slot.wrapping_add(1);
        if self.bits.len() * 4 < self.bits.capacity() {
            self.bits.shrink_to(self.bits.len() * 2);
        }
    }
}

/// A look-up. It is a separate type because the compiler would not use the machine's own instructions in all of
/// a closure.
struct FindByScan<'a, 'b> {
    scan: &'a LinearScan,
    queries: &'a Batch,
    max_distance: u32,
    hits: &'a mut Hits<'b>,
}

impl pulp::NullaryFnOnce for FindByScan<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { scan, queries, max_distance, hits } = self;
        let (older, younger) = scan.bits.as_slices();
        let first_of_younger = scan.first.wrapping_add(older.len() as u32);
        for (query, bits) in queries.iter() {
            for (scanned, first) in [(older, scan.first), (younger, first_of_younger)] {
                let mut slot = first;
                let (some, rest) = scanned.as_chunks::<16>();
                for some in some {
                    // One branch for all 16 fingerprints instead of one for each.
                    let mut any = false;
                    for other in some {
                        any |= (other ^ bits).count_ones() <= max_distance;
                    }
                    if any {
                        push_near(query, bits, some, slot, max_distance, hits);
                    }
                    slot = slot.wrapping_add(some.len() as u32);
                }
                push_near(query, bits, rest, slot, max_distance, hits);
            }
        }
    }
}

#[inline(always)]
fn push_near(query: u32, bits: u64, some: &[u64], first: u32, max_distance: u32, hits: &mut Hits<'_>) {
    for (number, other) in (0..).zip(some) {
        if (other ^ bits).count_ones() <= max_distance {
            hits.push(Hit::new(query, first.wrapping_add(number)));
        }
    }
}

impl Sample {
    fn take(&mut self, bits: u64) {
        for (bit, ones) in self.ones.iter_mut().enumerate() {
            *ones += (bits >> bit & 1) as u32;
        }
        self.seen += 1;
        if self.seen == 1 << 20 {
            // Old fingerprints count less and less.
            self.ones.iter_mut().for_each(|ones| *ones /= 2);
            self.seen /= 2;
        }
    }

    /// Returns, for each bit, the probability that two fingerprints differ in it.
    fn differ(&self) -> [f64; 64] {
        self.ones.map(|ones| {
            let set = f64::from(ones) / f64::from(self.seen.max(1));
            2.0 * set * (1.0 - set)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a fingerprint near one of a few centroids. `skew` bits are nearly always set.
    fn fingerprint(seed: u64, skew: u64) -> u64 {
        let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 29;
        let family = (x % 97).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let masks = (0..x >> 8 & 7).fold(0_u64, |masks, i| masks | 1 << (x >> (11 + 6 * i) & 63));
        let common = if x >> 60 == 0 { 0 } else { skew };
        (family ^ masks) | common
    }

    fn found(index: &Hamming, bits: u64) -> Vec<u32> {
        let mut queries = Batch::default();
        queries.push(|values| {
            values.push(bits);
            0
        });
        let mut hits = Vec::new();
        let handed_on = index
            .find_on_all_cores(&queries, &mut hits, |hits, handed_on: &mut Vec<Hit>| handed_on.append(hits));
        hits.extend(handed_on.into_iter().flatten());
        let mut slots: Vec<u32> = hits.into_iter().map(Hit::slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Checks that the index finds all that a scan finds. It may find more; the comparison removes those.
    fn check(index: &Hamming, held: &VecDeque<(u32, u64)>, bits: u64, max_distance: u32) {
        let near = held.iter().filter(|(_, other)| (other ^ bits).count_ones() <= max_distance);
        let naive: Vec<u32> = near.map(|(slot, _)| *slot).collect();
        let mut found = found(index, bits);
        found.retain(|slot| {
            let (_, other) = held[slot.wrapping_sub(held[0].0) as usize];
            (other ^ bits).count_ones() <= max_distance
        });
        let in_order = |slot: &u32| slot.wrapping_sub(held[0].0);
        found.sort_unstable_by_key(in_order);
        assert_eq!(found, naive, "{:?}", index.arrangement.plan());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Inserts and removes at random, at every distance: the index finds what a scan finds before, during
        /// and after each change of plan.
        #[test]
        fn finds_what_a_scan_finds(
            max_distance in 0_u32..=20,
            shards in prop::sample::select(vec![1_usize, 2, 8]),
            steps in prop::collection::vec((1_u32..400, 0_u32..300), 1..12),
            seed: u64,
            skew in prop_oneof![Just(0_u64), any::<u64>(), Just(0xffff_ffff_0000_0000)],
            start in prop_oneof![Just(0_u32), Just(u32::MAX - 700)],
        ) {
            let mut index = Hamming::new(max_distance, shards);
            let mut held: VecDeque<(u32, u64)> = VecDeque::new();
            let mut end = start;
            for (come, go) in steps {
                let mut batch = Batch::default();
                let first = end;
                for _ in 0..come {
                    let bits = fingerprint(seed ^ u64::from(end), skew);
                    batch.push(|values| {
                        values.push(bits);
                        0
                    });
                    held.push_back((end, bits));
                    end = end.wrapping_add(1);
                }
                let bits_of = |slot: u32| held[slot.wrapping_sub(held[0].0) as usize].1;
                index.insert(first, &batch, bits_of);
                for _ in 0..go.min(held.len() as u32) {
                    let (slot, bits) = held.pop_front().expect("as many as that");
                    let mut batch = Batch::default();
                    batch.push(|values| {
                        values.push(bits);
                        0
                    });
                    index.remove(slot, &batch);
                }
                for i in 0..4 {
                    check(&index, &held, fingerprint(seed ^ u64::from(end.wrapping_sub(i * 17)), skew), max_distance);
                }
            }
        }
    }

    /// Checks every plan on its own, at sizes at which it would not be chosen.
    #[test]
    fn every_plan_finds_what_a_scan_finds() {
        for max_distance in 0..=20 {
            // Plans that visit more than 10,000 values per look-up may be chosen, but are too slow for a test.
            for plan in Plan::all_below(10_000.0, max_distance) {
                let mut index = Hamming::new(max_distance, 2);
                index.arrangement = Arrangement::new(plan, 2, 0);
                index.planned_for = 0..=u32::MAX;
                let bits_of = |slot: u32| fingerprint(u64::from(slot), 0xff00);
                let mut held = VecDeque::new();
                for slot in 0..3_000 {
                    let mut batch = Batch::default();
                    batch.push(|values| {
                        values.push(bits_of(slot));
                        0
                    });
                    index.insert(slot, &batch, bits_of);
                    held.push_back((slot, bits_of(slot)));
                }
                for query in 0..3 {
                    check(&index, &held, fingerprint(5_000 + query, 0xff00), max_distance);
                }
            }
        }
    }
}
