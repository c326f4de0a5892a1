//! The consumers of the verdict topic.

use std::sync::OnceLock;

use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::json;

use super::{Example, examples, with};
use crate::broker::HANG_LIMIT;
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::common::article;

/// The expected actions of an indexer on the pages of [`pages`].
const LINES: [&str; 6] =
    ["leave short TOO_SHORT", "skip copy first", "store again", "store first", "store other", "store 页面"];

/// Returns a verdict topic with a verdict of each kind, and some aborted ones.
fn verdicts() -> &'static Installation {
    static MADE: OnceLock<Installation> = OnceLock::new();
    MADE.get_or_init(|| {
        let more = "[kafka.create]\npage_partitions = 1\n";
        let installation = Installation::new(&crate::broker::bootstrap(), "consumers", more);
        installation.produce(&pages());
        let mut worker = installation.worker(&[]);
        installation.wait_for_verdicts(LINES.len());
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
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

/// Writes a verdict into each partition and aborts the transaction.
fn abort_verdicts(installation: &Installation) {
    let topic = installation.topic("verdicts");
    let timeout = *HANG_LIMIT;
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

/// Runs the consumer in the README's section `heading` twice, as one group, until it has read all verdicts.
fn reads_each_verdict_once(heading: &str) {
    let readme = std::fs::read_to_string(examples().join("consumers/README.md")).expect("the README");
    let section = readme.split("\n## ").find(|section| section.starts_with(heading)).expect(heading);
    let folder = section.split("In `").nth(1).and_then(|rest| rest.split("/`").next()).expect("a folder");
    let example = Example::new(&format!("consumers/{folder}"), section);
    let [_install, run] = &example.commands[..] else { panic!("two commands: {:?}", example.commands) };
    let installation = verdicts();
    let topic = installation.topic("verdicts");
    let lines = |count: usize| {
        let group = format!("{topic}-{folder} {count}");
        let ours =
            [("localhost:9092", &*installation.bootstrap), ("leitong.verdicts", &topic), ("indexer", &group)];
        let out = example.run(&with(run, &ours));
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut all = lines(4);
    assert_eq!(all.len(), 4, "{all:?}");
    all.extend(lines(2));
    all.sort();
    assert_eq!(all, LINES);
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
