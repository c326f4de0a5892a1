//! `agglomerate-term`, AgT: finds texts with the same clustered terms (paper 004).
//!
//! A term scores by how closely its occurrences follow one another (section 2.1). The paper's formula is
//! lost; ours: for the i-th occurrence `LS_1 = 1`, `LS_i = 1 + LS_{i−1}·f(ΔD)`, where ΔD is the distance in
//! terms to the previous occurrence. The score is Σ(LS_i − 1). `gap` chooses f:
//! * `absolute`: exp(−ΔD / λ);
//! * `relative`: exp(−ΔD·n / (L·c)) for n occurrences in L terms. Evenly spread terms drop out, as the paper
//!   intends;
//! * `none`: 1 for each occurrence. Terms rank by frequency, for comparison.
//!
//! Fingerprint: the best terms with their frequencies (a [`term_vector`]). A text with fewer than three
//! scored terms has no fingerprint.
//!
//! Keys (section 2.2, extended linear comparison): for N = 3, 4, 5 the N best terms, sorted, joined and
//! hashed. Two texts are near (section 2.3, multi-dimensional comparison) if they share a key and their
//! frequencies are similar. That formula is lost too; ours is the weighted Jaccard similarity, which errs 16
//! times less often than the cosine (ADR 7). The method is lossy by design: sharing a key is part of the
//! definition of near, so the look-up finds every near centroid.
//!
//! Cost: linear in the number of terms, plus a selection of the best.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::resources::Resources;
use crate::secret::{Purpose, TextHash};
use crate::term_vector::{self, Prepared, TermVector};
use crate::{Comparison, Detector, basis_points, compare_bounded, to_display};
use leitong_text::segment::{DistinctTerm, Terms};

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 1;
/// A score of 1, with 16 fractional bits.
const ONE: u64 = 1 << 16;
/// Maximum number of shared terms listed as evidence.
const TERMS_SHOWN: usize = 12;

/// The detector `agglomerate-term`: settings of its fingerprints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgglomerateTermConfig {
    /// Measure of the distance between neighbouring occurrences: `absolute` (in terms), `relative` (to an
    /// even spread over the text) or `none` (terms rank by frequency).
    pub(crate) gap: Gap,
    /// Distance, in terms, over which closeness falls to 1/e (`absolute`).
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) gap_terms: u32,
    /// Share of an even spread's distance over which closeness falls to 1/e (`relative`).
    #[schemars(range(min = 0.01, max = 100))]
    pub(crate) gap_share: f64,
    /// Maximum number of terms in the fingerprint; the best are kept.
    #[schemars(range(min = 5, max = 64))]
    pub(crate) terms_max: usize,
    /// Number of best terms that form a key (the paper's N): `3`, `4` or `5`, or `3-to-5` for a key of each
    /// number. A text with fewer terms that occur twice has no fingerprint.
    pub(crate) key_terms: KeyTerms,
    /// Conditions under which two fingerprints are near.
    pub(crate) near: AgglomerateTermNearConfig,
}

/// The detector `agglomerate-term`: conditions under which two fingerprints are near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgglomerateTermNearConfig {
    /// Similarity of two pages: `weighted-jaccard` of frequency ÷ length, or `cosine` of the frequencies, for
    /// which 0.8 is a good minimum.
    pub(crate) similarity: TermSimilarity,
    /// Minimum similarity of near pages. They also share a key.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) similarity_min: f64,
}

/// Measure of the distance between occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Gap {
    /// Distance in terms.
    Absolute,
    /// Distance relative to an even spread.
    Relative,
    /// Distances are ignored.
    None,
}

/// Number of best terms that form a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum KeyTerms {
    /// Three keys: one of 3, one of 4 and one of 5 terms.
    #[serde(rename = "3-to-5")]
    Any,
    /// One key of 3 terms.
    #[serde(rename = "3")]
    Three,
    /// One key of 4 terms.
    #[serde(rename = "4")]
    Four,
    /// One key of 5 terms.
    #[serde(rename = "5")]
    Five,
}

impl KeyTerms {
    fn sizes(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Self::Any => 3..=5,
            Self::Three => 3..=3,
            Self::Four => 4..=4,
            Self::Five => 5..=5,
        }
    }
}

/// Similarity of term vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TermSimilarity {
    /// Cosine of the angle between them.
    Cosine,
    /// Σ min ÷ Σ max.
    WeightedJaccard,
}

impl Default for AgglomerateTermConfig {
    fn default() -> Self {
        // The paper's formulas are lost; these were chosen by measurement (ADR 7). Twenty terms are the paper's.
        Self {
            gap: Gap::Absolute,
            gap_terms: 80,
            gap_share: 0.5,
            terms_max: 20,
            key_terms: KeyTerms::Any,
            near: AgglomerateTermNearConfig::default(),
        }
    }
}

impl Default for AgglomerateTermNearConfig {
    fn default() -> Self {
        Self { similarity: TermSimilarity::WeightedJaccard, similarity_min: 0.55 }
    }
}

impl AgglomerateTermConfig {
    /// Creates the detector with these settings.
    #[must_use]
    pub fn detector(&self, resources: &Resources) -> Box<dyn Detector> {
        Box::new(AgglomerateTerm::new(self, resources))
    }
}

/// The detector with its settings.
#[derive(Debug)]
struct AgglomerateTerm {
    config: AgglomerateTermConfig,
    /// exp(−ΔD / λ) for ΔD = 0, 1, …, with 16 fractional bits, up to the first that is 0.
    closeness: Vec<u64>,
    /// Minimum similarity in basis points.
    similarity_min: u32,
    hash: TextHash,
}

impl AgglomerateTerm {
    fn new(config: &AgglomerateTermConfig, resources: &Resources) -> Self {
        let closeness = |gap| exp_of_minus(u64::from(gap), u64::from(config.gap_terms));
        Self {
            config: config.clone(),
            closeness: (0_u32..).map(closeness).take_while(|closeness| *closeness > 0).collect(),
            similarity_min: basis_points(config.near.similarity_min),
            hash: TextHash::new(resources.secret.as_ref(), Purpose::Texts),
        }
    }

    /// Returns Σ(LS − 1) for each distinct term, with 16 fractional bits.
    fn scores(&self, terms: &Terms) -> Vec<u64> {
        let distinct = terms.distinct();
        let mut scores = vec![0_u64; distinct.len()];
        if self.config.gap == Gap::None {
            scores
                .iter_mut()
                .zip(distinct)
                .for_each(|(score, term)| *score = u64::from(term.frequency - 1) * ONE);
            return scores;
        }
        // The last position of each distinct term, and its LS.
        let mut last: Vec<(u32, u64)> = vec![(0, 0); distinct.len()];
        let length = terms.terms().len() as u64;
        let share = (self.config.gap_share * 65_536.0).round() as u64;
        for (position, term) in (0_u32..).zip(terms.terms()) {
            let number = term.distinct as usize;
            let (before, score) = &mut last[number];
            if distinct[number].first == position {
                (*before, *score) = (position, ONE);
                continue;
            }
            let gap = position - *before;
            let closeness = match self.config.gap {
                Gap::Relative => {
                    let even = u64::from(gap) * u64::from(distinct[number].frequency);
                    exp_of_minus(even << 16, (length * share).max(1))
                }
                _ => self.closeness.get(gap as usize).copied().unwrap_or(0),
            };
            let gained = (*score * closeness) >> 16;
            (*before, *score) = (position, ONE + gained);
            scores[number] += gained;
        }
        scores
    }

    fn keys(&self, vector: &TermVector, keys: &mut Vec<u64>) {
        let mut joined = Vec::with_capacity(64);
        for size in self.config.key_terms.sizes().filter(|size| *size <= vector.terms.len()) {
            let mut best: Vec<&[u8]> = vector.terms[..size].iter().map(|(term, _)| *term).collect();
            best.sort_unstable();
            joined.clear();
            joined.push(size as u8);
            for term in best {
                joined.push(0x1f);
                joined.extend_from_slice(term);
            }
            keys.push(self.hash.hash(&joined));
        }
    }

    fn similarity_of(&self, a: &TermVector, b: &TermVector) -> u32 {
        match self.config.near.similarity {
            TermSimilarity::Cosine => term_vector::cosine(a, b),
            TermSimilarity::WeightedJaccard => term_vector::weighted_jaccard(a, b),
        }
    }

    fn shared_key_sizes(&self, a: &TermVector, b: &TermVector) -> Vec<usize> {
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        self.keys(a, &mut of_a);
        self.keys(b, &mut of_b);
        self.config
            .key_terms
            .sizes()
            .zip(of_a.iter().zip(&of_b))
            .filter(|(_, (a, b))| a == b)
            .map(|(size, _)| size)
            .collect()
    }
}

/// Returns exp(−numerator / denominator) with 16 fractional bits, in integer arithmetic: 2 to the power of
/// the quotient times log₂ e, whose fraction is evaluated bit by bit. The error is at most 2^-16.
fn exp_of_minus(numerator: u64, denominator: u64) -> u64 {
    /// log₂ e with 32 fractional bits.
    const LOG2_E: u128 = 6_196_328_019;
    /// 2^(−2^−k) for k = 1 … 16 with 32 fractional bits: square roots of square roots.
    const ROOTS: [u64; 16] = {
        let mut roots = [0; 16];
        let mut root: u128 = 1 << 63; // 2^-1 with 64 fractional bits
        let mut k = 0;
        while k < 16 {
            root = (root << 64).isqrt();
            roots[k] = (root >> 32) as u64;
            k += 1;
        }
        roots
    };
    let exponent = u128::from(numerator) * LOG2_E / u128::from(denominator);
    let whole = exponent >> 32;
    if whole >= 17 {
        return 0;
    }
    let mut power = 1_u64 << 32;
    for (k, root) in (1..).zip(ROOTS) {
        if exponent >> (32 - k) & 1 == 1 {
            power = (power * root) >> 32;
        }
    }
    power >> (16 + whole)
}

impl Detector for AgglomerateTerm {
    fn name(&self) -> &'static str {
        "agglomerate-term"
    }

    fn fingerprint_settings(&self) -> Value {
        let AgglomerateTermConfig { gap, gap_terms, gap_share, terms_max, key_terms, near: _ } = &self.config;
        json!({
            "version": VERSION,
            "gap": gap,
            "gap_terms": gap_terms,
            "gap_share": gap_share,
            "terms_max": terms_max,
            "key_terms": key_terms,
        })
    }

    fn near_settings(&self) -> Value {
        json!(self.config.near)
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let scores = self.scores(terms);
        let mut scored: Vec<(u64, DistinctTerm)> = scores
            .into_iter()
            .zip(terms.distinct().iter().copied())
            .filter(|(score, _)| *score > 0)
            .collect();
        if scored.len() < *self.config.key_terms.sizes().start() {
            return None;
        }
        // Ties are broken by frequency, then by first occurrence, which is unique.
        let rank = |(score, term): &(u64, DistinctTerm)| {
            (std::cmp::Reverse(*score), std::cmp::Reverse(term.frequency), term.first)
        };
        if scored.len() > self.config.terms_max {
            scored.select_nth_unstable_by_key(self.config.terms_max, rank);
            scored.truncate(self.config.terms_max);
        }
        scored.sort_unstable_by_key(rank);
        let total = u32::try_from(terms.terms().len()).unwrap_or(u32::MAX);
        Some(term_vector::encode(total, scored.iter().map(|(_, term)| (terms.first(*term), term.frequency))))
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        term_vector::decode(bytes).is_some_and(|vector| {
            (*self.config.key_terms.sizes().start()..=self.config.terms_max).contains(&vector.terms.len())
        })
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.keys(&vector(fingerprint), keys);
    }

    fn compare_all(&self, fingerprint: &[u8], compared: &[&[u8]], found: &mut dyn FnMut(usize, Comparison)) {
        let may_be_near = || {
            let prepared = Prepared::new(&vector(fingerprint));
            let at_most = |other: &[u8]| match self.config.near.similarity {
                TermSimilarity::Cosine => prepared.cosine_at_most(other),
                TermSimilarity::WeightedJaccard => prepared.weighted_jaccard_at_most(other),
            };
            let passes = |number: &usize| at_most(compared[*number]) >= Some(self.similarity_min);
            (0..compared.len()).filter(passes).collect()
        };
        compare_bounded(self, fingerprint, compared, may_be_near, found);
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let (a, b) = (vector(a), vector(b));
        let similarity = self.similarity_of(&a, &b);
        let near = similarity >= self.similarity_min && !self.shared_key_sizes(&a, &b).is_empty();
        Comparison { distance: 10_000 - similarity, near }
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let (a, b) = (vector(a), vector(b));
        let mut evidence = Map::new();
        evidence.insert("same_best_terms".into(), self.shared_key_sizes(&a, &b).into());
        evidence.insert("similarity_needed".into(), to_display(self.similarity_min).into());
        evidence.insert("shared_terms".into(), shared_terms(&a, &b));
        evidence
    }

    fn display(&self, fingerprint: &[u8]) -> String {
        let mut keys = Vec::new();
        self.keys(&vector(fingerprint), &mut keys);
        format!("{:016x}", keys[0])
    }

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        Some(format!(
            "[agglomerate-term.near]\nsimilarity_min = {}",
            to_display(10_000 - distance.min(10_000))
        ))
    }
}

/// Decodes a fingerprint that was validated when it was read.
fn vector(fingerprint: &[u8]) -> TermVector<'_> {
    term_vector::decode(fingerprint).expect("a checked fingerprint")
}

/// Returns the terms of both vectors, each with its two weights: `["指纹", 4, 5]`.
pub(super) fn shared_terms(a: &TermVector, b: &TermVector) -> Value {
    let shared = term_vector::shared(a, b).take(TERMS_SHOWN);
    shared.map(|(term, x, y)| json!([String::from_utf8_lossy(term), x, y])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_texts::terms;

    fn best(gap: Gap, text: &str) -> Vec<String> {
        let config = AgglomerateTermConfig { gap, gap_terms: 5, ..AgglomerateTermConfig::default() };
        let fingerprint = AgglomerateTerm::new(&config, &Resources::default())
            .fingerprint(&terms(text))
            .expect("scored terms");
        let terms = &vector(&fingerprint).terms;
        terms.iter().map(|(term, _)| String::from_utf8_lossy(term).into_owned()).collect()
    }

    #[test]
    fn exponentials_agree_with_floating_point() {
        for (numerator, denominator) in
            [(0, 1), (1, 50), (7, 50), (50, 50), (333, 50), (10_000, 1), (123_456, 65_536)]
        {
            let exact = (-(numerator as f64) / denominator as f64).exp();
            let found = exp_of_minus(numerator, denominator) as f64 / 65_536.0;
            assert!((found - exact).abs() < 4e-5, "{numerator}/{denominator}: {found} for {exact}");
        }
    }

    #[test]
    fn clustered_terms_outrank_spread_ones() {
        // "kappa" occurs 3 times close together, "omega" 3 times far apart, "delta" twice in a row.
        let filler = |from: usize| (from..from + 12).map(|i| format!("word{i} ")).collect::<String>();
        let text = format!(
            "omega {} kappa kappa kappa {} omega {} delta delta {} omega",
            filler(0),
            filler(20),
            filler(40),
            filler(60)
        );
        assert_eq!(best(Gap::Absolute, &text), ["kappa", "delta", "omega"]);
        assert_eq!(
            best(Gap::None, &text),
            ["omega", "kappa", "delta"],
            "by frequency, then first occurrence"
        );
        assert_eq!(best(Gap::Relative, &text)[..2], ["kappa", "delta"]);
    }

    #[test]
    fn two_scored_terms_are_too_few() {
        let detector = AgglomerateTerm::new(&AgglomerateTermConfig::default(), &Resources::default());
        assert_eq!(detector.fingerprint(&terms("alpha alpha beta beta gamma")), None);
        assert!(detector.fingerprint(&terms("alpha alpha beta beta gamma gamma")).is_some());
    }
}
