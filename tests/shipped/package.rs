//! The published crates: each builds from its own contents, and contains nothing else.
//!
//! `make package` builds them from their contents alone, which takes minutes. This test only asks Cargo for
//! the lists, and compares them with the files that the sources and build scripts use.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::common::sources::{CRATES, code};
use crate::image::ROOT;

/// Returns the files of a crate, as paths within its folder.
fn listed(folder: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        // Uncommitted files are listed as well.
        .args(["package", "--list", "--allow-dirty", "--locked", "--offline"])
        .current_dir(folder)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// Returns the files that this one includes as text when the crate is built, and its modules in other
/// folders.
fn named_by(folder: &Path, file: &str) -> Vec<String> {
    let code = code(&folder.join(file)).replace("#[cfg(test)]\n#[path", "");
    let literal = |rest: &str| rest.strip_prefix('"')?.split_once('"').map(|(path, _)| path.to_owned());
    let after = |start| code.split(start).skip(1).filter_map(literal).collect::<Vec<_>>();
    let names = ["include_str!(", "include_bytes!(", "include!(", "#[path = "].into_iter().flat_map(after);
    let parent = Path::new(file).parent().expect("a folder");
    names.map(|name| plain(&parent.join(name))).collect()
}

/// Resolves `..`.
fn plain(path: &Path) -> String {
    let parts = path.components().fold(PathBuf::new(), |mut plain, part| {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
        plain
    });
    parts.to_str().expect("UTF-8").to_owned()
}

#[test]
fn each_crate_contains_everything_it_is_built_from() {
    let mut all_named = BTreeSet::new();
    // The laboratory is not published.
    for name in CRATES.into_iter().filter(|name| *name != "crates/lab") {
        let folder = Path::new(ROOT).join(name);
        let listed = listed(&folder);
        let sources = listed.iter().filter(|file| file.ends_with(".rs") && !file.ends_with("tests.rs"));
        let sources = sources.filter(|file| !file.starts_with("tests/") && !file.starts_with("benches/"));
        let named: BTreeSet<String> = sources.flat_map(|file| named_by(&folder, file)).collect();
        let missing: Vec<&String> = named.difference(&listed).collect();
        assert!(missing.is_empty(), "named by sources of {name}, and not in the crate: {missing:?}");
        let count_below = |folder: &str| listed.iter().filter(|file| file.starts_with(folder)).count();
        assert_eq!(count_below("src/"), walk(&folder.join("src")), "all of src of {name}");
        // The build script reads a folder; the compiler does not.
        assert_eq!(
            count_below("proto/"),
            if name == "crates/base" { walk(&folder.join("proto")) } else { 0 },
            "{name}"
        );
        all_named.extend(named);
    }
    // One file of each kind, so an empty list would be noticed.
    for file in ["src/console/render/style.css", "src/idf/default.tsv"] {
        assert!(all_named.contains(file), "{file} is named: {all_named:?}");
    }
}

/// Returns the number of files in a folder and those within it.
fn walk(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn the_crates_contain_nothing_else() {
    // Cargo adds the first few files itself.
    let wanted = [
        ".cargo_vcs_info.json",
        "Cargo.lock",
        "Cargo.toml",
        "Cargo.toml.orig",
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "benches",
        "build.rs",
        "examples",
        "proto",
        "src",
        "tests",
    ];
    for name in CRATES {
        let listed = listed(&Path::new(ROOT).join(name));
        let at_the_top: BTreeSet<&str> = listed.iter().filter_map(|file| file.split('/').next()).collect();
        let unwanted: Vec<&&str> = at_the_top.iter().filter(|name| !wanted.contains(name)).collect();
        assert!(unwanted.is_empty(), "{name}: {unwanted:?}");
    }
}
