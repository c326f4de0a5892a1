//! Measures the time from writing a page to reading its verdict.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::producer::Producer;

use crate::broker::worker::Installation;
use crate::broker::{bootstrap, pause, topics};
use crate::{articles, wait_for_metric};

/// Measures the time from writing a page to reading its verdict, at half of the worker's capacity, with
/// default settings.
pub(crate) fn delay() {
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
    worker.wait_until_ready();
    let consumer = verdict_reader(&installation);
    // The reader needs some seconds to join its group. They do not count.
    while consumer.assignment().expect("an assignment").count() == 0 {
        assert!(consumer.poll(Duration::from_millis(10)).is_none(), "there are no verdicts yet");
    }
    let producer = topics::producer(&installation.bootstrap);
    let (per_second, count) = (full / 2.0, ((full / 2.0 * 20.0) as usize).min(rows.len()));
    let mut delays = vec![0.0; count];
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
            producer.flush(Duration::from_secs(60)).expect("delivered");
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

pub(crate) fn verdict_reader(installation: &Installation) -> BaseConsumer {
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
