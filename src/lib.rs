//! Leitong (雷同): is this page new, or a near-duplicate of an earlier one?
//!
//! The modules stand in the order of the flow; `ARCHITECTURE.md` draws it.

pub mod bench;
pub mod changelog;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod decode;
pub mod eval;
pub mod extract;
pub mod fingerprint;
mod hashed;
pub mod limits;
pub mod log;
pub mod page;
pub mod pipeline;
pub mod proto;
pub mod segment;
pub mod sink;
pub mod snapshot;
pub mod source;
pub mod telemetry;
mod varint;
pub mod verdict;
