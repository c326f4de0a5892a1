//! Computes figures with 95 % intervals by the bootstrap (Efron 1979). The figure is computed for many
//! samples, drawn with replacement from the items; 2.5 % of the results are below the interval, and 2.5 %
//! above.

use serde::Serialize;

use leitong_base::random::Random;

/// Number of samples that are drawn.
const SAMPLES: usize = 400;

/// A figure and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Estimate {
    /// Figure over all items.
    pub value: f64,
    /// Bound below which 2.5 % of the samples are.
    pub low: f64,
    /// Bound above which 2.5 % of the samples are.
    pub high: f64,
}

/// Estimates figures that are functions of sums over items.
pub(crate) fn estimate<const N: usize, const M: usize>(
    items: &[[u32; N]],
    seed: u64,
    figures: impl Fn(&[f64; N]) -> [f64; M],
) -> [Estimate; M] {
    let sum = |mut pick: Box<dyn FnMut(usize) -> usize + '_>| {
        let mut sums = [0_u64; N];
        for at in 0..items.len() {
            let item = &items[pick(at)];
            sums.iter_mut().zip(item).for_each(|(sum, value)| *sum += u64::from(*value));
        }
        sums.map(|sum| sum as f64)
    };
    let values = figures(&sum(Box::new(|at| at)));
    let mut random = Random::new(seed, items.len() as u64);
    let mut samples: [Vec<f64>; M] = std::array::from_fn(|_| Vec::with_capacity(SAMPLES));
    for _ in 0..SAMPLES {
        let of_sample = figures(&sum(Box::new(|_| random.below(items.len()))));
        samples.iter_mut().zip(of_sample).for_each(|(samples, value)| samples.push(value));
    }
    std::array::from_fn(|figure| {
        let samples = &mut samples[figure];
        samples.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| samples[((SAMPLES - 1) as f64 * share).round() as usize];
        Estimate { value: values[figure], low: at(0.025), high: at(0.975) }
    })
}

/// Returns a ÷ b, or 1 if b is 0, since then nothing could fail.
pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 1.0 } else { a / b }
}

/// Returns the harmonic mean of precision and recall.
pub(crate) fn f1(precision: f64, recall: f64) -> f64 {
    let sum = precision + recall;
    if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 }
}

/// Estimates the share of trials that succeeded.
pub(crate) fn share(successes: usize, trials: usize, seed: u64) -> Estimate {
    let items: Vec<[u32; 2]> = (0..trials).map(|trial| [u32::from(trial < successes), 1]).collect();
    estimate(&items, seed, |[successes, trials]| [ratio(*successes, *trials)])[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_figure_and_shrink_with_more_items() {
        let (few, many) = (share(30, 40, 1), share(3_000, 4_000, 1));
        for estimate in [few, many] {
            assert!((estimate.value - 0.75).abs() < 1e-9);
            assert!(estimate.low < 0.75 && 0.75 < estimate.high, "{estimate:?}");
        }
        // Two standard deviations of a share of 0.75 are 0.137 for 40 items and 0.0137 for 4,000.
        assert!((few.high - few.low - 0.27).abs() < 0.08, "{few:?}");
        assert!((many.high - many.low - 0.027).abs() < 0.008, "{many:?}");
        assert_eq!(few, share(30, 40, 1), "the same seed, the same interval");
    }
}
