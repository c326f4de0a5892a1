//! Settings that limit pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits for the pages that are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PageConfig {
    /// Maximum size of a page's body in bytes, after decompression. A page with a larger body is UNDECIDABLE
    /// (TOO_LARGE).
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub bytes_max: usize,
    /// Maximum size, in bytes, of a line or row that is held in memory. If a line of JSON is longer, only its small
    /// fields are read, and the page is UNDECIDABLE (TOO_LARGE). A longer row of CSV becomes a dead letter.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub line_bytes_max: usize,
    /// Maximum work that a page may take from its bytes to its fingerprint, in steps that are counted and not
    /// timed. A page that needs more is UNDECIDABLE (TOO_COMPLEX). A step takes about a nanosecond of one
    /// core. Ordinary pages need less than a hundredth of the default, and 10 MB of ordinary text in any
    /// language less than half of it.
    #[schemars(range(min = 1_000_000, max = 1_000_000_000_000_u64))]
    pub work_max: u64,
    /// Minimum length of the main text in characters, without white space. An ideograph or kana counts as
    /// three, a Hangul syllable as two. A page with a shorter text is UNDECIDABLE (TOO_SHORT).
    #[schemars(range(min = 1, max = 100_000))]
    pub text_chars_min: u32,
}

impl Default for PageConfig {
    fn default() -> Self {
        // A body of 10 MiB has 13 MiB as Base64, and up to three times its bytes as escaped JSON. 10 MB of
        // ordinary text in any language need less than half of `work_max` (ADR 15).
        Self { bytes_max: 10 << 20, line_bytes_max: 32 << 20, work_max: 5_000_000_000, text_chars_min: 60 }
    }
}
