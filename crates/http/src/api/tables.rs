//! The interface between the API and the tables that it looks up: the one table of `leitong serve`
//! ([`super::store`]), or those of a Kafka worker's log partitions.
//!
//! An implementation locks a table for one search at a time, and returns the log position that the answer is
//! based on.

use serde::Serialize;

use super::problem::Problem;
use leitong_base::record::{FingerprintRecord, Timestamp};
use leitong_cluster::verdict::Verdict;
use leitong_cluster::{CanonicalPage, Centroid, ClusterId, Position, PreviewOptions, Scratch};

/// Tables to look up, and recent verdicts.
pub trait Tables: Send + Sync {
    /// Returns the verdict that `record` would get as the next one of its log, and the pages near it. The
    /// implementation sets the record's place in the log, and its time if the log has times of its own.
    ///
    /// # Errors
    /// Fails if this instance has no table for the record's corpus, or cannot read the table.
    fn look_up(
        &self,
        record: FingerprintRecord,
        preview: PreviewOptions,
        now: Timestamp,
        scratch: &mut Scratch,
    ) -> Result<LookedUp, Problem>;

    /// Returns the last verdict on a page, as JSON.
    ///
    /// # Errors
    /// Fails if no verdict on the page is kept.
    fn page(&self, page_id: &str) -> Result<Box<[u8]>, Problem>;

    /// Returns the last verdict on a page with this url, as JSON.
    ///
    /// # Errors
    /// Fails if no verdict on such a page is kept.
    fn page_of_url(&self, url: &str) -> Result<Box<[u8]>, Problem>;

    /// Returns a cluster, with the verdicts on at most `members_max` of its members.
    ///
    /// # Errors
    /// Fails if this instance does not have the cluster's table, or cannot read it.
    fn cluster(
        &self,
        id: ClusterId,
        members_max: usize,
        scratch: &mut Scratch,
    ) -> Result<KnownCluster, Problem>;

    /// Returns the reason why requests cannot be answered now; `None` if they can.
    fn not_ready(&self) -> Option<String> {
        None
    }

    /// Updates the metrics of the tables, if nothing else does.
    fn measure(&self) {}

    /// Returns what to do instead of `POST /v1/pages`; `None` if pages can be stored over HTTP.
    fn instead_of_storing(&self) -> Option<String>;
}

/// The result of a look-up.
#[derive(Debug, Clone)]
pub struct LookedUp {
    /// The verdict that the page would get.
    pub verdict: Verdict,
    /// The nearest canonical pages.
    pub nearest: Vec<CanonicalPage>,
    /// The position that the result is based on.
    pub as_of: AsOf,
}

/// A cluster, and its known members.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownCluster {
    /// Centroid, with id and url of the cluster's canonical page; `None` once it has expired.
    pub centroid: Option<Centroid>,
    /// Number of members whose verdicts are kept.
    pub members_kept: usize,
    /// Verdicts on the youngest members as JSON, the youngest first.
    pub members: Vec<Box<[u8]>>,
}

/// The position in the log that an answer is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AsOf {
    /// Partition of the log.
    pub log_partition: u32,
    /// First log offset that the answer does not consider.
    pub log_offset: u64,
    /// Role of this instance for the table; `None` if there is only one instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_as: Option<HeldAs>,
}

leitong_base::named! {
    /// Role of an instance for a table.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum HeldAs {
        /// The instance decides on the pages of the table.
        Owner = "owner",
        /// The instance follows the decisions of another instance.
        Standby = "standby",
    }
}

impl AsOf {
    /// Returns the position of a table in the form of an answer.
    #[must_use]
    pub fn new(position: Position, held_as: Option<HeldAs>) -> Self {
        Self { log_partition: position.log_partition, log_offset: position.next_log_offset, held_as }
    }
}
