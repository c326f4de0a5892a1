//! Objects that are replaced while a run reads them, in stores that ignore conditions or have no entity tags.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Run, article, leitong};

/// The facts that a store gives about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// An entity tag, but it ignores `If-Match`.
    Tag,
    /// The time of the last modification.
    Time,
    Nothing,
}

/// An object that is replaced after some answers with its content.
struct Replaced {
    versions: [Vec<u8>; 2],
    gives: Gives,
    left: AtomicUsize,
}

/// Starts a store in which every key is this object. Returns its endpoint.
fn store(versions: [Vec<u8>; 2], gives: Gives, answers: usize) -> String {
    let object = Arc::new(Replaced { versions, gives, left: answers.into() });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || listener.incoming().flatten().for_each(|client| answer(client, &object)));
    endpoint
}

fn answer(mut client: TcpStream, object: &Replaced) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let is_head = head.starts_with("head");
    let version = match object.left.load(Ordering::SeqCst) {
        0 => 1,
        left => {
            object.left.store(left - usize::from(!is_head), Ordering::SeqCst);
            0
        }
    };
    let all = &object.versions[version];
    let range = head.split_once("range: bytes=").and_then(|(_, range)| range.lines().next()?.split_once('-'));
    let range = range.map_or(0..all.len(), |(from, to)| {
        let number = |text: &str| text.parse::<usize>().expect("a number");
        number(from)..(number(to) + 1).min(all.len())
    });
    let facts = match object.gives {
        Gives::Tag => format!("ETag: \"{version}\"\r\n"),
        Gives::Time => format!("Last-Modified: Sun, 01 Mar 2026 10:00:0{version} GMT\r\n"),
        Gives::Nothing => String::new(),
    };
    let (status, facts) = match is_head {
        true => ("200 OK", facts),
        false => {
            let (start, end) = (range.start, range.end - 1);
            ("206 Partial Content", format!("Content-Range: bytes {start}-{end}/{}\r\n{facts}", all.len()))
        }
    };
    let length = range.len();
    let head = format!("HTTP/1.1 {status}\r\n{facts}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    let body = if is_head { &[][..] } else { &all[range] };
    // A client that has gone is not an error of the store.
    let _ = client.write_all(&[head.as_bytes(), body].concat());
}

/// Runs `dedup --keep` over an object. Returns the outcome, and the documents that were kept.
fn keep(endpoint: &str, folder: &Path, input: &[&str], name: &str) -> (Run, Vec<u8>) {
    let [kept, verdicts] = [name, "verdicts"].map(|name| folder.join(name));
    let mut command = leitong();
    command
        .args(["dedup", "--overwrite"])
        .arg("--keep")
        .arg(&kept)
        .arg("--output")
        .arg(&verdicts)
        .args(input);
    command.env("AWS_ENDPOINT_URL", endpoint).env("NO_PROXY", "127.0.0.1").env("AWS_ALLOW_HTTP", "true");
    command.env("AWS_SKIP_SIGNATURE", "true").env("AWS_REGION", "eu-west-1");
    let run = Run::from_output(command.output().expect("the program starts"));
    (run, std::fs::read(kept).unwrap_or_default())
}

/// If a store ignores `If-Match` or gives no entity tag, the second reading of an object could be of another
/// version than the first, and the columns of an object of another version than its rows.
#[test]
fn an_object_is_read_in_one_version_or_the_run_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = [article(1, 12), article(1, 12).replace("的", "之")];
    let lines =
        texts.clone().map(|text| format!("{{\"url\":\"http://a/\",\"text\":\"{text}\"}}\n").into_bytes());
    let tables = [
        format!("url,text\nhttp://a/,\"{}\"\n", texts[0]),
        format!("text,url\n\"{}\",http://a/\n", texts[1]),
    ];
    let tables = tables.map(String::into_bytes);
    for (versions, input, name, stores) in [
        (lines, "s3://bucket/a.jsonl", "kept.jsonl", [Gives::Tag, Gives::Nothing]),
        (tables, "s3://bucket/a.csv", "kept.csv", [Gives::Time, Gives::Nothing]),
    ] {
        for gives in stores {
            let mut ended = 0;
            for answers in 0..8 {
                let endpoint = store(versions.clone(), gives, answers);
                let (run, kept) = keep(&endpoint, folder.path(), &[input], name);
                if run.status == 0 {
                    assert!(
                        versions.contains(&kept),
                        "{gives:?} {answers}: {}",
                        String::from_utf8_lossy(&kept)
                    );
                } else {
                    assert!(run.stderr.contains("replaced"), "{gives:?} {answers}: {}", run.stderr);
                    ended += 1;
                }
                let is_told = run.stderr.contains("have neither an ETag nor a time");
                assert_eq!(is_told, gives == Gives::Nothing, "{}", run.stderr);
            }
            assert!(ended > 0, "{gives:?} {name}: it was never replaced in between");
        }
    }
}

/// Only ranges of WARC files in a store are read. All of them must be of one version.
#[test]
fn a_warc_file_in_a_store_is_read_in_one_version_or_the_run_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = [article(1, 12), article(1, 12).replace("的", "之")];
    let versions = texts.map(|text| {
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}");
        let length = http.len();
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Length: {length}\r\n\r\n{http}\r\n\r\n"
        )
        .into_bytes()
    });
    let index = folder.path().join("a.cdxj");
    let line = format!(
        "a)/ 20260301100000 {{\"url\": \"http://a/\", \"filename\": \"a.warc\", \"offset\": \"0\", \"length\": \"{}\"}}\n",
        versions[0].len()
    );
    std::fs::write(&index, line).expect("written");
    let input = ["--warc-base", "s3://bucket/", index.to_str().expect("a name")];
    for gives in [Gives::Tag, Gives::Time] {
        for (answers, ends) in [(0, false), (1, true), (2, false)] {
            let endpoint = store(versions.clone(), gives, answers);
            let (run, kept) = keep(&endpoint, folder.path(), &input, "kept.warc");
            assert_eq!(run.status != 0, ends, "{gives:?} {answers}: {}", run.stderr);
            assert_eq!(run.stderr.contains("replaced"), ends, "{gives:?} {answers}: {}", run.stderr);
            assert!(ends || versions.contains(&kept), "{}", String::from_utf8_lossy(&kept));
        }
    }
}
