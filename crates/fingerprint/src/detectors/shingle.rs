//! `shingle`, a baseline (Broder 1997; papers 001 and 002 run it, 000 describes it): finds texts that share
//! runs of terms.
//!
//! A shingle is a run of `size` terms, hashed. `sample` chooses which are kept:
//! * `super-shingles` (Fetterly, Manasse & Najork 2003): 84 min-wise hashes, folded 14 each into 6
//!   super-shingles; near iff at least 2 are equal. 48 bytes;
//! * `all`: every shingle, 4 bytes each; near iff the Jaccard similarity is above `resemblance_above` (paper 002:
//!   0.95).
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
/// Maximum number of shingles, those of the smallest hashes (`all`).
const SHINGLES_MAX: usize = 4_096;

/// The baseline `shingle`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShingleConfig {
    /// Number of terms of a shingle.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) size: usize,
    /// Shingles that are kept: `super-shingles` or `all`.
    pub(crate) sample: Sample,
    /// Jaccard similarity above which texts are near (`all`).
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
}

impl Default for ShingleConfig {
    fn default() -> Self {
        Self { size: 5, sample: Sample::SuperShingles, resemblance_above: 0.95 }
    }
}

impl ShingleConfig {
    /// Creates the detector with these settings.
    #[must_use]
    pub fn detector(&self, resources: &Resources) -> Box<dyn Detector> {
        Box::new(Shingle {
            config: self.clone(),
            resemblance_above: basis_points(self.resemblance_above),
            hash: TextHash::new(resources.secret.as_ref(), Purpose::Terms),
        })
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
        json!({ "version": VERSION, "size": self.config.size, "sample": self.config.sample })
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
        let mut kept: Vec<u32> = hashes.iter().map(|hash| (hash >> 32) as u32).collect();
        kept.sort_unstable();
        kept.dedup();
        kept.truncate(SHINGLES_MAX);
        Some(hash_set::encode(&mut kept))
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        match self.config.sample {
            Sample::SuperShingles => bytes.len() == 8 * SUPER_SHINGLES,
            Sample::All => hash_set::is_set(bytes, SHINGLES_MAX),
        }
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        match self.config.sample {
            // The upper four bits of each key are replaced by the super-shingle's number.
            Sample::SuperShingles => keys.extend(
                (0_u64..)
                    .zip(fingerprint.as_chunks::<8>().0)
                    .map(|(n, s)| n << 60 | u64::from_be_bytes(*s) >> 4),
            ),
            Sample::All => hash_set::prefix_keys(fingerprint, self.resemblance_above, keys),
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let resemblance = self.resemblance(a, b);
        let near = match self.config.sample {
            Sample::SuperShingles => equal_super_shingles(a, b) >= SUPER_SHINGLES_NEAR,
            Sample::All => resemblance > self.resemblance_above,
        };
        Comparison { distance: 10_000 - resemblance, near }
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

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        let resemblance = 10_000_u32.saturating_sub(distance + 1);
        (self.config.sample != Sample::SuperShingles)
            .then(|| format!("[shingle]\nresemblance_above = {}", to_display(resemblance)))
    }
}
