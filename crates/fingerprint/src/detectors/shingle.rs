//! `shingle`, a baseline (Broder 1997; papers 001 and 002 run it, 000 describes it): finds texts that share
//! runs of terms.
//!
//! A shingle is a run of `size` terms, hashed. `sample` chooses which are kept:
//! * `super-shingles` (Fetterly, Manasse & Najork 2003): 84 min-wise hashes, folded 14 each into 6
//!   super-shingles; near iff at least 2 are equal. 48 bytes;
//! * `all`: every shingle; near iff the Jaccard similarity is above `resemblance_above` (paper 002: 0.95);
//! * `smallest` (Heintze 1996): the `shingles_max` smallest hashes; `modulo` (Broder, Bharat): the hashes
//!   divisible by 25. Near as for `all`.
//!
//! Keys: the super-shingles, or as many of the smallest hashes as are needed for any two sets above the
//! threshold to share one. Both are exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::resources::Resources;
use crate::secret::{Purpose, TextHash};
use crate::{Comparison, Detector, basis_points, hash_set, to_display};
use leitong_text::segment::Terms;

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 1;
const SUPER_SHINGLES: usize = 6;
const SAMPLES_EACH: usize = 14;
/// Minimum number of super-shingles that near texts share.
const SUPER_SHINGLES_NEAR: u32 = 2;
const MODULUS: u64 = 25;

/// The baseline `shingle`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShingleConfig {
    /// Number of terms of a shingle.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) size: usize,
    /// Shingles that are kept: `super-shingles`, `all`, `smallest` or `modulo`.
    pub(crate) sample: Sample,
    /// Maximum number of shingles, those of the smallest hashes (all samples except `super-shingles`). Each
    /// takes 4 bytes.
    #[schemars(range(min = 1, max = 4_096))]
    pub(crate) shingles_max: usize,
    /// Jaccard similarity above which texts are near (all samples except `super-shingles`).
    #[schemars(range(min = 0, max = 0.9999))]
    pub(crate) resemblance_above: f64,
}

/// Shingles of a text that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sample {
    /// 6 hashes of 14 min-wise hashes each.
    SuperShingles,
    /// Every shingle.
    All,
    /// The smallest hashes.
    Smallest,
    /// The hashes that are divisible by 25.
    Modulo,
}

impl Default for ShingleConfig {
    fn default() -> Self {
        Self { size: 5, sample: Sample::SuperShingles, shingles_max: 4_096, resemblance_above: 0.95 }
    }
}

impl ShingleConfig {
    /// Creates the detector with these settings.
    #[must_use]
    pub fn detector(&self, resources: &Resources) -> Box<dyn Detector> {
        Box::new(Shingle::new(self, resources))
    }
}

/// The detector with its settings.
#[derive(Debug)]
struct Shingle {
    config: ShingleConfig,
    /// The setting of this name, in basis points.
    resemblance_above: u32,
    hash: TextHash,
}

impl Shingle {
    fn new(config: &ShingleConfig, resources: &Resources) -> Self {
        let resemblance_above = basis_points(config.resemblance_above);
        let hash = TextHash::new(resources.secret.as_ref(), Purpose::Terms);
        Self { config: config.clone(), resemblance_above, hash }
    }

    /// Returns the hashes of all shingles, in order.
    fn hashes(&self, terms: &Terms) -> Vec<u64> {
        let distinct: Vec<u64> = terms
            .distinct()
            .iter()
            .map(|term| self.hash.hash_term(terms.first(*term), || term.hash))
            .collect();
        let term_hashes: Vec<u64> =
            terms.terms().iter().map(|term| distinct[term.distinct as usize]).collect();
        let fold =
            |shingle: &[u64]| shingle.iter().fold(0, |hash: u64, term| mix(hash.rotate_left(5) ^ term));
        term_hashes.windows(self.config.size).map(fold).collect()
    }

    /// Returns the Jaccard similarity in basis points, rounded down.
    fn resemblance(&self, a: &[u8], b: &[u8]) -> u32 {
        if self.config.sample == Sample::SuperShingles {
            return equal_super_shingles(a, b) * 10_000 / SUPER_SHINGLES as u32;
        }
        let shared = hash_set::shared(a, b);
        (shared * 10_000 / (hash_set::len(a) + hash_set::len(b) - shared)) as u32
    }

    fn keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        match self.config.sample {
            // The upper four bits of each key are replaced by the super-shingle's number.
            Sample::SuperShingles => keys.extend(
                (0_u64..)
                    .zip(fingerprint.as_chunks::<8>().0)
                    .map(|(n, s)| n << 60 | u64::from_be_bytes(*s) >> 4),
            ),
            _ => hash_set::prefix_keys(fingerprint, self.resemblance_above, keys),
        }
    }
}

/// Applies the SplitMix64 finaliser.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn super_shingles(hashes: &[u64]) -> [u64; SUPER_SHINGLES] {
    let mut minima = [[u64::MAX; SAMPLES_EACH]; SUPER_SHINGLES];
    for hash in hashes {
        // An odd multiplier per sample permutes the 64-bit hashes.
        let mut multiplier = 0x9e37_79b9_7f4a_7c15_u64;
        for minimum in minima.as_flattened_mut() {
            *minimum = (*minimum)
                .min(hash.wrapping_mul(multiplier).rotate_left(29).wrapping_mul(0x94d0_49bb_1331_11eb));
            multiplier = multiplier.wrapping_mul(0xd134_2543_de82_ef95);
        }
    }
    minima.map(|samples| samples.iter().fold(0, |hash, sample| mix(hash ^ sample)))
}

fn equal_super_shingles(a: &[u8], b: &[u8]) -> u32 {
    a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).filter(|(a, b)| a == b).count() as u32
}

impl Detector for Shingle {
    fn name(&self) -> &'static str {
        "shingle"
    }

    fn fingerprint_settings(&self) -> Value {
        let ShingleConfig { size, sample, shingles_max, resemblance_above: _ } = self.config;
        json!({ "version": VERSION, "size": size, "sample": sample, "shingles_max": shingles_max })
    }

    fn near_settings(&self) -> Value {
        json!({ "resemblance_above": self.config.resemblance_above })
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let hashes = self.hashes(terms);
        if hashes.is_empty() {
            return None;
        }
        if self.config.sample == Sample::SuperShingles {
            return Some(super_shingles(&hashes).iter().flat_map(|hash| hash.to_be_bytes()).collect());
        }
        let kept = |hash: &&u64| self.config.sample != Sample::Modulo || hash.is_multiple_of(MODULUS);
        let mut kept: Vec<u32> = hashes.iter().filter(kept).map(|hash| (hash >> 32) as u32).collect();
        kept.sort_unstable();
        kept.dedup();
        kept.truncate(self.config.shingles_max);
        (!kept.is_empty()).then(|| hash_set::encode(&mut kept))
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        match self.config.sample {
            Sample::SuperShingles => bytes.len() == 8 * SUPER_SHINGLES,
            _ => hash_set::is_set(bytes, self.config.shingles_max),
        }
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.keys(fingerprint, keys);
    }

    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.keys(fingerprint, keys);
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let resemblance = self.resemblance(a, b);
        let near = match self.config.sample {
            Sample::SuperShingles => equal_super_shingles(a, b) >= SUPER_SHINGLES_NEAR,
            _ => resemblance > self.resemblance_above,
        };
        Comparison { distance: 10_000 - resemblance, near }
    }

    fn distance(&self, distance: u32) -> f64 {
        to_display(distance)
    }

    fn similarity(&self, a: &[u8], b: &[u8]) -> f64 {
        to_display(self.resemblance(a, b))
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let mut evidence = Map::new();
        if self.config.sample == Sample::SuperShingles {
            evidence.insert("equal_super_shingles".into(), equal_super_shingles(a, b).into());
            evidence.insert("equal_super_shingles_needed".into(), SUPER_SHINGLES_NEAR.into());
        } else {
            evidence.insert("shingles".into(), hash_set::len(a).into());
            evidence.insert("canonical_shingles".into(), hash_set::len(b).into());
            evidence.insert("shared_shingles".into(), hash_set::shared(a, b).into());
        }
        evidence
    }

    fn display(&self, fingerprint: &[u8]) -> String {
        fingerprint.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        let resemblance = 10_000_u32.saturating_sub(distance + 1);
        (self.config.sample != Sample::SuperShingles)
            .then(|| format!("[shingle]\nresemblance_above = {}", to_display(resemblance)))
    }
}
