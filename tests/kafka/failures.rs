//! Brokers that die, and workers that are frozen and wake up as zombies.

use std::time::{Duration, Instant};

use crate::broker::crawler::Crawler;
use crate::broker::topics::{self, Row};
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::broker::{Brokers, bootstrap, wait_until};
use crate::common::article;

/// Fast failure detection, and transactions with an equally short timeout.
fn fast() -> String {
    format!("{FAST_FAILURE_DETECTION}\"transaction.timeout.ms\" = 5000\n\"message.timeout.ms\" = 4000\n")
}

/// Returns how long it takes until these workers have committed `more` verdicts.
#[track_caller]
fn time_until(workers: &[&Worker], more: f64) -> Duration {
    let began = Instant::now();
    let committed =
        || workers.iter().map(|worker| worker.metric("leitong_log_records_taken_total")).sum::<f64>();
    let target = committed() + more;
    wait_until("verdicts go on", || committed() >= target);
    began.elapsed()
}

#[test]
fn brokers_die_one_after_the_other() {
    let mut brokers = Brokers::start(3);
    let installation = Installation::new(&brokers.bootstrap(), "brokers", &fast());
    let mut workers = [installation.worker(&[]), installation.worker(&[])];
    workers.iter().for_each(|worker| worker.wait_until_ready());
    let crawler = Crawler::start(&installation, 100);
    time_until(&[&workers[0], &workers[1]], 50.0);
    // Each broker is killed in turn. So the coordinators of all groups and transactions, and the leaders of all
    // partitions, are among them.
    for broker in 0..3 {
        brokers.kill(broker);
        let held_up = time_until(&[&workers[0], &workers[1]], 50.0);
        println!("broker {broker} killed: held up for {:.1} s", held_up.as_secs_f64());
        brokers.restart(broker);
        // Its replicas have caught up when all brokers have all of the topics again.
        wait_until("all copies are in sync", || brokers.in_sync(&installation.topic("log")));
        workers.iter_mut().for_each(|worker| {
            assert!(worker.is_running());
            assert_eq!(worker.get("/livez").expect("an answer").0, 200, "alive throughout");
        });
    }
    let rows = crawler.stop();
    installation.wait_for_verdicts(rows.len());
    for worker in &mut workers {
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
    }
    installation.assert_exactly_once(&rows);
}

/// librdkafka passes over a damaged batch of records, and goes on after it.
#[test]
fn damaged_records_are_never_passed_over() {
    let brokers = Brokers::start(1);
    let one_partition = "[kafka.create]\npage_partitions = 1\nlog_partitions = 1\n";
    let installation = Installation::new(&brokers.bootstrap(), "damaged", one_partition);
    let page = |i: usize| vec![Row::page(0, &format!("p{i}"), &article(i * 7 % 500, 25))];
    let told = |log: &str| log.contains("BadMessage") && log.contains("find the damaged records");
    // Each page is a batch of its own, in each topic.
    let mut worker = installation.worker(&[]);
    (0..3).for_each(|i| installation.feed(&page(i), i + 1));
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    brokers.damage(&installation.topic("verdicts"), 0);
    let tap = installation.leitong(&["tap", "--from", "beginning", "--to-end"]);
    assert!(tap.status == 1 && told(&tap.stderr), "{} {}", tap.status, tap.stderr);
    let mut fingerprint = installation.worker(&["--role", "fingerprint"]);
    for i in 3..5 {
        installation.produce(&page(i));
        wait_until("a record in the log", || {
            topics::read_all(&brokers.bootstrap(), &installation.topic("log")).len() > i
        });
    }
    brokers.damage(&installation.topic("log"), 3);
    let mut owner = installation.worker(&["--role", "cluster"]);
    wait_until(format_args!("the owner tells:\n{}", owner.latest()), || told(&owner.plain_log()));
    assert_eq!(owner.metric("leitong_log_records_taken_total"), 0.0, "the good record after it waits");
    owner.kill();
    assert_eq!(fingerprint.terminate(), 0, "{}", fingerprint.log());
    installation.produce(&page(5));
    installation.produce(&page(6));
    brokers.damage(&installation.topic("pages"), 5);
    let mut worker = installation.worker(&["--role", "fingerprint"]);
    assert_eq!(worker.wait(), 1, "{}", worker.log());
    assert!(told(&worker.plain_log()), "{}", worker.plain_log());
}

#[test]
fn a_frozen_owner_is_fenced() {
    // There is one record per transaction, back to back: wherever the owner freezes, it is within a transaction or
    // between two.
    let more = format!("[kafka.transaction]\nrecords_max = 1\nlinger_ms = 0\n{}", fast());
    let installation = Installation::new(&bootstrap(), "zombie-owner", &more);
    let mut fingerprint = installation.worker(&["--role", "fingerprint"]);
    let mut owners = vec![installation.worker(&["--role", "cluster"])];
    owners[0].wait_until_ready();
    owners.push(installation.worker(&["--role", "cluster"]));
    owners[1].wait_until_ready();
    let crawler = Crawler::start(&installation, 40);
    time_until(&[&owners[0], &owners[1]], 30.0);
    for _ in 0..3 {
        // The owner is the one that commits.
        owners.sort_by_key(|worker| worker.metric("leitong_partitions_owned") as u32);
        let [other, owner] = &mut owners[..] else { panic!("two") };
        owner.signal("STOP");
        let held_up = time_until(&[other], 1.0);
        println!("owner frozen: the next verdict after {:.1} s", held_up.as_secs_f64());
        time_until(&[other], 30.0);
        owner.signal("CONT");
        let owner = &*owner;
        wait_until(format_args!("the zombie notices:\n{}", owner.latest()), || {
            let log = owner.plain_log();
            log.contains("fenced") || log.contains("lost=true") || log.contains("partitions revoked")
        });
        owner.wait_until_ready();
        time_until(&[other, owner], 30.0);
    }
    let rows = crawler.stop();
    installation.wait_for_verdicts(rows.len());
    for worker in owners.iter_mut().chain([&mut fingerprint]) {
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
    }
    installation.assert_exactly_once(&rows);
}

#[test]
fn a_frozen_fingerprint_worker_delays_no_other() {
    let installation = Installation::new(&bootstrap(), "zombie-fingerprint", &fast());
    let mut owner = installation.worker(&["--role", "cluster"]);
    let mut left =
        [installation.worker(&["--role", "fingerprint"]), installation.worker(&["--role", "fingerprint"])];
    owner.wait_until_ready();
    left.iter().for_each(|worker| worker.wait_until_ready());
    let crawler = Crawler::start(&installation, 400);
    time_until(&[&owner], 100.0);
    for round in 0..4 {
        let (frozen, other) = (&left[round % 2], &left[1 - round % 2]);
        // Records are read and sent continuously, so some are in flight.
        frozen.signal("STOP");
        let held_up = time_until(&[&owner], 100.0);
        println!("fingerprint worker frozen: a hundred verdicts more after {:.1} s", held_up.as_secs_f64());
        wait_until("the other one has its partitions", || other.metric("leitong_partitions_owned") == 3.0);
        time_until(&[&owner], 100.0);
        frozen.signal("CONT");
        time_until(&[&owner], 100.0);
        frozen.wait_until_ready();
    }
    let rows = crawler.stop();
    installation.wait_for_verdicts(rows.len());
    println!("records dropped: {}", owner.metric("leitong_log_records_dropped_total"));
    for worker in left.iter_mut().chain([&mut owner]) {
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
    }
    installation.assert_exactly_once(&rows);
}
