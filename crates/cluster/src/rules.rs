//! The clustering settings that apply in addition to the detector.

use super::{CanonicalConfig, ExpiryConfig, RecrawlsConfig};

/// The settings for expiry, canonical pages and recrawls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterRules {
    /// How long centroids are kept.
    pub expiry: ExpiryConfig,
    /// How the canonical page of a cluster is chosen.
    pub canonical: CanonicalConfig,
    /// How earlier crawls of a url are recognised.
    pub recrawls: RecrawlsConfig,
}

impl ClusterRules {
    /// Returns rules that only set expiry. Founders stay canonical, and earlier crawls are not recognised.
    #[must_use]
    pub fn expiry_only(expiry: ExpiryConfig) -> Self {
        Self { expiry, ..Self::default() }
    }
}
