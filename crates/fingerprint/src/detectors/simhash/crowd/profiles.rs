//! Finds centroids whose [numbers] do not conflict with those of a page.
//!
//! The pages of a template have their numbers in the same contexts. So centroids are filed by their contexts, and under
//! these by their values. Where so few numbers agree that none may differ, the values are looked up; where one may
//! differ, they are looked up with each of them left out. Other pages of the template lack some of the contexts, or have
//! others; their values are compared one by one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::near::too_many_conflict;
use crate::numbers::{self, SLOTS, Slots};

type Contexts = [u16; SLOTS];
type Values = [u8; SLOTS];
/// Centroids with the same numbers in the same contexts.
#[derive(Debug, Default)]
pub(super) struct BySite {
    pub(super) by_site: BTreeMap<u16, VecDeque<u64>>,
    pub(super) count: usize,
}

#[derive(Debug, Default)]
pub(super) struct Profiles {
    by_contexts: BTreeMap<Contexts, Profile>,
    /// Centroids whose contexts are not in order, which no text has.
    unordered: BySite,
}

/// Centroids with the same contexts.
#[derive(Debug, Default)]
struct Profile {
    by_values: BTreeMap<Values, BySite>,
    /// For each value left out (0 then), the values of which the others are these. Empty if no value may differ.
    without_one: BTreeMap<(usize, Values), BTreeSet<Values>>,
}

impl Profiles {
    pub(super) fn insert(&mut self, slots: &Slots, site: u16, number: u64) {
        let by_site = match ordered(slots) {
            None => &mut self.unordered,
            Some((contexts, values)) => {
                let profile = self.by_contexts.entry(contexts).or_default();
                if !profile.by_values.contains_key(&values) {
                    for key in without_one(&contexts, &values) {
                        profile.without_one.entry(key).or_default().insert(values);
                    }
                }
                profile.by_values.entry(values).or_default()
            }
        };
        by_site.by_site.entry(site).or_default().push_back(number);
        by_site.count += 1;
    }

    pub(super) fn remove(&mut self, slots: &Slots, site: u16, number: u64) {
        let Some((contexts, values)) = ordered(slots) else {
            return take(&mut self.unordered, site, number);
        };
        let Some(profile) = self.by_contexts.get_mut(&contexts) else { return };
        let Some(by_site) = profile.by_values.get_mut(&values) else { return };
        take(by_site, site, number);
        if by_site.count > 0 {
            return;
        }
        profile.by_values.remove(&values);
        for key in without_one(&contexts, &values) {
            if let Some(others) = profile.without_one.get_mut(&key) {
                others.remove(&values);
                if others.is_empty() {
                    profile.without_one.remove(&key);
                }
            }
        }
        if profile.by_values.is_empty() {
            self.by_contexts.remove(&contexts);
        }
    }

    /// Calls `found` with all centroids whose numbers do not conflict with these, some more than once. Returns the
    /// number of entries that were looked at.
    pub(super) fn find<'a>(&'a self, slots: &Slots, found: &mut dyn FnMut(&'a BySite)) -> usize {
        let mut looked_at = 1;
        found(&self.unordered);
        let own = ordered(slots);
        for (contexts, profile) in &self.by_contexts {
            looked_at += 1;
            match own {
                Some((own_contexts, own_values)) => {
                    let values = aligned(contexts, &own_contexts, &own_values);
                    looked_at += profile.find(contexts, values, found);
                }
                None => profile.by_values.values().for_each(&mut *found),
            }
        }
        looked_at
    }
}

impl Profile {
    /// Calls `found` with the centroids whose values do not conflict with these, which are `None` in contexts that the
    /// page does not have.
    fn find<'a>(
        &'a self,
        contexts: &Contexts,
        values: [Option<u8>; SLOTS],
        found: &mut dyn FnMut(&'a BySite),
    ) -> usize {
        let common = values.iter().flatten().count();
        let whole = values.map(Option::unwrap_or_default);
        match most_conflicts(common) {
            _ if common == 0 => self.by_values.values().for_each(&mut *found),
            0 if common == count(contexts) => {
                self.by_values.get(&whole).into_iter().for_each(&mut *found);
                return 1;
            }
            1 if common == count(contexts) => {
                let mut looked_at = 0;
                for key in without_one(contexts, &whole) {
                    let others = self.without_one.get(&key).into_iter().flatten();
                    for others in others.filter_map(|values| self.by_values.get(values)) {
                        found(others);
                        looked_at += 1;
                    }
                }
                return SLOTS + looked_at;
            }
            most => {
                for (others, by_site) in &self.by_values {
                    let conflicts = values
                        .iter()
                        .zip(others)
                        .filter(|(own, other)| own.is_some_and(|own| own != **other));
                    if conflicts.count() <= most {
                        found(by_site);
                    }
                }
            }
        }
        self.by_values.len()
    }
}

/// Returns contexts and values if the contexts are in ascending order, as those of all texts are.
fn ordered(slots: &Slots) -> Option<(Contexts, Values)> {
    let (contexts, mut values) = numbers::contexts_and_values(slots);
    let (own, free) = contexts.split_at(count(&contexts));
    values[own.len()..].fill(0);
    (own.windows(2).all(|pair| pair[0] < pair[1]) && free.iter().all(|context| *context == 0))
        .then_some((contexts, values))
}

/// Returns the number of contexts before the first free slot.
fn count(contexts: &Contexts) -> usize {
    contexts.iter().position(|context| *context == 0).unwrap_or(SLOTS)
}

/// Returns the values that a page has in these contexts.
fn aligned(contexts: &Contexts, own: &Contexts, values: &Values) -> [Option<u8>; SLOTS] {
    std::array::from_fn(|at| match contexts[at] {
        0 => None,
        context => own.iter().position(|own| *own == context).map(|at| values[at]),
    })
}

/// Returns how many of this number of common contexts may have different values.
fn most_conflicts(common: usize) -> usize {
    let fits = |conflicts: &usize| !too_many_conflict((common - conflicts) as u32, *conflicts as u32);
    (0..=common).rev().find(fits).unwrap_or(0)
}

/// Returns the keys of [`Profile::without_one`] for these values.
fn without_one(contexts: &Contexts, values: &Values) -> impl Iterator<Item = (usize, Values)> + use<> {
    let (count, values) = (count(contexts), *values);
    let left_out = if most_conflicts(count) == 0 { 0 } else { count };
    (0..left_out).map(move |at| {
        let mut rest = values;
        rest[at] = 0;
        (at, rest)
    })
}

fn take(of: &mut BySite, site: u16, number: u64) {
    if let Some(numbers) = of.by_site.get_mut(&site) {
        super::take(numbers, number);
        of.count -= 1;
        if numbers.is_empty() {
            of.by_site.remove(&site);
        }
    }
}
