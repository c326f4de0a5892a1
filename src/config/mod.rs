//! Every setting, with its default. The doc comments here are the documentation: `leitong config example`
//! prints them, and `docs/configuration.md` is generated from them.
//!
//! In: a TOML file ([`load`]). Out: a checked [`Config`]. Sections stand in the order of the flow. What can
//! change a fingerprint goes into the [fingerprint hash](hash::fingerprint_hash), what can change a decision
//! into the [cluster hash](hash::cluster_hash), and nothing else into either.

pub mod describe;
mod env;
pub mod hash;
pub mod kafka;
pub mod load;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::kafka::{AdminConfig, KafkaConfig};
pub use crate::extract::ExtractConfig;
pub use crate::fingerprint::agglomerate_term::AgglomerateTermConfig;
pub use crate::fingerprint::i_match::IMatchConfig;
pub use crate::fingerprint::network::{ConceptNetworkConfig, WordNetworkConfig};
pub use crate::fingerprint::paragraph::ParagraphConfig;
pub use crate::fingerprint::punctuation::PunctuationConfig;
pub use crate::fingerprint::sentence_ends::SentenceEndsConfig;
pub use crate::fingerprint::shingle::ShingleConfig;
pub use crate::fingerprint::term_hash::TermHash;
pub use crate::fingerprint::term_weight::TermWeight;
pub use crate::fingerprint::tf_idf::TfIdfConfig;

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The detector that decides: `simhash`, `paragraph`, `agglomerate-term`, `concept-network`; for comparison also
    /// `word-network`, `shingle`, `i-match`, `tf-idf`, `punctuation`, `sentence-ends`.
    pub detector: String,
    /// Limits of what is read as a page.
    pub page: PageConfig,
    /// Which pages may meet.
    pub corpus: CorpusConfig,
    /// From HTML to main text.
    pub extract: ExtractConfig,
    /// From text to terms.
    pub segment: SegmentConfig,
    /// How rare terms are, for detectors that ask.
    pub idf: IdfConfig,
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
    /// How long a cluster's centre is kept.
    pub expiry: ExpiryConfig,
    /// Threads and queues.
    pub pipeline: PipelineConfig,
    /// The worker, `leitong run`.
    pub kafka: KafkaConfig,
    /// The port for probes and metrics of `leitong run`.
    pub admin: AdminConfig,
}

/// Limits of what is read as a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PageConfig {
    /// Bytes of a page's body; a larger one is UNDECIDABLE (TOO_LARGE).
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub bytes_max: usize,
    /// Bytes of a JSON line that are held at once; of a longer line only the small fields are read, and the
    /// page is UNDECIDABLE (TOO_LARGE).
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub line_bytes_max: usize,
    /// Characters of main text, white space not counted; a shorter one is UNDECIDABLE (TOO_SHORT).
    #[schemars(range(min = 1, max = 100_000))]
    pub text_chars_min: u32,
}

/// Which pages may meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusConfig {
    /// `all`: all pages are one corpus. `host`: the pages of each host are a corpus of their own. `header`: a
    /// header of the Kafka message names it (in `dedup`, all pages are one corpus).
    pub by: CorpusBy,
    /// The header that names the corpus; a message without it belongs to the corpus `default`.
    pub header: String,
}

/// What tells corpora apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CorpusBy {
    /// One corpus.
    All,
    /// One corpus a host.
    Host,
    /// As a header says.
    Header,
}

/// From text to terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentConfig {
    /// Reads traditional Chinese script as simplified, with regional vocabulary (軟體 = 软件).
    pub fold_script: bool,
    /// Lets jieba guess Chinese words that its dictionary lacks.
    pub hmm: bool,
    /// A dictionary of your own: lines of `word`, `word frequency` or `word frequency tag`. A relative path
    /// starts at the configuration file's folder.
    pub user_dictionary: Option<PathBuf>,
    /// Languages whose stop words are left out, by ISO 639-1 code.
    pub stop_word_languages: Vec<String>,
    /// Stop words of your own, one a line.
    pub stop_word_file: Option<PathBuf>,
}

/// How rare terms are, for detectors that ask.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IdfConfig {
    /// A table that `leitong idf build` made; unset: the one that ships. A relative path starts at the
    /// configuration file's folder.
    pub file: Option<PathBuf>,
}

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
    #[schemars(range(min = 0, max = 16))]
    pub max_distance: u32,
    /// How candidates are found: `bands` (the sketches share one of 8 bands, or the SimHashes are the same; fast in a table of any size) or
    /// `blocks` (every SimHash within the distance; the paper's meaning, slow for distances above 3 in a large
    /// table).
    pub candidates: Candidates,
    /// What confirms a candidate: `sketch` (a second, independent fingerprint) or `none` (the paper's method).
    pub confirm: Confirm,
    /// Values of 64 in which the sketches must agree at distance 0. Unrelated texts agree in 4 to 8.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_near: u32,
    /// The same at `max_distance`; in between, the demand rises evenly.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_far: u32,
    /// The same for the shortest texts, from distance 3 on; up to `short_text_size` the demand falls evenly.
    #[schemars(range(min = 0, max = 64))]
    pub sketch_matches_short: u32,
    /// Size from which on a text is not short: characters of Chinese, or half that many words of English.
    #[schemars(range(min = 0, max = 65_535))]
    pub short_text_size: u32,
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

/// How long a cluster's centre is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpiryConfig {
    /// Days by log time after which a centre matches no more; a match does not refresh it. Unset: no limit.
    #[schemars(range(min = 1, max = 36_500))]
    pub max_age_days: Option<u32>,
    /// Centres that are kept, the youngest; the bound of the table's memory.
    #[schemars(range(min = 1, max = 4_000_000_000_u64))]
    pub centroids_max: u64,
}

/// Threads and queues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PipelineConfig {
    /// Threads that decode, extract, segment and fingerprint; 0: one a core.
    #[schemars(range(min = 0, max = 1024))]
    pub threads: usize,
    /// Pages between the source and the clustering.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub queue_pages: usize,
    /// Bytes of pages between the source and the clustering; a page is let in alone if it is larger.
    #[schemars(range(min = 1024, max = 1_099_511_627_776_u64))]
    pub queue_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            detector: "simhash".to_owned(),
            page: PageConfig::default(),
            corpus: CorpusConfig::default(),
            extract: ExtractConfig::default(),
            segment: SegmentConfig::default(),
            idf: IdfConfig::default(),
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
            pipeline: PipelineConfig::default(),
            kafka: KafkaConfig::default(),
            admin: AdminConfig::default(),
        }
    }
}

impl Default for PageConfig {
    fn default() -> Self {
        Self { bytes_max: 10 << 20, line_bytes_max: 32 << 20, text_chars_min: 60 }
    }
}

impl Default for CorpusConfig {
    fn default() -> Self {
        Self { by: CorpusBy::All, header: "corpus".to_owned() }
    }
}

impl Default for SegmentConfig {
    fn default() -> Self {
        Self {
            fold_script: true,
            hmm: true,
            user_dictionary: None,
            stop_word_languages: vec!["zh".to_owned(), "en".to_owned()],
            stop_word_file: None,
        }
    }
}

impl Default for SimHashConfig {
    fn default() -> Self {
        Self { hash: TermHash::Xxh3, weight: TermWeight::LnTf, near: NearConfig::default() }
    }
}

impl Default for NearConfig {
    fn default() -> Self {
        Self {
            max_distance: 16,
            candidates: Candidates::Bands,
            confirm: Confirm::Sketch,
            sketch_matches_near: 24,
            sketch_matches_far: 40,
            sketch_matches_short: 52,
            short_text_size: 2_000,
        }
    }
}

impl Default for ExpiryConfig {
    fn default() -> Self {
        Self { max_age_days: None, centroids_max: 20_000_000 }
    }
}

impl Default for PipelineConfig {
    fn default() -> Self {
        Self { threads: 0, queue_pages: 4096, queue_bytes: 64 << 20 }
    }
}
