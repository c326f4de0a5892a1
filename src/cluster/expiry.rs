//! Settings of how long a centroid is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a cluster's centroid is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpiryConfig {
    /// Days by log time after which a centroid matches no
    /// more; a match does not refresh it. Unset: no limit.
    #[schemars(range(min = 1, max = 36_500))]
    pub max_age_days: Option<u32>,
    /// Centroids that are kept, the youngest; the bound of the table's memory.
    #[schemars(range(min = 1, max = 4_000_000_000_u64))]
    pub centroids_max: u64,
}

impl Default for ExpiryConfig {
    fn default() -> Self {
        Self { max_age_days: None, centroids_max: 20_000_000 }
    }
}
