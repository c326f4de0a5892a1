//! Inputs as they are named → files: a folder stands for the files in it and below, in the order of
//! their paths. Which files are read there is told by their names, so that notes and checksums that
//! lie beside them are passed over; a file that is named itself is read whatever it is called.
//!
//! A name with `*`, `?` or `[` that no file has is a pattern, for where no shell expands it (a unit of systemd, a
//! container's command, more files than a command line holds). It stands for the paths that match, in their order; `**`
//! stands for folders of any depth.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use glob::MatchOptions;

/// Endings of names that are read in folders, before those of packed files.
const ENDINGS: [&str; 8] = ["jsonl", "ndjson", "json", "warc", "wet", "parquet", "csv", "tsv"];
/// Endings of packed files.
const PACKED: [&str; 3] = [".gz", ".zst", ".lz4"];

/// The files that inputs stand for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// In the order of the inputs.
    pub files: Vec<PathBuf>,
    /// Files in folders that are not read, since their names end otherwise.
    pub passed_over: u64,
}

/// The files that `inputs` stand for. Hidden files and folders are not looked at, unless they are named.
///
/// # Errors
/// A folder cannot be read, or there is nothing to read in it; a pattern is wrong, or nothing matches it.
pub fn files(inputs: &[PathBuf]) -> io::Result<Files> {
    let mut found = Files::default();
    for input in inputs {
        match pattern(input) {
            Some(pattern) => {
                for path in matching(pattern).map_err(|error| named(input, &error))? {
                    add(&path, &mut found)?;
                }
            }
            None => add(input, &mut found)?,
        }
    }
    Ok(found)
}

/// Adds a file, or those of a folder.
fn add(input: &Path, found: &mut Files) -> io::Result<()> {
    if !input.is_dir() {
        found.files.push(input.to_owned());
        return Ok(());
    }
    let before = found.files.len();
    walk(input, found).map_err(|error| named(input, &error))?;
    found.files[before..].sort_unstable();
    if found.files.len() == before {
        let endings = ENDINGS.map(|ending| format!(".{ending}")).join(", ");
        let problem =
            format!("there is no file to read in this folder; names end in {endings}, packed or not");
        return Err(named(input, &io::Error::new(io::ErrorKind::NotFound, problem)));
    }
    Ok(())
}

/// The input as a pattern, if it is one: a file that is called so comes first.
fn pattern(input: &Path) -> Option<&str> {
    let text = input.to_str()?;
    (text.contains(['*', '?', '[']) && input.symlink_metadata().is_err()).then_some(text)
}

/// The paths that match a pattern, in their order.
fn matching(pattern: &str) -> io::Result<Vec<PathBuf>> {
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let wrong = |error: glob::PatternError| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("no pattern: {error}"))
    };
    let paths: Result<Vec<PathBuf>, _> = glob::glob_with(pattern, options).map_err(wrong)?.collect();
    let mut paths = paths.map_err(io::Error::from)?;
    if paths.is_empty() {
        let problem = "no file is called so, and as a pattern it matches none";
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    paths.sort_unstable();
    Ok(paths)
}

fn walk(folder: &Path, found: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if name.starts_with('.') {
            continue;
        }
        // A link to a folder is not followed: it may lead back.
        if path.is_dir() {
            if !path.is_symlink() {
                walk(&path, found)?;
            }
        } else if is_read(&name) {
            found.files.push(path);
        } else {
            found.passed_over += 1;
        }
    }
    Ok(())
}

fn is_read(name: &str) -> bool {
    let name = PACKED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_file(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, "").expect("a file");
        path
    }

    #[test]
    fn a_folder_is_its_files_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| empty_file(folder.path(), name);
        let [b, a, deep, named] = ["in/b.jsonl.gz", "in/a.parquet", "in/c/x.WARC.zst", "odd"].map(file);
        for other in ["in/README.md", "in/sums.sha256", "in/.hidden.jsonl", "in/.git/x.jsonl"] {
            file(other);
        }
        let found = files(&[named.clone(), folder.path().join("in")]).expect("files");
        assert_eq!(found, Files { files: vec![named, a, b, deep], passed_over: 2 });
        fs::create_dir(folder.path().join("empty")).expect("a folder");
        let error = files(&[folder.path().join("empty")]).expect_err("nothing there").to_string();
        assert!(error.contains("empty: there is no file to read") && error.contains(".parquet"), "{error}");
    }

    #[test]
    fn a_pattern_is_what_matches_unless_a_file_is_called_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| empty_file(folder.path(), name);
        let [b, a, deep, inside, odd] = ["b.gz", "a.gz", "x/y/c.gz", "x/z.gz/d.jsonl", "b[1].gz"].map(file);
        file(".hidden.gz");
        let of = |pattern: &str| files(&[folder.path().join(pattern)]).map(|found| found.files);
        assert_eq!(of("[ab].gz").expect("files"), [a.clone(), b.clone()], "in order");
        assert_eq!(
            of("**/*.gz").expect("files"),
            [a.clone(), b.clone(), odd.clone(), deep, inside],
            "folders as well"
        );
        assert_eq!(of("b[1].gz").expect("files"), [odd], "a file that is called so");
        assert_eq!(of("?.gz").expect("files"), [a, b]);
        let none = of("*.warc").expect_err("nothing matches").to_string();
        assert!(none.ends_with("*.warc: no file is called so, and as a pattern it matches none"), "{none}");
        let wrong = of("***").expect_err("no pattern").to_string();
        assert!(wrong.contains("***: no pattern: "), "{wrong}");
    }
}
