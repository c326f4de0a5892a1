//! `tf-idf`, a baseline (paper 004 runs it): finds texts whose most discriminating terms have similar
//! weights.
//!
//! Fingerprint: the `terms_max` terms of the highest tf·IDF with that weight (a [`term_vector`]). Two texts
//! are near iff the cosine is above `similarity_above`.
//!
//! Keys, exact, where c is `similarity_above`: with the terms in one fixed global order (rarest first, ties
//! by hash), each term becomes a key until the remaining ones hold at most c² of Σw². If two vectors share no
//! such key, all that they share is in the remainder of one of them, and their cosine is at most c.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::agglomerate_term::shared_terms;
use crate::idf::IdfTable;
use crate::resources::{ResourceError, Resources};
use crate::secret::{Purpose, TextHash};
use crate::term_vector::{self, TermVector};
use crate::{Comparison, Detector, basis_points, to_display};
use leitong_text::segment::{DistinctTerm, Terms};

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 1;
/// Minimum number of distinct terms for a fingerprint.
const TERMS_MIN: usize = 3;

/// The baseline `tf-idf`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TfIdfConfig {
    /// Maximum number of terms in the fingerprint, those of the highest weight.
    #[schemars(range(min = 3, max = 64))]
    pub(crate) terms_max: usize,
    /// Cosine above which texts are near.
    #[schemars(range(min = 0, max = 0.9999))]
    pub(crate) similarity_above: f64,
}

impl Default for TfIdfConfig {
    fn default() -> Self {
        Self { terms_max: 10, similarity_above: 0.95 }
    }
}

impl TfIdfConfig {
    /// Creates the detector with these settings.
    ///
    /// # Errors
    /// [`ResourceError`] if the IDF table cannot be used.
    pub fn detector(&self, resources: &Resources) -> Result<Box<dyn Detector>, ResourceError> {
        Ok(Box::new(TfIdf {
            idf: IdfTable::new(&resources.idf)?,
            similarity_above: basis_points(self.similarity_above),
            hash: TextHash::new(resources.secret.as_ref(), Purpose::Terms),
            config: self.clone(),
        }))
    }
}

/// The detector with its settings.
#[derive(Debug)]
struct TfIdf {
    config: TfIdfConfig,
    idf: IdfTable,
    /// The setting of this name, in basis points.
    similarity_above: u32,
    hash: TextHash,
}

/// Adds the keys of a vector. Any two vectors whose cosine is above `similarity_above` (in basis points)
/// share one.
pub(super) fn prefix_keys<'t>(
    idf: &IdfTable,
    keyed: &TextHash,
    terms: impl Iterator<Item = (&'t [u8], u32)>,
    similarity_above: u32,
    keys: &mut Vec<u64>,
) {
    let mut ordered: Vec<(std::cmp::Reverse<u32>, u64, u128)> = terms
        .map(|(term, weight)| {
            let hash = xxh3_64(term);
            let idf = idf.idf(DistinctTerm { hash, frequency: 1, first: 0 });
            (std::cmp::Reverse(idf), keyed.hash(term), u128::from(weight).pow(2))
        })
        .collect();
    ordered.sort_unstable();
    let total: u128 = ordered.iter().map(|(_, _, square)| square).sum();
    let mut remaining = total;
    for (_, hash, square) in ordered {
        if remaining * 100_000_000 <= u128::from(similarity_above).pow(2) * total {
            break;
        }
        keys.push(hash);
        remaining -= square;
    }
}

fn vector(fingerprint: &[u8]) -> TermVector<'_> {
    term_vector::decode(fingerprint).expect("a checked fingerprint")
}

impl Detector for TfIdf {
    fn name(&self) -> &'static str {
        "tf-idf"
    }

    fn fingerprint_settings(&self) -> Value {
        json!({ "version": VERSION, "terms_max": self.config.terms_max, "idf_table": self.idf.contents() })
    }

    fn near_settings(&self) -> Value {
        json!({ "similarity_above": self.config.similarity_above })
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let distinct = terms.distinct();
        if distinct.len() < TERMS_MIN {
            return None;
        }
        // 8 fractional bits of the IDF are enough and leave room for any frequency.
        let weight = |term: &DistinctTerm| {
            u64::from(term.frequency)
                .saturating_mul(u64::from(self.idf.idf(*term) >> 8).max(1))
                .min(u64::from(u32::MAX))
        };
        let mut weighted: Vec<(std::cmp::Reverse<u64>, u32, &DistinctTerm)> =
            distinct.iter().map(|term| (std::cmp::Reverse(weight(term)), term.first, term)).collect();
        let rank = |entry: &(std::cmp::Reverse<u64>, u32, &DistinctTerm)| (entry.0, entry.1);
        if weighted.len() > self.config.terms_max {
            weighted.select_nth_unstable_by_key(self.config.terms_max, rank);
            weighted.truncate(self.config.terms_max);
        }
        weighted.sort_unstable_by_key(rank);
        let total = u32::try_from(terms.terms().len()).unwrap_or(u32::MAX);
        let terms = weighted.iter().map(|(weight, _, term)| (terms.first(**term), weight.0 as u32));
        Some(term_vector::encode(total, terms))
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        term_vector::decode(bytes)
            .is_some_and(|vector| (TERMS_MIN..=self.config.terms_max).contains(&vector.terms.len()))
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        let vector = vector(fingerprint);
        prefix_keys(&self.idf, &self.hash, vector.terms.iter().copied(), self.similarity_above, keys);
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let similarity = term_vector::cosine(&vector(a), &vector(b));
        Comparison { distance: 10_000 - similarity, near: similarity > self.similarity_above }
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let mut evidence = Map::new();
        evidence.insert("similarity_above".into(), to_display(self.similarity_above).into());
        evidence.insert("shared_terms".into(), shared_terms(&vector(a), &vector(b)));
        evidence
    }

    fn display(&self, fingerprint: &[u8]) -> String {
        format!("{:016x}", xxh3_64(fingerprint))
    }

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        let similarity = 10_000_u32.saturating_sub(distance + 1);
        Some(format!("[tf-idf]\nsimilarity_above = {}", to_display(similarity)))
    }
}
