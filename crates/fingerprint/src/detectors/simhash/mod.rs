//! `simhash`, the default detector (paper 002; Charikar 2002; Manku, Jain & Das Sarma 2007).
//!
//! Fingerprint: 64 bits, each the sign of a weighted vote of all distinct terms, and the [`sketch`] of the
//! text's shingles.
//!
//! A SimHash within the distance only makes a candidate: among a hundred million unrelated pages there is
//! always one. Beyond that, near means: *most of the shorter text is in the longer one, the lengths are
//! comparable, and the difference is wording, not the facts that the page is about*. In detail:
//! * The *judge* (`near::weight`) adds up the evidence: how much the sketches agree, how long the texts are, how far
//!   the SimHashes are apart, which shares of facts, numbers and topics are replaced, and how the [`addresses`] are
//!   related. The sketches see runs of nine letters, ignore spaces and typography, and err on other pairs than the
//!   SimHash does. The same name on one site means one page at two times; pages that a program generates from one
//!   template are on one site under different names.
//! * No number of a short text may be replaced: weather, markets and results of two days are not copies, whatever the
//!   sites.
//! * On one site no *[topic](`topics`)* may be replaced, and a sixteenth of the *[facts](`facts`)*: numbers, versions
//!   and names.
//!
//! Texts that are not near but have passages in common are *related* (`matches_needed_to_relate`): excerpts, merged
//! pages, pages of one template. A related page founds a cluster, and its verdict names another version of the page, or
//! else the oldest related page. The pages of one paged article are related too, even without common text, if their
//! [`addresses`] identify them.
//!
//! `confirm = "none"` is the paper's method. The measurements are in
//! `docs/adr/0016-contained-passages-and-numbers.md`, `docs/adr/0020-addresses-and-templates.md` and
//! `docs/adr/0032-passages-find-excerpts.md`; the weights are from `docs/adr/0050-one-judge.md`.
//!
//! Encoding, 146 bytes: see `encoding.rs`.
//!
//! Keys, by `candidates`:
//! * `bands`: the 4 bands, the 10 passages, and the SimHash. Near pages share one of these; this is then
//!   part of the definition of near. Texts of the same words in another order have the same SimHash, but may
//!   share no band. Passages are wide keys: an excerpt has a different SimHash and is related at a greater
//!   distance.
//! * `blocks`: four [`Blocks`] of 16 bits. A centroid is inserted under all four, and looked up under all values within
//!   the radius of each.

mod addresses;
mod config;
mod crowd;
mod encoding;
pub mod generated;
mod near;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::bit_votes::BitVotes;
use crate::blocks::Blocks;
use crate::secret::{Purpose, Secret, TextHash};
use crate::sketch::{self, BINS};
use crate::{Comparison, Crowd, Detector, SecondKey, Shares, facts, topics};
pub(crate) use addresses::ADDRESS_BYTES;
use addresses::Addresses;
pub use config::{Candidates, Confirm, Duplicates, NearConfig, SimHashConfig};
use crowd::SimHashCrowd;
use encoding::{COMPARED_BYTES, FINGERPRINT_BYTES, Parts, SketchView};
pub use encoding::{encode, simhash_of};
use leitong_text::segment::Terms;
use near::Judge;

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 19;
/// Version of the comparison, part of the cluster hash. Raise it whenever other fingerprints may be near, or verdicts
/// name other related pages.
const NEAR_VERSION: u32 = 18;

/// Number of frequencies, from 1 on, whose terms are counted together. 99 % of a page's distinct terms have such a
/// frequency.
const SMALL_FREQUENCIES: usize = 12;
/// The largest `max_distance`.
const DISTANCE_MAX: u32 = 20;
/// Number of bits of a SimHash, above any distance.
const HASH_BITS: u32 = 64;

/// The detector with its settings.
#[derive(Debug)]
pub struct SimHash {
    config: SimHashConfig,
    judge: Arc<Judge>,
    blocks: Blocks,
    term_hash: TextHash,
    passage_hash: TextHash,
}

impl SimHash {
    /// Creates the detector with these settings.
    #[must_use]
    pub fn new(config: &SimHashConfig) -> Self {
        Self::keyed(config, None)
    }

    /// Creates the detector with these settings. If there is a `secret`, it keys the hashes.
    #[must_use]
    pub fn keyed(config: &SimHashConfig, secret: Option<&Secret>) -> Self {
        let term_hash = TextHash::new(secret, Purpose::Terms);
        Self {
            config: config.clone(),
            judge: Arc::new(Judge::new(&config.near)),
            blocks: Blocks::new(HASH_BITS, config.near.max_distance),
            term_hash,
            passage_hash: TextHash::new(secret, Purpose::Passages),
        }
    }

    /// Returns only the SimHash: bit *j* is 1 iff the terms whose hash has it set outweigh the others.
    #[must_use]
    pub fn hash(&self, terms: &Terms) -> Option<u64> {
        if terms.terms().is_empty() {
            return None;
        }
        let mut sums = [0_i64; 64];
        // Most terms occur only a few times. Terms of the same frequency have the same weight and vote
        // together.
        let mut votes: [BitVotes; SMALL_FREQUENCIES] = Default::default();
        for distinct in terms.distinct() {
            let term = terms.first(*distinct);
            let hash = self.term_hash.hash_term(term, || self.config.hash.hash(term, distinct.hash));
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
        let (facts, numbers) = facts::facts_and_numbers(terms, &self.passage_hash);
        let facts = [facts, numbers, topics::topics(terms, &self.passage_hash)];
        let address = addresses::encoded(terms.address(), &self.passage_hash);
        let keys = (sketch.bands, sketch.passages);
        Some(encode(hash, sketch.size, &sketch.values, facts, address, keys))
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        bytes.len() == FINGERPRINT_BYTES
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        match self.config.near.candidates {
            Candidates::Bands => Parts::new(fingerprint).add_keys(keys),
            Candidates::Blocks => self.blocks.insert_keys(left_aligned(fingerprint), keys),
        }
    }

    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        match self.config.near.candidates {
            Candidates::Bands => Parts::new(fingerprint).add_keys(keys),
            Candidates::Blocks => self.blocks.probe_keys(left_aligned(fingerprint), keys),
        }
    }

    /// Returns the SimHash if it is a key.
    fn equal_key(&self, fingerprint: &[u8]) -> Option<u64> {
        match self.config.near.candidates {
            Candidates::Bands => Some(Parts::new(fingerprint).hash_key()),
            Candidates::Blocks => None,
        }
    }

    /// Near fingerprints always lie within the distance, however they are confirmed.
    fn second_key(&self) -> Option<SecondKey> {
        Some(SecondKey {
            max_distance: self.config.near.max_distance,
            wide_distance: self.judge.related_distance(),
            of: simhash_of,
        })
    }

    /// Returns everything except the keys, or only the SimHash if nothing is confirmed.
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
                self.judge
                    .decided_by(distance, &SketchView::new(fingerprint), &SketchView::new(compared))
                    .is_none()
            });
        Comparison { distance, near }
    }

    /// Returns the distance, but more than any distance for another page: a later version of a page may be nearer to a
    /// sibling. Among other pages, the one with the most values in common comes first, since siblings share their
    /// frequent terms, and the SimHash hardly tells them apart. Equal SimHashes come before all, since one key finds
    /// them.
    #[inline]
    fn rank(&self, fingerprint: &[u8], compared: &[u8], distance: u32) -> u32 {
        if distance == 0 || self.config.near.confirm == Confirm::None {
            return distance;
        }
        let (a, b) = (SketchView::new(fingerprint), SketchView::new(compared));
        match self.judge.addresses(&a, &b) {
            Addresses::OnePage | Addresses::OneName => distance,
            _ => HASH_BITS * (1 + BINS as u32 - sketch::matches(a.values, b.values)) + distance,
        }
    }

    /// Returns 0 for another version of the page, and 1 for all others.
    fn related_rank(&self, fingerprint: &[u8], compared: &[u8]) -> u32 {
        if self.config.near.confirm == Confirm::None {
            return 0;
        }
        match self.judge.addresses(&SketchView::new(fingerprint), &SketchView::new(compared)) {
            Addresses::OnePage | Addresses::OneName => 0,
            Addresses::OneSite | Addresses::Apart | Addresses::Unknown => 1,
        }
    }

    fn crowd(&self) -> Option<Box<dyn Crowd>> {
        match self.config.near.candidates {
            Candidates::Bands => Some(Box::new(SimHashCrowd::new(Arc::clone(&self.judge)))),
            Candidates::Blocks => None,
        }
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let Comparison { distance, near } = self.compare_found(a, b);
        Comparison { distance, near: near && self.judge.share_a_key(a, b) }
    }

    fn related(&self, a: &[u8], b: &[u8]) -> bool {
        self.related_found(a, b) && self.judge.share_a_key_to_relate(a, b) && !self.compare(a, b).near
    }

    #[inline]
    fn related_found(&self, fingerprint: &[u8], compared: &[u8]) -> bool {
        let near = &self.config.near;
        if near.confirm == Confirm::None || near.sketch_matches_related == 0 {
            return false;
        }
        let distance = (simhash_of(fingerprint) ^ simhash_of(compared)).count_ones();
        distance <= self.judge.related_distance()
            && self.judge.are_related(distance, &SketchView::new(fingerprint), &SketchView::new(compared))
    }

    /// Returns `None` if related pages are not reported.
    fn article(&self, fingerprint: &[u8]) -> Option<u32> {
        let near = &self.config.near;
        let tells = near.confirm == Confirm::Sketch && near.sketch_matches_related > 0;
        if tells { addresses::article(SketchView::new(fingerprint).address) } else { None }
    }

    fn are_parts(&self, a: &[u8], b: &[u8]) -> bool {
        let [a_address, b_address] = [a, b].map(|bytes| SketchView::new(bytes).address);
        self.article(a).is_some() && addresses::are_parts(a_address, b_address)
    }

    fn distance(&self, distance: u32) -> f64 {
        f64::from(distance)
    }

    fn similarity(&self, a: &[u8], b: &[u8]) -> f64 {
        let distance = (Parts::new(a).hash ^ Parts::new(b).hash).count_ones();
        f64::from((64 - distance) * 10_000 / 64) / 10_000.0
    }

    /// Returns the shares of passages that two texts have in common. The sketch estimates the Jaccard
    /// similarity *J* of the passages. With the sizes *s* and *t* of the texts, *J/(1 + J)·(s + t)* passages are
    /// in both.
    fn shares(&self, a: &[u8], b: &[u8]) -> Option<Shares> {
        match self.config.near.confirm {
            Confirm::Sketch => near::shares(&SketchView::new(a), &SketchView::new(b)),
            Confirm::None => None,
        }
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let (a, b) = (Parts::new(a), Parts::new(b));
        let matches = sketch::matches(a.view.values, b.view.values);
        let mut evidence = Map::new();
        evidence.insert("sketch_matches".into(), matches.into());
        if self.config.near.confirm == Confirm::Sketch {
            let distance = (a.hash ^ b.hash).count_ones();
            let addresses = self.judge.addresses(&a.view, &b.view);
            let needed = self.judge.matches_needed(distance, &a.view, &b.view, addresses);
            evidence.insert("sketch_matches_needed".into(), needed.into());
            let sizes = [a.view.size, b.view.size];
            let ratio = u64::from(sizes[0].min(sizes[1])) * 10_000 / u64::from(sizes[0].max(sizes[1]).max(1));
            evidence.insert("length_ratio".into(), (ratio as f64 / 10_000.0).into());
            for (name, a, b) in [
                ("facts_replaced", a.view.facts, b.view.facts),
                ("numbers_replaced", a.view.numbers, b.view.numbers),
                ("topics_replaced", a.view.topics, b.view.topics),
            ] {
                evidence.insert(name.into(), (f64::from(facts::replaced(a, b)) / 100.0).into());
            }
            evidence.insert("addresses".into(), addresses.as_str().into());
            if let Some(reason) = self.judge.decided_by(distance, &a.view, &b.view) {
                evidence.insert("decided_by".into(), reason.into());
            }
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
        format!("{:016x}", Parts::new(fingerprint).hash)
    }

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        Some(format!("[simhash.near]\nmax_distance = {}", distance.min(DISTANCE_MAX)))
    }
}

/// Returns the SimHash in the upper half, as [`Blocks`] expects it.
fn left_aligned(fingerprint: &[u8]) -> u128 {
    u128::from(simhash_of(fingerprint)) << HASH_BITS
}
