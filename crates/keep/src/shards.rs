//! Names of the files that an output is divided into: `kept-00000.jsonl.gz`, `kept-00001.jsonl.gz` and so on for
//! `kept.jsonl.gz`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sink::part::{part_of, resolved};

/// Minimum number of digits in a name.
const DIGITS: usize = 5;

/// Returns the name before the number, and the endings after it.
fn split(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // A name may begin with a dot.
    let dot = name.char_indices().skip(1).find(|(_, c)| *c == '.').map_or(name.len(), |(at, _)| at);
    (name[..dot].to_owned(), name[dot..].to_owned())
}

/// Returns the path of shard `number` of the output `path`.
pub(crate) fn shard(path: &Path, number: usize) -> PathBuf {
    let (stem, ending) = split(path);
    path.with_file_name(format!("{stem}-{number:0DIGITS$}{ending}"))
}

/// Returns the number of the shard of `path` with this file name.
fn number(path: &Path, name: &str) -> Option<usize> {
    let (stem, ending) = split(path);
    let number = name.strip_prefix(&stem)?.strip_prefix('-')?.strip_suffix(&ending)?.parse().ok()?;
    shard(path, number).file_name().is_some_and(|own| own == name).then_some(number)
}

/// Returns true if `other` may become a shard of the output `path`.
pub(crate) fn is_shard(path: &Path, other: &Path) -> bool {
    let (path, other) = (resolved(path), resolved(other));
    let name = other.file_name().and_then(|name| name.to_str());
    path.parent() == other.parent() && name.is_some_and(|name| number(&path, name).is_some())
}

/// Returns the shards of the output `path` that exist, complete or as parts, and the first one, in order.
pub(crate) fn existing(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let numbers: BTreeSet<usize> = names
        .filter_map(|name| {
            number(path, name.to_str().map(|name| name.strip_suffix(".part").unwrap_or(name))?)
        })
        .chain([0])
        // Also if the folder cannot be listed.
        .chain((0..).take_while(|number| part_of(&shard(path, *number)).is_some_and(|part| part.is_file())))
        .collect();
    numbers.into_iter().map(|number| shard(path, number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shards_are_recognised_in_their_folder_alone() {
        let is = |other: &str| is_shard(Path::new("a/kept.jsonl"), Path::new(other));
        assert!(is("a/kept-00001.jsonl") && is("a/kept-123456.jsonl"));
        assert!(
            !["a/kept-1.jsonl", "kept-00001.jsonl", "a/kept.jsonl", "a/kept-00001.csv"]
                .map(is)
                .contains(&true)
        );
    }

    #[test]
    fn shards_are_numbered_before_the_endings_and_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kept.jsonl.gz");
        let name = |number| shard(&path, number).file_name().expect("a name").to_string_lossy().into_owned();
        assert_eq!([name(0), name(123_456)], ["kept-00000.jsonl.gz", "kept-123456.jsonl.gz"]);
        assert_eq!(existing(&path), [shard(&path, 0)], "the first one is always written");
        for other in
            ["kept-00002.jsonl.gz.part", "kept-00001.jsonl.gz", "kept-1.jsonl.gz", "kept-00003.jsonl"]
        {
            fs::write(folder.path().join(other), "").expect("a file");
        }
        assert_eq!(existing(&path), [0, 1, 2].map(|number| shard(&path, number)));
    }
}
