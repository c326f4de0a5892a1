//! A table that is being made: under another name until it is whole, so that nobody begins with half
//! of it, and gone where it does not come to that.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The folder of such a table.
pub(super) struct Unfinished<'a> {
    output: &'a Path,
    folder: PathBuf,
}

impl<'a> Unfinished<'a> {
    /// Makes the folder of a table that is to be `output`, by `maker` (such as "a merge").
    pub(super) fn begin(output: &'a Path, maker: &str) -> anyhow::Result<Self> {
        is_free(output)?;
        let mut name = output.as_os_str().to_owned();
        name.push(".part");
        let folder = PathBuf::from(name);
        fs::create_dir(&folder).map_err(|error| {
            let left = format!("was left by {maker} that did not come to its end; remove it and try again");
            let exists = error.kind() == io::ErrorKind::AlreadyExists;
            let why = if exists { left } else { error.to_string() };
            anyhow::anyhow!("{}: {why}", folder.display())
        })?;
        Ok(Self { output, folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the table, which is whole, its name.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        fs::rename(&self.folder, self.output).with_context(|| self.output.display().to_string())
    }
}

/// Refuses a name that something has already.
pub(super) fn is_free(output: &Path) -> anyhow::Result<()> {
    if output.exists() {
        bail!("{}: is there already; --output needs a name that is free", output.display());
    }
    Ok(())
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // Once it has its name, there is none of this one.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
