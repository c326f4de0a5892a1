//! Inputs that were read only in part, and outputs that were not what their names say: names, endings, dates, numbers,
//! and files that change during the run.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::common::{article, dedup_files, gzip, leitong, name, write};

fn line(id: &str, topic: usize) -> String {
    json!({ "id": id, "text": article(topic, 20) }).to_string() + "\n"
}

/// Returns the ids of the documents in a file of JSON lines.
fn ids(file: &Path) -> Vec<String> {
    let lines = std::fs::read_to_string(file).expect("a file");
    let id =
        |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["id"].as_str().map(str::to_owned);
    lines.lines().filter_map(id).collect()
}

/// The pattern `*.jsonl` ended in a panic, and `**/*.jsonl` passed the second file over.
#[test]
fn patterns_and_folders_find_files_whose_names_are_not_utf_8() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, topic) in [(&b"plain.jsonl"[..], 1), (b"caf\xe8.jsonl", 2), (b"caf\xe9.jsonl", 3)] {
        let text = json!({ "text": article(topic, 20) }).to_string();
        std::fs::write(folder.path().join(OsStr::from_bytes(name)), text + "\n").expect("a file");
    }
    std::fs::create_dir(folder.path().join("kept")).expect("a folder");
    for pattern in ["*.jsonl", "**/caf?.jsonl", "."] {
        let mut command = leitong();
        command.current_dir(folder.path()).args(["dedup", "--keep", "kept/", "--output", "v.txt", pattern]);
        // Each run replaces the files of the one before.
        std::fs::remove_dir_all(folder.path().join("kept")).expect("removed");
        std::fs::create_dir(folder.path().join("kept")).expect("a folder");
        let _ = std::fs::remove_file(folder.path().join("v.txt"));
        let output = command.output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{pattern}: {stderr}");
        let verdicts = std::fs::read_to_string(folder.path().join("v.txt")).expect("verdicts");
        for (file, shown) in
            [(&b"caf\xe8.jsonl"[..], "caf\\\\xE8.jsonl#1"), (b"caf\xe9.jsonl", "caf\\\\xE9.jsonl#1")]
        {
            assert!(verdicts.contains(shown), "{pattern}: {verdicts}");
            assert!(folder.path().join("kept").join(OsStr::from_bytes(file)).is_file(), "{pattern}");
        }
        assert!(!verdicts.contains("DUPLICATE"), "{pattern}: {verdicts}");
    }
}

/// The end of an input that lost it after the run had begun was not read, with status 0.
#[test]
fn an_input_that_becomes_shorter_during_the_run_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let lines: String = (0..40).map(|topic| line(&topic.to_string(), topic)).collect();
    let [verdicts, clusters, report] = ["v.jsonl", "c.jsonl", "r.html"].map(|file| folder.path().join(file));
    for (ending, contents) in [("jsonl", lines.clone().into_bytes()), ("jsonl.gz", gzip(lines.as_bytes()))] {
        for options in [
            vec![],
            vec!["--output", name(&verdicts)],
            vec!["--clusters", name(&clusters), "--report", name(&report)],
        ] {
            for file in [&verdicts, &clusters, &report] {
                // The first run finds none.
                let _ = std::fs::remove_file(file);
            }
            let input = write(folder.path(), &format!("in.{ending}"), &contents);
            let mut command = leitong();
            command.arg("dedup").args(&options).args([&pipe, &input]);
            let child =
                command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
            // Opening the pipe waits until the program reads it, and then it has seen all inputs.
            let mut writer = File::options().write(true).open(&pipe).expect("the pipe");
            writer.write_all(line("first", 100).as_bytes()).expect("written");
            let shorter = File::options().write(true).open(&input).expect("a file");
            shorter.set_len(contents.len() as u64 / 2).expect("shorter");
            drop(writer);
            let output = child.wait_with_output().expect("it ends");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{options:?}: {stderr}");
            assert!(stderr.contains(&format!("in.{ending}: the file became shorter")), "{stderr}");
        }
    }
}

/// Capitals hid the format, and files called `.GZ` were not compressed.
#[test]
fn endings_may_have_capitals() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in");
    std::fs::create_dir(&input).expect("a folder");
    write(&input, "A.JSONL.GZ", gzip((line("a", 1) + &line("b", 1)).as_bytes()));
    write(&input, "B.CSV.GZ", gzip(format!("ID,TEXT\nc,{}\n", article(2, 20)).as_bytes()));
    let kept = folder.path().join("kept");
    let options = ["--text-column", "TEXT", "--id-column", "ID", "--keep", &format!("{}/", name(&kept))];
    let run_of_csv = dedup_files(&options, &[&input.join("B.CSV.GZ")]);
    assert_eq!(run_of_csv.status, 0, "{}", run_of_csv.stderr);
    let one = folder.path().join("ONE.JSONL.ZST");
    let run_of_lines = dedup_files(&["--keep", name(&one)], &[&input.join("A.JSONL.GZ")]);
    assert_eq!(run_of_lines.status, 0, "{}", run_of_lines.stderr);
    for (file, magic) in [(kept.join("B.CSV.GZ"), &b"\x1f\x8b"[..]), (one, b"\x28\xb5\x2f\xfd")] {
        assert!(std::fs::read(&file).expect("a file").starts_with(magic), "{}", file.display());
    }
    let accounts = folder.path().join("ACCOUNTS.CSV");
    let keep = folder.path().join("k.jsonl");
    let options = ["--keep", name(&keep), "--by", "/id", "--accounts", name(&accounts)];
    assert_eq!(dedup_files(&options, &[&input.join("A.JSONL.GZ")]).status, 0);
    assert!(std::fs::read_to_string(&accounts).expect("a file").starts_with("source,with,"));
    for (option, file) in [
        ("--output", "V.JSONL.GZ"),
        ("--output", "v.jsonl.bz2"),
        ("--clusters", "c.jsonl.Xz"),
        ("--report", "r.html.ZST"),
        ("--keep", "k.jsonl.BZ2"),
        ("--drop", "d.jsonl.xz"),
    ] {
        let file = folder.path().join(file);
        let refused = dedup_files(&[option, name(&file)], &[&input.join("A.JSONL.GZ")]);
        assert_eq!(refused.status, 2, "{option} {}: {}", file.display(), refused.stderr);
        assert!(!file.exists(), "{}", file.display());
    }
}

/// Dates of digits became the years 2612 and 1970, ids of 19 digits were equal, and ISO dates were no values.
#[test]
fn the_preferred_document_is_found_by_exact_numbers_and_dates() {
    let folder = tempfile::tempdir().expect("a folder");
    let fields = [
        json!({ "timestamp": "20261121080000", "v": 1_795_248_000_000_000_001_u64, "at": "2026-11-21T08:00:00Z" }),
        json!({ "timestamp": 20_261_122, "v": "1795248000000000003", "at": "2026-11-23" }),
        json!({ "timestamp": "2026-11-23T08:00:00Z", "v": 1_795_248_000_000_000_002_u64, "at": "2026-11-22 09:00:00" }),
        json!({ "timestamp": "some day", "v": [1], "at": 5 }),
    ];
    let document = |(id, fields): (usize, &Value)| {
        let mut document = fields.clone();
        document["id"] = json!(id.to_string());
        document["text"] = json!(article(1, 20));
        document.to_string() + "\n"
    };
    let pages = write(folder.path(), "p.jsonl", fields.iter().enumerate().map(document).collect::<String>());
    for (prefer, expected, told) in [
        ("newest", "2", "1 of 4 documents have no time of fetch"),
        ("oldest", "0", "1 of 4 documents have no time of fetch"),
        ("highest:/v", "1", "1 of 4 documents have no number or date at /v"),
        ("lowest:/v", "0", "1 of 4 documents have no number or date at /v"),
        ("highest:/at", "3", "3 documents have a date and 1 a number, which cannot be compared"),
    ] {
        let keep = folder.path().join(format!("{}.jsonl", prefer.replace([':', '/'], "-")));
        let run = dedup_files(&["--prefer", prefer, "--keep", name(&keep)], &[&pages]);
        assert_eq!((run.status, ids(&keep)), (0, vec![expected.to_owned()]), "{prefer}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{prefer}: {}", run.stderr);
        assert!(run.stderr.contains("1  invalid fetched_at dates, read as null"), "{}", run.stderr);
    }
}

/// A mixture that a file cannot hold ended the run in its middle, and a mistyped column was not named.
#[test]
fn mixtures_and_mistyped_columns_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Length: 19\r\n\r\n\
                  HTTP/1.1 200 OK\r\n\r\n\r\n\r\n";
    let warc = write(folder.path(), "a.warc", record);
    let lines = write(folder.path(), "a.jsonl", line("a", 1));
    let empty = write(folder.path(), "empty.jsonl", "");
    let dropped = folder.path().join("d.jsonl");
    let mixed = dedup_files(&["--drop", name(&dropped)], &[&lines, &warc]);
    assert!(
        mixed.status == 2 && mixed.stderr.contains("a mixture of JSON lines, WARC records"),
        "{}",
        mixed.stderr
    );
    assert!(!dropped.exists(), "nothing was read");
    let kept = folder.path().join("k.warc");
    assert_eq!(
        dedup_files(&["--keep", name(&kept)], &[&empty, &warc]).status,
        0,
        "an empty file fits to all"
    );
    let with_url = json!({ "id": "a", "url": "http://a/", "title": "A", "text": article(1, 20) });
    let pages = write(folder.path(), "pages.jsonl", format!("{with_url}\n"));
    for pages in [&pages, &lines] {
        let run = dedup_files(&["--text-column", "nope"], &[pages]);
        assert!([1, 3].contains(&run.status), "{}", run.stderr);
        let told = "--text-column nope: no line has this field; the fields are \"id\", ";
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
    let right = dedup_files(&["--text-column", "text"], &[&pages]);
    assert!(right.status == 0 && !right.stderr.contains("no line has"), "{}", right.stderr);
}

/// Spark writes files of unfinished tasks into a folder of its own.
#[test]
fn folders_of_unfinished_files_are_passed_over_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let crawl = folder.path().join("crawl");
    std::fs::create_dir_all(crawl.join("_temporary/0")).expect("folders");
    write(&crawl, "a.jsonl", line("a", 1));
    write(&crawl.join("_temporary/0"), "b.jsonl", line("b", 2));
    let run = dedup_files(&[], &[&crawl]);
    assert_eq!((run.status, run.verdicts().len()), (0, 1), "{}", run.stderr);
    assert!(
        run.stderr.contains("1 folders are not read") && run.stderr.contains("crawl/_temporary"),
        "{}",
        run.stderr
    );
}
