//! Centroid tables on disk: the saved table of `dedup` and `serve`, and the local copy that speeds up a
//! worker's next start ([`changelog_snapshot`], or [`changelog_blocks`] if old centroids are on disk).
//!
//! A saved table is one file, `centroids.leitong`: a magic line, and protobuf messages, each after its length
//! as a varint. They are a `Position`, the centroids in memory, oldest first, the known crawls of urls, and
//! the `Texts` of pages that joined clusters. The `Position` contains the number of each. The last 8 bytes
//! are the XXH3-64 of all that, big-endian. The file is replaced in one step, so after a crash there is the
//! old table or the new one.
//!
//! A new table saves this file before it writes any other. So files of a table without it are what is left of a
//! table, for example half a backup: the folder is then refused, and nothing in it is changed. The `Position` has the
//! table's random id, which is also in each of the other files. So a file of another table is recognised.
//!
//! With `table.on_disk`, older centroids are in [blocks](crate::blocks) next to this file. The `Position`
//! lists these blocks. After it come `Article` messages (the youngest page of each article that is split over several
//! pages), and then only the centroids that are in no block yet.
//!
//! `serve` has two more files: pages that are not yet part of the saved table ([`journal`]), and the recent
//! verdicts ([`recent`]).

pub(crate) mod changelog_blocks;
pub(crate) mod changelog_snapshot;
mod checkpointed;
mod checksummed;
mod compact;
mod export;
mod file;
mod finished;
mod folder;
mod import;
mod inspect;
pub(crate) mod journal;
pub(crate) mod lines;
mod merge;
mod ours;
mod recent;
mod table_dir;

use std::path::PathBuf;

use thiserror::Error;

use crate::blocks::{ADVICE, BlockError};
pub use changelog_blocks::{ChangelogBlocks, OpenBlocks};
pub use changelog_snapshot::{ChangelogSnapshot, ExpectedTable, SnapshotPlace, SnapshotWriter, Unusable};
pub use compact::Compacted;
pub use folder::Unfinished;
pub use journal::{Journal, Torn};
use leitong_cluster::TableFault;
pub use lines::TableLine;
pub use merge::Merge;
pub use table_dir::{TableDir, TableSettings};

/// Formats an error of blocks that have no other copy, with advice.
fn with_advice(error: &BlockError) -> String {
    if error.is_damage() { format!("{error}; {ADVICE}") } else { error.to_string() }
}

/// The reason why a table cannot be loaded or saved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The operating system reported an error.
    #[error("cannot read or write {}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// The path is not a folder.
    #[error(
        "{}: not a folder; name a folder for the table or the checkpoints, which is created if it is missing",
        path.display()
    )]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// The folder contains other files than those of tables and checkpoints.
    #[error(
        "{}: contains {name:?}, but neither a table nor a checkpoint; name an empty folder, or one that does not \
         exist yet, because Leitong replaces and removes files in it",
        path.display()
    )]
    OtherFiles {
        /// The folder.
        path: PathBuf,
        /// The name of one of the files.
        name: String,
    },
    /// The folder has files of a table, but not the one that lists them.
    #[error(
        "{}: contains {name:?}, but centroids.leitong is missing, the file without which the others cannot be used. \
         Nothing was changed; restore all files of the folder from one backup, or move the folder away to begin with an \
         empty table",
        path.display()
    )]
    HeadMissing {
        /// The folder.
        path: PathBuf,
        /// The name of one of the files.
        name: String,
    },
    /// Another run uses the table.
    #[error("{}: another run is using this table; wait for it, or name another folder", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The file is not a table, or is damaged.
    #[error("{}: {problem}; restore the file from a backup, or name another folder to begin with an empty table", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// A description of the damage.
        problem: String,
    },
    /// The journal is damaged before its end.
    #[error(
        "{}: damaged at byte {at}, before pages that were stored: {problem}; restore the file from a backup, \
         or move it away to use the last saved table, without the pages in the journal",
        path.display()
    )]
    JournalDamaged {
        /// The file.
        path: PathBuf,
        /// The offset at which the damage begins.
        at: u64,
        /// A description of the damage.
        problem: String,
    },
    /// Table and journal do not fit together.
    #[error(
        "{}: begins at offset {journal}, but the saved table ends at {table}; restore both files from one \
         backup, or move the journal away to continue without its pages",
        path.display()
    )]
    JournalApart {
        /// The journal.
        path: PathBuf,
        /// The journal's first offset.
        journal: u64,
        /// The first offset that the table does not have.
        table: u64,
    },
    /// The journal has pages that the table lacks.
    #[error(
        "{}: `leitong serve` was killed before it saved all pages; start and stop it on this folder once to \
         add them",
        path.display()
    )]
    JournalLeft {
        /// The journal.
        path: PathBuf,
    },
    /// The recent verdicts are damaged, or belong to another table.
    #[error(
        "{}: {problem}; move the file away to continue. Pages stored before can then no longer be looked up",
        path.display()
    )]
    RecentDamaged {
        /// The file.
        path: PathBuf,
        /// A description of the damage.
        problem: &'static str,
    },
    /// A newer Leitong wrote the file.
    #[error("{}: format version {found} is newer than {known}, the newest that this version of Leitong reads; update Leitong", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The file's format version.
        found: u32,
        /// The newest format version known here.
        known: u32,
    },
    /// A Leitong from before the first release wrote the file.
    #[error("{}: format version {found} is older than {known}; begin with an empty table, or use the version that \
             wrote it", path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// The file's format version.
        found: u32,
        /// The format version of this Leitong.
        known: u32,
    },
    /// Old centroids are in blocks, but the settings require all of them in memory.
    #[error("{}: has its old centroids on disk; set table.on_disk = true", path.display())]
    OnDisk {
        /// The file.
        path: PathBuf,
    },
    /// There is no table to merge.
    #[error("{}: there is no table to merge; `leitong dedup --table` creates one", path.display())]
    NoTable {
        /// The folder.
        path: PathBuf,
    },
    /// A table with crawls of urls cannot be merged.
    #[error(
        "{}: contains crawls of urls (`recrawls`), which cannot be merged; use `leitong dedup --table` to add the \
         pages of one table to the other",
        path.display()
    )]
    HasCrawls {
        /// The file.
        path: PathBuf,
    },
    /// The lines of an exported table are incomplete or invalid.
    #[error(
        "{}: line {line}: {problem}; export the table again, with `leitong table export --all`",
        path.display()
    )]
    Exported {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: u64,
        /// A description of the error.
        problem: String,
    },
    /// The file belongs to a worker's table, which continues in the changelog.
    #[error(
        "{}: belongs to a worker, and the rest of its table is in the changelog; name another folder",
        path.display()
    )]
    OfWorker {
        /// The file.
        path: PathBuf,
    },
    /// Another run may have changed the table since a checkpoint.
    #[error(
        "{}: the table {} was replaced since this checkpoint, or opened by another run, so it may have other \
         pages; remove the folder of checkpoints to begin again with the table as it is",
        path.display(),
        table.display()
    )]
    CheckpointApart {
        /// The folder of checkpoints.
        path: PathBuf,
        /// The folder of the table.
        table: PathBuf,
    },
    /// Old centroids of the table are in blocks of another folder.
    #[error(
        "{}: the old centroids of this deduplicator are in files of {}; load and save it only there",
        path.display(),
        blocks.display()
    )]
    BlocksElsewhere {
        /// The folder for loading or saving.
        path: PathBuf,
        /// The folder of the blocks.
        blocks: PathBuf,
    },
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(Box<dyn std::error::Error + Send + Sync>),
    /// A block cannot be read, or is damaged.
    #[error("{}", with_advice(.0))]
    Blocks(#[from] BlockError),
    /// Files of the table cannot be read, or could not be written for too long.
    #[error(
        "the table is not saved and stays unchanged, because decisions of this run cannot be relied on: {0}"
    )]
    Fault(#[from] TableFault),
    /// The table was made with other settings of `corpus.*`.
    #[error(
        "{}: made with other settings of corpus.* (by, header), so no page of this run would match; use \
         those settings, or name another folder",
        path.display()
    )]
    OtherCorpora {
        /// The file.
        path: PathBuf,
    },
    /// The table was made with other settings.
    #[error(
        "{}: made with other settings: its {which} is {found:016x}, that of this run is {wanted:016x}; use \
         those settings, or name another folder",
        path.display()
    )]
    OtherSettings {
        /// The file.
        path: PathBuf,
        /// `fingerprint_hash` or `cluster_hash`.
        which: &'static str,
        /// The hash of the table.
        found: u64,
        /// The hash of this run.
        wanted: u64,
    },
}
