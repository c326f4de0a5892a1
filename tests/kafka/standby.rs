//! Warm standby: a new owner already has the table, and reads only the changelog's tail.

use crate::broker::topics::{self, Row};
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::broker::{bootstrap, wait_until};
use crate::common::article;

/// Expiry by count, small transactions, and kills that are noticed soon.
fn settings(more: &str) -> String {
    format!(
        "{more}[expiry]\ncentroids_max = 150\n[kafka.transaction]\nrecords_max = 10\nlinger_ms = 0\n{FAST_FAILURE_DETECTION}"
    )
}

fn restores(worker: &Worker) -> Vec<String> {
    let log = worker.plain_log();
    log.lines().filter(|line| line.contains("log partition: restored")).map(str::to_owned).collect()
}

/// Returns the number of changelog records that the last restore has read; it must have begun with a
/// standby's table.
#[track_caller]
fn tail_read(worker: &Worker) -> f64 {
    let restores = restores(worker);
    assert!(restores.last().expect("a restore").contains("from=standby"), "{restores:?}");
    worker.metric("leitong_restored_records")
}

#[test]
fn a_new_owner_already_has_the_table() {
    let more = settings("[kafka.create]\npage_partitions = 1\n");
    let installation = Installation::new(&bootstrap(), "standby", &more);
    installation.keep_standbys();
    let rows: Vec<Row> =
        (0..900).map(|i| Row::page(0, &format!("p{i}"), &article(i * 7 % 400, 25))).collect();
    let mut fingerprint = installation.worker(&["--role", "fingerprint"]);
    let mut owner = installation.worker(&["--role", "cluster"]);
    owner.wait_until_ready();
    let mut other = installation.worker(&["--role", "cluster"]);
    other.wait_until_ready();
    installation.feed(&rows[..600], 600);
    wait_until("the standby has followed", || other.metric("leitong_standby_centroids") == 150.0);
    let records = topics::read_all(&installation.bootstrap, &installation.topic("centroids")).len() as f64;
    assert!(records > 500.0, "a restore would read {records} records");

    owner.kill();
    installation.feed(&rows[600..700], 700);
    assert!(tail_read(&other) < 50.0, "{}", other.log());
    assert_eq!(other.metric("leitong_restored_centroids"), 150.0);

    // The instance comes back as the standby, and takes over from one that leaves normally.
    let mut third = installation.worker(&["--role", "cluster"]);
    third.wait_until_ready();
    assert_eq!(third.metric("leitong_standby_centroids"), 150.0, "ready once followed to the end");
    installation.feed(&rows[700..800], 800);
    assert_eq!(other.terminate(), 0);
    installation.feed(&rows[800..], 900);
    assert!(tail_read(&third) < 50.0, "{}", third.log());
    assert_eq!(third.terminate(), 0);
    assert_eq!(fingerprint.terminate(), 0);
    installation.assert_exactly_once(&rows);
}

#[test]
fn a_table_goes_from_owner_to_standby_and_back() {
    let more =
        settings("[corpus]\nby = \"header\"\n[kafka.create]\npage_partitions = 2\nlog_partitions = 2\n");
    let installation = Installation::new(&bootstrap(), "handover", &more);
    installation.keep_standbys();
    let corpora = ["甲", "乙", "丙", "丁"];
    let rows: Vec<Row> = (0..1500)
        .map(|i| {
            let row = Row::page((i % 2) as i32, &format!("p{i}"), &article(i * 7 % 400, 25));
            Row { headers: vec![("corpus".into(), Some(corpora[i % 4].into()))], ..row }
        })
        .collect();
    let mut first = installation.worker(&[]);
    first.wait_until_ready();
    installation.feed(&rows[..800], 800);
    // The second instance takes a partition from the first one, which keeps a standby of this partition …
    let mut second = installation.worker(&[]);
    second.wait_until_ready();
    wait_until("each has one", || {
        [&first, &second].iter().all(|worker| {
            let owned = worker.get("/metrics").map_or(String::new(), |(_, text)| text);
            owned.contains("leitong_partitions_owned{stage=\"cluster\"} 1")
        })
    });
    installation.feed(&rows[800..1200], 1200);
    wait_until("the first follows", || first.metric("leitong_standby_centroids") >= 100.0);
    // … and gets it back.
    let before = restores(&first).len();
    second.kill();
    installation.feed(&rows[1200..], 1500);
    wait_until("it owns both", || restores(&first).len() > before);
    let log = restores(&first);
    assert!(log.last().expect("a restore").contains("from=standby"), "{log:?}");
    let records: u64 = log
        .last()
        .and_then(|line| line.split("records=").nth(1)?.split_whitespace().next()?.parse().ok())
        .expect("records");
    assert!(records < 50, "{log:?}");
    assert_eq!(first.terminate(), 0);
    installation.assert_exactly_once(&rows);
}
