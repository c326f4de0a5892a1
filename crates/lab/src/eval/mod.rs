//! Measures how well detectors recognise near-duplicates: the experiments of the papers, on any pages.
//!
//! ```text
//! pages ─→ fingerprints of every detector ─┬→ stream: Single-Pass against the labels (P, R, F1)
//!   │                                      ├→ related pairs, unrelated pairs → distances, thresholds
//!   │                                      └→ all unrelated pairs through the keys → false matches
//!   └─→ perturb (seeded) ─→ fingerprints ───→ recall by kind and share of change
//! ```
//! In: pages, with or without labels. Out: a [`Report`](report::Report). Two runs with the same seed give the
//! same report except for times. Memory: all documents and fingerprints.

mod evaluate;
mod interval;
pub(crate) mod pairs;
mod parallel;
mod passages;
mod recall;
mod report;
mod stream;
mod verdicts;

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

pub(crate) use self::evaluate::{Plan, evaluate};
pub(crate) use self::interval::f1;
pub(crate) use self::parallel::Workers;
pub(crate) use self::stream::StreamScore;
pub(crate) use self::verdicts::GivenVerdict;
use crate::pages::EvalPage;
use leitong_fingerprint::Detector;
use leitong_text::extract::Document;
use leitong_text::segment::{Segmenter, Terms};

/// A detector to evaluate, with a name.
pub(crate) struct EvaluatedDetector {
    /// Name of the detector, or of a variant's file.
    pub name: String,
    /// Detector with its settings.
    pub detector: Arc<dyn Detector>,
}

/// The fingerprints of the pages by one detector.
pub(crate) struct Prints {
    /// Fingerprint of each page; `None` if the page has too little text.
    pub prints: Vec<Option<Box<[u8]>>>,
    /// Mean time for 6,000 bytes of text, after segmentation, in microseconds.
    pub micros_per_6_kb: f64,
    /// Mean size of the fingerprints, in bytes.
    pub bytes: f64,
    /// Means of the detector's counts over the pages with a fingerprint.
    pub counts: Vec<Count>,
}

/// The mean of one of the [counts](Detector::counts) of a detector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Count {
    /// Name of the count.
    pub name: &'static str,
    /// Mean per page.
    pub mean: f64,
}

/// Number of times that each fingerprint is made. Only the shortest time counts, because longer ones include
/// disturbances.
const REPEATS: usize = 3;

/// Computes the fingerprints of all pages by all detectors.
pub(crate) fn fingerprints(
    pages: &[EvalPage],
    evaluated: &[EvaluatedDetector],
    segmenter: &Segmenter,
    workers: &Workers,
) -> Vec<Prints> {
    let of_pages = workers.map("fingerprints", pages, Terms::default, |terms, page| {
        segmenter.segment(&page.document, terms);
        let of_each = evaluated.iter().map(|evaluated_detector| {
            let timed = (0..REPEATS).map(|_| {
                let since = Instant::now();
                let print = evaluated_detector.detector.fingerprint(terms);
                (since.elapsed(), print)
            });
            let (time, print) = timed.min_by_key(|(time, _)| *time).expect("at least once");
            let counts = print.as_ref().map_or_else(Vec::new, |_| evaluated_detector.detector.counts(terms));
            (time, print, counts)
        });
        (terms.text().len(), of_each.collect::<Vec<_>>())
    });
    let text_bytes: usize = of_pages.iter().map(|(bytes, _)| bytes).sum();
    let mut of_pages: Vec<_> = of_pages.into_iter().map(|(_, prints)| prints.into_iter()).collect();
    evaluated
        .iter()
        .map(|_| {
            let timed: Vec<_> = of_pages.iter_mut().filter_map(Iterator::next).collect();
            let seconds: f64 = timed.iter().map(|(time, ..)| time.as_secs_f64()).sum();
            let counts = means(timed.iter().map(|(.., counts)| counts.as_slice()));
            let prints: Vec<_> = timed.into_iter().map(|(_, print, _)| print).collect();
            let sizes: Vec<usize> = prints.iter().flatten().map(|print| print.len()).collect();
            Prints {
                micros_per_6_kb: seconds * 1e6 * 6_000.0 / text_bytes.max(1) as f64,
                bytes: sizes.iter().sum::<usize>() as f64 / sizes.len().max(1) as f64,
                counts,
                prints,
            }
        })
        .collect()
}

/// Returns the mean of each count over the pages that have counts. These pages must have the same counts in
/// the same order.
fn means<'c>(counts: impl Iterator<Item = &'c [(&'static str, u32)]>) -> Vec<Count> {
    let mut sums: Vec<Count> = Vec::new();
    let mut pages = 0_u32;
    for of_page in counts.filter(|of_page| !of_page.is_empty()) {
        pages += 1;
        sums.resize_with(of_page.len(), || Count { name: "", mean: 0.0 });
        for (sum, (name, count)) in sums.iter_mut().zip(of_page) {
            *sum = Count { name, mean: sum.mean + f64::from(*count) };
        }
    }
    sums.iter_mut().for_each(|sum| sum.mean /= f64::from(pages));
    sums
}

/// Returns a text as a document.
fn document(text: &str) -> Document {
    Document::from_text(None, text)
}
