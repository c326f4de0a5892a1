//! Aligns two texts: finds the parts that both have in the same order.
//!
//! In: texts. They are split into tokens (words, or single characters in scripts without spaces), of which
//! the common runs are found (Myers). Out: the changes between the runs. Two changes with almost nothing in
//! between are joined. White space does not count. Time: length times difference, for at most [`Alignment::TOKENS_MAX`]
//! tokens per text.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use unicode_width::UnicodeWidthChar;

/// Maximum number of common tokens between two changes that are joined, such as a comma and a word.
const JOINED_TOKENS: usize = 2;

/// The alignment of the tokens of two texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// Ranges of tokens of both texts that do not match, in order; one of the two may be empty.
    pub changes: Vec<[Range<usize>; 2]>,
    /// Number of tokens of each text that were compared.
    pub compared: [usize; 2],
    /// True if only the beginnings were compared.
    pub cut: bool,
    /// Share of the tokens that both texts have in the same order.
    pub shared: f64,
}

impl Alignment {
    /// Limit on the tokens of a text that are compared, about thirty pages of a book. Two unlike texts of that
    /// length take 0.1 s.
    pub const TOKENS_MAX: usize = 10_000;

    /// Aligns the tokens of two texts.
    #[must_use]
    pub fn compute(a: &[&str], b: &[&str]) -> Self {
        let compared = [a, b].map(|tokens| tokens.len().min(Self::TOKENS_MAX));
        let cut = a.len().max(b.len()) > Self::TOKENS_MAX;
        let operations = capture_diff_slices(Algorithm::Myers, &a[..compared[0]], &b[..compared[1]]);
        let last = operations.len();
        let (mut changes, mut shared) = (Vec::new(), 0);
        let mut change: Option<[Range<usize>; 2]> = None;
        for (at, operation) in (1..).zip(operations) {
            let (old, new) = (operation.old_range(), operation.new_range());
            if operation.tag() == DiffTag::Equal {
                shared += old.len();
                if old.len() > JOINED_TOKENS || at == last {
                    changes.extend(change.take());
                }
                continue;
            }
            change = Some(match change.take() {
                Some([of_a, of_b]) => [of_a.start..old.end, of_b.start..new.end],
                None => [old, new],
            });
        }
        changes.extend(change);
        let shared = (2 * shared) as f64 / (compared[0] + compared[1]).max(1) as f64;
        Self { changes, compared, cut, shared }
    }

    /// Returns the runs that both texts have, between the changes, as ranges of tokens of each text.
    pub fn runs(&self) -> impl Iterator<Item = [Range<usize>; 2]> {
        let ends = self.changes.iter().cloned();
        let ends = ends.chain([self.compared.map(|end| end..end)]);
        let mut from = [0, 0];
        ends.filter_map(move |[a, b]| {
            let run = [from[0]..a.start, from[1]..b.start];
            from = [a.end, b.end];
            run.iter().all(|run| !run.is_empty()).then_some(run)
        })
    }
}

/// Returns the byte ranges of the tokens of a text.
#[must_use]
pub fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let goes_on = c.is_alphanumeric() && c.width() != Some(2);
        match found.last_mut().filter(|_| in_word && goes_on) {
            Some(word) => word.end = end,
            None if c.is_whitespace() => {}
            None => found.push(at..end),
        }
        in_word = goes_on;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs_lie_between_changes() {
        let words = |text: &'static str| -> Vec<&str> { text.split(' ').collect() };
        let (a, b) = (words("a b c d e X f g h i"), words("a b c d e Y Z f g h i j"));
        let alignment = Alignment::compute(&a, &b);
        assert_eq!(alignment.changes, [[5..6, 5..7], [10..10, 11..12]]);
        assert_eq!(alignment.runs().collect::<Vec<_>>(), [[0..5, 0..5], [6..10, 7..11]]);
        assert_eq!(Alignment::compute(&a, &a).runs().collect::<Vec<_>>(), [[0..10, 0..10]]);
        assert_eq!(Alignment::compute(&[], &a).runs().count(), 0);
    }

    proptest! {
        /// For any texts, runs and changes follow one another and cover what was compared.
        #[test]
        fn runs_and_changes_cover_both_texts(a in "[ab好 ,]{0,60}", b in "[ab好 ,]{0,60}") {
            let (of_a, of_b) = (tokens(&a), tokens(&b));
            let words = [
                of_a.iter().map(|token| &a[token.clone()]).collect::<Vec<_>>(),
                of_b.iter().map(|token| &b[token.clone()]).collect::<Vec<_>>(),
            ];
            let alignment = Alignment::compute(&words[0], &words[1]);
            for side in 0..2 {
                let mut ranges: Vec<_> = alignment.runs().map(|run| run[side].clone()).collect();
                ranges.extend(alignment.changes.iter().map(|change| change[side].clone()));
                ranges.sort_by_key(|range| (range.start, range.end));
                let mut at = 0;
                for range in ranges {
                    prop_assert_eq!(range.start, at);
                    at = range.end;
                }
                prop_assert_eq!(at, words[side].len());
            }
        }
    }
}
