//! A transaction that the brokers end without notifying all of its partitions, as Kafka 4.3 does when a
//! cluster comes back after all of its brokers were away.

use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::broker::topics::{self, Row};
use crate::broker::worker::Installation;
use crate::broker::{Brokers, HANG_LIMIT, pause};
use crate::common::article;

const VERDICT_PARTITIONS: i32 = 12;

/// An owner dies with the only broker, within a transaction. Without a check for open records, the records of
/// that transaction were published in nine of ten runs, although it had been aborted.
#[test]
fn aborted_records_are_never_published() {
    let mut brokers = Brokers::start(1);
    let installation = Installation::new(&brokers.bootstrap(), "unended", "");
    let owner: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", brokers.bootstrap())
        .set("transactional.id", format!("{}-cluster-0", installation.app))
        .set("transaction.timeout.ms", "10000")
        .create()
        .expect("a producer");
    owner.init_transactions(*HANG_LIMIT).expect("the id is free");
    owner.begin_transaction().expect("begun");
    let (verdicts, changelog) = (installation.topic("verdicts"), installation.topic("centroids"));
    for i in 0..600 {
        let origin = Header { key: "leitong.log", value: Some(&format!("0@{i}")) };
        let record = BaseRecord::to(&verdicts).partition(i % VERDICT_PARTITIONS).key("").payload("{}");
        owner.send(record.headers(OwnedHeaders::new().insert(origin))).expect("taken");
        let key = format!("aborted{i}");
        owner.send(BaseRecord::to(&changelog).partition(0).key(&key).payload("aborted")).expect("taken");
    }
    topics::flush(&owner);
    brokers.kill(0);
    drop(owner);
    // The broker is away for a while.
    pause(3000);
    brokers.restart(0);
    let rows: Vec<Row> =
        (0..60).map(|i| Row::page(i % 3, &format!("p{i}"), &article(i as usize % 20, 25))).collect();
    installation.produce(&rows);
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(rows.len());
    let ended = worker.metric("leitong_transactions_unended_total");
    println!("transactions that were still open in some partition: {ended}");
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    // A restore would fail on the changelog's aborted records, and a verdict without a source would be found
    // here.
    installation.assert_exactly_once(&rows);
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
}
