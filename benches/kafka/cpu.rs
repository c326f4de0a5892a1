//! Measures the cost of reading from and writing to topics, on top of the work on the pages.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::broker::bootstrap;
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::common::{self, article};
use crate::{cpu_seconds, wait_for_metric};

/// Returns pages of `bytes` bytes, mostly mark-up.
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

/// Environment variable whose value, "SERVERS TOPIC PAGES", turns a process of this program into a bare
/// consumer.
pub(crate) const FLOOR: &str = "LEITONG_BENCH_FLOOR";

/// Runs a client like the worker's that discards all pages: the least that any program needs with this
/// client.
pub(crate) fn read_and_throw_away(what: &str) {
    let what: Vec<&str> = what.split(' ').collect();
    let [servers, topic, pages] = what[..] else { panic!("{FLOOR}: {what:?}") };
    // The settings of the worker's consumer, except that this one starts at the beginning of the topic.
    let group = format!("floor-{}", std::process::id());
    let settings = [
        ("bootstrap.servers", servers),
        ("group.id", &group),
        ("enable.auto.commit", "false"),
        ("fetch.min.bytes", "65536"),
        ("fetch.wait.max.ms", "50"),
        ("auto.offset.reset", "earliest"),
    ];
    let mut config = ClientConfig::new();
    config.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let consumer: BaseConsumer = config.create().expect("a consumer");
    consumer.subscribe(&[topic]).expect("subscribed");
    let mut left = pages.parse::<usize>().expect("a number");
    while left > 0 {
        if let Some(page) = consumer.poll(Duration::from_millis(100)) {
            page.expect("a page");
            left -= 1;
        }
    }
}

/// Returns the CPU time in seconds that a bare consumer needs for the first `pages` pages of an installation.
fn floor(installation: &Installation, pages: usize) -> f64 {
    let before = cpu_seconds("self");
    let what = format!("{} {} {pages}", installation.bootstrap, installation.topic("pages"));
    let status = Command::new(std::env::current_exe().expect("a path")).env(FLOOR, what).status();
    assert!(status.expect("it starts").success());
    cpu_seconds("self") - before
}

/// Measures the cost of reading from and writing to topics: `run` compared with `dedup`, and a bare consumer
/// of the same pages.
pub(crate) fn cpu() {
    cpu_of("as they are written", false);
    cpu_of("of a backlog", true);
}

fn cpu_of(which: &str, backlog: bool) {
    const PAGES: usize = 10_000;
    const ROUNDS: usize = 5;
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
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..ROUNDS {
        let embedded = dedup(&all) - dedup(&one);
        let more = std::env::var("LEITONG_BENCH_CONFIG").unwrap_or_default();
        let installation = Installation::new(&bootstrap(), &format!("cpu{round}"), &more);
        let worker = installation.worker(&[]);
        worker.wait_until_ready();
        let before = cpu_seconds(&worker.pid().to_string());
        if backlog {
            // The pause is shorter than the session timeout, so the worker stays a member of its group.
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
        for (times, seconds) in times.iter_mut().zip([over_kafka, embedded, floor]) {
            times.push(micros(seconds));
        }
    }
    // Other programs only add to the time, so the lowest figures are the closest.
    let [lowest, medians] = [|times: &[f64]| times[0], |times: &[f64]| times[ROUNDS / 2]].map(|at| {
        times.each_mut().map(|times| {
            times.sort_by(f64::total_cmp);
            at(times)
        })
    });
    for (what, [over_kafka, embedded, floor]) in [("lowest", lowest), ("medians", medians)] {
        println!(
            "cpu: pages {which}, {what} of {ROUNDS}: {over_kafka:.1} µs a page of 50 KB over Kafka, {embedded:.1} µs \
             embedded: {:.1} µs for the Kafka ends; a bare consumer {floor:.1} µs",
            over_kafka - embedded
        );
    }
    println!();
}
