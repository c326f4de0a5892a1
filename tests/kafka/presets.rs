//! A crawler's own messages over a real broker: verdicts, dead letters that name the problem, and messages
//! that are skipped without blocking anything.

use rdkafka::ClientConfig;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer};
use serde_json::json;

use crate::broker::HANG_LIMIT;
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::common::{article, gzip};

/// Returns the page group's committed offset of partition 0.
fn committed(installation: &Installation) -> i64 {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &installation.bootstrap)
        .set("group.id", format!("{}-fingerprint-0", installation.app))
        .create()
        .expect("a consumer");
    let mut wanted = TopicPartitionList::new();
    wanted.add_partition(&installation.topic("pages"), 0);
    let found = consumer.committed_offsets(wanted, *HANG_LIMIT).expect("an answer");
    found.elements()[0].offset().to_raw().unwrap_or(-1)
}

#[test]
fn messages_of_scrapy_cluster_become_verdicts() {
    let more = "[input]\npreset = \"scrapy-cluster\"\n[input.passthrough]\nspider = \"/attrs/spider\"\n\
                [kafka.create]\npage_partitions = 1";
    let installation = Installation::new(&crate::broker::bootstrap(), "presets", more);
    let html = format!("<html><body><article><p>{}</p></article></body></html>", article(1, 25));
    let message = |url: &str, body: &str| {
        json!({ "appid": "news", "crawlid": "c1", "attrs": { "spider": "s" }, "url": url, "response_url": url,
            "status_code": 200, "response_headers": { "Content-Type": ["text/html; charset=gb18030"] }, "body": body,
            "encoding": "gb18030", "links": [], "timestamp": "2026-11-21T08:00:00.123456" })
        .to_string()
        .into_bytes()
    };
    let (gb18030, _, _) = encoding_rs::GB18030.encode(&html);
    let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &gb18030);
    let row = |value: Vec<u8>| Row { value: Some(value), ..Row::default() };
    let failed = || row(b"json failed to parse".to_vec());
    let compressed = Row {
        headers: vec![("content-encoding".to_owned(), Some(b"gzip".to_vec()))],
        ..row(gzip(&message("http://a.example/3", &html)))
    };
    let rows = [
        failed(),
        row(message("http://a.example/1", &html)),
        failed(),
        row(message("http://a.example/2", &base64)),
        compressed,
        row(br#"{"appid":"news","crawlid":"c1","url":["x"],"body":{"a":1}}"#.to_vec()),
        row(br#"{"url":["http://a.example/4"],"content":["x"],"tstamp":["y"],"id":[{}],"body":[]}"#.to_vec()),
        failed(),
        failed(),
    ];
    installation.produce(&rows);
    let mut worker = installation.worker(&[]);
    let verdicts = installation.wait_for_verdicts(5);
    crate::broker::wait_until("all is committed", || committed(&installation) == 9);
    assert!((worker.metric("leitong_messages_skipped_total{reason=\"literal\"}") - 4.0).abs() < 0.1);
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    let kinds: Vec<_> = verdicts.iter().map(|verdict| verdict["kind"].as_str().expect("a kind")).collect();
    assert_eq!(kinds, ["UNIQUE", "EXACT_DUPLICATE", "EXACT_DUPLICATE", "UNDECIDABLE"]);
    assert_eq!(verdicts[1]["url"], "http://a.example/2");
    let passed = json!({ "appid": "news", "crawlid": "c1", "attrs": { "spider": "s" }, "spider": "s" });
    assert_eq!(verdicts[0]["passthrough"], passed);
    let [letter] = &installation.dead_letters()[..] else { panic!("one dead letter") };
    assert_eq!(letter.value, rows[5].value, "as received");
    assert_eq!(
        letter.header("__connect.errors.exception.message"),
        "preset scrapy-cluster: `/body`, the body, is an object; expected a string"
    );
    let survey = installation.leitong(&["preset", "detect", &installation.topic("pages")]);
    assert_eq!(survey.status, 0, "{}", survey.stderr);
    assert!(survey.stdout.contains("preset = \"scrapy-cluster\""), "{}", survey.stdout);
    // Messages skipped at the end are not read again.
    let mut again = installation.worker(&[]);
    again.wait_until_ready();
    assert!(again.metric("leitong_messages_skipped_total{reason=\"literal\"}") < 0.1);
    assert_eq!(again.terminate(), 0);
    assert_eq!(installation.verdicts().len(), 4);
}
