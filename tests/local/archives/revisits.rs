//! `dedup --keep … --revisit`: its output, compared with the original records and read by `warcio`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::warcio;
use crate::common::{Run, article, gzip, run, write};

/// A response with a page, as a crawler writes it.
pub(crate) struct Response {
    number: usize,
    html: String,
}

impl Response {
    fn url(&self) -> String {
        format!("https://host{}.test/{}", self.number % 3, self.number)
    }

    fn id(&self) -> String {
        format!("<urn:uuid:00000000-0000-4000-8000-{:012}>", self.number)
    }

    fn date(&self) -> String {
        format!("2026-01-01T00:00:{:02}Z", self.number)
    }

    fn http_head(&self) -> String {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Number: {}\r\n\r\n",
            self.number
        )
    }

    /// Returns the request, and the response itself.
    fn records(&self) -> [Vec<u8>; 2] {
        let block = format!("{}{}", self.http_head(), self.html);
        let request = "GET / HTTP/1.1\r\n\r\n";
        let record = |kind: &str, id: &str, more: &str, block: &str| {
            format!(
                "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {id}\r\nWARC-Target-URI: {}\r\nWARC-Date: {}\r\n{more}\
                 Content-Type: application/http; msgtype={kind}\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
                self.url(),
                self.date(),
                block.len(),
            )
            .into_bytes()
        };
        let concurrent = format!("WARC-Concurrent-To: {}\r\n", self.id());
        let id = format!("<urn:uuid:00000000-0000-4000-9000-{:012}>", self.number);
        [record("request", &id, &concurrent, request), record("response", &self.id(), "", &block)]
    }
}

/// Returns ten pages: 3 equals 0 byte by byte, 4 equals 0 with other markup, 5 is almost 1, and longer.
pub(crate) fn responses() -> Vec<Response> {
    let page = |topic: usize, more: &str| {
        format!(
            "<html><body><h1>Title</h1><p>{}{more}</p></body></html>",
            article(topic, 30).replace('\n', "</p><p>")
        )
    };
    let pages = [
        page(0, ""),
        page(1, ""),
        page(2, ""),
        page(0, ""),
        page(0, "<!-- another time -->"),
        page(1, "完全不同的结尾。"),
        page(6, ""),
        page(6, ""),
        page(6, ""),
        page(9, ""),
    ];
    pages.into_iter().enumerate().map(|(number, html)| Response { number, html }).collect()
}

/// Writes responses as crawlers do: each after its request, compressed separately, with other records between
/// them.
pub(crate) fn crawl(folder: &Path, name: &str, responses: &[Response]) -> PathBuf {
    let info = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-a000-000000000000>\r\n\
                 WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/warc-fields\r\nContent-Length: 13\r\n\r\n\
                 software: x\r\n\r\n\r\n";
    let incoming = b"WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-b000-000000000000>\r\n\
                     WARC-Target-URI: https://host0.test/0\r\nWARC-Date: 2026-01-01T01:00:00Z\r\nWARC-Profile: \
                     http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let mut file = gzip(info);
    for response in responses {
        response.records().iter().for_each(|record| file.extend(gzip(record)));
    }
    file.extend(gzip(incoming));
    write(folder, name, file)
}

fn dedup(options: &[&str], inputs: &[&Path]) -> (Run, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    let verdicts = folder.path().join("verdicts.jsonl");
    let mut arguments = vec!["dedup", "--overwrite", "--output", verdicts.to_str().expect("a name")];
    arguments.extend(options);
    arguments.extend(inputs.iter().map(|path| path.to_str().expect("a name")));
    let run = run(arguments);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let lines = std::fs::read_to_string(verdicts).expect("verdicts");
    (run, lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

/// Compares the contents of `kept` with the verdicts on `responses`. `stands` maps the canonical page of a
/// cluster to the page that represents it.
fn assert_kept(kept: &Path, responses: &[Response], stands: impl Fn(usize) -> usize) -> usize {
    let records = warcio::records(kept);
    let of_kind = |kind: &str| records.iter().filter(|record| record["fields"]["WARC-Type"] == kind).count();
    assert_eq!(of_kind("request"), responses.len());
    assert_eq!(of_kind("warcinfo"), 1);
    let pages: Vec<&Value> = records.iter().filter(|record| !record["status"].is_null()).collect();
    let pages: Vec<&Value> = pages.into_iter().filter(|record| record["status"] == "200").collect();
    assert_eq!(pages.len(), responses.len(), "each page has a record, and they are in order");
    let mut revisits = 0;
    for (response, record) in responses.iter().zip(pages) {
        let fields = &record["fields"];
        assert_eq!(fields["WARC-Target-URI"], response.url());
        assert_eq!(fields["WARC-Record-ID"], response.id(), "requests refer to it");
        assert_eq!(fields["WARC-Date"], response.date());
        assert_eq!(record["headers"]["X-Number"], response.number.to_string());
        let stands = &responses[stands(response.number)];
        if stands.number == response.number {
            assert_eq!(
                (&fields["WARC-Type"], &record["payload"]),
                (&json!("response"), &json!(response.html.len()))
            );
            continue;
        }
        revisits += 1;
        assert_eq!(record["payload"], 0);
        assert_eq!(record["version"], "WARC/1.1");
        let profile = match stands.html == response.html {
            true => "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            false => "urn:leitong:warc:revisit:duplicate",
        };
        let kind = fields["Leitong-Kind"].as_str().expect("a kind");
        assert!(kind.ends_with("DUPLICATE") || kind == "UNIQUE", "{kind}");
        for (field, expected) in [
            ("WARC-Type", "revisit"),
            ("WARC-Profile", profile),
            ("WARC-Refers-To", &stands.id()),
            ("WARC-Refers-To-Target-URI", &stands.url()),
            ("WARC-Refers-To-Date", &stands.date()),
            ("WARC-Truncated", "length"),
            ("Content-Length", &response.http_head().len().to_string()),
        ] {
            assert_eq!(fields[field], expected, "{field} of {}", response.number);
        }
    }
    revisits
}

#[test]
fn duplicates_leave_revisit_records_that_warcio_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let responses = responses();
    let input = crawl(folder.path(), "crawl.warc.gz", &responses);
    let [keep, drop] = ["kept.warc.gz", "gone.warc.gz"].map(|name| folder.path().join(name));
    let [keep_name, drop_name] = [&keep, &drop].map(|path| path.to_str().expect("a name"));
    let (_, verdicts) = dedup(&[], &[&input]);
    let canonical = |number: usize| {
        let url = verdicts[number]["canonical_url"].as_str().expect("a canonical page");
        url.rsplit('/').next().expect("its number").parse::<usize>().expect("a number")
    };
    let expected: Vec<usize> = (0..responses.len()).map(canonical).collect();
    assert_eq!(expected, [0, 1, 2, 0, 0, 1, 6, 6, 6, 9], "what this test is about");

    let (first, _) = dedup(&["--keep", keep_name, "--drop", drop_name, "--revisit"], &[&input]);
    assert!(
        first.stderr.contains("5 of the dropped documents are replaced by a revisit record"),
        "{}",
        first.stderr
    );
    assert_eq!(assert_kept(&keep, &responses, canonical), 5);
    assert_eq!(warcio::records(&drop).len(), 5, "what goes is whole where it goes to");
    warcio::run("warcio", &["check", keep_name]);
    let index = warcio::run("cdxj-indexer", &[keep_name]);
    assert_eq!(index.matches("\"warc/revisit\"").count(), 6, "with the one that came in: {index}");

    // The document that represents a cluster may come after those that are dropped.
    let longest = |number: usize| if canonical(number) == 1 { 5 } else { canonical(number) };
    dedup(&["--keep", keep_name, "--revisit", "--prefer", "longest"], &[&input]);
    assert_eq!(assert_kept(&keep, &responses, longest), 5);
}

#[test]
fn revisits_of_an_earlier_days_cluster_know_only_the_url() {
    let folder = tempfile::tempdir().expect("a folder");
    let responses = responses();
    let days = [
        crawl(folder.path(), "1.warc.gz", &responses[..1]),
        crawl(folder.path(), "2.warc.gz", &responses[3..4]),
    ];
    let [table, first, second] =
        ["table", "first.warc.gz", "second.warc.gz"].map(|name| folder.path().join(name));
    for (day, keep) in days.iter().zip([&first, &second]) {
        dedup(
            &[
                "--table",
                table.to_str().expect("a name"),
                "--keep",
                keep.to_str().expect("a name"),
                "--revisit",
            ],
            &[day],
        );
    }
    let records = warcio::records(&second);
    let revisit = records.iter().find(|record| record["fields"]["WARC-Record-ID"] == responses[3].id());
    let fields = &revisit.expect("its record")["fields"];
    assert_eq!(
        fields["WARC-Profile"], "urn:leitong:warc:revisit:duplicate",
        "nobody has compared the payloads"
    );
    assert_eq!(fields["WARC-Refers-To-Target-URI"], responses[0].url());
    assert_eq!(fields["WARC-Refers-To"], Value::Null);
}
