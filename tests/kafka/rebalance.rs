//! Instances that come and go on an ordinary day cause no alarm.

use crate::broker::crawler::Crawler;
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::broker::{bootstrap, wait_until};
use crate::common::article;

/// The worker that handles a rebalance logs no `ERROR … TXNERR`, and no line about a slow broker.
#[test]
fn a_rebalance_is_neither_an_error_nor_a_slow_broker() {
    let installation = Installation::new(&bootstrap(), "rebalance", "");
    let mut first = installation.worker(&[]);
    first.wait_until_ready();
    let crawler = Crawler::start(&installation, 200);
    let mut logs = Vec::new();
    for _ in 0..5 {
        let mut other = installation.worker(&[]);
        wait_until("it has a share of the pages", || other.metric("leitong_partitions_owned") > 0.0);
        assert_eq!(other.terminate(), 0, "{}", other.log());
        logs.push(other.plain_log());
    }
    let rows = crawler.stop();
    installation.wait_for_verdicts(rows.len());
    assert_eq!(first.terminate(), 0, "{}", first.log());
    logs.push(first.plain_log());
    for log in logs {
        for alarm in [" ERROR ", "TXNERR", "the broker is slow"] {
            assert!(!log.contains(alarm), "{alarm:?} is in\n{log}");
        }
    }
    installation.assert_exactly_once(&rows);
}

/// A rolling deployment, or a restarted pod: a member with its own name comes back to its partitions, and the
/// others notice nothing.
#[test]
fn an_instance_with_a_name_comes_back_to_its_partitions() {
    let installation =
        Installation::new(&bootstrap(), "static", "[kafka.properties]\n\"session.timeout.ms\" = 240000\n");
    let text = std::fs::read_to_string(installation.config()).expect("a configuration");
    let named = text.replacen("[kafka]\n", "[kafka]\ninstance_id = \"${INSTANCE:-tools}\"\n", 1);
    std::fs::write(installation.config(), named).expect("written");
    let start = |name: &str| {
        let worker = installation.worker_with(&[], &[("INSTANCE", name)]);
        worker.wait_until_ready();
        worker
    };
    let pages = |from: usize| -> Vec<Row> {
        let page = |i| Row::page((i % 3) as i32, &format!("p{i}"), &article(i % 50, 15));
        (from..from + 90).map(page).collect()
    };
    let first = start("one");
    let mut second = start("two");
    let owned = |stage: &str, worker: &crate::broker::worker::Worker| {
        let (_, metrics) = worker.get("/metrics").unwrap_or_default();
        let line = format!("leitong_partitions_owned{{stage=\"{stage}\"}} ");
        metrics.lines().find_map(|found| found.strip_prefix(&line)?.parse::<u32>().ok()).unwrap_or(0)
    };
    wait_until("pages are shared", || owned("fingerprint", &first) > 0 && owned("fingerprint", &second) > 0);
    installation.feed(&pages(0), 90);
    let moves = || {
        first.plain_log().matches("partitions assigned").count()
            + first.plain_log().matches("revoked").count()
    };
    let (moved, shares) = (moves(), ["fingerprint", "cluster"].map(|stage| owned(stage, &second)));
    for (round, signal) in ["TERM", "KILL"].iter().enumerate() {
        second.signal(signal);
        wait_until("it ends", || !second.is_running());
        second = start("two");
        wait_until("it has its partitions again", || {
            ["fingerprint", "cluster"].map(|stage| owned(stage, &second)) == shares
        });
        installation.feed(&pages(90 * (round + 1)), 90 * (round + 2));
    }
    assert_eq!(
        moves(),
        moved,
        "nothing was taken from the other one, and nothing given:\n{}",
        first.plain_log()
    );
    installation.assert_exactly_once(&(0..3).flat_map(|round| pages(90 * round)).collect::<Vec<_>>());
}

/// The sum in docs/operations.md is correct, and a lower limit causes a warning.
#[test]
fn open_files_are_as_many_as_documented() {
    let installation = Installation::new(&bootstrap(), "files", "");
    let worker = installation.worker(&[]);
    worker.wait_until_ready();
    installation.feed(&[Row::page(0, "p", &article(1, 15))], 1);
    let files = std::fs::read_dir(format!("/proc/{}/fd", worker.pid())).expect("a folder").count();
    println!("{files} open files with one broker");
    assert!(files <= 118, "{files} files, and the estimate is 118");
    assert!(!worker.plain_log().contains("open files are limited"), "{}", worker.plain_log());
    let lower = std::process::Command::new("prlimit")
        .args([
            "--nofile=100:100",
            "--",
            env!("CARGO_BIN_EXE_leitong"),
            "run",
            "--admin",
            "127.0.0.1:0",
            "--config",
        ])
        .arg(installation.config())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let mut lower = lower.expect("prlimit starts it");
    let mut said = std::io::BufReader::new(lower.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("worker starts") && !line.contains("open files are limited to 100") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).expect("text") > 0, "it has ended");
    }
    let _ = lower.kill();
    let _ = lower.wait();
    assert!(line.contains("raise the limit"), "{line}");
}
