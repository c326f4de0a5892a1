//! Expiry of centroids: the settings, and the bounds of what has expired.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use leitong_base::record::Timestamp;

/// How long a cluster's centroid is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpiryConfig {
    /// Days after which a centroid no longer matches, by log time. A match does not extend this time. Unset:
    /// no limit.
    #[schemars(range(min = 1, max = 36_500))]
    pub max_age_days: Option<u32>,
    /// Maximum number of centroids, and of texts of pages that joined clusters. The youngest are kept. This
    /// bounds the table's memory.
    #[schemars(range(min = 1, max = 4_000_000_000_u64))]
    pub centroids_max: u64,
}

impl Default for ExpiryConfig {
    fn default() -> Self {
        Self { max_age_days: None, centroids_max: 20_000_000 }
    }
}

const MS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

/// The bounds of what has expired permanently. Neither bound ever falls, even if settings change. So the
/// cluster that a page joins depends only on the log and on where settings were changed, and not on when an
/// expired centroid was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Centroids below this number have expired.
    pub dead_below: u64,
    /// Centroids that were founded before this log time have expired too.
    pub dead_before: Option<Timestamp>,
}

impl Bounds {
    /// Returns these bounds, raised as `expiry` requires at this log time after `founded` centroids were founded.
    #[must_use]
    pub fn raised(self, expiry: &ExpiryConfig, founded: u64, log_time: Option<Timestamp>) -> Self {
        let too_old = |days: u32, now: Timestamp| {
            Timestamp::from_ms(now.as_ms().saturating_sub(i64::from(days) * MS_PER_DAY))
        };
        let before = expiry.max_age_days.zip(log_time).and_then(|(days, now)| too_old(days, now));
        Self {
            dead_below: self.dead_below.max(founded.saturating_sub(expiry.centroids_max)),
            dead_before: self.dead_before.max(before),
        }
    }
}
