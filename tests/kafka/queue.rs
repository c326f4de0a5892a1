//! The changelog as a queue: expired records are deleted, and missing unexpired ones are always noticed.

use leitong_base::proto;
use prost::Message as _;

use crate::admin::Admin;
use crate::broker::topics::{self, Row};
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::broker::{bootstrap, wait_until};
use crate::common::assert_same;
use crate::state::{assert_halted, drain, pages};

/// Settings of the topic.
pub(crate) const QUEUE: [(&str, &str); 3] =
    [("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1")];

/// Expiry by count, and small transactions.
fn settings(delete_interval_s: u32) -> String {
    format!(
        "[expiry]\ncentroids_max = 150\n[kafka.changelog]\ndelete_interval_s = {delete_interval_s}\n\
         [kafka.transaction]\nrecords_max = 10\nlinger_ms = 0\n[kafka.create]\npage_partitions = 1\n{FAST_FAILURE_DETECTION}"
    )
}

fn changelog(installation: &Installation) -> Vec<Row> {
    topics::read_all(&installation.bootstrap, &installation.topic("centroids"))
}

fn position(row: &Row) -> Option<proto::Position> {
    let value = row.value.as_deref().filter(|_| row.key.as_deref() == Some(b"position"))?;
    Some(proto::Position::decode(value).expect("a position"))
}

fn centroid(row: &Row) -> Option<proto::Centroid> {
    let value = row.value.as_deref().filter(|_| row.key.as_deref() != Some(b"position"))?;
    Some(proto::Centroid::decode(value).expect("a centroid"))
}

/// Returns the numbers of the centroids in the changelog.
fn numbers(changelog: &[Row]) -> Vec<u64> {
    changelog.iter().filter_map(|row| centroid(row)?.number).collect()
}

/// Checks that a killed worker comes back with the table that follows from the log.
fn assert_restored(worker: &Worker) {
    worker.wait_until_ready();
    assert_eq!(worker.metric("leitong_restored_centroids"), 150.0, "{}", worker.log());
}

#[track_caller]
fn assert_as_replayed(installation: &Installation, rows: &[Row]) {
    let published: Vec<_> =
        installation.assert_exactly_once(rows).iter().map(crate::common::stable_fields).collect();
    let replayed: Vec<_> =
        installation.replay(&[]).verdicts().iter().map(crate::common::stable_fields).collect();
    assert_same("the log again", &replayed, &published);
}

#[test]
fn expired_records_are_deleted_and_a_restart_has_the_same_table() {
    let installation = Installation::new(&bootstrap(), "queue", &settings(1));
    let rows = pages(0, 900, 400);
    let mut worker = installation.worker(&[]);
    installation.feed(&rows[..600], 600);
    wait_until("what has expired is deleted", || {
        let numbers = numbers(&changelog(&installation));
        // The numbers are consecutive, and there are not many more of them than unexpired centroids.
        numbers[0] > 200 && numbers.len() < 200 && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1])
    });
    assert!(worker.metric("leitong_changelog_deletions_total{result=\"deleted\"}") >= 1.0);
    worker.kill();
    let mut worker = installation.worker(&[]);
    assert_restored(&worker);
    assert!(worker.metric("leitong_restored_records") < 400.0);
    installation.feed(&rows[600..], 900);
    assert_eq!(worker.terminate(), 0);
    assert_as_replayed(&installation, &rows);
}

#[test]
fn records_that_a_stranger_deletes_halt_the_partition() {
    let installation = Installation::new(&bootstrap(), "hole", &settings(86_400));
    let rows = pages(0, 400, 400);
    drain(&installation, &rows[..300], &rows[..300], &[]);
    // Delete the records up to the middle of the unexpired centroids.
    let changelog = changelog(&installation);
    let last = changelog.iter().rev().find_map(position).expect("a position");
    let first = last.founded.expect("a number") - last.centroid_count;
    let middle = changelog.iter().find(|row| centroid(row).is_some_and(|c| c.number == Some(first + 75)));
    let middle = middle.expect("a centroid").offset;
    Admin::new(&installation).delete_records(&installation.topic("centroids"), middle);
    installation.produce(&rows[300..]);
    assert_halted(
        &mut installation.worker(&[]),
        &format!("the centroids {first} to {} are missing from the changelog", first + 74),
    );
    assert_eq!(installation.verdicts().len(), 300, "nothing was decided without them");
}
