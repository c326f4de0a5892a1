//! Settings of what is read as a page, and of which pages may meet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of what is read as a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PageConfig {
    /// Bytes of a page's body; a larger one is UNDECIDABLE (TOO_LARGE).
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub bytes_max: usize,
    /// Bytes of a JSON line that are held at once; of a longer line only
    /// the small fields are read, and the page is UNDECIDABLE (TOO_LARGE).
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub line_bytes_max: usize,
    /// Steps of work that a page may cost from its bytes to its fingerprint, counted and not timed;
    /// a page that needs more is UNDECIDABLE (TOO_COMPLEX). A step is about a nanosecond of one
    /// core. Ordinary pages stay below a hundredth of the default, and 10 MB of ordinary text in
    /// any language below half of it.
    #[schemars(range(min = 1_000_000, max = 1_000_000_000_000_u64))]
    pub work_max: u64,
    /// Characters of main text, white space not counted; a shorter one is UNDECIDABLE (TOO_SHORT).
    #[schemars(range(min = 1, max = 100_000))]
    pub text_chars_min: u32,
}

/// Which pages may meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusConfig {
    /// `all`: all pages are one corpus. `host`: the pages of each host are a corpus of their own.
    /// `header`: a header of the Kafka message names it (in `dedup`, all pages are one corpus).
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

impl Default for PageConfig {
    fn default() -> Self {
        Self { bytes_max: 10 << 20, line_bytes_max: 32 << 20, work_max: 5_000_000_000, text_chars_min: 60 }
    }
}

impl Default for CorpusConfig {
    fn default() -> Self {
        Self { by: CorpusBy::All, header: "corpus".to_owned() }
    }
}
