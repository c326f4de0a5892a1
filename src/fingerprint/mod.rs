//! Terms → fingerprint, by one of the detectors in [`DETECTORS`].
//!
//! A detector is three pure functions: *fingerprint* (text → compact bytes, or none where there is too
//! little to judge), *keys* (fingerprint → 64-bit keys; near fingerprints share at least one) and *compare*
//! (two fingerprints → distance, near or not). Single-Pass clustering, the centroid table, saved tables and
//! explanations are written once against this shape.
//!
//! To add a detector, see "Add a detector in five steps" in `ARCHITECTURE.md`.

pub mod agglomerate_term;
mod bit_votes;
pub mod digest;
mod hash_set;
pub mod i_match;
pub mod idf;
pub mod network;
pub mod paragraph;
pub mod punctuation;
pub mod record;
pub mod resources;
pub mod sentence_ends;
pub mod shingle;
mod signed_votes;
pub mod simhash;
mod sketch;
pub mod term_hash;
mod term_vector;
pub mod term_weight;
pub mod tf_idf;

use serde_json::{Map, Value};

use crate::config::Config;
use crate::segment::Terms;
use resources::{ResourceError, Resources};

/// One way of telling near-duplicates. All functions are pure, and all fingerprints are the detector's own.
pub trait Detector: Send + Sync {
    /// The name in the configuration, in verdicts, file names and metric labels.
    fn name(&self) -> &'static str;

    /// Part of the fingerprint hash: the settings and the version of whatever decides a fingerprint.
    fn fingerprint_settings(&self) -> Value;

    /// Part of the cluster hash: the settings that decide whether two fingerprints are near.
    fn near_settings(&self) -> Value;

    /// The fingerprint of a text, or none where the detector finds too little to judge.
    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>>;

    /// What the detector made of a text on the way to its fingerprint, as counts by name; `compare` shows them, and `eval`
    /// their means. Most detectors have none.
    fn counts(&self, _terms: &Terms) -> Vec<(&'static str, u32)> {
        Vec::new()
    }

    /// Whether `bytes` have the shape of this detector's fingerprints; checked where they are read back.
    fn is_fingerprint(&self, bytes: &[u8]) -> bool;

    /// The keys that a centre is found by.
    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>);

    /// The keys under which all centres near this fingerprint are found.
    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>);

    /// How the centroid table finds what is near.
    fn look_up(&self) -> LookUp {
        LookUp::Keys
    }

    /// The beginning of a fingerprint that [`Self::compare_found`] reads. The table keeps it at hand for every centre, and
    /// the rest where it costs less memory and more time.
    fn compared<'a>(&self, fingerprint: &'a [u8]) -> &'a [u8] {
        fingerprint
    }

    /// [`Self::compare`] for a centre that a look-up has found, of which only the [compared](Self::compared) part is
    /// at hand. The distance is the same; what is near is near here, and some others may be.
    fn compare_found(&self, fingerprint: &[u8], compared: &[u8]) -> Comparison {
        self.compare(fingerprint, compared)
    }

    /// How far two fingerprints are apart. Symmetric, and 0 apart from itself.
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison;

    /// The distance as verdicts show it.
    fn distance(&self, distance: u32) -> f64;

    /// From 0 to 1, rounded to four digits, as verdicts show it.
    fn similarity(&self, a: &[u8], b: &[u8]) -> f64;

    /// What speaks for and against two fingerprints being near, for a person to read.
    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value>;

    /// The fingerprint, or the part of it that names it, in hex as verdicts show it.
    fn display(&self, fingerprint: &[u8]) -> String;

    /// The setting, as lines of a configuration file, under which pairs up to this distance are near as far as
    /// distance decides; none where no threshold does.
    fn threshold_setting(&self, distance: u32) -> Option<String>;
}

/// How the centroid table finds the centres that may be near.
#[derive(Debug, Clone, Copy)]
pub enum LookUp {
    /// By shared keys.
    Keys,
    /// By the Hamming distance of 64 bits.
    Hamming {
        /// What is near is at most this far apart, from 0 to 16.
        max_distance: u32,
        /// The 64 bits of a fingerprint, or of its [compared](Detector::compared) part.
        bits: fn(&[u8]) -> u64,
    },
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// In the detector's own unit; an integer, so that no rounding decides which centre is the nearest.
    pub distance: u32,
    /// Near enough to be one text.
    pub near: bool,
}

/// Builds a detector with the settings of a configuration and the contents of the files it names.
pub type Build = fn(&Config, &Resources) -> Result<Box<dyn Detector>, ResourceError>;

/// Every detector by name. A new one is entered here.
pub const DETECTORS: &[(&str, Build)] = &[
    ("simhash", |config, _| Ok(Box::new(simhash::SimHash::new(&config.simhash)))),
    ("paragraph", |config, resources| Ok(Box::new(paragraph::Paragraph::new(&config.paragraph, resources)?))),
    ("agglomerate-term", |config, _| {
        Ok(Box::new(agglomerate_term::AgglomerateTerm::new(&config.agglomerate_term)))
    }),
    ("concept-network", |config, resources| {
        Ok(Box::new(network::Network::of_concepts(&config.concept_network, resources)?))
    }),
    ("word-network", |config, resources| {
        Ok(Box::new(network::Network::of_words(&config.word_network, resources)?))
    }),
    ("shingle", |config, _| Ok(Box::new(shingle::Shingle::new(&config.shingle)))),
    ("i-match", |config, resources| Ok(Box::new(i_match::IMatch::new(&config.i_match, resources)?))),
    ("tf-idf", |config, resources| Ok(Box::new(tf_idf::TfIdf::new(&config.tf_idf, resources)?))),
    ("punctuation", |config, _| Ok(Box::new(punctuation::Punctuation::new(&config.punctuation)))),
    ("sentence-ends", |config, _| Ok(Box::new(sentence_ends::SentenceEnds::new(&config.sentence_ends)))),
];

/// Detectors of the table that are there for comparison: in `dedup`, `compare`, `eval` and `tune`, and not in `run`.
pub const BASELINES: [&str; 6] =
    ["word-network", "shingle", "i-match", "tf-idf", "punctuation", "sentence-ends"];

/// The detector of this name, with the settings of `config`; none if there is no such name.
///
/// # Errors
/// [`ResourceError`], where a file's contents cannot be used.
pub fn detector(
    name: &str,
    config: &Config,
    resources: &Resources,
) -> Option<Result<Box<dyn Detector>, ResourceError>> {
    DETECTORS.iter().find(|(known, _)| *known == name).map(|(_, build)| build(config, resources))
}

/// A setting from 0 to 1 as an integer, so that no rounding of a machine decides what is near.
fn ten_thousandths(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * 10_000.0).round() as u32
}

/// Ten-thousandths as verdicts show them.
fn shown(ten_thousandths: u32) -> f64 {
    f64::from(ten_thousandths) / 10_000.0
}
