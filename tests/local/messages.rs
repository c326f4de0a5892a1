//! Writes everything that the program says into one file, `target/messages.txt`, for a person to read: the
//! help of each command, then the messages in the sources by module. A reader who does not know the project
//! should understand each at once: what failed, where, and what to do.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::common::literals::{Literal, literals};
use crate::common::sources::{self, rust_files};
use crate::common::{leitong_of_users, run};

/// Calls whose literals only programmers read, or are in the help already.
const SILENT: [&str; 14] = [
    "assert!",
    "assert_eq!",
    "debug_assert!",
    "debug_assert_eq!",
    "expect",
    "panic!",
    "unreachable!",
    "cfg",
    "doc",
    "concat!",
    "allow",
    "serde",
    "command",
    "arg",
];

/// Returns true if the literal is a message: prose that is passed on, and not a table of words. Messages of three
/// words, such as `cannot read {}`, are left out.
fn is_message(literal: &Literal) -> bool {
    let is_within = |names: &[&str]| literal.within.iter().any(|name| names.contains(&name.as_str()));
    let is_word = |word: &&str| word.len() > 1 && word.chars().all(char::is_alphabetic);
    let words = literal.text.split(|c: char| c.is_whitespace() || ",.;:".contains(c)).filter(is_word).count();
    let is_markup = literal.text.contains('<') && literal.text.contains("</");
    let is_passed_on = !literal.within.is_empty();
    words >= 4 && is_passed_on && !is_markup && !is_within(&SILENT)
}

/// Returns the messages of the sources, each once: file and line, and the text.
fn messages() -> Vec<(String, String)> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for folder in sources::folders() {
        let mut files = rust_files(&folder);
        files.sort();
        for file in files.iter().filter(|file| !is_of_tests(file)) {
            let code = std::fs::read_to_string(file).expect("a source");
            let name =
                file.strip_prefix(sources::root()).expect("a source of this project").display().to_string();
            let said = literals(&code).into_iter().filter(is_message);
            let said = said.filter(|literal| known.insert(literal.text.clone()));
            found.extend(said.map(|Literal { line, text, .. }| (format!("{name}:{line}"), text)));
        }
    }
    found
}

fn is_of_tests(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().ends_with("tests.rs"))
}

#[test]
fn everything_that_the_program_says_is_in_one_file() {
    let help = run(["config", "commands"]).stdout;
    let mut page = format!("{help}\n# Messages in the sources\n");
    let messages = messages();
    let mut last = "";
    for (place, text) in &messages {
        let (file, line) = place.rsplit_once(':').expect("a line");
        if file != last {
            let _ = write!(page, "\n## {file}\n\n");
            last = file;
        }
        let _ = writeln!(page, "{line:>5}  {}", text.trim().replace('\n', "\n       "));
    }
    let target = sources::root().join("target");
    std::fs::create_dir_all(&target).expect("a folder");
    std::fs::write(target.join("messages.txt"), page).expect("written");
    assert!(messages.len() > 800, "{} messages: are they recognised?", messages.len());
    // One of each kind: an error type, `bail!`, `context`, a log event, a line for people, a metric.
    let kinds = [
        "the compressed input breaks off",
        "--keep and --drop read their inputs twice",
        "cannot listen for SIGTERM",
        "the owner did not stop in time",
        "already done: {done}",
        "Messages read from the page topic",
    ];
    for text in kinds {
        assert!(messages.iter().any(|(_, message)| message.contains(text)), "{text:?} is missing");
    }
}

#[test]
fn every_command_has_an_example_and_a_summary_without_a_full_stop() {
    let help = run(["config", "commands"]).stdout;
    let commands: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("## leitong ")).collect();
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        let printed = leitong_of_users().args(command.split(' ')).arg("--help").output().expect("it runs");
        let printed = String::from_utf8(printed.stdout).expect("UTF-8");
        let summary = printed.lines().next().expect("a summary");
        assert!(!summary.ends_with('.') && summary.len() <= 100, "{command}: {summary}");
        assert!(printed.contains("Usage: "), "{command}");
    }
}

#[test]
fn messages_are_recognised() {
    let code = r##"
        #[error("cannot read {path}: {source}; \
                 free some space")]
        // warn!("not this comment");
        fn f<'a>(c: char) { if c == '"' { bail!("there is no \"table\" here") } x.expect("it was checked before"); }
        let words = ["read more here"]; warn!(r#"the "disk" is full now"#);
        #[cfg(test)]
mod tests {
        bail!("not of the program");
    "##;
    let found: Vec<_> =
        literals(code).into_iter().filter(is_message).map(|found| (found.line, found.text)).collect();
    let expected = [
        (2, "cannot read {path}: {source}; free some space"),
        (5, "there is no \"table\" here"),
        (6, "the \"disk\" is full now"),
    ];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
}
