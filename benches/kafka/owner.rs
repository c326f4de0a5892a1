//! How fast one owner works off its partition of the log.

use std::fs;
use std::time::Instant;

use crate::broker::bootstrap;
use crate::broker::worker::Installation;
use crate::{articles, cpu_seconds, median, wait_for_metric};

/// Records in the log that owners drain.
pub(crate) const RECORDS: usize = 60_000;

/// An installation named so whose log has [`RECORDS`] records, and no owner yet.
pub(crate) fn full_log(name: &str) -> Installation {
    let installation = Installation::new(&bootstrap(), name, "");
    installation.produce(&articles(RECORDS, 3));
    let mut worker = installation.worker(&["--role", "fingerprint"]);
    wait_for_metric(&worker, "leitong_log_records_sent_total", RECORDS as f64);
    assert_eq!(worker.terminate(30), 0);
    installation
}

/// Begins anew at the log of `installation`: the topics it writes to and its group are its own.
pub(crate) fn again(installation: &Installation, name: &str, config: &str) -> Installation {
    let again = Installation::new(&bootstrap(), name, config);
    let text = fs::read_to_string(again.config()).expect("a configuration");
    let text = text.replace(&again.topic("log"), &installation.topic("log"));
    fs::write(again.config(), text).expect("written");
    again
}

/// Records of the log a second, decided, written and committed, and what that costs.
pub(crate) fn owner() {
    let installation = full_log("owner");
    let (mut rates, mut costs) = (Vec::new(), Vec::new());
    for round in 0..3 {
        let again = again(&installation, &format!("owner{round}"), "");
        let worker = again.worker(&["--role", "cluster"]);
        let taken = || worker.metric("leitong_log_records_taken_total");
        wait_for_metric(&worker, "leitong_log_records_taken_total", 1.0);
        let cpu = || cpu_seconds(&worker.pid().to_string());
        let (began, first, before) = (Instant::now(), taken(), cpu());
        wait_for_metric(&worker, "leitong_log_records_taken_total", RECORDS as f64);
        let records = RECORDS as f64 - first;
        rates.push(records / began.elapsed().as_secs_f64());
        costs.push((cpu() - before) / records * 1e6);
        println!(
            "owner: {:.0} records/s, {:.1} µs of CPU each",
            rates[rates.len() - 1],
            costs[costs.len() - 1]
        );
    }
    let (rate, cost) = (median(&mut rates), median(&mut costs));
    println!("owner: {rate:.0} records of the log a second, {cost:.1} µs of CPU each (medians of 3)\n");
}
