//! A worker's local snapshot of one partition's changelog. One file contains everything that a restore would
//! read from the changelog, so only the tail of the changelog has to be read from the broker.
//!
//! ```text
//! magic line │ centroids, oldest first: log offset u64, length u32, value as in the changelog
//!            │ `Snapshot` (proto/leitong/v1/snapshot.proto), its length u32 │ XXH3-64 of all that, u64
//! ```
//! Numbers are big-endian. Invariants: an incomplete file is never used; a snapshot is replaced in one step;
//! it contains only committed records. Memory: one centroid.

mod place;
mod read;
#[cfg(test)]
mod tests;

use std::io;

use thiserror::Error;

use crate::blocks::BlockError;
use leitong_cluster::TableFault;
pub use place::{SnapshotPlace, SnapshotWriter};
pub use read::{ChangelogSnapshot, ExpectedTable};

const MAGIC: &[u8] = b"leitong changelog snapshot\n";

/// The reason why a snapshot is not used.
#[derive(Debug, Error)]
pub enum Unusable {
    /// The operating system reported an error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The contents differ from what was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// A version with another format wrote the snapshot.
    #[error("its format version is {found}, but this version of Leitong reads only {known}")]
    Format {
        /// The version of the file.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// The snapshot was made with other settings.
    #[error(
        "it belongs to another configuration: its {which} is {found}, but that of this instance is {wanted}"
    )]
    OtherSettings {
        /// The name of the setting.
        which: &'static str,
        /// The value in the snapshot.
        found: String,
        /// The value of this instance.
        wanted: String,
    },
    /// The blocks of old centroids cannot be used.
    #[error("{0}")]
    Blocks(#[from] BlockError),
    /// The blocks of old centroids cannot be read.
    #[error("{0}")]
    Table(#[from] TableFault),
    /// The snapshot belongs to another changelog.
    #[error("it continues at offset {offset} of the changelog, which begins at {start} and ends at {end}")]
    OtherChangelog {
        /// The changelog offset after the snapshot.
        offset: u64,
        /// The changelog's first offset.
        start: u64,
        /// The offset after the changelog's last record.
        end: u64,
    },
}
