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

/// Name of the saved table.
pub(super) const FILE_NAME: &str = "centroids.leitong";
/// Name of the journal, which has the pages that are not yet in the saved table.
pub(super) const JOURNAL_NAME: &str = "journal.leitong";
/// Name of the recent verdicts.
pub(super) const RECENT_NAME: &str = "verdicts.leitong";
/// Name of the [mark](super::checkpointed) in the table's folder, and of its copy in the folder of
/// checkpoints.
pub(super) const MARK: &str = "checkpoint.mark";
/// Name of the file by which a process locks a folder. It is empty.
pub(super) const LOCK: &str = "lock";

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
