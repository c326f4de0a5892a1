//! Selects the *main* paragraphs of a page, the ones that become keys.
//!
//! Near pages share paragraphs that hold `share_min` of each page. So any selection that leaves out less than
//! `share_min` contains a shared paragraph. Heavy paragraphs come first, to keep the number of keys small.
//! Paragraphs at the end and the beginning of a page come last: a footer that is on every page of a site
//! would make all of them candidates of each other, and look-ups would slow down in proportion to the table.
//! On `neardup_zh_xitu`, whose pages end with the same two paragraphs, 343,821 of 722,000 pairs of unrelated
//! pages share a key with the heaviest paragraphs alone, and 1,238 with the ends last.

use std::cmp::Reverse;

use super::matching::ParagraphFingerprint;

/// Number of paragraphs at the beginning of a page that are selected after all others.
const OPENING: usize = 1;
/// Number of paragraphs at the end of a page that are selected after all others.
const CLOSING: usize = 3;
/// Divisor of the page's number of paragraphs. [`OPENING`] and [`CLOSING`] are limited to the quotient, because
/// the few paragraphs of a short page are its text.
const ONE_IN: usize = 8;
/// Maximum share of `share_min` that main paragraphs leave out, in percent. Less than 100, because two
/// versions of a page agree in all bits of a band for only few paragraphs: recall on `neardup_zh_lctt` is
/// 0.986 with 100, 0.991 with 75.
const LEFT_PERCENT: u64 = 75;

/// Returns the main paragraphs of a page; `share_min` is in basis points.
pub(super) fn main_paragraphs(
    fingerprints: &[ParagraphFingerprint],
    share_min: u32,
) -> Vec<ParagraphFingerprint> {
    let ends = fingerprints.len() / ONE_IN;
    let inner = OPENING.min(ends)..fingerprints.len() - CLOSING.min(ends);
    let mut order: Vec<usize> = (0..fingerprints.len()).collect();
    order.sort_by_key(|at| (!inner.contains(at), Reverse(fingerprints[*at].weight)));
    let total: u64 = fingerprints.iter().map(|fingerprint| u64::from(fingerprint.weight)).sum();
    let mut left = total;
    let enough = order.iter().position(|at| {
        let before = left;
        left -= u64::from(fingerprints[*at].weight);
        before * 10_000 * 100 < total * u64::from(share_min) * LEFT_PERCENT
    });
    order.truncate(enough.unwrap_or(order.len()));
    order.into_iter().map(|at| fingerprints[at]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn main_hashes(fingerprints: &[ParagraphFingerprint], share_min: u32) -> Vec<u128> {
        main_paragraphs(fingerprints, share_min).iter().map(|fingerprint| fingerprint.hash).collect()
    }

    #[test]
    fn paragraphs_at_the_end_of_a_page_come_last() {
        // Forty paragraphs of text, and three heavier ones that are on every page.
        let page: Vec<ParagraphFingerprint> = (0..43)
            .map(|at| ParagraphFingerprint { hash: at, weight: if at < 40 { 100 } else { 200 } })
            .collect();
        let main = main_hashes(&page, 2_500);
        assert!(main.iter().all(|hash| (1..40).contains(hash)), "{main:?}");
        // They count if the text alone leaves out too much.
        assert!(main_hashes(&page, 1_000).contains(&40));
    }

    #[test]
    fn the_heaviest_paragraphs_of_a_short_page_are_main() {
        let weights = [10, 80, 30, 200];
        let page: Vec<ParagraphFingerprint> =
            (0..).zip(weights).map(|(hash, weight)| ParagraphFingerprint { hash, weight }).collect();
        assert_eq!(main_hashes(&page, 2_500), [3, 1]);
        assert_eq!(main_hashes(&page[..1], 2_500), [0]);
    }

    proptest! {
        #[test]
        fn main_paragraphs_leave_out_less_than_near_pages_share(
            weights in prop::collection::vec(1..500_u16, 1..60), share_min in 1..=10_000_u32,
        ) {
            let page: Vec<ParagraphFingerprint> = weights.iter().map(|weight| ParagraphFingerprint { hash: 0, weight: *weight }).collect();
            let sum = |fingerprints: &[ParagraphFingerprint]| fingerprints.iter().map(|fingerprint| u64::from(fingerprint.weight)).sum::<u64>();
            let left = sum(&page) - sum(&main_paragraphs(&page, share_min));
            prop_assert!(left * 10_000 < sum(&page) * u64::from(share_min));
        }
    }
}
