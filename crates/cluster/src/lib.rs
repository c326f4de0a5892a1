//! Single-Pass clustering (paper 002, section 3.2): records in log order → decisions.
//!
//! A page whose text is that of an earlier page joins the cluster of that page. Each other one joins
//! the nearest centroid that is near enough, or founds a cluster and is its centroid permanently. Only
//! centroids are compared against; ties go to the older one.
//!
//! ```text
//! batch of records ─► look-ups ──► near centroids ─► decisions ──► table
//!        texts first  all cores                    one by one     │ expiry first; centroids of this batch count
//!                        ▲                                        │
//!                        └────────────────────────────────────────┘
//! ```
//! Look-up and decision are apart: the former may run on any
//! number of cores or shards, the latter goes in log order.
//!
//! Invariants: a decision is a function of the records before it and the settings right of the
//! log; the look-up finds every near centroid; memory is bounded by `expiry.centroids_max`.

mod articles;
mod canonical;
pub mod changelog;
mod clusterer;
mod expiry;
mod fault;
#[cfg(test)]
mod fault_tests;
mod index;
pub mod log;
mod old;
#[cfg(test)]
mod one_key_tests;
#[cfg(test)]
mod part_tests;
mod recrawls;
mod rules;
mod seen;
mod table;
#[cfg(test)]
mod tests;
mod tiers;
pub mod verdict;

use std::fmt;

use serde::{Serialize, Serializer};

pub use articles::ArticlePage;
pub use canonical::{Canonical, CanonicalConfig, NewCanonical, Preference, Rank};
pub use clusterer::{
    Asked, Clusterer, Left, Merged, NewCentroid, Position, Preview, Recrawl, RecrawlOutcome, SavedCentroid,
    WhatIsLeft,
};
pub use expiry::{Bounds, ExpiryConfig};
pub use fault::TableFault;
pub use index::HITS_MAX;
pub use old::{Founding, Handed, OldCentroids};
pub use recrawls::{Change, Crawl, CrawlChange, RecrawlsConfig};
pub use rules::ClusterRules;
pub use seen::{NewText, SeenFrom, SeenText, SeenTexts, TextBounds, text_key};
pub use table::is_in_full;
pub use table::{Centroid, Near, Nearest, Purpose, Query, Scratch, TableBytes};

/// What clustering says of one record.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The page founds this cluster; the nearest centroid that it is not near to and has passages
    /// in common with; before it comes another page of its paged article.
    Founded(ClusterId, Option<CanonicalPage>),
    /// The page joins the cluster of this centroid.
    Joined(CanonicalPage),
    /// There was nothing to compare.
    Undecidable,
}

/// What a verdict says of the cluster that a page joins, or is related to.
#[derive(Debug, Clone, PartialEq)]
pub struct CanonicalPage {
    /// The cluster.
    pub cluster_id: ClusterId,
    /// The id of the page that stands for it: the page that founded it, or one that has taken its
    /// place, as the page at hand may have.
    pub page_id: String,
    /// Its url.
    pub url: String,
    /// Page id and url of the page that stood for the cluster until now, if the page at hand takes
    /// its place.
    pub replaces: Option<(String, String)>,
    /// The centroid's fingerprint.
    pub fingerprint: Box<[u8]>,
    /// From the page, in the detector's unit.
    pub distance: u32,
    /// The text digests of page and centroid are equal.
    pub exact: bool,
    /// The text digest is that of a page of the cluster: of the centroid, or of one that joined it.
    pub equal_text: bool,
}

/// A cluster's name: where its founding page stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClusterId {
    /// Tells one log from another of the same name.
    pub log_generation: u32,
    /// Partition of the log.
    pub log_partition: u32,
    /// Offset in the partition.
    pub log_offset: u64,
}

impl ClusterId {
    /// 16 bytes, big-endian: generation, partition, offset.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let number = (u128::from(self.log_generation) << 96)
            | (u128::from(self.log_partition) << 64)
            | u128::from(self.log_offset);
        number.to_be_bytes()
    }

    /// The id of these bytes.
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
    /// 32 hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}{:08x}{:016x}", self.log_generation, self.log_partition, self.log_offset)
    }
}

impl Serialize for ClusterId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
