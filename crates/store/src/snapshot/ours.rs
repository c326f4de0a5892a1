//! The names of files in the folders of tables and checkpoints. They tell these folders from folders of other
//! files.
//!
//! A run replaces and removes files in its folders by their names, such as `texts` or `table-1`. In a
//! folder that holds something else, these could be files of the user. So the program marks its folders: the file by
//! which it locks them has [a line](LOCK_MARK) that it wrote. At the end of a run, a folder of checkpoints loses the
//! mark together with its files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::SnapshotError;
use super::file::at;
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
/// Name of the file by which a process locks a folder.
pub(super) const LOCK: &str = "lock";
/// Contents of this file while the folder belongs to a table or to checkpoints.
const LOCK_MARK: &[u8] = b"leitong folder\n";

/// Files that belong to a saved table, in addition to its blocks.
const PARTS: [&str; 5] = [JOURNAL_NAME, RECENT_NAME, "texts.leitong", "sizes.leitong", "sizes.before"];
/// Files that only folders of tables have. Folders of earlier versions have no [`LOCK_MARK`].
const NAMES: [&str; 3] = [FILE_NAME, JOURNAL_NAME, RECENT_NAME];
/// The beginning of a checkpoint, for folders of earlier versions.
const CHECKPOINT: &[u8] = b"{\n  \"format_version\": ";

/// Marks a folder by its locked file, if another program has not written to it.
pub(super) fn mark(lock: &mut File) -> io::Result<()> {
    if lock.metadata()?.len() == 0 {
        lock.write_all(LOCK_MARK)?;
        lock.sync_all()?;
    }
    Ok(())
}

/// Removes the mark of a folder from which all files of the program are gone.
pub(super) fn unmark(folder: &Path) -> io::Result<()> {
    match begins_with(&folder.join(LOCK), LOCK_MARK) {
        true => File::options().write(true).open(folder.join(LOCK))?.set_len(0),
        false => Ok(()),
    }
}

/// Returns true if the file begins with these bytes.
fn begins_with(path: &Path, bytes: &[u8]) -> bool {
    let mut found = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bytes.len() as u64).read_to_end(&mut found));
    read.is_ok() && found == bytes
}

/// Checks that `folder` is missing or empty, or belongs to a table or to checkpoints. Hidden files do not count, nor
/// do an empty `lock` and the folder that every new ext4 file system has.
///
/// # Errors
/// [`SnapshotError::OtherFiles`], [`SnapshotError::NotAFolder`], or [`SnapshotError::Io`] if it cannot be read.
pub(super) fn check(folder: &Path) -> Result<(), SnapshotError> {
    let path = opened(folder);
    let names = match names(path) {
        // A dangling link counts as missing too, but no folder can be created in its place.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => return Ok(()),
        Err(error) if is_no_folder(&error) => {
            return Err(SnapshotError::NotAFolder { path: path.to_owned() });
        }
        names => names.map_err(at(path))?,
    };
    if begins_with(&path.join(LOCK), LOCK_MARK)
        || NAMES.iter().any(|name| path.join(name).is_file())
        || begins_with(&path.join("checkpoint.json"), CHECKPOINT)
    {
        return Ok(());
    }
    let is_empty = |lock: fs::Metadata| lock.is_file() && lock.len() == 0;
    for name in names {
        if name == OsStr::new(LOCK) && fs::symlink_metadata(path.join(LOCK)).is_ok_and(is_empty) {
            continue;
        }
        if !name.as_encoded_bytes().starts_with(b".") && name != OsStr::new("lost+found") {
            let name = name.to_string_lossy().into_owned();
            return Err(SnapshotError::OtherFiles { path: path.to_owned(), name });
        }
    }
    Ok(())
}

fn opened(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn names(path: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect()
}

fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Checks that a folder with files of a table also has the file that lists them. Without it, nobody knows which of
/// the files still count, so a table that began in this folder would delete or ignore them.
///
/// # Errors
/// [`SnapshotError::HeadMissing`], or [`SnapshotError::Io`] if the folder cannot be read.
pub(super) fn check_head(folder: &Path) -> Result<(), SnapshotError> {
    let path = opened(folder);
    if fs::symlink_metadata(path.join(FILE_NAME)).is_ok() {
        return Ok(());
    }
    let names = match names(path) {
        Err(error) if is_no_folder(&error) => return Ok(()),
        names => names.map_err(at(path))?,
    };
    let mut names = names.iter().map(|name| name.to_string_lossy());
    match names.find(|name| PARTS.contains(&&**name) || is_block(name)) {
        Some(name) => Err(SnapshotError::HeadMissing { path: path.to_owned(), name: name.into_owned() }),
        None => Ok(()),
    }
}
