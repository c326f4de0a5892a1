//! How long a centroid is kept: the settings, and what has expired by them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use leitong_base::record::timestamp::Timestamp;

/// How long a cluster's centroid is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpiryConfig {
    /// Days by log time after which a centroid matches no
    /// more; a match does not refresh it. Unset: no limit.
    #[schemars(range(min = 1, max = 36_500))]
    pub max_age_days: Option<u32>,
    /// Centroids that are kept, the youngest, and texts of pages that joined clusters; the
    /// bound of the table's memory.
    #[schemars(range(min = 1, max = 4_000_000_000_u64))]
    pub centroids_max: u64,
}

impl Default for ExpiryConfig {
    fn default() -> Self {
        Self { max_age_days: None, centroids_max: 20_000_000 }
    }
}

const MS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

/// What has expired for good. Neither bound ever falls, whatever the settings become: so what a
/// page joins is a function of the log, and of where settings were changed, and does not hang on
/// when an expired centroid was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Centroids below this number have expired.
    pub dead_below: u64,
    /// So have those that were founded before this log time.
    pub dead_before: Option<Timestamp>,
}

impl Bounds {
    /// The bounds under `expiry` where so many centroids were `founded`, at this log time.
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
