//! Objects that are replaced while a run reads them, in stores that ignore conditions or have no entity tags.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Run, article, leitong};
use crate::stores::server;

/// The facts that a store gives about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// An entity tag, but it ignores `If-Match`.
    Tag,
    /// The time of the last modification.
    Time,
    Nothing,
}

/// Starts a store in which every key is one object, which is replaced after some answers with its content. Returns the
/// store's endpoint.
fn store(versions: [Vec<u8>; 2], gives: Gives, answers: usize) -> String {
    let left = AtomicUsize::new(answers);
    server::start(move |request| {
        let counts = usize::from(request.method != "HEAD");
        let one_less = |left: usize| (left > 0).then(|| left - counts);
        let is_replaced = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_err();
        let version = usize::from(is_replaced);
        let answer = request.range_of(&versions[version]);
        match gives {
            Gives::Tag => answer.with("ETag", format!("\"{version}\"")),
            Gives::Time => answer.with("Last-Modified", format!("Sun, 01 Mar 2026 10:00:0{version} GMT")),
            Gives::Nothing => answer,
        }
    })
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
