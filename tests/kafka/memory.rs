//! A sink slower than the source: memory stays bounded, polling goes on, and all arrives in the end.

use crate::admin::throttle;
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::broker::{bootstrap, pause};
use crate::common::article;

/// What the configuration below allows: 16 MiB of pages between the ends, librdkafka's queues (32 MiB of pages fetched,
/// 32 MiB of records sent, 16 MiB of the log), and the program with its dictionaries, in a debug build.
const RESIDENT_BYTES_MAX: u64 = 450 << 20;

#[test]
fn a_slow_sink_holds_the_source_back() {
    let more = "[pipeline]\nqueue_bytes = 16777216\nqueue_pages = 500\n[kafka.pages]\npause_after_ms = 500\n\
                [kafka.create]\npage_partitions = 3\n";
    let installation = Installation::new(&bootstrap(), "memory", more);
    // 600 MB of pages, most of it markup, which is quick to read; records of the log stay small.
    let filler = format!("<p>{}</p><!--{}-->", article(3, 60), "x".repeat(500_000));
    let rows: Vec<Row> = (0..1200)
        .map(|i| {
            let page = serde_json::json!({"url": format!("http://a/{i}"), "html": filler});
            Row { partition: i % 3, value: Some(page.to_string().into_bytes()), ..Row::default() }
        })
        .collect();
    // The log takes a hundred records a second or so.
    throttle(&installation.bootstrap, &format!("{}-log", installation.app), 15_000);
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready(60);
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
    assert_eq!(worker.terminate(30), 0);
    installation.assert_exactly_once(&rows);
}
