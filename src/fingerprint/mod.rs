//! Terms → fingerprint, by one of the detectors in [`DETECTORS`].
//!
//! A detector is three pure functions: *fingerprint* (text → compact bytes, or none where there is too
//! little to judge), *keys* (fingerprint → 64-bit keys; near fingerprints share at least one) and *compare*
//! (two fingerprints → distance, near or not). Single-Pass clustering, the centroid table, saved tables and
//! explanations are written once against this shape.
//!
//! To add a detector, see "Add a detector in five steps" in `ARCHITECTURE.md`.

mod bit_votes;
pub mod digest;
pub mod record;
pub mod simhash;
mod sketch;
pub mod term_hash;
pub mod term_weight;

use serde_json::{Map, Value};

use crate::config::Config;
use crate::segment::Terms;

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

    /// Whether `bytes` have the shape of this detector's fingerprints; checked where they are read back.
    fn is_fingerprint(&self, bytes: &[u8]) -> bool;

    /// The keys that a centre is found by.
    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>);

    /// The keys under which all centres near this fingerprint are found.
    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>);

    /// How far two fingerprints are apart. Symmetric, and 0 apart from itself.
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison;

    /// The distance as verdicts show it.
    fn distance(&self, distance: u32) -> f64;

    /// From 0 to 1, rounded to four digits, as verdicts show it.
    fn similarity(&self, a: &[u8], b: &[u8]) -> f64;

    /// What speaks for and against two fingerprints being near, for a person to read.
    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value>;

    /// The fingerprint in hex as verdicts show it.
    fn display(&self, fingerprint: &[u8]) -> String;
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// In the detector's own unit; an integer, so that no rounding decides which centre is the nearest.
    pub distance: u32,
    /// Near enough to be one text.
    pub near: bool,
}

/// Builds a detector with the settings of a configuration.
pub type Build = fn(&Config) -> Box<dyn Detector>;

/// Every detector by name. A new one is entered here.
pub const DETECTORS: &[(&str, Build)] =
    &[("simhash", |config| Box::new(simhash::SimHash::new(&config.simhash)))];

/// The detector of this name, with the settings of `config`.
#[must_use]
pub fn detector(name: &str, config: &Config) -> Option<Box<dyn Detector>> {
    DETECTORS.iter().find(|(known, _)| *known == name).map(|(_, build)| build(config))
}
