//! Turns the inputs of a command into files. A folder stands for all files in it and below it, sorted by
//! path. Within folders, files are selected by name, which skips notes and checksums. A file that is itself an
//! input is always read.
//!
//! A name with `*`, `?` or `[` that is not an existing file is a pattern. It stands for the matching paths, sorted;
//! `**` stands for folders of any depth. This helps where no shell expands patterns: in a systemd unit, in a
//! container's command, or with more files than fit into a command line.
//!
//! A folder may also stand for the [HTML pages](FolderContent::Pages) in it, one page per file. All of this also
//! applies to objects in stores (`s3://bucket/…`), where folders are the parts of a key before a slash.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::extension::without_compression;
use super::location::is_object;
use super::machine_error::is_machine_error;
use super::open::Input;

/// File extensions that are read in folders, without those for compression.
const ENDINGS: [&str; 8] = ["jsonl", "ndjson", "json", "warc", "wet", "parquet", "csv", "tsv"];

/// File extensions of formats that hold documents and are not supported. Such files are opened and refused by name, so
/// a run over their folder does not look complete.
const UNSUPPORTED: [&str; 5] = ["arc", "arrow", "avro", "feather", "orc"];

/// Extensions of unsupported compression, which follow one of [`ENDINGS`].
const UNSUPPORTED_COMPRESSION: [&str; 9] = ["xz", "bz2", "lzma", "lz", "br", "z", "7z", "zip", "sz"];

/// Maximum length of the file extensions by which skipped files are grouped, in bytes.
const EXTENSION_BYTES_MAX: usize = 16;

/// The rules for matching patterns.
const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// The kind of files that are read in folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderContent {
    /// Files with many pages, selected by name.
    Documents,
    /// Files that are one HTML page each, selected by name or content.
    Pages,
}

/// The files that the inputs stand for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FoundFiles {
    /// The paths, in the order of the inputs.
    pub files: Vec<PathBuf>,
    /// The path of each file's output below the folder of outputs. It is the file name, except for HTML pages,
    /// which often have the same name in different folders. Their path is relative to the folder or pattern
    /// that was named.
    pub below: Vec<PathBuf>,
    /// The files in folders that are not read because they are of another kind: for each extension, one of them and
    /// their number.
    pub passed_over: BTreeMap<String, (PathBuf, u64)>,
    /// Links to folders that are not followed, since they may form a loop.
    pub links: Vec<PathBuf>,
    /// Objects that would be read, but whose keys cannot be used in requests.
    pub unnameable: Vec<String>,
}

impl FoundFiles {
    /// Finds the files that `inputs` stand for. Hidden files and folders are skipped unless they are named.
    ///
    /// # Errors
    /// A folder cannot be read or contains nothing to read, or a pattern is invalid or matches nothing.
    pub fn find(inputs: &[PathBuf], read: FolderContent) -> io::Result<Self> {
        let mut found = Self::default();
        for input in inputs {
            match pattern(input) {
                _ if is_object(input) => {
                    // Errors about an object name it already.
                    objects(input, read, &mut found).map_err(|error| match is_machine_error(&error) {
                        true => error,
                        false => named(input, &error),
                    })?;
                }
                Some(pattern) => {
                    let root = root(input);
                    for path in matching(pattern, &mut found.links).map_err(|error| named(input, &error))? {
                        let is_read = match path.is_dir() {
                            true => !leaves(&root, &path, read),
                            false => is_file_of(&root, &path, read),
                        };
                        if is_read {
                            add(&path, read, &mut found)?;
                        } else {
                            found.pass_over(path);
                        }
                    }
                }
                None => add(input, read, &mut found)?,
            }
            let of_input = &found.files[found.below.len()..];
            let root = root(input);
            let below = of_input.iter().map(|file| {
                let below = file
                    .strip_prefix(&root)
                    .ok()
                    .filter(|below| read == FolderContent::Pages && *below != Path::new(""));
                below.map_or_else(|| file.file_name().unwrap_or_default().into(), Path::to_owned)
            });
            found.below.extend(below.collect::<Vec<_>>());
        }
        Ok(found)
    }

    fn pass_over(&mut self, path: PathBuf) {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let extension = extension.filter(|extension| extension.len() <= EXTENSION_BYTES_MAX);
        self.passed_over.entry(extension.unwrap_or_default()).or_insert((path, 0)).1 += 1;
    }
}

/// Returns the folder that an input is, or the part of a pattern before its first wildcard.
fn root(input: &Path) -> PathBuf {
    if input.is_dir() || pattern(input).is_none() {
        return input.to_owned();
    }
    let varies =
        |part: &std::path::Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    input.components().take_while(|part| !varies(part)).collect()
}

/// Adds a file, or the files of a folder.
fn add(input: &Path, read: FolderContent, found: &mut FoundFiles) -> io::Result<()> {
    if !input.is_dir() {
        found.files.push(input.to_owned());
        return Ok(());
    }
    let before = found.files.len();
    walk(input, input, read, found)?;
    found.files[before..].sort_unstable();
    if found.files.len() == before {
        return Err(named(input, &nothing_to_read(read)));
    }
    Ok(())
}

/// Creates the error for a folder without readable files.
fn nothing_to_read(read: FolderContent) -> io::Error {
    let endings = ENDINGS.map(|ending| format!(".{ending}")).join(", ");
    let problem = match read {
        FolderContent::Documents => format!(
            "there is no file to read in this folder: names must end in {endings}, with or without .gz, .zst or .lz4; \
             if its files are HTML pages, add --url-base"
        ),
        FolderContent::Pages => {
            "there is no HTML page in this folder; leave out --url-base to read files of other kinds"
                .to_owned()
        }
    };
    io::Error::new(io::ErrorKind::NotFound, problem)
}

/// Adds the objects of a store that `input` stands for.
#[cfg(feature = "s3")]
fn objects(input: &Path, read: FolderContent, found: &mut FoundFiles) -> io::Result<()> {
    use super::object::listing::{Listed, Objects, listed};
    let Listed { objects, unnameable } = listed(input, MATCHING)?;
    let is_folder = matches!(objects, Objects::Below(_));
    let is_wanted = |key: &String| {
        // An object with content may be called like a folder.
        let is_document = || key.ends_with('/') || is_called_document(&key.to_ascii_lowercase());
        !is_folder || read == FolderContent::Pages || is_document()
    };
    let (wanted, other): (Vec<_>, Vec<_>) = unnameable.into_iter().partition(is_wanted);
    found.unnameable.extend(wanted);
    other.into_iter().for_each(|key| found.pass_over(key.into()));
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
                    found.pass_over(path);
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
fn objects(_: &Path, _: FolderContent, _: &mut FoundFiles) -> io::Result<()> {
    Err(super::location::without_stores())
}

/// Returns the input as a pattern, if it has wildcards and no file has that name.
fn pattern(input: &Path) -> Option<&str> {
    let text = input.to_str()?;
    (text.contains(['*', '?', '[']) && input.symlink_metadata().is_err()).then_some(text)
}

/// Returns the paths that match a pattern, sorted.
fn matching(pattern: &str, links: &mut Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
    let wrong = |error: glob::PatternError| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("not a valid pattern: {error}"))
    };
    let mut paths = match pattern.contains("**") {
        true => matching_at_any_depth(pattern, links, wrong)?,
        false => {
            let paths: Result<Vec<PathBuf>, _> = glob::glob_with(pattern, MATCHING).map_err(wrong)?.collect();
            paths.map_err(io::Error::from)?
        }
    };
    if paths.is_empty() {
        let problem = "no file has this name, and as a pattern it matches no file";
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Returns the paths that match a pattern with `**`. Links to folders are not followed, but added to `links`.
fn matching_at_any_depth(
    pattern: &str,
    links: &mut Vec<PathBuf>,
    wrong: impl Fn(glob::PatternError) -> io::Error,
) -> io::Result<Vec<PathBuf>> {
    let whole: PathBuf = Path::new(pattern).components().collect();
    let ends_with_folders = whole.ends_with("**");
    let matcher = Pattern::new(&whole.to_string_lossy()).map_err(wrong)?;
    let names_hidden = whole.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
    let (mut folders, mut found) = (vec![root(&whole)], Vec::new());
    while let Some(folder) = folders.pop() {
        let is_here = folder.as_os_str().is_empty();
        let read = if is_here { Path::new(".") } else { &folder };
        if !read.is_dir() {
            continue;
        }
        for entry in fs::read_dir(read).map_err(|error| named(read, &error))? {
            let path = folder.join(entry?.file_name());
            let is_folder = path.is_dir();
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_folder && path.is_symlink() {
                if names_hidden || !is_hidden {
                    links.push(path);
                }
                continue;
            }
            let is_match = matcher.matches_path_with(&path, MATCHING);
            // A folder that matches stands for all of its files.
            if is_folder && (names_hidden || !is_hidden) && !(is_match && ends_with_folders) {
                folders.push(path.clone());
            }
            if is_match {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// Adds the files to read in `folder`, which is `root` or below it.
fn walk(root: &Path, folder: &Path, read: FolderContent, found: &mut FoundFiles) -> io::Result<()> {
    let failed = |error: io::Error| named(folder, &error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() && path.is_symlink() {
            found.links.push(path);
        } else if path.is_dir() {
            walk(root, &path, read, found)?;
        } else if is_file_of(root, &path, read)
            && is_read(&path, &name, read).map_err(|error| named(&path, &error))?
        {
            found.files.push(path);
        } else {
            found.pass_over(path);
        }
    }
    Ok(())
}

/// Returns true if a file that was found may be read. Pipes and devices are excluded, because they may never end. A
/// mirror of a web site comes from outside, so links that lead out of it are not followed. A link to a missing file
/// is included if documents are read, so that opening it fails and names it.
fn is_file_of(root: &Path, path: &Path, read: FolderContent) -> bool {
    let is_broken_link = || read == FolderContent::Documents && path.is_symlink() && !path.exists();
    (path.is_file() && !leaves(root, path, read)) || is_broken_link()
}

/// Returns true if `path` is in a mirror with the folder `root`, and a link on its way leads out of it.
fn leaves(root: &Path, path: &Path, read: FolderContent) -> bool {
    let leads_out = || {
        // For a pattern such as `*.html`, the folder is empty.
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        match (root.canonicalize(), path.canonicalize()) {
            (Ok(root), Ok(path)) => !path.starts_with(root),
            _ => true,
        }
    };
    let has_link = || path.ancestors().take_while(|part| *part != root).any(Path::is_symlink);
    read == FolderContent::Pages && has_link() && leads_out()
}

/// Returns true if a file in a folder should be read. `name` is its name in lower case.
fn is_read(path: &Path, name: &str, read: FolderContent) -> io::Result<bool> {
    match read {
        FolderContent::Documents => Ok(is_called_document(name)),
        FolderContent::Pages => Input::open(path)?.is_page(),
    }
}

/// Returns true if the name, which is in lower case, is that of a file of documents, in a supported format or not.
fn is_called_document(name: &str) -> bool {
    let has = |name: &str, endings: &[&str]| {
        name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
    };
    let compressed = name.rsplit_once('.').filter(|(_, ending)| UNSUPPORTED_COMPRESSION.contains(ending));
    let name = compressed.map_or_else(|| without_compression(name), |(name, _)| name);
    has(name, &ENDINGS) || has(name, &UNSUPPORTED)
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
    fn a_folder_stands_for_its_files_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| empty_file(folder.path(), name);
        let [b, a, deep, named] = ["in/b.jsonl.gz", "in/a.parquet", "in/c/x.WARC.zst", "odd"].map(file);
        for other in ["in/README.md", "in/sums.sha256", "in/.hidden.jsonl", "in/.git/x.jsonl"] {
            file(other);
        }
        let found = FoundFiles::find(&[named.clone(), folder.path().join("in")], FolderContent::Documents)
            .expect("files");
        let passed_over: Vec<_> = found.passed_over.into_values().collect();
        assert_eq!(found.files, [named, a, b, deep]);
        let path = |name: &str| folder.path().join(name);
        assert_eq!(passed_over, [(path("in/README.md"), 1), (path("in/sums.sha256"), 1)]);
        // A format that is refused when its file is named is refused in a folder, too.
        let refused = ["arcs/a.arc", "arcs/b.ARC.gz", "arcs/c.jsonl.xz", "arcs/d.warc.bz2"].map(file);
        for other in ["arcs/e.xz", "arcs/f.jsonl.md5"] {
            file(other);
        }
        let found = FoundFiles::find(&[folder.path().join("arcs")], FolderContent::Documents).expect("files");
        assert_eq!(found.files, refused);
        fs::create_dir(folder.path().join("empty")).expect("a folder");
        let error = FoundFiles::find(&[folder.path().join("empty")], FolderContent::Documents)
            .expect_err("nothing there")
            .to_string();
        assert!(error.contains("empty: there is no file to read") && error.contains(".parquet"), "{error}");
    }

    #[test]
    fn a_pattern_stands_for_matching_files_unless_a_file_has_that_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| empty_file(folder.path(), name);
        let [b, a, deep, inside, odd] = ["b.gz", "a.gz", "x/y/c.gz", "x/z.gz/d.jsonl", "b[1].gz"].map(file);
        file(".hidden.gz");
        let matches = |pattern: &str| {
            FoundFiles::find(&[folder.path().join(pattern)], FolderContent::Documents)
                .map(|found| found.files)
        };
        assert_eq!(matches("[ab].gz").expect("files"), [a.clone(), b.clone()], "in order");
        assert_eq!(
            matches("**/*.gz").expect("files"),
            [a.clone(), b.clone(), odd.clone(), deep, inside],
            "folders as well"
        );
        assert_eq!(matches("b[1].gz").expect("files"), [odd], "a file with that name");
        assert_eq!(matches("?.gz").expect("files"), [a, b]);
        let none = matches("*.warc").expect_err("nothing matches").to_string();
        assert!(
            none.ends_with("*.warc: no file has this name, and as a pattern it matches no file"),
            "{none}"
        );
        let wrong = matches("***").expect_err("an invalid pattern").to_string();
        assert!(wrong.contains("***: not a valid pattern: "), "{wrong}");
    }

    /// A pipe in a mirror must not block the run, and the target of a link must not be copied into the kept files.
    #[test]
    fn pipes_and_links_out_of_a_mirror_are_skipped() {
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
            let found = FoundFiles::find(&[folder.path().join(input)], FolderContent::Pages).expect("files");
            assert_eq!(found.files, [page.clone(), inside.clone()], "{input}");
            assert_eq!(found.passed_over["html"].1, 3, "{input}");
        }
        // Folders of documents often contain links to the place where files are stored.
        link(&empty_file(folder.path(), "b.jsonl"), "b.jsonl");
        let found = FoundFiles::find(&[folder.path().join("m")], FolderContent::Documents).expect("files");
        assert_eq!(found.files, [folder.path().join("m/b.jsonl")]);
        // If the storage of a document is missing, opening the document fails. The document is not silently skipped.
        link(Path::new("unmounted/c.jsonl"), "c.jsonl");
        for input in ["m", "m/*.jsonl"] {
            let found =
                FoundFiles::find(&[folder.path().join(input)], FolderContent::Documents).expect("files");
            let expected = ["m/b.jsonl", "m/c.jsonl"].map(|name| folder.path().join(name));
            assert_eq!(found.files, expected, "{input}");
        }
    }

    /// A link to a folder above would be followed some 40 times, and two such links without end.
    #[test]
    fn patterns_of_any_depth_follow_no_link_to_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let [page, deep] = ["m/a.html", "m/x/y/b.html"].map(|name| empty_file(folder.path(), name));
        empty_file(folder.path(), "m/.git/c.html");
        empty_file(folder.path(), "outside/d.html");
        for (to, name) in [("..", "x/up"), ("../..", "x/y/up"), ("../outside", "out")] {
            std::os::unix::fs::symlink(to, folder.path().join("m").join(name)).expect("a link");
        }
        let of = |pattern: &str, read| {
            FoundFiles::find(&[folder.path().join(pattern)], read).expect("files").files
        };
        assert_eq!(of("m/**/*.html", FolderContent::Pages), [page.clone(), deep.clone()]);
        assert_eq!(of("m//./**/*.html", FolderContent::Pages), [page.clone(), deep.clone()]);
        assert_eq!(of("**/b.html", FolderContent::Pages), std::slice::from_ref(&deep));
        assert_eq!(of("m/*/*/b.html", FolderContent::Pages), [deep]);
        let found =
            FoundFiles::find(&[folder.path().join("m/*/d.html"), page], FolderContent::Pages).expect("files");
        assert_eq!((found.files.len(), found.passed_over["html"].1), (1, 1), "a link that leads out");
    }

    #[test]
    fn pages_keep_their_path_below_the_named_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let [home, view] = ["m/index.html", "m/a/view.php?id=3"].map(|name| empty_file(folder.path(), name));
        let alone = empty_file(folder.path(), "alone.htm");
        fs::write(&view, "<!doctype html><p>Hello").expect("written");
        for other in ["m/feed.xml", "m/data.json", "m/a/picture.png"] {
            empty_file(folder.path(), other);
        }
        let all = folder.path().join("*/**/*.html");
        let found = FoundFiles::find(&[folder.path().join("m"), alone.clone(), all], FolderContent::Pages)
            .expect("files");
        assert_eq!(found.files, [view, home.clone(), alone, home]);
        assert_eq!(
            found.below,
            ["a/view.php?id=3", "index.html", "alone.htm", "m/index.html"].map(PathBuf::from)
        );
        assert_eq!(found.passed_over.keys().collect::<Vec<_>>(), ["json", "png", "xml"]);
        let error = FoundFiles::find(&[folder.path().join("m")], FolderContent::Documents)
            .map(|found| found.files.len());
        assert_eq!(error.expect("data.json"), 1, "HTML pages are skipped among documents");
    }
}
