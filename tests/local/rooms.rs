//! The modules of `src` build on one another in the order of `lib.rs`: no
//! module uses one that stands below it, so a page's way through the code never
//! climbs. This test reads the sources, so that nobody has to remember it.

use std::path::Path;

use crate::common::sources::{self, code, rust_files};

/// The modules of `lib.rs` from top to bottom.
fn rooms(source: &Path) -> Vec<String> {
    let lib = std::fs::read_to_string(source.join("lib.rs")).expect("lib.rs");
    let lib = lib.split("#[cfg(test)]").next().unwrap_or_default();
    let name = |line: &str| {
        let name = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?;
        Some(name.strip_suffix(';')?.to_owned())
    };
    lib.lines().filter_map(name).collect()
}

/// The first names of all paths in `code` that begin with `crate`.
fn used(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default(),
            None => rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default(),
        };
        let first = |path: &str| path.trim().split("::").next().unwrap_or_default().to_owned();
        found.extend(names.split(',').map(first));
    }
    found
}

#[test]
fn no_module_uses_one_that_stands_below_it() {
    let source = sources::folder();
    let rooms = rooms(&source);
    assert!(rooms.len() > 20, "{rooms:?}");
    let height = |name: &str| rooms.iter().position(|room| room == name);
    let mut climbs = Vec::new();
    for (at, room) in rooms.iter().enumerate() {
        let folder = source.join(room);
        let files = if folder.is_dir() { rust_files(&folder) } else { vec![folder.with_extension("rs")] };
        for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("tests.rs")) {
            let below =
                used(&code(file)).into_iter().filter(|name| height(name).is_some_and(|below| below > at));
            climbs.extend(below.map(|name| format!("{} uses {name}", file.display())));
        }
    }
    assert!(climbs.is_empty(), "{}", climbs.join("\n"));
}
