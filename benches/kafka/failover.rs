//! Measures how long verdicts stop when an instance is killed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::message::Message;

use crate::broker::worker::Installation;
use crate::broker::{bootstrap, pause, topics, wait_until};
use crate::delay::verdict_reader;
use crate::restore::filled;
use crate::{articles, median};

/// Starts a crawler that writes 100 pages per second to three partitions until it is stopped.
fn crawler(installation: &Installation, stop: &Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let (bootstrap, topic, stop) =
        (installation.bootstrap.clone(), installation.topic("pages"), Arc::clone(stop));
    std::thread::spawn(move || {
        let producer = topics::producer(&bootstrap);
        for row in articles(100_000, 3) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            topics::send(&producer, &topic, &row);
            pause(10);
        }
    })
}

/// Measures how long verdicts stop when an owner is killed, and when a fingerprint worker is; default
/// settings.
pub(crate) fn failover() {
    let (mut owners_away, mut own_away, mut others_away) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..3 {
        let installation = Installation::new(&bootstrap(), &format!("failover{round}"), "");
        let mut left = [(); 2].map(|()| installation.worker(&["--role", "fingerprint"]));
        let mut right = [(); 2].map(|()| installation.worker(&["--role", "cluster"]));
        left.iter().chain(&right).for_each(|worker| worker.wait_until_ready());
        let stop = Arc::new(AtomicBool::new(false));
        let crawler = crawler(&installation, &stop);
        let taken = "leitong_log_records_taken_total";
        wait_until("verdicts", || right.iter().any(|worker| worker.metric(taken) > 200.0));
        right.sort_by_key(|worker| worker.metric(taken) as u64);
        let [other, owner] = &mut right;
        owner.kill();
        let began = Instant::now();
        wait_until("the other one takes over", || other.metric(taken) > 0.0);
        owners_away.push(began.elapsed().as_secs_f64());
        pause(3000);

        // Now kill a fingerprint worker: for how long did each partition have no verdicts?
        let consumer = verdict_reader(&installation);
        let mut last: HashMap<u64, Instant> = HashMap::new();
        let mut gaps: HashMap<u64, f64> = HashMap::new();
        let mut killed = None;
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30) {
            if began.elapsed() > Duration::from_secs(5) && killed.is_none() {
                left[0].kill();
                killed = Some(Instant::now());
            }
            let Some(Ok(message)) = consumer.poll(Duration::from_millis(20)) else { continue };
            let verdict: serde_json::Value =
                serde_json::from_slice(message.payload().expect("a value")).expect("JSON");
            let partition = verdict["source"]["partition"].as_u64().expect("a partition");
            let before = last.insert(partition, Instant::now());
            if let (Some(before), Some(_)) = (before, killed) {
                let gap = gaps.entry(partition).or_insert(0.0);
                *gap = gap.max(before.elapsed().as_secs_f64());
            }
        }
        let mut gaps: Vec<f64> = gaps.into_values().collect();
        gaps.sort_by(f64::total_cmp);
        others_away.push(gaps[0]);
        own_away.push(*gaps.last().expect("partitions"));
        stop.store(true, Ordering::Relaxed);
        crawler.join().expect("it ends");
        println!(
            "failover: owner killed, next verdict after {:.1} s; fingerprint worker killed, its partitions without \
             verdicts for {:.1} s, others for {:.1} s",
            owners_away[round], own_away[round], others_away[round]
        );
    }
    println!(
        "failover: medians {:.1} s, {:.1} s, {:.1} s\n",
        median(&mut owners_away),
        median(&mut own_away),
        median(&mut others_away)
    );
}

/// Measures how long verdicts stop when the owner of a million centroids is killed: by default, with
/// snapshots, and with a standby; and whether snapshots delay verdicts. Default settings otherwise.
pub(crate) fn takeover() {
    for (name, more) in [
        ("default", ""),
        ("snapshots", "[kafka.snapshots]\ndir = \"snapshots\"\ninterval_s = 5\n"),
        ("standby", ""),
    ] {
        let installation = filled(&format!("takeover-{name}"), more);
        if name == "standby" {
            installation.keep_standbys();
        }
        let left = installation.worker(&["--role", "fingerprint"]);
        let mut owner = installation.worker(&["--role", "cluster"]);
        owner.wait_until_ready();
        let other = installation.worker(&["--role", "cluster"]);
        [&left, &other].iter().for_each(|worker| worker.wait_until_ready());
        let stop = Arc::new(AtomicBool::new(false));
        let crawler = crawler(&installation, &stop);
        let taken = "leitong_log_records_taken_total";
        wait_until("verdicts", || owner.metric(taken) > 200.0);
        let consumer = verdict_reader(&installation);
        let (mut last, mut longest) = (None, Duration::ZERO);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(25) {
            let Some(Ok(_)) = consumer.poll(Duration::from_millis(20)) else { continue };
            // The reader needs some seconds to join.
            if began.elapsed() > Duration::from_secs(8) {
                longest = longest.max(last.map_or(Duration::ZERO, |last: Instant| last.elapsed()));
            }
            last = Some(Instant::now());
        }
        let log = owner.plain_log();
        let written: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("snapshot written"))
            .filter_map(|line| line.split("seconds=").nth(1))
            .collect();
        owner.kill();
        let began = Instant::now();
        wait_until("the other one takes over", || other.metric(taken) > 0.0);
        let away = began.elapsed().as_secs_f64();
        let restore = other.metric("leitong_restore_seconds");
        let records = other.metric("leitong_restored_records");
        stop.store(true, Ordering::Relaxed);
        crawler.join().expect("it ends");
        println!(
            "takeover: {name}: a million centroids; longest time between verdicts before it {:.0} ms, snapshots written in \
             {written:?} s; owner killed: next verdict after {away:.1} s, of which the restore took {restore:.2} s, \
             reading {records} records",
            longest.as_secs_f64() * 1e3
        );
    }
    println!();
}
