//! Inputs in a store, S3Proxy: the same verdicts and documents as from files, through failing networks.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutPayload};
use serde_json::{Value, json};

use super::jars;
use super::proxy::Proxy;
use crate::common::wait::{HANG_LIMIT, wait_until};
use crate::common::{Run, article, free_ports, gzip, leitong, placeless, tables, write};

const IDENTITY: &str = "local-identity";
const CREDENTIAL: &str = "local-credential";

/// A store, with a bucket for each folder.
pub(crate) struct Store {
    port: u16,
    folder: tempfile::TempDir,
    /// Ends the store when its standard input closes, that is, however the test process ends.
    watchdog: Child,
}

impl Store {
    /// Returns the store that all tests share.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Store> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_ports(1)[0];
        let properties = format!(
            "s3proxy.endpoint=http://127.0.0.1:{port}\ns3proxy.authorization=aws-v2-or-v4\ns3proxy.identity={IDENTITY}\n\
             s3proxy.credential={CREDENTIAL}\njclouds.provider=filesystem-nio2\njclouds.filesystem.basedir={}\n",
            folder.path().join("buckets").display()
        );
        std::fs::create_dir(folder.path().join("buckets")).expect("a folder");
        let file = write(folder.path(), "s3proxy.properties", properties);
        let java = jars::java("tests/local/archives/pom.xml", "s3proxy");
        let watchdog = Command::new("bash")
            .args(["-c", "\"$@\" & store=$!; cat; kill -9 $store", "watchdog"])
            .arg(java.get_program())
            .args(java.get_args())
            .args(["-DLOG_LEVEL=warn", "org.gaul.s3proxy.Main", "--properties"])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("bash starts");
        let store = Self { port, folder, watchdog };
        wait_until("S3Proxy starts", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        store
    }

    fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Makes a bucket.
    pub(crate) fn bucket(&self, bucket: &str) {
        std::fs::create_dir(self.folder.path().join("buckets").join(bucket)).expect("a new bucket");
    }

    /// Puts an object into a bucket.
    pub(crate) fn put(&self, bucket: &str, key: &str, bytes: Vec<u8>) {
        let client = AmazonS3Builder::new()
            .with_endpoint(self.endpoint())
            .with_allow_http(true)
            .with_access_key_id(IDENTITY)
            .with_secret_access_key(CREDENTIAL)
            .with_bucket_name(bucket)
            .build()
            .expect("a client");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(client.put(&Key::parse(key).expect("a key"), PutPayload::from(bytes))).expect("put");
    }

    /// Returns the contents of an object.
    pub(crate) fn bytes(&self, bucket: &str, key: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join("buckets").join(bucket).join(key)).expect("an object")
    }

    /// Returns the program, configured to reach the store.
    pub(crate) fn leitong(&self) -> Command {
        self.leitong_by(&self.endpoint())
    }

    /// Returns the program, configured to reach the store at another address.
    fn leitong_by(&self, endpoint: &str) -> Command {
        let mut command = leitong();
        for (name, value) in [
            ("AWS_ENDPOINT_URL", endpoint),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", IDENTITY),
            ("AWS_SECRET_ACCESS_KEY", CREDENTIAL),
            ("NO_PROXY", "127.0.0.1"),
        ] {
            command.env(name, value);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

/// Returns documents of which every third repeats an earlier one, with unused `padding` so that they fill
/// several blocks.
fn documents(from: usize, count: usize, padding: usize) -> Vec<Value> {
    let padding = "y".repeat(padding);
    let document = |number: usize| {
        let topic = if number % 3 == 2 { number / 2 } else { number };
        json!({
            "id": number.to_string(),
            "url": format!("https://host{}.test/{number}", number % 4),
            "text": article(topic, 12) + &"完".repeat(number % 5),
            "padding": padding,
        })
    };
    (from..from + count).map(document).collect()
}

fn lines(documents: &[Value]) -> Vec<u8> {
    documents.iter().map(|document| format!("{document}\n")).collect::<String>().into_bytes()
}

/// Returns a corpus of several formats: its files by name.
fn corpus(folder: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let parquet = folder.join("written.parquet");
    let rows = documents(300, 400, 0);
    let layout = tables::Layout { row_group_rows: 100, page_bytes: 50_000, ..tables::Layout::default() };
    let padding = arrow_array::StringArray::from_iter_values(
        (0..rows.len()).map(|number| article(number, 60).repeat(4)),
    );
    tables::write_table(&parquet, &tables::with_column(&tables::table(&rows), "html", padding), &layout);
    let warc: Vec<u8> = documents(650, 40, 0)
        .iter()
        .flat_map(|document| {
            let text = document["text"].as_str().expect("a text");
            let url = document["url"].as_str().expect("a url");
            gzip(
                format!(
                    "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {url}\r\nContent-Length: {}\r\n\r\n{text}\r\n\r\n",
                    text.len()
                )
                .as_bytes(),
            )
        })
        .collect();
    vec![
        ("a.jsonl", lines(&documents(0, 320, 50_000))),
        ("b/rows.parquet", std::fs::read(parquet).expect("written")),
        ("b/texts.warc.gz", warc),
        ("c.jsonl.gz", gzip(&lines(&documents(0, 100, 0)))),
        ("notes.txt", b"no documents".to_vec()),
    ]
}

/// Documents by the names of their files.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// Runs `command` over `inputs`; returns verdicts, and documents by the names of their files.
fn outcome(mut command: Command, folder: &Path, name: &str, inputs: &[String]) -> (Run, Vec<Value>, Files) {
    let folder = folder.join(name);
    std::fs::create_dir_all(folder.join("kept")).expect("a folder");
    let verdicts = folder.join("verdicts.jsonl");
    command.args(["dedup", "--output"]).arg(&verdicts).arg("--keep").arg(folder.join("kept/"));
    let run = Run::from_output(command.args(inputs).output().expect("the program starts"));
    let lines = std::fs::read_to_string(verdicts).unwrap_or_default();
    let verdicts: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut kept: Vec<_> = std::fs::read_dir(folder.join("kept"))
        .expect("a folder")
        .map(|entry| {
            let path = entry.expect("a file").path();
            (path.file_name().expect("a name").into(), std::fs::read(&path).expect("a file"))
        })
        .collect();
    kept.sort();
    (run, verdicts, kept)
}

/// Returns the outcome of a run over files.
fn outcome_of_files(folder: &Path, corpus: &[(&str, Vec<u8>)]) -> (Vec<Value>, Files) {
    let files = folder.join("files");
    for (name, bytes) in corpus {
        let path = files.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("written");
    }
    let (run, verdicts, kept) = outcome(leitong(), folder, "of-files", &[files.display().to_string()]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    (verdicts, kept)
}

#[test]
fn objects_are_read_as_files_are() {
    let (store, folder) = (Store::shared(), tempfile::tempdir().expect("a folder"));
    let corpus = corpus(folder.path());
    let (verdicts, kept) = outcome_of_files(folder.path(), &corpus);
    assert!(kept.len() == 4 && verdicts.len() > 800, "{} {}", kept.len(), verdicts.len());
    store.bucket("corpora");
    for (name, bytes) in corpus {
        store.put("corpora", &format!("crawl 2026/{name}"), bytes);
    }
    store.put("corpora", "crawl 2027/other.jsonl", b"{".to_vec());
    store.put("corpora", "crawl 2026/.hidden/x.jsonl", b"{".to_vec());

    let (run, found, copied) =
        outcome(store.leitong(), folder.path(), "prefix", &["s3://corpora/crawl 2026/".to_owned()]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("1 files in folders are skipped"), "{}", run.stderr);
    assert!(placeless(&found) == placeless(&verdicts), "verdicts are the same");
    assert!(copied == kept, "documents are the same, byte by byte");
    assert_eq!(found[0]["source"]["input"], "s3://corpora/crawl 2026/a.jsonl");

    let named = ["a.jsonl", "b/*.parquet", "**/*.warc.gz", "c.jsonl.gz"]
        .map(|name| format!("s3://corpora/crawl 2026/{name}"));
    let (run, found, copied) = outcome(store.leitong(), folder.path(), "named", &named);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(placeless(&found) == placeless(&verdicts) && copied == kept, "however they are named");
}

#[test]
fn broken_and_refused_answers_cost_only_time() {
    let (store, folder) = (Store::shared(), tempfile::tempdir().expect("a folder"));
    let corpus = corpus(folder.path());
    let (verdicts, kept) = outcome_of_files(folder.path(), &corpus);
    store.bucket("shaky");
    for (name, bytes) in corpus {
        store.put("shaky", name, bytes);
    }
    let proxy = Proxy::start(store.port, 6, 4);
    let command = store.leitong_by(&proxy.endpoint());
    let (run, found, copied) = outcome(command, folder.path(), "shaky", &["s3://shaky/".to_owned()]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(proxy.left(), (0, 0), "all of it went wrong");
    assert!(placeless(&found) == placeless(&verdicts) && copied == kept, "and nothing is to be seen of it");
}

#[test]
fn errors_name_the_setting_to_change() {
    let (store, folder) = (Store::shared(), tempfile::tempdir().expect("a folder"));
    store.bucket("errors");
    store.put("errors", "pages.jsonl", lines(&documents(0, 3, 0)));
    let verdicts = folder.path().join("v.jsonl").display().to_string();
    let run = |command: &mut Command, arguments: &[&str]| {
        let run = Run::from_output(
            command.args(["dedup", "--output", &verdicts]).args(arguments).output().expect("it starts"),
        );
        assert_ne!(run.status, 0, "{arguments:?}: {}", run.stderr);
        run.stderr
    };
    for (input, told) in [
        (
            "s3://no-such-bucket/pages.jsonl",
            &["s3://no-such-bucket/", "there is no such bucket", "AWS_ENDPOINT_URL"][..],
        ),
        ("s3://errors/pages.json", &["s3://errors/pages.json: ", "no object has this name"]),
        ("s3://errors/*.warc", &["s3://errors/*.warc: ", "as a pattern it matches no object"]),
        ("s3:///pages.jsonl", &["the name has no bucket", "s3://BUCKET/KEY"]),
    ] {
        let stderr = run(&mut store.leitong(), &[input]);
        assert!(told.iter().all(|told| stderr.contains(told)), "{input}: {stderr}");
    }
    let pages = "s3://errors/pages.jsonl";
    let stderr = run(store.leitong().env("AWS_SECRET_ACCESS_KEY", "wrong"), &[pages]);
    assert!(stderr.contains(pages) && stderr.contains("check AWS_ACCESS_KEY_ID"), "{stderr}");
    let stderr = run(store.leitong().env("AWS_ACCESS_KEY_ID", "nobody"), &["s3://errors/"]);
    assert!(stderr.contains("s3://errors/: ") && stderr.contains("check AWS_ACCESS_KEY_ID"), "{stderr}");
    let stderr = run(store.leitong().env_remove("AWS_ALLOW_HTTP"), &[pages]);
    assert!(stderr.contains("AWS_ALLOW_HTTP=true"), "{stderr}");
    let stderr = run(&mut store.leitong(), &["--table", "s3://errors/out/", pages]);
    assert!(stderr.contains("s3://errors/out/: is in a store; --table and --checkpoint"), "{stderr}");
}

/// Starts a run over objects with checkpoints.
fn start(store: &Store, folder: &Path, input: &str) -> Child {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut command = store.leitong();
    command.args(["dedup", "--checkpoint", &path("checkpoint"), "--checkpoint-every", "0"]);
    command.args(["--output", &path("verdicts.jsonl"), "--keep", &path("kept.jsonl"), input]);
    command.spawn().expect("the program starts")
}

/// Kills the run once it has a checkpoint.
fn kill_after_checkpoint(mut child: Child, folder: &Path) {
    let begun = Instant::now();
    while !folder.join("checkpoint/checkpoint.json").exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it is through already");
        assert!(begun.elapsed() < *HANG_LIMIT, "no checkpoint");
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn a_killed_run_continues_only_over_the_same_objects() {
    let (store, folder) = (Store::shared(), tempfile::tempdir().expect("a folder"));
    let pages = documents(0, 600, 40_000);
    store.bucket("long");
    store.put("long", "pages.jsonl", lines(&pages));
    let file = write(folder.path(), "pages.jsonl", lines(&pages));
    let [whole, killed] = ["whole", "killed"].map(|name| folder.path().join(name));
    std::fs::create_dir_all(&whole).expect("a folder");
    std::fs::create_dir_all(&killed).expect("a folder");
    let through = start(store, &whole, file.to_str().expect("a name")).wait_with_output().expect("it ends");
    assert!(through.status.success(), "{}", String::from_utf8_lossy(&through.stderr));
    let input = "s3://long/pages.jsonl";
    kill_after_checkpoint(start(store, &killed, input), &killed);
    let through = start(store, &killed, input).wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&through.stderr);
    assert!(through.status.success() && stderr.contains("resuming after record"), "{stderr}");
    let kept = |folder: &Path| std::fs::read(folder.join("kept.jsonl")).expect("documents");
    assert!(kept(&killed) == kept(&whole), "each document is there once");

    for name in ["kept.jsonl", "verdicts.jsonl"] {
        std::fs::remove_file(killed.join(name)).expect("removed");
    }
    kill_after_checkpoint(start(store, &killed, input), &killed);
    let mut others = pages;
    others[599]["padding"] = "z".repeat(40_000).into();
    store.put("long", "pages.jsonl", lines(&others));
    let refused = start(store, &killed, input).wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && stderr.contains("belongs to another run, whose input 1 was"),
        "{stderr}"
    );
}

/// The copied documents must be the ones with verdicts.
#[test]
fn an_object_that_is_replaced_while_it_is_read_ends_the_run() {
    let (store, folder) = (Store::shared(), tempfile::tempdir().expect("a folder"));
    store.bucket("replaced");
    store.put("replaced", "a.jsonl", lines(&documents(0, 300, 40_000)));
    store.put("replaced", "b.jsonl", lines(&documents(300, 3, 40_000)));
    let [verdicts, kept] = ["verdicts.jsonl", "kept.jsonl"].map(|name| folder.path().join(name));
    let mut command = store.leitong();
    command.arg("dedup").arg("--output").arg(&verdicts).arg("--keep").arg(&kept).arg("s3://replaced/");
    let mut run = command.spawn().expect("the program starts");
    let begun = Instant::now();
    // Both objects were listed, but the second is not copied before every document of the first has a
    // verdict.
    let part = folder.path().join("verdicts.jsonl.part");
    while std::fs::metadata(&part).map_or(0, |file| file.len()) == 0 {
        assert!(run.try_wait().expect("a child").is_none(), "it is through already");
        assert!(begun.elapsed() < *HANG_LIMIT, "no verdicts");
    }
    store.put("replaced", "b.jsonl", lines(&documents(400, 3, 40_000)));
    let output = run.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{stderr}");
    // The offset in the message depends on how far the program had read ahead.
    assert!(stderr.contains("s3://replaced/b.jsonl at byte "), "{stderr}");
    assert!(stderr.contains("was replaced while it was read"), "{stderr}");
}
