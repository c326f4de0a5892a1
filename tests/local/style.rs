//! Points at a relapse into sentences and names that have to be read twice: each finding names the file, the
//! line and the better wording. CONTRIBUTING, "How we write", gives the reasons.
//!
//! The list is short on purpose. A rule belongs here only if a good sentence never breaks it.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::common::sources::root;

/// Folders and files that people read.
const READ: [&str; 19] = [
    "src",
    "crates",
    "docs",
    "tests",
    "examples",
    "deploy",
    "proto",
    "python",
    "benches",
    "fuzz",
    "tools",
    ".github",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Makefile",
    "docker-compose.yml",
];
/// Files that show bad sentences on purpose: this one, and the examples of CONTRIBUTING.
const EXAMPLES: [&str; 2] = ["tests/local/style.rs", "CONTRIBUTING.md"];
/// Maximum number of words in the English pages of `docs`, without ADRs and the table of contents.
const DOCS_WORDS_MAX: usize = 45_000;
/// Maximum number of lines of an ADR.
const ADR_LINES_MAX: usize = 120;
/// Maximum number of columns of a line of Markdown in `docs`, in crates and in the root folder.
const COLUMNS_MAX: usize = 120;

/// Words and phrases that no line may contain, and what to write instead.
const PHRASES: [(&str, &str); 21] = [
    ("anew", "again, rebuilt, or taken again"),
    ("whoever", "name the actor: the new owner, the caller"),
    ("in place of", "instead of"),
    ("for ever", "permanently"),
    ("hangs on", "depends on"),
    ("is told by", "is identified by"),
    ("are told by", "are identified by"),
    ("stands still", "is halted"),
    ("they stand at", "the value is at"),
    ("worked off", "drained"),
    ("let go of", "evict, or release"),
    ("an own", "our own, or its own"),
    ("so manieth", "one in n"),
    ("which is none", "`None` if"),
    ("as one likes", "any number of"),
    ("page furniture", "boilerplate"),
    ("decision tables", "oblivious decision trees"),
    ("ten-thousandths", "basis points"),
    ("bytes a centroid", "bytes per centroid"),
    ("pages a second", "pages per second"),
    ("documents a second", "documents per second"),
];

/// Words with which no description begins.
const NOT_FIRST: [&str; 9] = ["Of", "Whether", "What", "That", "Those", "To", "Who", "Whose", "Whoever"];

/// Nouns that are denied with "not a": `is no page` is "is not a page".
const DENIED: [&str; 16] = [
    "page",
    "share",
    "duplicate",
    "copy",
    "number",
    "url",
    "host",
    "record",
    "text",
    "file",
    "topic",
    "centroid",
    "table",
    "test",
    "terminal",
    "proof",
];

/// A sentence or name that has to be read twice.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    found: String,
    better: String,
}

impl Finding {
    fn new(line: usize, found: impl Into<String>, better: impl Into<String>) -> Self {
        Self { line, found: found.into(), better: better.into() }
    }
}

/// Returns true if `text` has `phrase` in lower case as whole words.
fn has_words(text: &str, phrase: &str) -> bool {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    text.match_indices(phrase).any(|(at, _)| {
        !is_of_word(text[..at].chars().next_back()) && !is_of_word(text[at + phrase.len()..].chars().next())
    })
}

/// Checks the words of each line.
fn phrases(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let text = text.to_lowercase();
    for (phrase, better) in PHRASES.iter().filter(|(phrase, _)| text.contains(phrase)) {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| has_words(line, phrase));
        found.extend(lines.map(|(line, _)| Finding::new(line, *phrase, *better)));
    }
    for (line, content) in (1..).zip(text.lines()).filter(|(_, line)| line.contains("is no ")) {
        for noun in DENIED {
            let denied = format!("is no {noun}");
            // "There is no page" is fine.
            let before = content.split(&denied).next().unwrap_or_default().trim_end();
            if has_words(content, &denied) && !before.ends_with("there") && !before.is_empty() {
                found.push(Finding::new(line, denied, format!("is not a {noun}")));
            }
        }
    }
    found
}

/// Checks the doc comments, and the names of functions and tests, of Rust code.
fn rust(code: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut is_comment = false;
    for (line, content) in (1..).zip(code.lines()) {
        let content = content.trim_start();
        let comment = ["///", "//!"].iter().find_map(|start| content.strip_prefix(start));
        if let Some(first) = comment.filter(|_| !is_comment).and_then(|text| text.split_whitespace().next())
            && NOT_FIRST.contains(&first)
        {
            let better = "a verb (\"Returns\", \"Reads\") or a noun (\"Number of\", \"Time at which\")";
            found.push(Finding::new(line, format!("a description that begins with {first:?}"), better));
        }
        is_comment = comment.is_some();
        let name = content
            .split("fn ")
            .nth(1)
            .filter(|_| comment.is_none())
            .and_then(|rest| rest.split(['(', '<']).next());
        match name {
            Some("of") => found.push(Finding::new(
                line,
                "fn of",
                "name the result or the input: new, from_bytes, for_site",
            )),
            Some(name) if ["what_", "whoever_", "whether_"].iter().any(|start| name.starts_with(start)) => {
                found.push(Finding::new(
                    line,
                    name,
                    "a sentence that says what must hold: rejects_ambiguous_dates",
                ));
            }
            _ => {}
        }
    }
    found
}

/// Finds statements that begin with "What": "What cannot be read is passed on". Questions are fine.
fn statements(text: &str, is_markdown: bool) -> Vec<Finding> {
    let (mut found, mut in_code) = (Vec::new(), false);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let prose = |line: &'_ str| -> Option<String> {
        if is_markdown {
            return Some(line.to_owned());
        }
        let comment = line.strip_prefix("//")?;
        Some(comment.trim_start_matches(['/', '!']).trim().to_owned())
    };
    for (at, line) in lines.iter().enumerate() {
        in_code ^= line.starts_with("```");
        let Some(text) = prose(line).filter(|_| !in_code) else { continue };
        let begins =
            ["What cannot ", "What is ", "What was ", "What has ", "What does ", "What comes ", "What goes "];
        for begin in begins {
            let Some(start) = text.find(begin) else { continue };
            let before = text[..start].trim_end();
            let is_first = before.is_empty() || before.ends_with(['.', ':', '*', '-', '>']);
            // A sentence may go on over the next lines.
            let rest =
                lines[at + 1..].iter().take(4).map_while(|line| prose(line).filter(|text| !text.is_empty()));
            let sentence = [text[start..].to_owned()].into_iter().chain(rest).collect::<Vec<_>>().join(" ");
            let end = sentence.find(['.', '?', '!']).unwrap_or(0);
            // "What was wrong." is a heading.
            let is_statement = sentence[end..].starts_with('.') && sentence[..end].split(' ').count() > 5;
            if is_first && is_statement {
                found.push(Finding::new(
                    at + 1,
                    begin.trim_end(),
                    "name the thing: \"Input that cannot be parsed is\"",
                ));
            }
        }
    }
    found
}

/// Checks the width of Markdown outside of code and tables.
fn columns(text: &str) -> Vec<Finding> {
    let (mut found, mut in_code) = (Vec::new(), false);
    for (line, content) in (1..).zip(text.lines()) {
        in_code ^= content.trim_start().starts_with("```");
        let is_table = content.trim_start().starts_with('|');
        let columns = content.chars().count();
        if columns > COLUMNS_MAX && !in_code && !is_table {
            found.push(Finding::new(
                line,
                format!("{columns} columns"),
                format!("at most {COLUMNS_MAX}, except in tables"),
            ));
        }
    }
    found
}

/// Checks a file, whose path is relative to the root.
fn check(path: &Path, text: &str) -> Vec<Finding> {
    let kind = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let mut found = phrases(text);
    match kind {
        "rs" => {
            found.extend(rust(text));
            found.extend(statements(text, false));
        }
        "md" => {
            found.extend(statements(text, true));
            let is_ours = path.parent() == Some(Path::new(""))
                || path.starts_with("docs")
                || path.starts_with("crates");
            if is_ours && !is_generated(path) {
                found.extend(columns(text));
            }
        }
        _ => {}
    }
    found
}

/// Returns true for Markdown that programs write.
fn is_generated(path: &Path) -> bool {
    let pages = ["commands", "configuration", "detector-settings", "metrics", "quality", "SUMMARY"];
    let is_page = |name: &str| path == Path::new("docs").join(name).with_extension("md");
    pages.into_iter().any(is_page)
}

/// Returns all files below `path` that people read.
fn files(path: PathBuf) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path];
    }
    let Ok(entries) = std::fs::read_dir(&path) else { return Vec::new() };
    let entries = entries.map(|entry| entry.expect("an entry").path());
    let kinds = ["rs", "md", "py", "yaml", "yml", "toml", "proto", "sh"];
    let is_read = |path: &PathBuf| {
        let skipped = ["target", "node_modules", "__pycache__", "data", ".venv"];
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_kind = path.extension().is_some_and(|extension| kinds.iter().any(|kind| extension == *kind));
        if path.is_dir() { !skipped.contains(&name.as_str()) } else { is_kind }
    };
    let mut found: Vec<PathBuf> = entries.filter(is_read).flat_map(files).collect();
    found.sort();
    found
}

#[test]
fn sentences_and_names_are_read_once() {
    let (mut findings, mut checked) = (Vec::new(), 0);
    for path in READ.iter().flat_map(|name| files(root().join(name))) {
        let name = path.strip_prefix(root()).expect("a file of this project").to_owned();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        checked += 1;
        if EXAMPLES.iter().all(|example| name != Path::new(example)) {
            let lines = check(&name, &text).into_iter();
            findings.extend(lines.map(|Finding { line, found, better }| {
                format!("{}:{line}: {found}: better {better}", name.display())
            }));
        }
    }
    assert!(checked > 900, "{checked} files: are they found?");
    assert!(
        findings.is_empty(),
        "{} places (CONTRIBUTING, How we write):\n{}",
        findings.len(),
        findings.join("\n")
    );
}

#[test]
fn the_documentation_is_short() {
    let lines = |path: &PathBuf| std::fs::read_to_string(path).expect("a page").lines().count();
    for adr in files(root().join("docs/adr")) {
        assert!(
            lines(&adr) <= ADR_LINES_MAX,
            "{}: at most {ADR_LINES_MAX} lines; move long tables out",
            adr.display()
        );
    }
    let is_page =
        |path: &PathBuf| path.parent() == Some(&root().join("docs")) && !path.ends_with("SUMMARY.md");
    let pages = files(root().join("docs")).into_iter().filter(is_page);
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let words = pages
        .map(|page| std::fs::read_to_string(page).expect("a page").split_whitespace().count())
        .sum::<usize>();
    let range: RangeInclusive<usize> = 20_000..=DOCS_WORDS_MAX;
    assert!(
        range.contains(&words),
        "docs has {words} words without ADRs; at most {DOCS_WORDS_MAX}: say each thing once"
    );
}

#[test]
fn bad_sentences_and_names_are_found() {
    let bad = [
        ("a.rs", "/// Whether the key is wide.\nfn is_wide() {}", 1),
        ("a.rs", "//! Of each page the first key.\n//! Of others none.", 1),
        ("a.rs", "    pub fn of(bytes: &[u8]) -> Self {", 1),
        ("a.rs", "#[test]\nfn what_is_no_date_is_none() {", 2),
        ("a.rs", "// What cannot be read is\n// passed on.", 1),
        ("a.rs", "bail!(\"{path} is no file\");", 1),
        ("a.md", "A row.\n\nThe table is built anew.", 3),
        ("a.md", "* What is not a page travels on, so that nothing is lost.", 1),
        ("a.yaml", "description: The corpus, in place of the configured one.", 1),
    ];
    for (name, text, line) in bad {
        let found = check(Path::new(name), text);
        assert!(found.len() == 1 && found[0].line == line, "{text}: {found:?}");
    }
    assert_eq!(check(Path::new("a.md"), &"word ".repeat(30)).len(), 1, "a line of 150 columns");
}

#[test]
fn good_sentences_and_names_pass() {
    let table = "| a table may be as wide as it has to be |".repeat(9);
    let good = [
        (
            "a.rs",
            "/// Returns true if the key is wide.\n/// What it costs is stated below\nfn offset_of() {}",
        ),
        ("a.rs", "// What is the position of a row\n// in a table? See below."),
        ("a.rs", "// There is no page, and a renewed one is no longer sent."),
        ("a.md", "# What is a verdict\n\nThe program runs for everyone. What is it for? Read on."),
        ("a.md", table.as_str()),
    ];
    for (name, text) in good {
        assert_eq!(check(Path::new(name), text), [], "{text}");
    }
}
