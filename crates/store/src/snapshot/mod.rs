//! A centroid table on disk: carried from one run of `dedup` to the next,
//! or beside a worker, for its next start ([`changelog_snapshot`], or [`changelog_blocks`] where old
//! centroids are on disk).
//!
//! Of `dedup`, one file, `centroids.leitong`: the magic line, then protobuf messages, each behind
//! its length as a varint: a `Position`, its `centroid_count` many `Centroid`s, oldest first, what is
//! known of urls, and the `Texts` of pages that joined clusters; then the XXH3-64 of all that, 8 bytes, big-endian. It is replaced in one step: a crash leaves the old
//! table or the new one. With `table.on_disk` the older centroids are in [blocks](crate::blocks)
//! beside it, which the `Position` names; saving then writes what is in no block yet.
//!
//! Of `serve`, two files more: pages that are not yet part of that file ([`journal`]), and the
//! verdicts that were given last ([`recent`]).

pub mod changelog_blocks;
pub mod changelog_snapshot;
mod checkpointed;
mod checksummed;
mod compact;
mod file;
mod finished;
mod folder;
mod import;
mod inspect;
pub mod journal;
pub mod lines;
mod merge;
mod recent;

use std::path::PathBuf;

use thiserror::Error;

use crate::blocks::{ADVICE, BlockError};
pub use checkpointed::forget_mark;
pub use compact::{Compacted, has_blocks};
pub use file::{FORMAT_WITH_TEXTS, unexpired};
pub use file::{TableDir, TableSettings};
pub use finished::RUNS_MAX;
pub use folder::{Unfinished, sync_parent};
pub use import::import;
pub use inspect::{BesideTable, Saved, beside, inspect, inspect_all, verify};
use leitong_cluster::TableFault;
pub use merge::Merge;

/// What is wrong with blocks of which there is no other copy, and what to do.
fn with_advice(error: &BlockError) -> String {
    if error.is_damage() { format!("{error}; {ADVICE}") } else { error.to_string() }
}

/// Why a table cannot be loaded or saved.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// What the operating system says.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// Another run has the table.
    #[error("{}: another run is using this table; wait for it, or take another folder", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The file is no table, or a damaged one.
    #[error("{}: {problem}; restore the file from a backup, or remove it to begin with an empty table", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The journal is damaged before its end.
    #[error(
        "{}: damaged at byte {at}, before pages that were stored: {problem}; restore the file from a backup, or move it \
         away to go on with the table as it was last saved, without the pages in the journal",
        path.display()
    )]
    JournalDamaged {
        /// The file.
        path: PathBuf,
        /// Where the damage begins.
        at: u64,
        /// What is wrong.
        problem: String,
    },
    /// Table and journal are not of one time.
    #[error(
        "{}: begins at offset {journal}, and the saved table beside it ends at {table}; restore both files from one \
         backup, or move the journal away to go on without the pages in it",
        path.display()
    )]
    JournalApart {
        /// The journal.
        path: PathBuf,
        /// Its first offset.
        journal: u64,
        /// The first offset that the table does not have.
        table: u64,
    },
    /// There are pages in the journal that the table lacks.
    #[error(
        "{}: `leitong serve` was killed and left pages that the saved table lacks; start and stop `leitong serve` on \
         this folder once, which adds them",
        path.display()
    )]
    JournalLeft {
        /// The journal.
        path: PathBuf,
    },
    /// The verdicts that were given last are damaged.
    #[error(
        "{}: damaged; move it away, and go on without being able to look up the pages that were stored before",
        path.display()
    )]
    RecentDamaged {
        /// The file.
        path: PathBuf,
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
    /// Old centroids are in blocks, and the settings say that all are in memory.
    #[error("{}: has its old centroids on disk; set table.on_disk = true", path.display())]
    OnDisk {
        /// The file.
        path: PathBuf,
    },
    /// There is no table where one is to be merged.
    #[error("{}: there is no table to merge; `leitong dedup --table` makes one", path.display())]
    NoTable {
        /// The folder.
        path: PathBuf,
    },
    /// What is known of urls cannot be merged.
    #[error(
        "{}: knows the crawls of urls (`recrawls`), which cannot be merged; run the pages of one table again with \
         `leitong dedup --table` on the other",
        path.display()
    )]
    HasCrawls {
        /// The file.
        path: PathBuf,
    },
    /// The lines of an exported table are no whole table.
    #[error(
        "{}: line {line}: {problem}; export the table again, with `leitong table export --all`",
        path.display()
    )]
    Exported {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// It is a part of a worker's table.
    #[error(
        "{}: belongs to a worker, and the rest of its table is in the changelog; take another folder",
        path.display()
    )]
    OfWorker {
        /// The file.
        path: PathBuf,
    },
    /// Another run may have changed the table since a checkpoint.
    #[error(
        "{}: the table {} was opened by another run since this checkpoint, or replaced, so it may have other pages by \
         now; remove the folder of checkpoints to begin again with the table as it is",
        path.display(),
        table.display()
    )]
    CheckpointApart {
        /// The folder of checkpoints.
        path: PathBuf,
        /// The table's.
        table: PathBuf,
    },
    /// Its old centroids are in blocks elsewhere.
    #[error(
        "{}: old centroids of this deduplicator are in blocks of {}, so that it cannot be loaded or saved anywhere else",
        path.display(),
        blocks.display()
    )]
    BlocksElsewhere {
        /// Where it was to be saved.
        path: PathBuf,
        /// Where the blocks are.
        blocks: PathBuf,
    },
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(Box<dyn std::error::Error + Send + Sync>),
    /// The blocks of the table.
    #[error("{}", with_advice(.0))]
    Blocks(#[from] BlockError),
    /// Files of the table cannot be read, or could not be written for too long.
    #[error("the table is left as it was last saved, since what was decided cannot be relied on: {0}")]
    Fault(#[from] TableFault),
    /// Made with other settings of `corpus.*`.
    #[error(
        "{}: made with other settings of corpus.* (by, header), so no page of this run would be compared with its \
         centroids; use the settings that it was made with, or name another folder",
        path.display()
    )]
    OtherCorpora {
        /// The file.
        path: PathBuf,
    },
    /// Made with other settings.
    #[error(
        "{}: made with other settings: its {which} is {found:016x}, that of this run is {wanted:016x}; run with the \
         settings it was made with, or take another folder",
        path.display()
    )]
    OtherSettings {
        /// The file.
        path: PathBuf,
        /// `fingerprint_hash` or `cluster_hash`.
        which: &'static str,
        /// The table's.
        found: u64,
        /// Ours.
        wanted: u64,
    },
}
