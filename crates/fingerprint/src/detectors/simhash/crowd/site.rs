//! Finds centroids of one site whose [facts] are not replaced by those of a page.
//!
//! Centroids with the same facts are a class. Classes are grouped by their number of facts, since that and the sizes of
//! the texts say how many bits of two odd sketches may differ. Mostly it is none, so the class is looked up; otherwise
//! the bits of all classes of the group are compared.

use std::collections::{BTreeMap, VecDeque};

use super::super::near::replaced_on_one_site;
use crate::facts::{self, Facts};
use crate::scan;
use leitong_base::hashed::HashedMap;

/// Number of classes of a group from which on a class with one other bit is looked up.
const LOOKED_UP_MIN: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Site {
    by_count: BTreeMap<u32, Group>,
    pub(super) members: usize,
}

#[derive(Debug)]
struct Group {
    bits: Vec<u64>,
    classes: Vec<Class>,
    of_bits: HashedMap<u32>,
    sizes: Sizes,
}

#[derive(Debug)]
struct Class {
    numbers: VecDeque<u64>,
    sizes: Sizes,
}

/// The smallest and the largest size of any text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes(u32, u32);

impl Sizes {
    const NONE: Self = Self(u32::MAX, 0);

    fn add(&mut self, size: u32) {
        *self = Self(self.0.min(size), self.1.max(size));
    }
}

/// A text that is compared: its facts, its size, and the size below which texts are short.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) facts: &'a Facts,
    pub(super) size: u32,
    pub(super) short_size: u32,
}

impl Text<'_> {
    /// Returns how many bits may differ from those of texts with these sizes and this number of facts.
    fn bits_that_may_differ(&self, sizes: Sizes, count: u32) -> u32 {
        let own = facts::count(self.facts);
        let allowed = |size: u32| replaced_on_one_site(self.short_size, self.size.min(size), own.min(count));
        facts::bits_that_may_differ(allowed(sizes.0).max(allowed(sizes.1)), own.abs_diff(count))
    }
}

impl Site {
    pub(super) fn insert(&mut self, text: Text<'_>, number: u64) {
        self.members += 1;
        let group = self.by_count.entry(facts::count(text.facts)).or_insert_with(|| Group {
            bits: Vec::new(),
            classes: Vec::new(),
            of_bits: HashedMap::default(),
            sizes: Sizes::NONE,
        });
        group.sizes.add(text.size);
        let bits = facts::bits(text.facts);
        let at = *group.of_bits.entry(bits).or_insert_with(|| {
            group.bits.push(bits);
            group.classes.push(Class { numbers: VecDeque::new(), sizes: Sizes::NONE });
            group.classes.len() as u32 - 1
        });
        let class = &mut group.classes[at as usize];
        class.sizes.add(text.size);
        class.numbers.push_back(number);
    }

    pub(super) fn remove(&mut self, facts: &Facts, number: u64) {
        let (count, bits) = (facts::count(facts), facts::bits(facts));
        let Some(group) = self.by_count.get_mut(&count) else { return };
        let Some(at) = group.of_bits.get(&bits).map(|at| *at as usize) else { return };
        self.members -= 1;
        super::take(&mut group.classes[at].numbers, number);
        if group.classes[at].numbers.is_empty() {
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
        classes.flat_map(|class| &class.numbers).for_each(|number| found(*number));
    }

    /// Calls `found` with the centroids whose facts are not replaced, until it returns false. Returns the number of
    /// entries that were looked at.
    pub(super) fn find<'a>(
        &'a self,
        text: Text<'_>,
        found: &mut dyn FnMut(&'a VecDeque<u64>) -> bool,
    ) -> usize {
        let own = facts::bits(text.facts);
        let (mut looked_at, mut goes_on) = (0, true);
        for (count, group) in &self.by_count {
            if !goes_on {
                break;
            }
            let most = text.bits_that_may_differ(group.sizes, *count);
            let mut last = (group.sizes, most);
            let mut take = |at: usize| {
                let class = &group.classes[at];
                if class.sizes != last.0 {
                    last = (class.sizes, text.bits_that_may_differ(class.sizes, *count));
                }
                if (group.bits[at] ^ own).count_ones() <= last.1 {
                    goes_on = found(&class.numbers);
                }
                goes_on
            };
            if most <= 1 && group.bits.len() >= LOOKED_UP_MIN {
                let masks = [0].into_iter().chain((0..u64::BITS).map(|bit| 1 << bit));
                let mut classes = masks.filter_map(|mask: u64| group.of_bits.get(&(own ^ mask)));
                classes.all(|at| take(*at as usize));
                looked_at += 1 + u64::BITS as usize;
            } else {
                scan::within(&group.bits, own, most, &mut take);
                looked_at += group.bits.len();
            }
        }
        looked_at
    }
}
