//! The figures of docs/kafka.md, over a real broker: `make bench-kafka`, or
//! `cargo bench --bench kafka -- cpu delay restore failover takeover scaling` for some of them.
//!
//! The broker runs on the same machine, and takes its share of the cores.

#[allow(dead_code, reason = "made for the tests")]
#[path = "../tests/kafka/broker/mod.rs"]
mod broker;
#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use broker::topics::{self, Row};
use broker::worker::{Installation, Worker};
use broker::{bootstrap, pause, wait_until};
use common::article;
use leitong::changelog::{Identity, change_record, position_message, position_record};
use leitong::cluster::{Centroid, Change, Position};
use leitong::config::Config;
use leitong::config::hash::cluster_hash;
use leitong::log::watermarks::Watermarks;
use leitong::pipeline::fingerprint_half::FingerprintHalf;
use leitong::pipeline::kafka::client;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;

fn main() {
    if let Ok(what) = std::env::var(FLOOR) {
        return read_and_throw_away(&what);
    }
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let benches: [(&str, fn()); 6] = [
        ("cpu", cpu),
        ("delay", delay),
        ("restore", restore),
        ("failover", failover),
        ("takeover", takeover),
        ("scaling", scaling),
    ];
    for (name, bench) in benches {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            bench();
        }
    }
}

/// CPU time of a process so far, in seconds.
fn cpu_seconds(process: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // User and system time, in ticks of 10 ms; of this process those of the children that have ended.
    let at = if process == "self" { [13, 14] } else { [11, 12] };
    at.iter().filter_map(|at| fields.get(*at)?.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn wait_for_metric(worker: &Worker, name: &str, value: f64) {
    wait_until(&format!("{name} = {value}"), 600, || worker.metric(name) >= value);
}

/// Pages of `bytes` bytes, most of it mark-up.
fn heavy_pages(count: usize, bytes: usize) -> Vec<Row> {
    let html = format!("<p>{}</p><!--{}-->", article(3, 40), "x".repeat(bytes));
    (0..count)
        .map(|i| {
            let page =
                serde_json::json!({"id": format!("p{i}"), "url": format!("http://a/{i}"), "html": html});
            Row { partition: (i % 3) as i32, value: Some(page.to_string().into_bytes()), ..Row::default() }
        })
        .collect()
}

/// Articles of some 6 KB.
fn articles(count: usize, partitions: usize) -> Vec<Row> {
    (0..count).map(|i| Row::page((i % partitions) as i32, &format!("p{i}"), &article(i % 5000, 80))).collect()
}

/// Makes a process of this program the bare consumer: "SERVERS TOPIC PAGES".
const FLOOR: &str = "LEITONG_BENCH_FLOOR";

/// A client as the worker's, which throws all pages away: what no program can go below with this client.
fn read_and_throw_away(what: &str) {
    let what: Vec<&str> = what.split(' ').collect();
    let [servers, topic, pages] = what[..] else { panic!("{FLOOR}: {what:?}") };
    let mut config = Config::default().kafka;
    config.bootstrap_servers = servers.to_owned();
    config.app = format!("floor-{}", std::process::id());
    let consumer: BaseConsumer = client::pages_consumer(&config).create().expect("a consumer");
    consumer.subscribe(&[topic]).expect("subscribed");
    let mut left = pages.parse::<usize>().expect("a number");
    while left > 0 {
        if let Some(Ok(_)) = consumer.poll(Duration::from_millis(100)) {
            left -= 1;
        }
    }
}

/// CPU time of a bare consumer for the first `pages` of an installation's pages, in seconds.
fn floor(installation: &Installation, pages: usize) -> f64 {
    let before = cpu_seconds("self");
    let what = format!("{} {} {pages}", installation.bootstrap, installation.topic("pages"));
    let status = Command::new(std::env::current_exe().expect("a path")).env(FLOOR, what).status();
    assert!(status.expect("it starts").success());
    cpu_seconds("self") - before
}

/// What reading from and writing to topics costs beside the work on the pages: `run` against `dedup`, and what a
/// bare consumer of the same pages takes.
fn cpu() {
    cpu_of("as they are written", false);
    cpu_of("of a backlog", true);
}

fn cpu_of(which: &str, backlog: bool) {
    const PAGES: usize = 10_000;
    const ROUNDS: usize = 3;
    let rows = heavy_pages(PAGES, 48_000);
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, rows: &[Row]| {
        let mut file = fs::File::create(folder.path().join(name)).expect("a file");
        for row in rows {
            file.write_all(row.value.as_deref().expect("a value"))
                .and_then(|()| file.write_all(b"\n"))
                .expect("written");
        }
        folder.path().join(name)
    };
    let (all, one) = (write("all.jsonl", &rows), write("one.jsonl", &rows[..1]));
    let dedup = |input: &Path| {
        let before = cpu_seconds("self");
        let run =
            common::run(["dedup".as_ref(), "--output".as_ref(), "/dev/null".as_ref(), input.as_os_str()]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        cpu_seconds("self") - before
    };
    let (mut differences, mut floors) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let embedded = dedup(&all) - dedup(&one);
        let more = std::env::var("LEITONG_BENCH_CONFIG").unwrap_or_default();
        let installation = Installation::new(&bootstrap(), &format!("cpu{round}"), &more);
        let worker = installation.worker(&[]);
        worker.wait_until_ready(60);
        let before = cpu_seconds(&worker.pid().to_string());
        if backlog {
            // Shorter than the session time-out: it stays a member.
            worker.signal("STOP");
        }
        installation.produce(&rows);
        worker.signal("CONT");
        wait_for_metric(&worker, "leitong_log_records_taken_total", PAGES as f64);
        let over_kafka = cpu_seconds(&worker.pid().to_string()) - before;
        drop(worker);
        let floor = floor(&installation, PAGES) - floor(&installation, 1);
        let micros = |seconds: f64| seconds / PAGES as f64 * 1e6;
        println!(
            "cpu: pages {which}: {:.1} µs a page over Kafka, {:.1} µs embedded; a bare consumer {:.1} µs",
            micros(over_kafka),
            micros(embedded),
            micros(floor)
        );
        differences.push(micros(over_kafka - embedded));
        floors.push(micros(floor));
    }
    println!(
        "cpu: pages {which}: the Kafka ends add {:.1} µs a page of 50 KB, a bare consumer takes {:.1} µs (medians of {ROUNDS})\n",
        median(&mut differences),
        median(&mut floors)
    );
}

/// From a page written to its verdict readable, at half of what the worker can do, with default settings.
fn delay() {
    let rows = articles(20_000, 3);
    let installation = Installation::new(&bootstrap(), "delay-full", "");
    installation.produce(&rows);
    let worker = installation.worker(&[]);
    wait_for_metric(&worker, "leitong_log_records_taken_total", 1000.0);
    let (began, first) = (Instant::now(), worker.metric("leitong_log_records_taken_total"));
    wait_for_metric(&worker, "leitong_log_records_taken_total", rows.len() as f64);
    let full = (rows.len() as f64 - first) / began.elapsed().as_secs_f64();
    drop(worker);

    let installation = Installation::new(&bootstrap(), "delay-half", "");
    let worker = installation.worker(&[]);
    worker.wait_until_ready(60);
    let consumer = verdict_reader(&installation);
    let producer = topics::producer(&installation.bootstrap);
    let (per_second, count) = (full / 2.0, ((full / 2.0 * 20.0) as usize).min(rows.len()));
    let mut delays = vec![0.0; count];
    let stop = Arc::new(AtomicBool::new(false));
    let sent = std::thread::scope(|scope| {
        let crawler = scope.spawn(|| {
            let began = Instant::now();
            let mut sent = Vec::with_capacity(count);
            for (i, row) in rows[..count].iter().enumerate() {
                let due = Duration::from_secs_f64(i as f64 / per_second);
                while began.elapsed() < due {
                    pause(1);
                }
                sent.push(Instant::now());
                topics::send(&producer, &installation.topic("pages"), row);
            }
            rdkafka::producer::Producer::flush(&producer, Duration::from_secs(60)).expect("delivered");
            sent
        });
        let mut arrived = HashMap::new();
        while arrived.len() < count {
            if let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) {
                let id = String::from_utf8_lossy(message.key().expect("a key"))[1..]
                    .parse::<usize>()
                    .expect("a number");
                arrived.insert(id, Instant::now());
            }
        }
        stop.store(true, Ordering::Relaxed);
        let sent = crawler.join().expect("all are sent");
        for (i, delay) in delays.iter_mut().enumerate() {
            *delay = arrived[&i].duration_since(sent[i]).as_secs_f64();
        }
        sent
    });
    delays.sort_by(f64::total_cmp);
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize];
    println!(
        "delay: {full:.0} pages/s of 6 KB at full load; at half of it {} pages: p50 {:.0} ms, p99 {:.0} ms, longest {:.0} ms\n",
        sent.len(),
        at(0.5) * 1e3,
        at(0.99) * 1e3,
        at(1.0) * 1e3
    );
}

fn verdict_reader(installation: &Installation) -> BaseConsumer {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &installation.bootstrap)
        .set("group.id", format!("{}-reader", installation.app))
        .set("isolation.level", "read_committed")
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .create()
        .expect("a consumer");
    consumer.subscribe(&[&installation.topic("verdicts")]).expect("subscribed");
    consumer
}

/// Centres in the tables that are restored.
const CENTROIDS: u64 = 1_000_000;

/// An installation whose changelog holds so many centres, of pages that are in the log no more.
fn filled(name: &str, more: &str) -> Installation {
    let more = format!("{more}[kafka.create]\npage_partitions = 3\n");
    let installation = Installation::new(&bootstrap(), name, &more);
    let config = Config::default();
    let half = FingerprintHalf::new(config.clone()).expect("the default settings");
    let detector = half.detector();
    let length =
        (1..1000).find(|length| detector.is_fingerprint(&vec![7; *length])).expect("some length is right");
    let producer = topics::producer(&installation.bootstrap);
    let (log, topic) = (installation.topic("log"), installation.topic("centroids"));
    let mut state = 1_u64;
    for log_offset in 0..CENTROIDS {
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        let fingerprint: Vec<u8> = (0..length).map(|_| random()).collect();
        let centroid = Centroid {
            log_offset,
            log_time: None,
            fingerprint: fingerprint.into(),
            text_digest: u128::from(log_offset),
            page_id: format!("{:032x}", u128::from(log_offset).wrapping_mul(0x9e37_79b9_7f4a_7c15)).into(),
            url: format!("https://news.example.com/articles/2026/11/{log_offset}.html").into(),
        };
        let change =
            Change::Founded { corpus: "default".into(), fingerprint_hash: half.fingerprint_hash(), centroid };
        let record = change_record(&change, 1, 0, &**detector);
        topics::send(&producer, &log, &Row { value: Some(vec![0]), ..Row::default() });
        topics::send(
            &producer,
            &topic,
            &Row { key: Some(record.key), value: record.value, ..Row::default() },
        );
    }
    let identity = Identity {
        log_partition: 0,
        log_partition_count: 1,
        fingerprint_hash: half.fingerprint_hash(),
        cluster_hash: cluster_hash(&config, &**detector),
        corpus_hash: 0,
    };
    let position = Position { log_generation: 1, next_log_offset: CENTROIDS, ..Position::default() };
    let record =
        position_record(&position_message(position, &identity, 0, CENTROIDS, &Watermarks::default()));
    topics::send(&producer, &topic, &Row { key: Some(record.key), value: record.value, ..Row::default() });
    rdkafka::producer::Producer::flush(&producer, Duration::from_secs(120)).expect("delivered");
    installation
}

/// How fast a table is read back.
fn restore() {
    let installation = filled("restore", "");
    let mut rates = Vec::new();
    let mut memory = 0;
    for _ in 0..3 {
        let mut worker = installation.worker(&["--role", "cluster"]);
        worker.wait_for_log("worker starts", 60);
        let before = cpu_seconds(&worker.pid().to_string());
        worker.wait_until_ready(600);
        let cpu = cpu_seconds(&worker.pid().to_string()) - before;
        let seconds = worker.metric("leitong_restore_seconds");
        assert_eq!(worker.metric("leitong_restored_centroids"), CENTROIDS as f64);
        println!("restore: {CENTROIDS} centres in {seconds:.2} s, {cpu:.2} s of CPU");
        rates.push(CENTROIDS as f64 / cpu / 1e6);
        memory = worker.resident_bytes() / CENTROIDS;
        assert_eq!(worker.terminate(30), 0);
    }
    println!(
        "restore: {:.2} M centres a second and core, {memory} bytes resident a centre\n",
        median(&mut rates)
    );
}

/// A crawler that writes 100 pages a second to three partitions, until it is stopped.
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

/// How long verdicts stay away when an owner is killed, and when a fingerprint worker is; default settings.
fn failover() {
    let (mut owners_away, mut own_away, mut others_away) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..3 {
        let installation = Installation::new(&bootstrap(), &format!("failover{round}"), "");
        let mut left = [(); 2].map(|()| installation.worker(&["--role", "fingerprint"]));
        let mut right = [(); 2].map(|()| installation.worker(&["--role", "cluster"]));
        left.iter().chain(&right).for_each(|worker| worker.wait_until_ready(60));
        let stop = Arc::new(AtomicBool::new(false));
        let crawler = crawler(&installation, &stop);
        let taken = "leitong_log_records_taken_total";
        wait_until("verdicts", 60, || right.iter().any(|worker| worker.metric(taken) > 200.0));
        right.sort_by_key(|worker| worker.metric(taken) as u64);
        let [other, owner] = &mut right;
        owner.kill();
        let began = Instant::now();
        wait_until("the other one takes over", 60, || other.metric(taken) > 0.0);
        owners_away.push(began.elapsed().as_secs_f64());
        pause(3000);

        // Now one that fingerprints: from when to when did each partition give no verdict?
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

/// How long verdicts stay away when the owner of a million centres is killed: by default, with snapshots, and with a
/// standby; and whether snapshots hold verdicts up. Default settings otherwise.
fn takeover() {
    for (name, more) in [
        ("default", ""),
        ("snapshots", "[kafka.snapshots]\ndir = \"snapshots\"\ninterval_s = 5\n"),
        ("standby", ""),
    ] {
        let installation = filled(&format!("takeover-{name}"), more);
        if name == "standby" {
            let text = fs::read_to_string(installation.config()).expect("a configuration");
            fs::write(installation.config(), text.replacen("[kafka]\n", "[kafka]\nstandby = true\n", 1))
                .expect("written");
        }
        let left = installation.worker(&["--role", "fingerprint"]);
        let mut owner = installation.worker(&["--role", "cluster"]);
        owner.wait_until_ready(120);
        let other = installation.worker(&["--role", "cluster"]);
        [&left, &other].iter().for_each(|worker| worker.wait_until_ready(120));
        let stop = Arc::new(AtomicBool::new(false));
        let crawler = crawler(&installation, &stop);
        let taken = "leitong_log_records_taken_total";
        wait_until("verdicts", 60, || owner.metric(taken) > 200.0);
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
        let log = common::plain(&owner.log());
        let written: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("snapshot written"))
            .filter_map(|line| line.split("seconds=").nth(1))
            .collect();
        owner.kill();
        let began = Instant::now();
        wait_until("the other one takes over", 60, || other.metric(taken) > 0.0);
        let away = began.elapsed().as_secs_f64();
        let restore = other.metric("leitong_restore_seconds");
        let records = other.metric("leitong_restored_records");
        stop.store(true, Ordering::Relaxed);
        crawler.join().expect("it ends");
        println!(
            "takeover: {name}: a million centres; longest time between verdicts before it {:.0} ms, snapshots written in \
             {written:?} s; owner killed: next verdict after {away:.1} s, of which the restore took {restore:.2} s, \
             reading {records} records",
            longest.as_secs_f64() * 1e3
        );
    }
    println!();
}

/// CPU time that the machine has spent so far, in seconds.
fn machine_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.lines().next().unwrap_or_default().split_whitespace().filter_map(|f| f.parse().ok()).collect();
    // User, nice, system, then idle and waiting, then interrupts.
    fields
        .iter()
        .enumerate()
        .filter(|(at, _)| ![3, 4].contains(at) && *at < 7)
        .map(|(_, ticks)| ticks)
        .sum::<f64>()
        / 100.0
}

/// The stateless half with one process and with two, each on a core of its own.
fn scaling() {
    let rows = articles(30_000, 4);
    let mut rates: [Vec<f64>; 2] = Default::default();
    for round in 0..3 {
        for processes in 1..=2 {
            let more = "[pipeline]\nthreads = 1\n[kafka.create]\npage_partitions = 4\n";
            let installation = Installation::new(&bootstrap(), &format!("scaling{round}-{processes}"), more);
            let workers: Vec<Worker> =
                (0..processes).map(|_| installation.worker(&["--role", "fingerprint"])).collect();
            for (core, worker) in workers.iter().enumerate() {
                worker.wait_until_ready(60);
                let pinned = Command::new("taskset")
                    .args(["-a", "-c", "-p", &core.to_string(), &worker.pid().to_string()])
                    .output();
                assert!(pinned.expect("taskset starts").status.success());
            }
            installation.produce(&rows);
            let sent =
                || workers.iter().map(|worker| worker.metric("leitong_log_records_sent_total")).sum::<f64>();
            let cpu = || workers.iter().map(|worker| cpu_seconds(&worker.pid().to_string())).sum::<f64>();
            let (began, first, own, machine) = (Instant::now(), sent(), cpu(), machine_seconds());
            wait_until("all are sent", 600, || sent() >= rows.len() as f64);
            let (pages, seconds) = (rows.len() as f64 - first, began.elapsed().as_secs_f64());
            let (own, machine) = (cpu() - own, machine_seconds() - machine);
            let rate = pages / seconds;
            println!(
                "scaling: {processes} process(es): {rate:.0} pages/s, {:.1} µs of CPU a page; they had {:.2} cores, all \
                 others {:.2}",
                own / pages * 1e6,
                own / seconds,
                (machine - own) / seconds
            );
            rates[processes - 1].push(rate);
        }
    }
    let [one, two] = rates.each_mut().map(|rates| median(rates));
    println!("scaling: {one:.0} pages/s with one, {two:.0} with two: {:.2} times as many\n", two / one);
}
