//! Splits a document's text into words, once for all its comparisons.
//!
//! In: a normalised text: lower case, one width and one Chinese script. Out: its *words* (each ideograph or kana is
//! one), and its *runs*: the shortest sequence of words from each word on that has at least [`RUN_LETTERS`] letters.
//! Two texts have a passage in common if they have a run in common. Cost: linear; 24 bytes per word.

use std::cell::OnceCell;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::texts::Text;
use leitong_base::hashed::{HashedMap, HashedSet};
use leitong_fingerprint::is_unit;

/// Minimum number of letters in a run that two texts have in common: five ideographs, or about three words.
pub(super) const RUN_LETTERS: u32 = 15;
/// Number of letters that an ideograph or kana counts for.
const IDEOGRAPH_LETTERS: u32 = 3;
/// Characters that join the parts of a number, a version or a name, as `4.2.15` and `unic-char`.
pub(super) const JOINTS: [char; 3] = ['.', '-', '_'];
/// Length up to which words of equal length have different hashes: XXH3-64 mixes up to eight bytes reversibly.
const UNIQUE_BYTES: u32 = 8;
/// Odd multiplier for hashes: the golden ratio in 64 bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A document's text with its words.
#[derive(Debug)]
pub(super) struct SplitText {
    text: Text,
    words: Vec<Word>,
    /// The hashes of all words, once they were needed.
    vocabulary: OnceCell<HashedSet>,
    /// The first word of the first run with each hash, once runs were looked up.
    runs: OnceCell<HashedMap<u32>>,
}

impl SplitText {
    /// Splits a text.
    #[must_use]
    pub(super) fn new(text: Text) -> Self {
        let words = words(text.text());
        Self { text, words, vocabulary: OnceCell::new(), runs: OnceCell::new() }
    }

    /// Returns the document's url, which may be empty.
    #[must_use]
    pub(super) fn url(&self) -> &str {
        self.text.url()
    }

    /// Returns the document's url, or `None` if it has none.
    pub(super) fn known_url(&self) -> Option<String> {
        Some(self.url().to_owned()).filter(|url| !url.is_empty())
    }

    /// Returns the text.
    #[must_use]
    pub(super) fn text(&self) -> &str {
        self.text.text()
    }

    /// Returns the words in their order.
    #[must_use]
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// Returns true if the text has a word with this hash.
    #[must_use]
    pub(super) fn has_word(&self, hash: u64) -> bool {
        self.vocabulary.get_or_init(|| self.words.iter().map(|word| word.hash).collect()).contains(&hash)
    }

    /// Returns the number of bytes that the text, its words and their indexes take.
    #[must_use]
    pub(super) fn bytes(&self) -> usize {
        self.text().len() + 2 * size_of_val(self.words())
    }

    /// Returns the letters of a word of this text.
    #[must_use]
    pub(super) fn spelled(&self, word: &Word) -> &str {
        &self.text()[word.start as usize..word.end as usize]
    }

    /// Returns the text of a place, from the word before it to the word after it.
    #[must_use]
    pub(super) fn around(&self, place: &Range<usize>) -> &str {
        let words = self.words.get(place.start.saturating_sub(1)..self.words.len().min(place.end + 1));
        let words = words.filter(|_| !place.is_empty()).unwrap_or_default();
        let ends = words.first().zip(words.last());
        ends.map_or("", |(first, last)| &self.text()[first.start as usize..last.end as usize])
    }

    /// Returns true if a word of this text is spelled like a word of `other`.
    #[must_use]
    pub(super) fn is_same(&self, word: &Word, other: &Self, theirs: &Word) -> bool {
        let length = word.end - word.start;
        if word.hash != theirs.hash || length != theirs.end - theirs.start {
            return false;
        }
        length <= UNIQUE_BYTES || self.spelled(word) == other.spelled(theirs)
    }

    /// Returns the run that begins with the word `start`, as a range of words. The last words begin no run.
    #[must_use]
    pub(super) fn run_from(&self, start: usize) -> Option<Range<usize>> {
        let mut letters = 0;
        let is_enough = |word: &Word| {
            letters += word.letters;
            letters >= RUN_LETTERS
        };
        let more = self.words[start..].iter().position(is_enough)?;
        Some(start..start + more + 1)
    }

    /// Returns the first word of this text's first run that has the hash of the run of `other` from a word on.
    #[must_use]
    pub(super) fn first_like(&self, other: &Self, start: usize) -> Option<usize> {
        let runs = self.runs.get_or_init(|| {
            let mut runs = HashedMap::default();
            for run in (0..self.words.len()).map_while(|start| self.run_from(start)) {
                runs.entry(combined_hash(&self.words[run.clone()])).or_insert(run.start as u32);
            }
            runs
        });
        let run = other.run_from(start)?;
        runs.get(&combined_hash(&other.words[run])).map(|start| *start as usize)
    }
}

/// Returns the hash of words in their order.
pub(super) fn combined_hash<'a>(words: impl IntoIterator<Item = &'a Word>) -> u64 {
    words.into_iter().fold(0, |hash, word| (hash.rotate_left(5) ^ word.hash).wrapping_mul(MULTIPLIER))
}

/// The number of times that each word occurs.
pub(super) struct WordCounts(HashedMap<u32>);

impl WordCounts {
    /// Counts some words.
    #[must_use]
    pub(super) fn new<'a>(words: impl IntoIterator<Item = &'a Word>) -> Self {
        let mut counts = HashedMap::default();
        words.into_iter().for_each(|word| *counts.entry(word.hash).or_default() += 1);
        Self(counts)
    }

    /// Removes the word once, and returns true if it was there.
    pub(super) fn take(&mut self, word: &Word) -> bool {
        let count = self.0.get_mut(&word.hash).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    }
}

/// A word, or an ideograph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// The byte offset in the text at which the word begins.
    pub(super) start: u32,
    /// The byte offset in the text at which the word ends.
    pub(super) end: u32,
    /// Number of letters; an ideograph counts for several.
    pub(super) letters: u32,
    /// Hash of the word.
    pub(super) hash: u64,
}

/// Returns the number of letters of some words.
pub(super) fn letters_of(words: &[Word]) -> u32 {
    words.iter().map(|word| word.letters).sum()
}

/// Returns true if some words have at least `letters_min` letters. Looks at no more words than it takes to know that.
pub(super) fn have_letters(words: &[Word], letters_min: u32) -> bool {
    // Each word has at least one letter.
    let words = words.get(..letters_min as usize).unwrap_or(words);
    letters_of(words) >= letters_min
}

/// Splits a normalised text into words.
fn words(text: &str) -> Vec<Word> {
    // Offsets beyond 4 GiB do not occur: pages are far smaller.
    let text = text.get(..u32::MAX as usize).unwrap_or(text);
    let mut words = Vec::with_capacity(text.len() / 4);
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let (letters, hash) = if is_unit(c) {
            (IDEOGRAPH_LETTERS, u64::from(c).wrapping_mul(MULTIPLIER))
        } else if c.is_alphanumeric() {
            let mut letters = 1;
            // Most letters are ASCII; for these, the first test gives the same answer faster.
            while let Some((at, next)) = chars
                .next_if(|(at, next)| next.is_ascii_alphanumeric() || is_of_a_word(*next) || joins(text, *at))
            {
                end = at + next.len_utf8();
                letters += u32::from(!JOINTS.contains(&next));
            }
            (letters, xxh3_64(&text.as_bytes()[start..end]))
        } else {
            continue;
        };
        words.push(Word { start: start as u32, end: end as u32, letters, hash });
    }
    words
}

/// Returns true if the character at `at` joins the letters before and after it.
fn joins(text: &str, at: usize) -> bool {
    let mut chars = text[at..].chars();
    chars.next().is_some_and(|c| JOINTS.contains(&c)) && chars.next().is_some_and(is_of_a_word)
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() && !is_unit(c)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::verify::texts::{TextCompressor, decompressed};

    pub(in crate::verify) const RIVER: &str = "the river rose above the second bridge during the night, and the old mill had to be left \
                         by the people who lived there. ";
    pub(in crate::verify) const MARKET: &str = "prices at the market went up again after a dry summer, so that farmers sold their apples \
                          for twice as much as in most other years. ";

    /// Splits the text of a document.
    pub(in crate::verify) fn split(url: &str, text: &str) -> SplitText {
        let compressed = TextCompressor::default().compress(url, text).expect("a short text");
        SplitText::new(decompressed(&compressed).expect("a text"))
    }

    #[test]
    fn words_are_runs_of_letters_and_single_ideographs() {
        let text = split("", "the 2nd bridge, 河水 rose");
        let words: Vec<&str> = text.words().iter().map(|word| text.spelled(word)).collect();
        assert_eq!(words, ["the", "2nd", "bridge", "河", "水", "rose"]);
        let runs: Vec<_> = (0..=words.len()).filter_map(|start| text.run_from(start)).collect();
        assert_eq!(runs, [0..4, 1..5, 2..6], "a run has at least fifteen letters");
    }
}
