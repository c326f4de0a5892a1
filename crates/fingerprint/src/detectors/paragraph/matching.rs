//! Matches the paragraphs of two pages, and computes the share of each page that matches (paper 001, section
//! 4.5).
//!
//! `one-to-one`, ours: takes all pairs within the distance in order of (distance, position), each paragraph
//! once. `strict`, the paper's: both pages have the same number of paragraphs, and the i-th matches the i-th.
//! The paper mentions a weighted cosine without defining it.
//!
//! Cost: n·m comparisons of hashes, about 1 ns each.

/// A paragraph of a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParagraphFingerprint {
    /// SimHash of the paragraph; a 64-bit hash is in the upper half.
    pub(super) hash: u128,
    /// Number of characters times the factor for the paragraph's place in the page.
    pub(super) weight: u16,
}

/// Two paragraphs that match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) distance: u32,
    /// Number of the paragraph in the first page.
    pub(super) a: usize,
    /// Number of the paragraph in the second page.
    pub(super) b: usize,
}

/// Returns all one-to-one matches of at most `max_distance`, nearest first. Symmetric: the order depends on
/// the sum and the difference of positions. Only a pair and its mirror image are equal in both, and these do
/// not compete.
pub(super) fn one_to_one(
    a: &[ParagraphFingerprint],
    b: &[ParagraphFingerprint],
    max_distance: u32,
) -> Vec<Match> {
    let mut pairs = Vec::new();
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            // Almost all pairs are too far apart in the upper half already.
            let differing = x.hash ^ y.hash;
            if ((differing >> 64) as u64).count_ones() <= max_distance {
                let distance = differing.count_ones();
                if distance <= max_distance {
                    pairs.push(Match { distance, a: i, b: j });
                }
            }
        }
    }
    pairs.sort_unstable_by_key(|pair| (pair.distance, pair.a + pair.b, pair.a.abs_diff(pair.b), pair.a));
    let (mut a_taken, mut b_taken) = (vec![false; a.len()], vec![false; b.len()]);
    pairs.retain(|pair| {
        let free = !a_taken[pair.a] && !b_taken[pair.b];
        if free {
            (a_taken[pair.a], b_taken[pair.b]) = (true, true);
        }
        free
    });
    pairs
}

/// Returns the matches of the i-th paragraph with the i-th.
pub(super) fn in_place(
    a: &[ParagraphFingerprint],
    b: &[ParagraphFingerprint],
    max_distance: u32,
) -> Vec<Match> {
    let distances = a.iter().zip(b).map(|(x, y)| (x.hash ^ y.hash).count_ones());
    let pairs = (0..).zip(distances).map(|(i, distance)| Match { distance, a: i, b: i });
    pairs.filter(|pair| pair.distance <= max_distance).collect()
}

/// Returns the share of each page's weight that is in matching paragraphs, in basis points.
pub(super) fn shares(
    a: &[ParagraphFingerprint],
    b: &[ParagraphFingerprint],
    matches: &[Match],
) -> (u32, u32) {
    let share = |fingerprints: &[ParagraphFingerprint], matched: u64| {
        let total: u64 = fingerprints.iter().map(|fingerprint| u64::from(fingerprint.weight)).sum();
        (matched * 10_000 / total.max(1)) as u32
    };
    let in_a = matches.iter().map(|pair| u64::from(a[pair.a].weight)).sum();
    let in_b = matches.iter().map(|pair| u64::from(b[pair.b].weight)).sum();
    (share(a, in_a), share(b, in_b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fingerprints() -> impl Strategy<Value = Vec<ParagraphFingerprint>> {
        let fingerprint =
            (0..64_u128, 1..100_u16).prop_map(|(hash, weight)| ParagraphFingerprint { hash, weight });
        prop::collection::vec(fingerprint, 1..12)
    }

    #[test]
    fn nearest_pairs_come_first_and_each_paragraph_once() {
        let fingerprint = |hash| ParagraphFingerprint { hash, weight: 10 };
        let (a, b) = (
            [fingerprint(0), fingerprint(0b111)],
            [fingerprint(0b1), fingerprint(0b111), fingerprint(0b111)],
        );
        let matches = one_to_one(&a, &b, 3);
        assert_eq!(matches, [Match { distance: 0, a: 1, b: 1 }, Match { distance: 1, a: 0, b: 0 }]);
        assert_eq!(shares(&a, &b, &matches), (10_000, 6_666));
    }

    proptest! {
        #[test]
        fn matching_is_symmetric(a in fingerprints(), b in fingerprints(), max_distance in 0..6_u32) {
            let there = one_to_one(&a, &b, max_distance);
            let mut back: Vec<Match> =
                one_to_one(&b, &a, max_distance).iter().map(|m| Match { a: m.b, b: m.a, ..*m }).collect();
            let (x, y) = shares(&b, &a, &one_to_one(&b, &a, max_distance));
            prop_assert_eq!(shares(&a, &b, &there), (y, x));
            let mut there = there;
            there.sort_by_key(|m| (m.a, m.b));
            back.sort_by_key(|m| (m.a, m.b));
            prop_assert_eq!(there, back);
        }
    }
}
