//! Compares pairs of pages: distances of related and unrelated pairs, the effect of each threshold, and how
//! often unrelated pairs are called near.

use std::collections::HashMap;

use serde::Serialize;

use super::passages::Passages;
use leitong_base::random::Random;
use leitong_fingerprint::Detector;

/// Number of steps of a threshold curve.
const STEPS: usize = 48;

/// The distances of related and unrelated pairs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Distances {
    /// Number of related pairs.
    pub related: usize,
    /// Number of unrelated pairs that were drawn.
    pub unrelated: usize,
    /// The effect of each threshold if only the distance decided.
    pub thresholds: Vec<Threshold>,
    /// Share of the related pairs that the detector calls near with its settings.
    pub near_related: f64,
    /// Share of the unrelated pairs that the detector calls near with its settings.
    pub near_unrelated: f64,
}

/// The effect of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Threshold {
    /// Largest distance at which a pair is called near.
    pub distance: f64,
    /// Share of related pairs among those called near, with as many unrelated as related pairs.
    pub precision: f64,
    /// Share of the related pairs that are called near.
    pub recall: f64,
}

/// The distance of a pair, and true if the detector calls it near.
pub(crate) type Compared = (f64, bool);

/// Compares pairs of pages, except those without fingerprints.
pub(crate) fn compare(
    pairs: &[(usize, usize)],
    prints: &[Option<Box<[u8]>>],
    detector: &dyn Detector,
) -> Vec<Compared> {
    let compared = pairs.iter().filter_map(|(a, b)| {
        let comparison = detector.compare(prints[*a].as_deref()?, prints[*b].as_deref()?);
        Some((detector.distance(comparison.distance), comparison.near))
    });
    compared.collect()
}

/// Draws `count` pairs of different members of `unrelated`.
pub(crate) fn draw(unrelated: &[usize], count: usize, seed: u64) -> Vec<(usize, usize)> {
    let mut random = Random::new(seed, 0);
    if unrelated.len() < 2 {
        return Vec::new();
    }
    let pair = |_| {
        let a = random.below(unrelated.len());
        let b = (a + 1 + random.below(unrelated.len() - 1)) % unrelated.len();
        (unrelated[a], unrelated[b])
    };
    (0..count).map(pair).collect()
}

/// Computes the thresholds.
pub(crate) fn distances(related: &[Compared], unrelated: &[Compared]) -> Distances {
    let largest =
        related.iter().chain(unrelated).map(|(distance, _)| *distance).fold(0.0, f64::max).max(1e-9);
    let up_to = |compared: &[Compared], threshold: f64| {
        let near = compared.iter().filter(|(distance, _)| *distance <= threshold).count();
        near as f64 / compared.len().max(1) as f64
    };
    let threshold = |step: usize| {
        let distance = largest * step as f64 / STEPS as f64;
        let (hits, errors) = (up_to(related, distance), up_to(unrelated, distance));
        let precision = if hits + errors > 0.0 { hits / (hits + errors) } else { 1.0 };
        Threshold { distance, precision, recall: hits }
    };
    let near = |compared: &[Compared]| {
        compared.iter().filter(|(_, near)| *near).count() as f64 / compared.len().max(1) as f64
    };
    Distances {
        related: related.len(),
        unrelated: unrelated.len(),
        thresholds: (0..=STEPS).map(threshold).collect(),
        near_related: near(related),
        near_unrelated: near(unrelated),
    }
}

/// The number of unrelated pairs that are called near.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FalseMatches {
    /// Number of all pairs of pages of different origin.
    pub pairs: f64,
    /// Number of pairs called near that share no passage.
    pub wrong: usize,
    /// Number of pairs called near that share a passage, and are thus related to some extent.
    pub sharing_a_passage: usize,
    /// Share of the pairs that are wrong; if none is, the upper bound of this share at 95 % confidence.
    pub per_pair: f64,
    /// True if `per_pair` is an upper bound.
    pub is_bound: bool,
}

/// Largest upper bound that is reported. A higher bound means that there are too few pairs for a table of
/// that size.
const BOUND_MAX: f64 = 0.1;

impl FalseMatches {
    /// Returns the share of new pages that would be called duplicates by mistake, for 1, 10 and 100 million
    /// centroids; `–` if there are too few pairs to say.
    pub(crate) fn at_millions(&self) -> [String; 3] {
        std::array::from_fn(|power| {
            let share = 1.0 - (-self.per_pair * 10_f64.powi(6 + power as i32)).exp();
            match self.is_bound {
                true if share > BOUND_MAX => "–".to_owned(),
                true => format!("< {:.3} %", share * 100.0),
                false => format!("{:.3} %", share * 100.0),
            }
        })
    }
}

/// Finds near pairs among all pairs of `unrelated` pages, by the keys that clustering uses.
pub(crate) fn false_matches(
    unrelated: &[usize],
    passages: &Passages,
    prints: &[Option<Box<[u8]>>],
    detector: &dyn Detector,
) -> FalseMatches {
    let present = unrelated.iter().filter(|page| prints[**page].is_some()).count() as u64;
    let (mut wrong, mut sharing_a_passage) = (0, 0);
    let mut is_unrelated = vec![false; prints.len()];
    unrelated.iter().for_each(|page| is_unrelated[*page] = true);
    let prints: Vec<Option<Box<[u8]>>> = prints
        .iter()
        .zip(is_unrelated)
        .map(|(print, unrelated)| print.clone().filter(|_| unrelated))
        .collect();
    sharing_a_key(&prints, detector, |a, b| {
        let (Some(x), Some(y)) = (&prints[a], &prints[b]) else { return };
        if detector.compare(x, y).near {
            match passages.share(a, b) {
                true => sharing_a_passage += 1,
                false => wrong += 1,
            }
        }
    });
    let pairs = (present * present.saturating_sub(1) / 2) as f64;
    let is_bound = wrong == 0;
    // Without an error in n pairs, the rate is below 3/n with 95 % confidence.
    let per_pair = if is_bound { 3.0 } else { wrong as f64 } / pairs.max(1.0);
    FalseMatches { pairs, wrong, sharing_a_passage, per_pair, is_bound }
}

/// Calls `pair` for all pairs of fingerprints in which a look-up with the keys of the later one finds the
/// earlier one. The first argument is the number of the earlier one.
pub(crate) fn sharing_a_key(
    prints: &[Option<Box<[u8]>>],
    detector: &dyn Detector,
    mut pair: impl FnMut(usize, usize),
) {
    let mut index = HashMap::<u64, Vec<u32>>::new();
    let (mut keys, mut found) = (Vec::new(), Vec::new());
    for (at, print) in prints.iter().enumerate() {
        let Some(print) = print.as_deref() else { continue };
        keys.clear();
        detector.probe_keys(print, &mut keys);
        found.clear();
        found.extend(keys.iter().filter_map(|key| index.get(key)).flatten());
        found.sort_unstable();
        found.dedup();
        found.iter().for_each(|other: &u32| pair(*other as usize, at));
        keys.clear();
        detector.insert_keys(print, &mut keys);
        keys.iter().for_each(|key| index.entry(*key).or_default().push(at as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_is_too_high_is_not_shown() {
        let found = |per_pair, is_bound| {
            let (pairs, wrong, sharing_a_passage) = (1.0, 0, 0);
            FalseMatches { pairs, wrong, sharing_a_passage, per_pair, is_bound }.at_millions()
        };
        assert_eq!(found(1e-9, true), ["< 0.100 %", "< 0.995 %", "< 9.516 %"]);
        assert_eq!(found(4e-6, true), ["–", "–", "–"]);
        assert_eq!(found(1e-6, false), ["63.212 %", "99.995 %", "100.000 %"]);
    }

    #[test]
    fn thresholds_count_pairs_up_to_their_distance() {
        let related = [(0.0, true), (0.1, true), (0.2, true), (0.9, false)];
        let unrelated = [(0.2, true), (0.8, false), (1.0, false), (1.0, false)];
        let found = distances(&related, &unrelated);
        assert_eq!(found.thresholds[0], Threshold { distance: 0.0, precision: 1.0, recall: 0.25 });
        let last = found.thresholds.last().expect("a curve");
        assert_eq!(*last, Threshold { distance: 1.0, precision: 0.5, recall: 1.0 });
        assert!((found.near_related - 0.75).abs() < 1e-9 && (found.near_unrelated - 0.25).abs() < 1e-9);
    }

    #[test]
    fn drawn_pairs_have_different_pages() {
        let pairs = draw(&[3, 5, 9], 500, 1);
        assert!(pairs.len() == 500 && pairs.iter().all(|(a, b)| a != b && [3, 5, 9].contains(a)));
        assert_eq!(draw(&[3], 5, 1), []);
    }
}
