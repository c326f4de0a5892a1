//! The reasons why a table cannot be restored from its changelog. Each says what to do, since an owner that meets one
//! halts until an operator acts.

use thiserror::Error;

use super::ChangelogRecord;
use crate::TableFault;
use crate::log::identity::Replaced;

/// The reason why a table cannot be restored.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum RestoreError {
    /// A newer Leitong wrote the record.
    #[error(
        "the changelog holds format version {found}, but this version of Leitong reads only up to \
         {known}; update this instance",
        known = ChangelogRecord::FORMAT_VERSION_MAX
    )]
    TooNew {
        /// Format version of the record.
        found: u32,
    },
    /// The record is not one that Leitong wrote.
    #[error(
        "the changelog is damaged: {0}; see `Rebuilding a table` in docs/kafka.md, and let nothing else write to \
         this topic"
    )]
    Damaged(String),
    /// Some unexpired centroids are missing.
    #[error(
        "the centroids {first} to {last} are missing from the changelog, although they have not expired: \
         another program deleted them, or the topic's retention is limited. Do not reset the group's \
         offset: pages would get other verdicts. See `Rebuilding a table` in docs/kafka.md, and let only \
         Leitong delete records of this topic"
    )]
    Gap {
        /// Number of the first missing centroid.
        first: u64,
        /// Number of the last missing centroid.
        last: u64,
    },
    /// The log had another number of partitions.
    #[error(
        "the table was made with {found} partitions of the log, but the log has {wanted} now, so pages of \
         one corpus would be split over two tables; use the old topics, or other topics and another \
         kafka.app"
    )]
    PartitionCount {
        /// The number in the position record.
        found: u32,
        /// The number of partitions that the topic has now.
        wanted: u32,
    },
    /// The log or the changelog is another topic than the one that the table was made with.
    #[error(transparent)]
    Replaced(#[from] Replaced),
    /// Another installation writes to the changelog.
    #[error(
        "the changelog was written under another kafka.app: two installations that share topics would give each page \
         two verdicts; set kafka.app to the old name, or give this installation its own topics (kafka.topics.*)"
    )]
    OtherApp,
    /// The settings that apply after the log have changed.
    #[error(
        "the settings of clustering have changed: the cluster_hash of the table is {found:016x}, that of \
         this instance {wanted:016x}; restore the old settings, or accept the new ones from log offset {at} \
         on with `leitong run --accept-cluster-hash {wanted:016x}`"
    )]
    ClusterHash {
        /// The value in the position record.
        found: u64,
        /// The value of this instance.
        wanted: u64,
        /// Log offset from which on the change would take effect.
        at: u64,
    },
    /// Old centroids cannot be read, or can no longer be written.
    #[error(transparent)]
    Disk(#[from] TableFault),
    /// The table on disk and the changelog differ.
    #[error(
        "the table on disk ends with centroid {number}, but the changelog has another centroid with this number"
    )]
    OtherTable {
        /// Number of the centroid that differs.
        number: u64,
    },
}
