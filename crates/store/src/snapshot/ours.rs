//! The names of files in the folders of tables and checkpoints. They tell these folders from folders of other
//! files.
//!
//! A run replaces and removes files in its folders by their names, such as `texts` or `table-1`. In a
//! folder that holds something else, these could be files of the user.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use super::SnapshotError;
use crate::blocks::is_block;

/// Name of the saved table.
pub(super) const FILE_NAME: &str = "centroids.leitong";
/// Name of the journal, which has the pages that are not yet in the saved table.
pub(super) const JOURNAL_NAME: &str = "journal.leitong";
/// Name of the recent verdicts.
pub(super) const RECENT_NAME: &str = "verdicts.leitong";
/// Name of the [mark](super::checkpointed) in the table's folder, and of its copy in the folder of
/// checkpoints.
pub(super) const MARK: &str = "checkpoint.mark";
/// Name of the file that tells which run of `dedup` was begun last, and when.
pub(super) const START: &str = "run.start";
/// Name of the file by which a process locks a folder. It is empty.
pub(super) const LOCK: &str = "lock";

/// Files that belong to a saved table, in addition to its blocks.
const PARTS: [&str; 5] = [JOURNAL_NAME, RECENT_NAME, "texts.leitong", "sizes.leitong", "sizes.before"];
/// Files that only folders of tables and checkpoints have.
const NAMES: [&str; 5] = [FILE_NAME, JOURNAL_NAME, RECENT_NAME, MARK, "checkpoint.json"];

/// Checks that `folder` is missing or empty, or was used for a table or for checkpoints before. Hidden files do
/// not count, nor does the folder that every new ext4 file system has.
///
/// # Errors
/// [`SnapshotError::OtherFiles`], [`SnapshotError::NotAFolder`], or [`SnapshotError::Io`] if it cannot be read.
pub(super) fn check(folder: &Path) -> Result<(), SnapshotError> {
    let failed = |error| SnapshotError::Io { path: folder.to_owned(), error };
    let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = match fs::read_dir(path) {
        // A dangling link counts as missing too, but no folder can be created in its place.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => return Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => {
            return Err(SnapshotError::NotAFolder { path: path.to_owned() });
        }
        read => read.map_err(failed)?,
    };
    let is_lock = |lock: fs::Metadata| lock.is_file() && lock.len() == 0;
    if fs::symlink_metadata(path.join(LOCK)).is_ok_and(is_lock)
        || NAMES.iter().any(|name| path.join(name).is_file())
    {
        return Ok(());
    }
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") && name != OsStr::new("lost+found") {
            let name = name.to_string_lossy().into_owned();
            return Err(SnapshotError::OtherFiles { path: path.to_owned(), name });
        }
    }
    Ok(())
}

/// Checks that a folder with files of a table also has the file that lists them. Without it, nobody knows which of
/// the files still count, so a table that began in this folder would delete or ignore them.
///
/// # Errors
/// [`SnapshotError::HeadMissing`], or [`SnapshotError::Io`] if the folder cannot be read.
pub(super) fn check_head(folder: &Path) -> Result<(), SnapshotError> {
    let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if fs::symlink_metadata(path.join(FILE_NAME)).is_ok() {
        return Ok(());
    }
    let entries = match fs::read_dir(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(());
        }
        read => read.map_err(|error| SnapshotError::Io { path: path.to_owned(), error })?,
    };
    for entry in entries {
        let name = entry.map_err(|error| SnapshotError::Io { path: path.to_owned(), error })?.file_name();
        let name = name.to_string_lossy();
        if PARTS.contains(&&*name) || is_block(&name) {
            return Err(SnapshotError::HeadMissing { path: path.to_owned(), name: name.into_owned() });
        }
    }
    Ok(())
}
