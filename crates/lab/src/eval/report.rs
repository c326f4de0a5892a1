//! The report of an evaluation: as JSON (the type itself), and as tables in Markdown, which are also readable
//! on a terminal.

use std::fmt::Write;

use serde::Serialize;

use super::Count;
use super::interval::{Estimate, f1};
use super::pairs::{Distances, FalseMatches, Threshold};
use super::recall::Recall;
use super::stream::StreamScore;

/// The results of an evaluation.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    /// Names of the inputs.
    pub(crate) inputs: Vec<String>,
    /// Number of pages.
    pub(crate) pages: usize,
    /// True if the pages have labels.
    pub(crate) labelled: bool,
    /// Seed of the random number generator.
    pub(crate) seed: u64,
    /// Number of texts that were perturbed.
    pub(crate) texts: usize,
    /// Description of the related pairs.
    pub(crate) related_pairs: String,
    /// Results of each detector.
    pub(crate) detectors: Vec<DetectorReport>,
}

/// The results of one detector.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DetectorReport {
    /// Name of the detector or variant.
    pub name: String,
    /// Microseconds for the fingerprint of 6,000 bytes of text, after segmentation.
    pub micros_per_6_kb: f64,
    /// Mean size of a fingerprint, in bytes.
    pub bytes: f64,
    /// Share of the pages that have a fingerprint.
    pub judged: f64,
    /// Means of the detector's counts, such as nodes of networks.
    pub counts: Vec<Count>,
    /// Scores of the verdicts on labelled pages.
    pub stream: Option<StreamScore>,
    /// Recall of perturbed texts.
    pub recall: Vec<Recall>,
    /// Distances of pairs.
    pub distances: Distances,
    /// Errors among unrelated pairs.
    pub false_matches: FalseMatches,
}

impl Report {
    /// Formats the report in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut out = format!(
            "{} pages of {}{}; seed {}.\n\n",
            self.pages,
            self.inputs.join(", "),
            if self.labelled { ", labelled" } else { "" },
            self.seed
        );
        if self.labelled {
            labelled_stream(self, &mut out);
        }
        cost(self, &mut out);
        counts(self, &mut out);
        recognised_after_change(self, &mut out);
        false_duplicates(self, &mut out);
        pairs(self, &mut out);
        out
    }
}

/// Writes the head of a table with one row per detector.
fn head(out: &mut String, columns: &[&str]) {
    head_of(out, "detector", columns);
}

fn head_of(out: &mut String, named: &str, columns: &[&str]) {
    let _ = writeln!(out, "| {named} | {} |\n|---|{}", columns.join(" | "), "---|".repeat(columns.len()));
}

fn labelled_stream(report: &Report, out: &mut String) {
    let scores =
        report.detectors.iter().filter_map(|detector| Some((&*detector.name, detector.stream.as_ref()?)));
    labelled_streams(scores, "detector", out);
}

/// Appends a table with a row for each name and score. `named` is the heading of the column of names.
pub(crate) fn labelled_streams<'s>(
    scores: impl Iterator<Item = (&'s str, &'s StreamScore)>,
    named: &str,
    out: &mut String,
) {
    out.push_str("### The labelled stream, with 95 % intervals\n\n");
    head_of(out, named, &["precision", "recall", "F1", "wrong", "missed", "undecidable", "centroids"]);
    for (name, score) in scores {
        let _ = writeln!(
            out,
            "| `{name}` | {} | {} | {} | {} | {} | {} | {} |",
            interval(&score.precision),
            interval(&score.recall),
            interval(&score.f1),
            score.wrong,
            score.missed,
            score.undecidable,
            score.centroids
        );
    }
    out.push('\n');
}

fn cost(report: &Report, out: &mut String) {
    out.push_str("### Cost of a fingerprint\n\n");
    head(out, &["µs per 6 KB", "bytes", "pages with a fingerprint"]);
    for detector in &report.detectors {
        let _ = writeln!(
            out,
            "| `{}` | {:.1} | {:.0} | {:.1} % |",
            detector.name,
            detector.micros_per_6_kb,
            detector.bytes,
            detector.judged * 100.0
        );
    }
}

/// Writes the recall under each change. Detectors are columns here.
fn recognised_after_change(report: &Report, out: &mut String) {
    let Some(first) = report.detectors.first().filter(|first| !first.recall.is_empty()) else { return };
    let _ = writeln!(out, "\n### Recognised after a change, in percent of {} texts\n", report.texts);
    let names: Vec<String> = report.detectors.iter().map(|detector| format!("`{}`", detector.name)).collect();
    let _ = writeln!(out, "| change | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for (at, recall) in first.recall.iter().enumerate() {
        let of_each = report
            .detectors
            .iter()
            .map(|detector| format!("{:.1}", detector.recall[at].recall.value * 100.0));
        let _ = writeln!(out, "| {} | {} |", recall.condition, of_each.collect::<Vec<_>>().join(" | "));
    }
}

fn false_duplicates(report: &Report, out: &mut String) {
    out.push_str("\n### Unrelated pairs called near, and the false duplicates that follow\n\n");
    head(out, &["pairs", "wrong", "sharing a passage", "per pair", "1 M centroids", "10 M", "100 M"]);
    for detector in &report.detectors {
        let found = &detector.false_matches;
        let FalseMatches { pairs, wrong, sharing_a_passage, per_pair, is_bound, .. } = found;
        let bound = if *is_bound { "< " } else { "" };
        let _ = writeln!(
            out,
            "| `{}` | {pairs:.2e} | {wrong} | {sharing_a_passage} | {bound}{per_pair:.1e} | {} |",
            detector.name,
            found.at_millions().join(" | ")
        );
    }
    out.push_str("\n–: too few pairs to say; none of them was wrong.\n");
}

fn pairs(report: &Report, out: &mut String) {
    let _ = writeln!(out, "\n### Pairs: {}\n", report.related_pairs);
    head(out, &["related", "near", "unrelated", "near", "best threshold by F1", "precision", "recall"]);
    for detector in &report.detectors {
        let Distances { related, unrelated, near_related, near_unrelated, .. } = &detector.distances;
        let best = best_threshold(&detector.distances);
        let _ = writeln!(
            out,
            "| `{}` | {related} | {:.2} % | {unrelated} | {:.4} % | {:.3} | {:.4} | {:.4} |",
            detector.name,
            near_related * 100.0,
            near_unrelated * 100.0,
            best.distance,
            best.precision,
            best.recall
        );
    }
}

/// Writes one table for those detectors that have counts.
fn counts(report: &Report, out: &mut String) {
    let counting = || report.detectors.iter().filter(|detector| !detector.counts.is_empty());
    let Some(first) = counting().next() else { return };
    let names: Vec<&str> = first.counts.iter().map(|count| count.name).collect();
    let _ = writeln!(out, "\n### Sizes of networks, on average\n");
    let _ = writeln!(out, "| detector | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for detector in counting() {
        let means: Vec<String> = detector.counts.iter().map(|count| format!("{:.1}", count.mean)).collect();
        let _ = writeln!(out, "| `{}` | {} |", detector.name, means.join(" | "));
    }
}

/// Returns the threshold with the highest F1.
fn best_threshold(distances: &Distances) -> Threshold {
    let f1 = |threshold: &Threshold| f1(threshold.precision, threshold.recall);
    let thresholds = distances.thresholds.iter();
    let best = thresholds.max_by(|a, b| f1(a).total_cmp(&f1(b)).then(b.distance.total_cmp(&a.distance)));
    *best.expect("a curve has points")
}

/// Formats an estimate as `0.987 (0.981–0.992)`.
fn interval(estimate: &Estimate) -> String {
    format!("{:.4} ({:.3}–{:.3})", estimate.value, estimate.low, estimate.high)
}
