//! Measures the cost of recognising recrawls: time and memory for a million urls that are crawled twice, every third of
//! which has another text the second time, compared with the same pages without recognition.
//!
//! `cargo bench --bench recrawls`

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs};

use leitong::config::Config;
use leitong_base::record::{FingerprintRecord, TextDigest};
use leitong_cluster::{ClusterRules, Clusterer, Position, RecrawlsConfig};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::SimHash;
use xxhash_rust::xxh3::xxh3_64;

const URLS: usize = 1_000_000;
const BATCH: usize = 500;
/// Name of the case that a process measures.
const CASE: &str = "LEITONG_RECRAWLS_CASE";

/// Returns the resident memory of this process, in bytes.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() * 1024.0
}

/// Returns a page with its own text, or, with `pairs`, with a text that it shares with one other url.
fn page(url: usize, crawl: usize, pairs: bool, length: usize) -> FingerprintRecord {
    let changed = crawl * usize::from(url.is_multiple_of(3));
    let text = (if pairs { url / 2 } else { url }) * 2 + changed;
    let mut fingerprint = vec![0_u8; length];
    for (at, bytes) in fingerprint.chunks_mut(8).enumerate() {
        let random = xxh3_64(&(text * 64 + at).to_le_bytes()).to_le_bytes();
        bytes.copy_from_slice(&random[..bytes.len()]);
    }
    FingerprintRecord {
        page_id: format!("{:032x}", xxh3_64(&url.to_le_bytes())),
        url: format!("https://site-{}.example/news/2026/11/23/{url}.html", url % 5000),
        text: Some(TextDigest { digest: text as u128, chars: 900 }),
        ..FingerprintRecord::numbered(url, Some(fingerprint.into()))
    }
}

/// Measures one case and prints it.
fn measure(pairs: bool, enabled: bool) {
    let detector: Arc<dyn Detector> = Arc::new(SimHash::new(&Config::default().simhash));
    let length = (1..1000).find(|length| detector.is_fingerprint(&vec![7; *length])).expect("some length");
    let before = resident();
    let recrawls = RecrawlsConfig { enabled, ..RecrawlsConfig::default() };
    let rules = ClusterRules { recrawls, ..ClusterRules::default() };
    let mut clusterer = Clusterer::new(Arc::clone(&detector), rules, Position::default());
    let (mut took, mut recrawled, mut once) = (0.0, 0, 0.0);
    for crawl in 0..2 {
        for first in (0..URLS).step_by(BATCH) {
            let pages: Vec<_> = (first..first + BATCH).map(|url| page(url, crawl, pairs, length)).collect();
            let offset = (crawl * URLS + first) as u64;
            let records: Vec<_> = (offset..).zip(pages.iter().map(Some)).collect();
            let began = Instant::now();
            clusterer.decide_batch(&records).expect("in memory");
            recrawled += clusterer.take_recrawls().len();
            took += began.elapsed().as_secs_f64();
        }
        if crawl == 0 {
            once = resident() - before;
        }
    }
    println!(
        "{}, recrawls.enabled = {enabled}: {:.0} bytes resident a url after the first crawl; {:.2} µs a crawl; \
         {recrawled} recrawls, {} centroids",
        if pairs { "every text on two urls" } else { "every text on one url" },
        once / URLS as f64,
        took / (2 * URLS) as f64 * 1e6,
        clusterer.centroid_count(),
    );
}

/// Runs each case in a separate process, because memory freed by one case would be reused by the next.
fn main() {
    let cases = [(false, false), (false, true), (true, false), (true, true)];
    match env::var(CASE).ok().and_then(|case| case.parse::<usize>().ok()) {
        Some(case) => measure(cases[case].0, cases[case].1),
        None => {
            let program = env::current_exe().expect("this program");
            for case in 0..cases.len() {
                let status =
                    Command::new(&program).env(CASE, case.to_string()).status().expect("this program runs");
                assert!(status.success(), "case {case} failed");
            }
        }
    }
}
