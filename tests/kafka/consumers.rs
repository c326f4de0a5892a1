//! The consumers in `examples/consumers` by the commands of their README, each in a copy of its folder below `target`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::json;

use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::common::article;

/// What an indexer is to do with the pages of [`pages`].
const LINES: [&str; 6] =
    ["leave short TOO_SHORT", "skip copy first", "store again", "store first", "store other", "store 页面"];

/// A verdict topic with a verdict of each kind, and some that were aborted.
fn verdicts() -> &'static Installation {
    static MADE: OnceLock<Installation> = OnceLock::new();
    MADE.get_or_init(|| {
        let more = "[kafka.create]\npage_partitions = 1\n";
        let installation = Installation::new(&crate::broker::bootstrap(), "consumers", more);
        installation.produce(&pages());
        let mut worker = installation.worker(&[]);
        installation.wait_for_verdicts(LINES.len(), 60);
        assert_eq!(worker.terminate(30), 0, "{}", worker.log());
        abort_verdicts(&installation);
        installation
    })
}

fn pages() -> Vec<Row> {
    let page = |id: &str, url: &str, text: &str| {
        let page = json!({ "id": id, "url": url, "text": text });
        Row { value: Some(page.to_string().into_bytes()), ..Row::default() }
    };
    vec![
        page("first", "https://a.example/1", &article(1, 25)),
        page("copy", "https://b.example/1", &article(1, 25)),
        page("again", "https://a.example/1", &article(1, 25)),
        page("short", "https://a.example/2", "短"),
        page("other", "https://a.example/3", &article(2, 25)),
        page("页面", "https://a.example/4", &article(3, 25)),
    ]
}

/// Writes a verdict into each partition that no reader may see.
fn abort_verdicts(installation: &Installation) {
    let topic = installation.topic("verdicts");
    let timeout = Duration::from_secs(30);
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &installation.bootstrap)
        .set("transactional.id", format!("{}-aborts", installation.app))
        .create()
        .expect("a producer");
    producer.init_transactions(timeout).expect("taken over");
    producer.begin_transaction().expect("begun");
    let metadata = producer.client().fetch_metadata(Some(&topic), timeout).expect("metadata");
    for partition in metadata.topics()[0].partitions() {
        let headers = [
            ("leitong.format.version", "1"),
            ("leitong.page.id", "aborted"),
            ("leitong.kind", "UNIQUE"),
            ("leitong.same.url", "false"),
        ];
        let headers = headers.into_iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
            headers.insert(Header { key, value: Some(value) })
        });
        let record: BaseRecord<'_, str, str> =
            BaseRecord::to(&topic).partition(partition.id()).payload("{}").headers(headers);
        producer.send(record).expect("queued");
    }
    producer.flush(timeout).expect("delivered");
    producer.abort_transaction(timeout).expect("aborted");
}

/// A consumer's folder and the two commands under its heading: one that installs, one that runs.
struct Consumer {
    folder: PathBuf,
    install: String,
    run: String,
}

impl Consumer {
    /// From the README's section `heading`, whose folder is copied.
    fn of(heading: &str) -> Self {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/consumers");
        let readme = std::fs::read_to_string(examples.join("README.md")).expect("the README");
        let section = readme.split("\n## ").find(|section| section.starts_with(heading)).expect(heading);
        let name = section.split("In `").nth(1).and_then(|rest| rest.split("/`").next()).expect("a folder");
        let mut commands = section.lines().filter_map(|line| line.strip_prefix("$ "));
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
        let folder = target.join("consumers").join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in std::fs::read_dir(examples.join(name)).expect("its files") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), folder.join(file.file_name())).expect("copied");
        }
        let mut next = || commands.next().expect("two commands").to_owned();
        Self { folder, install: next(), run: next() }
    }

    fn shell(&self, command: &str) -> Output {
        Command::new("bash").args(["-c", command]).current_dir(&self.folder).output().expect("bash starts")
    }

    /// The lines that it prints of so many verdicts.
    fn lines(&self, installation: &Installation, count: usize) -> Vec<String> {
        let topic = installation.topic("verdicts");
        let group = format!("{topic}-{}", self.folder.display()).replace('/', "-");
        let documented = "localhost:9092 leitong.verdicts indexer";
        assert!(self.run.ends_with(documented), "{}", self.run);
        let with = format!("{} {topic} {group} {count}", installation.bootstrap);
        let command = format!("timeout 120 {}", self.run.replace(documented, &with));
        let output = self.shell(&command);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}: {}\n{out}\n{err}", output.status);
        out.lines().map(str::to_owned).collect()
    }
}

/// Installs the consumer and has it read all verdicts, in two runs of one group.
fn reads_each_verdict_once(heading: &str) {
    let consumer = Consumer::of(heading);
    let installed = consumer.shell(&consumer.install);
    assert!(
        installed.status.success(),
        "{heading}: `{}` failed: {}\n{}{}",
        consumer.install,
        installed.status,
        String::from_utf8_lossy(&installed.stdout),
        String::from_utf8_lossy(&installed.stderr)
    );
    let installation = verdicts();
    let mut lines = consumer.lines(installation, 4);
    assert_eq!(lines.len(), 4, "{lines:?}");
    lines.extend(consumer.lines(installation, 2));
    lines.sort();
    assert_eq!(lines, LINES);
}

#[test]
fn the_python_consumer_reads_each_verdict_once() {
    reads_each_verdict_once("Python");
}

#[test]
fn the_java_consumer_reads_each_verdict_once() {
    reads_each_verdict_once("Java");
}

#[test]
fn the_go_consumer_reads_each_verdict_once() {
    reads_each_verdict_once("Go");
}

#[test]
fn the_node_consumer_reads_each_verdict_once() {
    reads_each_verdict_once("Node.js");
}
