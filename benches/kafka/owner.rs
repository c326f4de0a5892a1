//! Measures how fast one owner drains its partition of the log.

use std::fs;
use std::time::Instant;

use crate::broker::bootstrap;
use crate::broker::worker::Installation;
use crate::{articles, cpu_seconds, median, wait_for_metric};

/// Number of records in the log that owners drain.
pub(crate) const RECORDS: usize = 60_000;

/// Returns an installation of this name whose log has [`RECORDS`] records, and no owner yet.
pub(crate) fn full_log(name: &str) -> Installation {
    let installation = Installation::new(&bootstrap(), name, "");
    installation.produce(&articles(RECORDS, 3));
    let mut worker = installation.worker(&["--role", "fingerprint"]);
    wait_for_metric(&worker, "leitong_log_records_sent_total", RECORDS as f64);
    assert_eq!(worker.terminate(), 0);
    installation
}

/// Returns a new installation that reads the log of `installation`, with separate output topics and a
/// separate group.
pub(crate) fn again(installation: &Installation, name: &str, config: &str) -> Installation {
    let again = Installation::new(&bootstrap(), name, config);
    let text = fs::read_to_string(again.config()).expect("a configuration");
    let text = text.replace(&again.topic("log"), &installation.topic("log"));
    fs::write(again.config(), text).expect("written");
    again
}

/// The figures of draining a log.
struct Drained {
    records_per_second: f64,
    /// Microseconds of CPU per record.
    cost: f64,
    /// Share of the time in which the worker decides.
    deciding: f64,
    /// Share of the time in which the worker writes and commits.
    committing: f64,
}

impl Drained {
    /// Lets a worker with these settings drain the log of `installation`, and returns the figures.
    fn by_a_worker(installation: &Installation, name: &str, config: &str) -> Self {
        let again = again(installation, name, config);
        let worker = again.worker(&["--role", "cluster"]);
        let taken = || worker.metric("leitong_log_records_taken_total");
        wait_for_metric(&worker, "leitong_log_records_taken_total", 1.0);
        let cpu = || cpu_seconds(&worker.pid().to_string());
        let busy = |stage: &str| {
            worker.metric(&format!("leitong_stage_microseconds_total{{stage=\"{stage}\"}}")) / 1e6
        };
        let before = (taken(), cpu(), busy("cluster"), busy("transaction"));
        let began = Instant::now();
        wait_for_metric(&worker, "leitong_log_records_taken_total", RECORDS as f64);
        let (records, seconds) = (RECORDS as f64 - before.0, began.elapsed().as_secs_f64());
        Self {
            records_per_second: records / seconds,
            cost: (cpu() - before.1) / records * 1e6,
            deciding: (busy("cluster") - before.2) / seconds,
            committing: (busy("transaction") - before.3) / seconds,
        }
    }
}

/// Prints the medians of draining under the name `what`.
fn print(what: &str, drained: &[Drained]) {
    let median_of = |value: fn(&Drained) -> f64| median(&mut drained.iter().map(value).collect::<Vec<_>>());
    println!(
        "{what}: {:.0} records of the log a second, {:.1} µs of CPU each (medians of {}); threads: {:.2} decide, {:.2} commit",
        median_of(|d| d.records_per_second),
        median_of(|d| d.cost),
        drained.len(),
        median_of(|d| d.deciding),
        median_of(|d| d.committing)
    );
}

/// Measures records of the log per second, decided, written and committed, and their cost.
pub(crate) fn owner() {
    let installation = full_log("owner");
    let round = |round| Drained::by_a_worker(&installation, &format!("owner{round}"), "");
    print("owner", &(0..3).map(round).collect::<Vec<_>>());
}

/// Measures the same figures as [`owner`] with transactions of several sizes, in turn.
pub(crate) fn transaction_sizes() {
    const SIZES: [usize; 5] = [500, 1000, 2000, 5000, 10_000];
    let installation = full_log("sizes");
    let mut drained = SIZES.map(|_| Vec::new());
    for round in 0..3 {
        for (size, drained) in SIZES.iter().zip(&mut drained) {
            let config = format!("[kafka.transaction]\nrecords_max = {size}\n");
            drained.push(Drained::by_a_worker(&installation, &format!("size{size}-{round}"), &config));
        }
    }
    for (size, drained) in SIZES.iter().zip(&drained) {
        print(&format!("transactions of {size} records"), drained);
    }
}
