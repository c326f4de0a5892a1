//! A sink slower than the source: memory stays bounded, polling continues, transactions become smaller, and
//! everything arrives in the end.

use crate::admin::throttle;
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::broker::{bootstrap, pause};
use crate::common::article;

/// The maximum under the configuration below: 16 MiB of pages in the pipeline, librdkafka's queues (32 MiB of
/// pages fetched, 32 MiB of records sent, 16 MiB of the log), and the program with its dictionaries, in a
/// debug build.
const RESIDENT_BYTES_MAX: u64 = 450 << 20;

#[test]
fn a_slow_sink_holds_the_source_back() {
    let more = "[pipeline]\nqueue_bytes = 16777216\nqueue_pages = 500\n[kafka.pages]\npause_after_ms = 500\n\
                [kafka.create]\npage_partitions = 3\n";
    let installation = Installation::new(&bootstrap(), "memory", more);
    // 600 MB of pages, mostly markup, which is fast to read; records of the log stay small.
    let filler = format!("<p>{}</p><!--{}-->", article(3, 60), "x".repeat(500_000));
    let rows: Vec<Row> = (0..1200)
        .map(|i| {
            let page = serde_json::json!({"url": format!("http://a/{i}"), "html": filler});
            Row { partition: i % 3, value: Some(page.to_string().into_bytes()), ..Row::default() }
        })
        .collect();
    // The log accepts about a hundred records per second.
    throttle(&installation.bootstrap, &format!("{}-log", installation.app), 15_000);
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    let mut peak = 0;
    for part in rows.chunks(40) {
        installation.produce(part);
        peak = peak.max(worker.resident_bytes());
    }
    while worker.metric("leitong_verdicts_total") < rows.len() as f64 {
        assert!(worker.is_running());
        peak = peak.max(worker.resident_bytes());
        pause(200);
    }
    println!("resident at most {} MiB", peak >> 20);
    assert!(peak < RESIDENT_BYTES_MAX, "resident {} MiB", peak >> 20);
    assert_eq!(worker.terminate(), 0);
    installation.assert_exactly_once(&rows);
}

#[test]
fn a_throttled_owner_writes_smaller_transactions() {
    // At this rate a batch takes longer than a transaction may.
    let more = "[kafka.transaction]\nrecords_max = 1000\nlinger_ms = 1000\n[kafka.create]\npage_partitions = 1\n\
                [kafka.properties]\n\"transaction.timeout.ms\" = 5000\n\"message.timeout.ms\" = 4000\n\
                \"compression.type\" = \"none\"\n";
    let installation = Installation::new(&bootstrap(), "throttled", more);
    throttle(&installation.bootstrap, &format!("{}-cluster", installation.app), 20_000);
    let rows: Vec<Row> = (0..500).map(|i| Row::page(0, &format!("p{i}"), &article(i % 40, 25))).collect();
    installation.produce(&rows);
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(rows.len());
    assert!(worker.log().contains("the broker is slow: using smaller transactions"), "{}", worker.log());
    let failed = worker.log().matches("the result of a transaction is unknown").count();
    println!("{failed} transactions had an unknown result");
    assert_eq!(worker.terminate(), 0);
    installation.assert_exactly_once(&rows);
}
