//! Whether pages are known again by their urls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether pages that are crawled again are known by their urls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecrawlsConfig {
    /// Keeps the last crawl of each url with the table: verdicts then say whether a page's text has
    /// changed since, a page leaves the cluster of its former text, and pages can be withdrawn
    /// (docs/kafka.md).
    pub enabled: bool,
    /// Crawls that are kept in a log partition, the youngest, at some 740 bytes of memory each; with
    /// an expired cluster those of its pages are forgotten as well.
    #[schemars(range(min = 1, max = 4_000_000_000_u64))]
    pub pages_max: u64,
}

impl Default for RecrawlsConfig {
    fn default() -> Self {
        Self { enabled: false, pages_max: 10_000_000 }
    }
}
