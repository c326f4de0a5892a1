//! What a [`Detector`] is, and what several of them share:
//! sketches, votes, term vectors, IDF, keyed hashes.
//!
//! A detector is three pure functions: *fingerprint* (text → compact bytes, or none where there is
//! too little to judge), *keys* (fingerprint → 64-bit keys; near fingerprints share at least one)
//! and *compare* (two fingerprints → distance, near or not). Single-Pass clustering, the centroid
//! table, saved tables and explanations are written once against this shape.
//!
//! The detectors themselves stand in the folder `detectors`, their table in
//! `config/detectors.rs`. To add one, see "Add a detector in five steps" in `ARCHITECTURE.md`.

pub(crate) mod bit_votes;
pub mod config;
pub mod detectors;
pub mod digest;
pub(crate) mod facts;
pub(crate) mod hash_set;
pub mod idf;
pub(crate) mod keyed_shingles;
pub(crate) mod letters;
pub(crate) mod numbers;
pub mod relation;
pub mod resources;
pub mod secret;
pub(crate) mod signed_votes;
pub(crate) mod sketch;
pub mod term_hash;
pub(crate) mod term_vector;
pub mod term_weight;
mod window;

use serde_json::{Map, Value};

use leitong_text::segment::Terms;
use relation::Relation;

/// One way of telling near-duplicates. All functions are
/// pure, and all fingerprints are the detector's own.
pub trait Detector: Send + Sync {
    /// The name in the configuration, in verdicts, file names and metric labels.
    fn name(&self) -> &'static str;

    /// Part of the fingerprint hash: the settings and the
    /// version of whatever decides a fingerprint.
    fn fingerprint_settings(&self) -> Value;

    /// Part of the cluster hash: the settings that decide whether two fingerprints are near.
    fn near_settings(&self) -> Value;

    /// The fingerprint of a text, or none where the detector finds too little to judge.
    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>>;

    /// What the detector made of a text on the way to its fingerprint, as counts by
    /// name; `compare` shows them, and `eval` their means. Most detectors have none.
    fn counts(&self, _terms: &Terms) -> Vec<(&'static str, u32)> {
        Vec::new()
    }

    /// Whether `bytes` have the shape of this detector's
    /// fingerprints; checked where they are read back.
    fn is_fingerprint(&self, bytes: &[u8]) -> bool;

    /// The keys that a centroid is found by. They are kept on disk (`table.on_disk`): code that makes
    /// others of the same settings needs another version of the blocks' format.
    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>);

    /// The keys under which all centroids near this fingerprint are found.
    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>);

    /// The key, one of both kinds, that all fingerprints at distance 0 of this one have; none where there
    /// is no such key. Nothing is nearer than what is found by it, so that a page whose text was seen
    /// before is decided on by one key in place of all.
    fn equal_key(&self, _fingerprint: &[u8]) -> Option<u64> {
        None
    }

    /// How the centroid table finds what is near.
    fn look_up(&self) -> LookUp {
        LookUp::Keys
    }

    /// What tells centroids apart of which very many share one key; none where nothing
    /// short does exactly. Fingerprints whose second keys are further apart are never near, nor
    /// related by that key.
    fn second_key(&self) -> Option<SecondKey> {
        None
    }

    /// The beginning of a fingerprint that [`Self::compare_found`] reads. The table keeps it
    /// at hand for every centroid, and the rest where it costs less memory and more time.
    fn compared<'a>(&self, fingerprint: &'a [u8]) -> &'a [u8] {
        fingerprint
    }

    /// [`Self::compare`] for a centroid that a look-up has found, of which
    /// only the [compared](Self::compared) part is at hand. The distance
    /// is the same; what is near is near here, and some others may be.
    fn compare_found(&self, fingerprint: &[u8], compared: &[u8]) -> Comparison {
        self.compare(fingerprint, compared)
    }

    /// [`Self::compare_found`] for many centroids: calls `found` with the number of each that is
    /// near or [related](Self::related_found), and what the comparison says.
    fn compare_all(&self, fingerprint: &[u8], compared: &[&[u8]], found: &mut dyn FnMut(usize, Comparison)) {
        for (number, compared) in compared.iter().enumerate() {
            let comparison = self.compare_found(fingerprint, compared);
            if comparison.near || self.related_found(fingerprint, compared) {
                found(number, comparison);
            }
        }
    }

    /// Whether texts that are not near have passages in common that a verdict should tell of.
    /// Symmetric, and true of fingerprints alone that share a key under which their second keys may
    /// be so far apart.
    fn related(&self, _a: &[u8], _b: &[u8]) -> bool {
        false
    }

    /// [`Self::related`] for a centroid that a look-up has found, of which only the
    /// [compared](Self::compared) part is at hand: what is related is related here, and some others
    /// may be.
    fn related_found(&self, _fingerprint: &[u8], _compared: &[u8]) -> bool {
        false
    }

    /// The article that the page is a part of, where it is one of several pages and the fingerprint
    /// tells: the same number for all of them, and hardly any other. Read of the
    /// [compared](Self::compared) part alone.
    fn article(&self, _fingerprint: &[u8]) -> Option<u32> {
        None
    }

    /// Whether these are different pages of one article. Symmetric, and true of fingerprints of one
    /// [article](Self::article) alone.
    fn are_parts(&self, _a: &[u8], _b: &[u8]) -> bool {
        false
    }

    /// How far two fingerprints are apart. Symmetric, and 0 apart from itself; where a setting asks
    /// what a page is to the canonical one, `a` is the page.
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison;

    /// The distance as verdicts show it.
    fn distance(&self, distance: u32) -> f64;

    /// From 0 to 1, rounded to four digits, as verdicts show it.
    fn similarity(&self, a: &[u8], b: &[u8]) -> f64;

    /// Which share of each text stands in the other one, where fingerprints tell.
    fn shares(&self, _a: &[u8], _b: &[u8]) -> Option<Shares> {
        None
    }

    /// How a page relates to a canonical one that it is near to, or only related.
    fn relation(&self, page: &[u8], canonical: &[u8], near: bool) -> Option<Relation> {
        match near {
            true => self.shares(page, canonical).map(Relation::of),
            false if self.are_parts(page, canonical) => Some(Relation::Part),
            false => self.shares(page, canonical).map(Relation::of_another),
        }
    }

    /// What speaks for and against two fingerprints being near, for a person to read.
    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value>;

    /// The fingerprint, or the part of it that names it, in hex as verdicts show it.
    fn display(&self, fingerprint: &[u8]) -> String;

    /// The setting, as lines of a configuration file, under which pairs up to this
    /// distance are near as far as distance decides; none where no threshold does.
    fn threshold_setting(&self, distance: u32) -> Option<String>;
}

/// How the centroid table finds the centroids that may be near.
#[derive(Debug, Clone, Copy)]
pub enum LookUp {
    /// By shared keys.
    Keys,
    /// By the Hamming distance of 64 bits.
    Hamming {
        /// What is near is at most this far apart, from 0 to 20.
        max_distance: u32,
        /// The 64 bits of a fingerprint, or of its [compared](Detector::compared) part.
        bits: fn(&[u8]) -> u64,
    },
}

/// The first bit of a key: whether the key is *wide*, so that it finds what lies further apart by
/// the [second key](SecondKey). Of a detector without second keys it says nothing.
pub const WIDE_KEY: u64 = 1 << 63;

/// What narrows a look-up down where very many centroids share a key.
#[derive(Debug, Clone, Copy)]
pub struct SecondKey {
    /// The second keys of fingerprints that are near, or related by a key that is not
    /// [wide](WIDE_KEY), differ in so many bits at most, from 0 to 20.
    pub max_distance: u32,
    /// The same of those that are related by a wide key; not less than `max_distance`.
    pub wide_distance: u32,
    /// The second key of a fingerprint, or of its [compared](Detector::compared) part.
    pub of: fn(&[u8]) -> u64,
}

impl SecondKey {
    /// How far apart the second keys are at most of what is to be found under a key.
    #[inline]
    #[must_use]
    pub fn distance_under(&self, is_wide: bool) -> u32 {
        if is_wide { self.wide_distance } else { self.max_distance }
    }
}

/// How much of two texts stands in both, in ten-thousandths of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Of the first text.
    pub of_a: u32,
    /// Of the second one.
    pub of_b: u32,
}

impl Shares {
    /// Equal texts.
    pub const ALL: Self = Self { of_a: 10_000, of_b: 10_000 };
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// In the detector's own unit; an integer, so that no
    /// rounding decides which centroid is the nearest.
    pub distance: u32,
    /// Near enough to be one text.
    pub near: bool,
}

/// Candidates from which on it pays to look first at a bound of how near each may be.
const BOUNDED_MIN: usize = 4;

/// [`Detector::compare_all`] for a detector that can tell of most candidates that they
/// are not near without comparing them: `may_be_near` gives the numbers of all others.
pub(crate) fn compare_those_that_may_be_near(
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

/// A setting from 0 to 1 in ten-thousandths, an integer, so
/// that no rounding of a machine decides what is near.
pub(crate) fn basis_points(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * 10_000.0).round() as u32
}

/// Basis points as verdicts show them.
pub fn to_display(basis_points: u32) -> f64 {
    f64::from(basis_points) / 10_000.0
}
