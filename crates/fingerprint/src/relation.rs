//! Describes how the texts of two pages with common passages relate.

use serde::Serialize;

use super::Shares;

/// Minimum share of a text, in basis points, that must be in the other one for it to count as contained.
/// Sketches of 64 values estimate shares to some ±600: texts with a twentieth of other words are still the
/// same, and one without its last third is an excerpt.
const WHOLE: u32 = 8_000;

leitong_base::named! {
    /// The relation of a page's text to that of its cluster's canonical page, or to that of the related page
    /// named in its verdict.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    pub enum Relation {
        /// Each contains the other: one text, perhaps edited.
        Same = "SAME",
        /// The canonical page contains the page, and says more.
        Excerpt = "EXCERPT",
        /// The page contains the canonical page, and says more.
        Extends = "EXTENDS",
        /// Each has much that the other lacks.
        Overlaps = "OVERLAPS",
        /// Each contains most of the other, but the detector treats them as two texts: short pages of one series.
        Alike = "ALIKE",
        /// Both are pages of one article in several parts, whether their texts have anything in common or not.
        Part = "PART",
    }
}

impl Relation {
    /// Returns the relation of a page to the canonical page. `shares.of_a` is the share of the page that is
    /// in the canonical page, `shares.of_b` the reverse.
    #[must_use]
    pub fn from_shares(shares: Shares) -> Self {
        match (shares.of_a >= WHOLE, shares.of_b >= WHOLE) {
            (true, true) => Self::Same,
            (true, false) => Self::Excerpt,
            (false, true) => Self::Extends,
            (false, false) => Self::Overlaps,
        }
    }

    /// Returns the relation of a page that is not a duplicate of the other.
    #[must_use]
    pub fn from_shares_if_not_near(shares: Shares) -> Self {
        match Self::from_shares(shares) {
            Self::Same => Self::Alike,
            relation => relation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Detector;
    use crate::detectors::simhash::{SimHash, SimHashConfig};
    use crate::test_texts::{sentences, terms};

    #[test]
    fn the_relation_follows_from_the_shares_of_fingerprints() {
        let detector = SimHash::new(&SimHashConfig::default());
        let fingerprint = |text: &str| detector.fingerprint(&terms(text)).expect("enough text");
        let relation = |a: &str, b: &str| {
            Relation::from_shares(detector.shares(&fingerprint(a), &fingerprint(b)).expect("sizes are known"))
        };
        let whole = sentences(0..100);
        assert_eq!(relation(&whole, &whole), Relation::Same);
        assert_eq!(relation(&sentences(0..60), &whole), Relation::Excerpt);
        assert_eq!(relation(&whole, &sentences(20..80)), Relation::Extends);
        assert_eq!(relation(&sentences(40..140), &whole), Relation::Overlaps);
    }
}
