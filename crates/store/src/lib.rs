//! Centroid tables on disk.
//!
//! [`blocks`] keeps old centroids in immutable files, and merges the files of their keys; [`snapshot`] saves
//! and loads whole tables, including those that workers restore from a changelog.

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
