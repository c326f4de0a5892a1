//! Settings of the detector `simhash`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::term_hash::TermHash;
use crate::term_weight::TermWeight;

/// The detector `simhash`: what makes a fingerprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimHashConfig {
    /// The hash of a term: `xxh3` (well mixed), `sdbm` (the paper's, over UTF-16) or `sdbm-utf8`.
    pub hash: TermHash,
    /// What a term counts that occurs tf times: `ln-tf` (1 + ln tf) or `tf` (the paper's).
    pub weight: TermWeight,
    /// When two fingerprints are near.
    pub near: NearConfig,
}

/// The detector `simhash`: when two fingerprints are near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NearConfig {
    /// Bits of 64 in which near SimHashes may differ.
    #[schemars(range(min = 0, max = 20))]
    pub max_distance: u32,
    /// How candidates are found: `bands` (the sketches share one of 11 bands or 10 passages, or
    /// the SimHashes are the same; fast in a table of any size) or `blocks` (every SimHash within
    /// the distance; the paper's meaning, slow for distances above 3 in a large table).
    pub candidates: Candidates,
    /// What confirms a candidate: `sketch` (a second,
    /// independent fingerprint) or `none` (the paper's method).
    pub confirm: Confirm,
    /// Values of 64 in which the sketches must agree at distance 0. Unrelated texts agree in 4 to 8. Of
    /// long texts of one site under different names 15 more, and of versions of one page 6 fewer.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_near: u32,
    /// The same at `max_distance`; in between, the demand rises evenly.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_far: u32,
    /// Values of 64 in which the sketches of the shortest texts must agree. The demand falls evenly with the
    /// length, to 25 at 1,400 characters of Chinese, or half as many words of English. Lower values find more
    /// edited and cut copies of short texts, and more short pages of one template.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_short: u32,
    /// Size from which on a text is not short: characters
    /// of Chinese, or half that many words of English.
    #[schemars(range(min = 0, max = 65_535))]
    pub short_text_size: u32,
    /// Whether addresses count: series of one template stand on one site under different names, so
    /// that of pages of different sites, or of one name (a page that was moved, mirrored or fetched
    /// again), less is asked. `false`: as if no page had an address.
    pub addresses: bool,
    /// `sketch_matches_short` for pages of different sites (of pages of one name nothing is asked
    /// for brevity).
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_short_apart: u32,
    /// `short_text_size` for pages of different sites.
    #[schemars(range(min = 0, max = 65_535))]
    pub short_text_size_apart: u32,
    /// Share of what the shorter text says, as far as the sketches tell, that is enough in the longer
    /// text whatever `sketch_matches_short` asks for: so a short text is found again with its end cut
    /// off, or a line added. Of pages whose addresses are not known.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub contained_min: f64,
    /// Length of the shorter text as a share of the longer one's
    /// from which on they may be near: below, one is an excerpt.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub length_ratio_min: f64,
    /// Size below which texts with other numbers in the same places are not near (one may differ for
    /// three that are the same, or for one of two versions of one page), nor texts of one site under
    /// different names of which a number, version or name was replaced. Of longer ones of one site a
    /// sixteenth of these may be. 0: such facts decide nothing.
    #[schemars(range(min = 0, max = 65_535))]
    pub number_text_size: u32,
    /// Which near pages are duplicates, by how their texts relate: `all`; `contained`, those whose
    /// text stands in the canonical page's (`SAME`, `EXCERPT`), so that nothing is lost with them;
    /// or `same`. The others found clusters, and are related.
    pub duplicates: Duplicates,
    /// Values of 64 in which the sketches must agree for a page that is not near to be called
    /// related: an excerpt, a page that repeats another among more, a merged one. Where the lengths
    /// are unlike, up to 6 fewer do; the further the SimHashes are apart, the more are asked for.
    /// 0: none is.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_related: u32,
    /// Bits of 64 in which the SimHashes of related pages may differ that have one of ten sampled
    /// passages in common; `max_distance` if that is more. Less where very many pages have a passage
    /// in common and decisions on them are to be quicker: fewer excerpts are found then.
    #[schemars(range(min = 0, max = 32))]
    pub max_distance_related: u32,
}

/// Which near pages are duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// All.
    All,
    /// Those whose text stands in the canonical page's.
    Contained,
    /// Those whose text is the canonical page's, perhaps edited.
    Same,
}

/// How candidates are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    /// By the sketch.
    Bands,
    /// By the SimHash.
    Blocks,
}

/// What confirms a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confirm {
    /// The sketch.
    Sketch,
    /// Nothing.
    None,
}

impl Default for SimHashConfig {
    fn default() -> Self {
        Self { hash: TermHash::Xxh3, weight: TermWeight::LnTf, near: NearConfig::default() }
    }
}

impl Default for NearConfig {
    fn default() -> Self {
        // Distance, bands and confirmation: ADR 1. Demands by length, contained passages and numbers: ADR 16. Demands
        // by addresses: ADR 20. Related pages: ADR 20 and 32. Long texts: ADR 40.
        Self {
            max_distance: 20,
            candidates: Candidates::Bands,
            confirm: Confirm::Sketch,
            sketch_matches_near: 25,
            sketch_matches_far: 25,
            sketch_matches_short: 52,
            short_text_size: 1_400,
            addresses: true,
            sketch_matches_short_apart: 37,
            short_text_size_apart: 400,
            contained_min: 0.93,
            length_ratio_min: 0.5,
            number_text_size: 1_000,
            duplicates: Duplicates::All,
            sketch_matches_related: 16,
            max_distance_related: 28,
        }
    }
}
