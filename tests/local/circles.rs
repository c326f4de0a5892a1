//! Files of a crate do not import each other in circles: reading one never means reading twenty others. Circles through
//! `mod.rs` count too: definitions that the files of a folder share are in one of these files. Two files may use each
//! other. This test reads the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::sources::{CRATES, code, root, rust_files};

/// Maximum number of files that use each other.
const CIRCLE_FILES_MAX: usize = 2;

/// Circles that are still there, each by its crate and the innermost module around it. None may be added.
const KNOWN: [(&str, &str); 9] = [
    ("crates/text", "decode"),
    ("crates/text", "extract"),
    ("crates/text", "page"),
    ("crates/keep", ""),
    ("crates/keep", "texts"),
    ("crates/graph", ""),
    ("crates/kafka", "worker"),
    ("crates/lab", "cli"),
    (".", "cli::table"),
];

/// The path of a module in its crate, as in `["extract", "metadata"]`.
type Module = Vec<String>;

/// The code of a file.
struct Source {
    /// The paths of its `use` declarations, each with true if it is a re-export.
    uses: Vec<(String, bool)>,
    /// All other lines.
    rest: String,
}

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

impl Source {
    fn new(code: &str) -> Self {
        let (mut uses, mut rest) = (Vec::new(), String::new());
        let mut lines = code.lines();
        while let Some(line) = lines.next() {
            let Some((visibility, tree)) = line.trim_start().split_once("use ").filter(|(visibility, _)| {
                ["", "pub", "pub(crate)", "pub(super)"].contains(&visibility.trim_end())
            }) else {
                rest.extend([line, "\n"]);
                continue;
            };
            let mut tree = tree.to_owned();
            while !tree.contains(';') {
                tree.push_str(lines.next().unwrap_or(";"));
            }
            let mut paths = Vec::new();
            expand("", tree.split(';').next().unwrap_or_default(), &mut paths);
            uses.extend(paths.into_iter().map(|path| (path, !visibility.is_empty())));
        }
        Self { uses, rest }
    }

    /// Returns the paths after `start` that are written out in the code.
    fn written_out(&self, start: &str) -> impl Iterator<Item = String> {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let starts =
            self.rest.match_indices(start).filter(move |(at, _)| !self.rest[..*at].ends_with(is_path));
        starts
            .map(move |(at, _)| self.rest[at..].split(|c| !is_path(c)).next().unwrap_or_default().to_owned())
    }
}

/// Returns all paths in `code` that lead to other modules of the crate: those of `use`, and those written out.
pub(crate) fn paths(code: &str) -> Vec<String> {
    let source = Source::new(code);
    let written_out = ["crate::", "super::"].into_iter().flat_map(|start| source.written_out(start));
    source.uses.iter().map(|(path, _)| path.clone()).chain(written_out).collect()
}

/// Returns the module with the definition that `path` leads to when written in `module`.
fn target(path: &str, module: &Module, modules: &BTreeMap<Module, Source>) -> Option<Module> {
    let mut names = path.trim_end_matches("::self").split("::").peekable();
    let mut full = if names.next_if_eq(&"crate").is_some() { Module::new() } else { module.clone() };
    let mut is_local = full != *module || path.starts_with("self::");
    while let Some(name) = names.next_if(|name| ["super", "self"].contains(name)) {
        is_local = true;
        if name == "super" {
            full.pop();
        }
    }
    while let Some(name) = names.peek() {
        full.push((*name).to_owned());
        if !modules.contains_key(&full) {
            full.pop();
            break;
        }
        (is_local, _) = (true, names.next());
    }
    let in_other = modules.get(&full).filter(|_| is_local && full != *module)?;
    let reexported = names
        .peek()
        .and_then(|name| in_other.uses.iter().find(|(path, _)| path.rsplit("::").next() == Some(*name)));
    match reexported {
        Some((path, _)) => target(path, &full, modules).filter(|target| target != module),
        None => Some(full),
    }
}

/// Returns the modules that a module uses. A re-export is not a use.
fn used(module: &Module, modules: &BTreeMap<Module, Source>) -> BTreeSet<Module> {
    let source = &modules[module];
    let children =
        modules.keys().filter(|child| child.split_last().is_some_and(|(_, parent)| parent == *module));
    let starts = children.filter_map(|child| Some(format!("{}::", child.last()?)));
    let starts = starts.chain(["crate::", "super::"].map(str::to_owned));
    let written_out = starts.flat_map(|start| source.written_out(&start).collect::<Vec<_>>());
    let uses = source.uses.iter().filter(|(_, is_reexport)| !is_reexport).map(|(path, _)| path.clone());
    uses.chain(written_out).filter_map(|path| target(&path, module, modules)).collect()
}

/// Returns the modules that can be reached from each module.
fn reached(modules: &BTreeMap<Module, Source>) -> BTreeMap<&Module, BTreeSet<Module>> {
    let direct: BTreeMap<&Module, BTreeSet<Module>> =
        modules.keys().map(|module| (module, used(module, modules))).collect();
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
fn circles(modules: &BTreeMap<Module, Source>) -> BTreeSet<Vec<Module>> {
    let reached = reached(modules);
    let circle = |module: &Module| -> Vec<Module> {
        reached[module].iter().filter(|other| reached[*other].contains(module)).cloned().collect()
    };
    modules.keys().map(circle).filter(|circle| circle.len() > CIRCLE_FILES_MAX).collect()
}

/// Returns the innermost module around all of these, which are in order.
fn around(modules: &[Module]) -> String {
    let (Some(first), Some(last)) = (modules.first(), modules.last()) else { return String::new() };
    let common = first.iter().zip(last).take_while(|(a, b)| a == b);
    common.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("::")
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    for name in CRATES {
        let source = root().join(name).join("src");
        let files = rust_files(&source).into_iter();
        let files = files.filter(|file| !file.to_string_lossy().ends_with("tests.rs"));
        let modules: BTreeMap<Module, Source> =
            files.map(|file| (module_of(&file, &source), Source::new(&code(&file)))).collect();
        let circles = circles(&modules);
        let found: BTreeSet<String> = circles.iter().map(|circle| around(circle)).collect();
        let known = KNOWN.iter().filter(|(of, _)| *of == name).map(|(_, known)| (*known).to_owned());
        assert_eq!(found, known.collect(), "{name}: circles, and those that are known: {circles:#?}");
    }
}

#[test]
fn a_circle_of_three_files_is_found() {
    let file = |name: &str, code: &str| (vec!["room".to_owned(), name.to_owned()], Source::new(code));
    let mut modules: BTreeMap<Module, Source> = [
        (vec!["room".to_owned()], Source::new("mod a;\npub use a::A;\npub struct Room;")),
        file("a", "use super::{Room, b::{self, B}};"),
        file("b", "use crate::room::c::C;"),
        file("c", "fn c(room: &super::Room) {}"),
    ]
    .into();
    assert_eq!(circles(&modules), BTreeSet::new());
    let found = |modules: &BTreeMap<Module, Source>| -> Vec<Vec<String>> {
        circles(modules)
            .iter()
            .map(|circle| circle.iter().map(|module| module.join("::")).collect())
            .collect()
    };
    modules.extend([file("c", "fn c(a: &super::A) {}")]);
    assert_eq!(found(&modules), [["room::a", "room::b", "room::c"]], "through a re-export");
    modules.extend([file("c", "fn c(room: &super::Room) {}")]);
    modules.insert(vec!["room".to_owned()], Source::new("mod a;\nuse a::A;\npub struct Room;"));
    assert_eq!(found(&modules), [["room", "room::a", "room::b", "room::c"]], "through mod.rs");
}
