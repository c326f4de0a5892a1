//! Outputs in stores: files until all are complete, then objects, and never lost.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use super::server::{self, Answer, Request};
use super::{documents, lines};
use crate::common::{Run, dedup_files, leitong, name, write};

/// The answer of a store to a request that writes, if it is not the right one.
type Fault = fn(&Request) -> Option<Answer>;

/// A store of Google or Azure with one bucket, called `crawl`.
#[derive(Clone)]
struct Bucket {
    scheme: &'static str,
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    address: String,
}

impl Bucket {
    fn start(scheme: &'static str, fault: Fault) -> Self {
        let mut bucket = Self { scheme, objects: Arc::default(), address: String::new() };
        let stored = bucket.clone();
        let parts: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::default();
        bucket.address = server::start(move |request| {
            let fault = if ["HEAD", "GET"].contains(&&*request.method) { None } else { fault(request) };
            fault.unwrap_or_else(|| stored.answer(request, &mut parts.lock().expect("a lock")))
        });
        bucket
    }

    fn answer(&self, request: &Request, parts: &mut BTreeMap<String, Vec<u8>>) -> Answer {
        let path = request.path.trim_start_matches("/devstoreaccount1").trim_start_matches("/crawl/");
        let mut objects = self.objects.lock().expect("a lock");
        let query = |name: &str| request.query.get(name).map(String::as_str);
        let is_whole = query("comp") == Some("blocklist") || request.method == "POST";
        let answer = Answer::new(200, "").with("ETag", "\"1\"");
        match request.method.as_str() {
            "HEAD" => match objects.get(path) {
                None => Answer::new(404, ""),
                Some(bytes) => Answer::new(200, bytes.clone())
                    .with("ETag", "\"1\"")
                    .with("Last-Modified", "Sun, 01 Mar 2026 10:00:00 GMT"),
            },
            "GET" => Answer::new(
                200,
                match self.scheme {
                    "gs" => "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>",
                    _ => "<EnumerationResults><Blobs></Blobs><NextMarker></NextMarker></EnumerationResults>",
                },
            ),
            "DELETE" => {
                objects.remove(path);
                Answer::new(if self.scheme == "az" { 202 } else { 204 }, "")
            }
            "POST" if query("uploads").is_some() => Answer::new(
                200,
                "<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>",
            ),
            "PUT" if let Some(part) = query("partNumber").or(query("blockid")) => {
                parts.insert(part.to_owned(), request.body.clone());
                answer
            }
            "PUT" | "POST" => {
                // The parts are listed in order.
                let list = String::from_utf8_lossy(&request.body).into_owned();
                let listed = list.split(['<', '>']).filter_map(|word| parts.get(word)).flatten();
                let body = if is_whole { listed.copied().collect() } else { request.body.clone() };
                objects.insert(path.to_owned(), body);
                let etag = "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>";
                Answer { status: if self.scheme == "az" { 201 } else { 200 }, body: etag.into(), ..answer }
            }
            other => panic!("{other}"),
        }
    }

    fn name(&self, key: &str) -> String {
        format!("{}://crawl/{key}", self.scheme)
    }

    fn keys(&self) -> Vec<String> {
        self.objects.lock().expect("a lock").keys().cloned().collect()
    }

    fn bytes(&self, key: &str) -> Vec<u8> {
        self.objects.lock().expect("a lock")[key].clone()
    }

    /// Runs `dedup` with these arguments. Files are staged in `temporary`.
    fn dedup(&self, temporary: &Path, arguments: &[&str]) -> Run {
        let mut command: Command = leitong();
        let account = format!(
            "{{\"gcs_base_url\":\"{}\",\"disable_oauth\":true,\"client_email\":\"\",\"private_key\":\"\",\
             \"private_key_id\":\"\"}}",
            self.address
        );
        command
            .env("GOOGLE_SERVICE_ACCOUNT_KEY", account)
            .env("AZURE_STORAGE_USE_EMULATOR", "true")
            .env("AZURITE_BLOB_STORAGE_URL", &self.address)
            .env("NO_PROXY", "127.0.0.1")
            .env("TMPDIR", temporary);
        Run::from_output(command.arg("dedup").args(arguments).output().expect("the program starts"))
    }
}

/// Returns a folder, an empty folder in it for temporary files, and two files of pages.
fn pages() -> (tempfile::TempDir, PathBuf, [PathBuf; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let [a, b] = [("a.jsonl", 0, 300_000), ("b.jsonl", 20, 0)]
        .map(|(name, from, padding)| write(folder.path(), name, lines(&documents(from, 50, padding))));
    (folder, temporary, [a, b])
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("a folder").next().is_none()
}

/// One of the kept files has 12 MB, so it is sent in parts.
#[test]
fn objects_are_the_files_of_a_run_without_a_store() {
    let (folder, temporary, [a, b]) = pages();
    let file = |name: &str| folder.path().join(name);
    std::fs::create_dir(file("kept")).expect("a folder");
    let [kept, dropped, report] = ["kept", "dropped.jsonl.gz", "report.json"].map(file);
    let local = ["--keep", name(&kept), "--drop", name(&dropped), "--report", name(&report)];
    assert_eq!(dedup_files(&local, &[&a, &b]).status, 0);
    let read = |path: PathBuf| std::fs::read(path).expect("a file");
    for scheme in ["gs", "az"] {
        let bucket = Bucket::start(scheme, |_| None);
        let [kept_there, dropped_there, report_there, receipt] =
            ["out/kept/", "out/dropped.jsonl.gz", "report.json", "receipt.json"].map(|key| bucket.name(key));
        let table = folder.path().join(scheme);
        let outputs = [
            "--keep",
            &kept_there,
            "--drop",
            &dropped_there,
            "--report",
            &report_there,
            "--receipt",
            &receipt,
        ];
        let arguments = [&outputs[..], &["--table", name(&table), name(&a), name(&b)]].concat();
        let run = bucket.dedup(&temporary, &arguments);
        assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{}", run.stderr);
        assert!(is_empty(&temporary));
        let keys =
            ["out/dropped.jsonl.gz", "out/kept/a.jsonl", "out/kept/b.jsonl", "receipt.json", "report.json"];
        assert_eq!(bucket.keys(), keys);
        for name in ["a.jsonl", "b.jsonl"] {
            assert!(bucket.bytes(&format!("out/kept/{name}")) == read(kept.join(name)), "{name}");
        }
        let receipt = write(folder.path(), "receipt.json", bucket.bytes("receipt.json"));
        let checked =
            Run::from_output(leitong().args(["audit", "--receipt"]).arg(receipt).output().expect("a run"));
        assert_eq!(
            checked.stdout, "all 2 files are as the receipt says; 4 objects of stores are not compared\n",
            "{}",
            checked.stderr
        );

        // The same pages would all be duplicates now.
        let again = bucket.dedup(&temporary, &arguments);
        assert!(again.status == 0 && again.stderr.contains("already done"), "{}", again.stderr);
        let other = [&outputs[..], &["--overwrite", "--table", name(&table), name(&b)]].concat();
        let loss = bucket.dedup(&temporary, &other);
        assert!(loss.status == 1 && loss.stderr.contains("would be incomplete"), "{}", loss.stderr);
        assert_eq!(bucket.keys(), keys);
    }
}

/// An object that exists is refused before anything is read. `--overwrite` replaces it, and leaves no shard of a former
/// run behind.
#[test]
fn objects_that_exist_are_replaced_only_when_asked() {
    let (_folder, temporary, [_, b]) = pages();
    let bucket = Bucket::start("gs", |_| None);
    let keep = bucket.name("kept.jsonl");
    let run = |more: &[&str]| bucket.dedup(&temporary, &[&["--keep", &keep, name(&b)], more].concat());
    assert_eq!(run(&["--shard-bytes", "3000"]).status, 0);
    let number = bucket.keys().len();
    assert!(number > 3, "{number}");
    let refused = run(&["--shard-bytes", "3000"]);
    let told = format!("--keep {}: the object exists, and is not replaced", bucket.name("kept-00000.jsonl"));
    assert!(refused.status == 2 && refused.stderr.contains(&told), "{}", refused.stderr);
    let fewer = run(&["--shard-bytes", "9000", "--overwrite"]);
    assert_eq!(fewer.status, 0, "{}", fewer.stderr);
    let left = bucket.keys();
    assert!(left.len() > 1 && left.len() < number, "{left:?}");
    let all = left.iter().flat_map(|key| bucket.bytes(key)).collect::<Vec<_>>();
    assert_eq!(run(&[]).status, 0);
    assert!(all == bucket.bytes("kept.jsonl"));
    assert!(is_empty(&temporary));
}

/// Nothing is lost if the store fails at the end: the outputs are complete in a folder that is named.
#[test]
fn outputs_that_no_store_takes_are_kept() {
    let (_folder, temporary, [a, b]) = pages();
    let refusal: Fault =
        |_| Some(Answer::new(403, "<Error><Code>AccessDenied</Code><Message>No.</Message></Error>"));
    let half: Fault = |request| {
        let is_report = request.path.ends_with("report.json");
        (is_report && request.method == "PUT").then(|| Answer::new(200, "").with("ETag", "\"1\""))
    };
    for (scheme, fault, told) in [
        ("gs", refusal, "AccessDenied: No; check GOOGLE_"),
        ("az", refusal, "AccessDenied: No; check AZURE_"),
        ("gs", half, "report.json: the store has 0 of "),
    ] {
        let bucket = Bucket::start(scheme, fault);
        let outputs = ["out/", "report.json"].map(|key| bucket.name(key));
        let table = temporary.with_file_name("table");
        let run = bucket.dedup(
            &temporary,
            &["--keep", &outputs[0], "--report", &outputs[1], "--table", name(&table), name(&a), name(&b)],
        );
        assert!(run.status == 1 && run.stderr.contains(told), "{told}: {}", run.stderr);
        let left = std::fs::read_dir(&temporary)
            .expect("a folder")
            .next()
            .expect("a folder")
            .expect("an entry")
            .path();
        let files =
            if scheme == "gs" && told.starts_with("report") { "only 2 files" } else { "only 0 files" };
        assert!(run.stderr.contains(name(&left)) && run.stderr.contains(files), "{}", run.stderr);
        for file in ["keep/out/a.jsonl", "keep/out/b.jsonl", "report/report.json"] {
            assert!(std::fs::metadata(left.join(file)).is_ok_and(|file| file.len() > 0), "{file}");
        }
        assert!(!table.join("CURRENT").exists(), "the pages can be decided on again");
        std::fs::remove_dir_all(left).expect("removed");
    }
}

#[test]
fn names_that_cannot_be_outputs_are_refused_before_any_work() {
    let (folder, temporary, [_, b]) = pages();
    let bucket = Bucket::start("gs", |_| panic!("nothing is written"));
    let checkpoint = folder.path().join("checkpoint");
    for (arguments, told) in [
        (&["--keep", "hf://datasets/a/b/kept.jsonl"][..], "datasets of the Hub are only read"),
        (
            &["--table", "gs://crawl/table"],
            "gs://crawl/table: is in a store; --table and --checkpoint name local folders",
        ),
        (&["--keep", "gs://crawl"], "--keep gs://crawl: the name has no key"),
        (&["--keep", "gs://crawl/../x"], "--keep gs://crawl/../x: not a valid object key"),
        (
            &["--keep", "gs://crawl/x", "--checkpoint", name(&checkpoint)],
            "--checkpoint: cannot continue outputs in a store",
        ),
        (&["--keep", "gs://crawl/x/b.jsonl", "--drop", "gs://crawl/x/"], "would be written twice"),
        (&["--keep", "gs://crawl/x.xz"], ".xz files are not written"),
        (&["--report", "gs://crawl/r.txt.gz"], "is written without compression"),
    ] {
        let run = bucket.dedup(&temporary, &[arguments, &[name(&b)]].concat());
        assert!(
            (run.status, run.stdout.as_str()) == (2, "") && run.stderr.contains(told),
            "{told}: {}",
            run.stderr
        );
        assert!(is_empty(&temporary) && !checkpoint.exists());
    }
}
