//! Measures the time that each stage takes for a page, on one core.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use leitong::pipeline::{ClusterStage, FingerprintStage, Workspace};
use leitong::{Config, ConfigError, Terms, TextReader};
use leitong_base::record::{LogRecord, Outcome, Timestamp};
use leitong_cluster::verdict::Conclusion;
use leitong_cluster::{Clusterer, Position};
use leitong_fingerprint::detectors::simhash::simhash_of;
use leitong_fingerprint::digest::text_digest;
use leitong_fingerprint::secret::DigestHash;
use leitong_formats::source::Record;

/// Number of times that a page goes through the stages that can be repeated. Only the shortest time counts,
/// to limit the effect of other work on the machine.
const ROUNDS: usize = 3;

/// The stages, in the order in which a page goes through them.
const STAGES: [&str; 7] = ["read", "extract", "digest", "segment", "fingerprint", "cluster", "write"];

/// The figures of the stages.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct StageFigures {
    /// Number of pages that went through all stages. Only these are measured.
    pub pages: usize,
    /// Mean size of the pages as fetched, in bytes.
    pub(super) page_bytes: f64,
    /// Mean size of the main texts, in bytes.
    pub(super) text_bytes: f64,
    /// Microseconds per page by stage: `read` (the record), `extract` (decode the body, find the main text),
    /// `digest`, `segment`, `fingerprint`, `cluster` (decide), `write` (the verdict as JSON).
    pub(super) micros: Vec<(&'static str, f64)>,
    /// Microseconds per page for all stages together.
    pub(super) micros_a_page: f64,
    /// SimHashes of the pages, if the detector is `simhash`.
    #[serde(skip)]
    pub(super) hashes: Vec<u64>,
}

impl StageFigures {
    /// Runs the pages of `records` through all stages as a run calls them, on one thread and with a table in memory.
    ///
    /// # Errors
    /// A setting or a file that it names cannot be used.
    pub(crate) fn measure(records: Vec<Record>, config: &Config) -> Result<Self, ConfigError> {
        let stage = FingerprintStage::new(config.clone())?;
        let detector = Arc::clone(stage.detector());
        let clusterer = Clusterer::new(Arc::clone(&detector), config.cluster_rules(), Position::default());
        let mut bench = PageBench {
            workspace: stage.workspace(),
            texts: TextReader::new(config),
            cluster_stage: ClusterStage::new(clusterer, detector, 0),
            stage,
            terms: Terms::default(),
            buffer: Vec::new(),
        };
        let mut totals = [Duration::ZERO; STAGES.len()];
        let (mut pages, mut page_bytes, mut text_bytes) = (0, 0, 0);
        let mut hashes = Vec::new();
        for record in records {
            let Some(timed) = bench.time(record) else { continue };
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
        Ok(Self {
            pages,
            page_bytes: average(page_bytes),
            text_bytes: average(text_bytes),
            micros,
            micros_a_page,
            hashes,
        })
    }
}

/// The stages, and buffers for timing pages.
struct PageBench {
    stage: FingerprintStage,
    workspace: Workspace,
    texts: TextReader,
    cluster_stage: ClusterStage,
    terms: Terms,
    buffer: Vec<u8>,
}

/// The measurements of one page: the shortest time of each stage, and sizes.
struct TimedPage {
    times: [Duration; STAGES.len()],
    page_bytes: usize,
    text_bytes: usize,
    /// SimHash of the page, if the detector makes one.
    hash: Option<u64>,
}

impl PageBench {
    /// Runs a page through all stages, several times if possible. Returns `None` if it does not get through
    /// all of them.
    fn time(&mut self, record: Record) -> Option<TimedPage> {
        let Self { stage, workspace, texts, cluster_stage, terms, buffer } = self;
        let (segmenter, detector) = (stage.segmenter(), stage.detector());
        let mut times = [Duration::MAX; STAGES.len()];
        let since = Instant::now();
        let page = stage.reader().page(&record.place, record.payload)?;
        times[0] = since.elapsed();
        let made = stage.process_page(record.place, page.clone(), workspace).record;
        let Ok(LogRecord::Page(log_record)) = made else { return None };
        let Outcome::Fingerprint(fingerprint) = &log_record.outcome else { return None };
        let hash = (detector.name() == "simhash").then(|| simhash_of(fingerprint));
        let mut text_bytes = 0;
        for round in 0..ROUNDS {
            let mut since = Instant::now();
            let mut done = |stage: usize| {
                times[stage] = times[stage].min(since.elapsed());
                since = Instant::now();
            };
            let document = texts.read(&page).ok()?;
            done(1);
            std::hint::black_box(text_digest(&document, &DigestHash::default(), buffer));
            done(2);
            segmenter.segment(&document, terms);
            done(3);
            std::hint::black_box(detector.fingerprint(terms));
            done(4);
            if round == 0 {
                // In a second round the page would be a duplicate of itself.
                let record = LogRecord::Page(log_record.clone());
                let conclusion = cluster_stage.decide(record, Timestamp::now());
                let conclusion = conclusion.expect("a table in memory does not fail");
                let Conclusion::Verdict(verdict) = conclusion else { return None };
                done(5);
                std::hint::black_box(serde_json::to_vec(&verdict).ok());
                done(6);
                text_bytes = document.paragraphs.iter().map(|p| p.text.len()).sum();
            }
        }
        Some(TimedPage { times, page_bytes: page.body.bytes(), text_bytes, hash })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_base::record::Place;
    use leitong_formats::source::Payload;

    #[test]
    fn only_pages_that_get_through_all_stages_are_counted() {
        let record = |(line, text): (u64, &str)| Record {
            place: Place::Line { input: "pages".into(), line },
            span: 0..0,
            payload: Payload::Json(format!("{{\"text\": {text:?}}}").into_bytes()),
        };
        let texts = [
            "too short",
            "The mill by the river grinds no more, and swallows nest in its wheel every spring.",
        ];
        let records = (1..).zip(texts).map(record).collect();
        let figures = StageFigures::measure(records, &Config::default()).expect("the defaults");
        assert_eq!(
            (figures.pages, figures.hashes.len()),
            (1, 1),
            "a page without a fingerprint is not decided"
        );
        assert_eq!(figures.micros.len(), STAGES.len());
    }
}
