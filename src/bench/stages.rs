//! Measures the time that each stage takes for a page, on one core.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::config::Config;
use crate::pipeline::cluster_stage::ClusterStage;
use crate::pipeline::document;
use crate::pipeline::fingerprint_stage::{FingerprintStage, Workspace};
use leitong_base::record::timestamp::Timestamp;
use leitong_base::record::{LogRecord, Outcome};
use leitong_base::work::Work;
use leitong_cluster::verdict::Conclusion;
use leitong_cluster::{Clusterer, Position};
use leitong_corpora::source::Record;
use leitong_fingerprint::detectors::simhash::simhash_of;
use leitong_fingerprint::digest::text_digest;
use leitong_fingerprint::secret::DigestHash;
use leitong_text::segment::{Segmenter, Terms};

/// Number of rounds over all pages. Only the shortest time of each page and stage counts, to limit the effect
/// of other work on the machine.
const ROUNDS: usize = 3;

/// The stages, in the order in which a page goes through them.
pub(crate) const STAGES: [&str; 7] =
    ["read", "extract", "digest", "segment", "fingerprint", "cluster", "write"];

/// The figures of the stages.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct StageFigures {
    /// Number of pages with a fingerprint. Others are left out.
    pub pages: usize,
    /// Mean size of the pages as fetched, in bytes.
    pub page_bytes: f64,
    /// Mean size of their main texts, in bytes.
    pub text_bytes: f64,
    /// Microseconds per page by stage: `read` (the record), `extract` (decode the body, find the main text),
    /// `digest`, `segment`, `fingerprint`, `cluster` (decide), `write` (the verdict as JSON).
    pub micros: Vec<(&'static str, f64)>,
    /// Sum of these times.
    pub micros_a_page: f64,
    /// SimHashes of the pages, if the detector is `simhash`.
    #[serde(skip)]
    pub hashes: Vec<u64>,
}

/// Runs the pages of `records` through all stages.
pub(crate) fn measure(
    records: Vec<Record>,
    config: &Config,
    fingerprint_stage: &FingerprintStage,
    segmenter: &Segmenter,
) -> StageFigures {
    let detector = fingerprint_stage.detector();
    let clusterer = Clusterer::new(detector.clone(), config.cluster_rules(), Position::default());
    let mut cluster_stage = ClusterStage::new(clusterer, detector.clone(), 0);
    let mut bench = PageBench {
        fingerprint_stage,
        segmenter,
        workspace: fingerprint_stage.workspace(),
        terms: Terms::default(),
        buffer: Vec::new(),
    };
    let mut totals = [Duration::ZERO; STAGES.len()];
    let (mut pages, mut page_bytes, mut text_bytes) = (0, 0, 0);
    let mut hashes = Vec::new();
    for record in records {
        let Some(timed) = bench.time(record, &mut cluster_stage) else { continue };
        hashes.extend(timed.hash);
        totals.iter_mut().zip(timed.times).for_each(|(total, time)| *total += time);
        pages += 1;
        page_bytes += timed.page_bytes;
        text_bytes += timed.text_bytes;
    }
    let average = |sum: usize| sum as f64 / pages.max(1) as f64;
    let micros: Vec<(&str, f64)> = STAGES
        .into_iter()
        .zip(totals.map(|total| total.as_secs_f64() * 1e6 / f64::from(pages.max(1) as u32)))
        .collect();
    let micros_a_page = micros.iter().map(|(_, micros)| micros).sum();
    StageFigures {
        pages,
        page_bytes: average(page_bytes),
        text_bytes: average(text_bytes),
        micros,
        micros_a_page,
        hashes,
    }
}

/// The state for timing pages.
struct PageBench<'a> {
    fingerprint_stage: &'a FingerprintStage,
    segmenter: &'a Segmenter,
    workspace: Workspace,
    terms: Terms,
    buffer: Vec<u8>,
}

/// The shortest times of one page.
struct TimedPage {
    times: [Duration; STAGES.len()],
    page_bytes: usize,
    text_bytes: usize,
    /// SimHash of the page, if the detector makes one.
    hash: Option<u64>,
}

impl PageBench<'_> {
    /// Runs a page through all stages several times; `None` if it does not get through all of them.
    fn time(&mut self, record: Record, cluster_stage: &mut ClusterStage) -> Option<TimedPage> {
        let detector = self.fingerprint_stage.detector();
        let place = record.place.clone();
        let mut times = [Duration::MAX; STAGES.len()];
        let since = Instant::now();
        let page = self.fingerprint_stage.reader().page(&record.place, record.payload)?;
        times[0] = since.elapsed();
        let fingerprinted = self.fingerprint_stage.process_page(place, page.clone(), &mut self.workspace);
        let Ok(LogRecord::Page(log_record)) = fingerprinted.record else { return None };
        let Outcome::Fingerprint(fingerprint) = &log_record.outcome else { return None };
        let hash = (detector.name() == "simhash").then(|| simhash_of(fingerprint));
        let mut text_bytes = 0;
        for round in 0..ROUNDS {
            let mut since = Instant::now();
            let mut done = |stage: usize| {
                times[stage] = times[stage].min(since.elapsed());
                since = Instant::now();
            };
            let reading = document::read(&page, self.workspace.extractor(), &mut Work::unbounded()).ok()?;
            done(1);
            std::hint::black_box(text_digest(&reading.document, &DigestHash::default(), &mut self.buffer));
            done(2);
            self.segmenter.segment(&reading.document, &mut self.terms);
            done(3);
            std::hint::black_box(detector.fingerprint(&self.terms));
            done(4);
            if round == 0 {
                // In a second round the page would be a duplicate of itself.
                let record = LogRecord::Page(log_record.clone());
                let conclusion = cluster_stage.conclude(record, Timestamp::now());
                let conclusion = conclusion.expect("a table in memory does not fail");
                done(5);
                let Conclusion::Verdict(verdict) = &conclusion else { return None };
                std::hint::black_box(serde_json::to_vec(verdict).ok());
                done(6);
                text_bytes = reading.document.paragraphs.iter().map(|p| p.text.len()).sum();
            }
        }
        Some(TimedPage { times, page_bytes: page.body.bytes(), text_bytes, hash })
    }
}
