//! Centroid tables on disk.
//!
//! [`blocks`] keep old centroids in immutable files that are merged as they grow and expire; [`snapshot`] saves and
//! loads whole tables, alone or restored from the changelog of a worker.

#[cfg(test)]
#[path = "../../../tests/common/stub_detector.rs"]
#[macro_use]
mod stub_detector;

pub mod blocks;
pub mod snapshot;

#[cfg(test)]
#[path = "../../../tests/common/wait.rs"]
mod wait;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
