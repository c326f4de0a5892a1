//! The files that a command writes: checked before anything is read, and replaced in one step.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use leitong_base::terminal;

use super::wrong;

/// The option of commands that write files.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Overwrite {
    /// Replace output files that exist
    #[arg(long)]
    overwrite: bool,
}

impl Overwrite {
    /// Returns the permission to change files that exist.
    pub(super) fn allowed() -> Self {
        Self { overwrite: true }
    }

    /// Refuses each of `outputs`, an option and a file, that is read, written twice, or would be replaced without
    /// permission.
    pub(super) fn check(
        self,
        outputs: &[(&str, Option<&Path>)],
        inputs: &[impl AsRef<Path>],
    ) -> anyhow::Result<()> {
        let mut taken: HashSet<_> = inputs.iter().map(|path| identity(path.as_ref())).collect();
        let named = outputs.iter().filter_map(|(option, path)| Some((option, (*path)?)));
        for (option, path) in named.filter(|(_, path)| *path != Path::new("-")) {
            let is_free = taken.insert(identity(path));
            let refused = match fs::metadata(path) {
                Ok(file) if file.is_dir() => Some("is a folder; name a file"),
                Ok(file) if !file.is_file() => None,
                _ if !is_free => Some("is also an input or another output; name another file"),
                Ok(_) if !self.overwrite => {
                    Some("exists; add --overwrite to replace it, or name another file")
                }
                _ => None,
            };
            if let Some(why) = refused {
                return Err(wrong(format_args!("{option} {}: {why}", path.display())));
            }
        }
        Ok(())
    }
}

/// Returns the identity of a file, equal for all its names: device and inode, or the path of one that does not exist.
fn identity(path: &Path) -> Result<(u64, u64), PathBuf> {
    let file = fs::metadata(path).map(|file| (file.dev(), file.ino()));
    file.map_err(|_| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// Writes text for people to standard output.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    terminal::Streams::print(text).context("cannot write to standard output")
}

/// Writes a whole file: first `PATH.part`, which is then renamed. `-` is standard output, and pipes and devices are
/// written directly.
pub(super) fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return print(contents);
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let written = match path.exists() && !path.is_file() {
        true => fs::write(path, contents),
        false => fs::write(&part, contents).and_then(|()| fs::rename(&part, path)),
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}
