//! Local snapshots: a restart reads the snapshot and the changelog's tail, and a useless snapshot only costs
//! time.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;

use crate::broker::topics::{self, Row};
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::broker::{HANG_LIMIT, bootstrap, wait_until};
use crate::common::article;

/// Expiry by count, small transactions, and kills that are noticed soon.
fn settings(interval_s: u32) -> String {
    format!(
        "[expiry]\ncentroids_max = 150\n[kafka.transaction]\nrecords_max = 10\nlinger_ms = 0\n[kafka.snapshots]\n\
         dir = \"snapshots\"\ninterval_s = {interval_s}\n[kafka.create]\npage_partitions = 1\n{FAST_FAILURE_DETECTION}"
    )
}

/// Makes pages, some of which join the cluster of the page before with a text of their own.
fn pages(from: usize, to: usize) -> Vec<Row> {
    let text = |i: usize| match i % 5 {
        4 => article((i - 1) * 7 % 400, 25) + " A sentence that the other page lacks.",
        _ => article(i * 7 % 400, 25),
    };
    (from..to).map(|i| Row::page(0, &format!("p{i}"), &text(i))).collect()
}

fn file(installation: &Installation, extension: &str) -> PathBuf {
    installation.folder.path().join("snapshots").join(format!("{}-0.{extension}", installation.app))
}

/// Waits until a snapshot contains everything that is committed.
#[track_caller]
fn wait_for_snapshot(installation: &Installation, worker: &Worker) {
    let changelog = topics::read_all(&installation.bootstrap, &installation.topic("centroids"));
    let end = changelog.last().expect("records").offset + 1;
    let wanted = format!("changelog_offset={end}");
    wait_until("a snapshot of all", || worker.plain_log().contains(&wanted));
}

#[test]
fn a_restart_reads_the_snapshot_and_the_tail() {
    let installation = Installation::new(&bootstrap(), "snapshot", &settings(1));
    let rows = pages(0, 900);
    let mut worker = installation.worker(&[]);
    installation.feed(&rows[..500], 500);
    wait_for_snapshot(&installation, &worker);
    // A second snapshot, of the first one and the changes.
    installation.feed(&rows[500..600], 600);
    wait_for_snapshot(&installation, &worker);
    worker.kill();

    let has_joined = |verdict: &Value| verdict["kind"] == "NEAR_DUPLICATE";
    assert!(installation.verdicts().iter().filter(|verdict| has_joined(verdict)).count() > 50);

    // Everything that a restart without the snapshot would have to read.
    installation.configure(&settings(86_400));
    let records = topics::read_all(&installation.bootstrap, &installation.topic("centroids")).len() as f64;
    let mut worker = installation.restored_worker("snapshot", &[]);
    assert_eq!(worker.metric("leitong_restored_centroids"), 150.0);
    assert!(worker.metric("leitong_restored_records") <= 2.0 && records > 500.0, "{records}");
    installation.feed(&rows[600..750], 750);
    worker.kill();

    // The same snapshot, now older by 150 pages.
    let mut worker = installation.restored_worker("snapshot", &[]);
    let tail = worker.metric("leitong_restored_records");
    assert!(tail > 15.0 && tail < records / 2.0, "{tail}");
    assert_eq!(worker.metric("leitong_restored_centroids"), 150.0);
    installation.feed(&rows[750..], 900);
    assert_eq!(worker.terminate(), 0);
    installation.assert_exactly_once(&rows);
}

#[test]
fn useless_snapshots_are_set_aside() {
    let installation = Installation::new(&bootstrap(), "unusable", &settings(1));
    let rows = pages(0, 220);
    let mut worker = installation.worker(&[]);
    installation.feed(&rows[..200], 200);
    wait_for_snapshot(&installation, &worker);
    assert_eq!(worker.terminate(), 0);
    installation.configure(&settings(86_400));
    let whole = fs::read(file(&installation, "snapshot")).expect("a snapshot");
    let restart = |why: &str| {
        let mut worker = installation.restored_worker("changelog", &["--role", "cluster"]);
        let said = worker.plain_log();
        assert!(said.contains("set aside") && said.contains(why), "{why:?}: {said}");
        assert_eq!(worker.metric("leitong_restored_centroids"), 150.0);
        assert_eq!(worker.metric("leitong_snapshots_set_aside_total"), 1.0);
        assert!(!file(&installation, "snapshot").exists() && file(&installation, "set-aside").exists());
        assert_eq!(worker.terminate(), 0);
    };
    // The beginning, a centroid, the position (its last byte, which is compared only after everything is
    // read; its length and the checksum follow it), the checksum.
    for at in [3, whole.len() / 2, whole.len() - 13, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        fs::write(file(&installation, "snapshot"), flipped).expect("written");
        restart("it is damaged");
    }
    let mut earlier = installation.worker(&[]);
    installation.feed(&rows[200..], 220);
    assert_eq!(earlier.terminate(), 0);
    installation.assert_exactly_once(&rows);
}

#[test]
fn a_kill_while_a_snapshot_is_written_loses_nothing() {
    let installation = Installation::new(&bootstrap(), "torn", &settings(1));
    // Long URLs make a snapshot of some megabytes, so writing it takes a while.
    let page = |i: usize| {
        let url = format!("https://example.test/{i}?{}", "x".repeat(7000));
        let page = serde_json::json!({ "url": url, "text": article(i * 7 % 400, 25) });
        Row { value: Some(page.to_string().into_bytes()), ..Row::default() }
    };
    // The earlier snapshot is complete. Without it there would be none to begin with if every kill came
    // during a write.
    let mut rows: Vec<Row> = (0..100).map(page).collect();
    let mut worker = installation.worker(&[]);
    installation.feed(&rows, rows.len());
    wait_for_snapshot(&installation, &worker);
    assert_eq!(worker.terminate(), 0);
    let (mut torn, mut kills, began) = (0, 0, Instant::now());
    // On a busy machine, most snapshots are written while this test does not run.
    while torn == 0 || kills < 6 {
        assert!(began.elapsed() < *HANG_LIMIT, "no kill of {kills} came at the right moment");
        // Files left by the last kill are still there when it starts.
        let mut worker = installation.worker(&[]);
        worker.wait_until_ready();
        let part: Vec<Row> = (rows.len()..rows.len() + 100).map(page).collect();
        installation.produce(&part);
        rows.extend(part);
        let new = file(&installation, "new");
        let _ = fs::remove_file(&new);
        // The file is polled without a pause, because it exists only for some milliseconds.
        let written = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        while written(&new) == 0 && !worker.plain_log().contains("snapshot written") {}
        worker.kill();
        torn += usize::from(new.exists());
        kills += 1;
    }
    println!("killed while a snapshot was written: {torn} of {kills} times");
    let mut worker = installation.restored_worker("snapshot", &[]);
    installation.wait_for_verdicts(rows.len());
    assert!(!worker.plain_log().contains("set aside"), "{}", worker.plain_log());
    assert_eq!(worker.terminate(), 0);
    installation.assert_exactly_once(&rows);
}
