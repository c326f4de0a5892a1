//! The crate as it is published: what it holds builds by itself, and nothing else is in it.
//!
//! `make package` builds it from that alone, which takes minutes. This asks Cargo for the list only, and compares it
//! with the files that the sources and `build.rs` name.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::image::{ROOT, read};

fn listed() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        // Files that are not committed yet are listed as well.
        .args(["package", "--list", "--allow-dirty", "--locked", "--offline"])
        .current_dir(ROOT)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// The files whose text the compiler reads into this one, and those that stand elsewhere as modules.
fn named_by(file: &str) -> Vec<String> {
    let text = read(file);
    let literal = |rest: &str| rest.strip_prefix('"')?.split_once('"').map(|(path, _)| path.to_owned());
    let after = |start| text.split(start).skip(1).filter_map(literal).collect::<Vec<_>>();
    let names = ["include_str!(", "include_bytes!(", "include!(", "#[path = "].into_iter().flat_map(after);
    let folder = Path::new(file).parent().expect("a folder");
    names.map(|name| plain(&folder.join(name))).collect()
}

/// Without `..`.
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
fn the_crate_holds_all_that_it_is_built_from() {
    let listed = listed();
    let sources: Vec<&String> = listed.iter().filter(|file| file.ends_with(".rs")).collect();
    let named: BTreeSet<String> = sources.iter().flat_map(|file| named_by(file)).collect();
    // One of each kind, so that an empty list would be noticed.
    for file in ["examples/pages.jsonl", "src/console/render/style.css", "tests/golden/mod.rs"] {
        assert!(named.contains(file), "{file} is named: {named:?}");
    }
    let missing: Vec<&String> = named.difference(&listed).collect();
    assert!(
        missing.is_empty(),
        "named by sources, and not in the crate: {missing:?}; see `include` in Cargo.toml"
    );

    // `build.rs` names folders; the compiler is not asked to read these.
    let of = |folder: &str| listed.iter().filter(|file| file.starts_with(folder)).count();
    let protocols = walk(Path::new(ROOT).join("proto").as_path());
    assert!(
        read("build.rs").contains("\"proto\"") && protocols > 0 && of("proto/") == protocols,
        "{listed:?}"
    );
    assert_eq!(of("src/"), walk(Path::new(ROOT).join("src").as_path()), "all of src");
}

/// How many files there are.
fn walk(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn the_crate_holds_nothing_else() {
    let at_the_top: BTreeSet<String> =
        listed().iter().filter_map(|file| file.split('/').next()).map(str::to_owned).collect();
    // The first few are Cargo's own.
    let wanted = [
        ".cargo_vcs_info.json",
        "Cargo.lock",
        "Cargo.toml",
        "Cargo.toml.orig",
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "build.rs",
        "examples",
        "proto",
        "src",
        "tests",
    ];
    let unwanted: Vec<&String> = at_the_top.iter().filter(|name| !wanted.contains(&name.as_str())).collect();
    assert!(unwanted.is_empty(), "{unwanted:?}; see `include` in Cargo.toml");
}
