//! What is in force downstream of the log, beside the detector.

use super::{CanonicalConfig, ExpiryConfig};

/// How long centroids are kept, and which pages stand for their clusters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterRules {
    /// How long centroids are kept.
    pub expiry: ExpiryConfig,
    /// Which page stands for a cluster.
    pub canonical: CanonicalConfig,
}

/// Founders stand for their clusters.
impl From<ExpiryConfig> for ClusterRules {
    fn from(expiry: ExpiryConfig) -> Self {
        Self { expiry, canonical: CanonicalConfig::default() }
    }
}
