//! `dedup --warc-base`: the records listed in an index of `cdxj-indexer`, and indexes as other programs write
//! them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::revisits::{Response, crawl, responses};
use super::store::Store;
use super::warcio;
use crate::common::{Run, gzip, leitong, placeless, write};

/// Runs `command`; returns the result, the verdicts and the dead letters.
fn dedup(mut command: Command, arguments: &[&str]) -> (Run, Vec<Value>, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    let [verdicts, dead] = ["verdicts.jsonl", "dead.jsonl"].map(|name| folder.path().join(name));
    command.arg("dedup").arg("--output").arg(&verdicts).arg("--dead-letters").arg(&dead);
    let run = Run::from_output(command.args(arguments).output().expect("the program starts"));
    let lines = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let (verdicts, dead) = (lines(&verdicts), lines(&dead));
    (run, verdicts, dead)
}

/// Returns the lines of a CDXJ file as objects.
fn fields(cdxj: &str) -> Vec<Value> {
    cdxj.lines()
        .map(|line| serde_json::from_str(&line[line.find('{').expect("CDXJ")..]).expect("JSON"))
        .collect()
}

/// Converts the index to columns.
fn cdx(cdxj: &str, header: &str, length: bool) -> String {
    let line = |fields: Value| {
        let field = |name: &str| fields[name].as_str().unwrap_or("-").to_owned();
        let length = if length { format!(" - {}", field("length")) } else { String::new() };
        let [url, mime, status, digest] = ["url", "mime", "status", "digest"].map(field);
        let [offset, file] = ["offset", "filename"].map(field);
        format!("key 20260101000000 {url} {mime} {status} {digest} -{length} {offset} {file}\n")
    };
    header.to_owned() + &fields(cdxj).into_iter().map(line).collect::<String>()
}

/// Writes a crawl into a folder, and its index.
fn indexed(folder: &Path) -> (Vec<Response>, PathBuf, String) {
    let responses = responses();
    std::fs::create_dir_all(folder.join("archive/day 1")).expect("a folder");
    let warc = crawl(&folder.join("archive/day 1"), "crawl.warc.gz", &responses);
    let cdxj = warcio::run("cdxj-indexer", &[warc.to_str().expect("a name")]);
    let cdxj = cdxj.replace("\"filename\": \"crawl", "\"filename\": \"day 1/crawl");
    (responses, warc, cdxj)
}

#[test]
fn an_index_leads_to_the_same_verdicts_as_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let (responses, warc, cdxj) = indexed(folder.path());
    let (whole, verdicts, _) = dedup(leitong(), &[warc.to_str().expect("a name")]);
    assert_eq!((whole.status, verdicts.len()), (0, responses.len()), "{}", whole.stderr);
    // Columns are separated by spaces, so they cannot hold a name with one.
    let columned = cdxj.replace("day 1/", "");
    let flat = folder.path().join("archive/day 1");
    let nested = folder.path().join("archive");
    let indexes = [
        ("a.cdxj", cdxj.clone().into_bytes(), &nested),
        ("b.cdxj.gz", gzip(cdxj.as_bytes()), &nested),
        ("c.cdx", cdx(&columned, " CDX N b a m s k r M S V g\n", true).into_bytes(), &flat),
        ("d.cdx", cdx(&columned, "", false).into_bytes(), &flat),
    ];
    for (name, index, base) in indexes {
        let index = write(folder.path(), name, index);
        let [base, index] = [base, &index].map(|path| path.to_str().expect("a name"));
        let (run, found, _) = dedup(leitong(), &["--warc-base", base, index]);
        assert_eq!(run.status, 0, "{name}: {}", run.stderr);
        assert_eq!(placeless(&found), placeless(&verdicts), "{name}");
    }
    let store = Store::shared();
    store.bucket("archive");
    store.put("archive", "crawls/day 1/crawl.warc.gz", std::fs::read(&warc).expect("a file"));
    store.put("archive", "index/all.cdxj", cdxj.into_bytes());
    let beyond = "key 2026 {\"filename\": \"day 1/crawl.warc.gz\", \"offset\": \"99999999\", \"length\": \"10\"}\n\
                  key 2026 {\"filename\": \"day 2/crawl.warc.gz\", \"offset\": \"0\", \"length\": \"10\"}\n";
    let beyond = write(folder.path(), "beyond.cdxj", beyond);
    let (run, _, dead) =
        dedup(store.leitong(), &["--warc-base", "s3://archive/crawls", beyond.to_str().expect("a name")]);
    assert_eq!((run.status, dead.len()), (3, 2), "{}", run.stderr);
    for (letter, told) in dead.iter().zip(["at byte 99999999", "there is no such object"]) {
        let message = letter["message"].as_str().expect("a message");
        assert!(message.contains("s3://archive/crawls/day") && message.contains(told), "{message}");
    }

    let keep = folder.path().join("kept.warc.gz");
    let (run, found, _) = dedup(
        store.leitong(),
        &[
            "--warc-base",
            "s3://archive/crawls/",
            "--keep",
            keep.to_str().expect("a name"),
            "--revisit",
            "s3://archive/index/all.cdxj",
        ],
    );
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(placeless(&found), placeless(&verdicts), "from a store");
    let kept = warcio::records(&keep);
    let kinds = |kind: &str| kept.iter().filter(|record| record["fields"]["WARC-Type"] == kind).count();
    assert_eq!((kinds("response"), kinds("revisit")), (5, 6), "with the revisit record that came in");
}

#[test]
fn wrong_lines_of_an_index_cost_only_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let (responses, _, cdxj) = indexed(folder.path());
    let first = &fields(&cdxj)[0];
    let line = |file: &str, offset: u64, length: u64| {
        format!("key 2026 {{\"filename\": \"{file}\", \"offset\": {offset}, \"length\": \"{length}\"}}\n")
    };
    let length: u64 = first["length"].as_str().and_then(|length| length.parse().ok()).expect("a number");
    let offset: u64 = first["offset"].as_str().and_then(|offset| offset.parse().ok()).expect("a number");
    let file = "day 1/crawl.warc.gz";
    let wrong = [
        (line("day 2/crawl.warc.gz", 0, 100), "No such file"),
        (line("../crawl.warc.gz", 0, 100), "the name does not lead to a file below --warc-base"),
        (line(file, 1 << 40, 100), "at byte 1099511627776: "),
        (line(file, offset + 3, length), "no WARC record begins there"),
        (line(file, offset, length - 9), "the compressed record is broken"),
        (line(file, offset, 1 << 40), "page.bytes_max"),
        ("key 2026 {\"offset\": 1}\n".to_owned(), "no filename"),
        ("neither\n".to_owned(), "1 columns, but CDX has 9 to 11"),
    ];
    let index = wrong.iter().map(|(line, _)| line.as_str()).collect::<String>() + &cdxj;
    let index = write(folder.path(), "index.cdxj", index);
    let base = folder.path().join("archive");
    let [base, index] = [&base, &index].map(|path| path.to_str().expect("a name"));
    let (run, verdicts, dead) = dedup(leitong(), &["--warc-base", base, index]);
    assert_eq!((run.status, verdicts.len()), (3, responses.len()), "{}", run.stderr);
    assert_eq!(dead.len(), wrong.len());
    for (number, (letter, (_, told))) in dead.iter().zip(&wrong).enumerate() {
        let message = letter["message"].as_str().expect("a message");
        assert!(message.contains(told), "{told}: {message}");
        assert_eq!(letter["source"]["record"], number + 1);
    }

    let config = "[input.filter]\nstatuses = [\"404\"]\ncontent_types = [\"text/html\"]\n";
    let config = write(folder.path(), "leitong.toml", config);
    let good = write(folder.path(), "good.cdxj", cdxj);
    let [config, good] = [&config, &good].map(|path| path.to_str().expect("a name"));
    let (run, verdicts, _) = dedup(leitong(), &["--config", config, "--warc-base", base, good]);
    assert_eq!((run.status, verdicts.len()), (0, 0), "{}", run.stderr);
    assert!(run.stderr.contains("lines of indexes, skipped"), "{}", run.stderr);
}
