//! Files of which one process writes the next version, and which are replaced in one step.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

/// The lock at `path`, whose folder is made if it is not there; none
/// while another process holds it. It is evicted when it is dropped.
pub(super) fn lock(path: &Path) -> io::Result<Option<File>> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let lock = File::create(path)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Puts the file `new`, which is on disk, in place of `path`
/// in the same folder: a crash leaves the one or the other.
///
/// # Errors
/// What the operating system says.
pub fn replace(path: &Path, new: &Path) -> io::Result<()> {
    fs::rename(new, path)?;
    // The rename itself is on disk once the folder is.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
