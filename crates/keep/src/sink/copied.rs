//! Counts of the documents that were written to outputs for kept and dropped documents.

use serde::{Deserialize, Serialize};

/// Counts of copied documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copied {
    /// Number of kept documents.
    pub kept: u64,
    /// Number of dropped documents.
    pub dropped: u64,
    /// Size of the dropped documents in bytes.
    pub dropped_bytes: u64,
    /// Number of kept documents that would have been dropped without `--verify`.
    pub kept_by_verify: u64,
    /// Number of dropped documents that contain a passage of a benchmark.
    pub benchmark: u64,
    /// Number of dropped documents that are replaced by a revisit record.
    pub revisits: u64,
    /// Number of documents that were not copied because they exceed the maximum length of a line.
    pub too_long: u64,
    /// Number of rows that were not copied because one of their columns cannot be read.
    pub unreadable: u64,
}
