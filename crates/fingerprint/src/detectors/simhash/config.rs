//! Settings of the detector `simhash`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::term_hash::TermHash;
use crate::term_weight::TermWeight;

/// The detector `simhash`: settings of its fingerprints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimHashConfig {
    /// Hash of a term: `xxh3` (well mixed), `sdbm` (the paper's, over UTF-16) or `sdbm-utf8`.
    pub(crate) hash: TermHash,
    /// Weight of a term that occurs tf times: `ln-tf` (1 + ln tf) or `tf` (the paper's).
    pub(crate) weight: TermWeight,
    /// Conditions under which two fingerprints are near.
    pub near: NearConfig,
}

/// The detector `simhash`: conditions under which two fingerprints are near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NearConfig {
    /// Maximum number of differing bits, of 64, between near SimHashes.
    #[schemars(range(min = 0, max = 20))]
    pub max_distance: u32,
    /// Method that finds candidates: `bands` (the sketches share one of 4 bands or 10 passages, or the
    /// SimHashes are equal; fast in a table of any size) or `blocks` (every SimHash within the distance, as
    /// in the paper; slow for distances above 3 in a large table).
    pub candidates: Candidates,
    /// Confirmation of candidates: `sketch` (by a second, independent fingerprint) or `none` (the paper's
    /// method).
    pub confirm: Confirm,
    /// Number of the 64 sketch values that must agree in any case: six fewer between versions of one page. In unrelated
    /// texts, 4 to 8 agree.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_near: u32,
    /// Number of the 64 sketch values that must agree beyond those that the judge requires for texts of these sizes,
    /// facts, numbers, SimHashes and addresses. With 6, fewer pages of one template are taken for copies, and fewer
    /// edited copies are found.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_more: u32,
    /// Compares the addresses of pages as well. Pages of one site under different names are often a series from
    /// one template, so more values must agree. Fewer must agree for pages of different sites, or of one name: a
    /// page that was moved, mirrored or fetched again. `false`: addresses are ignored.
    pub addresses: bool,
    /// Minimum length of the shorter of two near texts, as a share of the length of the longer one. If it is
    /// shorter, it is an excerpt.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub length_ratio_min: f64,
    /// Size below which texts are short, in characters of Chinese; an English word counts as two. Short texts are not
    /// near if a number of one is replaced in the other. 0: numbers, versions and names are ignored in texts of any
    /// size.
    #[schemars(range(min = 0, max = 65_535))]
    pub number_text_size: u32,
    /// Near pages that are duplicates, by their relation to the canonical page: `all`; `contained` (`SAME` and
    /// `EXCERPT`, so deleting duplicates loses no text); or `same`. Each other near page founds its own cluster, and
    /// is reported as related.
    pub duplicates: Duplicates,
    /// Number of the 64 sketch values that must agree for a page that is not near to be reported as related: an
    /// excerpt, a page that repeats another among other text, or a merged page. Up to 6 fewer are enough if one text
    /// is much longer; more are needed if the SimHashes are far apart. 0: no such page is related.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_related: u32,
    /// Maximum number of differing bits, of 64, between the SimHashes of related pages that share one of ten
    /// sampled passages. A value below `max_distance` has no effect. Lower it if decisions take too long because
    /// very many pages share a passage; fewer excerpts are then found.
    #[schemars(range(min = 0, max = 32))]
    pub max_distance_related: u32,
}

/// Near pages that are duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// All near pages.
    All,
    /// Only pages whose text is contained in the canonical page's.
    Contained,
    /// Only pages whose text is the canonical page's, perhaps edited.
    Same,
}

/// Method that finds candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    /// By bands of the sketch.
    Bands,
    /// By blocks of the SimHash.
    Blocks,
}

/// Confirmation of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confirm {
    /// By comparing the sketches.
    Sketch,
    /// No confirmation.
    None,
}

impl Default for SimHashConfig {
    fn default() -> Self {
        Self { hash: TermHash::Xxh3, weight: TermWeight::LnTf, near: NearConfig::default() }
    }
}

impl Default for NearConfig {
    fn default() -> Self {
        // Distance, bands and confirmation: ADR 1. Numbers: ADR 16. Addresses: ADR 20. Related pages: ADR 20 and 32.
        // The judge: ADR 50.
        Self {
            max_distance: 20,
            candidates: Candidates::Bands,
            confirm: Confirm::Sketch,
            sketch_matches_near: 25,
            sketch_matches_more: 0,
            addresses: true,
            length_ratio_min: 0.5,
            number_text_size: 500,
            duplicates: Duplicates::All,
            sketch_matches_related: 16,
            max_distance_related: 28,
        }
    }
}
