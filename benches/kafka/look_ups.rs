//! Measures the cost of look-ups for the owner of a partition, and their duration next to a worker at half load.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::producer::Producer;
use serde_json::json;

use crate::broker::worker::{Installation, Worker};
use crate::broker::{bootstrap, pause, topics};
use crate::common::serve::Client;
use crate::owner::{RECORDS, again, full_log};
use crate::{articles, cpu_seconds, median, wait_for_metric};

const CONNECTIONS: usize = 8;
const API: &str = "[api]\naddress = \"127.0.0.1:0\"\n";

fn address(worker: &Worker) -> String {
    let said = worker.plain_log();
    let address = said.split("look-ups: http://").nth(1).expect("the port is open");
    address.split_whitespace().next().expect("an address").to_owned()
}

/// Returns bodies of look-ups: texts of some `bytes` bytes, half of which the table knows.
fn bodies(bytes: usize) -> Vec<String> {
    let texts =
        articles(1_000, 1).into_iter().map(|row| row.json()["text"].as_str().expect("a text").to_owned());
    texts
        .enumerate()
        .map(|(number, text)| {
            let text: String = text.chars().take(bytes / 3).collect();
            let text = if number % 2 == 0 { text } else { text.chars().rev().collect() };
            json!({ "id": "asked", "text": text }).to_string()
        })
        .collect()
}

/// Sends this many look-ups per second until `ended`; returns how long each took from its due time, in ascending order.
fn ask(address: &str, bodies: &[String], per_second: f64, ended: &AtomicBool) -> Vec<Duration> {
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    let mut took: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                scope.spawn(|| {
                    let (mut client, mut took) = (Client::to(address), Vec::new());
                    while !ended.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let due = began + Duration::from_secs_f64(number as f64 / per_second);
                        thread::park_timeout(due.saturating_duration_since(Instant::now()));
                        let body = &bodies[number % bodies.len()];
                        let answer = client.post("/v1/lookup", "application/json", body);
                        assert_eq!(answer.status, 200, "{}", answer.body);
                        took.push(due.elapsed());
                    }
                    took
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("no fault")).collect()
    });
    took.sort_unstable();
    took
}

fn at(took: &[Duration], share: f64) -> f64 {
    took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
}

/// Measures the owner's rate as it drains a log, alone and with 1,000 look-ups per second.
pub(crate) fn look_ups() {
    let installation = full_log("asked");
    let bodies = bodies(400);
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    // Rounds of kind 0 have neither look-ups nor a port; rounds of kind 1 have only a port, which shows the cost of the
    // lock.
    for round in 0..9 {
        let (kind, api) = (round % 3, if round % 3 == 0 { "" } else { API });
        let again = again(&installation, &format!("asked{round}"), api);
        let worker = again.worker(&["--role", "cluster"]);
        let taken = || worker.metric("leitong_log_records_taken_total");
        wait_for_metric(&worker, "leitong_log_records_taken_total", 1.0);
        let (began, first, before) = (Instant::now(), taken(), cpu_seconds(&worker.pid().to_string()));
        let ended = AtomicBool::new(false);
        let took = thread::scope(|scope| {
            let clients =
                (kind == 2).then(|| scope.spawn(|| ask(&address(&worker), &bodies, 1000.0, &ended)));
            wait_for_metric(&worker, "leitong_log_records_taken_total", RECORDS as f64);
            rates[kind].push((RECORDS as f64 - first) / began.elapsed().as_secs_f64());
            ended.store(true, Ordering::Relaxed);
            clients.map(|clients| clients.join().expect("no fault"))
        });
        let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds(&worker.pid().to_string()) - before);
        let of_look_ups = took.map_or(String::new(), |took| {
            let rate = took.len() as f64 / seconds;
            format!(
                ", {rate:.0} look-ups/s at the same time, p50 {:.2} ms, p99 {:.2} ms",
                at(&took, 0.5),
                at(&took, 0.99)
            )
        });
        let rate = rates[kind].last().copied().unwrap_or_default();
        println!("look-ups: the owner {rate:.0} records/s in {seconds:.1} s, {cpu:.1} s of CPU{of_look_ups}");
    }
    let [without, idle, beside] = rates.each_mut().map(|rates| median(rates));
    println!(
        "look-ups: the owner {without:.0} records/s without a port, {idle:.0} with an unused one, {beside:.0} with 1,000 \
         look-ups/s (medians of 3)\n"
    );
}

/// Measures the duration of look-ups at 500 per second next to a worker at half of its capacity.
pub(crate) fn look_ups_half() {
    const SECONDS: f64 = 20.0;
    let rows = articles(20_000, 3);
    let full = {
        let installation = Installation::new(&bootstrap(), "asked-full", "");
        installation.produce(&rows);
        let worker = installation.worker(&[]);
        wait_for_metric(&worker, "leitong_log_records_taken_total", 1000.0);
        let (began, first) = (Instant::now(), worker.metric("leitong_log_records_taken_total"));
        wait_for_metric(&worker, "leitong_log_records_taken_total", rows.len() as f64);
        (rows.len() as f64 - first) / began.elapsed().as_secs_f64()
    };
    for bytes in [400, 6_000] {
        let installation = Installation::new(&bootstrap(), &format!("asked-half{bytes}"), API);
        let worker = installation.worker(&[]);
        worker.wait_until_ready();
        let (address, bodies, ended) = (address(&worker), bodies(bytes), AtomicBool::new(false));
        let took = thread::scope(|scope| {
            let clients = scope.spawn(|| ask(&address, &bodies, 500.0, &ended));
            let producer = topics::producer(&installation.bootstrap);
            let (began, topic) = (Instant::now(), installation.topic("pages"));
            for number in 0..(full / 2.0 * SECONDS) as usize {
                while began.elapsed().as_secs_f64() < number as f64 / (full / 2.0) {
                    pause(1);
                }
                topics::send(&producer, &topic, &rows[number % rows.len()]);
            }
            producer.flush(Duration::from_secs(60)).expect("delivered");
            ended.store(true, Ordering::Relaxed);
            clients.join().expect("no fault")
        });
        println!(
            "look-ups: of texts of {bytes} bytes, next to {:.0} pages/s (half of {full:.0}): {:.0} a second, p50 {:.2} ms, p99 {:.2} ms, \
             longest {:.1} ms\n",
            full / 2.0,
            took.len() as f64 / SECONDS,
            at(&took, 0.5),
            at(&took, 0.99),
            at(&took, 1.0)
        );
    }
}
