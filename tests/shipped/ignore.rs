//! Reads `.dockerignore` as the engine does: which files of the repository reach the build.
//!
//! Patterns are applied in order, and the last match decides. A pattern that matches a folder matches
//! everything in it. Only the part of the pattern language that our file uses is supported: names, a single
//! `*`, `**/NAME`, and `!` for an exception.

use std::fs;
use std::path::{Path, PathBuf};

/// The rules of one file.
pub(crate) struct Ignore {
    /// Pattern, and true for an exception.
    rules: Vec<(String, bool)>,
}

impl Ignore {
    pub(crate) fn read(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rules: Vec<(String, bool)> = lines
            .map(|line| match line.strip_prefix('!') {
                Some(pattern) => (pattern.trim_matches('/').to_owned(), true),
                None => (line.trim_matches('/').to_owned(), false),
            })
            .collect();
        for (pattern, _) in &rules {
            let plain = pattern.strip_prefix("**/").unwrap_or(pattern);
            assert!(
                pattern == "*" || !plain.contains(['*', '?', '[', '\\']),
                "{pattern:?}: this reader does not know such patterns; teach it"
            );
        }
        Self { rules }
    }

    /// Returns true if the file at this path, relative to the context, is left out.
    pub(crate) fn leaves_out(&self, path: &str) -> bool {
        let fits = |pattern: &str| {
            let parts: Vec<&str> = path.split('/').collect();
            match (pattern, pattern.strip_prefix("**/")) {
                ("*", _) => true,
                (_, Some(name)) => parts.contains(&name),
                _ => path == pattern || path.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('/')),
            }
        };
        let last = self.rules.iter().rfind(|(pattern, _)| fits(pattern));
        last.is_some_and(|(_, exception)| !exception)
    }

    /// Returns true if this folder may contain files that are not left out.
    fn may_descend(&self, folder: &str) -> bool {
        let inside = |pattern: &String| pattern.starts_with(&format!("{folder}/"));
        !self.leaves_out(folder)
            || self.rules.iter().any(|(pattern, exception)| *exception && inside(pattern))
    }

    /// Copies everything in `root` that is not left out to `context`.
    pub(crate) fn copy(&self, root: &Path, context: &Path) {
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder)).expect("a folder") {
                let entry = entry.expect("an entry");
                let path = folder.join(entry.file_name());
                let name = path.to_str().expect("UTF-8");
                if entry.file_type().expect("a type").is_dir() {
                    if self.may_descend(name) {
                        folders.push(path);
                    }
                } else if !self.leaves_out(name) {
                    fs::create_dir_all(context.join(&folder)).expect("a folder");
                    copy_entry(&entry.path(), &context.join(&path));
                }
            }
        }
    }
}

/// Copies a file, or a symbolic link as such, as container engines do.
pub(crate) fn copy_entry(from: &Path, to: &Path) {
    match fs::read_link(from) {
        Ok(target) => std::os::unix::fs::symlink(target, to).expect("linked"),
        Err(_) => _ = fs::copy(from, to).expect("copied"),
    }
}

#[test]
fn the_last_matching_rule_decides() {
    let ignore = Ignore::read("# a comment\n*\n!src\n!examples/pages.jsonl\n**/target\n");
    let kept = ["src/lib.rs", "examples/pages.jsonl"];
    let left_out = ["README.md", "examples/other", "srcs", "src/target/x", ".git/config"];
    assert!(kept.iter().all(|path| !ignore.leaves_out(path)));
    assert!(left_out.iter().all(|path| ignore.leaves_out(path)));
    assert!(ignore.may_descend("examples") && !ignore.may_descend(".git"));
}
