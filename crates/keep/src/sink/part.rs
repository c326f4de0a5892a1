//! Names of outputs that are not yet complete.
//!
//! A file is written as `NAME.part` and gets its name when the command is done, so a file with that name is complete.
//! Standard output, pipes and devices are written directly.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use leitong_base::terminal;

/// Maximum number of symbolic links that are followed for one name. It is the limit of the operating system.
const LINKS_MAX: usize = 40;

/// Returns the name under which `path` is written until it is complete: `NAME.part`, next to the file that `path`
/// leads to. Returns `None` for `-`, pipes and devices.
pub(crate) fn part_of(path: &Path) -> Option<PathBuf> {
    if path == Path::new("-") || (path.exists() && !path.is_file()) {
        return None;
    }
    // `/dev/stdout` may lead to a regular file, which the caller has opened.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).map(resolved);
    let is_device = |folder: PathBuf| {
        ["/dev", "/proc"].iter().any(|devices| folder.starts_with(devices)) && !folder.starts_with("/dev/shm")
    };
    if folder.is_some_and(is_device) {
        return None;
    }
    let mut name = resolved(path).into_os_string();
    name.push(".part");
    Some(name.into())
}

/// Returns the absolute path without links, also for a file that does not exist yet.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // A link to a file that does not exist is created through the link.
    for _ in 0..LINKS_MAX {
        let (false, Ok(target)) = (path.exists(), std::fs::read_link(&path)) else { break };
        path = path.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
    }
    if let Ok(whole) = path.canonicalize() {
        return whole;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => resolved(folder).join(name),
        // `..` in a folder that does not exist.
        (Some(folder), None) => resolved(folder).parent().map_or_else(|| path.clone(), Path::to_owned),
        _ => path,
    }
}

/// Opens the output `path` under the name that it has until it is complete, and empties it; `-` is standard output.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    match path.to_str() {
        Some("-") => Ok(File::from(terminal::Streams::output()?.as_fd().try_clone_to_owned()?)),
        _ => File::create(part_of(path).as_deref().unwrap_or(path)),
    }
}
