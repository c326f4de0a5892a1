//! Recommends a detector for the evaluated pages, with reasons, if the figures of the report support one.
//!
//! If the pages are labelled, the F1 of their stream decides. Otherwise the number of texts that are
//! recognised after 5 % of each was rewritten decides. Detectors whose 95 % intervals overlap that of the
//! best one are considered equal. Among them, the one with the smallest share of wrong verdicts is
//! recommended, because users delete pages that a verdict calls duplicates.

use serde::Serialize;

use super::interval::Estimate;
use super::report::{DetectorReport, Report, best_threshold, interval};
use crate::perturb::{Condition, Family};
use leitong_fingerprint::detectors::BASELINES;

/// The recommendation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Recommendation {
    /// Recommended detector, if the figures support one.
    pub detector: Option<String>,
    /// Other detectors that are considered equal to the recommended one.
    pub not_told_apart: Vec<String>,
    /// Distance at which the recommended detector has its highest F1, if this F1 is clearly higher than at
    /// the configured threshold.
    pub threshold: Option<f64>,
    /// Reasons, in sentences.
    pub why: Vec<String>,
}

/// Minimum number of labelled duplicates, or of texts, for a reliable recommendation.
const FEW: u32 = 50;
/// Maximum acceptable share of new pages that are called duplicates by mistake, with a million centroids.
const FALSE_MAX: f64 = 0.01;
/// Gain in F1 above which another threshold is recommended.
const CLEARLY: f64 = 0.01;

/// A detector with the figure that decides.
struct Candidate<'a> {
    report: &'a DetectorReport,
    figure: Estimate,
    /// Share of the detector's duplicate verdicts that are wrong or, without labels, of the unrelated pairs that the
    /// detector calls near.
    wrong: f64,
}

/// Returns the recommendation from the figures of `report`.
#[must_use]
pub(crate) fn recommend(report: &Report) -> Recommendation {
    let basis =
        if report.labelled { "F1 over the labelled pages" } else { "recall after 5 % were rewritten" };
    let all: Vec<Candidate<'_>> = report.detectors.iter().filter_map(candidate).collect();
    let (ruled_out, mut left): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|candidate| !report.labelled && false_share(candidate.report) > FALSE_MAX);
    let mut why: Vec<String> = ruled_out
        .iter()
        .map(|candidate| {
            format!(
                "{} is left out: with a million centroids it would call {} of new pages duplicates by mistake.",
                candidate.report.name,
                candidate.report.false_matches.at_millions()[0]
            )
        })
        .collect();
    left.sort_by(|a, b| b.figure.value.total_cmp(&a.figure.value));
    let Some(best) = left.first() else {
        why.push(
            "No detector is recommended: there are no labels and no perturbed texts, or every detector was left out."
                .to_owned(),
        );
        return Recommendation { why, ..Recommendation::default() };
    };
    let (low, high) = (best.figure.low, best.figure.high);
    let alike = || left.iter().filter(|other| other.figure.high >= low && other.figure.low <= high);
    let chosen = alike()
        .min_by(|a, b| a.wrong.total_cmp(&b.wrong).then(b.figure.value.total_cmp(&a.figure.value)))
        .unwrap_or(best);
    let name = &chosen.report.name;
    let not_told_apart: Vec<String> =
        alike().map(|other| other.report.name.clone()).filter(|other| other != name).collect();
    why.push(format!("{name}: {basis} {}.", interval(&chosen.figure)));
    if not_told_apart.is_empty() {
        if left.len() > 1 {
            why.push("Its 95 % interval is above that of every other detector.".to_owned());
        }
    } else {
        let names = not_told_apart.join(", ");
        why.push(format!(
            "These pages do not distinguish it from {names}: their 95 % intervals overlap. None of them has \
             a smaller share of wrong {} ({:.2} %). You may also choose by cost.",
            if report.labelled { "duplicate verdicts" } else { "unrelated pairs" },
            chosen.wrong * 100.0
        ));
    }
    let threshold = threshold(chosen.report, &mut why);
    cautions(report, chosen, &left, &mut why);
    Recommendation { detector: Some(name.clone()), not_told_apart, threshold, why }
}

fn candidate(report: &DetectorReport) -> Option<Candidate<'_>> {
    if let Some(score) = &report.stream {
        return Some(Candidate { report, figure: score.f1, wrong: 1.0 - score.precision.value });
    }
    let rewritten = Condition { family: Family::Rewritten, level: 0.05 };
    let recall = report.recall.iter().find(|recall| recall.condition == rewritten)?;
    Some(Candidate { report, figure: recall.recall, wrong: report.distances.near_unrelated })
}

/// Returns the share of new pages that would be called duplicates by mistake, with a million centroids; 0 if
/// no error was seen.
fn false_share(report: &DetectorReport) -> f64 {
    let found = &report.false_matches;
    if found.is_bound { 0.0 } else { 1.0 - (-found.per_pair * 1e6).exp() }
}

/// Returns a threshold that does clearly better on the pairs than the configured one, if there is any. Adds a
/// sentence for or against a change to `why`.
fn threshold(report: &DetectorReport, why: &mut Vec<String>) -> Option<f64> {
    let distances = &report.distances;
    if distances.related == 0 || distances.unrelated == 0 {
        return None;
    }
    let f1 = |precision: f64, recall: f64| 2.0 * precision * recall / (precision + recall).max(1e-9);
    let (near, wrong) = (distances.near_related, distances.near_unrelated);
    let as_set = f1(near / (near + wrong).max(1e-9), near);
    let best = best_threshold(distances);
    let by_distance = f1(best.precision, best.recall);
    if by_distance > as_set + CLEARLY {
        why.push(format!(
            "Another threshold would suit these pages better: a distance of up to {:.3} gives an F1 of \
             {by_distance:.3} over the pairs, the configured one {as_set:.3}. `leitong-lab tune --detector {}` \
             shows the setting.",
            best.distance, report.name
        ));
        return Some(best.distance);
    }
    why.push(format!(
        "Keep its threshold: the F1 over the pairs is {as_set:.3} now, and {by_distance:.3} at the best distance."
    ));
    None
}

fn cautions(report: &Report, chosen: &Candidate<'_>, left: &[Candidate<'_>], why: &mut Vec<String>) {
    if BASELINES.contains(&&*chosen.report.name) {
        let other = left.iter().find(|other| !BASELINES.contains(&&*other.report.name));
        let other = other.map_or(String::new(), |other| {
            format!(
                "; the best detector that a run can use is {}, with {}",
                other.report.name,
                interval(&other.figure)
            )
        });
        why.push(format!("It is only for comparison: runs cannot use it{other}."));
    }
    if false_share(chosen.report) > FALSE_MAX {
        why.push(format!(
            "Consider the size of your table: with a million centroids it would call {} of new pages duplicates by mistake.",
            chosen.report.false_matches.at_millions()[0]
        ));
    }
    let count = match &chosen.report.stream {
        Some(score) => score.right + score.missed,
        None => u32::try_from(report.texts).unwrap_or(u32::MAX),
    };
    if count < FEW {
        let of = if report.labelled { "labelled duplicates" } else { "texts" };
        why.push(format!("{count} {of} are too few for a reliable recommendation; use at least {FEW}."));
    }
    if !report.labelled {
        why.push(
            "Without labels, this is based on artificial changes, not on your own duplicates. Label some \
             pairs with `leitong-lab tune --ask`."
                .to_owned(),
        );
    }
}
