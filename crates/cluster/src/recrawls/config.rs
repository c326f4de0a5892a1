//! Settings for recognising earlier crawls of a url.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings for recognising earlier crawls of a url.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecrawlsConfig {
    /// Keeps the last crawl of each url in the table. Verdicts then say if a page's text has changed since
    /// that crawl, a page leaves the cluster of its former text, and pages can be withdrawn (docs/kafka.md).
    pub enabled: bool,
    /// Maximum number of crawls in a log partition; the youngest are kept. Each takes about 740 bytes of
    /// memory. When a cluster expires, the crawls of its pages are evicted too.
    #[schemars(range(min = 1, max = 4_000_000_000_u64))]
    pub pages_max: u64,
}

impl Default for RecrawlsConfig {
    fn default() -> Self {
        Self { enabled: false, pages_max: 10_000_000 }
    }
}
