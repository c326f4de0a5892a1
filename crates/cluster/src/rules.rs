//! The clustering settings that apply in addition to the detector.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::canonical::CanonicalConfig;
use crate::expiry::ExpiryConfig;

/// The settings for expiry, canonical pages and recrawls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterRules {
    /// The limits of the age and number of centroids.
    pub expiry: ExpiryConfig,
    /// The rules that choose the canonical page of a cluster.
    pub canonical: CanonicalConfig,
    /// The rules that recognise earlier crawls of a url.
    pub recrawls: RecrawlsConfig,
}

impl ClusterRules {
    /// Returns rules that only set expiry. Founders stay canonical, and earlier crawls are not recognised.
    #[must_use]
    pub fn expiry_only(expiry: ExpiryConfig) -> Self {
        Self { expiry, ..Self::default() }
    }
}

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
