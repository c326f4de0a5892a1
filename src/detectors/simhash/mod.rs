//! `simhash`, the default detector (paper 002; Charikar 2002; Manku, Jain & Das Sarma 2007).
//!
//! Fingerprint: 64 bits, each the sign of a vote in which every distinct term takes part with its weight, and
//! the [`sketch`] of the text's shingles.
//!
//! A SimHash within the distance makes a candidate only: among a hundred million unrelated pages there is always
//! one. What else near means is one sentence: *most passages of the shorter text stand in the longer one, the lengths are
//! comparable, and a short text says the same numbers*. In detail:
//! * The sketches agree, the more the further the two SimHashes are apart, since both err, but not together; and the more the
//!   shorter the texts are, since short pages of one template share most of their passages.
//! * Of short texts less will do if nearly all of the shorter one stands in the longer one: what was cut off, or had something added,
//!   differs on one side only, and pages of one template on both. The sketch and the two sizes tell (`matches_contained`).
//! * Of a short text the [`numbers`] in the same places are the same: weather, markets and results of two days are no copies.
//!
//! `confirm = "none"` is the paper's method. The measurements are in `docs/adr/0016-contained-passages-and-numbers.md`.
//!
//! Encoding, 130 bytes: SimHash (8, big-endian), size of the text (2, big-endian), values of the sketch (32), number slots (24),
//! bands of the sketch (16 times 4, big-endian).
//!
//! Keys, by `candidates`:
//! * `bands`: the 16 bands, and the SimHash. Near pages share one of these, which is part of what near means then.
//!   Texts of the same words in another order have the same SimHash, and may share no band.
//! * `blocks`: four blocks of 16 bits. Two SimHashes within distance *d* lie in at least one block *i* within
//!   r_i, where Σ(r_i + 1) = d + 1: else they would differ in Σ(r_i + 1) bits at least. So a centroid is entered
//!   under its four blocks, and looked for under all values within r_i of each block.

mod config;

use serde_json::{Map, Value, json};

use crate::fingerprint::bit_votes::BitVotes;
use crate::fingerprint::numbers::{self, SLOT_BYTES, Slots};
use crate::fingerprint::secret::{Purpose, Secret, TextHash};
use crate::fingerprint::sketch::{self, BANDS, BINS, VALUE_BYTES, Values};
use crate::fingerprint::{Comparison, Detector, LookUp, SecondKey, Shares, basis_points};
use crate::segment::Terms;
pub use config::{Candidates, Confirm, NearConfig, SimHashConfig};

/// Part of the fingerprint hash: raised whenever the same terms may give another fingerprint than before.
const VERSION: u32 = 2;
/// Part of the cluster hash: raised whenever the same fingerprints and settings may be near where they were not.
const NEAR_VERSION: u32 = 4;

/// Frequencies whose terms are counted together; of a page's distinct terms, 99 % have one of these.
const SMALL_FREQUENCIES: usize = 12;
/// Texts at most this far apart, whose sizes differ by one part in [`SAME_SIZE`] at most, are the same words in another order:
/// the demand on short texts is not made of them.
const SAME_WORDS: u32 = 4;
const SAME_SIZE: u32 = 50;
/// Of short texts one number in another place may differ for so many that are the same: an article with one figure put right, or whose
/// end was cut so that a context came about anew, is a copy still.
const SAME_NUMBERS: u32 = 3;
/// The greatest `max_distance`.
const DISTANCE_MAX: u32 = 20;
const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = 64 / BLOCKS;
const BAND_BYTES: usize = 4 * BANDS;
const FINGERPRINT_BYTES: usize = 8 + 2 + VALUE_BYTES + SLOT_BYTES + BAND_BYTES;

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
        // Most terms occur a few times only: those of one frequency have one weight, and vote together.
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

    /// Values of the sketch that must agree between texts this far apart and of these sizes: two straight lines, rounded up, of
    /// which the stricter counts, but that texts of which one contains the other need no more than that.
    fn matches_needed(&self, distance: u32, a_size: u32, b_size: u32) -> u32 {
        let near = &self.config.near;
        let by_distance =
            on_a_line(near.sketch_matches_near, near.sketch_matches_far, distance, near.max_distance);
        // Of the same words in another order little speaks for a template.
        if distance <= SAME_WORDS && a_size.abs_diff(b_size) * SAME_SIZE <= a_size.max(b_size) {
            return by_distance;
        }
        let (shorter, longer) = (a_size.min(b_size), a_size.max(b_size));
        let by_size =
            on_a_line(near.sketch_matches_short, near.sketch_matches_near, shorter, near.short_text_size);
        by_distance.max(by_size.min(matches_contained(self.contained_min, shorter, longer)))
    }

    /// Whether neither text is but an excerpt of the other.
    fn lengths_are_comparable(&self, a_size: u32, b_size: u32) -> bool {
        u64::from(a_size.min(b_size)) * 10_000
            >= u64::from(a_size.max(b_size)) * u64::from(self.length_ratio_min)
    }

    /// Whether two short texts say different numbers in the same places. Long ones may: a figure or two is not what they are about.
    fn numbers_conflict(&self, a: &Opinion, b: &Opinion) -> bool {
        a.size.min(b.size) < self.config.near.number_text_size && {
            let numbers = numbers::agreement(a.numbers, b.numbers);
            numbers.conflicts * SAME_NUMBERS > numbers.same
        }
    }

    /// Whether what the fingerprints hold besides the SimHash says of texts this far apart that they are near.
    fn confirmed(&self, distance: u32, a: &Opinion, b: &Opinion) -> bool {
        sketch::matches(a.values, b.values) >= self.matches_needed(distance, a.size, b.size)
            && self.lengths_are_comparable(a.size, b.size)
            && !self.numbers_conflict(a, b)
    }

    /// The same for two fingerprints, and how far they are apart.
    fn demand(&self, a: &Parts, b: &Parts) -> (u32, u32) {
        let distance = (a.hash ^ b.hash).count_ones();
        (distance, self.matches_needed(distance, a.opinion.size, b.opinion.size))
    }
}

/// What lies at `at` on the line that leads from `from` at 0 to `to` at `end`, rounded up; `to` beyond.
fn on_a_line(from: u32, to: u32, at: u32, end: u32) -> u32 {
    if at >= end { to } else { (from * (end - at) + to * at).div_ceil(end) }
}

/// Values of the sketch that agree, on average, where `share` (ten-thousandths) of the shorter text's passages stand in the longer one,
/// rounded up. With sizes *s* ≤ *l* the texts have *share·s* passages in common of *s + l − share·s* different ones, which is
/// the Jaccard similarity that the sketch estimates.
fn matches_contained(share: u32, shorter: u32, longer: u32) -> u32 {
    let common = u64::from(share) * u64::from(shorter);
    let all = 10_000 * (u64::from(shorter) + u64::from(longer)) - common.min(10_000 * u64::from(shorter));
    let resemblance = (common * 10_000).checked_div(all).unwrap_or(10_000);
    sketch::matches_of(u32::try_from(resemblance).unwrap_or(10_000))
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
        Some(encode(hash, sketch.size, &sketch.values, &numbers, sketch.bands))
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
        Some(SecondKey { max_distance: self.config.near.max_distance, of: simhash_of })
    }

    /// All but the bands; without confirmation the SimHash alone.
    fn compared<'a>(&self, fingerprint: &'a [u8]) -> &'a [u8] {
        match (self.config.near.confirm, self.config.near.candidates) {
            (Confirm::None, _) => &fingerprint[..8],
            (Confirm::Sketch, _) => &fingerprint[..FINGERPRINT_BYTES - BAND_BYTES],
        }
    }

    #[inline]
    fn compare_found(&self, fingerprint: &[u8], compared: &[u8]) -> Comparison {
        let distance = (simhash_of(fingerprint) ^ simhash_of(compared)).count_ones();
        let near = distance <= self.config.near.max_distance
            && (self.config.near.confirm == Confirm::None || {
                self.confirmed(distance, &Opinion::of(fingerprint), &Opinion::of(compared))
            });
        Comparison { distance, near }
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let Comparison { distance, near } = self.compare_found(a, b);
        let shares_key = || {
            self.config.near.candidates == Candidates::Blocks
                || distance == 0
                || Parts::of(a).shares_band(&Parts::of(b))
        };
        Comparison { distance, near: near && shares_key() }
    }

    fn distance(&self, distance: u32) -> f64 {
        f64::from(distance)
    }

    fn similarity(&self, a: &[u8], b: &[u8]) -> f64 {
        let distance = (Parts::of(a).hash ^ Parts::of(b).hash).count_ones();
        f64::from((64 - distance) * 10_000 / 64) / 10_000.0
    }

    /// The sketch estimates the Jaccard similarity *J* of the passages; with the sizes *s* and *t* of two texts,
    /// *J/(1 + J)·(s + t)* passages stand in both.
    fn shares(&self, a: &[u8], b: &[u8]) -> Option<Shares> {
        if self.config.near.confirm != Confirm::Sketch {
            return None;
        }
        let (a, b) = (Opinion::of(a), Opinion::of(b));
        let resemblance = u64::from(sketch::resemblance(sketch::matches(a.values, b.values)));
        let common = resemblance * u64::from(a.size + b.size) * 10_000 / (10_000 + resemblance);
        let share = |size: u32| common.checked_div(u64::from(size)).map(|share| share.min(10_000) as u32);
        Some(Shares { of_a: share(a.size)?, of_b: share(b.size)? })
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let (a, b) = (Parts::of(a), Parts::of(b));
        let matches = sketch::matches(a.opinion.values, b.opinion.values);
        let mut evidence = Map::new();
        evidence.insert("sketch_matches".into(), matches.into());
        if self.config.near.confirm == Confirm::Sketch {
            evidence.insert("sketch_matches_needed".into(), self.demand(&a, &b).1.into());
            let sizes = [a.opinion.size, b.opinion.size];
            let ratio = u64::from(sizes[0].min(sizes[1])) * 10_000 / u64::from(sizes[0].max(sizes[1]).max(1));
            evidence.insert("length_ratio".into(), (ratio as f64 / 10_000.0).into());
            let numbers = numbers::agreement(a.opinion.numbers, b.opinion.numbers);
            evidence.insert("numbers_same".into(), numbers.same.into());
            evidence.insert("numbers_different".into(), numbers.conflicts.into());
        }
        if self.config.near.candidates == Candidates::Bands {
            let shared = a.bands().zip(b.bands()).filter(|(a, b)| a == b).count();
            evidence.insert("bands_shared".into(), shared.into());
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

/// A fingerprint of these parts: the SimHash, the sketch's size and values (two a byte), the number slots (all zero: no numbers) and the
/// sketch's bands.
#[must_use]
pub fn encode(
    hash: u64,
    size: u16,
    values: &[u8; VALUE_BYTES],
    numbers: &[u8; SLOT_BYTES],
    bands: [u32; BANDS],
) -> Box<[u8]> {
    let bands = bands.map(u32::to_be_bytes);
    [&hash.to_be_bytes()[..], &size.to_be_bytes(), values, numbers, bands.as_flattened()].concat().into()
}

/// The SimHash of a fingerprint, or of its beginning.
#[inline]
#[must_use]
pub fn simhash_of(fingerprint: &[u8]) -> u64 {
    u64::from_be_bytes(*fingerprint.first_chunk().expect("8 bytes at least"))
}

/// What a fingerprint holds to confirm candidates.
struct Opinion<'a> {
    size: u32,
    values: &'a Values,
    numbers: &'a Slots,
}

impl<'a> Opinion<'a> {
    #[inline]
    fn of(fingerprint: &'a [u8]) -> Self {
        let (size, rest) = fingerprint[8..].split_first_chunk::<2>().expect("66 bytes at least");
        let (values, rest) = rest.split_first_chunk().expect("66 bytes at least");
        let numbers = rest.first_chunk().expect("66 bytes at least");
        Self { size: u16::from_be_bytes(*size).into(), values, numbers }
    }
}

/// An encoded fingerprint, taken apart; its length was checked where it was read.
struct Parts<'a> {
    hash: u64,
    opinion: Opinion<'a>,
    bands: &'a [u8; BAND_BYTES],
}

impl<'a> Parts<'a> {
    #[inline]
    fn of(fingerprint: &'a [u8]) -> Self {
        let bands = fingerprint.last_chunk().expect("130 bytes");
        Self { hash: simhash_of(fingerprint), opinion: Opinion::of(fingerprint), bands }
    }

    fn bands(&self) -> impl Iterator<Item = u32> {
        self.bands.as_chunks::<4>().0.iter().map(|band| u32::from_be_bytes(*band))
    }

    /// The bands by their numbers, and the SimHash, which is no such small number but in one case of 2²⁸.
    fn keys(&self) -> impl Iterator<Item = u64> {
        let bands = (0..).zip(self.bands()).map(|(number, band): (u64, u32)| number << 32 | u64::from(band));
        bands.chain([self.hash])
    }

    fn shares_band(&self, other: &Self) -> bool {
        self.bands().zip(other.bands()).any(|(a, b)| a == b)
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

/// The radius of each block, with Σ(r_i + 1) = `max_distance` + 1; none for a block that need not be probed.
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
    use crate::config::Config;
    use crate::extract::Document;
    use crate::segment::{Lexicons, Segmenter};

    fn simhash(max_distance: u32) -> SimHash {
        let mut config = Config::default().simhash;
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

    #[test]
    fn the_demand_rises_with_distance_and_brevity() {
        let detector = SimHash::new(&Config::default().simhash);
        let needed = |distance, size| detector.matches_needed(distance, size, size + size / 10 + 1);
        assert_eq!([0, 10, 20, 99].map(|distance| needed(distance, 10_000)), [25, 27, 28, 28]);
        assert_eq!([300, 700, 1_400].map(|size| needed(5, size)), [51, 42, 26]);
        let same_size = |distance| detector.matches_needed(distance, 700, 714);
        assert_eq!([0, 4, 5].map(same_size), [25, 26, 42], "less for the same words in another order");
        assert_eq!(detector.matches_needed(4, 700, 715), 42, "and not for others");
        // A short text of which nearly all stands in one twice as long.
        assert_eq!(detector.matches_needed(10, 100, 200), 31);
        assert_eq!(detector.matches_needed(10, 100, 100), 56);
    }

    #[test]
    fn an_excerpt_is_no_copy() {
        let detector = SimHash::new(&Config::default().simhash);
        assert!(detector.lengths_are_comparable(100, 200) && detector.lengths_are_comparable(200, 100));
        assert!(!detector.lengths_are_comparable(99, 200));
        assert!(detector.lengths_are_comparable(0, 0) && detector.lengths_are_comparable(65_535, 65_535));
    }

    /// The weather of two days, in sentences that are the same but for their numbers.
    #[test]
    fn other_numbers_are_no_copy() {
        let config = Config::default();
        let detector = SimHash::new(&config.simhash);
        let segmenter = Segmenter::new(&config.segment, &Lexicons::default()).expect("the default settings");
        let near = |a: &str, b: &str| {
            let fingerprint = |text: &str| {
                let mut terms = Terms::default();
                segmenter.segment(&Document::from_text(None, text), &mut terms);
                detector.fingerprint(&terms).expect("long enough")
            };
            detector.compare(&fingerprint(a), &fingerprint(b)).near
        };
        let report = |high: u32, low: u32, wind: u32| {
            format!(
                "本市气象台今天早晨发布天气预报：白天晴间多云，偏南风{wind}级，最高气温{high}度；夜间多云转阴，最低气温{low}度。\
                 昼夜温差较大，请市民朋友们注意适时增减衣物，外出时做好防晒和补水，驾车出行请注意交通安全。"
            )
        };
        assert!(near(&report(31, 22, 3), &report(31, 22, 3)));
        assert!(!near(&report(31, 22, 3), &report(27, 16, 4)));
        assert!(near(&report(31, 22, 3), &format!("{}（编辑：小李）", report(31, 22, 3))));
    }

    /// Both settings say what they say: of sets of passages, without rounding.
    #[test]
    fn contained_passages_are_those_of_sets() {
        for (shorter, longer) in [(100, 100), (100, 150), (300, 600), (1, 65_535)] {
            for share in (0..=10_000).step_by(500) {
                let common = f64::from(share) / 10_000.0 * f64::from(shorter);
                let jaccard = common / (f64::from(shorter + longer) - common);
                let expected = 64.0 * (1.0 / 16.0 + 15.0 / 16.0 * jaccard);
                let needed = f64::from(matches_contained(share, shorter, longer));
                assert!(
                    (needed - expected - 0.5).abs() <= 0.51,
                    "{share} of {shorter} in {longer}: {needed} for {expected}"
                );
            }
        }
        assert_eq!(matches_contained(10_000, 0, 0), 64, "no text at all");
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
