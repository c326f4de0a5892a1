//! The settings of extraction, the version of its rules, and the reasons why a page gives no document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use leitong_base::work::TooMuchWork;

/// Version of these rules, part of the fingerprint hash. Raised whenever the same page may give another text than
/// before, or another `page_kind`.
pub const VERSION: u32 = 21;

/// Settings for extracting the main text of HTML (`[extract]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractConfig {
    /// Keeps readers' comments under an article. Posts of a forum are kept in any case.
    pub comments: bool,
    /// Makes pages that show a reason instead of content UNDECIDABLE (NO_CONTENT): errors, captchas and firewalls,
    /// log-in, consent, blocked regions, parked domains, empty shells of script applications. Also pages that announce
    /// an article and show only the frame of their site (NO_ARTICLE).
    pub page_kinds: bool,
    /// Makes pages that are mainly links to others UNDECIDABLE (LISTING). Off by default, because some pages with a
    /// text of their own are taken for listings (docs/extraction.md).
    pub listings: bool,
    /// Adds to verdicts what a page says about its source and itself: publisher, authors, date, canonical link, site,
    /// language (docs/extraction.md). If off, verdicts have `metadata: null`. Fingerprints are the same.
    pub metadata: bool,
    /// Maximum number of block elements and runs of text in a page. A page with more is UNDECIDABLE (TOO_COMPLEX). Each
    /// takes up to 800 bytes while the page is read.
    #[schemars(range(min = 100, max = 100_000_000))]
    pub nodes_max: usize,
    /// Maximum number of elements that are open within one another. A page with more is UNDECIDABLE (TOO_COMPLEX).
    #[schemars(range(min = 100, max = 100_000_000))]
    pub depth_max: usize,
}

impl Default for ExtractConfig {
    fn default() -> Self {
        // The largest page of our sets has 65,662 runs of text. Depth costs 24 bytes per level and no time; no real
        // page is nested deeper.
        Self {
            comments: false,
            page_kinds: true,
            listings: false,
            metadata: true,
            nodes_max: 300_000,
            depth_max: 50_000,
        }
    }
}

/// The reason why a page gives no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ExtractError {
    /// The page has too many block elements and runs of text.
    #[error("the page has more than {nodes_max} block elements and runs of text")]
    TooManyNodes {
        /// The limit.
        nodes_max: usize,
    },
    /// The page's elements are nested too deeply.
    #[error("the page nests elements more than {depth_max} levels deep")]
    TooDeep {
        /// The limit.
        depth_max: usize,
    },
    /// The page is longer than the offsets allow.
    #[error("the page has {bytes} bytes, above the 4 GiB that can be read")]
    TooLong {
        /// Length of the page in bytes.
        bytes: usize,
    },
    /// The page costs more work than is left for it.
    #[error(transparent)]
    TooMuchWork(#[from] TooMuchWork),
}
