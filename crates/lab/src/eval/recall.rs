//! Measures how many perturbed texts each detector still calls near (paper 002, robustness; 004, kinds of
//! reprints).

use serde::Serialize;

use super::interval::{Estimate, share};
use super::pairs::Compared;
use super::parallel::Workers;
use super::{EvaluatedDetector, document};
use crate::perturb::{Condition, Perturber};
use leitong_base::random::Random;
use leitong_text::segment::{Segmenter, Terms};

/// The result of one detector under one condition.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Recall {
    /// Change of the texts.
    pub condition: Condition,
    /// Share of the texts that the detector calls near to their changed version.
    pub recall: Estimate,
    /// Comparisons of texts with their changed versions, if both have fingerprints.
    #[serde(skip)]
    pub compared: Vec<Compared>,
}

/// Returns the recall of each detector under each condition. A text without a fingerprint counts as not
/// recognised.
pub(crate) fn measure(
    texts: &[&str],
    conditions: &[Condition],
    perturber: &Perturber,
    evaluated: &[EvaluatedDetector],
    segmenter: &Segmenter,
    workers: &Workers,
    seed: u64,
) -> Vec<Vec<Recall>> {
    let numbered: Vec<(u64, &str)> = (0..).zip(texts.iter().copied()).collect();
    // For each text and condition, the comparison by each detector.
    let results = workers.map("perturbed texts", &numbered, Terms::default, |terms, (number, text)| {
        segmenter.segment(&document(text), terms);
        let originals: Vec<_> = evaluated
            .iter()
            .map(|evaluated_detector| evaluated_detector.detector.fingerprint(terms))
            .collect();
        let mut of_conditions = Vec::with_capacity(conditions.len());
        for condition in conditions {
            // The same random numbers for each level, so a larger change extends a smaller one.
            let mut random = Random::new(seed, *number);
            segmenter.segment(&document(&perturber.perturb(text, *condition, &mut random)), terms);
            let of_each =
                evaluated.iter().zip(&originals).map(|(EvaluatedDetector { detector, .. }, original)| {
                    let comparison =
                        detector.compare(original.as_deref()?, detector.fingerprint(terms).as_deref()?);
                    Some((detector.distance(comparison.distance), comparison.near))
                });
            of_conditions.push(of_each.collect::<Vec<Option<Compared>>>());
        }
        of_conditions
    });
    let of_detector = |detector: usize| {
        let of_condition = |(at, condition): (usize, &Condition)| {
            let of_texts = || results.iter().filter_map(move |conditions| conditions[at][detector]);
            let near = of_texts().filter(|(_, near)| *near).count();
            Recall {
                condition: *condition,
                recall: share(near, results.len(), seed),
                compared: of_texts().collect(),
            }
        };
        conditions.iter().enumerate().map(of_condition).collect()
    };
    (0..evaluated.len()).map(of_detector).collect()
}
