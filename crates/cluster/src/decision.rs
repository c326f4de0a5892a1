//! The decision on one record: the cluster that its page founds or joins.

use std::fmt;

use serde::{Serialize, Serializer};

use leitong_base::proto;

/// The decision on one record.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The page founds this cluster. The second field is the cluster that the page is related to, if any: that
    /// of another page of the same article, or else that of a centroid that shares passages with the page but is not
    /// near: the oldest of those with the lowest [rank](leitong_fingerprint::Detector::related_rank).
    Founded(ClusterId, Option<CanonicalPage>),
    /// The page joins this cluster.
    Joined(CanonicalPage),
    /// The record has no fingerprint to compare, or could not be read.
    Undecidable,
}

/// The cluster that a page joins or is related to, as it is in the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct CanonicalPage {
    /// The cluster.
    pub cluster_id: ClusterId,
    /// The id of the cluster's canonical page: the founding page, or a page that has replaced it, possibly the
    /// page of this record.
    pub page_id: String,
    /// The url of the canonical page.
    pub url: String,
    /// Page id and url of the former canonical page, if the page of this record replaces it.
    pub replaces: Option<(String, String)>,
    /// The fingerprint of the cluster's centroid.
    pub fingerprint: Box<[u8]>,
    /// Distance between the page and the centroid, in the detector's unit.
    pub distance: u32,
    /// True if the page is only related to the centroid, not near it.
    pub related: bool,
    /// True if the text digests of page and centroid are equal.
    pub exact: bool,
    /// True if the page's text digest equals that of a page in the cluster: the centroid, or a page that
    /// joined it.
    pub equal_text: bool,
}

/// A cluster's id: the place of its founding page in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClusterId {
    /// Generation of the log. It distinguishes logs of the same name.
    pub log_generation: u32,
    /// Partition of the log.
    pub log_partition: u32,
    /// Offset in the partition.
    pub log_offset: u64,
}

impl ClusterId {
    /// Returns the id of the cluster that was founded at `log_offset`, in the table with this position record.
    #[must_use]
    pub fn in_table(position: &proto::Position, log_offset: u64) -> Self {
        let (log_generation, log_partition) = (position.log_generation, position.log_partition);
        Self { log_generation, log_partition, log_offset }
    }

    /// Returns generation, partition and offset as 16 bytes, big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let number = (u128::from(self.log_generation) << 96)
            | (u128::from(self.log_partition) << 64)
            | u128::from(self.log_offset);
        number.to_be_bytes()
    }

    /// Returns the id that these bytes encode.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "cut into its parts")]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let number = u128::from_be_bytes(bytes);
        Self {
            log_generation: (number >> 96) as u32,
            log_partition: (number >> 64) as u32,
            log_offset: number as u64,
        }
    }
}

impl fmt::Display for ClusterId {
    /// Writes 32 hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}{:08x}{:016x}", self.log_generation, self.log_partition, self.log_offset)
    }
}

impl Serialize for ClusterId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
