//! The same pages in every accepted format, with any number of threads, give the same verdicts.

use std::fmt::Write as _;

use serde_json::Value;

use crate::common::{self, gzip, page, placeless, run, run_with_input, sample_pages, timeless, write};

/// Returns the bytes of a page's body, as a server would send them.
fn body(page: &Value) -> Option<Vec<u8>> {
    if let Some(base64) = page["html_b64"].as_str() {
        return Some(
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, base64).expect("base64"),
        );
    }
    page["html"].as_str().map(|html| html.as_bytes().to_vec())
}

/// Returns a WARC response record.
fn response(page: &Value, body: &[u8], headers: &str) -> Vec<u8> {
    let status = page["status"].as_u64().unwrap_or(200);
    let content_type = page["content_type"].as_str().unwrap_or("text/html");
    let head = format!("HTTP/1.1 {status} Whatever\r\nContent-Type: {content_type}\r\n{headers}\r\n");
    let content = [head.as_bytes(), body].concat();
    warc_record("response", &page["url"], &page["fetched_at"], "application/http; msgtype=response", &content)
}

fn warc_record(kind: &str, url: &Value, date: &Value, content_type: &str, content: &[u8]) -> Vec<u8> {
    let mut head = format!("WARC/1.0\r\nWARC-Type: {kind}\r\n");
    if let Some(url) = url.as_str() {
        let _ = write!(head, "WARC-Target-URI: {url}\r\n");
    }
    let date = date.as_str().unwrap_or("2026-01-01T00:00:00Z");
    let _ = write!(
        head,
        "WARC-Date: {date}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    [head.as_bytes(), content, b"\r\n\r\n"].concat()
}

/// Returns the sample pages as records of a WARC file, with records of other types between them.
fn warc_records() -> Vec<Vec<u8>> {
    let mut records = vec![warc_record(
        "warcinfo",
        &Value::Null,
        &Value::Null,
        "application/warc-fields",
        b"software: x\r\n",
    )];
    for (number, page) in sample_pages().iter().enumerate() {
        let url = &page["url"];
        records.push(warc_record(
            "request",
            url,
            &page["fetched_at"],
            "application/http",
            b"GET / HTTP/1.1\r\n\r\n",
        ));
        match (body(page), page["text"].as_str()) {
            (_, Some(text)) => {
                records.push(warc_record(
                    "conversion",
                    url,
                    &page["fetched_at"],
                    "text/plain",
                    text.as_bytes(),
                ));
            }
            (Some(body), _) => records.push(match number % 3 {
                0 => response(page, &body, ""),
                1 => response(page, &gzip(&body), "Content-Encoding: gzip\r\n"),
                _ => {
                    let (first, second) = body.split_at(body.len() / 2);
                    let chunks = [first, second, b""]
                        .map(|part| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat());
                    response(page, &chunks.concat(), "Transfer-Encoding: chunked\r\n")
                }
            }),
            (None, None) => panic!("a sample page without a body"),
        }
    }
    records
}

#[test]
fn all_formats_of_json_lines_give_the_same_verdicts() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = std::fs::read("examples/pages.jsonl").expect("the samples");
    let expected = placeless(&run(["dedup", "examples/pages.jsonl"]).verdicts());
    assert!(expected.len() > 40);
    let members: Vec<u8> = plain.split_inclusive(|b| *b == b'\n').flat_map(gzip).collect();
    let frames = [zstd::encode_all(&plain[..9_999], 3), zstd::encode_all(&plain[9_999..], 3)];
    let files = [
        write(folder.path(), "pages.jsonl.gz", gzip(&plain)),
        write(folder.path(), "members.jsonl.gz", members),
        write(folder.path(), "pages.jsonl.zst", frames.map(|frame| frame.expect("memory")).concat()),
        write(
            folder.path(),
            "bom-and-crlf.jsonl",
            [
                b"\xef\xbb\xbf",
                &String::from_utf8(plain.clone()).expect("UTF-8").replace('\n', "\r\n\n").into_bytes()[..],
            ]
            .concat(),
        ),
        write(folder.path(), "no-ending", plain.trim_ascii_end()),
    ];
    for file in &files {
        let run = run(["dedup".as_ref(), file.as_os_str()]);
        assert_eq!(run.status, 0, "{}: {}", file.display(), run.stderr);
        // Line numbers count blank lines as well; everything else is the same.
        assert_eq!(placeless(&run.verdicts()), expected, "{}", file.display());
    }
    for input in [plain.clone(), gzip(&plain)] {
        assert_eq!(placeless(&run_with_input(["dedup", "-"], &input).verdicts()), expected, "standard input");
        assert_eq!(placeless(&run_with_input(["dedup"], &input).verdicts()), expected, "no INPUT");
    }
}

#[test]
fn warc_gives_the_same_verdicts() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = warc_records();
    let files = [
        write(folder.path(), "pages.warc", records.concat()),
        write(
            folder.path(),
            "pages.warc.gz",
            records.iter().flat_map(|record| gzip(record)).collect::<Vec<_>>(),
        ),
        write(folder.path(), "one-member.warc.gz", gzip(&records.concat())),
    ];
    // WARC has no ids: pages are identified by URL, and a recrawl has the id of the first crawl.
    let expected = run(["dedup", "examples/pages.jsonl"]).verdicts();
    let facts = |verdict: &Value| {
        ["url", "kind", "reason", "canonical_url", "distance", "text_digest", "fetched_at"]
            .map(|field| verdict[field].clone())
    };
    for file in &files {
        let run = run(["dedup".as_ref(), file.as_os_str()]);
        assert_eq!(run.status, 0, "{}: {}", file.display(), run.stderr);
        let verdicts = run.verdicts();
        assert_eq!(
            verdicts.iter().map(facts).collect::<Vec<_>>(),
            expected.iter().map(facts).collect::<Vec<_>>()
        );
        let others = records.len() - verdicts.len();
        assert!(
            run.stderr.contains(&format!("{others}  WARC records of other types, skipped")),
            "{}",
            run.stderr
        );
        assert_eq!(verdicts[0]["source"]["record"], 3, "the first response is the third record");
    }
}

#[test]
fn verdicts_do_not_depend_on_the_number_of_threads() {
    let one = run(["dedup", "--threads", "1", "examples/pages.jsonl"]).verdicts();
    for threads in ["2", "7"] {
        let many = run(["dedup", "--threads", threads, "examples/pages.jsonl"]).verdicts();
        assert_eq!(timeless(&many), timeless(&one));
    }
}

#[test]
fn several_inputs_are_one_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = common::article(1, 30);
    let first = write(folder.path(), "a.jsonl", page("a", &text));
    let second = write(folder.path(), "b.jsonl.gz", gzip(page("b", &text).as_bytes()));
    let run = run(["dedup".as_ref(), first.as_os_str(), second.as_os_str()]);
    let verdicts = run.verdicts();
    assert_eq!(verdicts[1]["kind"], "EXACT_DUPLICATE");
    assert_eq!(verdicts[1]["canonical_page_id"], "a");
    assert_eq!(verdicts[1]["source"]["input"], second.to_str().expect("UTF-8"));
}

#[test]
fn live_input_is_answered_at_once() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let mut child = common::leitong()
        .args(["dedup", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("an input");
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    for number in 0..3 {
        input.write_all(page(&number.to_string(), &common::article(number, 20)).as_bytes()).expect("written");
        let mut line = String::new();
        // Without an answer to each page before the next one, this would wait permanently.
        output.read_line(&mut line).expect("read");
        assert!(line.contains(&format!("\"page_id\":\"{number}\"")), "{line}");
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
}
