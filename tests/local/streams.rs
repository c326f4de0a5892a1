//! Standard output and standard error in every state: closed, full, a terminal. Verdicts never depend on the
//! readers of messages, and nothing in a page or a file name controls a terminal.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use crate::common::{self, Run, article, leitong, page, run, run_with_input, write};

/// The exit status that a shell reports for a program that wrote to a closed pipe.
const CLOSED_PIPE: i32 = 141;
/// Characters that would change a terminal's colour, title and lines.
const CONTROLS: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\u{202e}back";

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has it")
}

/// Returns the writing end of a pipe without a reader.
fn closed() -> std::io::PipeWriter {
    std::io::pipe().expect("a pipe").1
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

/// Runs the program with its messages going to `stderr`.
fn with_stderr(stderr: impl Into<Stdio>, arguments: &[&str]) -> Run {
    Run::from_output(output(leitong().args(arguments).stdout(Stdio::piped()).stderr(stderr)))
}

/// Runs the program with its results going to `stdout`.
fn with_stdout(stdout: impl Into<Stdio>, arguments: &[&str]) -> Run {
    Run::from_output(output(leitong().args(arguments).stdout(stdout).stderr(Stdio::piped())))
}

/// Dead letters, progress and the summary go to standard error. If that cannot be written, the run must not
/// panic and end without verdicts and table.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux has /dev/full")]
fn dedup_needs_no_standard_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = write(folder.path(), "pages.jsonl", format!("{{\n{}", page("a", &article(1, 20))));
    let input = input.to_str().expect("UTF-8");
    for (name, stderr) in [("full", Stdio::from(full())), ("closed", Stdio::from(closed()))] {
        let table = folder.path().join(name);
        let run = with_stderr(stderr, &["dedup", "--table", table.to_str().expect("UTF-8"), input]);
        assert_eq!(run.status, 3, "{name}");
        assert_eq!(run.verdicts().len(), 1, "{name}");
        assert!(table.join("centroids.leitong").is_file(), "{name}: the table is saved");
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux has /dev/full")]
fn no_command_needs_standard_error() {
    for (arguments, status) in [
        (&["dedup", "no-such-file.jsonl"][..], 1),
        (&["extract", "--jsonl", "Cargo.toml"], 3),
        (&["idf", "build", "examples/pages.jsonl"], 0),
        (&["boilerplate", "build", "examples/pages.jsonl"], 0),
        (&["config", "check", "no-such-file.toml"], 2),
        (&["nonsense"], 2),
    ] {
        for stderr in [Stdio::from(full()), Stdio::from(closed())] {
            assert_eq!(with_stderr(stderr, arguments).status, status, "{arguments:?}");
        }
    }
}

/// Commands that print something, each with little to do.
const PRINTING: [&[&str]; 11] = [
    &["dedup", "examples/pages.jsonl"],
    &["extract", "tests/data/kinds/article-de.html"],
    &["extract", "--jsonl", "examples/pages.jsonl"],
    &["compare", "examples/pages.jsonl#zh-pc", "examples/pages.jsonl#zh-pc-tw"],
    &["config", "example"],
    &["config", "check", "deploy/leitong.toml"],
    &["preset", "list"],
    &["doctor"],
    &["completions", "bash"],
    &["--help"],
    &["--version"],
];

/// `leitong dedup pages.jsonl | head` must not end with a panic.
#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    for arguments in PRINTING {
        let run = with_stdout(closed(), arguments);
        assert_eq!(run.status, CLOSED_PIPE, "{arguments:?}: {}", run.stderr);
        assert!(
            !run.stderr.contains("cannot write") && !run.stderr.contains("panicked"),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux has /dev/full")]
fn a_full_standard_output_is_an_error_with_a_message() {
    for arguments in PRINTING {
        let run = with_stdout(full(), arguments);
        assert_eq!(run.status, 1, "{arguments:?}: {}", run.stderr);
        let told = run.stderr.contains("leitong: cannot write") && run.stderr.contains("No space left");
        assert!(told && !run.stderr.contains("panicked"), "{arguments:?}: {}", run.stderr);
    }
}

/// Runs the program in a shell with a redirection, such as `>&-`.
fn redirected(redirection: &str, arguments: &[&str]) -> Run {
    let script = format!("exec \"$0\" \"$@\" {redirection}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(leitong().get_program()).args(arguments);
    Run::from_output(output(shell.current_dir(env!("CARGO_MANIFEST_DIR"))))
}

/// The runtime of Rust opens `/dev/null` instead of a closed standard output, and hides that a descriptor is not open
/// for writing. So the output was lost with status 0.
#[test]
fn a_closed_standard_output_is_an_error_with_a_message() {
    for arguments in PRINTING {
        for closed in [">&-", "1</dev/null"] {
            let run = redirected(closed, arguments);
            assert_eq!(run.status, 1, "{closed} {arguments:?}: {}", run.stderr);
            let told = run.stderr.lines().filter(|line| line.contains("standard output is closed")).count();
            assert_eq!(told, 1, "{closed} {arguments:?}: {}", run.stderr);
        }
        assert_eq!(redirected(">/dev/null", arguments).status, 0, "{arguments:?}");
    }
}

/// A run with an output file needs no standard output, and one that reads files no standard input.
#[test]
fn streams_that_are_not_used_may_be_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let verdicts = folder.path().join("verdicts.jsonl");
    let verdicts = verdicts.to_str().expect("UTF-8");
    let run = redirected("<&- >&-", &["dedup", "examples/pages.jsonl", "--output", verdicts]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    for closed in ["<&-", "0>/dev/null"] {
        let run = redirected(closed, &["dedup", "-"]);
        let told = run.stderr.contains("closed, or not open for reading");
        assert!(run.status == 1 && told, "{closed}: {} {}", run.status, run.stderr);
    }
}

/// As in `leitong dedup pages.jsonl | head -n 1`: the first line is read, then the reader exits.
#[test]
fn a_reader_may_go_away_during_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages: String = (0..2_000).map(|i| page(&i.to_string(), &article(i, 12))).collect();
    let input = write(folder.path(), "pages.jsonl", pages);
    let mut child = leitong()
        .args([
            "dedup".as_ref(),
            "--table".as_ref(),
            folder.path().join("table").as_os_str(),
            input.as_os_str(),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("an output"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("read");
    assert!(line.contains("\"page_id\":\"0\""), "{line}");
    drop(lines);
    let mut messages = String::new();
    child.stderr.take().expect("messages").read_to_string(&mut messages).expect("UTF-8");
    assert_eq!((child.wait().expect("it ends").code(), messages.as_str()), (Some(CLOSED_PIPE), ""));
    let saved = common::centroids(&folder.path().join("table"));
    assert_eq!(saved, 0, "verdicts nobody has read are not in the table");
}

/// Checks that no character controls a terminal, apart from line ends and the escapes of our own colours.
#[track_caller]
fn assert_harmless(what: &str, text: &str) {
    let obeyed = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    assert!(!text.contains(obeyed), "{what}: {text:?}");
}

#[test]
fn messages_hold_no_control_characters() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = folder.path().join(format!("a{CONTROLS}\nb.jsonl"));
    let value = serde_json::json!({ "url": "http://a/", "status": CONTROLS }).to_string();
    std::fs::write(&named, value).expect("written");
    let missing = folder.path().join(format!("missing{CONTROLS}"));
    let config = write(folder.path(), "c.toml", "detector = \"a\\u001b[31m\\u0007\"\n");
    let toml = folder.path().join(format!("missing{CONTROLS}.toml"));
    for arguments in [
        vec!["dedup".as_ref(), named.as_os_str()],
        vec!["extract".as_ref(), "--jsonl".as_ref(), named.as_os_str()],
        vec!["dedup".as_ref(), missing.as_os_str()],
        vec!["extract".as_ref(), missing.as_os_str()],
        vec!["compare".as_ref(), missing.as_os_str(), named.as_os_str()],
        vec!["config".as_ref(), "check".as_ref(), config.as_os_str()],
        vec!["config".as_ref(), "check".as_ref(), toml.as_os_str()],
    ] {
        let run = run(&arguments);
        assert_ne!(run.status, 0, "{arguments:?}");
        assert_harmless(&format!("{arguments:?}"), &run.stderr);
    }
    // A dead letter stays on its line.
    let letters = run(["dedup".as_ref(), named.as_os_str()]).stderr;
    assert!(
        letters.contains(r"\u{1b}[31mred") && letters.contains(r"\nb.jsonl: line 1: `status`"),
        "{letters}"
    );
}

#[test]
fn compare_shows_titles_of_pages_harmlessly() {
    let folder = tempfile::tempdir().expect("a folder");
    let html = format!("<title>t{CONTROLS}</title><p>{}</p>", article(1, 30));
    let file = write(folder.path(), "a.html", html);
    let run = run(["compare".as_ref(), file.as_os_str(), file.as_os_str()]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_harmless("compare", &run.stdout);
}

/// Text that goes to a file is exact; text on a terminal cannot control it.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "other systems' script takes other options")]
fn extract_is_exact_in_a_pipe_and_harmless_on_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("{}\u{1b}[31m{}\n", article(1, 10), article(2, 10));
    let file = write(folder.path(), "page.txt", &text);
    let piped = run(["extract".as_ref(), file.as_os_str()]);
    assert!(piped.stdout.contains("\u{1b}[31m"), "{:?}", piped.stdout);
    // The `script` command of util-linux runs a command on a separate terminal.
    let program = leitong().get_program().to_owned();
    let command = format!("'{}' extract '{}'", program.to_str().expect("UTF-8"), file.display());
    let shown = output(Command::new("script").args(["-qec", &command, "/dev/null"]).stdin(Stdio::null()));
    let shown = String::from_utf8(shown.stdout).expect("UTF-8").replace('\r', "");
    assert!(shown.contains(r"\u{1b}[31m"), "{shown:?}");
    assert_harmless("extract", &shown);
}

#[test]
fn successful_runs_print_the_same_as_before() {
    let run = run_with_input(["dedup", "-"], page("a", &article(1, 20)));
    assert_eq!((run.status, run.verdicts().len()), (0, 1));
    assert!(run.stderr.contains("1 records in"), "{}", run.stderr);
}
