//! Leitong (雷同): is this page new, or a near-duplicate of an earlier one?
//!
//! The modules stand in the order of the flow; `ARCHITECTURE.md` draws it.

pub mod cluster;
pub mod config;
pub mod decode;
pub mod extract;
pub mod fingerprint;
pub mod limits;
pub mod page;
pub mod segment;
pub mod verdict;
