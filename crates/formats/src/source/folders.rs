//! Turns the inputs of a command into files. A folder stands for all files in it and below it, sorted by
//! path. Within folders, files are selected by name, which skips notes and checksums. Folders whose names begin with
//! `_` are skipped as well, because Spark and Delta Lake keep unfinished and internal files in them. A file that is
//! itself an input is always read.
//!
//! A name with `*`, `?` or `[` that is not an existing file is a pattern. It stands for the matching paths, sorted;
//! `**` stands for folders of any depth. This helps where no shell expands patterns: in a systemd unit, in a
//! container's command, or with more files than fit into a command line. Names need not be UTF-8.
//!
//! A folder may also stand for the [HTML pages](FolderContent::Pages) in it, one page per file. All of this also
//! applies to objects in stores (`s3://bucket/…`), where folders are the parts of a key before a slash.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use leitong_base::terminal;

use super::extension::without_compression;
use super::location::is_object;
use super::machine_error::is_machine_error;
use super::open::Input;
use crate::list::FORMATS;

/// File extensions of formats that hold documents and are not supported. Such files are opened and refused by name, so
/// a run over their folder does not look complete.
const UNSUPPORTED: [&str; 3] = ["arc", "avro", "orc"];

/// Extensions of unsupported compression, which follow one of [`endings`].
const UNSUPPORTED_COMPRESSION: [&str; 9] = ["xz", "bz2", "lzma", "lz", "br", "z", "7z", "zip", "sz"];

/// Maximum length of the file extensions by which skipped files are grouped, in bytes.
const EXTENSION_BYTES_MAX: usize = 16;

/// The rules for matching patterns.
const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// Maximum number of files or folders of a kind that are named as not read.
const NAMED_MAX: usize = 20;

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
    passed_over: BTreeMap<String, (PathBuf, u64)>,
    /// Links to folders that are not followed, since they may form a loop.
    links: Vec<PathBuf>,
    /// Folders that are not read because their names begin with `_`.
    internal: Vec<PathBuf>,
    /// Objects that would be read, but whose keys cannot be used in requests.
    pub unnameable: Vec<String>,
}

impl FoundFiles {
    /// Reports the files, folders and objects that are not read, although they are in a folder or match a pattern.
    pub fn report_left_out(&self, read: FolderContent) {
        let passed_over: u64 = self.passed_over.values().map(|(_, number)| number).sum();
        if passed_over > 0 {
            let why = match read {
                FolderContent::Pages => "are not HTML pages, or are links that lead out of the folder",
                FolderContent::Documents => {
                    "do not end in .jsonl, .warc, .parquet, .csv or the like, or are not regular files"
                }
            };
            let named = first_names(self.passed_over.values().map(|(path, number)| match number {
                1 => path.display().to_string(),
                _ => format!("{} and {} like it", path.display(), number - 1),
            }));
            terminal::note(format_args!(
                "{passed_over} files in folders are skipped, since they {why} ({named}); to read one, name the file itself"
            ));
        }
        if !self.links.is_empty() {
            terminal::note(format_args!(
                "{} links to folders are not followed ({}); to read the files in them, name them as inputs",
                self.links.len(),
                first_names(self.links.iter().map(|link| link.display().to_string()))
            ));
        }
        if !self.internal.is_empty() {
            terminal::note(format_args!(
                "{} folders are not read, since their names begin with _, as those of unfinished or internal files of Spark \
                 and Delta Lake do ({}); to read one, name the folder itself",
                self.internal.len(),
                first_names(self.internal.iter().map(|folder| folder.display().to_string()))
            ));
        }
        if !self.unnameable.is_empty() {
            terminal::note(format_args!(
                "{} objects are not read, because no request can name a key with an empty part, a part `.` or `..`, or a \
                 control character ({}); copy them to other keys",
                self.unnameable.len(),
                first_names(self.unnameable.iter().map(|key| format!("{key:?}")))
            ));
        }
    }

    /// Finds the files that `inputs` stand for. Hidden files and folders are skipped unless they are named.
    ///
    /// # Errors
    /// A folder cannot be read or contains nothing to read, or a pattern is invalid or matches nothing.
    pub fn find(inputs: &[PathBuf], read: FolderContent) -> io::Result<Self> {
        let mut found = Self::default();
        for input in inputs {
            let root = if is_object(input) {
                // Errors about an object name it already.
                let pinned = objects(input, read, &mut found);
                root(&pinned.map_err(|error| match is_machine_error(&error) {
                    true => error,
                    false => named(input, &error),
                })?)
            } else if is_pattern(input) {
                let root = root(input);
                let matching = matching(input, read, &mut found).map_err(|error| named(input, &error))?;
                for path in matching {
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
                root
            } else {
                add(input, read, &mut found)?;
                root(input)
            };
            let of_input = &found.files[found.below.len()..];
            // The paths that match `./a/*` begin with `a`.
            let plain_root = root.strip_prefix(".").unwrap_or(&root);
            let below = of_input.iter().map(|file| {
                let below = file
                    .strip_prefix(&root)
                    .or_else(|_| file.strip_prefix(plain_root))
                    .ok()
                    .filter(|below| read == FolderContent::Pages && *below != Path::new(""));
                below.map_or_else(|| file.file_name().unwrap_or_default().into(), Path::to_owned)
            });
            found.below.extend(below.collect::<Vec<_>>());
        }
        Ok(found)
    }

    /// Notes an object's folder. Objects are in the order of their folders.
    #[cfg(feature = "stores")]
    fn pass_over_internal(&mut self, folder: PathBuf) {
        if self.internal.last() != Some(&folder) {
            self.internal.push(folder);
        }
    }

    fn pass_over(&mut self, path: PathBuf) {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let extension = extension.filter(|extension| extension.len() <= EXTENSION_BYTES_MAX);
        self.passed_over.entry(extension.unwrap_or_default()).or_insert((path, 0)).1 += 1;
    }
}

/// Returns the folder that an input is, or the part of a pattern before its first wildcard.
fn root(input: &Path) -> PathBuf {
    if input.is_dir() || !is_pattern(input) {
        return input.to_owned();
    }
    input.components().take_while(|part| !has_wildcard(part.as_os_str())).collect()
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
    let endings = endings().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(", ");
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

/// Adds the objects of a store that `input` stands for. Returns the name of the input with its version.
#[cfg(feature = "stores")]
fn objects(input: &Path, read: FolderContent, found: &mut FoundFiles) -> io::Result<PathBuf> {
    use super::object::listing::{Listed, Objects, listed};
    let pinned = super::object::pinned(input)?;
    let input = &*pinned;
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
        Objects::Matching(paths) => {
            let is_read = read == FolderContent::Pages || names_internal(input);
            let level = root(input).components().count();
            for path in paths {
                let internal = internal_folder(&path).filter(|folder| folder.components().count() > level);
                match internal.filter(|_| !is_read) {
                    Some(folder) => found.pass_over_internal(folder),
                    None => found.files.push(path),
                }
            }
        }
        Objects::Below(paths) => {
            let before = found.files.len();
            for (path, below) in paths {
                let is_hidden = below.split('/').any(|name| name.starts_with('.'));
                if is_hidden {
                    continue;
                }
                let start = path.as_os_str().len() - below.len();
                let internal = internal_folder(&path).filter(|folder| folder.as_os_str().len() > start);
                if let Some(folder) = internal.filter(|_| read == FolderContent::Documents) {
                    found.pass_over_internal(folder);
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
    Ok(pinned)
}

/// Returns the innermost folder with internal files that an object is in.
#[cfg(feature = "stores")]
fn internal_folder(object: &Path) -> Option<PathBuf> {
    let mut folders = object.ancestors().skip(1);
    let is_internal =
        |folder: &&Path| folder.file_name().is_some_and(|name| is_internal_name(name.as_bytes()));
    folders.find(is_internal).map(Path::to_owned)
}

#[cfg(not(feature = "stores"))]
fn objects(input: &Path, _: FolderContent, _: &mut FoundFiles) -> io::Result<PathBuf> {
    super::location::Location::object(input).map(|_| input.to_owned())
}

/// Returns true if the input has wildcards and no file has that name.
fn is_pattern(input: &Path) -> bool {
    has_wildcard(input.as_os_str()) && input.symlink_metadata().is_err()
}

fn has_wildcard(name: &OsStr) -> bool {
    name.as_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// The first of 256 characters, which no name contains, for bytes that are not UTF-8.
const FOREIGN_BYTES: u32 = 0x10_ff00;

/// Returns a name as text that patterns are matched with. Each byte that is not UTF-8 becomes a character of its own, so
/// two names never become the same.
fn matchable(name: &OsStr) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(
            chunk.invalid().iter().filter_map(|byte| char::from_u32(FOREIGN_BYTES + u32::from(*byte))),
        );
    }
    text
}

/// Creates the pattern for a path or a part of it.
fn compiled(pattern: &OsStr) -> io::Result<Pattern> {
    Pattern::new(&matchable(pattern))
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, format!("not a valid pattern: {error}")))
}

/// Returns the paths that match a pattern, sorted.
fn matching(pattern: &Path, read: FolderContent, found: &mut FoundFiles) -> io::Result<Vec<PathBuf>> {
    let passed_over = found.internal.len();
    let mut paths = match pattern.as_os_str().as_bytes().windows(2).any(|pair| pair == b"**") {
        true => matching_at_any_depth(pattern, read, found)?,
        false => matching_by_level(pattern, read, found)?,
    };
    if paths.is_empty() && found.internal.len() == passed_over {
        let problem = "no file has this name, and as a pattern it matches no file";
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Returns the paths that match a pattern without `**`. Links to folders are followed.
fn matching_by_level(
    pattern: &Path,
    read: FolderContent,
    found: &mut FoundFiles,
) -> io::Result<Vec<PathBuf>> {
    let root = root(pattern);
    let levels = pattern.components().skip(root.components().count());
    let mut paths = vec![root.strip_prefix(".").map_or(root.clone(), Path::to_owned)];
    for level in levels.map(std::path::Component::as_os_str) {
        let folders = std::mem::take(&mut paths);
        if !has_wildcard(level) {
            for path in folders.into_iter().map(|folder| folder.join(level)) {
                match path.symlink_metadata() {
                    Ok(_) => paths.push(path),
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        return Err(named(&path, &error));
                    }
                    Err(_) => {}
                }
            }
            continue;
        }
        let matcher = compiled(level)?;
        for folder in folders {
            let opened = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
            if !opened.is_dir() {
                continue;
            }
            for entry in fs::read_dir(opened).map_err(|error| named(opened, &error))? {
                let name = entry?.file_name();
                if !matcher.matches_with(&matchable(&name), MATCHING) {
                    continue;
                }
                let path = folder.join(name);
                if !is_internal_name(level.as_bytes()) && is_internal(&path, read) {
                    found.internal.push(path);
                } else {
                    paths.push(path);
                }
            }
        }
    }
    if pattern.as_os_str().as_bytes().ends_with(b"/") {
        paths.retain(|path| path.is_dir());
    }
    Ok(paths)
}

/// Returns the paths that match a pattern with `**`. Links to folders are not followed, but added to `found`.
fn matching_at_any_depth(
    pattern: &Path,
    read: FolderContent,
    found: &mut FoundFiles,
) -> io::Result<Vec<PathBuf>> {
    let whole: PathBuf = pattern.components().collect();
    let ends_with_folders = whole.ends_with("**");
    let matcher = compiled(whole.as_os_str())?;
    let names_hidden = whole.components().any(|part| part.as_os_str().as_bytes().starts_with(b"."));
    let names_internal = names_internal(&whole);
    let (mut folders, mut paths) = (vec![root(&whole)], Vec::new());
    while let Some(folder) = folders.pop() {
        let is_here = folder.as_os_str().is_empty();
        let opened = if is_here { Path::new(".") } else { &folder };
        if !opened.is_dir() {
            continue;
        }
        for entry in fs::read_dir(opened).map_err(|error| named(opened, &error))? {
            let path = folder.join(entry?.file_name());
            let is_folder = path.is_dir();
            let is_hidden = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
            if is_folder && path.is_symlink() {
                if names_hidden || !is_hidden {
                    found.links.push(path);
                }
                continue;
            }
            let is_match = matcher.matches_with(&matchable(path.as_os_str()), MATCHING);
            if !names_internal && is_internal(&path, read) {
                found.internal.push(path);
                continue;
            }
            // A folder that matches stands for all of its files.
            if is_folder && (names_hidden || !is_hidden) && !(is_match && ends_with_folders) {
                folders.push(path.clone());
            }
            if is_match {
                paths.push(path);
            }
        }
    }
    Ok(paths)
}

/// Returns true for a folder that programs use for unfinished or internal files, such as `_temporary` and `_delta_log`.
/// The folder of a partition, such as `_day=3`, is none of these.
fn is_internal(path: &Path, read: FolderContent) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    read == FolderContent::Documents && is_internal_name(name) && path.is_dir()
}

fn is_internal_name(folder: &[u8]) -> bool {
    folder.starts_with(b"_") && !folder.contains(&b'=')
}

/// Returns true if a pattern names folders with internal files, after the part without wildcards.
fn names_internal(pattern: &Path) -> bool {
    let mut varying = pattern.components().skip(root(pattern).components().count());
    varying.any(|part| is_internal_name(part.as_os_str().as_bytes()))
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
        } else if is_internal(&path, read) {
            found.internal.push(path);
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
    let compressed = name.rsplit_once('.').filter(|(_, ending)| UNSUPPORTED_COMPRESSION.contains(ending));
    let name = compressed.map_or_else(|| without_compression(name), |(name, _)| name);
    name.rsplit_once('.').is_some_and(|(_, name)| endings().chain(UNSUPPORTED).any(|ending| ending == name))
}

/// Returns the extensions of files that are read in folders, without those for compression.
fn endings() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.endings()).copied()
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Lists the first of these names.
fn first_names(mut names: impl Iterator<Item = String>) -> String {
    let first: Vec<_> = names.by_ref().take(NAMED_MAX).collect();
    first.join(", ") + if names.next().is_some() { ", …" } else { "" }
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

    /// The library for patterns panicked at such a name, or passed it over in silence.
    #[test]
    fn names_need_not_be_utf_8() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
        let all =
            [&b"a.jsonl"[..], b"caf\xe8.jsonl", b"caf\xe9.jsonl", b"d\xff/e.jsonl", b"d\xff/f\xfe.jsonl"]
                .map(path);
        for file in &all {
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, "").expect("a file");
        }
        let [a, grave, acute, e, f] = all.clone();
        let all = all.to_vec();
        for (pattern, expected) in [
            (&b"*.jsonl"[..], vec![a.clone(), grave.clone(), acute.clone()]),
            (b"caf?.jsonl", vec![grave.clone(), acute.clone()]),
            (b"caf\xe9.*", vec![acute.clone()]),
            (b"caf[\xe8].jsonl", vec![grave]),
            (b"*/*.jsonl", vec![e.clone(), f.clone()]),
            (b"d\xff/*", vec![e, f.clone()]),
            (b"**/*.jsonl", all.clone()),
            (b"**/f\xfe.jsonl", vec![f]),
            (b"", all),
        ] {
            let found = FoundFiles::find(&[path(pattern)], FolderContent::Documents).expect("files");
            assert_eq!(found.files, expected, "{}", pattern.escape_ascii());
            let names = found.files.iter().map(|file| file.file_name().expect("a name"));
            assert!(
                names.eq(found.below.iter().map(|below| below.as_os_str())),
                "outputs have the same names"
            );
        }
    }

    /// An unfinished task of Spark had written documents that a repeated task wrote again.
    #[test]
    fn folders_of_unfinished_and_internal_files_are_reported_and_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| empty_file(folder.path(), name);
        let [plain, of_partition] = ["t/a.parquet", "t/_day=3/b.parquet"].map(file);
        let inside = ["t/_delta_log/0.json", "t/_temporary/0/c.parquet", "t/x/_d/e.parquet"].map(file);
        file("t/_SUCCESS");
        let path = |name: &str| folder.path().join(name);
        let found = |input: &str, read| {
            let found = FoundFiles::find(&[path(input)], read).expect("files");
            let mut internal = found.internal;
            internal.sort_unstable();
            (found.files, internal)
        };
        let internal = ["t/_delta_log", "t/_temporary", "t/x/_d"].map(path).to_vec();
        let read = vec![of_partition.clone(), plain.clone()];
        assert_eq!(found("t", FolderContent::Documents), (read.clone(), internal.clone()));
        assert_eq!(found("t/**/*.parquet", FolderContent::Documents), (read.clone(), internal.clone()));
        assert_eq!(
            found("t/*/*.parquet", FolderContent::Documents),
            (vec![of_partition], internal[..2].to_vec())
        );
        for (named, file) in [("t/_temporary", &inside[1]), ("t/_d*", &inside[0]), ("**/_d/*", &inside[2])] {
            let (files, _) = found(named, FolderContent::Documents);
            assert!(files.contains(file), "{named}: {files:?}");
        }
        let page = file("t/_static/index.html");
        assert_eq!(found("t", FolderContent::Pages), (vec![page], vec![]));
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
