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
use std::sync::Arc;

use super::encoding::{COMPARED_BYTES, SketchView, simhash_of};
use super::near::{Judge, replaced_facts_limit, replaced_numbers_limit};
use super::{Confirm, addresses};
use crate::Crowd;
use crate::scan::Column;
use crate::sketch;
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
    judge: Arc<Judge>,
    /// All members: their SimHashes, and the compared parts of their fingerprints.
    all: Column<[u8; COMPARED_BYTES]>,
    by_name: BTreeMap<u64, VecDeque<u64>>,
    /// Members of each site by their facts; 0 if the address is not known.
    sites: BTreeMap<u16, Classes>,
    by_numbers: Classes,
}

/// The parts of a fingerprint that a crowd reads.
struct Page<'a> {
    view: SketchView<'a>,
    /// Hashes of site and name; 0 if one of them is not known.
    site: u16,
    name: u64,
}

impl SimHashCrowd {
    pub(super) fn new(judge: Arc<Judge>) -> Self {
        let (by_name, sites) = (BTreeMap::new(), BTreeMap::new());
        Self { judge, all: Column::new(), by_name, sites, by_numbers: Classes::default() }
    }

    /// Returns true if the judge weighs facts and numbers. Otherwise only SimHashes are compared here.
    fn weighs_facts(&self) -> bool {
        self.judge.near.confirm == Confirm::Sketch && self.judge.near.number_text_size > 0
    }

    fn page<'a>(&self, compared: &'a [u8]) -> Page<'a> {
        let view = SketchView::new(compared);
        let (site, name) = addresses::site_and_name(view.address);
        let is_known = self.judge.near.addresses && site != 0 && name != 0;
        let (site, name) = if is_known { (site, name) } else { (0, 0) };
        Page { view, site, name }
    }
}

impl Crowd for SimHashCrowd {
    fn insert(&mut self, number: u64, compared: &[u8]) {
        let bytes = compared.first_chunk().copied().unwrap_or([0; COMPARED_BYTES]);
        self.all.insert(number, simhash_of(compared), bytes);
        if !self.weighs_facts() {
            return;
        }
        let page = self.page(compared);
        if page.name != 0 {
            self.by_name.entry(page.name).or_default().push_back(number);
        }
        self.sites.entry(page.site).or_default().insert(page.view.facts, number);
        self.by_numbers.insert(page.view.numbers, number);
    }

    fn remove(&mut self, number: u64, compared: &[u8]) {
        self.all.remove(number);
        if !self.weighs_facts() {
            return;
        }
        let page = self.page(compared);
        if let Some(numbers) = self.by_name.get_mut(&page.name) {
            take(numbers, number);
            if numbers.is_empty() {
                self.by_name.remove(&page.name);
            }
        }
        if let Some(site) = self.sites.get_mut(&page.site) {
            site.remove(page.view.facts, number);
            if site.members == 0 {
                self.sites.remove(&page.site);
            }
        }
        self.by_numbers.remove(page.view.numbers, number);
    }

    fn near(&self, compared: &[u8], found: &mut dyn FnMut(u64)) -> usize {
        if !self.weighs_facts() {
            self.related(compared, &mut |number| {
                found(number);
                true
            });
            return self.all.len();
        }
        let page = self.page(compared);
        let of_name = self.by_name.get(&page.name).into_iter().flatten();
        of_name.for_each(|number| found(*number));
        let own = self.sites.get(&page.site).filter(|_| page.site != 0);
        let others = self.all.len() - own.map_or(0, |own| own.members);
        // Comparing a candidate takes as long as passing over this number of members.
        let is_too_many = |candidates: usize| candidates > FEW + self.all.len() / PASSED_OVER;
        let of_all = |classes: &[&VecDeque<u64>]| classes.iter().map(|class| class.len()).sum();
        let is_short = page.view.size < self.judge.near.number_text_size;
        let mut looked_at = 0;
        if is_short {
            let (classes, steps) = self.by_numbers.find(page.view.numbers, replaced_numbers_limit);
            looked_at += steps;
            if !is_too_many(of_all(&classes)) {
                classes.into_iter().flatten().for_each(|number| found(*number));
                return looked_at;
            }
        }
        let (classes, steps) =
            own.map(|own| own.find(page.view.facts, replaced_facts_limit)).unwrap_or_default();
        looked_at += steps;
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
            let near = &self.judge.near;
            self.all.scan(simhash_of(compared), near.max_distance, &mut |number, distance, member| {
                let other = self.page(member);
                let is_wanted = if is_other(other.site) { others_pass } else { own_passes };
                if is_wanted
                    && sketch::matches(page.view.values, other.view.values) >= near.sketch_matches_near
                    && self.judge.decided_by(distance, &page.view, &other.view).is_none()
                {
                    found(number);
                }
                true
            });
        }
        looked_at
    }

    fn related(&self, compared: &[u8], found: &mut dyn FnMut(u64) -> bool) {
        let view = self.weighs_facts().then(|| SketchView::new(compared));
        self.all.scan(
            simhash_of(compared),
            self.judge.related_distance(),
            &mut |number, distance, member| {
                let is_related = |view| self.judge.are_related(distance, view, &SketchView::new(member));
                !view.as_ref().is_none_or(is_related) || found(number)
            },
        );
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
