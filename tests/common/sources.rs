//! Reads the sources of the program and its crates.

use std::path::{Path, PathBuf};

/// Crates in the order in which they build on each other: the libraries, the parts of the program, the program, and the
/// laboratory.
pub(crate) const CRATES: [&str; 13] = [
    "crates/base",
    "crates/text",
    "crates/fingerprint",
    "crates/cluster",
    "crates/store",
    "crates/formats",
    "crates/keep",
    "crates/pipeline",
    "crates/graph",
    "crates/http",
    "crates/kafka",
    ".",
    "crates/lab",
];

/// Crates that only the program uses. They offer nothing to others.
pub(crate) const OF_THE_PROGRAM: [&str; 4] =
    ["crates/pipeline", "crates/graph", "crates/http", "crates/kafka"];

/// Returns the root folder of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folders that hold the sources of each crate.
pub(crate) fn folders() -> impl Iterator<Item = PathBuf> {
    CRATES.iter().map(|name| root().join(name).join("src"))
}

/// Returns the Rust files in a folder and its subfolders.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    entries
        .map(|entry| entry.expect("an entry").path())
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// Returns the code of a file without its tests and comments.
pub(crate) fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a source file");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}
