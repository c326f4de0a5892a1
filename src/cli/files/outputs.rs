//! Checks of the files that a command writes: it refuses those that would overwrite its input, another output,
//! or a file of a table, and those whose names promise compression that they do not get.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::settings::wrong;
use leitong_keep::sink::WholeLines;

/// Endings of names that promise compression. They may have capitals.
const COMPRESSED: [&str; 3] = [".gz", ".zst", ".lz4"];

/// Endings of names that promise compression that is never written.
pub(crate) const NEVER_COMPRESSED: [&str; 14] = [
    ".xz", ".bz2", ".bz", ".lzma", ".lz", ".lzo", ".br", ".z", ".sz", ".zip", ".7z", ".rar", ".gzip", ".zstd",
];

/// The identity of a file, equal for all its names.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// Device and inode: hard links have the same.
    File(u64, u64),
    /// The whole path of a file that does not exist yet.
    Missing(PathBuf),
}

/// Removes the ending that promises compression from a name.
pub(crate) fn without_compression(name: &str) -> &str {
    COMPRESSED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Refuses, before anything is opened for writing, each of `outputs` (an option and a file) that is one of the
/// `inputs`, another output, or in one of `folders`, which belong to tables or checkpoints. Files that standard
/// input or output is redirected from or to are checked as well. Of the outputs, only kept and dropped documents are
/// compressed, so others may not have names of compressed files.
///
/// # Errors
/// An output is refused.
pub fn check_outputs(
    outputs: &[(&str, PathBuf)],
    inputs: &[PathBuf],
    folders: &[&Path],
) -> anyhow::Result<()> {
    let input = |path: &PathBuf| match path == Path::new("-") {
        true => open_file(io::stdin()),
        false => identity(path),
    };
    let mut taken: HashSet<Identity> = inputs.iter().filter_map(input).collect();
    let folders: Vec<(PathBuf, HashSet<Identity>)> =
        folders.iter().map(|folder| (WholeLines::resolved(folder), files_in(folder))).collect();
    if let Some(file @ Identity::File(..)) = identity(Path::new("-"))
        && (taken.contains(&file) || folders.iter().any(|(_, files)| files.contains(&file)))
    {
        return Err(wrong(
            "standard output: is redirected to an input, or to a file of a table or of checkpoints; redirect it to \
             another file",
        ));
    }
    for (option, path) in outputs {
        let file = identity(path);
        let problem = match path == Path::new("-") {
            true => file
                .is_some_and(|stdout| !taken.insert(stdout))
                .then(|| "standard output is named twice; name a file".to_owned()),
            false => compression_promised(option, path)
                .or_else(|| in_foreign_folder(path, file.as_ref(), &folders))
                .or_else(|| taken_already(file, &mut taken)),
        };
        if let Some(problem) = problem {
            return Err(wrong(format_args!("{option} {}: {problem}", path.display())));
        }
    }
    Ok(())
}

/// Returns an error if one of `outputs` cannot be written. Some are written at the end of a run, and others would then be
/// overwritten already.
pub(crate) fn check_writable(outputs: &[(&str, PathBuf)]) -> anyhow::Result<()> {
    for (option, path) in outputs.iter().filter(|(_, path)| path != Path::new("-")) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Folders for documents are created.
        let may_be_created = ["--keep", "--drop"].contains(option) && !folder.exists();
        let tried = match WholeLines::part_of(path) {
            Some(_) if !may_be_created => tempfile::tempfile_in(folder).map(drop),
            _ => Ok(()),
        };
        tried.with_context(|| format!("{option}: cannot write {}", path.display()))?;
    }
    Ok(())
}

fn compression_promised(option: &str, path: &Path) -> Option<String> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let ending = COMPRESSED.iter().chain(&NEVER_COMPRESSED).find(|ending| name.ends_with(**ending))?;
    (!["--keep", "--drop"].contains(&option)).then(|| {
        format!(
            "is written without compression; remove {ending} from the name, and compress the file after the run"
        )
    })
}

fn in_foreign_folder(
    path: &Path,
    file: Option<&Identity>,
    folders: &[(PathBuf, HashSet<Identity>)],
) -> Option<String> {
    let whole = WholeLines::resolved(path);
    let (folder, _) = folders
        .iter()
        .find(|(folder, files)| whole.starts_with(folder) || file.is_some_and(|file| files.contains(file)))?;
    Some(format!(
        "is in the folder {}, whose files belong to a table or to checkpoints; name a file somewhere else",
        folder.display()
    ))
}

fn taken_already(file: Option<Identity>, taken: &mut HashSet<Identity>) -> Option<String> {
    // The same special file, such as /dev/null, may be named several times.
    let file = file?;
    let exists = matches!(file, Identity::File(..));
    let why = match exists {
        true => "is already an input or output, under this or another name; name another file",
        false => {
            "would be written twice: two outputs have this name, or two inputs have the same name and go to one folder; \
             name another file"
        }
    };
    (!taken.insert(file)).then(|| why.to_owned())
}

/// Returns the identity of the file that a stream is redirected to or from, if any.
fn open_file(stream: impl AsFd) -> Option<Identity> {
    metadata_of(stream).filter(Metadata::is_file).map(|file| identity_of(&file))
}

/// Returns the metadata of the file, pipe or device that a stream is connected to.
fn metadata_of(stream: impl AsFd) -> Option<Metadata> {
    File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()
}

/// Returns the identity of the file, or of standard output for `-`; `None` if the path is something other than a
/// file.
fn identity(path: &Path) -> Option<Identity> {
    if path == Path::new("-") {
        return Some(open_file(io::stdout()).unwrap_or_else(|| Identity::Missing(path.to_owned())));
    }
    match fs::metadata(path) {
        Ok(file) => file.is_file().then(|| identity_of(&file)),
        Err(_) => Some(Identity::Missing(WholeLines::resolved(path))),
    }
}

fn identity_of(file: &Metadata) -> Identity {
    Identity::File(file.dev(), file.ino())
}

/// Returns the identity of an input, which may also be a pipe or device. `-` is standard input.
pub(crate) fn identity_of_input(path: &Path) -> Option<Identity> {
    let file = match path == Path::new("-") {
        true => metadata_of(io::stdin()),
        false => fs::metadata(path).ok(),
    };
    file.map(|file| identity_of(&file))
}

/// Returns the files in `folder`; none if it does not exist.
fn files_in(folder: &Path) -> HashSet<Identity> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::metadata(entry.path()).ok())
        .filter(Metadata::is_file)
        .map(|file| identity_of(&file))
        .collect()
}
