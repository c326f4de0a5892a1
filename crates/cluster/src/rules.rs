//! What is in force downstream of the log, beside the detector.

use super::{CanonicalConfig, ExpiryConfig, RecrawlsConfig};

/// How long centroids are kept, which pages stand for their clusters, and whether pages are known
/// again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterRules {
    /// How long centroids are kept.
    pub expiry: ExpiryConfig,
    /// Which page stands for a cluster.
    pub canonical: CanonicalConfig,
    /// Whether pages are known again by their urls.
    pub recrawls: RecrawlsConfig,
}

impl ClusterRules {
    /// Rules of expiry alone: founders stand for their clusters, and nobody knows a page again.
    #[must_use]
    pub fn expiry_only(expiry: ExpiryConfig) -> Self {
        Self { expiry, ..Self::default() }
    }
}
