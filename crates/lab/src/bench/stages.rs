//! Measures the time that each stage takes for a page, on one core.

use std::time::{Duration, Instant};

use serde::Serialize;

use leitong_base::record::{FingerprintRecord, LogRecord, Outcome, Place};
use leitong_cluster::verdict::Verdict;
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::simhash_of;
use leitong_fingerprint::digest::text_digest;
use leitong_fingerprint::secret::DigestHash;
use leitong_formats::source::{Payload, Record};
use leitong_text::extract::Document;
use leitong_text::page::Page;
use leitong_text::segment::{Segmenter, Terms};

/// Number of times that a page goes through the stages that can be repeated. Only the shortest time counts,
/// to limit the effect of other work on the machine.
const ROUNDS: usize = 3;

/// The stages, in the order in which a page goes through them.
const STAGES: [&str; 7] = ["read", "extract", "digest", "segment", "fingerprint", "cluster", "write"];

/// The stages that a program implements itself. The other stages are calls of library functions.
pub(crate) trait Program {
    /// Reads a page from the payload of a record. Returns `None` if the payload is not a page.
    fn read(&mut self, place: &Place, payload: Payload) -> Option<Page>;

    /// Returns the record of the fingerprint log for a page, or `None` if the page becomes a dead letter.
    fn log_record(&mut self, place: Place, page: Page) -> Option<Box<FingerprintRecord>>;

    /// Decodes the body of a page and finds the main text. Returns `None` if the page is undecidable.
    fn extract(&mut self, page: &Page) -> Option<Document>;

    /// Decides on the next record of the log. Returns `None` if the record becomes a dead letter.
    fn decide(&mut self, record: LogRecord) -> Option<Box<Verdict>>;
}

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
    /// Runs the pages of `records` through all stages of `program`. `detector` and `segmenter` must be the
    /// program's.
    pub(crate) fn measure(
        records: Vec<Record>,
        program: &mut impl Program,
        detector: &dyn Detector,
        segmenter: &Segmenter,
    ) -> Self {
        let mut bench =
            PageBench { program, detector, segmenter, terms: Terms::default(), buffer: Vec::new() };
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
        Self {
            pages,
            page_bytes: average(page_bytes),
            text_bytes: average(text_bytes),
            micros,
            micros_a_page,
            hashes,
        }
    }
}

/// The state for timing pages.
struct PageBench<'a, P> {
    program: &'a mut P,
    detector: &'a dyn Detector,
    segmenter: &'a Segmenter,
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

impl<P: Program> PageBench<'_, P> {
    /// Runs a page through all stages, several times if possible. Returns `None` if it does not get through
    /// all of them.
    fn time(&mut self, record: Record) -> Option<TimedPage> {
        let Self { program, detector, segmenter, terms, buffer } = self;
        let place = record.place.clone();
        let mut times = [Duration::MAX; STAGES.len()];
        let since = Instant::now();
        let page = program.read(&record.place, record.payload)?;
        times[0] = since.elapsed();
        let log_record = program.log_record(place, page.clone())?;
        let Outcome::Fingerprint(fingerprint) = &log_record.outcome else { return None };
        let hash = (detector.name() == "simhash").then(|| simhash_of(fingerprint));
        let mut text_bytes = 0;
        for round in 0..ROUNDS {
            let mut since = Instant::now();
            let mut done = |stage: usize| {
                times[stage] = times[stage].min(since.elapsed());
                since = Instant::now();
            };
            let document = program.extract(&page)?;
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
                let verdict = program.decide(record)?;
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
    use leitong_fingerprint::detectors::simhash::{SimHash, SimHashConfig};
    use leitong_text::segment::{Lexicons, SegmentConfig};

    /// A program whose log holds a fingerprint for every page of more than three letters.
    struct Small {
        decisions: usize,
    }

    impl Program for Small {
        fn read(&mut self, _: &Place, payload: Payload) -> Option<Page> {
            let Payload::Json(url) = payload else { return None };
            Some(Page::html(String::from_utf8(url).ok()?, "<p>The text of the page.</p>"))
        }

        fn log_record(&mut self, _: Place, page: Page) -> Option<Box<FingerprintRecord>> {
            let fingerprint = (page.url.len() > 3).then(|| vec![0; 64].into());
            Some(Box::new(FingerprintRecord::numbered(1, fingerprint)))
        }

        fn extract(&mut self, _: &Page) -> Option<Document> {
            Some(Document::from_text(None, "The text of the page."))
        }

        fn decide(&mut self, _: LogRecord) -> Option<Box<Verdict>> {
            self.decisions += 1;
            None
        }
    }

    #[test]
    fn only_pages_that_get_through_all_stages_are_counted() {
        let segmenter =
            Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("the defaults");
        let record = |(line, url): (u64, &str)| Record {
            place: Place::Line { input: "pages".into(), line },
            span: 0..0,
            payload: Payload::Json(url.into()),
        };
        let mut program = Small { decisions: 0 };
        let detector = SimHash::new(&SimHashConfig::default());
        let records = (1..).zip(["a", "abcd"]).map(record).collect();
        let figures = StageFigures::measure(records, &mut program, &detector, &segmenter);
        assert_eq!((figures.pages, program.decisions), (0, 1), "a page without a fingerprint is not decided");
        assert_eq!(figures.micros.len(), STAGES.len());
    }
}
