//! Every input ends as one verdict or one dead letter, with place and reason; nothing stops the run.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::common::{self, article, dedup, dedup_files, gzip, leitong, page, run, run_with_input, write};

/// Returns the only outcome of one line of input between two good pages: a verdict's reason or a dead
/// letter's cause.
fn outcome(line: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let dead_letters = folder.path().join("dead.jsonl");
    let input =
        [page("before", &article(1, 20)), format!("{line}\n"), page("after", &article(2, 20))].concat();
    let arguments = ["dedup", "-", "--dead-letters", dead_letters.to_str().expect("UTF-8")];
    let run = run_with_input(arguments, &input);
    let mut verdicts = run.verdicts();
    let letters = std::fs::read_to_string(&dead_letters).expect("dead letters");
    let letters: Vec<Value> = letters.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(verdicts.len() + letters.len(), 3, "one outcome a record: {}", run.stderr);
    assert_eq!(verdicts.remove(0)["page_id"], "before");
    assert_eq!(verdicts.pop().expect("the last")["page_id"], "after");
    match (verdicts.as_slice(), letters.as_slice()) {
        ([verdict], []) => {
            assert_eq!(run.status, 0, "all became verdicts");
            assert_eq!(verdict["source"]["line"], 2);
            let reason =
                verdict["reason"].as_str().unwrap_or_else(|| verdict["kind"].as_str().expect("a kind"));
            reason.to_owned()
        }
        ([], [letter]) => {
            assert_eq!(run.status, 3, "some went to the dead letters");
            assert_eq!(letter["source"], json!({ "input": "-", "line": 2 }));
            assert!(letter["message"].as_str().is_some_and(|message| message.len() > 10), "{letter}");
            format!("dead: {}", letter["cause"].as_str().expect("a cause"))
        }
        _ => panic!("two outcomes: {verdicts:?} {letters:?}"),
    }
}

#[test]
fn unreadable_pages_are_dead_letters() {
    let long_url = format!(r#"{{"url":"http://a/{}","text":"x"}}"#, "u".repeat(9_000));
    let long_id = format!(r#"{{"url":"http://a/","id":"{}","text":"x"}}"#, "i".repeat(300));
    for (line, cause) in [
        ("{", "BROKEN_JSON"),
        (r#"{"url":"http://a/","text":"cut"#, "BROKEN_JSON"),
        (r#"{"url":"http://a/"} trailing"#, "BROKEN_JSON"),
        ("plain words", "BROKEN_JSON"),
        ("\0\0\0", "BROKEN_JSON"),
        ("null", "NULL_VALUE"),
        ("[1]", "WRONG_TYPE"),
        ("7", "WRONG_TYPE"),
        (r#""http://a/""#, "WRONG_TYPE"),
        (r#"{"url":7}"#, "WRONG_TYPE"),
        (r#"{"url":"http://a/","html":["x"]}"#, "WRONG_TYPE"),
        (r#"{"url":"http://a/","status":"ok"}"#, "WRONG_TYPE"),
        (r#"{"url":"http://a/","status":200.5}"#, "WRONG_TYPE"),
        (r#"{"url":"http://a/","status":-1}"#, "WRONG_TYPE"),
        (r#"{"url":"http://a/","id":[12]}"#, "WRONG_TYPE"),
        (r#"{"url":"http://a/","id":{"n":12}}"#, "WRONG_TYPE"),
        (r#"{"id":"no url and no text"}"#, "MISSING_URL"),
        (r#"{"url":null}"#, "MISSING_URL"),
        (r#"{"url":"","text":null}"#, "MISSING_URL"),
        (r#"{"url":"http://a/","html_b64":"!!!"}"#, "BAD_BASE64"),
        (&long_url, "URL_TOO_LONG"),
        (&long_id, "ID_TOO_LONG"),
    ] {
        assert_eq!(outcome(line), format!("dead: {cause}"), "{line:.60}");
    }
}

#[test]
fn every_readable_page_gets_a_verdict() {
    let text = article(7, 20);
    let body = |field: &str, value: Value| {
        let mut page = json!({ "url": "http://a/" });
        page[field] = value;
        page.to_string()
    };
    let with = |field: &str, value: Value| {
        let mut page = json!({ "url": "http://a/", "text": text });
        page[field] = value;
        page.to_string()
    };
    let base64 =
        |bytes: &[u8]| json!(base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes));
    let random: Vec<u8> = (0..4_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let nested = format!("{}{text}{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
    let shallow = format!("{}<p>{text}</p>{}", "<div>".repeat(20_000), "</div>".repeat(20_000));
    for (line, expected) in [
        (body("text", json!("")), "EMPTY"),
        (body("text", json!(" \n\u{3000}")), "EMPTY"),
        (body("html", json!("")), "EMPTY"),
        (body("html_b64", json!("")), "EMPTY"),
        (r#"{"url":"http://a/"}"#.to_owned(), "EMPTY"),
        (body("html", json!("<html><body><script>alert(1)</script></body></html>")), "NO_TEXT"),
        (body("text", json!("word")), "TOO_SHORT"),
        (body("html", json!("<p>Ok</p>")), "TOO_SHORT"),
        (body("html", json!("%PDF-1.7 %\u{1} and so on")), "NOT_HTML"),
        (body("html_b64", base64(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3 and so on")), "NOT_HTML"),
        (body("html_b64", base64(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")), "NOT_HTML"),
        (body("html_b64", base64(&random)), "NOT_TEXT"),
        (body("html", json!(nested)), "TOO_COMPLEX"),
        (body("html", json!(shallow)), "UNIQUE"),
        (with("status", json!(404)), "HTTP_STATUS"),
        (with("status", json!(0)), "HTTP_STATUS"),
        (with("status", json!(204)), "UNIQUE"),
        (with("status", json!("404")), "HTTP_STATUS"),
        (with("status", json!(200.0)), "UNIQUE"),
        (with("id", json!(12)), "UNIQUE"),
        (with("charset", json!("no such charset")), "UNIQUE"),
        (with("fetched_at", json!("yesterday")), "UNIQUE"),
        (with("fetched_at", json!({ "not": "a date" })), "UNIQUE"),
        (with("unknown", json!([1, { "deep": [2] }])), "UNIQUE"),
        (with("passthrough", json!("p".repeat(5_000))), "UNIQUE"),
        (with("title", Value::Null), "UNIQUE"),
        (format!(r#"{{"url":"http://a/","text":"first","text":{}}}"#, json!(text)), "UNIQUE"),
    ] {
        assert_eq!(outcome(&line), expected, "{line:.80}");
    }
}

#[test]
fn nul_bytes_and_lone_surrogates_are_repaired_and_counted() {
    let text = article(3, 20);
    let run = dedup(format!(
        "{{\"url\":\"http://a/\",\"text\":\"{text}\\u0000\\ud800x\\udc00\\ud800\"}}\n{}",
        page("b", &format!("{text}\u{0}\u{fffd}x\u{fffd}\u{fffd}"))
    ));
    assert!(run.stderr.contains("3  lone surrogates replaced by U+FFFD"), "{}", run.stderr);
    assert_eq!(run.verdicts()[1]["kind"], "EXACT_DUPLICATE");
}

#[test]
fn an_input_with_another_body_field_does_not_count_as_success() {
    let page =
        |i: usize| json!({ "url": format!("http://a/{i}"), "inhalt": article(1, 20) }).to_string() + "\n";
    let run = dedup((0..20).map(page).collect::<String>());
    assert_eq!((run.status, run.verdicts().len()), (1, 20));
    assert!(run.stderr.contains("20 of 20 records have no body"), "{}", run.stderr);
}

#[test]
fn a_file_of_another_format_is_one_dead_letter_and_not_one_a_line() {
    for (bytes, name) in [
        (&b"PAR1\x15\x04\n\n\n\n"[..], "Parquet"),
        (b"\n <!DOCTYPE html>\n<html>\n<p>Hello\n", "HTML page from a pipe"),
        (b"<?xml version=\"1.0\"?>\n<urlset>\n", "XML"),
        (b"PK\x03\x04\n\n\n", "ZIP"),
    ] {
        let run = dedup(bytes);
        assert_eq!((run.status, run.verdicts().len()), (3, 0), "{}", run.stderr);
        assert!(run.stderr.contains("this is ") && run.stderr.contains(name), "{}", run.stderr);
        assert!(run.stderr.contains("1  OTHER_FORMAT"), "{}", run.stderr);
    }
}

#[test]
fn equal_causes_are_counted_after_the_first_few() {
    let run = dedup("{}\n".repeat(100) + "plain words\n");
    assert_eq!(run.stderr.matches("no `url`").count(), 20, "{}", run.stderr);
    assert!(run.stderr.contains("further records with MISSING_URL are only counted"), "{}", run.stderr);
    assert!(run.stderr.contains("100  MISSING_URL") && run.stderr.contains("broken JSON"), "{}", run.stderr);
}

/// JSON lines without URLs are read, because text-dedup and others write such files.
#[test]
fn documents_without_a_url_are_identified_by_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = [article(1, 20), article(2, 20), article(1, 20)];
    let lines = [
        json!({ "text": texts[0] }),
        json!({ "id": 7, "text": texts[1], "url": "" }),
        json!({ "text": texts[2], "url": null, "meta": { "link": "https://a.example/3" } }),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let input = write(folder.path(), "a.jsonl", &lines);
    let table = folder.path().join("table");
    let options = ["--table", table.to_str().expect("UTF-8")];
    let run = dedup_files(&options, &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("3  documents without a url, which got document:FILE#ROW"), "{}", run.stderr);
    let verdicts = run.verdicts();
    for (row, verdict) in (1..).zip(&verdicts) {
        assert_eq!(verdict["url"], format!("document:{}#{row}", input.display()));
    }
    let values = |verdicts: &[Value], field: &str| -> Vec<Value> {
        verdicts.iter().map(|verdict| verdict[field].clone()).collect()
    };
    assert_eq!(values(&verdicts, "kind"), ["UNIQUE", "UNIQUE", "EXACT_DUPLICATE"]);
    assert_eq!(verdicts[1]["page_id"], "7");
    // The same rows again: a made-up address does not prove that a page was crawled again, but an id does.
    let again = dedup_files(&options, &[&input]).verdicts();
    assert_eq!(values(&again, "kind"), ["EXACT_DUPLICATE"; 3]);
    assert_eq!(values(&again, "same_url"), [false, true, false]);
    // If the field of URLs is configured, a missing URL is an error.
    let run = dedup_files(&["--url-column", "/meta/link"], &[&input]);
    assert_eq!((run.status, run.verdicts().len()), (3, 1), "{}", run.stderr);
    assert_eq!(run.verdicts()[0]["url"], "https://a.example/3");
    assert!(run.stderr.contains("2  MISSING_URL"), "{}", run.stderr);
    // Standard input is a new input each time.
    let [first, second] = [(); 2].map(|()| run_with_input(["dedup", "-"], &lines).verdicts());
    assert!(first[0]["url"].as_str().is_some_and(|url| url.starts_with("document:stdin-")), "{}", first[0]);
    assert_ne!(first[0]["url"], second[0]["url"]);
    assert_eq!(values(&first, "kind"), values(&second, "kind"));
}

#[test]
fn ids_and_dates_are_read_as_crawlers_write_them() {
    let text = article(4, 20);
    let lines = [
        json!({ "id": 12, "url": "http://a/", "text": text, "fetched_at": 1_763_712_000 }),
        json!({ "id": true, "url": "http://b/", "text": text, "fetched_at": "2025-11-21 08:00:00" }),
    ];
    let verdicts = dedup(lines.map(|line| format!("{line}\n")).concat()).verdicts();
    assert_eq!(
        verdicts.iter().map(|v| v["page_id"].as_str()).collect::<Vec<_>>(),
        [Some("12"), Some("true")]
    );
    assert!(
        verdicts.iter().all(|verdict| verdict["fetched_at"] == "2025-11-21T08:00:00.000Z"),
        "{verdicts:?}"
    );
}

#[test]
fn repairs_are_counted() {
    let text = article(4, 20);
    let lines = [
        json!({ "url": "http://a/", "text": text, "fetched_at": "soon", "passthrough": "p".repeat(5_000) }),
        json!({ "url": "http://b/", "text": text, "fetched_at": 1_763_712_000_123_i64, "passthrough": { "n": 1.0 } }),
    ];
    let run = dedup(lines.map(|line| format!("{line}\n")).concat());
    let verdicts = run.verdicts();
    assert_eq!((&verdicts[0]["fetched_at"], &verdicts[0]["passthrough"]), (&Value::Null, &Value::Null));
    assert_eq!(verdicts[1]["fetched_at"], "2025-11-21T08:00:00.123Z");
    assert_eq!(verdicts[1]["passthrough"].to_string(), r#"{"n":1.0}"#, "as it came");
    assert!(run.stderr.contains("1  invalid fetched_at dates"), "{}", run.stderr);
    assert!(run.stderr.contains("1  passthrough fields larger than 4 KiB"), "{}", run.stderr);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "other systems do not limit the address space")]
fn a_line_of_200_mb_is_a_verdict_in_little_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("huge.jsonl");
    {
        use std::io::Write;
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).expect("a file"));
        file.write_all(br#"{"id":"huge","html":""#).expect("written");
        for _ in 0..200 {
            file.write_all(&[b'x'; 1 << 20]).expect("written");
        }
        file.write_all(br#"","url":"http://huge/","fetched_at":1763712000123}"#).expect("written");
        file.write_all(format!("\n{}", page("after", &article(1, 20))).as_bytes()).expect("written");
        // Add a long line that is not JSON, and one with a long URL.
        for start in [r#"[["#, r#"{"url":""#] {
            file.write_all(format!("{start}{}\n", "y".repeat(40 << 20)).as_bytes()).expect("written");
        }
    }
    let mut command = std::process::Command::new("bash");
    // The program with its dictionaries takes less than 400 MB of address space; 600 MB have no room for such
    // a line and its copies.
    let program = leitong().get_program().to_owned();
    command.args(["-c", "ulimit -v 600000; exec \"$0\" dedup --threads 1 \"$1\""]).arg(program).arg(&path);
    let run = common::Run::from_output(command.output().expect("bash is there"));
    let verdicts = run.verdicts();
    assert_eq!(verdicts.len(), 2, "{}", run.stderr);
    assert_eq!((&verdicts[0]["page_id"], &verdicts[0]["reason"]), (&json!("huge"), &json!("TOO_LARGE")));
    assert_eq!(verdicts[0]["url"], "http://huge/");
    assert_eq!(verdicts[1]["kind"], "UNIQUE");
    assert_eq!(run.status, 3);
    assert!(run.stderr.contains("huge.jsonl: line 3: broken JSON"), "{}", run.stderr);
    assert!(run.stderr.contains("huge.jsonl: line 4: broken JSON"), "{}", run.stderr);
}

#[test]
fn truncated_files_keep_their_complete_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages: String = (0..50).map(|i| page(&i.to_string(), &article(i, 30))).collect();
    let compressed = gzip(pages.as_bytes());
    let zstd = zstd::encode_all(pages.as_bytes(), 3).expect("memory");
    let mut flipped = compressed.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0xff;
    for (name, bytes) in [
        ("cut.jsonl.gz", &compressed[..compressed.len() / 2]),
        ("cut.jsonl.zst", &zstd[..zstd.len() / 2]),
        ("flipped.jsonl.gz", &flipped[..]),
        ("no-head.jsonl.gz", &compressed[..5]),
    ] {
        let path = write(folder.path(), name, bytes);
        let next = write(folder.path(), "next.jsonl", page("next", &article(99, 30)));
        let run = run(["dedup".as_ref(), path.as_os_str(), next.as_os_str()]);
        assert_eq!(run.status, 3, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("{name}: line ")), "{name}: {}", run.stderr);
        assert!(run.stderr.contains("TRUNCATED_INPUT"), "{name}: {}", run.stderr);
        let verdicts = run.verdicts();
        assert_eq!(verdicts.last().expect("the next file is read")["page_id"], "next", "{name}");
        for (number, verdict) in verdicts[..verdicts.len() - 1].iter().enumerate() {
            assert_eq!(verdict["page_id"], number.to_string(), "{name}");
        }
    }
}

#[test]
fn broken_warc_records_cost_only_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |id: usize, length: Option<usize>| {
        let body = format!("HTTP/1.1 200 OK\r\n\r\n<p>{}</p>", article(id, 30));
        let length = length.unwrap_or(body.len());
        format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/{id}\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n"
        )
    };
    let no_url = record(4, None).replace("WARC-Target-URI: http://a/4\r\n", "");
    let bad_length = record(5, None).replace("Content-Length: ", "Content-Length: x");
    let file = [
        record(1, None),
        "garbage\r\nmore garbage\r\n\r\n".to_owned(),
        record(2, None),
        no_url,
        bad_length,
        record(6, None),
        record(7, Some(100_000)),
    ];
    let path = write(folder.path(), "broken.warc", file.concat());
    let run = run(["dedup".as_ref(), path.as_os_str()]);
    let urls: Vec<_> = run.verdicts().iter().map(|v| v["url"].as_str().expect("a url").to_owned()).collect();
    assert_eq!(urls, ["http://a/1", "http://a/2", "http://a/6"]);
    assert_eq!(run.status, 3);
    for expected in [
        "broken.warc: record 2: not a WARC record: expected WARC/1.0 or WARC/1.1, found \"garbage\"",
        "broken.warc: record 4: no `url`",
        "broken.warc: record 5: not a WARC record: Content-Length",
        "broken.warc: record 7: the WARC record of http://a/7 ends early",
    ] {
        assert!(run.stderr.contains(expected), "{expected} is not in {}", run.stderr);
    }
}

/// A record that is not a page, with a length that is too large, must not swallow the rest of the file.
#[test]
fn a_warc_record_with_a_false_length_is_reported_and_costs_only_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |kind: &str, id: usize, more: usize| {
        let body = format!("HTTP/1.1 200 OK\r\n\r\n<p>{}</p>", article(id, 30));
        let length = body.len() + more;
        format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a/{id}\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n"
        )
    };
    let file = [
        record("response", 1, 0),
        record("request", 2, 1_000_000),
        record("response", 3, 0),
        record("metadata", 4, 0),
        record("response", 5, 700),
        record("response", 6, 0),
        record("warcinfo", 7, 1_000_000),
    ];
    for (name, bytes) in
        [("a.warc", file.concat().into_bytes()), ("a.warc.gz", gzip(file.concat().as_bytes()))]
    {
        let path = write(folder.path(), name, bytes);
        let run = run(["dedup".as_ref(), path.as_os_str()]);
        let urls: Vec<_> =
            run.verdicts().iter().map(|v| v["url"].as_str().expect("a url").to_owned()).collect();
        assert_eq!(urls, ["http://a/1", "http://a/3", "http://a/6"], "{name}: {}", run.stderr);
        assert_eq!(run.status, 3, "{name}");
        for expected in [
            "record 2: the WARC record of http://a/2 claims 100",
            "record 5: the WARC record of http://a/5 claims",
            "record 7: the WARC record of http://a/7 ends early",
            "1  WARC records of other types, skipped",
        ] {
            assert!(run.stderr.contains(expected), "{name}: {expected} is not in {}", run.stderr);
        }
    }
}

/// An explanation must not quote all of an invalid value: escaped, one made a dead letter of 231 MB.
#[test]
fn dead_letters_are_small_whatever_their_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let letters = folder.path().join("dead.jsonl");
    let long = r"\u0001".repeat(1 << 20);
    let lines = [
        format!(r#""{long}""#),
        format!(r#"{{"url":"http://a/","status":"{long}"}}"#),
        format!(r#"{{"url":"http://a/","text":[{}]}}"#, "1,".repeat(1 << 20)),
        format!(r#"{{"url":"http://a/","html_b64":"!{long}"}}"#),
        long.clone(),
    ];
    // One of the lines is above the line limit.
    let lines = [lines.join("\n"), format!("{{\"url\":7,\"text\":\"{}\"}}", "x".repeat(40 << 20))].join("\n");
    let sizes: Vec<u64> = lines.lines().map(|line| line.len() as u64).collect();
    let arguments = ["dedup", "-", "--dead-letters", letters.to_str().expect("UTF-8")];
    let run = run_with_input(arguments, &lines);
    assert_eq!(run.status, 3, "{}", run.stderr);
    let letters = std::fs::read_to_string(&letters).expect("dead letters");
    assert_eq!(letters.lines().count(), sizes.len(), "{letters:.2000}");
    for (letter, bytes) in letters.lines().zip(sizes) {
        assert!(letter.len() < 16 * 1024, "{} bytes: {letter:.300}", letter.len());
        let letter: Value = serde_json::from_str(letter).expect("JSON");
        assert_eq!(letter["raw_bytes"], bytes, "the true size: {:.300}", letter.to_string());
    }
}

#[test]
fn a_passthrough_comes_back_on_one_line_or_not_at_all() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let page = |passthrough: &str| {
        format!("{{\"url\":\"http://a/\",\"text\":\"{}\",\"passthrough\":{passthrough}}}\n", article(1, 20))
    };
    let cases = [
        ("{ \"a b\" :\t[1.0, 2 ] }\r".to_owned(), r#"{"a b":[1.0,2]}"#.to_owned()),
        (nested(126), nested(126)),
        (nested(127), "null".to_owned()),
        (nested(2_000), "null".to_owned()),
        (r#""\ud800""#.to_owned(), r#""\ufffd""#.to_owned()),
    ];
    let run = dedup(cases.each_ref().map(|(given, _)| page(given)).concat());
    assert_eq!(run.stdout.lines().count(), cases.len());
    for (line, (given, expected)) in run.stdout.lines().zip(&cases) {
        assert!(line.ends_with(&format!(",\"passthrough\":{expected}}}")), "{given}: {line}");
    }
    assert_eq!(run.verdicts().len(), cases.len(), "all can be read");
    assert!(
        run.stderr.contains("2  passthrough fields larger than 4 KiB or nested too deeply, left out"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("1  lone surrogates replaced"), "{}", run.stderr);
}

/// The name of a corpus is stored in every centroid, so `corpus.by = "host"` must not take the bytes of a
/// host of any length.
#[test]
fn the_name_of_a_corpus_is_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "leitong.toml", "[corpus]\nby = \"host\"\n");
    let host = |length: usize| "h".repeat(length);
    let pages: String = [256, 257, 8_000]
        .map(|length| {
            let page = json!({ "url": format!("http://{}/", host(length)), "text": article(1, 20) });
            format!("{page}\n")
        })
        .concat();
    let run = run_with_input(["dedup", "--config", config.to_str().expect("UTF-8"), "-"], pages);
    let corpora: Vec<String> = run
        .verdicts()
        .iter()
        .map(|verdict| verdict["corpus"].as_str().expect("a corpus").to_owned())
        .collect();
    assert_eq!(corpora[0], host(256));
    assert!(corpora[1..].iter().all(|corpus| corpus.len() == 32) && corpora[1] != corpora[2], "{corpora:?}");
    assert!(
        run.verdicts().iter().all(|verdict| verdict["kind"] == "UNIQUE"),
        "pages of different hosts never meet"
    );
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux has /dev/full")]
fn outputs_that_cannot_be_written_are_errors() {
    let input = page("a", &article(1, 20));
    let full = run_with_input(["dedup", "-", "--output", "/dev/full"], &input);
    assert_eq!(full.status, 1);
    let told = "cannot write the verdicts (--output): No space left on device (os error 28); make room there";
    assert!(full.stderr.contains(told), "{}", full.stderr);
    let missing = run_with_input(["dedup", "-", "--output", "/no/such/folder/v.jsonl"], &input);
    assert_eq!(missing.status, 1);
    assert!(missing.stderr.contains("/no/such/folder/v.jsonl"), "{}", missing.stderr);
}

/// A report that could not be written was noticed at the end of the run, after earlier documents were overwritten.
#[test]
fn outputs_that_cannot_be_written_are_noticed_before_others_are_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = write(folder.path(), "kept.jsonl", "of an earlier run\n");
    let kept_name = kept.to_str().expect("UTF-8");
    let input = write(folder.path(), "pages.jsonl", page("a", &article(1, 20)));
    let input = input.to_str().expect("UTF-8");
    for (option, file) in [("--report", "r.html"), ("--clusters", "c.jsonl"), ("--dead-letters", "d.jsonl")] {
        let missing = folder.path().join("missing").join(file);
        let missing = missing.to_str().expect("UTF-8");
        let run = run(["dedup", input, "--keep", kept_name, option, missing]);
        assert_eq!(run.status, 1, "{option}: {}", run.stderr);
        let told = format!("{option}: cannot write {missing}: ");
        assert!(run.stderr.contains(&told), "{option}: {}", run.stderr);
        assert_eq!(std::fs::read_to_string(&kept).expect("a file"), "of an earlier run\n", "{option}");
    }
}

const CHINESE: &str = "<p>他们说这个问题现在还没有解决，我们要看以后的发展。";

/// Pages whose bytes are not in their charset, and charsets that nobody knows, were read without a word.
#[test]
fn bytes_that_cannot_be_decoded_are_counted_and_named() {
    let cut_off = [CHINESE.as_bytes(), b"\xe4"].concat();
    let pages: String = [(&b"<p>caf\xe9 cr\xe8me"[..], "x-mac-farsi"), (&cut_off[..], "utf-8")]
    .iter()
    .enumerate()
    .map(|(number, (html, charset))| {
        let html = STANDARD.encode(html);
        let content_type = format!("text/html; charset={charset}");
        let page =
            json!({ "url": format!("http://a/{number}"), "html_b64": html, "content_type": content_type });
        page.to_string() + "\n"
    })
    .collect();
    let told = |stderr: &str| {
        assert!(stderr.contains("1  pages with bytes that are not in their charset"), "{stderr}");
        assert!(stderr.contains("1  pages in the unknown charset \"x-mac-farsi\""), "{stderr}");
    };
    told(&run_with_input(["dedup", "-", "--output", "/dev/null"], &pages).stderr);
    told(&run_with_input(["extract", "--jsonl", "-"], &pages).stderr);
}

#[test]
fn inputs_that_cannot_be_read_are_errors() {
    for (arguments, status, message) in [
        (&["dedup", "no-such-file.jsonl"][..], 1, "no-such-file.jsonl"),
        (&["dedup", "src/checkpoint"], 1, "there is no file to read in this folder"),
        (&["dedup", "examples/pages.jsonl", "--output", "examples/pages.jsonl"], 2, "--output"),
        (&["dedup", "--detector", "md5", "examples/pages.jsonl"], 2, "simhash"),
        (&["dedup", "--threads", "many"], 2, "--threads"),
        (&["dedup", "--threads", "1025"], 2, "--threads 1025: must be from 0 (one per core) to 1024"),
        (&["dedup", "--threads", "18446744073709551615"], 2, "to 1024"),
        (&["dedup", "--config", "no-such-file.toml", "examples/pages.jsonl"], 2, "no-such-file.toml"),
        (&["nonsense"], 2, "nonsense"),
    ] {
        let run = run(arguments);
        assert_eq!(run.status, status, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
    assert!(std::fs::metadata("examples/pages.jsonl").expect("still there").len() > 10_000);
}
