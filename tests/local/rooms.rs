//! The modules of the program and its parts build on each other in the order of `lib.rs`, and those of extraction in the order of
//! its `mod.rs`: no module uses one that is listed below it. Crates build on each other in the order of [`CRATES`]. This
//! test reads the sources, so nobody has to remember that.

use std::path::Path;

use crate::circles::paths;
use crate::common::sources::{CRATES, code, root, rust_files};

/// Returns the modules that a file lists, from top to bottom.
fn modules(list: &Path) -> Vec<String> {
    let lib = std::fs::read_to_string(list).expect("a list of modules");
    let lib = lib.split("#[cfg(test)]\n#[path").next().unwrap_or_default();
    let name = |line: &str| {
        let name = ["pub ", "pub(crate) "].iter().find_map(|start| line.strip_prefix(start)).unwrap_or(line);
        Some(name.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    lib.lines().filter_map(name).collect()
}

/// Returns the modules below `parent`, such as `crate::`, that `code` uses.
fn used(code: &str, parent: &str) -> Vec<String> {
    let name = |path: &String| Some(path.strip_prefix(parent)?.split("::").next()?.to_owned());
    paths(code).iter().filter_map(name).collect()
}

/// Asserts that no module listed in `source`, the folder of the module `parent`, uses one listed below it.
fn assert_in_order(source: &Path, list: &str, parent: &str, modules_min: usize) {
    let modules = modules(&source.join(list));
    assert!(modules.len() >= modules_min, "{modules:?}");
    let height = |name: &str| modules.iter().position(|module| module == name);
    let mut climbs = Vec::new();
    for (at, module) in modules.iter().enumerate() {
        let folder = source.join(module);
        let files = if folder.is_dir() { rust_files(&folder) } else { vec![folder.with_extension("rs")] };
        for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("tests.rs")) {
            let below = used(&code(file), parent)
                .into_iter()
                .filter(|name| height(name).is_some_and(|below| below > at));
            climbs.extend(below.map(|name| format!("{} uses {name}", file.display())));
        }
    }
    assert!(climbs.is_empty(), "{}", climbs.join("\n"));
}

#[test]
fn no_module_uses_one_listed_below_it() {
    for (source, modules_min) in
        [("crates/pipeline/src", 12), ("crates/http/src", 6), ("crates/kafka/src", 3), ("src", 6)]
    {
        assert_in_order(&root().join(source), "lib.rs", "crate::", modules_min);
    }
}

/// The tree and the main text are what metadata, Markdown and kinds of pages are read from, not the other way round.
#[test]
fn extraction_goes_from_parsing_to_main_text_to_the_rest() {
    assert_in_order(&root().join("crates/text/src/extract"), "mod.rs", "crate::extract::", 8);
}

/// A look-up walks the index, so its files stay few, and none needs the modules that call it.
#[test]
fn files_of_the_index_use_only_one_another() {
    let files = rust_files(&root().join("crates/cluster/src/index"));
    assert!(files.len() <= 12, "{files:#?}");
    for file in &files {
        let is_above = |path: &String| {
            let sibling = path.strip_prefix("super::").and_then(|path| path.split("::").next());
            let is_file =
                |name: &str| files.iter().any(|file| file.file_stem().is_some_and(|stem| stem == name));
            (path.starts_with("crate::") || path.starts_with("super::")) && !sibling.is_some_and(is_file)
        };
        let above: Vec<String> = paths(&code(file)).into_iter().filter(is_above).collect();
        assert!(above.is_empty(), "{} uses {above:?}", file.display());
    }
}

#[test]
fn no_crate_uses_one_listed_below_it() {
    let mut climbs = Vec::new();
    for (at, name) in CRATES.iter().enumerate() {
        let manifest = std::fs::read_to_string(root().join(name).join("Cargo.toml")).expect("a manifest");
        let manifest = manifest.split("[workspace").next().unwrap_or_default();
        for below in &CRATES[at..] {
            let below = below.trim_start_matches("crates/");
            if manifest.contains(&format!("leitong-{below}.workspace")) {
                climbs.push(format!("{name} uses {below}"));
            }
        }
    }
    assert!(climbs.is_empty(), "{}", climbs.join("\n"));
}
