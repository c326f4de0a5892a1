//! `simhash`, the default detector (paper 002; Charikar 2002; Manku, Jain & Das Sarma 2007).
//!
//! Fingerprint: 64 bits, each the sign of a vote in which every distinct term takes part with its
//! weight, and the [`sketch`] of the text's shingles.
//!
//! A SimHash within the distance makes a candidate only: among a hundred million unrelated pages
//! there is always one. What else near means is one sentence: *most of the shorter text stands in the
//! longer one, the lengths are comparable, and what differs is wording, not the facts that the page is
//! about*. In detail:
//! * The sketches agree: they see runs of nine letters, whatever spaces and typography are, and err on
//!   other pairs than the SimHash does.
//! * How much has to agree, and of which facts, the [`addresses`] say. Pages that a program makes of
//!   one template stand on one site under different names: there most has to agree, the more the
//!   shorter the texts are, and no *fact* of a short text may be replaced: no number, version or name
//!   (`fingerprint/facts.rs`; of long texts a sixteenth may be). Under one name on one site it is one page at
//!   two times: a quarter of both texts is enough. On different sites little speaks for a template.
//!   Where nothing is known of an address, short texts need as much as on one site, long ones as
//!   little as on different sites; and less will do if nearly all of the shorter one stands in the
//!   longer one: what was cut off, or had something added, differs on one side only, and pages of one
//!   template on both. The sketch and the two sizes tell (`matches_contained`).
//! * Of a short text the [`numbers`] in the same places are the same: weather, markets and results
//!   of two days are no copies, on whatever sites.
//!
//! What is not near and yet has passages in common is *related* (`matches_needed_to_relate`):
//! excerpts, merged pages, pages of one template. It founds a cluster, and its verdict tells of the
//! nearest such page. So are, without anything in common, the pages of one paged article, as their
//! [`addresses`] tell.
//!
//! `confirm = "none"` is the paper's method. The measurements are in
//! `docs/adr/0016-contained-passages-and-numbers.md`, `docs/adr/0020-addresses-and-templates.md` and
//! `docs/adr/0032-passages-find-excerpts.md`; what is in force now is in
//! `docs/adr/0040-what-differs-decides.md`.
//!
//! Encoding, 162 bytes: see `encoding.rs`.
//!
//! Keys, by `candidates`:
//! * `bands`: the 11 bands, the 10 passages, and the SimHash. Near pages share one of these, which
//!   is part of what near means then. Texts of the same words in another order have the same
//!   SimHash, and may share no band. Passages are wide keys: an excerpt has a SimHash of its own,
//!   and is related at a greater distance.
//! * `blocks`: four blocks of 16 bits. Two SimHashes within distance *d* lie in at least one block
//!   *i* within r_i, where Σ(r_i + 1) = d + 1: else they would differ in Σ(r_i + 1) bits at least.
//!   So a centroid is entered under its four blocks, and looked for under all values within r_i of
//!   each block.

mod addresses;
mod config;
mod encoding;
pub mod generated;
mod near;

use serde_json::{Map, Value, json};

use crate::bit_votes::BitVotes;
use crate::secret::{Purpose, Secret, TextHash};
use crate::sketch::{self, BINS};
use crate::{Comparison, Detector, LookUp, SecondKey, Shares, basis_points, facts, numbers};
pub(crate) use addresses::ADDRESS_BYTES;
pub use config::{Candidates, Confirm, Duplicates, NearConfig, SimHashConfig};
use encoding::{COMPARED_BYTES, FINGERPRINT_BYTES, Parts, SketchView};
pub use encoding::{encode, simhash_of, sketch_of};
use leitong_text::segment::Terms;

/// Part of the fingerprint hash: raised whenever the same
/// terms may give another fingerprint than before.
const VERSION: u32 = 7;
/// Part of the cluster hash: raised whenever the same
/// fingerprints and settings may be near where they were not.
const NEAR_VERSION: u32 = 7;

/// Frequencies whose terms are counted together; of a
/// page's distinct terms, 99 % have one of these.
const SMALL_FREQUENCIES: usize = 12;
/// The greatest `max_distance`.
const DISTANCE_MAX: u32 = 20;
const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = 64 / BLOCKS;

/// The detector with its settings.
#[derive(Debug)]
pub struct SimHash {
    config: SimHashConfig,
    /// Of the settings, as integers: ten-thousandths.
    contained_min: u32,
    length_ratio_min: u32,
    /// For each block, what is to be XORed to a value to get all values within its radius.
    flips: [Vec<u16>; BLOCKS as usize],
    term_hash: TextHash,
    passage_hash: TextHash,
}

impl SimHash {
    /// The detector with these settings.
    #[must_use]
    pub fn new(config: &SimHashConfig) -> Self {
        Self::keyed(config, None)
    }

    /// The detector with these settings, whose hashes this secret keys.
    #[must_use]
    pub fn keyed(config: &SimHashConfig, secret: Option<&Secret>) -> Self {
        let flips = radii(config.near.max_distance).map(|radius| {
            let within = |flip: &u16| radius.is_some_and(|radius| flip.count_ones() <= radius);
            (0..=u16::MAX).filter(within).collect()
        });
        let term_hash = TextHash::new(secret, Purpose::Terms);
        Self {
            config: config.clone(),
            contained_min: basis_points(config.near.contained_min),
            length_ratio_min: basis_points(config.near.length_ratio_min),
            flips,
            term_hash,
            passage_hash: TextHash::new(secret, Purpose::Passages),
        }
    }

    /// The 64 bits alone: bit *j* is 1 iff the terms whose hash has it set outweigh the others.
    #[must_use]
    pub fn hash(&self, terms: &Terms) -> Option<u64> {
        if terms.terms().is_empty() {
            return None;
        }
        let mut sums = [0_i64; 64];
        // Most terms occur a few times only: those of one
        // frequency have one weight, and vote together.
        let mut votes: [BitVotes; SMALL_FREQUENCIES] = Default::default();
        for distinct in terms.distinct() {
            let term = terms.first(*distinct);
            let hash = self.term_hash.of_term(term, || self.config.hash.hash(term, distinct.hash));
            match votes.get_mut(distinct.frequency as usize - 1) {
                Some(votes) => votes.add(hash),
                None => {
                    let mut vote = BitVotes::default();
                    vote.add(hash);
                    vote.add_weighted(self.config.weight.weight(distinct.frequency), &mut sums);
                }
            }
        }
        for (frequency, votes) in (1..).zip(&votes) {
            votes.add_weighted(self.config.weight.weight(frequency), &mut sums);
        }
        Some(sums.iter().enumerate().fold(0, |hash, (bit, sum)| hash | u64::from(*sum > 0) << bit))
    }
}

impl Detector for SimHash {
    fn name(&self) -> &'static str {
        "simhash"
    }

    fn fingerprint_settings(&self) -> Value {
        json!({ "version": VERSION, "hash": self.config.hash, "weight": self.config.weight })
    }

    fn near_settings(&self) -> Value {
        json!({ "version": NEAR_VERSION, "near": self.config.near })
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let hash = self.hash(terms)?;
        let sketch = sketch::sketch(terms.text(), &self.passage_hash)?;
        let numbers = numbers::slots(terms.text(), &self.passage_hash);
        let facts = facts::facts(terms, &self.passage_hash);
        let address = addresses::encoded(terms.address(), &self.passage_hash);
        let keys = (sketch.bands, sketch.passages);
        Some(encode(hash, sketch.size, &sketch.values, (&numbers, &facts), address, keys))
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        bytes.len() == FINGERPRINT_BYTES
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        let parts = Parts::of(fingerprint);
        match self.config.near.candidates {
            Candidates::Bands => keys.extend(parts.keys()),
            Candidates::Blocks => {
                keys.extend((0..BLOCKS).map(|block| key(block, block_value(parts.hash, block))));
            }
        }
    }

    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        let parts = Parts::of(fingerprint);
        match self.config.near.candidates {
            Candidates::Bands => keys.extend(parts.keys()),
            Candidates::Blocks => {
                for (block, flips) in (0..BLOCKS).zip(&self.flips) {
                    let value = block_value(parts.hash, block);
                    keys.extend(flips.iter().map(|flip| key(block, value ^ flip)));
                }
            }
        }
    }

    /// The SimHash, where it is a key itself.
    fn equal_key(&self, fingerprint: &[u8]) -> Option<u64> {
        match self.config.near.candidates {
            Candidates::Bands => Some(Parts::of(fingerprint).hash_key()),
            Candidates::Blocks => None,
        }
    }

    fn look_up(&self) -> LookUp {
        match self.config.near.candidates {
            Candidates::Bands => LookUp::Keys,
            Candidates::Blocks => {
                LookUp::Hamming { max_distance: self.config.near.max_distance, bits: simhash_of }
            }
        }
    }

    /// Whatever confirms it, what is near lies within the distance.
    fn second_key(&self) -> Option<SecondKey> {
        Some(SecondKey {
            max_distance: self.config.near.max_distance,
            wide_distance: self.related_distance(),
            of: simhash_of,
        })
    }

    /// All but the keys; without confirmation the SimHash alone.
    fn compared<'a>(&self, fingerprint: &'a [u8]) -> &'a [u8] {
        match (self.config.near.confirm, self.config.near.candidates) {
            (Confirm::None, _) => &fingerprint[..8],
            (Confirm::Sketch, _) => &fingerprint[..COMPARED_BYTES],
        }
    }

    #[inline]
    fn compare_found(&self, fingerprint: &[u8], compared: &[u8]) -> Comparison {
        let distance = (simhash_of(fingerprint) ^ simhash_of(compared)).count_ones();
        let near = distance <= self.config.near.max_distance
            && (self.config.near.confirm == Confirm::None || {
                self.confirmed(distance, &SketchView::of(fingerprint), &SketchView::of(compared))
            });
        Comparison { distance, near }
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let Comparison { distance, near } = self.compare_found(a, b);
        Comparison { distance, near: near && self.share_a_key(a, b) }
    }

    fn related(&self, a: &[u8], b: &[u8]) -> bool {
        self.related_found(a, b) && self.share_a_key_to_relate(a, b) && !self.compare(a, b).near
    }

    #[inline]
    fn related_found(&self, fingerprint: &[u8], compared: &[u8]) -> bool {
        let near = &self.config.near;
        if near.confirm == Confirm::None || near.sketch_matches_related == 0 {
            return false;
        }
        let distance = (simhash_of(fingerprint) ^ simhash_of(compared)).count_ones();
        distance <= self.related_distance() && {
            let (a, b) = (SketchView::of(fingerprint), SketchView::of(compared));
            sketch::matches(a.values, b.values) >= self.matches_needed_to_relate(distance, a.size, b.size)
        }
    }

    /// Where related pages are not told of, neither are these.
    fn article(&self, fingerprint: &[u8]) -> Option<u32> {
        let near = &self.config.near;
        let tells = near.confirm == Confirm::Sketch && near.sketch_matches_related > 0;
        if tells { addresses::article(*SketchView::of(fingerprint).address) } else { None }
    }

    fn are_parts(&self, a: &[u8], b: &[u8]) -> bool {
        let [a_address, b_address] = [a, b].map(|bytes| *SketchView::of(bytes).address);
        self.article(a).is_some() && addresses::are_parts(a_address, b_address)
    }

    fn distance(&self, distance: u32) -> f64 {
        f64::from(distance)
    }

    fn similarity(&self, a: &[u8], b: &[u8]) -> f64 {
        let distance = (Parts::of(a).hash ^ Parts::of(b).hash).count_ones();
        f64::from((64 - distance) * 10_000 / 64) / 10_000.0
    }

    /// The sketch estimates the Jaccard similarity *J* of the passages; with the
    /// sizes *s* and *t* of two texts, *J/(1 + J)·(s + t)* passages stand in both.
    fn shares(&self, a: &[u8], b: &[u8]) -> Option<Shares> {
        match self.config.near.confirm {
            Confirm::Sketch => near::shares(&SketchView::of(a), &SketchView::of(b)),
            Confirm::None => None,
        }
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let (a, b) = (Parts::of(a), Parts::of(b));
        let matches = sketch::matches(a.view.values, b.view.values);
        let mut evidence = Map::new();
        evidence.insert("sketch_matches".into(), matches.into());
        if self.config.near.confirm == Confirm::Sketch {
            evidence.insert("sketch_matches_needed".into(), self.demand(&a, &b).1.into());
            let sizes = [a.view.size, b.view.size];
            let ratio = u64::from(sizes[0].min(sizes[1])) * 10_000 / u64::from(sizes[0].max(sizes[1]).max(1));
            evidence.insert("length_ratio".into(), (ratio as f64 / 10_000.0).into());
            let numbers = numbers::agreement(a.view.numbers, b.view.numbers);
            evidence.insert("numbers_same".into(), numbers.same.into());
            evidence.insert("numbers_different".into(), numbers.conflicts.into());
            let replaced = facts::replaced(a.view.facts, b.view.facts);
            evidence.insert("facts_replaced".into(), (f64::from(replaced) / 100.0).into());
            let addresses = self.addresses(&a.view, &b.view);
            evidence.insert("addresses".into(), addresses.as_str().into());
        }
        if self.config.near.candidates == Candidates::Bands {
            let shared = a.bands().zip(b.bands()).filter(|(a, b)| a == b).count();
            evidence.insert("bands_shared".into(), shared.into());
            evidence.insert("passages_shared".into(), a.passages_shared(&b).into());
        }
        evidence.insert("sketch_size".into(), BINS.into());
        evidence.insert("resemblance".into(), (f64::from(sketch::resemblance(matches)) / 10_000.0).into());
        evidence
    }

    fn display(&self, fingerprint: &[u8]) -> String {
        format!("{:016x}", Parts::of(fingerprint).hash)
    }

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        Some(format!("[simhash.near]\nmax_distance = {}", distance.min(DISTANCE_MAX)))
    }
}

/// Block 0 holds the upper 16 bits.
#[inline]
fn block_value(hash: u64, block: u32) -> u16 {
    (hash >> (64 - BLOCK_BITS * (block + 1))) as u16
}

#[inline]
fn key(block: u32, value: u16) -> u64 {
    u64::from(block) << BLOCK_BITS | u64::from(value)
}

/// The radius of each block, with Σ(r_i + 1) = `max_distance`
/// + 1; none for a block that need not be probed.
fn radii(max_distance: u32) -> [Option<u32>; BLOCKS as usize] {
    let sum = max_distance + 1;
    std::array::from_fn(|block| {
        let share = sum / BLOCKS + u32::from((block as u32) < sum % BLOCKS);
        share.checked_sub(1)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn simhash(max_distance: u32) -> SimHash {
        let mut config = SimHashConfig::default();
        config.near.max_distance = max_distance;
        config.near.confirm = Confirm::None;
        config.near.candidates = Candidates::Blocks;
        SimHash::new(&config)
    }

    fn encoded(hash: u64) -> Vec<u8> {
        [&hash.to_be_bytes()[..], &[0; FINGERPRINT_BYTES - 8]].concat()
    }

    #[test]
    fn radii_follow_the_rule() {
        assert_eq!(radii(3), [Some(0); 4]);
        assert_eq!(radii(7), [Some(1); 4]);
        assert_eq!(radii(9), [Some(2), Some(2), Some(1), Some(1)]);
        assert_eq!(radii(0), [Some(0), None, None, None]);
        for d in 0..=DISTANCE_MAX {
            assert_eq!(radii(d).iter().flatten().map(|r| r + 1).sum::<u32>(), d + 1);
        }
    }

    proptest! {
        /// Keys are sound: whatever lies within the distance shares one.
        #[test]
        fn near_fingerprints_share_a_key(hash: u64, max_distance in 0..=DISTANCE_MAX, flips in prop::collection::vec(0_u32..64, DISTANCE_MAX as usize)) {
            let detector = simhash(max_distance);
            let other = flips.iter().take(max_distance as usize).fold(hash, |h, bit| h ^ 1 << bit);
            let (mut inserted, mut probed) = (vec![], vec![]);
            detector.insert_keys(&encoded(other), &mut inserted);
            detector.probe_keys(&encoded(hash), &mut probed);
            prop_assert!(detector.compare(&encoded(hash), &encoded(other)).near);
            prop_assert!(inserted.iter().any(|key| probed.contains(key)));
        }
    }
}
