//! Finds the threshold of a detector that fits labelled pairs of pages.
//!
//! In: pages, and labels of pairs, which a person gives or which follow from the pages' own labels. Out: precision and
//! recall by threshold, and a suggestion, as Markdown. Memory: all documents and fingerprints.

mod curve;

use std::fmt::Write;

use self::curve::{Labelled, Point, curve, suggest};
use crate::eval::{EvaluatedDetector, Workers, f1, fingerprints, pairs};
use crate::pages::{EvalPage, are_labelled, founders, labelled_pairs};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::BASELINES;
use leitong_text::segment::Segmenter;

/// Minimum number of pairs of each kind for a reliable suggestion.
const PAIRS_MIN: usize = 20;

/// A pair of pages with a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LabelledPair {
    /// Numbers of the pages.
    pub pages: (usize, usize),
    /// True if both pages are the same text.
    pub near: bool,
}

/// The fingerprints of pages by the detector to tune.
pub(crate) struct Tuner<'a> {
    pages: &'a [EvalPage],
    detector: &'a dyn Detector,
    /// Fingerprint of each page; `None` if the page has too little text.
    prints: Vec<Option<Box<[u8]>>>,
}

impl<'a> Tuner<'a> {
    /// Computes the fingerprints of all pages, with `threads` threads.
    pub(crate) fn new(
        pages: &'a [EvalPage],
        evaluated: &'a EvaluatedDetector,
        segmenter: &Segmenter,
        threads: usize,
    ) -> Self {
        let evaluated = std::slice::from_ref(evaluated);
        let prints = fingerprints(pages, evaluated, segmenter, &Workers::new(threads)).swap_remove(0).prints;
        Self { pages, detector: &*evaluated[0].detector, prints }
    }

    /// Returns up to `count` pairs that are closest to the threshold, half of them from each side: the most
    /// distant pairs that the detector calls near, and the least distant ones that it does not.
    pub(crate) fn boundary_pairs(&self, count: usize, seed: u64) -> Vec<(usize, usize)> {
        let Self { prints, detector, .. } = self;
        let all: Vec<usize> = (0..prints.len()).collect();
        let mut candidates = Vec::new();
        pairs::sharing_a_key(prints, *detector, |a, b| candidates.push((a, b)));
        candidates.extend(pairs::draw(&all, 20_000, seed));
        candidates.iter_mut().for_each(|pair| *pair = (pair.0.min(pair.1), pair.0.max(pair.1)));
        candidates.sort_unstable();
        candidates.dedup();
        let compared = candidates.into_iter().filter_map(|(a, b)| {
            let comparison = detector.compare(prints[a].as_deref()?, prints[b].as_deref()?);
            Some((comparison.distance, comparison.near, (a, b)))
        });
        let (mut near, mut apart): (Vec<_>, Vec<_>) = compared.partition(|(_, near, _)| *near);
        near.sort_unstable_by_key(|(distance, _, pair)| (std::cmp::Reverse(*distance), *pair));
        apart.sort_unstable_by_key(|(distance, _, pair)| (*distance, *pair));
        let chosen = near.into_iter().take(count / 2).chain(apart.into_iter().take(count.div_ceil(2)));
        chosen.map(|(_, _, pair)| pair).collect()
    }

    /// Returns pairs that follow from the labels of the pages: each near-duplicate with the first page of its cluster,
    /// and unrelated pairs, drawn by `seed`. `None` if not every page has a label.
    pub(crate) fn labels_of_pages(&self, seed: u64) -> Option<Vec<LabelledPair>> {
        if !are_labelled(self.pages) {
            return None;
        }
        let related = labelled_pairs(self.pages);
        let unrelated = pairs::draw(&founders(self.pages), related.len().max(1_000) * 4, seed);
        let labelled = |near| move |pages| LabelledPair { pages, near };
        Some(
            unrelated
                .into_iter()
                .map(labelled(false))
                .chain(related.into_iter().map(labelled(true)))
                .collect(),
        )
    }

    /// Returns precision and recall by threshold, and the threshold with the highest recall among those that reach
    /// `precision`, in Markdown.
    pub(crate) fn report(&self, labelled: &[LabelledPair], precision: f64) -> String {
        let compare = |pair: &LabelledPair| {
            let print = |page: usize| self.prints[page].as_deref();
            let comparison = self.detector.compare(print(pair.pages.0)?, print(pair.pages.1)?);
            Some((comparison.distance, pair.near))
        };
        let mut compared: Vec<Labelled> = labelled.iter().filter_map(compare).collect();
        report(&mut compared, self.detector, precision)
    }
}

/// Formats precision and recall by threshold, and the suggested threshold.
fn report(labelled: &mut [Labelled], detector: &dyn Detector, precision: f64) -> String {
    let mut out = String::new();
    let related = labelled.iter().filter(|(_, related)| *related).count();
    let _ = writeln!(
        out,
        "{}: {related} related pairs, {} unrelated pairs\n",
        detector.name(),
        labelled.len() - related
    );
    if related.min(labelled.len() - related) < PAIRS_MIN {
        let _ = writeln!(
            out,
            "There are only a few: label at least {PAIRS_MIN} pairs of each kind before you trust the figures.\n"
        );
    }
    let curve = curve(labelled);
    let suggested = suggest(&curve, precision);
    let _ = writeln!(out, "| distance up to | precision | recall | F1 |\n|---|---|---|---|");
    // About twenty lines, evenly spaced by recall, and the suggestion.
    let mut last = f64::NEG_INFINITY;
    for point in &curve {
        if point.recall - last >= 0.05 || Some(point) == curve.last() || Some(*point) == suggested {
            let distance = detector.distance(point.distance);
            let _ = writeln!(
                out,
                "| {distance} | {:.4} | {:.4} | {:.4} |",
                point.precision,
                point.recall,
                f1(point.precision, point.recall)
            );
            last = point.recall;
        }
    }
    match suggested {
        None => out
            .push_str("\nNo related pair has fingerprints of both pages, so there is nothing to suggest.\n"),
        Some(point) => out.push_str(&suggestion(point, detector, precision)),
    }
    out
}

/// Formats the suggested threshold, and the setting for it.
fn suggestion(point: Point, detector: &dyn Detector, precision: f64) -> String {
    let reached = if point.precision >= precision {
        ""
    } else {
        " (not reached by any threshold; this one has the best F1)"
    };
    let mut out = format!(
        "\nFor a precision of {precision}{reached}: distance up to {}, precision {:.4}, recall {:.4}\n",
        detector.distance(point.distance),
        point.precision,
        point.recall
    );
    let Some(setting) = detector.threshold_setting(point.distance) else {
        return out + "\nThis detector has no threshold to set.\n";
    };
    out.push_str(
        "The figures consider the distance only; the detector's other conditions leave out more pairs.\n\n",
    );
    out.push_str(&setting);
    out.push('\n');
    if BASELINES.contains(&detector.name()) {
        out.push_str("\nNo run uses this detector; the setting is for a detector file (--variant).\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::pages::Label;
    use leitong_fingerprint::detectors::simhash::{SimHash, SimHashConfig};
    use leitong_text::extract::Document;
    use leitong_text::segment::{Lexicons, SegmentConfig};

    /// Returns three texts, each with a copy that has one more sentence.
    fn pages(labelled: bool) -> Vec<EvalPage> {
        let page = |cluster: u32, kind: &str| {
            let sentence = |n: u32| {
                format!("In year {} a ship of {} tons sank off cape {n}{cluster}. ", n * cluster, n * 37)
            };
            let text: String = (1..40 + u32::from(kind == "dup")).map(|n| sentence(n * cluster)).collect();
            let line = format!("{{\"cluster\": \"{cluster}\", \"label\": \"{kind}\"}}");
            EvalPage {
                id: format!("{cluster}-{kind}"),
                document: Document::from_text(None, &text),
                label: Label::from_line(line.as_bytes()).filter(|_| labelled),
            }
        };
        (1..4).flat_map(|cluster| [page(cluster, "new"), page(cluster, "dup")]).collect()
    }

    #[test]
    fn suggests_a_threshold_from_the_labels_of_pages_and_none_without_labels() {
        let segmenter =
            Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("the defaults");
        let detector = Arc::new(SimHash::new(&SimHashConfig::default()));
        let evaluated = EvaluatedDetector { name: "simhash".to_owned(), detector };
        let labelled_pages = pages(true);
        let tuner = Tuner::new(&labelled_pages, &evaluated, &segmenter, 1);
        let labels = tuner.labels_of_pages(1).expect("every page has a label");
        assert_eq!(labels.iter().filter(|pair| pair.near).count(), 3);
        let report = tuner.report(&labels, 0.99);
        assert!(report.contains("3 related pairs") && report.contains("max_distance = "), "{report}");
        let boundary = tuner.boundary_pairs(4, 1);
        assert!(!boundary.is_empty() && boundary.iter().all(|(a, b)| a < b), "{boundary:?}");
        let pages = pages(false);
        assert_eq!(Tuner::new(&pages, &evaluated, &segmenter, 1).labels_of_pages(1), None);
    }
}
