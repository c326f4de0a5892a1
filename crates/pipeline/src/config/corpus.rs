//! Settings that assign pages to corpora.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The corpora: pages from different corpora are never compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusConfig {
    /// How pages are assigned to corpora. `all`: all pages are in one corpus. `host`: each host has its own
    /// corpus. `header`: a header of the Kafka message names the corpus (in `dedup`, all pages are in one
    /// corpus).
    pub by: CorpusBy,
    /// The header that names the corpus. A message without it belongs to the corpus `default`.
    pub header: String,
}

/// The property that assigns a page to a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CorpusBy {
    /// All pages are in one corpus.
    All,
    /// Each host has its own corpus.
    Host,
    /// A message header names the corpus.
    Header,
}

impl Default for CorpusConfig {
    fn default() -> Self {
        Self { by: CorpusBy::All, header: "corpus".to_owned() }
    }
}
