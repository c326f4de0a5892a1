//! Leitong (雷同): is this page new, or a near-duplicate of an earlier one?
//!
//! The modules stand in the order of the flow; `ARCHITECTURE.md` draws it.

pub mod page;
pub mod limits;
pub mod decode;
pub mod extract;
pub mod segment;
pub mod fingerprint;
pub mod cluster;
pub mod verdict;
pub mod config;
