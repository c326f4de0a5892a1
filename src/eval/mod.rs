//! How well detectors tell near-duplicates: the experiments of the papers, over any pages.
//!
//! ```text
//! pages ─→ fingerprints of every detector ─┬→ stream: Single-Pass against the labels (P, R, F1)
//!   │                                      ├→ related pairs, unrelated pairs → distances, thresholds
//!   │                                      └→ all unrelated pairs through the keys → false matches
//!   └─→ perturb (seeded) ─→ fingerprints ───→ recall by kind and share of change
//! ```
//! In: pages, with labels or without. Out: a [`Report`](report::Report). Two runs with the
//! same seed give the same report but for times. Memory: all documents and fingerprints.

pub mod html;
pub mod interval;
pub mod pages;
pub mod pairs;
pub mod parallel;
pub mod passages;
pub mod perturb;
pub mod recall;
pub mod recommend;
pub mod report;
pub mod stream;
mod svg;
pub mod threshold;
pub mod verdicts;

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::extract::Document;
use crate::fingerprint::Detector;
use crate::segment::{Segmenter, Terms};
use pages::EvalPage;
use parallel::Workers;

/// A detector that takes part, under a name of its own.
pub struct EvaluatedDetector {
    /// The detector's name, or that of a variant's file.
    pub name: String,
    /// With its settings.
    pub detector: Arc<dyn Detector>,
}

/// How an evaluation is done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Of all that is drawn.
    pub seed: u64,
    /// Texts that are perturbed.
    pub texts: usize,
    /// Unrelated pairs whose distances are looked at.
    pub pairs: usize,
    /// Lines of synonyms that replace words, or nothing.
    pub synonyms: String,
}

/// Fingerprints of the pages by one detector.
pub struct Prints {
    /// Of each page; none where there is too little to judge.
    pub prints: Vec<Option<Box<[u8]>>>,
    /// Microseconds for 6,000 bytes of text, after segmentation.
    pub micros_per_6_kb: f64,
    /// Of those that have one, on average.
    pub bytes: f64,
    /// What the detector counts on the way, on average over those pages.
    pub counts: Vec<Count>,
}

/// One of the [counts](Detector::counts) of a detector, on average.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Count {
    /// What was counted.
    pub name: &'static str,
    /// A page.
    pub mean: f64,
}

/// How often each fingerprint is made; the shortest time counts, since others only disturb.
const REPEATS: usize = 3;

/// The fingerprints of all pages by all detectors.
pub fn fingerprints(
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

/// Means over the pages that have counts; all of these count the same.
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

/// A text as a document.
fn document(text: &str) -> Document {
    Document::from_text(None, text)
}
