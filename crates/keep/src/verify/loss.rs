//! Aligns a document with a kept one, and finds the text that would be lost if the document was dropped.
//!
//! Text counts as common if it is part of a *run* that both texts have ([`SplitText::run_from`]). The passages of
//! the document between common runs are lost. So a sentence that moved is not lost, and if a word was replaced, only
//! that word is lost. A passage is the document's *own* if the kept one has nothing like it instead. A reworded
//! sentence is not its own, because the kept text has most of the words there. Cost: linear in both texts.

use std::ops::Range;

use super::words::{SplitText, Word, WordCounts, combined_hash, have_letters, letters_of};

/// Minimum number of letters of a passage. Shorter differences are a matter of wording.
const PASSAGE_LETTERS: u32 = 100;
/// Minimum percentage of a passage's letters that must be in words without a counterpart in the kept document. Only
/// then is the passage the document's own.
const OWN_PERCENT: u32 = 75;
/// Maximum number of words, of two texts together, that are skipped where the texts differ before the next common run
/// is looked up.
const SKIPPED_MAX: usize = 24;

/// The text that is lost if a document is dropped and another one is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Loss {
    /// Number of letters of the document.
    pub letters: u32,
    /// Number of letters in its lost passages of at least [`PASSAGE_LETTERS`] letters.
    pub lost: u32,
    /// Number of letters in the longest stretch of lost text, however short it is.
    pub longest: u32,
    /// Number of letters in all stretches of lost text.
    pub total: u32,
    /// The byte range of the longest stretch in the text.
    pub passage: Range<usize>,
    /// The stretches of lost text, each between two common runs.
    pub places: Vec<Place>,
    /// The text that only the kept document has, as ranges of its words in ascending order.
    pub instead: Vec<Range<usize>>,
}

/// A place in which the document has text that the kept one lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The words of the document; there is at least one.
    pub ours: Range<usize>,
    /// The words that only the kept document has, after the same run or else before the same one; empty if there are
    /// none. No two places have the same words of the kept document.
    pub theirs: Range<usize>,
}

impl Loss {
    /// Returns the text that is lost if `document` is dropped and `kept` is not.
    #[must_use]
    pub(super) fn between(document: &SplitText, kept: &SplitText) -> Self {
        let words = document.words();
        let common = common_stretches(document, kept);
        let (places, instead) = places_between(&common, words.len(), kept.words().len());
        let mut loss = Self { letters: letters_of(words), places, instead, ..Self::default() };
        for Place { ours, .. } in &loss.places {
            let letters = letters_of(&words[ours.clone()]);
            loss.total += letters;
            if letters >= PASSAGE_LETTERS {
                loss.lost += letters;
            }
            if letters > loss.longest {
                loss.longest = letters;
                loss.passage = words[ours.start].start as usize..words[ours.end - 1].end as usize;
            }
        }
        loss
    }

    /// Returns the share of the document that is in lost passages.
    #[must_use]
    pub(super) fn share(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.letters.max(1))
    }

    /// Returns the hashes of the document's own passages of at least `letters_min` letters.
    #[must_use]
    pub(super) fn own_passages(&self, document: &SplitText, kept: &SplitText, letters_min: u32) -> Vec<u64> {
        let words = document.words();
        let passages = self.places.iter().map(|place| &words[place.ours.clone()]);
        let long: Vec<_> = passages.filter(|passage| have_letters(passage, letters_min)).collect();
        if long.is_empty() {
            return Vec::new();
        }
        let instead = self.instead.iter().flat_map(|place| &kept.words()[place.clone()]);
        let mut instead = WordCounts::new(instead);
        let is_own = |passage: &&&[Word]| {
            let own: u32 = passage.iter().filter(|word| !instead.take(word)).map(|word| word.letters).sum();
            own * 100 >= letters_of(passage) * OWN_PERCENT
        };
        long.iter().filter(is_own).map(|passage| combined_hash(*passage)).collect()
    }
}

/// A stretch of words that two texts have in common: its first word in either text, and its length. It has at least
/// one run.
struct Common {
    ours: usize,
    theirs: usize,
    length: usize,
}

/// Returns the stretches of `text` that `other` has as well, in ascending order. Where the texts differ, the next words
/// of both are tried first, since near-duplicates are mostly equal; then the runs before these are looked up anywhere
/// in the other text.
fn common_stretches(text: &SplitText, other: &SplitText) -> Vec<Common> {
    let (words, others) = (text.words(), other.words());
    let equal_from = |ours: usize, theirs: usize| {
        let pairs = words[ours..].iter().zip(&others[theirs..]);
        pairs.take_while(|(word, theirs)| text.is_same(word, other, theirs)).count()
    };
    let has_run = |ours: usize, theirs: usize| {
        let begins_alike = |(word, theirs)| text.is_same(word, other, theirs);
        words.get(ours).zip(others.get(theirs)).is_some_and(begins_alike)
            && text.run_from(ours).is_some_and(|run| {
                let theirs = others.get(theirs..theirs + run.len());
                theirs.is_some_and(|theirs| words[run].iter().zip(theirs).all(begins_alike))
            })
    };
    let mut common = Vec::new();
    let (mut at, mut there) = (0, 0);
    loop {
        let near = (0..=SKIPPED_MAX).flat_map(|both| (0..=both).map(move |ours| (ours, both - ours)));
        let mut near = near.map(|(ours, theirs)| (at + ours, there + theirs));
        let near = near.find(|(ours, theirs)| has_run(*ours, *theirs));
        let end = near.map_or(words.len(), |(ours, _)| ours);
        let is_before = |ours: &usize| text.run_from(*ours).is_some_and(|run| run.end <= end);
        let skipped = (at..end).take_while(is_before);
        let mut elsewhere = skipped.filter_map(|ours| Some((ours, other.first_like(text, ours)?)));
        let elsewhere = elsewhere.find(|(ours, theirs)| has_run(*ours, *theirs));
        let Some((ours, theirs)) = elsewhere.or(near) else { return common };
        let length = equal_from(ours, theirs);
        common.push(Common { ours, theirs, length });
        (at, there) = (ours + length, theirs + length);
    }
}

/// Returns the places of a text of `ours` words between common stretches, and the ranges of the other text, which has
/// `theirs` words, that are in none.
fn places_between(common: &[Common], ours: usize, theirs: usize) -> (Vec<Place>, Vec<Range<usize>>) {
    let instead = gaps(common.iter().map(|common| common.theirs..common.theirs + common.length), theirs);
    let mut free = vec![true; instead.len()];
    // Takes the gap that begins or ends at a word of the other text.
    let mut take = |found: Option<usize>| {
        let at = found.filter(|at| std::mem::take(&mut free[*at]))?;
        Some(instead[at].clone())
    };
    let mut places = Vec::new();
    let mut begin = (0, 0);
    for next in common.iter().chain([&Common { ours, theirs, length: 0 }]) {
        if begin.0 < next.ours {
            let after = instead.binary_search_by_key(&begin.1, |gap| gap.start).ok();
            let before = || instead.binary_search_by_key(&next.theirs, |gap| gap.end).ok();
            let theirs = take(after).or_else(|| take(before())).unwrap_or_default();
            places.push(Place { ours: begin.0..next.ours, theirs });
        }
        begin = (next.ours + next.length, next.theirs + next.length);
    }
    (places, instead)
}

/// Returns what is between some ranges, which may overlap, up to `end`.
fn gaps(ranges: impl Iterator<Item = Range<usize>>, end: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<_> = ranges.chain(std::iter::once(end..end)).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut until = 0;
    let mut gaps = Vec::new();
    for range in ranges {
        if until < range.start {
            gaps.push(until..range.start);
        }
        until = until.max(range.end);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::growth::{GROWTH_MAX, growth};
    use crate::verify::words::tests::{MARKET, RIVER, split};

    fn loss(text: &str, kept: &str) -> Loss {
        Loss::between(&split("", text), &split("", kept))
    }

    #[test]
    fn an_added_passage_is_lost_and_a_moved_one_is_not() {
        let merged = format!("{RIVER}{MARKET}");
        let found = loss(&merged, RIVER);
        assert_eq!(&merged[found.passage.clone()], MARKET.trim_end().trim_end_matches('.'));
        assert_eq!((found.lost, found.longest), (found.longest, loss(MARKET, "").letters));
        assert!((0.4..0.6).contains(&found.share()), "{found:?}");
        assert_eq!(loss(RIVER, &merged).longest, 0, "it is contained");
        assert_eq!(loss(&merged, &format!("{MARKET}{RIVER}")).lost, 0, "moved");
    }

    #[test]
    fn a_replaced_word_is_lost_alone() {
        let edited = RIVER.replace("second", "third");
        let found = loss(&edited, RIVER);
        assert_eq!((&edited[found.passage.clone()], found.lost), ("third", 0), "wording is not a passage");
        let chinese = "河水在夜里涨过了第二座桥，住在那里的人只好离开老磨坊。";
        let found = loss(&chinese.replace('第', "这"), chinese);
        assert_eq!((found.longest, found.lost), (3, 0), "an ideograph counts as three letters");
    }

    #[test]
    fn a_passage_is_own_if_the_kept_document_has_nothing_like_it() {
        let has_own = |text: &str, kept: &str| {
            let [text, kept] = [text, kept].map(|text| split("", text));
            !Loss::between(&text, &kept).own_passages(&text, &kept, 60).is_empty()
        };
        let sentence =
            "a grey heron stood in the reeds and waited for fishing boats to come back from the open sea. ";
        let kept = format!("{RIVER}{MARKET}{RIVER}");
        assert!(has_own(&format!("{RIVER}{sentence}{MARKET}{RIVER}"), &kept), "added");
        assert!(has_own(&format!("{RIVER}{sentence}{RIVER}"), &kept), "instead of another one");
        assert!(has_own(&format!("{kept}{sentence}"), &kept), "at the end");
        assert!(has_own(&format!("{sentence}{kept}"), &kept), "at the beginning");
        assert!(!has_own(&format!("{RIVER}{}{MARKET}", &sentence[..50]), &kept), "less than a passage");
        assert!(!has_own(&format!("{MARKET}{RIVER}"), &kept), "moved");
        let reworded = MARKET
            .replace("prices at", "in")
            .replace("went up again", "prices again went up")
            .replace("so that", "and");
        assert!(!has_own(&format!("{RIVER}{reworded}{RIVER}"), &kept), "in other words");
        let chinese = "这里还说到一件别处没有提过的事情，就是那天晚上有人看见了船。";
        assert!(has_own(&format!("{RIVER}{chinese}{MARKET}{RIVER}"), &kept), "ideographs");
    }

    /// A long text with every twentieth word replaced has a lost place for each of these words.
    #[test]
    fn long_texts_that_differ_all_over_cost_what_their_words_cost() {
        let texts = |words: usize| {
            let spelled = |at: usize| format!("w{at:05}ord");
            let text: String = (0..words).map(|at| spelled(at) + " ").collect();
            let replaced =
                |at: usize| if at.is_multiple_of(20) { format!("x{}", spelled(at)) } else { spelled(at) };
            let other: String = (0..words).map(|at| replaced(at) + " ").collect();
            [split("https://a.example/1", &text), split("https://b.example/2", &other)]
        };
        let grown = growth(20_000, texts, |[kept, text]| {
            let loss = Loss::between(text, kept);
            assert_eq!(loss.own_passages(text, kept, 5).len(), text.words().len() / 20);
            assert_eq!(loss.places.len(), text.words().len() / 20);
        });
        assert!(grown < GROWTH_MAX, "{grown}");
        let equal =
            |words: usize| ["word ".repeat(words), "word ".repeat(words - 1)].map(|text| split("", &text));
        let grown = growth(20_000, equal, |[text, kept]| {
            assert_eq!(Loss::between(text, kept).own_passages(text, kept, 5).len(), 0);
        });
        assert!(grown < GROWTH_MAX, "one word: {grown}");
    }

    proptest! {
        /// The naive twin compares each word with each: a stretch that both texts have is common if it has a run. All words
        /// outside of lost places are in common stretches, and no lost place has one.
        #[test]
        fn the_loss_is_that_of_a_naive_comparison(
            a in "([a-d]{1,3}|[一二三]|[ .,1-]){0,60}",
            b in "([a-d]{1,3}|[一二三]|[ .,1-]){0,60}",
            at in 0_usize..60,
        ) {
            // Texts that have much in common.
            let cut: String = a.chars().skip(at).collect();
            for (text, kept) in [(&a, &b), (&a, &cut), (&format!("{cut}{b}"), &a)] {
                let (ours, theirs) = (split("", text), split("", kept));
                let loss = Loss::between(&ours, &theirs);
                let words = |text: &SplitText| -> Vec<String> {
                    text.words().iter().map(|word| text.spelled(word).to_owned()).collect()
                };
                let (spelled, others) = (words(&ours), words(&theirs));
                let mut common = Vec::new();
                for (start, there) in (0..spelled.len()).flat_map(|at| (0..others.len()).map(move |there| (at, there))) {
                    let pairs = spelled[start..].iter().zip(&others[there..]);
                    let end = start + pairs.take_while(|(ours, theirs)| ours == theirs).count();
                    if ours.run_from(start).is_some_and(|run| run.end <= end) {
                        common.push(start..end);
                    }
                }
                for word in 0..spelled.len() {
                    let is_lost = loss.places.iter().any(|place| place.ours.contains(&word));
                    prop_assert!(is_lost || common.iter().any(|run| run.contains(&word)), "{} {}", text, kept);
                }
                for Place { ours: place, theirs } in &loss.places {
                    let has_run = common.iter().any(|run| {
                        place.start <= run.start && ours.run_from(run.start).is_some_and(|run| run.end <= place.end)
                    });
                    prop_assert!(!has_run && !place.is_empty() && theirs.end <= others.len(), "{} {}", text, kept);
                }
                prop_assert!(text.get(loss.passage.clone()).is_some() && loss.lost <= loss.total);
            }
        }
    }
}
