//! Old centroids on disk in sealed blocks, with just enough data in memory to know which keys the blocks do
//! not have.
//!
//! The newest centroids are in the table's memory. When there are enough of them for a block, they are
//! written in the order of founding: the centroids themselves ([`block`]) and their sorted keys ([`run`]),
//! each once and sequentially. Runs are [merged](merge), so a look-up has few to search; centroids are not
//! written again. A whole block is dropped when its newest centroid has expired. Only a [`filter`] over the
//! keys, some seven bits each, and sparse indexes stay in memory. With the 15 keys of the default detector
//! and the key of the text, that is some 14 bytes per centroid.
//!
//! Invariants, each with a test (`tests.rs`, `tests/local/on_disk.rs`):
//! * A table with blocks makes the same decisions as the same table in memory.
//! * Files on disk count only if a saved table names them ([`manifest`]). So after a crash there is the table
//!   as it was last saved. A file that a saved table names is not changed, and is deleted only after another
//!   table was saved.
//! * Every part of a file has a checksum ([`parts`]). The checksum is compared when the part is read, and in
//!   the [background](check). If a file cannot be read, or its checksum does not match, the operation and all
//!   later ones return a [`TableFault`](leitong_cluster::TableFault), and there is no verdict.
//!
//! Reasons for this design: `docs/adr/0023-old-centroids-on-disk.md`.

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
pub(crate) mod parts;
mod run;
mod seal;
mod shared;
pub(crate) mod sim;
mod store;
#[cfg(test)]
pub(crate) mod tests;
mod view;

use std::path::PathBuf;

use thiserror::Error;

pub(crate) use files::Output;
pub(crate) use files::create_folder;
pub use files::{Files, Folder, Input};
pub use manifest::Manifest;
pub(crate) use manifest::is_block;
pub use sim::SimFolder;
pub use store::BlockStore;

/// Settings of a store. No decision depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreOptions {
    /// Number of centroids in a block, a multiple of 32. Blocks end at numbers that are multiples of this
    /// one.
    pub block: u64,
    /// Number of runs that are merged into one.
    pub fan: usize,
    /// Maximum number of centroids in a run. A run is dropped when all of its centroids have expired, so this
    /// limits the space that expired keys take.
    pub span_max: u64,
    /// Number of threads that read. With 0, the calling thread does all work, which some tests need.
    pub readers: usize,
    /// Number of centroids that the table hands over to the store at once.
    pub portion: u64,
    /// Maximum number of centroids that wait in memory to be written if the disk is slow or full.
    pub waiting_max: u64,
    /// Bytes of files that are read per second in the background, to compare their checksums; 0 for none.
    pub check_bytes_per_second: u64,
    /// The remedy for files that cannot be read or are damaged. It ends the error message.
    pub advice: &'static str,
}

impl StoreOptions {
    /// Returns the options for blocks of this many centroids, in a table of at most `centroids_max`.
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

/// The remedy for a damaged table that has no other copy.
pub(crate) const ADVICE: &str =
    "restore the table's folder from one backup, or remove it to begin with an empty table";

/// The reason why blocks cannot be opened, read or written.
#[derive(Debug, Error)]
pub enum BlockError {
    /// The operating system returned an error.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// A file is damaged.
    #[error("{}: damaged at byte {at}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The byte at which the damage was found.
        at: u64,
        /// The problem.
        problem: &'static str,
    },
    /// A newer Leitong wrote the file.
    #[error("{}: format version {found} is newer than {known}, the newest that this version of Leitong \
             reads; update Leitong", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Format version of the file.
        found: u32,
        /// Format version of this Leitong.
        known: u32,
    },
    /// An older Leitong wrote the file, with keys that this version does not look up.
    #[error("{}: format version {found} is older than {known}, and this version of Leitong derives other keys from \
             fingerprints; begin with an empty table, or use the version that wrote it", path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Format version of the file.
        found: u32,
        /// Format version of this Leitong.
        known: u32,
    },
    /// The file belongs to another table.
    #[error("{}: belongs to another table (its table id is {found:016x} instead of {wanted:016x}); restore the whole \
    folder from \
             one backup", path.display())]
    OtherTable {
        /// The file.
        path: PathBuf,
        /// Id of the file's table.
        found: u64,
        /// Id of this table.
        wanted: u64,
    },
    /// A thread that seals or merges has panicked.
    #[error("a thread that writes blocks has panicked; this is a bug in Leitong; please report it")]
    Panicked,
}

impl BlockError {
    /// Returns true if the files are not as they were written. Trying again does not help.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::OtherTable { .. } => true,
            Self::Io { error, .. } => error.kind() == std::io::ErrorKind::NotFound,
            Self::TooNew { .. } | Self::TooOld { .. } | Self::Panicked => false,
        }
    }
}
