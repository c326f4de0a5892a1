//! The settings of the detector `paragraph`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::term_weight::TermWeight;

/// The detector `paragraph`: settings of its fingerprints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ParagraphConfig {
    /// Number of bits of a paragraph's SimHash: `64` or `128`.
    pub(super) bits: Bits,
    /// Terms of a paragraph that are hashed: those of its `representative` sentences (the better half, as in
    /// the paper), or those of the `whole` paragraph, each weighted by the score of its sentence.
    pub(super) terms: HashedTerms,
    /// Weight of a term that occurs tf times in its paragraph: `ln-tf` (1 + ln tf) or `tf`.
    pub(super) weight: TermWeight,
    /// Multiplies a term's weight by its IDF, as in the paper.
    pub(super) idf: bool,
    /// Minimum length of a scored sentence, in characters. A paragraph without such a sentence has no
    /// fingerprint.
    #[schemars(range(min = 1, max = 1_000))]
    pub(super) sentence_chars_min: usize,
    /// Share of a sentence's score that comes from its length, compared with the longest sentence of the paragraph.
    /// The three shares must add up to 1.
    #[schemars(range(min = 0, max = 1))]
    pub(super) score_length: f64,
    /// Share of a sentence's score that comes from its position: 1 for the first and the last sentence, else
    /// a half.
    #[schemars(range(min = 0, max = 1))]
    pub(super) score_position: f64,
    /// Share of a sentence's score that comes from its relevance: its share of the paragraph's term weight.
    #[schemars(range(min = 0, max = 1))]
    pub(super) score_relevance: f64,
    /// Weight of the opening paragraph, in percent of its characters.
    #[schemars(range(min = 1, max = 1_000))]
    pub(super) opening_percent: u32,
    /// Weight of a paragraph under a heading, in percent of its characters.
    #[schemars(range(min = 1, max = 1_000))]
    pub(super) under_heading_percent: u32,
    /// Weight of a list item, in percent of its characters, applied once for each list that contains it.
    #[schemars(range(min = 1, max = 100))]
    pub(super) list_level_percent: u32,
    /// Maximum number of paragraphs in a fingerprint; those of the highest weight are kept. Each takes 10 bytes
    /// if `bits` is 64, or 18 if it is 128.
    #[schemars(range(min = 1, max = 4_096))]
    pub(super) paragraphs_max: usize,
    /// File with common paragraphs to ignore, one per line (see docs/detectors.md), instead of the few that
    /// ship with Leitong.
    pub boilerplate_file: Option<std::path::PathBuf>,
    /// Conditions under which two fingerprints are near.
    pub(super) near: ParagraphNearConfig,
}

/// The detector `paragraph`: conditions under which two fingerprints are near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ParagraphNearConfig {
    /// Matching of paragraphs. `one-to-one`: enough of both pages is in paragraphs that match. `strict` (the
    /// paper's): both pages have the same number of paragraphs, and the i-th matches the i-th.
    pub(super) matching: Matching,
    /// Maximum number of differing bits between matching paragraphs.
    #[schemars(range(min = 0, max = 32))]
    pub(super) max_distance: u32,
    /// Minimum share of the weight of both pages that is in matching paragraphs.
    #[schemars(range(min = 0.0001, max = 1))]
    pub(super) share_min: f64,
    /// Method that finds candidates: `bands` (pages of which one paragraph has 32 bits in a row in common with a
    /// paragraph of the new page; fast in a table of any size) or `blocks` (all pages with a matching paragraph;
    /// slow in a large table unless `bits` is 128 and `max_distance` at most 3).
    pub(super) candidates: Candidates,
}

/// Number of bits of a SimHash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) enum Bits {
    /// 8 bytes.
    #[serde(rename = "64")]
    B64,
    /// 16 bytes.
    #[serde(rename = "128")]
    B128,
}

/// Terms of a paragraph that are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HashedTerms {
    /// Terms of the best ⌈n/2⌉ sentences.
    Representative,
    /// All terms, weighted by the score of their sentence.
    Whole,
}

/// Matching of paragraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Matching {
    /// Any two paragraphs may match; the closest are paired first.
    OneToOne,
    /// Paragraphs match only in the same position: the first with the first, and so on.
    Strict,
}

/// Method that finds candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Candidates {
    /// 32 bits in a row are equal.
    Bands,
    /// Any match.
    Blocks,
}

impl ParagraphConfig {
    /// Returns an error if the three shares of a score do not add up to 1.
    pub fn faults(&self) -> Option<String> {
        let Self { score_length, score_position, score_relevance, .. } = self;
        let sum = score_length + score_position + score_relevance;
        // Shares such as 0.333 are meant as thirds.
        ((sum - 1.0).abs() > 0.002).then(|| {
            format!(
                "paragraph.score_length = {score_length}: score_length, score_position = {score_position} and \
                 score_relevance = {score_relevance} must add up to 1, but their sum is {sum:.3}"
            )
        })
    }
}

impl Default for ParagraphConfig {
    fn default() -> Self {
        // The scores are the paper's; widths, weights and the share were chosen by measurement (ADR 7).
        Self {
            bits: Bits::B64,
            terms: HashedTerms::Whole,
            weight: TermWeight::LnTf,
            idf: false,
            sentence_chars_min: 20,
            score_length: 0.3,
            score_position: 0.3,
            score_relevance: 0.4,
            opening_percent: 120,
            under_heading_percent: 100,
            list_level_percent: 90,
            paragraphs_max: 256,
            boilerplate_file: None,
            near: ParagraphNearConfig::default(),
        }
    }
}

impl Default for ParagraphNearConfig {
    fn default() -> Self {
        Self { matching: Matching::OneToOne, max_distance: 8, share_min: 0.25, candidates: Candidates::Bands }
    }
}
