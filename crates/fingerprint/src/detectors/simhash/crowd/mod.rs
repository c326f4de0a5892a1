//! Searches a crowd: centroids of which very many share a passage, a band or the SimHash, such as the pages of one
//! template.
//!
//! Most pages of a crowd are so similar that neither SimHash nor sketch tells them apart; they are two texts because
//! their facts or numbers differ. So a crowd is searched for the centroids that the *addresses*, *facts* and *numbers*
//! allow to be near ([`near`](super::near)), in [classes] of pages with the same facts or numbers:
//! * All pages of the same name may be near.
//! * On one site, few facts may be replaced. If that leaves many, those of a short text whose numbers are not replaced
//!   may be fewer.
//! * On other sites, or if an address is not known, no number of a short text may be replaced.
//! * If all of this leaves many, SimHash and sketch are compared with one pass over all members.
//!
//! `docs/adr/0049-crowds.md` says what this costs.

mod classes;

use std::collections::{BTreeMap, VecDeque};

use super::encoding::{SketchView, simhash_of};
use super::near::{replaced_facts_limit, replaced_numbers_limit};
use super::{Confirm, NearConfig, addresses};
use crate::Crowd;
use crate::facts::Facts;
use crate::scan::Column;
use crate::sketch::{self, VALUE_BYTES, Values};
use classes::Classes;

/// Number of candidates that are compared without looking for fewer.
const FEW: usize = 32;
/// Number of members that are passed over in the time that comparing a candidate takes.
const PASSED_OVER: usize = 32;
/// Estimated bytes of memory for a member, without the columns of SimHashes.
const MEMBER_BYTES: usize = 250;

/// The members of a crowd.
#[derive(Debug)]
pub(super) struct SimHashCrowd {
    max_distance: u32,
    related_distance: u32,
    /// Size below which texts are short; 0 if facts and numbers are ignored.
    short_size: u32,
    addresses: bool,
    /// Lower bound on the number of values in which near pages of different names agree.
    least_matches: u32,
    /// All members with their SimHashes.
    all: Column<Body>,
    by_name: BTreeMap<u64, VecDeque<u64>>,
    /// Members of each site by their facts; 0 if the address is not known.
    sites: BTreeMap<u16, Classes>,
    by_numbers: Classes,
}

/// The parts of a member that are compared if neither facts nor numbers leave few candidates.
#[derive(Debug)]
struct Body {
    site: u16,
    values: Values,
}

/// The parts of a fingerprint that a crowd reads.
struct Page<'a> {
    hash: u64,
    values: &'a Values,
    size: u32,
    facts: &'a Facts,
    numbers: &'a Facts,
    site: u16,
    name: u64,
}

impl SimHashCrowd {
    pub(super) fn new(near: &NearConfig, related_distance: u32) -> Self {
        let short_size = if near.confirm == Confirm::None { 0 } else { near.number_text_size };
        Self {
            max_distance: near.max_distance,
            related_distance,
            short_size,
            addresses: near.addresses,
            least_matches: near.sketch_matches_near,
            all: Column::new(),
            by_name: BTreeMap::new(),
            sites: BTreeMap::new(),
            by_numbers: Classes::default(),
        }
    }

    /// Returns `None` if only SimHashes are compared.
    fn page<'a>(&self, compared: &'a [u8]) -> Option<Page<'a>> {
        if self.short_size == 0 {
            return None;
        }
        let view = SketchView::new(compared);
        let SketchView { size, values, numbers, facts, address, .. } = view;
        let (site, name) = addresses::site_and_name(address);
        let is_known = self.addresses && site != 0 && name != 0;
        let (site, name) = if is_known { (site, name) } else { (0, 0) };
        Some(Page { hash: simhash_of(compared), values, size, facts, numbers, site, name })
    }
}

impl Crowd for SimHashCrowd {
    fn insert(&mut self, number: u64, compared: &[u8]) {
        let Some(page) = self.page(compared) else {
            let body = Body { site: 0, values: [0; VALUE_BYTES] };
            return self.all.insert(number, simhash_of(compared), body);
        };
        self.all.insert(number, page.hash, Body { site: page.site, values: *page.values });
        if page.name != 0 {
            self.by_name.entry(page.name).or_default().push_back(number);
        }
        self.sites.entry(page.site).or_default().insert(page.facts, number);
        self.by_numbers.insert(page.numbers, number);
    }

    fn remove(&mut self, number: u64, compared: &[u8]) {
        self.all.remove(number);
        let Some(page) = self.page(compared) else { return };
        if let Some(numbers) = self.by_name.get_mut(&page.name) {
            take(numbers, number);
            if numbers.is_empty() {
                self.by_name.remove(&page.name);
            }
        }
        if let Some(site) = self.sites.get_mut(&page.site) {
            site.remove(page.facts, number);
            if site.members == 0 {
                self.sites.remove(&page.site);
            }
        }
        self.by_numbers.remove(page.numbers, number);
    }

    fn near(&self, compared: &[u8], found: &mut dyn FnMut(u64)) -> usize {
        let Some(page) = self.page(compared) else {
            self.all.scan(simhash_of(compared), self.related_distance, &mut |number, _| {
                found(number);
                true
            });
            return self.all.len();
        };
        let of_name = self.by_name.get(&page.name).into_iter().flatten();
        of_name.for_each(|number| found(*number));
        let own = self.sites.get(&page.site).filter(|_| page.site != 0);
        let others = self.all.len() - own.map_or(0, |own| own.members);
        // Comparing a candidate takes as long as passing over this number of members.
        let is_too_many = |candidates: usize| candidates > FEW + self.all.len() / PASSED_OVER;
        let of_all = |classes: &[&VecDeque<u64>]| classes.iter().map(|class| class.len()).sum();
        let is_short = page.size < self.short_size;
        let (mut looked_at, mut classes) = (0, Vec::new());
        if is_short {
            looked_at += self.by_numbers.find(page.numbers, replaced_numbers_limit, &mut |class| {
                classes.push(class);
                true
            });
            if !is_too_many(of_all(&classes)) {
                classes.into_iter().flatten().for_each(|number| found(*number));
                return looked_at;
            }
            classes.clear();
        }
        if let Some(own) = own {
            looked_at += own.find(page.facts, replaced_facts_limit, &mut |class| {
                classes.push(class);
                true
            });
        }
        let own_passes = is_too_many(of_all(&classes));
        if !own_passes {
            classes.into_iter().flatten().for_each(|number| found(*number));
        }
        let is_other = |site: u16| own.is_none() || site != page.site;
        let others_pass = others > 0 && (is_short || is_too_many(others));
        if !others_pass {
            let of_others = self.sites.iter().filter(|(site, _)| is_other(**site));
            of_others.for_each(|(_, site)| site.each(found));
        }
        if own_passes || others_pass {
            looked_at += self.all.len();
            self.all.scan(page.hash, self.max_distance, &mut |number, body| {
                let is_wanted = if is_other(body.site) { others_pass } else { own_passes };
                if is_wanted && sketch::matches(page.values, &body.values) >= self.least_matches {
                    found(number);
                }
                true
            });
        }
        looked_at
    }

    fn related(&self, compared: &[u8], found: &mut dyn FnMut(u64) -> bool) {
        self.all.scan(simhash_of(compared), self.related_distance, &mut |number, _| found(number));
    }

    fn bytes(&self) -> usize {
        self.all.bytes() + self.all.len() * MEMBER_BYTES
    }
}

/// Removes a number, mostly the first one.
fn take(numbers: &mut VecDeque<u64>, number: u64) {
    if let Some(at) = numbers.iter().position(|other| *other == number) {
        numbers.remove(at);
    }
}

#[cfg(test)]
mod tests;
