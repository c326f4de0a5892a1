//! The settings of the detectors `concept-network` and `word-network`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The detector `concept-network`: settings of its fingerprints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConceptNetworkConfig {
    /// Files that list synonyms (see docs/detectors.md): database files of WordNet (`data.noun`, …,
    /// `noun.exc`, …), and lists whose lines are synonyms separated by tabs. Without a file, each term is a
    /// concept of its own.
    pub lexicon_files: Vec<PathBuf>,
    /// Overlap of two words' synonyms, 2·both ÷ (one + other), above which the words are one concept.
    #[schemars(range(min = 0, max = 1))]
    pub(super) overlap_above: f64,
    /// The network of concepts, and the choice of its key concepts.
    pub(super) graph: GraphConfig,
    /// Conditions under which two fingerprints are near.
    pub(super) near: NetworkNearConfig,
}

/// The baseline `word-network`: settings of its fingerprints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WordNetworkConfig {
    /// The network of words, and the choice of its key words.
    pub(super) graph: GraphConfig,
    /// Conditions under which two fingerprints are near.
    pub(super) near: NetworkNearConfig,
}

/// A network of concepts that occur near one another, and the choice of its key concepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct GraphConfig {
    /// Frequency above which a concept is a node.
    #[schemars(range(min = 0, max = 1_000))]
    pub(super) frequency_above: u32,
    /// Maximum distance, in terms, between two concepts of a sentence that are joined by an edge.
    #[schemars(range(min = 1, max = 16))]
    pub(super) edge_terms: usize,
    /// Maximum number of nodes; the most frequent are kept.
    #[schemars(range(min = 3, max = 256))]
    pub(super) nodes_max: usize,
    /// Number of nodes, of the highest degree, whose removal is tried (the paper's l).
    #[schemars(range(min = 3, max = 256))]
    pub(super) hubs: usize,
    /// Number of key concepts: the hubs whose removal lengthens paths most (the paper's p).
    #[schemars(range(min = 3, max = 64))]
    pub(super) key_concepts: usize,
    /// Maximum number of positions of each key concept in the fingerprint. Further occurrences only count
    /// towards its frequency.
    #[schemars(range(min = 2, max = 256))]
    pub(super) positions_max: usize,
}

/// Conditions under which two networks are near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NetworkNearConfig {
    /// Cosine of the key concepts' frequencies above which texts are near.
    #[schemars(range(min = 0, max = 0.9999))]
    pub(super) similarity_above: f64,
    /// Spread of the differences between positions, as a share of the longer text, below which texts are
    /// near. Moved or inserted text raises it. 1 turns this condition off.
    #[schemars(range(min = 0.0001, max = 1))]
    pub(super) spread_below: f64,
}

impl Default for ConceptNetworkConfig {
    fn default() -> Self {
        Self {
            lexicon_files: Vec::new(),
            overlap_above: 0.5,
            graph: GraphConfig::default(),
            near: NetworkNearConfig::default(),
        }
    }
}

impl Default for GraphConfig {
    fn default() -> Self {
        // `edge_terms`, `hubs` (l) and `key_concepts` (p) are the paper's; ADR 7 has the reasons for the
        // other values.
        Self {
            frequency_above: 0,
            edge_terms: 2,
            nodes_max: 256,
            hubs: 30,
            key_concepts: 20,
            positions_max: 48,
        }
    }
}

impl Default for NetworkNearConfig {
    fn default() -> Self {
        Self { similarity_above: 0.9, spread_below: 0.1 }
    }
}
