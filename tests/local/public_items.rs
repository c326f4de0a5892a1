//! The crates offer few items, so that a stranger finds them and the compiler shows dead code. This test reads the
//! sources. It counts the functions, types, traits and constants that other crates can name, without generated ones.

use std::path::Path;

use crate::circles::expand;
use crate::common::sources::{CRATES, code, root};

/// Maximum number of public items of all crates but the program. Lower it when there are fewer.
const ITEMS_MAX: usize = 299;

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

#[test]
fn the_crates_offer_few_items() {
    let counts: Vec<_> = CRATES
        .iter()
        .filter(|name| **name != ".")
        .map(|name| (*name, items(&root().join(name).join("src/lib.rs"))))
        .collect();
    assert!(counts.iter().all(|(_, items)| *items > 10), "{counts:?}");
    let total: usize = counts.iter().map(|(_, items)| items).sum();
    assert!(
        total <= ITEMS_MAX,
        "{total} public items: make those that no other crate uses pub(crate): {counts:?}"
    );
}
