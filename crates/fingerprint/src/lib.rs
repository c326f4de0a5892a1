//! The [`Detector`] trait, the detectors, and what several of them share: sketches, votes, term vectors, IDF,
//! keyed hashes.
//!
//! A detector is three pure functions: *fingerprint* (text → compact bytes, or `None` if there is too little
//! to judge), *keys* (fingerprint → 64-bit keys; near fingerprints share at least one) and *compare* (two
//! fingerprints → distance, and whether they are near). Single-pass clustering, the centroid table, saved
//! tables and explanations are written once, against this trait.
//!
//! The detectors are in the folder `detectors`, their list in `src/config/detectors.rs`. To add one, see "Add a
//! detector in five steps" in `ARCHITECTURE.md`.

pub(crate) mod bit_votes;
pub(crate) mod blocks;
pub mod boilerplate;
pub mod detectors;
pub mod digest;
pub(crate) mod facts;
pub(crate) mod hash_set;
pub mod idf;
pub(crate) mod keyed_shingles;
pub(crate) mod letters;
pub mod relation;
pub mod resources;
mod scan;
pub mod secret;
pub(crate) mod sketch;
pub(crate) mod term_hash;
pub(crate) mod term_vector;
pub(crate) mod term_weight;
#[cfg(test)]
mod test_texts;
pub(crate) mod topics;
mod units;
mod window;

pub use units::is_unit;

use serde_json::{Map, Value};

use leitong_text::segment::Terms;
use relation::Relation;

/// A method of detecting near-duplicates. All functions are pure; the format of the fingerprints is the
/// detector's own.
pub trait Detector: Send + Sync {
    /// Returns the name used in the configuration, verdicts, file names and metric labels.
    fn name(&self) -> &'static str;

    /// Returns the settings and the version of everything that affects a fingerprint. They are part of the
    /// fingerprint hash.
    fn fingerprint_settings(&self) -> Value;

    /// Returns the settings that decide whether two fingerprints are near. They are part of the cluster hash.
    fn near_settings(&self) -> Value {
        Value::Null
    }

    /// Returns the fingerprint of a text, or `None` if there is too little to judge.
    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>>;

    /// Returns intermediate counts by name, such as the number of concepts. `compare` shows them, and `eval`
    /// their means. Most detectors have none.
    fn counts(&self, _terms: &Terms) -> Vec<(&'static str, u32)> {
        Vec::new()
    }

    /// Returns true if `bytes` have the form of this detector's fingerprints. Checked when fingerprints are
    /// read back.
    fn is_fingerprint(&self, bytes: &[u8]) -> bool;

    /// Adds the keys under which a centroid is found. They are stored on disk (`table.on_disk`): a change in
    /// the keys for the same settings needs a new version of the block format.
    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>);

    /// Adds the keys under which all centroids near this fingerprint are found.
    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.insert_keys(fingerprint, keys);
    }

    /// Returns a key, both inserted and probed, that all fingerprints at distance 0 from this one have; `None` if
    /// there is no such key. No centroid can be nearer than one that this key finds. So a page whose text was seen
    /// before is decided with one key instead of all.
    fn equal_key(&self, _fingerprint: &[u8]) -> Option<u64> {
        None
    }

    /// Returns the second key, which separates centroids when very many of them share a key. Fingerprints whose
    /// second keys differ in more bits than [`SecondKey`] allows are never near, nor related by the shared key.
    /// `None` if no short key separates them exactly.
    fn second_key(&self) -> Option<SecondKey> {
        None
    }

    /// Returns the beginning of a fingerprint, the part that [`Self::compare_found`] reads. The table keeps
    /// it ready for every centroid; the rest is stored where it costs less memory and more time.
    fn compared<'a>(&self, fingerprint: &'a [u8]) -> &'a [u8] {
        fingerprint
    }

    /// Works like [`Self::compare`], for a centroid found by a look-up, with only the [compared](Self::compared) part
    /// of its fingerprint. The distance is the same. All near pairs are near here, and some other pairs may be, too.
    fn compare_found(&self, fingerprint: &[u8], compared: &[u8]) -> Comparison {
        self.compare(fingerprint, compared)
    }

    /// Returns the rank of a near or related centroid, given only the [compared](Self::compared) part of its
    /// fingerprint: a page joins the cluster of the centroid with the lowest rank. By default, the rank is the
    /// distance; a detector may use more of the fingerprints. 0 only at distance 0. Symmetric.
    fn rank(&self, _fingerprint: &[u8], _compared: &[u8], distance: u32) -> u32 {
        distance
    }

    /// Returns the rank of a centroid that is related but not near, given only the [compared](Self::compared) part of its
    /// fingerprint: a page is related to the centroid with the lowest rank, and to the oldest one of these. Siblings of
    /// one template are very many, so looking for the nearest of them would cost the square of their number. A detector
    /// has at most two ranks, 0 and 1.
    fn related_rank(&self, _fingerprint: &[u8], _compared: &[u8]) -> u32 {
        0
    }

    /// Creates an empty [`Crowd`]; `None` if the detector cannot search very many centroids that share a key faster
    /// than by comparing them.
    fn crowd(&self) -> Option<Box<dyn Crowd>> {
        None
    }

    /// Calls [`Self::compare_found`] for many centroids, and `found` with the number and the comparison of
    /// each that is near or [related](Self::related_found).
    fn compare_all(&self, fingerprint: &[u8], compared: &[&[u8]], found: &mut dyn FnMut(usize, Comparison)) {
        for (number, compared) in compared.iter().enumerate() {
            let comparison = self.compare_found(fingerprint, compared);
            if comparison.near || self.related_found(fingerprint, compared) {
                found(number, comparison);
            }
        }
    }

    /// Returns true if texts that are not near have passages in common that a verdict should report. Symmetric. True
    /// only for fingerprints that share a key that allows the distance of their second keys.
    fn related(&self, _a: &[u8], _b: &[u8]) -> bool {
        false
    }

    /// Works like [`Self::related`], for a centroid found by a look-up, with only the [compared](Self::compared) part
    /// of its fingerprint. All related pairs are related here, and some other pairs may be, too.
    fn related_found(&self, _fingerprint: &[u8], _compared: &[u8]) -> bool {
        false
    }

    /// Returns the article that the page is a part of, if it is one of several pages and the fingerprint
    /// shows it: the same number for all of them and, almost certainly, for no other article. Needs only the
    /// [compared](Self::compared) part.
    fn article(&self, _fingerprint: &[u8]) -> Option<u32> {
        None
    }

    /// Returns true if these are different pages of one article. Symmetric. True only for fingerprints of one
    /// [article](Self::article).
    fn are_parts(&self, _a: &[u8], _b: &[u8]) -> bool {
        false
    }

    /// Returns the distance between two fingerprints. Symmetric, and 0 between equal ones. If a setting
    /// depends on the page's relation to the canonical page, `a` is the page.
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison;

    /// Returns the distance as verdicts show it.
    fn distance(&self, distance: u32) -> f64 {
        to_display(distance)
    }

    /// Returns the similarity as verdicts show it: from 0 to 1, rounded to four digits.
    fn similarity(&self, a: &[u8], b: &[u8]) -> f64 {
        to_display(10_000 - self.compare(a, b).distance)
    }

    /// Returns the share of each text that is in the other one, if fingerprints show it.
    fn shares(&self, _a: &[u8], _b: &[u8]) -> Option<Shares> {
        None
    }

    /// Returns how a page relates to a canonical page that it is near or related to.
    fn relation(&self, page: &[u8], canonical: &[u8], near: bool) -> Option<Relation> {
        match near {
            true => self.shares(page, canonical).map(Relation::from_shares),
            false if self.are_parts(page, canonical) => Some(Relation::Part),
            false => self.shares(page, canonical).map(Relation::from_shares_if_not_near),
        }
    }

    /// Returns the reasons for and against two fingerprints being near, for a person to read.
    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value>;

    /// Returns the fingerprint, or the part that identifies it, in hexadecimal as verdicts show it.
    fn display(&self, fingerprint: &[u8]) -> String {
        fingerprint.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the lines of a configuration file that set the threshold to this distance. Near pairs must meet
    /// the other conditions, too. `None` if the detector has no such threshold.
    fn threshold_setting(&self, _distance: u32) -> Option<String> {
        None
    }
}

/// Centroids of which very many share a key, such as the pages of one template. It finds those that may be near
/// without comparing all of them. All functions are given the [compared](Detector::compared) part of a fingerprint.
pub trait Crowd: Send + Sync {
    /// Adds the centroid with this number, which is not in the crowd.
    fn insert(&mut self, number: u64, compared: &[u8]);

    /// Removes the centroid with this number, which is in the crowd.
    fn remove(&mut self, number: u64, compared: &[u8]);

    /// Calls `found` with the numbers of all centroids that may be near, or related with the [rank](Detector::related_rank)
    /// 0 if there are others; also with some others, and some more than once.
    /// Returns the number of entries that were looked at.
    fn near(&self, compared: &[u8], found: &mut dyn FnMut(u64)) -> usize;

    /// Calls `found` with the numbers of all centroids that may be related, and of some others, oldest first, until
    /// `found` returns false.
    fn related(&self, compared: &[u8], found: &mut dyn FnMut(u64) -> bool);

    /// Returns the bytes of memory in use.
    fn bytes(&self) -> usize;
}

/// A filter on look-ups when very many centroids outside of a [`Crowd`] share a key.
#[derive(Debug, Clone, Copy)]
pub struct SecondKey {
    /// The maximum number of differing bits in the second keys of fingerprints that are near, or related by a
    /// key that is not [wide](Self::WIDE); from 0 to 20.
    pub max_distance: u32,
    /// The maximum for fingerprints that are related by a wide key; not less than `max_distance`.
    pub wide_distance: u32,
    /// The function that returns the second key of a fingerprint, or of its [compared](Detector::compared) part.
    pub of: fn(&[u8]) -> u64,
}

impl SecondKey {
    /// The first bit of a key. It marks a *wide* key, which finds centroids whose second keys are further apart. It has
    /// no meaning for a detector without second keys.
    pub const WIDE: u64 = 1 << 63;

    /// Returns the maximum distance between second keys at which a key finds a centroid.
    #[inline]
    #[must_use]
    pub fn distance_under(&self, is_wide: bool) -> u32 {
        if is_wide { self.wide_distance } else { self.max_distance }
    }
}

/// The share of each of two texts that is in the other one, in basis points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Share of the first text.
    pub of_a: u32,
    /// Share of the second text.
    pub of_b: u32,
}

impl Shares {
    /// The shares of equal texts.
    pub const ALL: Self = Self { of_a: 10_000, of_b: 10_000 };
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// Distance in the detector's own unit. An integer, so rounding cannot decide which centroid is the
    /// nearest.
    pub distance: u32,
    /// True if the two texts count as one.
    pub near: bool,
}

/// Minimum number of candidates for which it pays to compute a bound first.
const BOUNDED_MIN: usize = 4;

/// Implements [`Detector::compare_all`] for a detector that can rule out most candidates without comparing
/// them. `may_be_near` returns the numbers of the candidates that it cannot rule out.
pub(crate) fn compare_bounded(
    detector: &impl Detector,
    fingerprint: &[u8],
    compared: &[&[u8]],
    may_be_near: impl FnOnce() -> Vec<usize>,
    found: &mut dyn FnMut(usize, Comparison),
) {
    let numbers = if compared.len() < BOUNDED_MIN { (0..compared.len()).collect() } else { may_be_near() };
    for number in numbers {
        let comparison = detector.compare(fingerprint, compared[number]);
        if comparison.near {
            found(number, comparison);
        }
    }
}

/// Converts a setting from 0 to 1 to basis points. An integer, so a machine's rounding cannot decide what is
/// near.
pub(crate) fn basis_points(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * 10_000.0).round() as u32
}

/// Converts basis points to the number that verdicts show.
pub fn to_display(basis_points: u32) -> f64 {
    f64::from(basis_points) / 10_000.0
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
