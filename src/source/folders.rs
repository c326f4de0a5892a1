//! Inputs as they are named → files: a folder stands for the files in it and below, in the order of
//! their paths. Which files are read there is told by their names, so that notes and checksums that
//! lie beside them are passed over; a file that is named itself is read whatever it is called.
//!
//! A name with `*`, `?` or `[` that no file has is a pattern, for where no shell expands it (a unit of systemd, a
//! container's command, more files than a command line holds). It stands for the paths that match, in their order; `**`
//! stands for folders of any depth.
//!
//! A folder may also stand for the [pages of HTML](Read::Pages) in it, each a file. The same goes for objects of stores
//! (`s3://bucket/…`), whose folders are what their keys have before a slash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use glob::MatchOptions;

use super::location::is_object;
use super::open::{Input, is_machine_error};

/// Endings of names that are read in folders, before those of packed files.
const ENDINGS: [&str; 8] = ["jsonl", "ndjson", "json", "warc", "wet", "parquet", "csv", "tsv"];
/// Endings of packed files.
const PACKED: [&str; 3] = [".gz", ".zst", ".lz4"];

/// How patterns match.
const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// What is read in folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Files that hold many pages, by their names.
    Documents,
    /// Files that are one page of HTML each, by their names or contents.
    Pages,
}

/// The files that inputs stand for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// In the order of the inputs.
    pub files: Vec<PathBuf>,
    /// What each is called below its input, if that is a folder or a pattern; else its name. Only of
    /// pages, which are called alike in many folders.
    pub below: Vec<PathBuf>,
    /// Files in folders that are not read, since they are something else.
    pub passed_over: u64,
    /// Objects of stores that would be read, and have keys by which they cannot be asked for.
    pub unnameable: Vec<String>,
}

/// The files that `inputs` stand for. Hidden files and folders are not looked at, unless they are named.
///
/// # Errors
/// A folder cannot be read, or there is nothing to read in it; a pattern is wrong, or nothing matches it.
pub fn files(inputs: &[PathBuf], read: Read) -> io::Result<Files> {
    let mut found = Files::default();
    for input in inputs {
        match pattern(input) {
            _ if is_object(input) => {
                // What a store says names the object.
                objects(input, read, &mut found).map_err(|error| match is_machine_error(&error) {
                    true => error,
                    false => named(input, &error),
                })?;
            }
            Some(pattern) => {
                let root = root(input);
                for path in matching(pattern).map_err(|error| named(input, &error))? {
                    if path.is_dir() || is_file_of(&root, &path, read) {
                        add(&path, read, &mut found)?;
                    } else {
                        found.passed_over += 1;
                    }
                }
            }
            None => add(input, read, &mut found)?,
        }
        let of_input = &found.files[found.below.len()..];
        let root = root(input);
        let below = of_input.iter().map(|file| {
            let below =
                file.strip_prefix(&root).ok().filter(|below| read == Read::Pages && *below != Path::new(""));
            below.map_or_else(|| file.file_name().unwrap_or_default().into(), Path::to_owned)
        });
        found.below.extend(below.collect::<Vec<_>>());
    }
    Ok(found)
}

/// The folder that an input is, or in which a pattern begins to vary.
fn root(input: &Path) -> PathBuf {
    if input.is_dir() || pattern(input).is_none() {
        return input.to_owned();
    }
    let varies =
        |part: &std::path::Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    input.components().take_while(|part| !varies(part)).collect()
}

/// Adds a file, or those of a folder.
fn add(input: &Path, read: Read, found: &mut Files) -> io::Result<()> {
    if !input.is_dir() {
        found.files.push(input.to_owned());
        return Ok(());
    }
    let before = found.files.len();
    walk(input, input, read, found).map_err(|error| named(input, &error))?;
    found.files[before..].sort_unstable();
    if found.files.len() == before {
        return Err(named(input, &nothing_to_read(read)));
    }
    Ok(())
}

/// The error for a folder in which nothing is read.
fn nothing_to_read(read: Read) -> io::Error {
    let endings = ENDINGS.map(|ending| format!(".{ending}")).join(", ");
    let problem = match read {
        Read::Documents => format!(
            "there is no file to read in this folder; names end in {endings}, packed or not; if its files are pages of \
             HTML, give --url-base"
        ),
        Read::Pages => {
            "there is no page of HTML in this folder; without --url-base other files are read".to_owned()
        }
    };
    io::Error::new(io::ErrorKind::NotFound, problem)
}

/// Adds the objects of a store that `input` stands for.
#[cfg(feature = "s3")]
fn objects(input: &Path, read: Read, found: &mut Files) -> io::Result<()> {
    use super::object::listing::{Listed, Objects, listed};
    let Listed { objects, unnameable } = listed(input, MATCHING)?;
    let is_folder = matches!(objects, Objects::Below(_));
    let is_wanted = |key: &String| {
        let is_document = || is_called_document(&key.to_ascii_lowercase());
        !is_folder || read == Read::Pages || is_document()
    };
    found.unnameable.extend(unnameable.into_iter().filter(is_wanted));
    match objects {
        Objects::Object(path) => found.files.push(path),
        Objects::Matching(paths) => found.files.extend(paths),
        Objects::Below(paths) => {
            let before = found.files.len();
            for (path, below) in paths {
                let is_hidden = below.split('/').any(|name| name.starts_with('.'));
                if is_hidden {
                    continue;
                }
                if is_read(&path, &below.to_ascii_lowercase(), read)? {
                    found.files.push(path);
                } else {
                    found.passed_over += 1;
                }
            }
            if found.files.len() == before && found.unnameable.is_empty() {
                return Err(nothing_to_read(read));
            }
        }
    }
    Ok(())
}

#[cfg(not(feature = "s3"))]
fn objects(_: &Path, _: Read, _: &mut Files) -> io::Result<()> {
    Err(super::location::without_stores())
}

/// The input as a pattern, if it is one: a file that is called so comes first.
fn pattern(input: &Path) -> Option<&str> {
    let text = input.to_str()?;
    (text.contains(['*', '?', '[']) && input.symlink_metadata().is_err()).then_some(text)
}

/// The paths that match a pattern, in their order.
fn matching(pattern: &str) -> io::Result<Vec<PathBuf>> {
    let wrong = |error: glob::PatternError| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("no pattern: {error}"))
    };
    let paths: Result<Vec<PathBuf>, _> = glob::glob_with(pattern, MATCHING).map_err(wrong)?.collect();
    let mut paths = paths.map_err(io::Error::from)?;
    if paths.is_empty() {
        let problem = "no file is called so, and as a pattern it matches none";
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Adds what is read in `folder`, which is `root` or below it.
fn walk(root: &Path, folder: &Path, read: Read, found: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if name.starts_with('.') {
            continue;
        }
        // A link to a folder is not followed: it may lead back.
        if path.is_dir() {
            if !path.is_symlink() {
                walk(root, &path, read, found)?;
            }
        } else if is_file_of(root, &path, read) && is_read(&path, &name, read)? {
            found.files.push(path);
        } else {
            found.passed_over += 1;
        }
    }
    Ok(())
}

/// Whether a file may be read that nobody has named: pipes and devices have no end. A mirror comes from elsewhere, so
/// a link in it that leads out of it is not followed.
fn is_file_of(root: &Path, path: &Path, read: Read) -> bool {
    // A pattern such as `*.html` has no folder before it.
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    let leads_out = || match (root.canonicalize(), path.canonicalize()) {
        (Ok(root), Ok(path)) => !path.starts_with(root),
        _ => true,
    };
    path.is_file() && !(read == Read::Pages && path.is_symlink() && leads_out())
}

/// Whether a file in a folder is read; `name` is its name in lower case.
fn is_read(path: &Path, name: &str, read: Read) -> io::Result<bool> {
    match read {
        Read::Documents => Ok(is_called_document(name)),
        Read::Pages => Input::open(path)?.is_page(),
    }
}

/// A file's name without the ending of packed files.
pub(super) fn without_packing(name: &str) -> &str {
    PACKED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

fn is_called_document(name: &str) -> bool {
    let name = without_packing(name);
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
        let found = files(&[named.clone(), folder.path().join("in")], Read::Documents).expect("files");
        assert_eq!((found.files, found.passed_over), (vec![named, a, b, deep], 2));
        fs::create_dir(folder.path().join("empty")).expect("a folder");
        let error =
            files(&[folder.path().join("empty")], Read::Documents).expect_err("nothing there").to_string();
        assert!(error.contains("empty: there is no file to read") && error.contains(".parquet"), "{error}");
    }

    #[test]
    fn a_pattern_is_what_matches_unless_a_file_is_called_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| empty_file(folder.path(), name);
        let [b, a, deep, inside, odd] = ["b.gz", "a.gz", "x/y/c.gz", "x/z.gz/d.jsonl", "b[1].gz"].map(file);
        file(".hidden.gz");
        let of =
            |pattern: &str| files(&[folder.path().join(pattern)], Read::Documents).map(|found| found.files);
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

    /// A pipe in a mirror was waited for without end, and what a link led to was copied into the kept files.
    #[test]
    fn pipes_and_links_out_of_a_mirror_are_passed_over() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let folder = tempfile::tempdir().expect("a folder");
        let page = empty_file(folder.path(), "m/a.html");
        let outside = empty_file(folder.path(), "outside.html");
        let inside = folder.path().join("m/inside.html");
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, folder.path().join("m").join(name)).expect("a link");
        };
        link(&page, "inside.html");
        link(&outside, "outside.html");
        link(Path::new("loop.html"), "loop.html");
        let pipe = folder.path().join("m/pipe.html");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        for input in ["m", "m/*.html"] {
            let found = files(&[folder.path().join(input)], Read::Pages).expect("files");
            assert_eq!(
                (&found.files, found.passed_over),
                (&vec![page.clone(), inside.clone()], 3),
                "{input}"
            );
        }
        // Folders of documents are often links to where files are stored.
        link(&empty_file(folder.path(), "b.jsonl"), "b.jsonl");
        let found = files(&[folder.path().join("m")], Read::Documents).expect("files");
        assert_eq!(found.files, [folder.path().join("m/b.jsonl")]);
    }

    #[test]
    fn pages_keep_their_place_below_what_was_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let [home, view] = ["m/index.html", "m/a/view.php?id=3"].map(|name| empty_file(folder.path(), name));
        let alone = empty_file(folder.path(), "alone.htm");
        fs::write(&view, "<!doctype html><p>Hello").expect("written");
        for other in ["m/feed.xml", "m/data.json", "m/a/picture.png"] {
            empty_file(folder.path(), other);
        }
        let all = folder.path().join("*/**/*.html");
        let found = files(&[folder.path().join("m"), alone.clone(), all], Read::Pages).expect("files");
        assert_eq!(found.files, [view, home.clone(), alone, home]);
        assert_eq!(
            found.below,
            ["a/view.php?id=3", "index.html", "alone.htm", "m/index.html"].map(PathBuf::from)
        );
        assert_eq!(found.passed_over, 3);
        let error = files(&[folder.path().join("m")], Read::Documents).map(|found| found.files.len());
        assert_eq!(error.expect("data.json"), 1, "pages are passed over among documents");
    }
}
