//! All settings with their defaults. The doc comments here are the user's documentation:
//! `leitong config example` prints them, and `docs/configuration.md` is generated from them.
//!
//! In: a TOML file ([`load`]). Out: a checked [`Config`]. Sections are in the order in which a page meets
//! them. Not every file may hold every setting ([`scope`]). A setting that can change a fingerprint is part
//! of the [fingerprint hash](hash::fingerprint_hash), one that can change a decision is part of the [cluster
//! hash](hash::cluster_hash), and no other setting is part of either.

pub mod admin;
pub mod api;
mod check;
mod corpus;
pub mod describe;
pub mod detectors;
mod env;
mod fingerprint;
pub mod hash;
mod identity;
pub mod kafka;
pub mod load;
pub mod redact;
mod scope;
pub mod table;
pub mod traces;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use admin::AdminConfig;
pub use api::ApiConfig;
pub use corpus::{CorpusBy, CorpusConfig};
pub use fingerprint::{FingerprintConfig, IdfConfig};
pub use kafka::KafkaConfig;
use leitong_cluster::ClusterRules;
pub use leitong_cluster::{CanonicalConfig, ExpiryConfig, RecrawlsConfig};
pub use leitong_fingerprint::detectors::simhash::{
    Candidates, Confirm, Duplicates, NearConfig, SimHashConfig,
};
pub use leitong_fingerprint::detectors::{
    AgglomerateTermConfig, ConceptNetworkConfig, IMatchConfig, ParagraphConfig, PunctuationConfig,
    SentenceEndsConfig, ShingleConfig, TfIdfConfig, WordNetworkConfig,
};
pub use leitong_text::extract::ExtractConfig;
pub use leitong_text::page::PageConfig;
pub use leitong_text::page::mapping::InputConfig;
pub use leitong_text::segment::SegmentConfig;
pub use table::TableConfig;
pub use traces::TracesConfig;

/// The complete configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// Detector to decide with: `simhash`, `paragraph`, `agglomerate-term` or `concept-network`.
    pub detector: String,
    /// Format of the input: a preset, and deviations from it. These settings are not part of any hash, since
    /// they only determine how a page is read. So pages from all crawlers are compared with each other.
    pub input: InputConfig,
    /// Limits on pages.
    pub page: PageConfig,
    /// Corpora. Only pages of the same corpus are compared.
    pub corpus: CorpusConfig,
    /// Extraction of the main text from HTML.
    pub extract: ExtractConfig,
    /// Segmentation of text into terms.
    pub segment: SegmentConfig,
    /// Rarity of terms, for detectors that use it.
    pub idf: IdfConfig,
    /// Settings for the fingerprints of all detectors.
    pub fingerprint: FingerprintConfig,
    /// The detector `simhash`.
    pub simhash: SimHashConfig,
    /// The detector `paragraph`.
    pub paragraph: ParagraphConfig,
    /// The detector `agglomerate-term`.
    #[serde(rename = "agglomerate-term")]
    pub agglomerate_term: AgglomerateTermConfig,
    /// The detector `concept-network`.
    #[serde(rename = "concept-network")]
    pub concept_network: ConceptNetworkConfig,
    /// The baseline `word-network`.
    #[serde(rename = "word-network")]
    pub word_network: WordNetworkConfig,
    /// The baseline `shingle`.
    pub shingle: ShingleConfig,
    /// The baseline `i-match`.
    #[serde(rename = "i-match")]
    pub i_match: IMatchConfig,
    /// The baseline `tf-idf`.
    #[serde(rename = "tf-idf")]
    pub tf_idf: TfIdfConfig,
    /// The baseline `punctuation`.
    pub punctuation: PunctuationConfig,
    /// The baseline `sentence-ends`.
    #[serde(rename = "sentence-ends")]
    pub sentence_ends: SentenceEndsConfig,
    /// Expiry of clusters: how long their centroids are kept.
    pub expiry: ExpiryConfig,
    /// Choice of the page that represents a cluster in verdicts.
    pub canonical: CanonicalConfig,
    /// Recognition, by their urls, of pages that are crawled again.
    pub recrawls: RecrawlsConfig,
    /// Location of a table's centroids.
    pub table: TableConfig,
    /// Threads and queues.
    pub pipeline: PipelineConfig,
    /// The worker, `leitong run`.
    pub kafka: KafkaConfig,
    /// The port for probes and metrics of `leitong run`.
    pub admin: AdminConfig,
    /// Traces of pages through `leitong run`.
    pub traces: TracesConfig,
    /// The HTTP API of `leitong serve`, and look-ups of `leitong run`.
    pub api: ApiConfig,
}

impl Config {
    /// Replaces the detector and the settings of all detectors by those of `variant`, and keeps all others.
    #[must_use]
    pub fn with_detector_of(self, variant: Self) -> Self {
        Self {
            detector: variant.detector,
            idf: variant.idf,
            simhash: variant.simhash,
            paragraph: variant.paragraph,
            agglomerate_term: variant.agglomerate_term,
            concept_network: variant.concept_network,
            word_network: variant.word_network,
            shingle: variant.shingle,
            i_match: variant.i_match,
            tf_idf: variant.tf_idf,
            punctuation: variant.punctuation,
            sentence_ends: variant.sentence_ends,
            ..self
        }
    }

    /// Returns the clustering settings that apply after the log, apart from those of the detector.
    #[must_use]
    pub fn cluster_rules(&self) -> ClusterRules {
        ClusterRules {
            expiry: self.expiry.clone(),
            canonical: self.canonical.clone(),
            recrawls: self.recrawls.clone(),
        }
    }
}

/// Limit on the number of threads in any setting.
pub const THREADS_MAX: usize = 1024;

/// Threads and queues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PipelineConfig {
    /// Number of threads that decode, extract, segment and fingerprint; 0 for one per core.
    #[schemars(range(min = 0, max = THREADS_MAX))]
    pub threads: usize,
    /// Limit on the number of pages between the source and the sink, which is the log in a worker.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub queue_pages: usize,
    /// Limit on the bytes of pages between the source and the sink, which is the log in a worker. The page read
    /// last may exceed it.
    #[schemars(range(min = 1024, max = 1_099_511_627_776_u64))]
    pub queue_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            detector: "simhash".to_owned(),
            input: InputConfig::default(),
            page: PageConfig::default(),
            corpus: CorpusConfig::default(),
            extract: ExtractConfig::default(),
            segment: SegmentConfig::default(),
            idf: IdfConfig::default(),
            fingerprint: FingerprintConfig::default(),
            simhash: SimHashConfig::default(),
            paragraph: ParagraphConfig::default(),
            agglomerate_term: AgglomerateTermConfig::default(),
            concept_network: ConceptNetworkConfig::default(),
            word_network: WordNetworkConfig::default(),
            shingle: ShingleConfig::default(),
            i_match: IMatchConfig::default(),
            tf_idf: TfIdfConfig::default(),
            punctuation: PunctuationConfig::default(),
            sentence_ends: SentenceEndsConfig::default(),
            expiry: ExpiryConfig::default(),
            canonical: CanonicalConfig::default(),
            recrawls: RecrawlsConfig::default(),
            table: TableConfig::default(),
            pipeline: PipelineConfig::default(),
            kafka: KafkaConfig::default(),
            admin: AdminConfig::default(),
            traces: TracesConfig::default(),
            api: ApiConfig::default(),
        }
    }
}

impl Default for PipelineConfig {
    fn default() -> Self {
        // An ordinary page has 16 KiB, and 4,096 of them are 64 MiB. So both limits are reached at about the same
        // load.
        Self { threads: 0, queue_pages: 4096, queue_bytes: 64 << 20 }
    }
}
