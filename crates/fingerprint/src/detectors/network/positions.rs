//! Measures how differently the key concepts of two texts are placed (paper 000, section 3.4, formulas 10 to
//! 13).
//!
//! The j-th occurrence in one text is paired with the j-th in the other; δ is the difference of their
//! positions. Text inserted or removed in one place shifts all later δ alike; text that moved scatters them.
//! The spread of a concept is the standard deviation of its δ around their **signed** mean. (The paper prints
//! the mean of |δ|, with which the result would change when the pages are swapped.) The spread of two texts
//! is the mean over the concepts with at least two pairs, or, if there are none, the spread of all δ
//! together. It is relative to the length of the longer text.

/// Returns the spread in basis points of `terms_total`, or `None` without a pair. Integer arithmetic, rounded
/// down.
pub(super) fn spread<'p>(
    concepts: impl Iterator<Item = (&'p [u32], &'p [u32])>,
    terms_total: u32,
) -> Option<u32> {
    let mut all = Deltas::default();
    let (mut sum, mut count) = (0_u64, 0_u64);
    for (of_a, of_b) in concepts {
        let mut deltas = Deltas::default();
        for (a, b) in of_a.iter().zip(of_b) {
            deltas.add(i64::from(*a) - i64::from(*b));
            all.add(i64::from(*a) - i64::from(*b));
        }
        if deltas.count >= 2 {
            sum += deltas.deviation();
            count += 1;
        }
    }
    let mean = match (count, all.count) {
        (0, 0) => return None,
        (0, _) => all.deviation(),
        _ => sum / count,
    };
    // Deviations have 8 fractional bits.
    Some(u32::try_from(mean * 10_000 / (u64::from(terms_total.max(1)) << 8)).unwrap_or(u32::MAX))
}

/// Running sums over differences.
#[derive(Default)]
struct Deltas {
    count: i128,
    sum: i128,
    squares: i128,
}

impl Deltas {
    fn add(&mut self, delta: i64) {
        self.count += 1;
        self.sum += i128::from(delta);
        self.squares += i128::from(delta).pow(2);
    }

    /// Returns the standard deviation with 8 fractional bits: √(n·Σδ² − (Σδ)²) ÷ n.
    fn deviation(&self) -> u64 {
        let variance = (self.count * self.squares - self.sum * self.sum).unsigned_abs();
        ((variance << 16).isqrt() / self.count.unsigned_abs().max(1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_of(pairs: &[(&[u32], &[u32])]) -> Option<u32> {
        spread(pairs.iter().copied(), 100)
    }

    #[test]
    fn a_move_has_a_spread_and_a_shift_has_none() {
        assert_eq!(spread_of(&[(&[1, 5, 9], &[11, 15, 19])]), Some(0));
        // Differences of 0 and −80: a standard deviation of 40 in 100 terms.
        assert_eq!(spread_of(&[(&[10, 12], &[10, 92])]), Some(4_000));
        assert_eq!(spread_of(&[(&[10, 92], &[10, 12])]), Some(4_000), "symmetric");
        assert_eq!(
            spread_of(&[(&[10], &[20]), (&[30], &[40])]),
            Some(0),
            "all together, where each occurs once"
        );
        assert_eq!(spread_of(&[(&[10], &[10]), (&[30], &[110])]), Some(4_000));
        assert_eq!(spread_of(&[]), None);
    }
}
