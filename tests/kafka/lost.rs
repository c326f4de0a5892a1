//! Records deleted by retention before they are read: every lost offset is counted once, wherever it happens.

use crate::admin::Admin;
use crate::broker::topics::{self, Row};
use crate::broker::worker::{Installation, Worker};
use crate::broker::{HANG_LIMIT, bootstrap, pause, wait_until};
use crate::common::article;

/// The broker answers an empty fetch soon, so no fetch waits there while its worker is frozen.
const ONE_PARTITION: &str =
    "[kafka.create]\npage_partitions = 1\n[kafka.properties]\n\"fetch.wait.max.ms\" = 20\n";

fn pages(from: usize, to: usize) -> Vec<Row> {
    (from..to).map(|i| Row::page(0, &format!("p{i}"), &article(i * 7 % 500, 25))).collect()
}

fn lost(worker: &Worker) -> u64 {
    worker.metric("leitong_pages_lost_total") as u64
}

/// Waits until a frozen worker's last fetch has come back empty. Nothing reports when the broker has answered
/// it.
fn wait_for_last_fetch() {
    pause(1000);
}

/// Writes pages and deletes those before an offset. The worker is frozen meanwhile, and sees none of them.
fn overtake(installation: &Installation, worker: &Worker, rows: &[Row], before: i64) {
    worker.signal("STOP");
    wait_for_last_fetch();
    installation.produce(rows);
    Admin::new(installation).delete_records(&installation.topic("pages"), before);
    worker.signal("CONT");
}

/// librdkafka must not jump to the new beginning silently, because the lost pages would not be counted.
#[test]
fn retention_that_overtakes_a_running_reader_is_counted() {
    let installation = Installation::new(&bootstrap(), "overtaken", ONE_PARTITION);
    let mut worker = installation.worker(&[]);
    installation.feed(&pages(0, 40), 40);
    overtake(&installation, &worker, &pages(40, 100), 70);
    wait_until(format_args!("thirty are missing:\n{}", worker.latest()), || lost(&worker) == 30);
    installation.wait_for_verdicts(70);
    assert!(worker.plain_log().contains("retention deleted offsets 40 to 70"), "{}", worker.plain_log());
    // No page follows the deleted ones.
    overtake(&installation, &worker, &pages(100, 120), 120);
    wait_until(format_args!("fifty are missing:\n{}", worker.latest()), || lost(&worker) == 50);
    assert!(worker.plain_log().contains("retention deleted offsets 100 to 120"));
    // Another member joins and counts no loss again.
    let mut other = installation.worker(&[]);
    other.wait_until_ready();
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    wait_until("the other one has the partition", || {
        other.plain_log().matches("page topic partitions assigned").count() > 0
    });
    installation.feed(&pages(120, 140), 90);
    assert_eq!(lost(&other), 0, "{}", other.log());
    assert_eq!(other.terminate(), 0);
    let verdicts = installation.verdicts();
    assert_eq!(verdicts.len(), 90, "40, 30 and 20");
}

/// Pages that are lost while no worker runs are counted once, however often their partition is assigned
/// before the next page comes.
#[test]
fn losses_are_counted_once_across_restarts() {
    let installation = Installation::new(&bootstrap(), "counted-once", ONE_PARTITION);
    let delete = |before| Admin::new(&installation).delete_records(&installation.topic("pages"), before);
    // A group that began with an empty topic knows where it began.
    let mut first = installation.worker(&["--role", "fingerprint"]);
    first.wait_until_ready();
    assert_eq!(first.terminate(), 0);
    installation.produce(&pages(0, 10));
    delete(10);
    let mut counts = Vec::new();
    for _ in 0..3 {
        let mut worker = installation.worker(&["--role", "fingerprint"]);
        worker.wait_until_ready();
        counts.push(lost(&worker));
        assert_eq!(worker.terminate(), 0);
    }
    assert_eq!(counts, [10, 0, 0]);
    // Of twenty pages, the topic deletes five before the worker reads them.
    installation.produce(&pages(10, 30));
    delete(15);
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(15);
    assert_eq!(lost(&worker), 5);
    assert_eq!(worker.terminate(), 0);
}

/// A transactional crawler's markers and aborted pages have offsets that nobody reads.
#[test]
fn transaction_markers_do_not_count_as_losses() {
    use rdkafka::ClientConfig;
    use rdkafka::producer::{BaseProducer, Producer};
    let installation = Installation::new(&bootstrap(), "marks", ONE_PARTITION);
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    let crawler: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &installation.bootstrap)
        .set("transactional.id", &installation.app)
        .create()
        .expect("a producer");
    let patience = *HANG_LIMIT;
    crawler.init_transactions(patience).expect("transactions");
    for (number, row) in pages(0, 20).iter().enumerate() {
        crawler.begin_transaction().expect("begun");
        topics::send(&crawler, &installation.topic("pages"), row);
        // The page is written, whether its transaction is committed or not.
        crawler.flush(patience).expect("delivered");
        match number % 4 {
            3 => crawler.abort_transaction(patience).expect("aborted"),
            _ => crawler.commit_transaction(patience).expect("committed"),
        }
    }
    installation.wait_for_verdicts(15);
    assert_eq!(worker.terminate(), 0);
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    installation.feed(&pages(20, 25), 20);
    assert_eq!(lost(&worker), 0);
    let offset = |verdict: &serde_json::Value| verdict["source"]["offset"].as_u64();
    let last = installation.verdicts().iter().filter_map(offset).max();
    assert_eq!(last, Some(44), "marks and pages taken back have twenty offsets");
    assert_eq!(worker.terminate(), 0);
}

/// Records of the log must not be lost: its owner is halted, as it is at a start.
#[test]
fn retention_that_overtakes_a_running_owner_halts_it() {
    let installation = Installation::new(&bootstrap(), "overtaken-owner", ONE_PARTITION);
    let mut left = installation.worker(&["--role", "fingerprint"]);
    let mut owner = installation.worker(&["--role", "cluster"]);
    installation.feed(&pages(0, 20), 20);
    let log = installation.topic("log");
    owner.signal("STOP");
    wait_for_last_fetch();
    installation.produce(&pages(20, 40));
    wait_until("the log has them", || topics::read_all(&installation.bootstrap, &log).len() == 40);
    Admin::new(&installation).delete_records(&log, 30);
    owner.signal("CONT");
    let why = "the log begins at offset 30, but 20 is the next to read";
    wait_until(format_args!("{why:?}:\n{}", owner.latest()), || {
        owner.get("/readyz").is_some_and(|(status, body)| status == 503 && body.contains(why))
    });
    assert!(owner.metric("leitong_partition_halted") > 0.0);
    assert_eq!(installation.verdicts().len(), 20);
    assert_eq!(owner.terminate(), 0);
    let mut owner = installation.worker(&["--role", "cluster", "--accept-lost-records"]);
    installation.wait_for_verdicts(30);
    assert_eq!([owner.terminate(), left.terminate()], [0, 0]);
}
