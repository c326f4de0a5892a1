//! Tables that a command is making. Until a table is complete, its folder has another name, so no other
//! process starts with half a table. If the command fails, the folder is removed; if it is killed, the next
//! command for the same table removes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::cli::settings::wrong;
use leitong_store::snapshot::{TableDir, Unfinished};

/// The table that a command is making.
pub(super) struct NewTable<'a> {
    folder: Unfinished,
    /// The final name.
    output: &'a Path,
    /// The folder, locked until the command ends.
    _lock: File,
}

impl<'a> NewTable<'a> {
    /// Creates the folder of a table that will be called `output`.
    ///
    /// # Errors
    /// The table exists, another process is making it, or the folder cannot be created.
    pub(super) fn begin(output: &'a Path) -> anyhow::Result<Self> {
        is_free(output)?;
        let mut name = output.as_os_str().to_owned();
        name.push(".part");
        let folder = PathBuf::from(name);
        let lock = create(&folder).with_context(|| format!("--output: {}", folder.display()))?;
        Ok(Self { folder: Unfinished::new(folder), output, _lock: lock })
    }

    /// Returns the folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Renames the complete table to its final name.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.folder.replace(self.output).with_context(|| self.output.display().to_string())
    }
}

/// Creates the folder, without what a killed process has left in it, and locks it.
fn create(folder: &Path) -> anyhow::Result<File> {
    if folder.symlink_metadata().is_ok() {
        let left = lock(folder)?;
        TableDir::open(folder).context("remove it, or choose another --output")?;
        fs::remove_dir_all(folder)?;
        drop(left);
    }
    fs::create_dir(folder)?;
    lock(folder)
}

fn lock(folder: &Path) -> anyhow::Result<File> {
    let lock = File::open(folder)?;
    // Another process may have taken the folder for one that was left, before it was locked.
    let is_there = || -> io::Result<bool> { Ok(fs::metadata(folder)?.ino() == lock.metadata()?.ino()) };
    if lock.try_lock().is_err() || !is_there()? {
        bail!("another process is making this table");
    }
    Ok(lock)
}

/// Rejects an output that exists.
pub(super) fn is_free(output: &Path) -> anyhow::Result<()> {
    if output.exists() {
        return Err(wrong(format_args!(
            "--output {}: already exists; choose another name",
            output.display()
        )));
    }
    Ok(())
}
