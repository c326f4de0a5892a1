//! Files of a crate do not import each other in circles: reading one never means reading twenty others. A module
//! may be used by its own submodules, and two files may use each other. This test reads the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::sources::{code, folders, rust_files};

/// Maximum number of files that use each other.
const CIRCLE_FILES_MAX: usize = 2;

/// The path of a module in its crate, as in `["extract", "credits"]`.
type Module = Vec<String>;

/// Returns the module of a source file below `source`.
fn module_of(file: &Path, source: &Path) -> Module {
    let path = file.strip_prefix(source).expect("a file of the crate").with_extension("");
    let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

/// Adds the paths of a use tree, as in `a::{b, c::{d, e}}`, each after `prefix`.
pub(crate) fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let (mut depth, mut start) = (0, 0);
    let mut branches = Vec::new();
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                branches.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    branches.push(&tree[start..]);
    for branch in branches.into_iter().map(str::trim).filter(|branch| !branch.is_empty()) {
        match branch.split_once('{') {
            Some((stem, rest)) => {
                let rest = rest.trim_end().strip_suffix('}').unwrap_or(rest);
                expand(&format!("{prefix}{}", stem.trim()), rest, paths);
            }
            None => paths.push(format!("{prefix}{}", branch.split(" as ").next().unwrap_or(branch).trim())),
        }
    }
}

/// Returns all paths in `code` that lead to other modules of the crate: those of `use`, and those written out.
pub(crate) fn paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, start) in code.match_indices("use ") {
        let before = code[..at].trim_end_matches(' ');
        if before.is_empty() || before.ends_with(['\n', ')']) || before.ends_with("pub") {
            let tree = &code[at + start.len()..];
            expand("", tree.split(';').next().unwrap_or_default(), &mut paths);
        }
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            if !code[..at].ends_with(is_path) {
                paths.push(code[at..].split(|c| !is_path(c)).next().unwrap_or_default().to_owned());
            }
        }
    }
    paths
}

/// Returns the module that `path` leads to when written in `module`.
fn target(path: &str, module: &Module, modules: &BTreeMap<Module, String>) -> Option<Module> {
    let mut names: Vec<&str> = path.split("::").filter(|name| !name.is_empty()).collect();
    let mut full = match names.first()? {
        &"crate" => Module::new(),
        &"super" | &"self" => module.clone(),
        first => {
            let mut child = module.clone();
            child.push((*first).to_owned());
            modules.contains_key(&child).then(|| module.clone())?
        }
    };
    while let Some(&first) = names.first().filter(|name| ["crate", "super", "self"].contains(name)) {
        if first == "super" {
            full.pop();
        }
        names.remove(0);
    }
    full.extend(names.into_iter().map(str::to_owned));
    while !modules.contains_key(&full) {
        full.pop()?;
    }
    // A module may be used by its submodules.
    (full != *module && !module.starts_with(&full)).then_some(full)
}

/// Returns the modules that can be reached from each module.
fn reached(modules: &BTreeMap<Module, String>) -> BTreeMap<&Module, BTreeSet<Module>> {
    let direct = |module: &Module| -> BTreeSet<Module> {
        paths(&modules[module]).iter().filter_map(|path| target(path, module, modules)).collect()
    };
    let direct: BTreeMap<&Module, BTreeSet<Module>> =
        modules.keys().map(|module| (module, direct(module))).collect();
    let all = |module: &Module| {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![module.clone()]);
        while let Some(next) = waiting.pop() {
            waiting.extend(direct[&next].iter().filter(|module| seen.insert((*module).clone())).cloned());
        }
        seen
    };
    modules.keys().map(|module| (module, all(module))).collect()
}

/// Returns the circles of more files than may use each other.
fn circles(modules: &BTreeMap<Module, String>) -> BTreeSet<Vec<String>> {
    let reached = reached(modules);
    let circle = |module: &Module| -> Vec<String> {
        let back = reached[module].iter().filter(|other| reached[*other].contains(module));
        back.map(|module| module.join("::")).collect()
    };
    modules.keys().map(circle).filter(|circle| circle.len() > CIRCLE_FILES_MAX).collect()
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    for source in folders() {
        let files = rust_files(&source).into_iter();
        let files = files.filter(|file| !file.to_string_lossy().ends_with("tests.rs"));
        let modules: BTreeMap<Module, String> =
            files.map(|file| (module_of(&file, &source), code(&file))).collect();
        let found = circles(&modules);
        assert!(found.is_empty(), "{}: these files import each other: {found:#?}", source.display());
    }
}

#[test]
fn a_circle_of_three_files_is_found() {
    let file = |name: &str, code: &str| (vec!["room".to_owned(), name.to_owned()], format!("\n{code}\n"));
    let mut modules: BTreeMap<Module, String> = [
        (vec!["room".to_owned()], "\nmod a;\nuse a::A;\n".to_owned()),
        file("a", "use super::{Room, b::{self, B}};"),
        file("b", "use crate::room::c::C;"),
        file("c", "fn c(room: &super::Room) {}"),
    ]
    .into();
    assert_eq!(circles(&modules), BTreeSet::new());
    modules.extend([file("c", "fn c(a: &super::a::A) {}")]);
    assert_eq!(circles(&modules), [["room::a", "room::b", "room::c"].map(str::to_owned).to_vec()].into());
}
