//! Old centroids on disk: sealed blocks, and just enough memory to know that a page has nothing to
//! do with them.
//!
//! The newest centroids are in the table's memory. When a block's worth of them is there they are
//! written, in the order of founding: the centroids themselves ([`block`]) and their sorted keys
//! ([`run`]), once each and one after the other. Runs are [merged](merge), so that a look-up asks
//! few; centroids are not written again. A block is dropped whole when its newest centroid has
//! expired. In memory stay a [`filter`] over the keys, seven bits each, and sparse indexes: with the
//! 22 keys of the default detector some 20 bytes a centroid.
//!
//! Invariants, each with a test (`tests.rs`, `tests/local/on_disk.rs`):
//! * A table with blocks decides what the same table in memory decides.
//! * What is on disk counts only if a saved table names it ([`manifest`]); so after a crash there is
//!   the table as it was last saved. A file that a saved table names is not changed, and deleted
//!   only when another table has been saved.
//! * Every part of a file is behind a checksum ([`parts`]), which is compared when it is read, and in the
//!   [background](check). If a file cannot be read, or its checksum does not fit, the operation and all later
//!   ones return a [`TableFault`](leitong_cluster::TableFault), and there is no verdict.
//!
//! Why it is made so: `docs/adr/0023-old-centroids-on-disk.md`.

mod block;
mod check;
#[cfg(test)]
mod check_tests;
#[cfg(test)]
mod compact_tests;
#[cfg(test)]
mod every_read_tests;
#[cfg(test)]
mod fault_tests;
mod files;
mod filter;
mod keyed;
mod keys;
mod look_up;
mod manifest;
mod merge;
pub mod parts;
mod reads;
mod run;
mod seal;
mod shared;
pub mod sim;
mod store;
#[cfg(test)]
mod tests;
mod view;

use std::path::PathBuf;

use thiserror::Error;

pub use files::{Files, Folder, Input, Output, create_folder};
pub use manifest::Manifest;
pub use reads::Counted;
pub use store::{BlockStore, check_keys};

/// How a store works; nothing that is decided depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreOptions {
    /// Centroids in a block, a multiple of 32. Numbers are cut at multiples of it.
    pub block: u64,
    /// Runs that become one.
    pub fan: usize,
    /// Numbers in a run at most. A run is dropped when all of it has expired, so this bounds what
    /// expired keys take.
    pub span_max: u64,
    /// Threads that read; 0: all work is done by whoever calls, as some tests want it.
    pub readers: usize,
    /// Centroids that are handed over at once.
    pub portion: u64,
    /// Centroids that may wait in memory to be written, where the disk is slow or full.
    pub waiting_max: u64,
    /// Bytes of files that are read in the background in a second, to compare their checksums; 0: none.
    pub check_bytes_per_second: u64,
    /// What to do about files that cannot be read, or are damaged: the end of the message.
    pub advice: &'static str,
}

impl StoreOptions {
    /// Those for blocks of so many centroids, in a table of at most so many.
    #[must_use]
    pub fn for_table(block: u64, centroids_max: u64) -> Self {
        let quarter = (centroids_max / 4).max(block);
        Self {
            block,
            fan: 4,
            span_max: quarter,
            readers: 16,
            portion: block.min(128),
            waiting_max: 8 * block,
            check_bytes_per_second: 0,
            advice: ADVICE,
        }
    }
}

/// What to do about a damaged table of which there is no other copy.
pub const ADVICE: &str =
    "restore the table's folder from one backup, or remove it to begin with an empty table";

/// Why blocks cannot be opened, read or written.
#[derive(Debug, Error)]
pub enum BlockError {
    /// What the operating system says.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// A file is damaged.
    #[error("{}: damaged at byte {at}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        at: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// Written by a newer Leitong.
    #[error("{}: format version {found} is newer than {known}, which this version of Leitong knows; update Leitong", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// Written by an older Leitong, under keys that this one does not look for.
    #[error("{}: format version {found} is older than {known}, and its keys are not those of this version of Leitong; begin with an empty table, or go on with the version that wrote it", path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// It belongs to another table.
    #[error("{}: belongs to another table ({found:016x}, and this is {wanted:016x})", path.display())]
    OtherTable {
        /// The file.
        path: PathBuf,
        /// Its table.
        found: u64,
        /// This one.
        wanted: u64,
    },
    /// A thread that seals or merges has panicked.
    #[error("a thread that writes blocks has panicked; this is a mistake in the program, please report it")]
    Panicked,
    /// The detector has no keys.
    #[error(
        "table.on_disk = true: {detector} with these settings finds centroids by Hamming distance, whose index stays in \
         memory; set table.on_disk = false, or settings with keys (for simhash: candidates = \"bands\")"
    )]
    NoKeys {
        /// Its name.
        detector: &'static str,
    },
}

impl BlockError {
    /// Whether the files are not what was written, so that it is no use to try again.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::OtherTable { .. } => true,
            Self::Io { error, .. } => error.kind() == std::io::ErrorKind::NotFound,
            Self::TooNew { .. } | Self::TooOld { .. } | Self::Panicked | Self::NoKeys { .. } => false,
        }
    }
}
