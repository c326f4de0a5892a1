//! What answers are made of, wherever the tables are: `leitong serve` has one of its own
//! ([`super::store`]), a Kafka worker those of its log partitions.
//!
//! Whoever is asked holds a table for one search, and says as of which place of its log.

use serde::Serialize;

use super::problem::Problem;
use crate::cluster::{Asked, CanonicalPage, Centroid, ClusterId, Position, Scratch};
use crate::record::FingerprintRecord;
use crate::record::timestamp::Timestamp;
use crate::verdict::Verdict;

/// Tables that are looked up, and the verdicts that were given last.
pub trait Tables: Send + Sync {
    /// The verdict on `record` if it were the next one of its log, and what is near. Its place in
    /// the log and, where the log has times of its own, its time are set here.
    ///
    /// # Errors
    /// No table for its corpus is at hand, or none that can be read.
    fn look_up(
        &self,
        record: FingerprintRecord,
        asked: Asked,
        now: Timestamp,
        scratch: &mut Scratch,
    ) -> Result<LookedUp, Problem>;

    /// The last verdict on a page, as JSON.
    ///
    /// # Errors
    /// None is kept.
    fn page(&self, page_id: &str) -> Result<Box<[u8]>, Problem>;

    /// The last verdict on a page with this url, as JSON.
    ///
    /// # Errors
    /// None is kept.
    fn page_of_url(&self, url: &str) -> Result<Box<[u8]>, Problem>;

    /// What is known of a cluster; of the verdicts on its members, `members_max` at most.
    ///
    /// # Errors
    /// The table of its log is not at hand, or cannot be read.
    fn cluster(
        &self,
        id: ClusterId,
        members_max: usize,
        scratch: &mut Scratch,
    ) -> Result<KnownCluster, Problem>;

    /// Why no request can be answered well now; `None` if all is well.
    fn not_ready(&self) -> Option<String> {
        None
    }

    /// Sets the metrics of the tables, where no one else does.
    fn measure(&self) {}

    /// What to do in place of `POST /v1/pages`, where nothing is stored over HTTP.
    fn instead_of_storing(&self) -> Option<String>;
}

/// What a look-up has found.
#[derive(Debug, Clone)]
pub struct LookedUp {
    /// What the verdict would be.
    pub verdict: Verdict,
    /// The nearest canonical pages, and whether each is only related.
    pub nearest: Vec<(CanonicalPage, bool)>,
    /// Of when it is.
    pub as_of: AsOf,
}

/// What is known of a cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownCluster {
    /// The centroid, with id and url of the page that stands for the cluster; none once it has
    /// expired.
    pub centroid: Option<Centroid>,
    /// Members whose verdicts are kept.
    pub members_kept: usize,
    /// The verdicts on the youngest of them as JSON, the youngest first.
    pub members: Vec<Box<[u8]>>,
}

/// How far the table was that an answer is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AsOf {
    /// The partition of the log.
    pub log_partition: u32,
    /// The first place in it that the answer knows nothing of.
    pub log_offset: u64,
    /// What this instance has the table as; none where there is but one instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_as: Option<HeldAs>,
}

/// What an instance has a table as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeldAs {
    /// It decides.
    Owner,
    /// It follows what another instance decides.
    Standby,
}

impl HeldAs {
    /// As in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Standby => "standby",
        }
    }
}

impl AsOf {
    /// The place that `position` names.
    #[must_use]
    pub fn of(position: Position, held_as: Option<HeldAs>) -> Self {
        Self { log_partition: position.log_partition, log_offset: position.next_log_offset, held_as }
    }
}
