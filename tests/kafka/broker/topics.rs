//! Writes pages and reads verdicts, as a crawler and a consumer do.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::Value;

use super::HANG_LIMIT;

/// A message, read or to be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Option<Vec<u8>>)>,
    pub(crate) timestamp: Option<i64>,
}

impl Row {
    /// Returns a page as JSON, for a partition.
    pub(crate) fn page(partition: i32, id: &str, text: &str) -> Self {
        let page = serde_json::json!({ "id": id, "url": format!("https://example.test/{id}"), "text": text });
        Self { partition, value: Some(page.to_string().into_bytes()), ..Self::default() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(self.value.as_deref().expect("a value")).expect("JSON")
    }

    pub(crate) fn header(&self, name: &str) -> String {
        let value =
            self.headers.iter().rfind(|(known, _)| known == name).and_then(|(_, value)| value.clone());
        String::from_utf8(value.unwrap_or_default()).expect("UTF-8")
    }
}

/// Writes messages, each to its partition, and waits until all are stored.
pub(crate) fn produce(bootstrap: &str, topic: &str, rows: &[Row]) {
    let producer = producer(bootstrap);
    for row in rows {
        send(&producer, topic, row);
    }
    flush(&producer);
}

/// Waits until all messages of a producer are delivered.
#[track_caller]
pub(crate) fn flush(producer: &BaseProducer) {
    producer.flush(*HANG_LIMIT).expect("delivered");
}

pub(crate) fn producer(bootstrap: &str) -> BaseProducer {
    ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("message.max.bytes", "12000000")
        .set("message.timeout.ms", HANG_LIMIT.as_millis().to_string())
        .set("enable.idempotence", "true")
        .create()
        .expect("a producer")
}

pub(crate) fn send(producer: &BaseProducer, topic: &str, row: &Row) {
    let mut headers = OwnedHeaders::new();
    for (name, value) in &row.headers {
        headers = headers.insert(Header { key: name, value: value.as_ref() });
    }
    let mut message: BaseRecord<'_, Vec<u8>, Vec<u8>> =
        BaseRecord::to(topic).partition(row.partition).headers(headers);
    message.key = row.key.as_ref();
    message.payload = row.value.as_ref();
    message.timestamp = row.timestamp;
    loop {
        match producer.send(message) {
            Ok(()) => break,
            Err((_, back)) => {
                message = back;
                producer.poll(Duration::from_millis(10));
            }
        }
    }
    producer.poll(Duration::ZERO);
}

/// Returns all committed messages of a topic, from its beginning to its current end, by partition.
pub(crate) fn read_all(bootstrap: &str, topic: &str) -> Vec<Row> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", "leitong-test-reader")
        .set("isolation.level", "read_committed")
        .set("enable.partition.eof", "true")
        .set("enable.auto.commit", "false")
        .set("auto.offset.reset", "error")
        .create()
        .expect("a consumer");
    let metadata = consumer.fetch_metadata(Some(topic), *HANG_LIMIT).expect("metadata");
    let mut open = metadata.topics()[0].partitions().len();
    let mut assignment = TopicPartitionList::new();
    for partition in 0..open {
        let partition = i32::try_from(partition).expect("few");
        assignment.add_partition_offset(topic, partition, Offset::Beginning).expect("an offset");
    }
    consumer.assign(&assignment).expect("assigned");
    let mut rows = Vec::new();
    let began = Instant::now();
    while open > 0 {
        assert!(began.elapsed() < *HANG_LIMIT, "{topic} cannot be read to its end");
        match consumer.poll(Duration::from_millis(200)) {
            None => {}
            Some(Err(KafkaError::PartitionEOF(_))) => open -= 1,
            Some(Err(error)) => eprintln!("reading {topic}: {error}"),
            Some(Ok(message)) => rows.push(Row {
                partition: message.partition(),
                offset: message.offset(),
                key: message.key().map(<[u8]>::to_vec),
                value: message.payload().map(<[u8]>::to_vec),
                headers: message.headers().map_or_else(Vec::new, |headers| {
                    headers.iter().map(|h| (h.key.to_owned(), h.value.map(<[u8]>::to_vec))).collect()
                }),
                timestamp: message.timestamp().to_millis(),
            }),
        }
    }
    rows.sort_by_key(|row| (row.partition, row.offset));
    rows
}

/// Returns the names of all consumer groups that the brokers know.
pub(crate) fn groups(bootstrap: &str) -> Vec<String> {
    let client: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", bootstrap).create().expect("a client");
    let groups = client.fetch_group_list(None, *HANG_LIMIT).expect("groups");
    groups.groups().iter().map(|group| group.name().to_owned()).collect()
}

/// Returns verdicts in the order of the log.
pub(crate) fn verdicts(bootstrap: &str, topic: &str) -> Vec<Value> {
    let mut verdicts: Vec<Value> = read_all(bootstrap, topic).iter().map(Row::json).collect();
    verdicts.sort_by_key(|verdict| (verdict["log_partition"].as_u64(), verdict["log_offset"].as_u64()));
    verdicts
}

/// Returns the page of each verdict or dead letter, with the number of outcomes.
pub(crate) fn sources(verdicts: &[Value], dead_letters: &[Row]) -> BTreeMap<(i64, i64), u32> {
    let mut sources = BTreeMap::new();
    let places = verdicts.iter().map(|verdict| {
        let source = &verdict["source"];
        (source["partition"].as_i64().expect("a partition"), source["offset"].as_i64().expect("an offset"))
    });
    let letters = dead_letters.iter().map(|row| {
        let number = |name: &str| row.header(name).parse().expect("a number");
        (number("__connect.errors.partition"), number("__connect.errors.offset"))
    });
    for place in places.chain(letters) {
        *sources.entry(place).or_insert(0) += 1;
    }
    sources
}
