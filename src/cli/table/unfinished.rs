//! Tables that a command is making. Until a table is complete, its folder has another name, so no other
//! process starts with half a table. If the command fails, the folder is removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::settings::wrong;
use leitong_store::snapshot::Unfinished;

/// Creates the folder of a table that will be called `output`, for `maker` (such as "a merge").
pub(super) fn begin(output: &Path, maker: &str) -> anyhow::Result<Unfinished> {
    is_free(output)?;
    let mut name = output.as_os_str().to_owned();
    name.push(".part");
    let folder = PathBuf::from(name);
    fs::create_dir(&folder).map_err(|error| {
        let left = format!("was left by {maker} that did not finish; remove it and try again");
        let exists = error.kind() == io::ErrorKind::AlreadyExists;
        let why = if exists { left } else { error.to_string() };
        anyhow::anyhow!("{}: {why}", folder.display())
    })?;
    Ok(Unfinished::new(folder))
}

/// Renames the complete table to `output`.
pub(super) fn finish(unfinished: Unfinished, output: &Path) -> anyhow::Result<()> {
    unfinished.replace(output).with_context(|| output.display().to_string())
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
