//! A worker's local snapshot of one partition's changelog: what a restore would read of
//! it, in one file, so that only the changelog's tail has to be read from the broker.
//!
//! ```text
//! magic line │ centroids, oldest first: log offset u64, length u32, value as in the changelog
//!            │ `Snapshot` (proto/leitong/v1/snapshot.proto), its length u32 │ XXH3-64 of all that, u64
//! ```
//! Numbers are big-endian. Invariants: a file that is not whole is never taken for
//! one; it is replaced in one step; what is in it was committed. Memory: one centroid.

mod place;
mod read;
#[cfg(test)]
mod tests;

use std::io;

use thiserror::Error;

use crate::blocks::BlockError;
use leitong_base::proto::SNAPSHOT_FORMAT_VERSION;
pub use place::{SnapshotPlace, SnapshotWriter};
pub use read::{ChangelogSnapshot, Wanted};

const MAGIC: &[u8] = b"leitong changelog snapshot\n";

/// Why a snapshot is not used.
#[derive(Debug, Error)]
pub enum Unusable {
    /// What the operating system says.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is not what was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// Written by another version.
    #[error("its format version is {found}, and this version of Leitong knows {SNAPSHOT_FORMAT_VERSION}")]
    Format {
        /// Its version.
        found: u32,
    },
    /// Made with other settings.
    #[error("it belongs to another configuration: its {which} is {found}, that of this instance is {wanted}")]
    OtherSettings {
        /// Which setting.
        which: &'static str,
        /// The snapshot's.
        found: String,
        /// Ours.
        wanted: String,
    },
    /// Of its blocks.
    #[error("{0}")]
    Blocks(#[from] BlockError),
    /// The changelog is another one.
    #[error("it goes on at offset {offset} of the changelog, which begins at {start} and ends at {end}")]
    OtherChangelog {
        /// The snapshot's.
        offset: u64,
        /// The changelog's first offset.
        start: u64,
        /// The offset behind its last record.
        end: u64,
    },
}
