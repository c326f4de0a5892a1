//! `i-match`, a baseline (Chowdhury et al. 2002; papers 000 and 001 run it): finds texts with the same set of
//! discriminating terms.
//!
//! It sorts and hashes the distinct terms that are rare enough: IDF of at least `idf_min` (paper 001), or the
//! `terms_max` of the highest IDF (paper 000). Two texts are near iff a hash is equal, so one additional term
//! changes the result. Several *lexicons* (Kołcz, Chowdhury & Alspector 2004) soften that: each except the
//! first leaves out a random part of all terms, and texts that are near by any of them are near.
//!
//! Encoding: one hash per lexicon, 8 bytes, big-endian. The keys are the same hashes. Exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::idf::{IdfTable, from_decades};
use crate::resources::{ResourceError, Resources};
use crate::secret::{Purpose, TextHash};
use crate::{Comparison, Detector, basis_points, to_display};
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
    /// Number of lexicons; 1 is the papers' method.
    #[schemars(range(min = 1, max = 32))]
    pub(crate) lexicons: usize,
    /// Share of all terms that each lexicon except the first leaves out.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) lexicon_leaves_out: f64,
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
        Self {
            selection: Selection::IdfMin,
            idf_min: 0.5,
            terms_max: 20,
            lexicons: 1,
            lexicon_leaves_out: 0.3,
        }
    }
}

impl IMatchConfig {
    /// Creates the detector with these settings.
    ///
    /// # Errors
    /// [`ResourceError`] if the IDF table cannot be used.
    pub fn detector(&self, resources: &Resources) -> Result<Box<dyn Detector>, ResourceError> {
        Ok(Box::new(IMatch::new(self, resources)?))
    }
}

/// The detector with its settings.
#[derive(Debug)]
struct IMatch {
    config: IMatchConfig,
    idf: IdfTable,
    idf_min: u32,
    term_hash: TextHash,
    text_hash: TextHash,
}

impl IMatch {
    fn new(config: &IMatchConfig, resources: &Resources) -> Result<Self, ResourceError> {
        let idf = IdfTable::new(&resources.idf)?;
        let secret = resources.secret.as_ref();
        Ok(Self {
            config: config.clone(),
            idf,
            idf_min: from_decades(config.idf_min),
            term_hash: TextHash::new(secret, Purpose::Terms),
            text_hash: TextHash::new(secret, Purpose::Texts),
        })
    }

    /// Returns true if a lexicon contains a term.
    fn knows(&self, lexicon: usize, term: DistinctTerm, terms: &Terms) -> bool {
        if lexicon == 0 {
            return true;
        }
        let hash = self.term_hash.hash_term(terms.first(term), || term.hash);
        let drawn = (hash ^ lexicon as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        let drawn = drawn.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
        (drawn * 10_000) >> 32 >= u64::from(basis_points(self.config.lexicon_leaves_out))
    }

    fn hash(&self, lexicon: usize, terms: &Terms) -> Option<u64> {
        let mut chosen: Vec<(u32, DistinctTerm)> = terms
            .distinct()
            .iter()
            .map(|term| (self.idf.idf(*term), *term))
            .filter(|(idf, term)| match self.config.selection {
                Selection::IdfMin => *idf >= self.idf_min && self.knows(lexicon, *term, terms),
                Selection::Top => self.knows(lexicon, *term, terms),
            })
            .collect();
        if self.config.selection == Selection::Top {
            chosen.sort_unstable_by_key(|(idf, term)| (std::cmp::Reverse(*idf), term.hash));
            chosen.truncate(self.config.terms_max);
        }
        if chosen.len() < TERMS_MIN {
            return None;
        }
        let mut sorted: Vec<&str> = chosen.iter().map(|(_, term)| terms.first(*term)).collect();
        sorted.sort_unstable();
        let mut joined = Vec::new();
        for term in sorted {
            joined.extend_from_slice(term.as_bytes());
            joined.push(0x1f);
        }
        Some(self.text_hash.hash(&joined))
    }

    fn equal(a: &[u8], b: &[u8]) -> u32 {
        a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).filter(|(a, b)| a == b).count() as u32
    }

    fn keys(fingerprint: &[u8], keys: &mut Vec<u64>) {
        let hashes = (0_u64..).zip(fingerprint.as_chunks::<8>().0);
        keys.extend(hashes.map(|(lexicon, hash)| u64::from_be_bytes(*hash).wrapping_add(lexicon)));
    }
}

impl Detector for IMatch {
    fn name(&self) -> &'static str {
        "i-match"
    }

    fn fingerprint_settings(&self) -> Value {
        json!({ "version": VERSION, "settings": self.config, "idf_table": self.idf.contents() })
    }

    fn near_settings(&self) -> Value {
        Value::Null
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let hashes: Option<Vec<u64>> =
            (0..self.config.lexicons).map(|lexicon| self.hash(lexicon, terms)).collect();
        hashes.map(|hashes| hashes.iter().flat_map(|hash| hash.to_be_bytes()).collect())
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        bytes.len() == 8 * self.config.lexicons
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        Self::keys(fingerprint, keys);
    }

    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        Self::keys(fingerprint, keys);
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let equal = Self::equal(a, b);
        Comparison { distance: 10_000 - equal * 10_000 / self.config.lexicons as u32, near: equal > 0 }
    }

    fn distance(&self, distance: u32) -> f64 {
        to_display(distance)
    }

    fn similarity(&self, a: &[u8], b: &[u8]) -> f64 {
        to_display(10_000 - self.compare(a, b).distance)
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let mut evidence = Map::new();
        evidence.insert("equal_lexicons".into(), Self::equal(a, b).into());
        evidence.insert("lexicons".into(), self.config.lexicons.into());
        evidence
    }

    fn display(&self, fingerprint: &[u8]) -> String {
        fingerprint.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    fn threshold_setting(&self, _: u32) -> Option<String> {
        None
    }
}
