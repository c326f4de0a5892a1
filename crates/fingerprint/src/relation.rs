//! How the text of a page relates to another that it has passages in common with.

use serde::Serialize;

use super::Shares;

/// From this share on (ten-thousandths) a text counts as standing in the other one.
/// Sketches of 64 values estimate shares to some ±600, so that texts with a twentieth
/// of other words are still the same, and one without its last third is an excerpt.
const WHOLE: u32 = 8_000;

/// How the text of a page relates to that of its cluster's canonical page, or of the page that its
/// verdict calls related.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Relation {
    /// Each stands in the other: one text, perhaps edited.
    Same,
    /// The page stands in the canonical one, which says more.
    Excerpt,
    /// The page holds the canonical one, and says more.
    Extends,
    /// Each has much that the other lacks.
    Overlaps,
    /// Each stands in the other for the most part, and yet the detector takes them for two texts:
    /// short pages of one series.
    Alike,
    /// Both are pages of one article that is spread over several, whatever their texts have in
    /// common.
    Part,
}

impl Relation {
    /// The relation of a page, of which `shares.of_a` stands in the
    /// canonical page, to that page, of which `shares.of_b` stands in it.
    #[must_use]
    pub fn of(shares: Shares) -> Self {
        match (shares.of_a >= WHOLE, shares.of_b >= WHOLE) {
            (true, true) => Self::Same,
            (true, false) => Self::Excerpt,
            (false, true) => Self::Extends,
            (false, false) => Self::Overlaps,
        }
    }

    /// The same for a page that is no duplicate of the other.
    #[must_use]
    pub fn of_another(shares: Shares) -> Self {
        match Self::of(shares) {
            Self::Same => Self::Alike,
            relation => relation,
        }
    }

    /// All relations, in the order of their numbers on the wire.
    pub const ALL: [Self; 6] =
        [Self::Same, Self::Excerpt, Self::Extends, Self::Overlaps, Self::Alike, Self::Part];

    /// The name as it stands in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "SAME",
            Self::Excerpt => "EXCERPT",
            Self::Extends => "EXTENDS",
            Self::Overlaps => "OVERLAPS",
            Self::Alike => "ALIKE",
            Self::Part => "PART",
        }
    }

    /// The number on the wire, from 1.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Detector;
    use crate::detectors::simhash::SimHash;
    use crate::detectors::simhash::SimHashConfig;
    use leitong_text::extract::Document;
    use leitong_text::segment::SegmentConfig;
    use leitong_text::segment::{Lexicons, Segmenter, Terms};

    /// Sentences of which no two are alike.
    fn sentences(range: std::ops::Range<u32>) -> String {
        let word = |number: u32| format!("w{:x}", number.wrapping_mul(0x9e37_79b1) >> 8);
        let sentence = |at: u32| (0..9).map(|i| word(at * 9 + i)).collect::<Vec<_>>().join(" ") + ". ";
        range.map(sentence).collect()
    }

    #[test]
    fn is_told_by_the_shares_of_real_fingerprints() {
        let detector = SimHash::new(&SimHashConfig::default());
        let segmenter = Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("defaults");
        let fingerprint = |text: &str| {
            let mut terms = Terms::default();
            segmenter.segment(&Document::from_text(None, text), &mut terms);
            detector.fingerprint(&terms).expect("enough text")
        };
        let relation = |a: &str, b: &str| {
            Relation::of(detector.shares(&fingerprint(a), &fingerprint(b)).expect("sizes are known"))
        };
        let whole = sentences(0..100);
        assert_eq!(relation(&whole, &whole), Relation::Same);
        assert_eq!(relation(&sentences(0..60), &whole), Relation::Excerpt);
        assert_eq!(relation(&whole, &sentences(20..80)), Relation::Extends);
        assert_eq!(relation(&sentences(40..140), &whole), Relation::Overlaps);
    }
}
