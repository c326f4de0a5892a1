//! The program stays as small as it has become: lines of code, and commands.

use crate::common::sources::{root, rust_files};

/// Maximum number of lines of Rust in the program (`src`), and in it and all crates together. Lower them when something
/// goes.
const LINES_MAX: [(&[&str], usize); 2] = [(&["src"], 10_000), (&["src", "crates"], 130_900)];
/// Maximum number of commands that do something, rather than group others.
const COMMANDS_MAX: usize = 26;

#[test]
fn the_program_stays_small() {
    for (folders, most) in LINES_MAX {
        let files = folders.iter().flat_map(|folder| rust_files(&root().join(folder)));
        let lines = |file| std::fs::read_to_string(file).expect("a source file").lines().count();
        let lines: usize = files.map(lines).sum();
        assert!(lines <= most, "{folders:?} have {lines} lines of Rust; at most {most}");
    }
    let commands = std::fs::read_to_string(root().join("docs/commands.md")).expect("the page");
    let commands = commands.matches("```text\nleitong ").count();
    assert!((20..=COMMANDS_MAX).contains(&commands), "{commands} commands; at most {COMMANDS_MAX}");
}
