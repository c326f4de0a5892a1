//! The crates and the library offer few items. So a stranger finds what they need, and the compiler shows dead code.
//! These tests read the sources. They count the functions, types, traits and constants that other crates can name,
//! without generated ones and without methods. What the parts of the program share with it is counted apart, since
//! no stranger uses them.

use std::path::Path;

use crate::circles::expand;
use crate::common::sources::{CRATES, OF_THE_PROGRAM, code, root};

/// Maximum number of public items of the crates that others can use. Lower it when there are fewer.
const CRATES_MAX: usize = 300;

/// Maximum number of public items of the parts of the program. Half of them are the settings and the metrics.
const OF_THE_PROGRAM_MAX: usize = 251;

/// Maximum number of public items of the root crate, the library `leitong`.
const LIBRARY_MAX: usize = 42;

/// Words that begin an item, after `pub`.
const KINDS: [&str; 8] = ["fn ", "const ", "async fn ", "static ", "struct ", "enum ", "trait ", "type "];

/// Returns the number of public items in the module of `file`, and in its public modules.
fn items(file: &Path) -> usize {
    let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "mod") => file.with_file_name(""),
        _ => file.with_extension(""),
    };
    let count = |item: &str| {
        if let Some(tree) = item.strip_prefix("use ") {
            let mut paths = Vec::new();
            expand("", tree.split(';').next().unwrap_or_default(), &mut paths);
            return paths.len();
        }
        let name = item.strip_prefix("mod ").and_then(|rest| Some(rest.split_once(';')?.0));
        if let Some(name) = name.filter(|name| !name.contains('{')) {
            let files = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
            return items(files.iter().find(|file| file.is_file()).expect("the file of a module"));
        }
        usize::from(KINDS.iter().any(|kind| item.starts_with(kind)))
    };
    code(file).split("\npub ").skip(1).map(count).sum()
}

/// Asserts that these crates have at most `items_max` public items together.
fn assert_few<'a>(names: impl Iterator<Item = &'a str>, items_max: usize) {
    let counts: Vec<_> = names.map(|name| (name, items(&root().join(name).join("src/lib.rs")))).collect();
    assert!(counts.iter().all(|(_, items)| *items > 4), "{counts:?}");
    let total: usize = counts.iter().map(|(_, items)| items).sum();
    assert!(
        total <= items_max,
        "{total} public items: make those that no other crate uses pub(crate): {counts:?}"
    );
}

#[test]
fn the_crates_offer_few_items() {
    let is_of_others = |name: &&str| ![".", "crates/lab"].contains(name) && !OF_THE_PROGRAM.contains(name);
    assert_few(CRATES.into_iter().filter(is_of_others), CRATES_MAX);
}

#[test]
fn the_parts_of_the_program_share_few_items() {
    assert_few(OF_THE_PROGRAM.into_iter(), OF_THE_PROGRAM_MAX);
}

#[test]
fn the_library_offers_few_items() {
    let items = items(&root().join("src/lib.rs"));
    assert!(items > 20, "{items}");
    assert!(items <= LIBRARY_MAX, "{items} public items: make those that only the program uses pub(crate)");
}
