//! Perturbed texts, and how many of them each detector still
//! calls near (paper 002, robustness; 004, kinds of reprints).

use serde::Serialize;

use super::interval::{Estimate, share};
use super::pairs::Compared;
use super::parallel::Workers;
use super::perturb::{Condition, Perturber};
use super::{EvaluatedDetector, document};
use crate::random::Random;
use crate::segment::{Segmenter, Terms};

/// How one detector fares under one condition.
#[derive(Debug, Clone, Serialize)]
pub struct Recall {
    /// What was done to the texts.
    pub condition: Condition,
    /// Share of the texts that it calls near to what became of them.
    pub recall: Estimate,
    /// Distances between texts and what became of them, for those with fingerprints.
    #[serde(skip)]
    pub compared: Vec<Compared>,
}

/// For each detector its recall under each condition. A
/// text without a fingerprint counts as not recognised.
pub fn measure(
    texts: &[&str],
    conditions: &[Condition],
    perturber: &Perturber,
    evaluated: &[EvaluatedDetector],
    segmenter: &Segmenter,
    workers: &Workers,
    seed: u64,
) -> Vec<Vec<Recall>> {
    let numbered: Vec<(u64, &str)> = (0..).zip(texts.iter().copied()).collect();
    // Of each text: under each condition, what each detector says.
    let said = workers.map("perturbed texts", &numbered, Terms::default, |terms, (number, text)| {
        segmenter.segment(&document(text), terms);
        let originals: Vec<_> = evaluated
            .iter()
            .map(|evaluated_detector| evaluated_detector.detector.fingerprint(terms))
            .collect();
        let mut of_conditions = Vec::with_capacity(conditions.len());
        for condition in conditions {
            // One stream a text, so that more of a kind of change begins where less of it did.
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
            let of_texts = || said.iter().filter_map(move |conditions| conditions[at][detector]);
            let near = of_texts().filter(|(_, near)| *near).count();
            Recall {
                condition: *condition,
                recall: share(near, said.len(), seed),
                compared: of_texts().collect(),
            }
        };
        conditions.iter().enumerate().map(of_condition).collect()
    };
    (0..evaluated.len()).map(of_detector).collect()
}
