//! `i-match`, a baseline (Chowdhury et al. 2002; papers 000 and 001 run it): finds texts with the same set of
//! discriminating terms.
//!
//! It sorts and hashes the distinct terms that are rare enough: IDF of at least `idf_min` (paper 001), or the
//! `terms_max` of the highest IDF (paper 000). Two texts are near iff the hash is equal, so one additional term
//! changes the result.
//!
//! Encoding: the hash, 8 bytes, big-endian. It is also the key. Exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::idf::{IdfTable, from_decades};
use crate::resources::{ResourceError, Resources};
use crate::secret::{Purpose, TextHash};
use crate::{Comparison, Detector};
use leitong_text::segment::{DistinctTerm, Terms};

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 1;
/// Minimum number of terms for a fingerprint.
const TERMS_MIN: usize = 3;

/// The baseline `i-match`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IMatchConfig {
    /// Terms that are hashed: `idf-min` (those that are rare enough) or `top` (the rarest).
    pub(crate) selection: Selection,
    /// Minimum IDF, log₁₀ (N / n), of a term that is rare enough (`idf-min`).
    #[schemars(range(min = 0, max = 9))]
    pub(crate) idf_min: f64,
    /// Maximum number of terms that are hashed, the rarest (`top`).
    #[schemars(range(min = 3, max = 1_000))]
    pub(crate) terms_max: usize,
}

/// Terms that are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Selection {
    /// Terms of at least the minimum IDF.
    IdfMin,
    /// The terms of the highest IDF.
    Top,
}

impl Default for IMatchConfig {
    fn default() -> Self {
        Self { selection: Selection::IdfMin, idf_min: 0.5, terms_max: 20 }
    }
}

impl IMatchConfig {
    /// Creates the detector with these settings.
    ///
    /// # Errors
    /// [`ResourceError`] if the IDF table cannot be used.
    pub fn detector(&self, resources: &Resources) -> Result<Box<dyn Detector>, ResourceError> {
        Ok(Box::new(IMatch {
            idf: IdfTable::new(&resources.idf)?,
            idf_min: from_decades(self.idf_min),
            hash: TextHash::new(resources.secret.as_ref(), Purpose::Texts),
            config: self.clone(),
        }))
    }
}

/// The detector with its settings.
#[derive(Debug)]
struct IMatch {
    config: IMatchConfig,
    idf: IdfTable,
    idf_min: u32,
    hash: TextHash,
}

impl Detector for IMatch {
    fn name(&self) -> &'static str {
        "i-match"
    }

    fn fingerprint_settings(&self) -> Value {
        json!({ "version": VERSION, "settings": self.config, "idf_table": self.idf.contents() })
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let mut chosen: Vec<(u32, DistinctTerm)> =
            terms.distinct().iter().map(|term| (self.idf.idf(*term), *term)).collect();
        match self.config.selection {
            Selection::IdfMin => chosen.retain(|(idf, _)| *idf >= self.idf_min),
            Selection::Top => {
                chosen.sort_unstable_by_key(|(idf, term)| (std::cmp::Reverse(*idf), term.hash));
                chosen.truncate(self.config.terms_max);
            }
        }
        if chosen.len() < TERMS_MIN {
            return None;
        }
        let mut sorted: Vec<&str> = chosen.iter().map(|(_, term)| terms.first(*term)).collect();
        sorted.sort_unstable();
        let joined: Vec<u8> = sorted.iter().flat_map(|term| term.bytes().chain([0x1f])).collect();
        Some(self.hash.hash(&joined).to_be_bytes().into())
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        bytes.len() == 8
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        keys.extend(fingerprint.first_chunk().map(|hash| u64::from_be_bytes(*hash)));
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let near = a == b;
        Comparison { distance: 10_000 * u32::from(!near), near }
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        Map::from_iter([("equal_terms".to_owned(), Value::Bool(a == b))])
    }
}
