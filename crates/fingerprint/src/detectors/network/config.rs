//! The settings of the detectors `concept-network` and `word-network`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The detector `concept-network`: what makes a fingerprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConceptNetworkConfig {
    /// Files that say which words mean the same (see docs/detectors.md): database files of WordNet
    /// (`data.noun`, …, `noun.exc`, …), and lists with the synonyms of each line parted by tabs.
    /// Relative paths start at the configuration file's folder. Without a file each term is a
    /// concept of its own.
    pub lexicon_files: Vec<PathBuf>,
    /// Overlap of two words' synonyms, 2·both ÷ (one + other), above which they are one concept.
    #[schemars(range(min = 0, max = 1))]
    pub overlap_above: f64,
    /// The network of concepts, and which of them are key concepts.
    pub graph: GraphConfig,
    /// When two fingerprints are near.
    pub near: NetworkNearConfig,
}

/// The baseline `word-network`: what makes a fingerprint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WordNetworkConfig {
    /// The network of words, and which of them are key words.
    pub graph: GraphConfig,
    /// When two fingerprints are near.
    pub near: NetworkNearConfig,
}

/// A network of concepts that stand near one another, and which of them are key concepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphConfig {
    /// Frequency above which a concept is a node.
    #[schemars(range(min = 0, max = 1_000))]
    pub frequency_above: u32,
    /// Concepts at most so many terms apart, in one sentence, are joined by an edge.
    #[schemars(range(min = 1, max = 16))]
    pub edge_terms: usize,
    /// Nodes at most, the most frequent first.
    #[schemars(range(min = 3, max = 256))]
    pub nodes_max: usize,
    /// Nodes of the highest degree whose removal is tried (the paper's l).
    #[schemars(range(min = 3, max = 256))]
    pub hubs: usize,
    /// Key concepts: the hubs whose removal lengthens paths most (the paper's p).
    #[schemars(range(min = 3, max = 64))]
    pub key_concepts: usize,
    /// Positions of each key concept that the fingerprint
    /// holds; occurrences beyond them count as frequency alone.
    #[schemars(range(min = 2, max = 256))]
    pub positions_max: usize,
}

/// When two networks are near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkNearConfig {
    /// Cosine of the key concepts' frequencies above which texts are near.
    #[schemars(range(min = 0, max = 0.9999))]
    pub similarity_above: f64,
    /// Spread of the differences between positions, as a share of the longer text, below
    /// which texts are near. Text that moved or came in between raises it. 1 leaves it out.
    #[schemars(range(min = 0.0001, max = 1))]
    pub spread_below: f64,
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
        // Edges, hubs and key concepts are the paper's l and p; ADR 7 has the rest.
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
