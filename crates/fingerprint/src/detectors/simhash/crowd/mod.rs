//! Searches a crowd: centroids of which very many share a passage, a band or the SimHash, such as the pages of one
//! template.
//!
//! Most pages of a crowd are so similar that neither SimHash nor sketch tells them apart; they are two texts because
//! their facts or numbers differ. So a crowd is searched for the centroids that the *addresses*, *facts* and *numbers*
//! allow to be near ([`near`](super::near)):
//! * All pages of the same name may be near.
//! * On [one site](site), no fact may be replaced, or few. If that leaves many, those of a short text whose numbers do
//!   not conflict may be fewer.
//! * On other sites, or if an address is not known, the [numbers](profiles) of a short text do not conflict. Of two long
//!   texts only the SimHash is known to be near.
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
use profiles::Profiles;
use site::{Site, Text};

/// Number of candidates that are compared without looking for fewer.
const FEW: usize = 32;
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
    /// All members with their SimHashes.
    all: Column,
    by_name: BTreeMap<u16, VecDeque<u64>>,
    /// Members by site; 0 if the address is not known.
    sites: BTreeMap<u16, Site>,
    profiles: Profiles,
}

/// What a crowd reads of a fingerprint.
struct Page<'a> {
    hash: u64,
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
            all: Column::default(),
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
        let SketchView { size, numbers, facts, address: [a, b, c, d, ..], .. } = SketchView::new(compared);
        let [site, name] = [[a, b], [c, d]].map(|bytes| u16::from_be_bytes(bytes.map(|byte| *byte)));
        let is_known = self.addresses && site != 0 && name != 0;
        let [site, name] = if is_known { [site, name] } else { [0, 0] };
        Some(Page { hash: simhash_of(compared), size, facts, numbers, site, name })
    }

    fn text<'a>(&self, page: &Page<'a>) -> Text<'a> {
        Text { facts: page.facts, size: page.size, short_size: self.short_size }
    }
}

impl Crowd for SimHashCrowd {
    fn insert(&mut self, number: u64, compared: &[u8]) {
        self.all.insert(number, simhash_of(compared));
        let Some(page) = self.page(compared) else { return };
        if page.name != 0 {
            self.by_name.entry(page.name).or_default().push_back(number);
        }
        let text = self.text(&page);
        let site = self.sites.entry(page.site).or_default();
        site.insert(text, number);
        if page.size >= self.short_size {
            site.long.insert(number, page.hash);
        }
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
            site.long.remove(number);
            if site.members == 0 {
                self.sites.remove(&page.site);
            }
        }
        self.profiles.remove(page.numbers, page.site, number);
    }

    fn near(&self, compared: &[u8], found: &mut dyn FnMut(u64)) -> usize {
        let Some(page) = self.page(compared) else {
            self.all.scan(simhash_of(compared), self.related_distance, &mut |number| {
                found(number);
                true
            });
            return self.all.len();
        };
        let mut looked_at = 0;
        let of_name = self.by_name.get(&page.name).into_iter().flatten();
        of_name.for_each(|number| found(*number));
        let own = self.sites.get(&page.site).filter(|_| page.site != 0);
        let mut by_facts = Vec::new();
        if let Some(own) = own {
            looked_at += own.find(self.text(&page), &mut |numbers| by_facts.push(numbers));
        }
        let count = |lists: &[&VecDeque<u64>]| lists.iter().map(|numbers| numbers.len()).sum::<usize>();
        let is_short = page.size < self.short_size;
        let are_many = is_short && count(&by_facts) > FEW;
        let has_others = self.all.len() > own.map_or(0, |own| own.members);
        let mut by_numbers = Vec::new();
        if are_many || has_others {
            looked_at += self.profiles.find(page.numbers, &mut |by_site| {
                for (site, numbers) in by_site {
                    match own.is_some() && *site == page.site {
                        true => by_numbers.push(numbers),
                        false => numbers.iter().for_each(|number| found(*number)),
                    }
                }
            });
        }
        let of_site = if are_many && count(&by_numbers) < count(&by_facts) { by_numbers } else { by_facts };
        of_site.into_iter().flatten().for_each(|number| found(*number));
        if !is_short && has_others {
            for (_, other) in self.sites.iter().filter(|(site, _)| own.is_none() || **site != page.site) {
                looked_at += other.long.len();
                other.long.scan(page.hash, self.max_distance, &mut |number| {
                    found(number);
                    true
                });
            }
        }
        looked_at
    }

    fn related(&self, compared: &[u8], found: &mut dyn FnMut(u64) -> bool) {
        self.all.scan(simhash_of(compared), self.related_distance, found);
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
