//! The clustering settings that apply in addition to the detector.

use super::{CanonicalConfig, ExpiryConfig, RecrawlsConfig};

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
