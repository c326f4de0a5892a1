//! A crawler that writes pages until it is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::pause;
use super::topics::{self, Row};
use super::worker::Installation;
use crate::common::article;

pub(crate) struct Crawler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Row>>,
}

impl Crawler {
    pub(crate) fn start(installation: &Installation, pages_per_second: u64) -> Self {
        Self::start_with(installation, 0, move || pages_per_second)
    }

    /// Starts with `backlog` pages at once; then writes as many per second as requested, which may change.
    pub(crate) fn start_with(
        installation: &Installation,
        backlog: usize,
        pages_per_second: impl Fn() -> u64 + Send + 'static,
    ) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let (bootstrap, topic) = (installation.bootstrap.clone(), installation.topic("pages"));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let producer = topics::producer(&bootstrap);
            let mut written = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let i = written.len();
                let page = Row::page((i % 3) as i32, &format!("p{i}"), &article(i * 7 % 300, 15));
                // Used if the configuration has corpora by header.
                let corpus = ["甲", "乙", "丙", "丁"][i % 4];
                let row = Row { headers: vec![("corpus".into(), Some(corpus.into()))], ..page };
                topics::send(&producer, &topic, &row);
                written.push(row);
                if i >= backlog {
                    pause(1000 / pages_per_second().max(1));
                }
            }
            topics::flush(&producer);
            written
        });
        Self { stop, thread }
    }

    /// Stops the crawler, and returns all pages that were written.
    pub(crate) fn stop(self) -> Vec<Row> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("all pages are written")
    }
}

/// Writes `rows` to the page topic from a thread, with a pause of `pause_ms` after each. So the workers still have work
/// when a test kills them.
pub(crate) fn write_slowly(installation: &Installation, rows: &[Row], pause_ms: u64) -> JoinHandle<()> {
    let (bootstrap, topic) = (installation.bootstrap.clone(), installation.topic("pages"));
    let rows = rows.to_vec();
    std::thread::spawn(move || {
        let producer = topics::producer(&bootstrap);
        for row in &rows {
            topics::send(&producer, &topic, row);
            pause(pause_ms);
        }
        topics::flush(&producer);
    })
}
