//! The steps of a page before and after the log, and the [graph](graph) that connects them.

pub mod budget;
pub mod cluster_stage;
pub mod cpu;
pub mod document;
pub mod files;
pub mod fingerprint_stage;
pub mod graph;
pub mod log_partition;
pub mod page_reader;
pub mod shared_stage;
pub mod text_out;
