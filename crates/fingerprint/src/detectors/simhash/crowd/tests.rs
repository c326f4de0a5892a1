use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::Detector;
use crate::detectors::simhash::{SimHash, SimHashConfig, encode};
use crate::facts;

/// The parts of a fingerprint that decide whether pages of a template are near.
#[derive(Debug, Clone)]
struct Made {
    site: u16,
    name: u16,
    size: u16,
    facts: (u64, u16, u16),
    numbers: (u64, u16, u16),
    topics: (u64, u16, u16),
    hash: u64,
    values: u8,
}

impl Made {
    fn fingerprint(&self) -> Box<[u8]> {
        let mut address = [0; 12];
        address[..2].copy_from_slice(&self.site.to_be_bytes());
        address[6..8].copy_from_slice(&self.name.to_be_bytes());
        let mut values = [0; 32];
        values[..usize::from(self.values)].fill(0x77);
        let keys = ([1; 4], [1; 10]);
        let facts =
            [self.facts, self.numbers, self.topics].map(|(bits, count, sum)| facts::encode(bits, count, sum));
        encode(self.hash, self.size, &values, facts, address, keys)
    }
}

fn made() -> impl Strategy<Value = Made> {
    let bit = || prop_oneof![3 => Just(0_u64), 1 => (0..64_u32).prop_map(|bit| 1 << bit), 1 => (0..3_u32).prop_map(|bit| 1 << bit)];
    let sum = || prop_oneof![3 => Just(0_u16), 1 => 0..3_u16];
    let facts = (bit(), bit(), bit(), prop_oneof![3 => Just(3_u16), 1 => 0..9_u16, 1 => Just(120)], sum());
    let facts = facts.prop_map(|(a, b, c, count, sum)| (0x1234_5678 ^ a ^ b ^ c, count, sum));
    let few = || (bit(), bit(), 0..4_u16, sum()).prop_map(|(a, b, count, sum)| (a ^ b, count, sum));
    let size = prop_oneof![Just(90_u16), Just(600), Just(990), Just(1_010), Just(3_000)];
    let hash = prop_oneof![3 => Just(0_u64), 1 => any::<u32>().prop_map(u64::from), 1 => any::<u64>()];
    let site_and_name = (0..4_u16, prop_oneof![0..4_u16, 0..2_000_u16]);
    (site_and_name, size, facts, (few(), few()), hash, 0..14_u8).prop_map(
        |((site, name), size, facts, (numbers, topics), hash, values)| Made {
            site,
            name,
            size,
            facts,
            numbers,
            topics,
            hash,
            values,
        },
    )
}

fn detector(addresses: bool, short_size: u32, confirm: Confirm) -> SimHash {
    let mut config = SimHashConfig::default();
    config.near.addresses = addresses;
    config.near.number_text_size = short_size;
    config.near.confirm = confirm;
    SimHash::new(&config)
}

proptest! {
    /// Among members that come in any order and leave oldest first, every near one is found, and the related ones come
    /// oldest first.
    #[test]
    fn finds_what_a_scan_finds(
        pages in prop::collection::vec((made(), any::<bool>()), 1..120), gone in 0..60_usize,
        (addresses, short_size, confirm) in prop_oneof![
            8 => Just((true, 1_000, Confirm::Sketch)), 1 => Just((false, 1_000, Confirm::Sketch)),
            1 => Just((true, 0, Confirm::Sketch)), 1 => Just((true, 1_000, Confirm::None)),
        ],
    ) {
        let detector = detector(addresses, short_size, confirm);
        let mut crowd = detector.crowd().expect("found by bands");
        let prints: Vec<Box<[u8]>> = pages.iter().map(|(page, _)| page.fingerprint()).collect();
        let compared = |number: u64| detector.compared(&prints[number as usize]);
        let (late, early): (Vec<u64>, Vec<u64>) = (0..prints.len() as u64).partition(|number| pages[*number as usize].1);
        early.iter().chain(&late).for_each(|number| crowd.insert(*number, compared(*number)));
        let first = gone.min(prints.len()) as u64;
        (0..first).for_each(|number| crowd.remove(number, compared(number)));
        for (query, page) in prints.iter().enumerate() {
            let mut found = BTreeSet::new();
            crowd.near(compared(query as u64), &mut |number| _ = found.insert(number));
            prop_assert!(found.iter().all(|number| *number >= first));
            let (mut in_order, mut all) = (Vec::new(), Vec::new());
            crowd.related(compared(query as u64), &mut |number| {
                in_order.push(number);
                in_order.len() < 3
            });
            crowd.related(compared(query as u64), &mut |number| {
                all.push(number);
                true
            });
            prop_assert_eq!(&in_order[..], &all[..all.len().min(3)]);
            prop_assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
            for other in first..prints.len() as u64 {
                let is_near = detector.compare_found(page, compared(other)).near;
                let is_related = detector.related_found(page, compared(other));
                let is_version = is_related && detector.related_rank(page, compared(other)) == 0;
                prop_assert!(!(is_near || is_version) || found.contains(&other), "{query} and {other}");
                prop_assert!(!is_related || all.contains(&other));
            }
        }
        (first..prints.len() as u64).for_each(|number| crowd.remove(number, compared(number)));
        let mut rest = 0;
        prints.iter().for_each(|page| _ = crowd.near(detector.compared(page), &mut |_| rest += 1));
        prop_assert_eq!(rest, 0);
    }
}

/// Returns how many entries and candidates a page of a crowd of `size` others costs on average.
fn cost(size: u64, page: impl Fn(u64) -> Made) -> f64 {
    let detector = detector(true, 1_000, Confirm::Sketch);
    let mut crowd = detector.crowd().expect("found by bands");
    (0..size).for_each(|number| crowd.insert(number, detector.compared(&page(number).fingerprint())));
    let (queries, mut all) = (50, 0);
    for number in size..size + queries {
        let mut candidates = 0;
        let print = page(number).fingerprint();
        all += crowd.near(detector.compared(&print), &mut |_| candidates += 1) + candidates;
    }
    all as f64 / queries as f64
}

/// A page of a template on `sites` sites: two numbers differ, which are facts. `facts` are those of the template.
fn of_template(number: u64, sites: u64, facts: u16) -> Made {
    let (a, b) = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number.wrapping_mul(0xd6e8_feb8_6659_fd93));
    Made {
        site: 1 + (number % sites) as u16,
        name: (a >> 48) as u16 | 1,
        size: 370,
        facts: (1 << (a >> 58) ^ 1 << (b >> 58), facts, (a ^ b) as u16),
        numbers: (1 << (a >> 58) ^ 1 << (b >> 58), 2, (a ^ b) as u16),
        topics: (0, 0, 0),
        hash: 0,
        values: 0,
    }
}

/// Pages of one template cost what the logarithm of their number says, on one site and on many, with few facts and with
/// so many that a replaced one says nothing.
#[test]
fn pages_of_a_template_are_found_without_looking_at_all() {
    for (sites, facts) in [(1, 5), (1, 200), (1_000, 5), (1_000, 200)] {
        let costs = [4_000, 8_000, 16_000].map(|size| cost(size, |number| of_template(number, sites, facts)));
        assert!(costs[2] < costs[0] * 1.5 + 50.0, "{sites} sites, {facts} facts: {costs:?}");
        assert!(costs[2] < 2_500.0, "{sites} sites, {facts} facts: {costs:?}");
    }
}

/// Pages that share a footer and differ in everything else are told apart by the bits of their facts if they are of one
/// site, otherwise by their SimHashes, two for each nanosecond: the bound of `docs/adr/0049-crowds.md`.
#[test]
fn pages_with_a_common_footer_are_scanned_once() {
    let page = |number: u64, sites: u64| Made {
        facts: (
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xd6e8_feb8) >> 3,
            40,
            number as u16,
        ),
        numbers: (0, 0, 0),
        hash: number.wrapping_mul(0xd6e8_feb8_6659_fd93),
        ..of_template(number, sites, 0)
    };
    for sites in [1, 1_000] {
        let costs = [4_000, 8_000].map(|size| cost(size, |number| page(number, sites)));
        assert!(costs[0] < 4_100.0 && costs[1] < 8_100.0, "{sites} sites: {costs:?}");
    }
}
