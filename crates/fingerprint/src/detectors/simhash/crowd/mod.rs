//! Searches a crowd: centroids of which very many share a passage, a band or the SimHash, such as the pages of one
//! template.
//!
//! Most pages of a crowd are so similar that neither SimHash nor sketch tells them apart; they are two texts because
//! their facts or numbers differ. So a crowd is searched for the centroids that the *addresses*, *facts* and *numbers*
//! allow to be near ([`near`](super::near)):
//! * All pages of the same name may be near.
//! * On [one site](site), no fact may be replaced, or few. If that leaves many, those of a short text whose numbers do
//!   not conflict may be fewer.
//! * On other sites, or if an address is not known, the [numbers](profiles) of a short text do not conflict.
//! * If all of this leaves many, SimHash and sketch are compared with one pass over all members.
//!
//! `docs/adr/0049-crowds.md` says what this costs.

mod profiles;
mod site;

use std::collections::{BTreeMap, VecDeque};

use super::encoding::{SketchView, simhash_of};
use super::{Confirm, NearConfig};
use crate::Crowd;
use crate::facts::Facts;
use crate::numbers::Slots;
use crate::scan::Column;
use crate::sketch::{self, VALUE_BYTES, Values};
use profiles::Profiles;
use site::{Site, Text};

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
    by_name: BTreeMap<u16, VecDeque<u64>>,
    /// Members by site; 0 if the address is not known.
    sites: BTreeMap<u16, Site>,
    profiles: Profiles,
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
    numbers: &'a Slots,
    site: u16,
    name: u16,
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
            profiles: Profiles::default(),
        }
    }

    /// Returns `None` if only SimHashes are compared.
    fn page<'a>(&self, compared: &'a [u8]) -> Option<Page<'a>> {
        if self.short_size == 0 {
            return None;
        }
        let view = SketchView::new(compared);
        let SketchView { size, values, numbers, facts, address: [a, b, c, d, ..] } = view;
        let [site, name] = [[a, b], [c, d]].map(|bytes| u16::from_be_bytes(bytes.map(|byte| *byte)));
        let is_known = self.addresses && site != 0 && name != 0;
        let [site, name] = if is_known { [site, name] } else { [0, 0] };
        Some(Page { hash: simhash_of(compared), values, size, facts, numbers, site, name })
    }

    fn text<'a>(&self, page: &Page<'a>) -> Text<'a> {
        Text { facts: page.facts, size: page.size, short_size: self.short_size }
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
        let text = self.text(&page);
        self.sites.entry(page.site).or_default().insert(text, number);
        self.profiles.insert(page.numbers, page.site, number);
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
        self.profiles.remove(page.numbers, page.site, number);
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
        let is_short = page.size < self.short_size;
        // Comparing a candidate takes as long as passing over this number of members.
        let is_too_many = |candidates: usize| candidates > FEW + self.all.len() / PASSED_OVER;
        let count = |lists: &[&VecDeque<u64>]| lists.iter().map(|numbers| numbers.len()).sum::<usize>();
        let (mut looked_at, mut of_own, mut by_facts, mut by_numbers) = (0, 0, Vec::new(), Vec::new());
        if let Some(own) = own {
            looked_at += own.find(self.text(&page), &mut |numbers| {
                by_facts.push(numbers);
                of_own += numbers.len();
                !is_short || of_own <= FEW
            });
        }
        if is_short && (of_own > FEW || others > 0) {
            looked_at += self.profiles.find(page.numbers, &mut |numbers| by_numbers.push(numbers));
        }
        if let Some(own) = own.filter(|_| is_short && of_own > FEW) {
            let of_site: Vec<_> = by_numbers.iter().filter_map(|of| of.by_site.get(&page.site)).collect();
            let by_numbers = count(&of_site);
            if is_too_many(by_numbers) {
                by_facts.clear();
                looked_at += own.find(self.text(&page), &mut |numbers| {
                    by_facts.push(numbers);
                    true
                });
                of_own = count(&by_facts);
            }
            if !is_too_many(by_numbers) || by_numbers < of_own {
                (of_own, by_facts) = (by_numbers, of_site);
            }
        }
        let own_passes = is_too_many(of_own);
        if !own_passes {
            by_facts.into_iter().flatten().for_each(|number| found(*number));
        }
        let is_other = |site: u16| own.is_none() || site != page.site;
        let of_others: usize = by_numbers
            .iter()
            .map(|of| of.count - own.and_then(|_| of.by_site.get(&page.site)).map_or(0, VecDeque::len))
            .sum();
        let others_pass = match is_short {
            true => is_too_many(of_others),
            false => is_too_many(others),
        };
        if is_short && !others_pass && others > 0 {
            let of_sites = by_numbers.iter().flat_map(|of| &of.by_site);
            let of_others = of_sites.filter(|(site, _)| is_other(**site));
            of_others.flat_map(|(_, numbers)| numbers).for_each(|number| found(*number));
        } else if !others_pass && others > 0 {
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
