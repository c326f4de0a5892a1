//! Finds centroids whose [facts] are not replaced by those of a page: all facts among the pages of one site, numbers
//! among all pages of a crowd.
//!
//! Centroids with the same bits are a class, in which those with the same checksum are together. Classes are grouped by
//! their number of facts, since that says how many bits of two odd sketches may differ. Mostly it is none, so the class
//! is looked up, and of it the centroids with the same checksum; otherwise the bits of all classes of the group are
//! compared.

use std::collections::{BTreeMap, VecDeque};

use crate::facts::{self, Facts};
use crate::scan;
use leitong_base::hashed::HashedMap;

/// Number of classes of a group from which on a class with one other bit is looked up.
const LOOKED_UP_MIN: usize = 512;

/// Returns the limit on replaced facts, in hundredths, of two texts of which the one with fewer facts has so many.
pub(super) type Limit = fn(u32) -> u32;

#[derive(Debug, Default)]
pub(super) struct Classes {
    by_count: BTreeMap<u32, Group>,
    pub(super) members: usize,
}

/// Centroids by their checksums.
type Class = BTreeMap<u16, VecDeque<u64>>;

#[derive(Debug, Default)]
struct Group {
    bits: Vec<u64>,
    classes: Vec<Class>,
    of_bits: HashedMap<u32>,
}

impl Classes {
    pub(super) fn insert(&mut self, facts: &Facts, number: u64) {
        self.members += 1;
        let group = self.by_count.entry(facts::count(facts)).or_default();
        let bits = facts::bits(facts);
        let at = *group.of_bits.entry(bits).or_insert_with(|| {
            group.bits.push(bits);
            group.classes.push(Class::new());
            group.classes.len() as u32 - 1
        });
        group.classes[at as usize].entry(facts::checksum(facts)).or_default().push_back(number);
    }

    pub(super) fn remove(&mut self, facts: &Facts, number: u64) {
        let (count, bits) = (facts::count(facts), facts::bits(facts));
        let Some(group) = self.by_count.get_mut(&count) else { return };
        let Some(at) = group.of_bits.get(&bits).map(|at| *at as usize) else { return };
        self.members -= 1;
        let class = &mut group.classes[at];
        if let Some(numbers) = class.get_mut(&facts::checksum(facts)) {
            super::take(numbers, number);
            if numbers.is_empty() {
                class.remove(&facts::checksum(facts));
            }
        }
        if class.is_empty() {
            group.classes.swap_remove(at);
            group.bits.swap_remove(at);
            group.of_bits.remove(&bits);
            if let Some(moved) = group.bits.get(at) {
                group.of_bits.insert(*moved, at as u32);
            }
            if group.bits.is_empty() {
                self.by_count.remove(&count);
            }
        }
    }

    /// Calls `found` with all centroids.
    pub(super) fn each(&self, found: &mut dyn FnMut(u64)) {
        let classes = self.by_count.values().flat_map(|group| &group.classes);
        classes.flat_map(Class::values).flatten().for_each(|number| found(*number));
    }

    /// Returns the centroids whose facts are not replaced, in classes, and the number of entries that were looked at.
    pub(super) fn find(&self, facts: &Facts, limit: Limit) -> (Vec<&VecDeque<u64>>, usize) {
        let (own, own_count) = (facts::bits(facts), facts::count(facts));
        let (mut found, mut looked_at) = (Vec::new(), 0);
        for (count, group) in &self.by_count {
            let allowed = limit(own_count.min(*count));
            let most = facts::bits_that_may_differ(allowed, own_count.abs_diff(*count));
            // One of equally many facts is replaced if the checksums differ.
            let same_only = own_count == *count && allowed <= facts::ONE;
            let mut take = |at: usize| {
                let class = &group.classes[at];
                match same_only && group.bits[at] == own {
                    true => found.extend(class.get(&facts::checksum(facts))),
                    false => found.extend(class.values()),
                }
                true
            };
            if most <= 1 && group.bits.len() >= LOOKED_UP_MIN {
                let masks = [0].into_iter().chain((0..u64::BITS).map(|bit| 1 << bit));
                let classes = masks.filter_map(|mask: u64| group.of_bits.get(&(own ^ mask)));
                classes.for_each(|at| _ = take(*at as usize));
                looked_at += 1 + u64::BITS as usize;
            } else {
                scan::within(&group.bits, own, most, &mut take);
                looked_at += group.bits.len();
            }
        }
        (found, looked_at)
    }
}
