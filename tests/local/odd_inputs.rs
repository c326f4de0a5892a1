//! Files as servers, crawlers and other programs write them, beyond the standards: every page in them is
//! read, or the summary says why not.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::common::{self, Run, article, dedup_files, gzip, leitong, name, write};

/// Returns a WARC record.
fn record(kind: &str, url: &str, content_type: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-03-01T10:00:00Z\r\nContent-Type: \
         {content_type}\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    [head.as_bytes(), content, b"\r\n\r\n"].concat()
}

fn html(topic: usize) -> String {
    format!("<!DOCTYPE html><html><body><article><p>{}</p></article></body></html>", article(topic, 20))
}

fn response(url: &str, head: &str, body: &str) -> Vec<u8> {
    let content = format!("{head}\r\ncontent-type: text/html; charset=utf-8\r\n\r\n{body}");
    record("response", url, "application/http; msgtype=response", content.as_bytes())
}

/// Returns the kinds and reasons of verdicts.
fn outcomes(run: &Run) -> Vec<String> {
    let word = |verdict: &Value, field: &str| verdict[field].as_str().map(str::to_owned);
    let verdicts = run.verdicts();
    verdicts.iter().map(|v| word(v, "reason").or_else(|| word(v, "kind")).expect("a kind")).collect()
}

/// The HTTP heads of HTTP/2 responses in WARC records, and of responses after an interim one (100 Continue), must not
/// be read as part of the text.
#[test]
fn pages_of_any_http_version_are_judged_by_their_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let heads = [
        ("HTTP/1.1 404 Not Found", "HTTP_STATUS"),
        ("HTTP/2 404", "HTTP_STATUS"),
        ("HTTP/3 301 ", "HTTP_STATUS"),
        (
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/2 503",
            "HTTP_STATUS",
        ),
        ("ICY 200 OK\r\nx-note: a\0b\rc", "UNIQUE"),
        ("http/2.0 200", "UNIQUE"),
    ];
    let records =
        heads.iter().enumerate().map(|(topic, (head, _))| response("http://a/", head, &html(topic)));
    let mut records: Vec<u8> = records.collect::<Vec<_>>().concat();
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked";
    records.extend(response("http://a/", chunked, &format!("3e8\r\n{}", &html(0))));
    let file = write(folder.path(), "a.warc.gz", gzip(&records));
    let run = dedup_files(&[], &[&file]);
    let expected: Vec<_> = heads.iter().map(|(_, outcome)| *outcome).chain(["UNIQUE"]).collect();
    assert_eq!(outcomes(&run), expected, "{}", run.stderr);
    let told = "1  HTTP bodies with broken chunks or compression, or shorter than their Content-Length";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

/// Skipped records of other types are named, and a run without a page must not look like a success.
#[test]
fn an_input_without_pages_is_named_and_a_run_without_pages_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let resource = record("resource", "http://a/", "text/html", html(1).as_bytes());
    let others = [
        record("request", "http://a/", "application/http", b"GET / HTTP/1.1\r\n\r\n"),
        record("resource", "urn:view:http://a/", "image/png", b"\x89PNG"),
    ]
    .concat();
    let pages = write(folder.path(), "pages.warc", [&others[..], &resource].concat());
    let others = write(folder.path(), "others.warc.gz", gzip(&others));
    let empty = write(folder.path(), "empty.jsonl", "");
    let run = dedup_files(&[], &[&pages, &others, &empty]);
    assert_eq!((run.status, outcomes(&run)), (0, vec!["UNIQUE".to_owned()]), "{}", run.stderr);
    for told in [
        "others.warc.gz: no page in it, only WARC records of other types (1 request, 1 resource)",
        "empty.jsonl: is empty",
        "4  WARC records of other types, skipped: 2 request, 2 resource",
    ] {
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("pages.warc: "), "{}", run.stderr);
    let blank = write(folder.path(), "blank.jsonl", "\n \n");
    for nothing in [&others, &blank] {
        let run = dedup_files(&[], &[nothing, &empty]);
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert!(run.stderr.contains("no input has a page"), "{}", run.stderr);
    }
    assert_eq!(dedup_files(&[], &[&empty]).status, 0, "an empty shard is not a fault");
}

/// `extract --jsonl` of a file without a page must not end with status 0 after printing nothing.
#[test]
fn an_extraction_without_pages_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let request = record("request", "http://a/", "application/http", b"GET / HTTP/1.1\r\n\r\n");
    let others = write(folder.path(), "others.warc", request);
    let blank = write(folder.path(), "blank.jsonl", "\n \n");
    for nothing in [&others, &blank] {
        let run = common::run(["extract", "--jsonl", name(nothing)]);
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert!(run.stderr.contains("no page in it, only"), "{}", run.stderr);
        assert!(run.stderr.contains("no input has a page"), "{}", run.stderr);
    }
}

/// Commands that count or measure must not skip a broken line, or the lost rest of a file, as "not a page", with
/// status 0.
#[test]
fn commands_that_measure_pages_name_the_records_that_they_cannot_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String =
        (0..6).map(|topic| common::page(&topic.to_string(), &article(topic, 20)) + "\n").collect();
    let packed = gzip(lines.as_bytes());
    let cut = write(folder.path(), "cut.jsonl.gz", &packed[..packed.len() - 40]);
    let broken = write(folder.path(), "broken.jsonl", lines.clone() + "{broken\n");
    let out = folder.path().join("out");
    for command in [
        vec!["idf", "build", "--overwrite", "--output", name(&out)],
        vec!["extract", "--jsonl"],
        vec!["boilerplate", "build", "--overwrite", "--output", name(&out)],
    ] {
        for (file, cause) in [(&cut, "TRUNCATED_INPUT"), (&broken, "BROKEN_JSON")] {
            let run = common::run(command.iter().copied().chain([name(file)]));
            assert_eq!(run.status, 3, "{command:?}: {}", run.stderr);
            assert!(
                run.stderr.contains(cause) && run.stderr.contains("1 record cannot be read"),
                "{}",
                run.stderr
            );
        }
    }
    // `extract` counted such records in another way, and no command said that it named only some of them.
    let broken = write(folder.path(), "broken.jsonl", lines + &"{broken\n".repeat(25));
    let run = common::run(["extract", "--jsonl", name(&broken)]);
    assert_eq!((run.status, run.stdout.lines().count()), (3, 6), "{}", run.stderr);
    assert_eq!(run.stderr.matches("BROKEN_JSON").count(), 20, "{}", run.stderr);
    let told =
        "25 records cannot be read and are not part of the result; the first 20 of them are named above";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

/// Commands that count or compare must not write their results over their own inputs.
#[test]
fn no_command_writes_over_its_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String =
        (0..6).map(|topic| common::page(&topic.to_string(), &article(topic, 20)) + "\n").collect();
    let pages = write(folder.path(), "pages.jsonl", &lines);
    let page = write(folder.path(), "page.html", html(1));
    let other = folder.path().join("other");
    std::fs::hard_link(&pages, &other).expect("a link");
    let (pages, page, other) = (name(&pages), name(&page), name(&other));
    let by_id = format!("{pages}#1");
    for command in [
        &["compare", "--html", page, page, page][..],
        &["compare", "--html", pages, &by_id, page],
        &["idf", "build", "--output", other, pages],
    ] {
        let run = common::run(command);
        assert_eq!(run.status, 2, "{command:?}: {}", run.stderr);
        assert!(run.stderr.contains("name another file"), "{command:?}: {}", run.stderr);
        assert_eq!(std::fs::read_to_string(pages).expect("pages"), lines, "{command:?}");
        assert_eq!(std::fs::read_to_string(page).expect("a page"), html(1), "{command:?}");
    }
}

/// If a bare carriage return ended rows in one reading and not in the other, verdicts and copied rows would not
/// match.
#[test]
fn rows_with_carriage_returns_are_judged_and_copied_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = |topic: usize, inner: &str, end: &str| {
        format!("http://a/{topic},{}{inner}{}{end}", article(topic, 10), article(topic + 50, 10))
    };
    let feeds: String = (0..4).map(|topic| row(topic % 3, "\r", "\n")).collect();
    let returns: String = (0..4).map(|topic| row(topic % 3, " ", "\r")).collect();
    let kept = folder.path().join("kept.csv");
    for (text, is_kept) in [(format!("url,text\n{feeds}"), true), (format!("url,text\r{returns}"), false)] {
        let table = write(folder.path(), "a.csv", &text);
        let run = dedup_files(&["--overwrite", "--keep", name(&kept), "--output", "/dev/null"], &[&table]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let end = if is_kept { '\n' } else { '\r' };
        let expected: Vec<&str> = text.split_terminator(end).take(4).collect();
        assert_eq!(std::fs::read_to_string(&kept).expect("rows"), expected.join("\n") + "\n");
    }
}

/// A quote at the beginning of a field swallows the rows up to the next quote, which must not happen without a
/// message.
#[test]
fn stray_quotes_cause_a_warning_and_can_be_switched_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = (0..4).map(|topic| {
        let quote = ["\"", "", "a \"word\" ", "\"\""][topic];
        format!("http://a/{topic}\t{quote}{}\n", article(topic, 20))
    });
    let table = write(folder.path(), "a.tsv", format!("url\ttext\n{}", rows.collect::<String>()));
    let run = dedup_files(&[], &[&table]);
    assert!(run.verdicts().len() < 4, "rows are swallowed");
    let told = "a.tsv: a field that begins with a quote in the row of line 2 spans 3 lines, with tabs";
    assert!(
        common::plain(&run.stderr).contains(told) && run.stderr.contains("--no-quotes"),
        "{}",
        run.stderr
    );
    let kept = folder.path().join("kept.tsv");
    let run = dedup_files(&["--no-quotes", "--keep", name(&kept), "--output", "/dev/null"], &[&table]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(std::fs::read(&kept).expect("rows"), std::fs::read(&table).expect("rows"));
}

/// A column `withdrawn` must be read, and so must the field of JSON lines if another field is configured. Otherwise a
/// takedown would be lost silently.
#[test]
fn pages_can_be_withdrawn_by_a_column_or_a_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let enabled = write(folder.path(), "on.toml", "[recrawls]\nenabled = true\n");
    let texts = [article(1, 20), article(2, 20)].map(|text| text.replace([',', '\n'], ";"));
    let rows = |truths: [&str; 2]| {
        let row = |at: usize| format!("http://{at}.test/,{},{}\n", texts[at], truths[at]);
        format!("url,text,withdrawn\n{}{}", row(0), row(1))
    };
    let line = |at: usize| {
        serde_json::json!({ "url": format!("http://{at}.test/"), "body": texts[at], "withdrawn": at == 0 })
            .to_string()
            + "\n"
    };
    for (file, contents, options) in [
        ("a.csv", rows(["true", "false"]), &[][..]),
        ("b.csv", rows(["True", ""]), &[]),
        ("c.csv", rows(["1", "0"]), &["--text-column", "text"]),
        ("d.jsonl", line(0) + &line(1), &["--text-column", "body"]),
    ] {
        let input = write(folder.path(), file, contents);
        let run = dedup_files(options, &[&input]);
        assert!(run.status == 3 && run.stderr.contains("RECRAWLS_OFF"), "{file}: {}", run.stderr);
        assert_eq!(run.verdicts().len(), 1, "{file}");
        let run = dedup_files(&[options, &["--config", name(&enabled)]].concat(), &[&input]);
        let reasons: Vec<_> = run.verdicts().iter().map(|verdict| verdict["reason"].clone()).collect();
        assert_eq!(reasons, ["WITHDRAWN".into(), serde_json::Value::Null], "{file}: {}", run.stderr);
    }
    let other = write(folder.path(), "e.csv", rows(["2026-01-01", ""]));
    let run = dedup_files(&[], &[&other]);
    assert!(run.status == 3 && run.stderr.contains("withdrawn"), "{}", run.stderr);
}

/// An output must not overwrite the configuration, nor contain plain JSON lines if it is named after another format.
/// A preference for a field that no document has is refused before the outputs of an earlier run are emptied.
#[test]
fn outputs_with_unsuitable_names_are_left_untouched() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let lines: String = (0..3)
        .map(|topic| {
            serde_json::json!({ "url": format!("http://{topic}.test/"), "text": article(topic, 20) })
                .to_string()
                + "\n"
        })
        .collect();
    let input = write(folder.path(), "a.jsonl", lines);
    let words = write(folder.path(), "stop.txt", "the\n");
    let settings = format!("[segment]\nstop_word_file = {:?}\n", name(&words));
    let config = write(folder.path(), "c.toml", settings.clone());
    for file in [&config, &words] {
        let run = dedup_files(&["--config", name(&config), "--keep", name(file)], &[&input]);
        assert!(run.status == 2 && run.stderr.contains("is already an input or output"), "{}", run.stderr);
    }
    assert_eq!(std::fs::read_to_string(&config).expect("a file"), settings);
    for file in ["k.jsonl.xz", "k.jsonl.bz2", "k.orc", "k.html", "k.zip", "k.html.gz"] {
        let run = dedup_files(&["--keep", name(&path(file))], &[&input]);
        assert!(run.status == 2 && run.stderr.contains("files are not written"), "{file}: {}", run.stderr);
        assert!(!path(file).exists(), "{file}");
    }
    let former = write(folder.path(), "k.jsonl", "former\n");
    let fresh = path("fresh.jsonl");
    let run = dedup_files(
        &["--prefer", "highest:/nope", "--overwrite", "--keep", name(&former), "--drop", name(&fresh)],
        &[&input],
    );
    assert!(run.status != 0 && run.stderr.contains("has a number or date at /nope"), "{}", run.stderr);
    assert_eq!(std::fs::read_to_string(&former).expect("a file"), "former\n");
    assert!(!fresh.exists(), "nothing was written");
    let options = ["--prefer", "longest", "--overwrite", "--keep", name(&former), "--drop", name(&fresh)];
    let run = dedup_files(&options, &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(std::fs::read(&former).expect("kept"), std::fs::read(&input).expect("a file"));
    assert_eq!(std::fs::read_to_string(&fresh).expect("dropped"), "");
}

/// Swallowed rows must be noticed even if they are few, in CSV and in TSV with one column.
#[test]
fn quotes_that_swallow_a_few_rows_cause_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |name: &str, header: &str, row: &dyn Fn(usize) -> String| {
        let rows: String = (0..6).map(|topic| row(topic) + "\n").collect();
        let table = write(folder.path(), name, format!("{header}\n{rows}"));
        common::plain(&dedup_files(&[], &[&table]).stderr).contains("if quotes have no meaning in this file")
    };
    let text = |topic: usize| article(topic, 20).replace([',', '\n'], ";");
    let stray = |topic: usize| if topic == 1 || topic == 4 { "\"" } else { "" };
    for (name, delimiter) in [("a.tsv", '\t'), ("a.csv", ',')] {
        assert!(told(name, "text", &|topic| stray(topic).to_owned() + &text(topic)), "{name}: one column");
        let header = format!("url{delimiter}text");
        let row = |topic: usize| format!("http://a/{topic}{delimiter}{}{}", stray(topic), text(topic));
        assert!(told(name, &header, &row), "{name}: two quotes at the beginning of fields");
        let row = |topic: usize| {
            let [before, after] = if topic == 1 { ["\"", ""] } else { ["", stray(topic)] };
            format!("http://a/{topic}{delimiter}{before}{}{after}", text(topic))
        };
        assert!(told(name, &header, &row), "{name}: the second quote at the end of a field");
        let row = |topic: usize| {
            format!("http://a/{topic}{delimiter}\"{}\n\"\"he said\"\",\n{}\"", text(topic), text(topic + 9))
        };
        assert!(!told(name, &header, &row), "{name}: texts with line ends");
    }
}

/// A line of an index that names no readable WARC file must not end the run. If it names a pipe, it must not make the
/// run wait forever.
#[test]
fn a_bad_line_of_an_index_costs_only_itself() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("base");
    std::fs::create_dir_all(base.join("folder")).expect("a folder");
    let page = gzip(&response("http://a/", "HTTP/1.1 200 OK", &html(1)));
    write(&base, "a.warc.gz", &page);
    std::os::unix::fs::symlink("loop", base.join("loop")).expect("a link");
    mknodat(CWD, base.join("pipe"), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
    let line = |file: &str| {
        let json = serde_json::json!({"filename": file, "offset": 0, "length": page.len()});
        format!("a)/{{b 20260301100000 {json}\n")
    };
    let long = "x".repeat(300);
    let wrong = ["a\0b", &long, "folder", "loop", "pipe", "a.warc.gz/b"];
    let lines: String = wrong.iter().map(|file| line(file)).collect();
    // `find . -name "*.warc.gz"` gives such names.
    let index = write(folder.path(), "a.cdxj", lines + &line("./a.warc.gz"));
    for compressed in [false, true] {
        let index = match compressed {
            true => write(folder.path(), "b.cdxj.gz", gzip(&std::fs::read(&index).expect("an index"))),
            false => index.clone(),
        };
        let kept = folder.path().join("kept.warc.gz");
        let options = ["--warc-base", name(&base), "--overwrite", "--keep", name(&kept), "--output", "-"];
        let run = dedup_files(&options, &[&index]);
        assert_eq!((run.status, outcomes(&run)), (3, vec!["UNIQUE".to_owned()]), "{}", run.stderr);
        for number in 1..=wrong.len() {
            assert!(run.stderr.contains(&format!("record {number}: ")), "{number}: {}", run.stderr);
        }
        assert!(run.stderr.contains("6  BODY_NOT_FOUND"), "{}", run.stderr);
    }
}

/// Records of archives in zstd or lz4 were not found through an index, nor those of lines with a byte of another charset.
#[test]
fn an_index_may_name_frames_of_zstd_and_lz4_in_any_charset() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("base");
    std::fs::create_dir_all(&base).expect("a folder");
    let records = [1, 2].map(|seed| response(&format!("http://a/{seed}"), "HTTP/1.1 200 OK", &html(seed)));
    let zstd = |record: &Vec<u8>| zstd::encode_all(&record[..], 1).expect("memory");
    let lz4 = |record: &Vec<u8>| {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(record).expect("memory");
        encoder.finish().expect("memory")
    };
    let mut index = Vec::new();
    for (file, frames, has_lengths) in [
        ("a.warc.zst", [&records[0], &records[1]].map(zstd), true),
        ("b.warc.zst", [&records[0], &records[1]].map(zstd), false),
        ("c.warc.lz4", [&records[0], &records[1]].map(lz4), true),
    ] {
        write(&base, file, frames.concat());
        for (offset, frame) in [(0, &frames[0]), (frames[0].len(), &frames[1])] {
            let length = if has_lengths { frame.len().to_string() } else { String::new() };
            let json = serde_json::json!({"filename": file, "offset": offset, "length": length});
            index.extend_from_slice(b"a)/caf\xe9 20260301100000 ");
            index.extend_from_slice(format!("{json}\n").as_bytes());
        }
    }
    let index = write(folder.path(), "a.cdxj", index);
    let kept = folder.path().join("kept.warc");
    let run = dedup_files(&["--warc-base", name(&base), "--keep", name(&kept), "--output", "-"], &[&index]);
    let expected =
        ["UNIQUE", "UNIQUE", "EXACT_DUPLICATE", "EXACT_DUPLICATE", "EXACT_DUPLICATE", "EXACT_DUPLICATE"];
    assert_eq!((run.status, outcomes(&run)), (0, expected.map(str::to_owned).to_vec()), "{}", run.stderr);
    assert_eq!(std::fs::read(&kept).expect("kept"), records.concat());
}

/// Numbers without a value, as Python writes them, lost the document. Its line is copied unchanged.
#[test]
fn lines_with_numbers_without_a_value_are_read_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = |at: usize, score: &str| {
        format!("{{\"url\":\"http://a/{at}\",\"text\":\"NaN {}\",\"score\":{score}}}\n", article(at, 20))
    };
    let lines =
        [line(1, "NaN"), line(2, "-Infinity"), line(3, "[NaN,NaN,NaN,NaN,Infinity]"), line(4, "5")].concat();
    let file = write(folder.path(), "a.jsonl", &lines);
    let kept = folder.path().join("kept.jsonl");
    let run = dedup_files(&["--prefer", "highest:/score", "--keep", name(&kept), "--output", "-"], &[&file]);
    assert_eq!((run.status, outcomes(&run)), (0, vec!["UNIQUE".to_owned(); 4]), "{}", run.stderr);
    assert_eq!(std::fs::read_to_string(&kept).expect("kept"), lines);
    let texts = folder.path().join("texts.jsonl");
    let run = dedup_files(&["--as", "text", "--fields", "/score", "--keep", name(&texts)], &[&file]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let texts = std::fs::read_to_string(&texts).expect("texts");
    assert!(
        texts.contains("\"score\":[null,null,null,null,null]") && texts.contains("\"score\":5"),
        "{texts}"
    );
}

/// A format that is not supported gives one message, not a dead letter per line. A file that begins with a skippable
/// frame is not read as JSON.
#[test]
fn a_file_is_read_or_refused_with_one_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = common::page("a", &article(1, 20));
    let skippable = b"\x50\x2a\x4d\x18\x04\0\0\0note";
    let compressed = [&skippable[..], &zstd::encode_all(lines.as_bytes(), 1).expect("memory")].concat();
    let compressed = write(folder.path(), "a.jsonl.zst", compressed);
    let run = dedup_files(&[], &[&compressed]);
    assert_eq!((run.status, outcomes(&run)), (0, vec!["UNIQUE".to_owned()]), "{}", run.stderr);
    let arc = "filedesc://x.arc 0.0.0.0 20260301000000 text/plain 76\n1 0 Somebody\n";
    for (file, contents, told) in [
        ("a.arc", arc.as_bytes(), "this is ARC"),
        ("a.arc.gz", &gzip(arc.as_bytes()), "this is ARC"),
        ("a.json", b"[\n {\"url\": \"http://a/\", \"text\": \"x\"}\n]\n", "this is one JSON array"),
        ("b.json", b"{\n \"url\": \"http://a/\"\n}\n", "this is JSON over several lines"),
    ] {
        let file = write(folder.path(), file, contents);
        let run = dedup_files(&[], &[&file]);
        assert_eq!((run.status, run.stdout.as_str()), (3, ""), "{}", run.stderr);
        assert!(run.stderr.contains(told) && run.stderr.contains("1  dead letters"), "{}", run.stderr);
    }
}

/// A pipe in a mirror must not be waited for.
#[test]
fn a_pipe_in_a_mirror_is_skipped() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = tempfile::tempdir().expect("a folder");
    let (mirror, kept) = (folder.path().join("mirror"), folder.path().join("kept"));
    std::fs::create_dir(&mirror).expect("a folder");
    write(&mirror, "a.html", html(1));
    write(folder.path(), "secret", html(2));
    std::os::unix::fs::symlink("../secret", mirror.join("b.html")).expect("a link");
    mknodat(CWD, mirror.join("c.html"), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
    let run = dedup_files(&["--url-base", "https://", "--keep", &format!("{}/", name(&kept))], &[&mirror]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("2 files in folders are skipped"), "{}", run.stderr);
    let names = |folder: &Path| std::fs::read_dir(folder).expect("a folder").count();
    assert_eq!(names(&kept), 1, "a.html alone");
}

/// An address with an invalid port must not make the program panic.
#[cfg(feature = "stores")]
#[test]
fn an_invalid_address_of_a_store_is_named() {
    let mut command = leitong();
    let command =
        command.args(["dedup", "s3://bucket/a.jsonl"]).env("AWS_ENDPOINT_URL", "http://127.0.0.1:99999");
    let run = Run::from_output(command.output().expect("the program starts"));
    assert!(run.status == 1 || run.status == 2, "{}", run.status);
    assert!(run.stderr.contains("AWS_ENDPOINT_URL is not the address of a store"), "{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

/// If a url of spaces alone counted as an address, all such documents would have the same one.
#[test]
fn a_url_of_spaces_alone_is_no_url() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = |topic: usize, url: &str| {
        serde_json::json!({ "url": url, "text": article(topic, 20) }).to_string() + "\n"
    };
    let json = write(folder.path(), "a.jsonl", line(1, "  ") + &line(2, "") + &line(3, "\u{3000}\t"));
    let rows = format!("url,text\n   ,{}\n,{}\n", article(4, 20), article(5, 20));
    let csv = write(folder.path(), "b.csv", rows);
    let warc =
        write(folder.path(), "c.warc", record("conversion", "  ", "text/plain", article(6, 20).as_bytes()));
    let run = dedup_files(&[], &[&json, &csv, &warc]);
    let urls: Vec<String> =
        run.verdicts().iter().map(|verdict| verdict["url"].as_str().expect("a url").to_owned()).collect();
    let ends = ["a.jsonl#1", "a.jsonl#2", "a.jsonl#3"];
    assert!(
        urls.iter().zip(ends).all(|(url, end)| url.starts_with("document:") && url.ends_with(end)),
        "{urls:?}"
    );
    assert_eq!((run.status, urls.len()), (3, ends.len()), "{}", run.stderr);
    assert!(
        run.stderr.contains("3  MISSING_URL"),
        "rows of a table with urls, and records, need one: {}",
        run.stderr
    );
    // An id is made from the address, so a blank one must not make two pages the same.
    let mapped = dedup_files(&["--url-column", "url"], &[&json]);
    assert_eq!(mapped.verdicts().len(), 0, "the column was named: {}", mapped.stderr);
}

/// A document without its text is not reported as one without a url, which a file does not need.
#[test]
fn an_error_about_a_missing_text_names_the_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = write(folder.path(), "a.jsonl", format!("{{\"txt\":\"{}\"}}\n", article(1, 20)));
    for (options, told) in [
        (&[][..], "no text and no `url`"),
        (&["--text-column", "body"], "no text at `/body`"),
        (&["--html-column", "/meta/page"], "`/meta/page`"),
    ] {
        let run = dedup_files(options, &[&pages]);
        assert_eq!((run.status, run.verdicts().len()), (3, 0), "{}", run.stderr);
        assert!(run.stderr.contains(told), "{options:?}: {}", run.stderr);
    }
}

/// The size of the first chunk may not be hexadecimal.
#[test]
fn a_chunked_body_that_begins_with_a_wrong_size_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked";
    let body = |topic: usize, size: &str| format!("{size}\r\n{}\r\n0\r\n\r\n", html(topic));
    let length = |topic: usize| format!("{:x}", html(topic).len());
    let records = [body(1, &length(1)), body(2, "zz"), body(3, &format!("0x{}", length(3))), html(4)];
    let records: Vec<u8> = records.iter().flat_map(|body| response("http://a/", head, body)).collect();
    let file = write(folder.path(), "a.warc", records);
    let run = dedup_files(&[], &[&file]);
    assert_eq!(outcomes(&run), ["UNIQUE"; 4], "{}", run.stderr);
    assert!(run.stderr.contains("2  HTTP bodies with broken chunks or compression"), "{}", run.stderr);
}

/// If a crawler cuts pages off at its limit, a message says how many, so nobody mistakes them for whole ones.
#[test]
fn pages_of_which_the_archive_has_a_part_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let says = |record: Vec<u8>, line: &str| {
        let text = String::from_utf8(record).expect("UTF-8");
        text.replacen("WARC-Date", &format!("{line}\r\nWARC-Date"), 1).into_bytes()
    };
    let page = |topic: usize| response(&format!("http://a/{topic}"), "HTTP/1.1 200 OK", &html(topic));
    let records = [
        says(page(1), "WARC-Truncated: length"),
        says(page(2), "WARC-Segment-Number: 1"),
        says(page(3), "WARC-Truncated:"),
        page(4),
        response("http://a/5", "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/5000", &html(5)),
    ];
    let file = write(folder.path(), "a.warc.gz", gzip(&records.concat()));
    let run = dedup_files(&[], &[&file]);
    assert_eq!(outcomes(&run), ["UNIQUE"; 5], "{}", run.stderr);
    assert!(run.stderr.contains("3  pages of which the archive has only a part"), "{}", run.stderr);
}

/// Damage in one gzip member must not cost the members after it. A WARC file with a byte order mark or zeros in front
/// is not read as lines. All that can be read is copied.
#[test]
fn damage_costs_only_its_gzip_member() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages: Vec<Vec<u8>> =
        (0..5).map(|topic| response(&format!("http://a/{topic}"), "HTTP/1.1 200 OK", &html(topic))).collect();
    let lines: Vec<Vec<u8>> =
        (0..5).map(|topic| common::page(&topic.to_string(), &article(topic, 20)).into_bytes()).collect();
    for (name_of_file, records) in [("a.warc.gz", &pages), ("a.jsonl.gz", &lines)] {
        for damaged in [0, 2] {
            let mut members: Vec<Vec<u8>> = records.iter().map(|record| gzip(record)).collect();
            let middle = members[damaged].len() / 2;
            members[damaged][middle..middle + 20].fill(0xff);
            let file = write(folder.path(), name_of_file, members.concat());
            let kept = folder.path().join("kept").join(name_of_file);
            std::fs::create_dir_all(folder.path().join("kept")).expect("a folder");
            let run = dedup_files(&["--output", "-", "--overwrite", "--keep", name(&kept)], &[&file]);
            assert_eq!((run.status, outcomes(&run)), (3, vec!["UNIQUE".to_owned(); 4]), "{}", run.stderr);
            assert!(run.stderr.contains("the compressed input is damaged"), "{}", run.stderr);
            let mut text = Vec::new();
            let copied = std::fs::File::open(&kept).expect("kept");
            flate2::read::MultiGzDecoder::new(copied).read_to_end(&mut text).expect("whole");
            let others: Vec<&[u8]> =
                (0..5).filter(|topic| *topic != damaged).map(|topic| &records[topic][..]).collect();
            assert!(text == others.concat(), "{}", String::from_utf8_lossy(&text));
        }
    }
    let garbage = write(folder.path(), "b.jsonl.gz", [&gzip(&lines.concat())[..], b"garbage"].concat());
    let run = dedup_files(&[], &[&garbage]);
    assert_eq!((run.status, outcomes(&run).len()), (3, 5), "{}", run.stderr);
    let problem = "is damaged (data that is not gzip follows a complete member)";
    assert!(run.stderr.contains(problem) && !run.stderr.contains("ends early"), "{}", run.stderr);
    for (start, status) in [(&b"\xef\xbb\xbf"[..], 0), (b"\0\0\0", 3), (b"\xef\xbb\xbf\r\n", 0)] {
        let file = write(folder.path(), "c.warc", [start, &pages.concat()].concat());
        let run = dedup_files(&[], &[&file]);
        assert_eq!((run.status, outcomes(&run).len()), (status, 5), "{}", run.stderr);
    }
}

/// If all pipes were opened before the first was read, a program that writes to them one after the other would never
/// end.
#[test]
fn named_pipes_are_opened_in_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let made = Command::new("mkfifo").args([&first, &second]).status().expect("every system has it");
    assert!(made.success());
    let lines = |from: usize| -> String {
        (from..from + 100).map(|topic| common::page(&topic.to_string(), &article(topic, 60))).collect()
    };
    let writer = thread::spawn({
        let (pipes, texts) = ([first.clone(), second.clone()], [lines(0), lines(50)]);
        move || {
            pipes.into_iter().zip(texts).for_each(|(pipe, text)| std::fs::write(pipe, text).expect("read"));
        }
    });
    let run = dedup_files(&[], &[&first, &second]);
    writer.join().expect("it ends");
    assert_eq!((run.status, run.verdicts().len()), (0, 200), "{}", run.stderr);
    let run = dedup_files(&[], &[&first, &first]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    assert!(run.stderr.contains("first: is named twice, but can be read only once"), "{}", run.stderr);
    assert_eq!(common::run(["dedup", "-", "-"]).status, 2);
}

/// Documents that are too long to be copied are in no output, which must not look like a success.
#[test]
fn documents_in_no_output_change_the_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "[page]\nbytes_max = 50000\nline_bytes_max = 60000\n";
    let config = write(folder.path(), "small.toml", settings);
    let long = common::page("long", &"long ".repeat(4_000_000));
    let input = write(folder.path(), "a.jsonl", long + &common::page("short", &article(1, 20)));
    let kept = folder.path().join("kept.jsonl");
    let options = ["--config", name(&config), "--output", "/dev/null"];
    assert_eq!(dedup_files(&options, &[&input]).status, 0, "each has a verdict");
    for prefer in ["first", "longest"] {
        let options = [&options[..], &["--prefer", prefer, "--overwrite", "--keep", name(&kept)]].concat();
        let run = dedup_files(&options, &[&input]);
        assert_eq!(run.status, 3, "{}", run.stderr);
        assert!(run.stderr.contains("1 documents are longer than page.line_bytes_max"), "{}", run.stderr);
    }
}

/// Links to folders are skipped. Without a message, nobody would notice that only part of a corpus of linked folders
/// was read.
#[test]
fn links_to_folders_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let [crawl, disk] = ["crawl/1", "disk"].map(|name| folder.path().join(name));
    for path in [&crawl, &disk] {
        std::fs::create_dir_all(path).expect("a folder");
    }
    write(&crawl, "a.jsonl", common::page("a", &article(1, 20)));
    write(&disk, "b.jsonl", common::page("b", &article(2, 20)));
    let crawl = folder.path().join("crawl");
    std::os::unix::fs::symlink(&disk, crawl.join("2")).expect("a link");
    std::os::unix::fs::symlink(&crawl, crawl.join("1/loop")).expect("a link");
    std::os::unix::fs::symlink(disk.join("b.jsonl"), crawl.join("c.jsonl")).expect("a link");
    for input in [crawl.clone(), crawl.join("**/*.jsonl")] {
        let run = dedup_files(&[], &[&input]);
        assert_eq!((run.status, run.verdicts().len()), (0, 2), "{}", run.stderr);
        for told in ["crawl/2", "crawl/1/loop", "2 links to folders are not followed"] {
            assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
        }
    }
}

/// A compressed file that needs a larger window or a dictionary is named with that advice; it is not called broken. A
/// WARC file that begins with blank lines is still recognised.
#[test]
fn files_that_need_more_than_themselves_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = common::page("a", &article(1, 20));
    let mut packer = zstd::Encoder::new(Vec::new(), 1).expect("memory");
    packer.window_log(30).expect("a window");
    packer.write_all(text.as_bytes()).expect("memory");
    let wide = write(folder.path(), "wide.jsonl.zst", packer.finish().expect("memory"));
    let run = dedup_files(&[], &[&wide]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    assert!(run.stderr.contains("zstd -dc --long=31 FILE"), "{}", run.stderr);
    let record = response("http://a/", "HTTP/1.1 200 OK", &html(1));
    let warc = write(folder.path(), "a.warc", [b"\r\n\r\n", &record[..]].concat());
    assert_eq!(outcomes(&dedup_files(&[], &[&warc])), ["UNIQUE"]);
}

/// Also fewer than ten pages without a text must not look like a success.
#[test]
fn a_few_pages_that_all_lack_the_text_are_no_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let lacking = |count: usize| {
        "{\"url\": \"http://a/\", \"content_of_page\": \"words\"}\n".repeat(count).into_bytes()
    };
    let page = common::page("1", &article(1, 20)) + "\n";
    let failed = b"{\"url\": \"http://a/\", \"status\": 404}\n".to_vec();
    for (lines, status) in [
        (lacking(1), 1),
        (lacking(9), 1),
        ([&lacking(2)[..], b"{broken\n"].concat(), 1),
        ([page.as_bytes(), &lacking(9)].concat(), 0),
        (failed, 0),
    ] {
        let file = write(folder.path(), "pages.jsonl", &lines);
        let run = dedup_files(&[], &[&file]);
        assert_eq!(run.status, status, "{}: {}", String::from_utf8_lossy(&lines), run.stderr);
        assert_eq!(
            run.stderr.contains("have no body where preset json expects it"),
            status == 1,
            "{}",
            run.stderr
        );
    }
    for lines in [lacking(3), b"{\"link\": \"http://a.example/x\", \"n\": 1}\n".to_vec()] {
        let file = write(folder.path(), "pages.jsonl", lines);
        let run = common::run(["preset", "detect", name(&file)]);
        assert_eq!(run.status, 1, "{}", run.stdout);
        assert!(run.stderr.contains("no field is known to hold the text"), "{}", run.stderr);
    }
}

/// Wrong arguments must not have the status of a failed run.
#[test]
fn arguments_that_cannot_work_have_the_status_of_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = write(folder.path(), "pages.jsonl", common::page("1", &article(1, 20)) + "\n");
    let [table, parquet] = ["table", "kept.parquet"].map(|file| folder.path().join(file));
    assert_eq!(dedup_files(&["--table", name(&table)], &[&pages]).status, 0);
    let other = folder.path();
    for arguments in [
        &["console", "--address", "0.0.0.0:0"][..],
        &["console", "--address", "127.0.0.1"],
        &["dedup", "--keep", name(&parquet), name(&pages)],
        &["dedup", "--table", name(other), name(&pages)],
        &["dedup", "--checkpoint", name(&pages), "--output", "/dev/null", name(&pages)],
        &["table", "merge", "--output", name(&table), name(&table), name(other)],
        &["table", "import", "--output", name(&table), name(&pages)],
    ] {
        let run = common::run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
    }
}

/// If a file under two names is read twice, all its pages are duplicates, so a message must name the file.
#[test]
fn a_file_that_is_named_twice_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = write(folder.path(), "pages.jsonl", common::page("1", &article(1, 20)) + "\n");
    let link = folder.path().join("link.jsonl");
    std::os::unix::fs::symlink(&pages, &link).expect("a link");
    let run = dedup_files(&[], &[&pages, &link]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("link.jsonl: is named twice, under this or another name"), "{}", run.stderr);
}
