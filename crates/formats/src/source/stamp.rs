//! The stamp of a file: device, inode, size and times. Two files with the same stamp have the same bytes, so a second
//! reading can be checked without a hash.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// The metadata of a file, by which a change is noticed. Writing to a file or replacing it always changes one
/// of these values: the time of the last inode change cannot be set by programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Time of the last write, in seconds and nanoseconds.
    pub modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the stamp of a file.
    #[must_use]
    pub fn from_metadata(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}
