//! The console of a worker. The test simulates what it shows, since no worker runs without a broker.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;

use leitong_graph::telemetry::health::Health;
use leitong_graph::telemetry::tally::{self, Tallied};
use leitong_http::admin::{AdminConsole, AdminPort, MorePaths};

use crate::browser::Browser;
use crate::checks::{HOSTILE, assert_well_made, picture};

/// A worker at work; all its names are hostile, except those in a picture.
#[test]
fn a_worker_is_shown_as_it_is_now() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let port = runtime.block_on(AdminPort::bind("127.0.0.1:0")).expect("a port");
    let origin = format!("http://{}", port.address());
    let recorder = PrometheusBuilder::new().build_recorder();
    let health = Arc::new(Health::default());
    let console = Arc::new(AdminConsole::begin(Arc::clone(&health), recorder.handle(), true, true));
    let working = Arc::clone(&console);
    let more_paths: MorePaths = Arc::new(move |request| working.answer(request));
    runtime.spawn(port.serve(Arc::clone(&health), recorder.handle(), Some(more_paths)));
    metrics::with_local_recorder(&recorder, || work(&console));
    let mut browser = Browser::start();
    browser.window((1100, 1180), true);
    browser.open(&format!("{origin}/console/?lang=en"));
    picture(&mut browser, "console-worker.png");
    // The script updates the page, and stays within the page's policy.
    metrics::with_local_recorder(&recorder, || {
        metrics::counter!("leitong_dead_letters_total", "cause" => HOSTILE).increment(9);
    });
    let name = |name: &str| name.to_owned();
    let joined = Some((name(HOSTILE), name(HOSTILE)));
    tally::committed(&[Tallied { corpus: name(HOSTILE), host: name(HOSTILE), joined }]);
    health.add("cluster").refuse(name(HOSTILE));
    browser.run("new Promise(done => { const see = () => document.querySelector('#state').textContent === 'Not ready' \
                 ? done() : setTimeout(see, 50); see(); })");
    assert_eq!(browser.complaints(&origin), Vec::<String>::new());
    assert_eq!(browser.run("typeof window.ran"), "undefined");
    assert_well_made(&mut browser, &format!("{origin}/console/"), &origin);
    assert_well_made(&mut browser, &format!("{origin}/console/?lang=zh"), &origin);
}

/// Simulates a quarter of an hour of work.
fn work(console: &AdminConsole) {
    let set = |name: &'static str, partition: &'static str, value: f64| {
        metrics::gauge!(name, "partition" => partition).set(value);
    };
    let now = leitong_base::record::Timestamp::now().as_ms() as f64 / 1e3;
    metrics::gauge!("leitong_start_timestamp_seconds").set(now - 93_784.0);
    for (stage, partitions) in [("fingerprint", 6.0), ("cluster", 2.0)] {
        metrics::gauge!("leitong_partitions_owned", "stage" => stage).set(partitions);
    }
    for (partition, lag) in [("0", 1_204.0), ("1", 37.0), ("2", 0.0)] {
        metrics::gauge!("leitong_lag_records", "topic" => "leitong.pages", "partition" => partition).set(lag);
    }
    for (partition, centroids) in [("0", 2_481_772.0), ("1", 2_479_035.0)] {
        set("leitong_centroids", partition, centroids);
        set("leitong_restored_centroids", partition, centroids - 96_310.0);
        set("leitong_restore_seconds", partition, 38.2);
        set("leitong_snapshot_timestamp_seconds", partition, now - 412.0);
    }
    set("leitong_standby_centroids", "2", 2_480_204.0);
    metrics::histogram!("leitong_verdict_delay_seconds").record(0.42);
    metrics::counter!("leitong_dead_letters_total", "cause" => "NO_URL").increment(17);
    metrics::counter!("leitong_undecidable_total", "reason" => "NO_CONTENT").increment(20_415);
    for step in 0..180_u32 {
        let wave = (f64::from(step) / 14.0).sin() * 700.0 + (f64::from(step) / 3.0).cos() * 180.0;
        let pages = (9_000.0 + wave * 5.0) as u64;
        metrics::counter!("leitong_pages_read_total").increment(pages);
        for (kind, of_ten) in
            [("UNIQUE", 6), ("NEAR_DUPLICATE", 2), ("EXACT_DUPLICATE", 1), ("UNDECIDABLE", 1)]
        {
            metrics::counter!("leitong_verdicts_total", "kind" => kind).increment(pages * of_ten / 10);
        }
        console.tick_at(f64::from(step) * 5.0);
    }
    for (host, verdicts, duplicates) in
        [("news.example", 420, 201), ("blog.example", 260, 31), ("shop.example", 90, 64)]
    {
        for number in 0..verdicts {
            let joined = (number < duplicates).then(|| {
                (format!("{:032x}", 7 + number % 3), format!("https://news.example/2026/11/{}", number % 3))
            });
            let corpus = if host.starts_with("shop") { "products" } else { "default" }.to_owned();
            tally::committed(&[Tallied { corpus, host: host.to_owned(), joined }]);
        }
    }
}
