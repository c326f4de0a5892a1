//! Finds the text that would be lost if a document was dropped and another one kept.
//!
//! Text counts as common if it is part of a *run* that both texts have ([`SplitText::run_from`]). The passages of
//! the document between common runs are lost. So a sentence that moved is not lost, and if a word was replaced, only
//! that word is lost. A passage is the document's *own* if the kept one has nothing like it instead. A reworded
//! sentence is not its own, because the kept text has most of the words there. Cost: linear in both texts.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::words::{RUN_LETTERS, SplitText, Word, combined_hash, have_letters, letters_of};
use leitong_base::hashed::HashedMap;

/// Minimum number of letters of a passage. Shorter differences are a matter of wording.
const PASSAGE_LETTERS: u32 = 100;
/// Minimum percentage of a passage's letters that must be in words without a counterpart in the kept document. Only
/// then is the passage the document's own.
const OWN_PERCENT: u32 = 75;
/// Number of letters at the beginning of a text in which copies have their own headlines.
const HEADLINE_LETTERS: u32 = 60;
/// Maximum number of words, of two texts together, that a walk through both skips where they differ.
const SKIPPED_MAX: usize = 24;
/// Number of equal words from which on the walk goes on.
const ALIGNED_WORDS: usize = 3;
/// Logarithm of the number of bits for the [`Beginnings`] of runs that are searched for.
const BEGINNINGS_BITS: u32 = 14;

/// The text that is lost if a document is dropped and another one is kept. A *stretch* of lost text is between two
/// common runs.
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
    /// Number of stretches of lost text.
    pub runs: u32,
    /// The byte range of the longest stretch in the text.
    pub passage: Range<usize>,
    /// All stretches of lost text, as ranges of the document's words.
    pub places: Vec<Range<usize>>,
    /// The text that the kept document has instead, as ranges of its words, once it was
    /// [searched](Self::places_instead) for.
    pub instead: OnceCell<Vec<Range<usize>>>,
    /// For each of `places`, the place of the kept document that is next to the same run, once it was
    /// [searched](Self::counterparts) for.
    pub counterparts: OnceCell<Vec<Option<Range<usize>>>>,
}

impl Loss {
    /// Returns the text that is lost if `document` is dropped and `kept` is not.
    #[must_use]
    pub(super) fn between(document: &SplitText, kept: &SplitText) -> Self {
        let words = document.words();
        let mut loss = Self { letters: letters_of(words), ..Self::default() };
        let places = gaps(document, kept);
        places.iter().for_each(|place| loss.add(&words[place.clone()]));
        Self { places, ..loss }
    }

    /// Returns the share of the document that is in lost passages.
    #[must_use]
    pub(super) fn share(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.letters.max(1))
    }

    /// Returns the hashes of the document's own passages of at least `letters_min` letters. For whole sentences, two
    /// thirds of that are enough. At the beginning of the document, where copies have their own headlines, a passage
    /// that does not end with a sentence also needs at least [`PASSAGE_LETTERS`] letters.
    #[must_use]
    pub(super) fn own_passages(&self, document: &SplitText, kept: &SplitText, letters_min: u32) -> Vec<u64> {
        let words = document.words();
        let is_long = |place: &&Range<usize>| {
            let letters = letters_of(&words[(*place).clone()]);
            let [begins, ends] = [place.start, place.end].map(|at| document.ends_sentence(at));
            let is_headline = !have_letters(&words[..place.start], HEADLINE_LETTERS) && !ends;
            match (is_headline, begins && ends) {
                (true, _) => letters >= letters_min.max(PASSAGE_LETTERS),
                (_, true) => letters >= letters_min * 2 / 3,
                (_, false) => letters >= letters_min,
            }
        };
        let long: Vec<_> = self.places.iter().filter(is_long).collect();
        if long.is_empty() {
            return Vec::new();
        }
        // The number of times that each word occurs in text that only the kept document has.
        let mut instead: HashedMap<u32> = HashedMap::default();
        let places = self.places_instead(document, kept);
        for word in places.iter().flat_map(|place| &kept.words()[place.clone()]) {
            *instead.entry(word.hash).or_default() += 1;
        }
        let is_own = |place: &&Range<usize>| {
            let mut passage = words[(*place).clone()].to_vec();
            passage.sort_unstable_by_key(|word| word.hash);
            let own = passage.chunk_by(|a, b| a.hash == b.hash).map(|same| {
                let theirs = instead.get(&same[0].hash).copied().unwrap_or(0);
                same[0].letters * (same.len() as u32).saturating_sub(theirs)
            });
            own.sum::<u32>() * 100 >= letters_of(&passage) * OWN_PERCENT
        };
        long.into_iter().filter(is_own).map(|place| combined_hash(&words[place.clone()])).collect()
    }

    /// Returns true if no stretch has more than half of the lost text, as in a revised text.
    #[must_use]
    pub(super) fn is_spread(&self) -> bool {
        self.longest <= self.total / 2
    }

    /// Returns the places where the kept document has text that the document lacks, as ranges of its words. `document`
    /// and `kept` must be the texts that were compared.
    pub(super) fn places_instead(&self, document: &SplitText, kept: &SplitText) -> &[Range<usize>] {
        self.instead.get_or_init(|| gaps(kept, document))
    }

    /// Returns each place of the document with the kept document's other text after the same run, or else before the same
    /// one, if there is any. No two places have the same other text.
    pub(super) fn counterparts(
        &self,
        document: &SplitText,
        kept: &SplitText,
    ) -> impl Iterator<Item = (&Range<usize>, Option<&Range<usize>>)> {
        let counterparts = self.counterparts.get_or_init(|| {
            let instead = self.places_instead(document, kept);
            let [before, after] = [run_before, run_after].map(|run| -> HashMap<u64, &Range<usize>> {
                instead.iter().map(|place| (run(kept, place), place)).collect()
            });
            let mut taken = HashSet::new();
            let counterpart = |place: &Range<usize>| {
                let found = before.get(&run_before(document, place));
                let found = found.or_else(|| after.get(&run_after(document, place)))?;
                taken.insert(found.start).then(|| Range::clone(found))
            };
            self.places.iter().map(counterpart).collect()
        });
        self.places.iter().zip(counterparts.iter().map(Option::as_ref))
    }

    fn add(&mut self, words: &[Word]) {
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        let letters = letters_of(words);
        self.total += letters;
        self.runs += 1;
        if letters >= PASSAGE_LETTERS {
            self.lost += letters;
        }
        if letters > self.longest {
            self.longest = letters;
            self.passage = first.start as usize..last.end as usize;
        }
    }
}

/// Returns the hash of the run before a place, by which it is recognised in another document.
fn run_before(text: &SplitText, place: &Range<usize>) -> u64 {
    combined_hash(&text.words()[text.run_until(place.start)])
}

/// Returns the hash of the run after a place, or of all words after it.
fn run_after(text: &SplitText, place: &Range<usize>) -> u64 {
    combined_hash(&text.words()[text.run_from(place.end).unwrap_or(place.end..text.words().len())])
}

/// Returns the places of `text` between the runs that `other` has as well, as ranges of words.
fn gaps(text: &SplitText, other: &SplitText) -> Vec<Range<usize>> {
    let mut common: Vec<_> =
        aligned(text, other).into_iter().filter_map(|stretch| runs_within(text, &stretch)).collect();
    let elsewhere = runs_also_in(other, text, runs_outside(text, &common));
    common.extend(elsewhere);
    common.sort_unstable_by_key(|run| run.start);
    let mut gaps = Vec::new();
    let mut common_until = 0;
    for run in common {
        if run.start > common_until {
            gaps.push(common_until..run.start);
        }
        common_until = common_until.max(run.end);
    }
    if common_until < text.words().len() {
        gaps.push(common_until..text.words().len());
    }
    gaps
}

/// Returns the part of a stretch of `text` that is in runs within the stretch, or `None` if it has none.
fn runs_within(text: &SplitText, stretch: &Range<usize>) -> Option<Range<usize>> {
    let last = text.run_from(text.run_until(stretch.end).start)?;
    (stretch.start <= last.start && last.end <= stretch.end).then_some(stretch.start..last.end)
}

/// Returns the runs of `text` that are not within one of the `stretches`, each of which has a run.
fn runs_outside(text: &SplitText, stretches: &[Range<usize>]) -> Vec<Range<usize>> {
    let end = text.words().len();
    let mut runs = Vec::new();
    let mut start = 0;
    for stretch in stretches.iter().chain([&(end..end)]) {
        runs.extend((start..stretch.start).map_while(|start| text.run_from(start)));
        start = text.run_until(stretch.end).start + 1;
    }
    runs
}

/// Returns those of `runs`, which are runs of `text`, that `other` has as well. Cost: linear.
fn runs_also_in(other: &SplitText, text: &SplitText, mut runs: Vec<Range<usize>>) -> Vec<Range<usize>> {
    if runs.is_empty() {
        return runs;
    }
    let (words, others) = (text.words(), other.words());
    // The other text's first run for each hash that is searched for.
    let mut first: HashedMap<Option<Range<usize>>> = HashedMap::default();
    let mut beginnings = Beginnings::default();
    for run in &runs {
        first.insert(combined_hash(&words[run.clone()]), None);
        beginnings.add(&words[run.start..]);
    }
    for start in (0..others.len()).filter(|start| beginnings.may_have(&others[*start..])) {
        let Some(run) = other.run_from(start) else { break };
        if let Some(first) = first.get_mut(&combined_hash(&others[run.clone()])) {
            first.get_or_insert(run);
        }
    }
    // The hash finds a run, and the letters decide.
    runs.retain(|run| {
        let there = first.get(&combined_hash(&words[run.clone()])).and_then(Option::as_ref);
        there.is_some_and(|there| {
            let there = &others[there.clone()];
            let are_same = |(word, theirs)| text.is_same(word, other, theirs);
            there.len() == run.len() && words[run.clone()].iter().zip(there).all(are_same)
        })
    });
    runs
}

/// The first two words of some runs, as bits: most words of a text begin none of them.
struct Beginnings([u64; 1 << (BEGINNINGS_BITS - 6)]);

impl Default for Beginnings {
    fn default() -> Self {
        Self([0; 1 << (BEGINNINGS_BITS - 6)])
    }
}

impl Beginnings {
    /// Returns the number of the bit for a run that begins with the first of these words. A second word counts only
    /// if the run has one.
    fn bit(words: &[Word]) -> u64 {
        let [first, second] = [words.first(), words.get(1)];
        let is_alone = first.is_some_and(|first| first.letters >= RUN_LETTERS);
        combined_hash(first.into_iter().chain(second.filter(|_| !is_alone))) >> (u64::BITS - BEGINNINGS_BITS)
    }

    fn add(&mut self, words: &[Word]) {
        let bit = Self::bit(words);
        self.0[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    /// Returns false if none of the runs begins with the first of these words.
    fn may_have(&self, words: &[Word]) -> bool {
        let bit = Self::bit(words);
        self.0[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }
}

/// Returns stretches of `text` that `other` has as well, as ranges of words in ascending order. Near-duplicates are
/// mostly equal, so a walk through both texts, from the start and from the end, finds most of what they have in common.
/// These parts need no search. Cost: linear.
fn aligned(text: &SplitText, other: &SplitText) -> Vec<Range<usize>> {
    let (words, others) = (text.words(), other.words());
    let are_same = |(word, theirs): &(&Word, &Word)| text.is_same(word, other, theirs);
    let (mut at, mut there) = (0, 0);
    let mut aligned = Vec::new();
    loop {
        let length = words[at..].iter().zip(&others[there..]).take_while(are_same).count();
        aligned.push(at..at + length);
        at += length;
        there += length;
        let begins_here = |(ours, theirs): &(usize, usize)| {
            let ours = words.get(at + ours..at + ours + ALIGNED_WORDS);
            let theirs = others.get(there + theirs..there + theirs + ALIGNED_WORDS);
            ours.zip(theirs).is_some_and(|(ours, theirs)| ours.iter().zip(theirs).all(|pair| are_same(&pair)))
        };
        let mut skips = (1..=SKIPPED_MAX).flat_map(|both| (0..=both).map(move |ours| (ours, both - ours)));
        let Some((ours, theirs)) = skips.find(begins_here) else { break };
        at += ours;
        there += theirs;
    }
    let left = (words.len() - at).min(others.len() - there);
    let behind = words.iter().rev().zip(others.iter().rev()).take(left).take_while(are_same).count();
    aligned.push(words.len() - behind..words.len());
    aligned
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
    fn one_added_passage_differs_from_changes_in_many_places() {
        let added = loss(&format!("{RIVER}{RIVER}{MARKET}"), RIVER);
        assert!(!added.is_spread(), "{added:?}");
        let revised = loss(&format!("{MARKET}{RIVER}{MARKET}{RIVER}{MARKET}"), RIVER);
        assert!(revised.is_spread(), "{revised:?}");
        assert_eq!(revised.runs, 3);
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
        assert!(!has_own(&format!("{}\n{kept}", &sentence[..sentence.len() - 2]), &kept), "a headline");
        assert!(has_own(&format!("{sentence}{kept}"), &kept), "a sentence at the beginning");
        assert!(has_own(&format!("{sentence}{sentence}{kept}"), &kept), "a paragraph at the beginning");
        assert!(!has_own(&format!("{RIVER}{}{MARKET}", &sentence[..50]), &kept), "less than a sentence");
        let short = "a grey heron stood in the reeds and waited for fishing boats. ";
        assert!(has_own(&format!("{RIVER}{short}{MARKET}"), &kept), "a short sentence");
        assert!(!has_own(&format!("{RIVER}{}{MARKET}", &short[..60]), &kept), "as long, but not whole");
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
            // All but the first word, which may be a headline.
            assert_eq!(loss.own_passages(text, kept, 5).len() + 1, text.words().len() / 20);
            assert_eq!(loss.runs as usize, text.words().len() / 20);
        });
        assert!(grown < GROWTH_MAX, "{grown}");
        let equal =
            |words: usize| ["word ".repeat(words), "word ".repeat(words - 1)].map(|text| split("", &text));
        let grown = growth(20_000, equal, |[text, kept]| {
            assert_eq!(Loss::between(text, kept).own_passages(text, kept, 5).len(), 0);
        });
        assert!(grown < GROWTH_MAX, "one word: {grown}");
    }

    /// The naive twin of [`Loss::between`]: marks each word of each run that the other text has.
    fn naive(text: &str, kept: &str) -> u32 {
        let spelled = |text: &SplitText, run: Range<usize>| -> Vec<String> {
            text.words()[run].iter().map(|word| text.spelled(word).to_owned()).collect()
        };
        let (ours, theirs) = (split("", text), split("", kept));
        let runs_of = |text: &SplitText| -> Vec<Range<usize>> {
            (0..text.words().len()).filter_map(|start| text.run_from(start)).collect()
        };
        let runs: Vec<_> = runs_of(&theirs).into_iter().map(|run| spelled(&theirs, run)).collect();
        let mut is_common = vec![false; ours.words().len()];
        for run in runs_of(&ours) {
            if runs.contains(&spelled(&ours, run.clone())) {
                is_common[run].fill(true);
            }
        }
        let lost =
            ours.words().iter().zip(is_common).map(|(word, common)| if common { 0 } else { word.letters });
        let mut longest = 0;
        lost.fold(0, |run, letters| {
            let run = if letters == 0 { 0 } else { run + letters };
            longest = longest.max(run);
            run
        });
        longest
    }

    proptest! {
        #[test]
        fn the_loss_is_that_of_a_naive_comparison(
            a in "([a-d]{1,3}|[一二三]|[ .,1]){0,60}",
            b in "([a-d]{1,3}|[一二三]|[ .,1]){0,60}",
            at in 0_usize..60,
        ) {
            // Texts that have much in common.
            let cut: String = a.chars().skip(at).collect();
            for (text, kept) in [(&a, &b), (&a, &cut), (&format!("{cut}{b}"), &a)] {
                let found = loss(text, kept);
                prop_assert_eq!(found.longest, naive(text, kept), "{} {}", text, kept);
                prop_assert!(text.get(found.passage.clone()).is_some());
                prop_assert!(found.lost <= found.letters);
            }
        }
    }
}
