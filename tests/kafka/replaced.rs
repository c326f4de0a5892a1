//! Topics that are deleted and created again under the same name: noticed within seconds, reported clearly,
//! and nothing is lost once the operator has followed the message.

use std::collections::BTreeSet;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::admin::Admin;
use crate::broker::topics::{self, Row};
use crate::broker::worker::{Installation, Worker};
use crate::broker::{bootstrap, wait_until};
use crate::common::article;
use crate::queue::QUEUE;

const ONE_PARTITION: &str = "[kafka.create]\npage_partitions = 1\n";
const REPLACED: &str = "was deleted and created again";

/// Returns pages written at this time, in seconds from now.
fn pages(from: usize, to: usize, seconds: i64) -> Vec<Row> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_millis();
    let timestamp = Some(i64::try_from(now).expect("a time") + seconds * 1000);
    let page = |i: usize| Row::page(0, &format!("p{i}"), &article(i * 7 % 500, 25));
    (from..to).map(|i| Row { timestamp, ..page(i) }).collect()
}

fn recreate(installation: &Installation, topic: &str, settings: &[(&str, &str)]) {
    let admin = Admin::new(installation);
    admin.delete_topic(topic);
    admin.create_topic(topic, 1, settings);
}

/// Waits until the worker reports why it is halted; it stays alive, and an alert can see it.
#[track_caller]
fn wait_until_halted(worker: &mut Worker, why: &[&str]) {
    wait_until(format_args!("{why:?} in /readyz:\n{}", worker.latest()), || {
        worker
            .get("/readyz")
            .is_some_and(|(status, body)| status == 503 && why.iter().all(|why| body.contains(why)))
    });
    assert_eq!(worker.get("/livez").expect("an answer").0, 200);
    assert!(worker.metric("leitong_partition_halted") > 0.0);
    why.iter().for_each(|why| assert!(worker.plain_log().contains(why)));
    assert!(worker.is_running());
}

/// Returns the offsets of pages of this epoch that have a verdict, and the number of verdicts.
fn outcomes(verdicts: &[serde_json::Value], epoch: u64) -> (BTreeSet<u64>, usize) {
    let of_epoch = || verdicts.iter().filter(|verdict| verdict["source"]["epoch"] == epoch);
    let offsets =
        of_epoch().map(|verdict| verdict["source"]["offset"].as_u64().expect("an offset")).collect();
    (offsets, of_epoch().count())
}

/// Checks that each of this many pages has one verdict in this epoch.
#[track_caller]
fn assert_all_have_one(verdicts: &[serde_json::Value], epoch: u64, pages: usize) {
    let (offsets, count) = outcomes(verdicts, epoch);
    let missing: Vec<u64> = (0..pages as u64).filter(|offset| !offsets.contains(offset)).collect();
    assert!(missing.is_empty() && count == pages, "epoch {epoch}: {count} verdicts, none for {missing:?}");
}

/// Sets `kafka.epoch = 1`, and leaves the rest as it is.
fn raise_epoch(installation: &Installation) {
    let text = std::fs::read_to_string(installation.config()).expect("a configuration");
    std::fs::write(installation.config(), text.replacen("[kafka]\n", "[kafka]\nepoch = 1\n", 1))
        .expect("written");
}

/// Sets other topics under these keys of `[kafka.topics]`.
fn rename_topics(installation: &Installation, names: &[(&str, &str)]) {
    let mut text = std::fs::read_to_string(installation.config()).expect("a configuration");
    for (name, new) in names {
        let [name, new] = [name, new].map(|name| format!("\"{}\"", installation.topic(name)));
        assert!(text.contains(&name), "{text}");
        text = text.replace(&name, &new);
    }
    std::fs::write(installation.config(), text).expect("written");
}

/// The identity of a page topic must not be guessed from timestamps. If one old page is ahead of time, or the new pages
/// are older than the old ones, the new pages would be silently dropped as repetitions.
#[test]
fn a_recreated_page_topic_is_noticed_whatever_its_timestamps() {
    for (name, old, new) in [("ahead", 1800, 0), ("older", 0, -86_400)] {
        let installation = Installation::new(&bootstrap(), name, ONE_PARTITION);
        installation.produce(&pages(0, 20, old));
        let mut worker = installation.worker(&[]);
        installation.wait_for_verdicts(20);
        assert_eq!(worker.terminate(), 0);
        recreate(&installation, &installation.topic("pages"), &[]);
        installation.produce(&pages(100, 130, new));
        let mut worker = installation.worker(&[]);
        wait_until_halted(&mut worker, &[REPLACED, "raise kafka.epoch"]);
        assert_eq!(worker.terminate(), 0);
        assert_eq!(installation.verdicts().len(), 20, "nothing is taken for a page of the old topic");
        raise_epoch(&installation);
        let mut worker = installation.worker(&[]);
        installation.wait_for_verdicts(50);
        assert_eq!(worker.terminate(), 0);
        assert_all_have_one(&installation.verdicts(), 1, 30);
    }
}

/// The cluster stage distinguishes the records of two topics even if no fingerprint worker knows the older one: the
/// group's offsets are deleted with a topic, and position records are not read here. There is one worker of each stage;
/// the fingerprint worker reads both topics.
#[test]
fn records_of_two_topics_in_one_log_are_distinguished() {
    let installation = Installation::new(&bootstrap(), "two-in-log", ONE_PARTITION);
    installation.produce(&pages(0, 20, 1800));
    let mut left = installation.worker(&["--role", "fingerprint"]);
    let log = installation.topic("log");
    wait_until("the log has them", || topics::read_all(&installation.bootstrap, &log).len() == 20);
    assert_eq!(left.terminate(), 0);
    // No owner has ever run, so there is no position record, and brokers forget the group's offsets with the
    // topic.
    recreate(&installation, &installation.topic("pages"), &[]);
    installation.produce(&pages(100, 130, 0));
    let mut left = installation.worker(&["--role", "fingerprint"]);
    wait_until("the log has the new ones, or they are refused", || {
        topics::read_all(&installation.bootstrap, &log).len() == 50 || left.plain_log().contains(REPLACED)
    });
    let mut owner = installation.worker(&["--role", "cluster"]);
    if !left.plain_log().contains(REPLACED) {
        wait_until_halted(&mut owner, &[REPLACED, "raise kafka.epoch"]);
    }
    assert!([owner.terminate(), left.terminate()] == [0, 0]);
    raise_epoch(&installation);
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(50);
    assert_eq!(worker.terminate(), 0);
    assert_all_have_one(&installation.verdicts(), 0, 20);
    assert_all_have_one(&installation.verdicts(), 1, 30);
}

/// A reader that continues at its offset finds nothing there, or, if it learns of the new topic late, the new
/// topic's pages.
#[test]
fn a_page_topic_recreated_under_a_running_worker_halts_it() {
    for (name, hears_late) in [("under-pages", false), ("under-pages-late", true)] {
        let installation = Installation::new(&bootstrap(), name, ONE_PARTITION);
        let mut worker = installation.worker(&[]);
        installation.feed(&pages(0, 30, 0), 30);
        if hears_late {
            worker.signal("STOP");
        }
        recreate(&installation, &installation.topic("pages"), &[]);
        installation.produce(&pages(100, 190, -86_400));
        if hears_late {
            worker.signal("CONT");
        }
        let began = Instant::now();
        wait_until_halted(&mut worker, &[REPLACED, "raise kafka.epoch"]);
        println!("page topic recreated: noticed after {:.1} s", began.elapsed().as_secs_f64());
        // A restart changes nothing.
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
        let mut worker = installation.worker(&[]);
        wait_until_halted(&mut worker, &[REPLACED]);
        assert_eq!(worker.terminate(), 0);
        raise_epoch(&installation);
        let mut worker = installation.worker(&[]);
        wait_until("all pages have a verdict", || outcomes(&installation.verdicts(), 1).0.len() == 90);
        assert_eq!(worker.terminate(), 0);
        let verdicts = installation.verdicts();
        assert_all_have_one(&verdicts, 1, 90);
        // Pages that were read before the worker noticed the new topic have a verdict in the old epoch as well.
        let (offsets, count) = outcomes(&verdicts, 0);
        println!("{count} verdicts of the old epoch");
        assert!((0..30).all(|offset| offsets.contains(&offset)) && count == offsets.len());
    }
}

/// Pages whose records only the deleted log had get no verdict, so a warning is not enough: workers halt.
#[test]
fn a_log_recreated_under_running_workers_halts_them() {
    let installation = Installation::new(&bootstrap(), "under-log", ONE_PARTITION);
    let mut owner = installation.worker(&["--role", "cluster"]);
    let mut left = installation.worker(&["--role", "fingerprint"]);
    installation.feed(&pages(0, 300, 0), 300);
    // Records that are only in the log, while its owner is away for a moment, are lost with it.
    owner.signal("STOP");
    installation.produce(&pages(300, 600, 0));
    let log = installation.topic("log");
    wait_until("the log has them", || topics::read_all(&installation.bootstrap, &log).len() == 600);
    recreate(&installation, &log, &[("max.message.bytes", "10485760")]);
    owner.signal("CONT");
    installation.produce(&pages(600, 900, 0));
    wait_until_halted(&mut owner, &["the log", REPLACED, "raise kafka.epoch"]);
    wait_until_halted(&mut left, &["the log", REPLACED, "raise kafka.epoch"]);
    assert_eq!([owner.terminate(), left.terminate()], [0, 0]);
    // A restart of either stage does not hide the loss.
    for role in ["cluster", "fingerprint"] {
        let mut worker = installation.worker(&["--role", role]);
        wait_until_halted(&mut worker, &["the log", REPLACED]);
        assert_eq!(worker.terminate(), 0);
    }
    assert!(installation.verdicts().len() < 900, "some are lost, and it is known");
    // "When the log is lost" in docs/kafka.md.
    rename_topics(
        &installation,
        &[("log", "log-2"), ("centroids", "centroids-2"), ("verdicts", "verdicts-2")],
    );
    raise_epoch(&installation);
    assert_eq!(installation.leitong(&["topics", "create"]).status, 0);
    let mut worker = installation.worker(&[]);
    let verdicts = || topics::verdicts(&installation.bootstrap, &installation.topic("verdicts-2"));
    wait_until("all pages have a verdict", || verdicts().len() >= 900);
    assert_eq!(worker.terminate(), 0);
    assert_all_have_one(&verdicts(), 1, 900);
}

/// Committed pages are in the log that they were sent to, and in no other.
#[test]
fn another_log_is_refused_until_the_epoch_is_raised() {
    let installation = Installation::new(&bootstrap(), "other-log", ONE_PARTITION);
    installation.produce(&pages(0, 40, 0));
    let mut left = installation.worker(&["--role", "fingerprint"]);
    let log = installation.topic("log");
    wait_until("the log has them", || topics::read_all(&installation.bootstrap, &log).len() == 40);
    assert_eq!(left.terminate(), 0);
    rename_topics(&installation, &[("log", "log-2")]);
    assert_eq!(installation.leitong(&["topics", "create"]).status, 0);
    let mut worker = installation.worker(&[]);
    wait_until_halted(&mut worker, &["the log", "raise kafka.epoch"]);
    assert_eq!(worker.terminate(), 0);
    raise_epoch(&installation);
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(40);
    assert_eq!(worker.terminate(), 0);
    assert_all_have_one(&installation.verdicts(), 1, 40);
}

/// At the worker's next restart its table would be gone, so the worker must notice the new topic while it runs.
#[test]
fn a_changelog_recreated_under_a_running_owner_halts_it() {
    let installation = Installation::new(&bootstrap(), "under-changelog", ONE_PARTITION);
    let mut worker = installation.worker(&[]);
    installation.feed(&pages(0, 60, 0), 60);
    recreate(&installation, &installation.topic("centroids"), &QUEUE);
    let began = Instant::now();
    wait_until_halted(&mut worker, &["the changelog", REPLACED, "Rebuilding a table"]);
    println!("changelog recreated: noticed after {:.1} s", began.elapsed().as_secs_f64());
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    // "Rebuilding a table" in docs/kafka.md.
    installation.produce(&pages(60, 90, 0));
    rename_topics(&installation, &[("centroids", "centroids-2"), ("verdicts", "verdicts-2")]);
    assert_eq!(installation.leitong(&["topics", "create"]).status, 0);
    Admin::new(&installation).delete_group(&format!("{}-cluster", installation.app));
    let mut worker = installation.worker(&[]);
    let verdicts = || topics::verdicts(&installation.bootstrap, &installation.topic("verdicts-2"));
    wait_until("all pages have a verdict", || verdicts().len() >= 90);
    assert_eq!(worker.terminate(), 0);
    assert_all_have_one(&verdicts(), 0, 90);
}
