//! Single-Pass clustering (paper 002, section 3.2): records in log order → decisions.
//!
//! A page with the same text as an earlier page joins that page's cluster. Any other page joins the nearest
//! centroid that is near enough, or founds a cluster and becomes its permanent centroid. Pages are compared
//! with centroids only. Among equally near centroids the oldest wins.
//!
//! ```text
//! batch of records ─► look-ups ──► near centroids ─► decisions ──► table
//!        texts first  all cores                    one by one     │ expiry first; centroids of this batch count
//!                        ▲                                        │
//!                        └────────────────────────────────────────┘
//! ```
//! Look-up and decision are separate: look-ups may run on any number of cores or shards, decisions are made
//! in log order.
//!
//! On its way, a record makes ten stays in modules. Each is named by its first function, which makes one decision and
//! calls those that are indented below it:
//!
//! ```text
//!  1 Clusterer::decide_batch      looks up a batch at once, texts first, and then decides one by one
//!  2 ├ Tiers::find_to_decide      asks the centroids in memory and those outside of it, and merges the answers
//!  3 │ └ CentroidTable::find      looks for keys in the index and in crowds, on all cores
//!  4 │   ├ Generations::find      asks every generation of the index, by shared keys
//!  5 │   │ └ KeyShard::find       chooses the segment by the first bits of the key's hash
//!  6 │   │   └ Segment::confirm   chooses the cache lines by the next bits
//!  7 │   │     └ Group::confirm   chooses the slots whose entries have the remaining bits
//!  8 │   └ CentroidTable::compare compares the hits of the same corpus with the query: near, related or neither
//!  9 └ Clusterer::decide_next     in log order: joins the page to a cluster, or founds one
//! 10   └ Unexpired::nearest       drops centroids that have expired since the look-up, or whose cluster has ended
//! ```
//! The bytes of a centroid that are compared for every hit are in `table/hot.rs`, its other bytes, page id and url in
//! `table/cold.rs`. The trait [`OldCentroids`] has the centroids that are no longer in memory. From 9, expiry, canonical
//! pages and recrawls are called, and new centroids inserted.
//!
//! Invariants: a decision is a function of the records before it and the settings that apply after the log; no
//! centroid that a decision needs is missed; memory is bounded by `expiry.centroids_max`.

#[cfg(test)]
#[path = "../../../tests/common/stub_detector.rs"]
#[macro_use]
mod stub_detector;

mod articles;
mod canonical;
pub mod changelog;
mod clusterer;
#[cfg(test)]
mod crowd_tests;
mod decision;
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

pub use articles::ArticlePage;
pub use canonical::{Canonical, CanonicalConfig, NewCanonical, Preference, Rank};
pub(crate) use clusterer::Changes;
pub use clusterer::{Clusterer, Merged, NewCentroid, Position, Preview, PreviewOptions, SavedCentroid};
pub use decision::{CanonicalPage, ClusterId, Decision};
pub use expiry::{Bounds, ExpiryConfig};
pub use fault::TableFault;
pub use index::HITS_MAX;
pub use old::{Handed, OldCentroids};
pub(crate) use recrawls::{Change, Crawl, Left, Recrawl, WhatIsLeft};
pub use recrawls::{CrawlChange, RecrawlOutcome};
pub use rules::{ClusterRules, RecrawlsConfig};
pub(crate) use seen::NewText;
pub use seen::{SeenText, SeenTexts, TextBounds};
pub use table::{Centroid, NearCentroid, NearestCentroids, Purpose, Query, Scratch};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
