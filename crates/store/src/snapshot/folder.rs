//! Files and folders that are written by one process at a time, and replaced in one step.
//!
//! A new version is written under a temporary name and then renamed. After a crash or a power failure there
//! is the old version or the new one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::blocks::create_folder;

/// Locks the file at `path`, and creates it and its folder if necessary. Returns `None` while another process
/// holds the lock. The lock is released when the file is dropped.
pub(super) fn lock(path: &Path) -> io::Result<Option<File>> {
    path.parent().map_or(Ok(()), create_folder)?;
    // Another program's file of this name keeps its contents.
    let lock = File::options().write(true).create(true).truncate(false).open(path)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns the result of an operation on a file; `None` if there is no such file.
pub(super) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// A file or folder that is being written under a temporary name. If this value is dropped before
/// [`Self::replace`], the file or folder is removed, because it would occupy space on a full disk.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    is_finished: bool,
}

impl Unfinished {
    /// Syncs the folder that contains `path`, so a new or changed name there survives a power failure.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn sync_parent(path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => File::open(".")?.sync_all(),
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Takes responsibility for `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, is_finished: false }
    }

    /// Returns the temporary name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file, which must already be on disk, to `path` in the same folder. An existing file with
    /// this name is replaced. After a crash there is the old file or the new one.
    ///
    /// # Errors
    /// The operating system's error. If only the folder could not be synced, the file has its final name.
    pub fn replace(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.is_finished = true;
        // The rename is durable when the folder is synced.
        Self::sync_parent(path)
    }

    /// Keeps the file, which is already on disk, under its present name.
    ///
    /// # Errors
    /// The operating system's error, if the folder cannot be synced.
    pub(super) fn keep(mut self) -> io::Result<()> {
        self.is_finished = true;
        Self::sync_parent(&self.path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        // If removing fails, the next attempt replaces the file.
        let _ = match self.path.is_dir() {
            true => fs::remove_dir_all(&self.path),
            false => fs::remove_file(&self.path),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_files_and_folders_are_removed_and_finished_ones_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file.new"), "half").expect("written");
        fs::create_dir(path("folder.new")).expect("a folder");
        fs::write(path("folder.new/file"), "half").expect("written");
        drop(["file.new", "folder.new"].map(|name| Unfinished::new(path(name))));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
        fs::write(path("file"), "old").expect("written");
        fs::write(path("file.new"), "new").expect("written");
        Unfinished::new(path("file.new")).replace(&path("file")).expect("renamed");
        assert_eq!(fs::read_to_string(path("file")).expect("a file"), "new");
        // A failed rename removes the new file and leaves the old one.
        fs::write(path("other.new"), "new").expect("written");
        fs::create_dir(path("taken")).expect("a folder");
        assert!(Unfinished::new(path("other.new")).replace(&path("taken")).is_err());
        assert!(!path("other.new").exists() && path("taken").is_dir());
    }
}
