//! Splits runs of ideographs into exactly the words that jieba finds, in less time.
//!
//! jieba takes the most probable split into dictionary words ([`route`]). It then splits the runs of single characters
//! between these words with a hidden Markov model (HMM), which finds words that are not in the dictionary. The first
//! part is our own code, with a bit for each of the [`pairs`] of characters and a [`trie`] for longer words. The second
//! part is rare and done by jieba-rs, in one call per paragraph (ADR 9).
//!
//! **Versions.** Words are the terms of fingerprints. If a text could be split otherwise, by this code, the dictionary
//! or a newer jieba-rs, [`VERSION`](crate::segment::VERSION) is raised; tests compare each split with jieba's.

mod cuts;
mod dictionary;
mod pairs;
mod route;
mod trie;

use std::ops::Range;

use jieba_rs::Jieba;

use dictionary::Dictionary;
use route::Route;
use trie::{ALONE, Code, END};

use super::runs::{IDEOGRAPH_BYTES, number_of_three_bytes};

/// A splitter of runs of ideographs into words. Immutable once built, and shared by all threads.
pub(super) struct ChineseSegmenter {
    dictionary: Dictionary,
    /// The HMM: a jieba without dictionary words. `None` if unknown words are not to be guessed.
    hmm: Option<Jieba>,
}

/// The words of a text's runs. Kept from text to text to avoid allocations.
#[derive(Debug, Default)]
pub(super) struct ChineseWords {
    /// The characters of all runs, with [`END`] after each run.
    codes: Vec<Code>,
    /// Byte offset of each code in the text.
    offsets: Vec<u32>,
    route: Route,
    /// Byte ranges in the text, in order.
    words: Vec<(u32, u32)>,
    /// The words that were found before others are guessed.
    known: Vec<(u32, u32)>,
    /// The unmatched characters that are next to one another, each such run on its own line.
    unmatched: String,
    /// For each run in `unmatched`, the number of words before it and its byte offset in the text.
    unmatched_runs: Vec<(usize, u32)>,
}

impl ChineseSegmenter {
    /// Builds a segmenter with a user's `words`, each with its frequency, if known; words that are not ideographic are
    /// skipped. With `guess`, words that are not in the dictionary are guessed. The error is the index of the first
    /// word that does not fit.
    pub(super) fn new(words: &[(String, Option<u64>)], guess: bool) -> Result<Self, usize> {
        Ok(Self { dictionary: Dictionary::new(words)?, hmm: guess.then(Jieba::empty) })
    }

    /// Splits each of `runs`, byte ranges of `text`; [`ChineseWords::words`] then returns the words.
    pub(super) fn segment(
        &self,
        text: &str,
        runs: impl Iterator<Item = Range<usize>>,
        words: &mut ChineseWords,
    ) {
        words.codes.clear();
        words.offsets.clear();
        for run in runs {
            self.decode(text, run.clone(), words);
            words.codes.push(END);
            words.offsets.push(run.end as u32);
        }
        words.route.find(&words.codes, &self.dictionary);
        self.collect(text, words);
        if let Some(hmm) = self.hmm.as_ref().filter(|_| !words.unmatched.is_empty()) {
            words.guess(hmm);
        }
    }

    /// Appends the characters of `run`, a byte range of `text`.
    fn decode(&self, text: &str, run: Range<usize>, words: &mut ChineseWords) {
        let bytes = &text.as_bytes()[run.clone()];
        // Every ideograph takes at least three bytes, and only rare ones take four.
        if bytes.iter().all(|byte| *byte < 0xf0) {
            let (characters, _) = bytes.as_chunks();
            let code = |character| self.dictionary.trie.code_of_basic(number_of_three_bytes(character));
            words.codes.extend(characters.iter().copied().map(code));
            words.offsets.extend((0..characters.len()).map(|at| (run.start + at * IDEOGRAPH_BYTES) as u32));
        } else {
            for (at, c) in text[run.clone()].char_indices() {
                words.codes.push(self.dictionary.trie.code(c));
                words.offsets.push((run.start + at) as u32);
            }
        }
    }

    /// Collects the words on the route, and the unmatched characters for the HMM.
    fn collect(&self, text: &str, found: &mut ChineseWords) {
        let ChineseWords { codes, offsets, route, words, unmatched, unmatched_runs, .. } = found;
        words.clear();
        unmatched.clear();
        unmatched_runs.clear();
        // Start of the current run of unmatched characters.
        let mut unmatched_since = None;
        for step in route.steps() {
            let code = codes[step.start];
            if step.len() == 1 && code > ALONE && self.hmm.is_some() {
                unmatched_since.get_or_insert(step.start);
                continue;
            }
            if let Some(start) = unmatched_since.take() {
                let run = start..step.start;
                // A word of the dictionary stays as it is.
                if run.len() == 1 || self.dictionary.contains(&codes[run.clone()]) {
                    words.extend(run.map(|at| (offsets[at], offsets[at + 1])));
                } else {
                    unmatched_runs.push((words.len(), offsets[start]));
                    unmatched.push_str(&text[offsets[start] as usize..offsets[step.start] as usize]);
                    unmatched.push('\n');
                }
            }
            if code != END {
                words.push((offsets[step.start], offsets[step.end]));
            }
        }
    }
}

impl ChineseWords {
    /// Returns the memory used, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.codes.capacity() * size_of::<Code>()
            + self.offsets.capacity() * size_of::<u32>()
            + (self.words.capacity() + self.known.capacity()) * size_of::<(u32, u32)>()
            + self.unmatched.capacity()
            + self.unmatched_runs.capacity() * size_of::<(usize, u32)>()
            + self.route.bytes()
    }

    /// Returns the words as byte ranges of the text, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.words.iter().map(|(start, end)| *start as usize..*end as usize)
    }

    /// Splits the runs of unmatched characters, and inserts their words in order.
    fn guess(&mut self, hmm: &Jieba) {
        let Self { words, known, unmatched, unmatched_runs, .. } = self;
        std::mem::swap(words, known);
        words.clear();
        let mut tokens = hmm.cut(unmatched, true).into_iter();
        let mut copied = 0;
        let mut line_start = 0;
        for &(before, start) in unmatched_runs.iter() {
            words.extend_from_slice(&known[copied..before]);
            copied = before;
            for token in tokens.by_ref() {
                if token.word == "\n" {
                    line_start = token.byte_end;
                    break;
                }
                let at = |offset: usize| start + (offset - line_start) as u32;
                words.push((at(token.byte_start), at(token.byte_end)));
            }
        }
        words.extend_from_slice(&known[copied..]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::segment::runs::is_ideographic;

    static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);
    static OURS: LazyLock<[ChineseSegmenter; 2]> =
        LazyLock::new(|| [false, true].map(|guess| ChineseSegmenter::new(&[], guess).expect("room")));

    /// Returns the words of `text`, which consists of ideographs and line feeds.
    fn words_of(segmenter: &ChineseSegmenter, text: &str) -> Vec<String> {
        let mut words = ChineseWords::default();
        let mut start = 0;
        let runs = text.split('\n').map(|run| {
            let range = start..start + run.len();
            start = range.end + 1;
            range
        });
        segmenter.segment(text, runs.filter(|run| !run.is_empty()), &mut words);
        words.words().map(|word| text[word].to_owned()).collect()
    }

    fn assert_same_as_jieba(text: &str) {
        for (guess, ours) in [false, true].into_iter().zip(&*OURS) {
            let jieba = JIEBA.cut(text, guess).into_iter().map(|token| token.word);
            let jieba: Vec<&str> = jieba.filter(|word| *word != "\n").collect();
            assert_eq!(words_of(ours, text), jieba, "{text}, guessing: {guess}");
        }
    }

    #[test]
    fn splits_as_jieba_does() {
        for text in [
            "我们在北京大学读书",
            "小明硕士毕业于中国科学院计算所\n后在日本京都大学深造",
            "他来到了网易杭研大厦",
            "乒乓球拍卖完了\n南京市长江大桥",
            "",
            "人",
            "人々\n〇二〇年三〇日",
            "𠀀𠀁字",
        ] {
            assert_same_as_jieba(text);
        }
    }

    /// Compares on the texts of all sample pages of the repository.
    #[test]
    fn splits_real_texts_as_jieba_does() {
        let mut ideographs = 0;
        for line in include_str!("../../../../../tests/golden/texts.jsonl").lines() {
            let page: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let text = page["text"].as_str().expect("a text");
            let text: String = text.chars().map(|c| if is_ideographic(c) { c } else { '\n' }).collect();
            ideographs += text.chars().filter(|c| *c != '\n').count();
            assert_same_as_jieba(&text);
        }
        assert!(ideographs > 1_000, "{ideographs}");
    }

    /// Compares on each ideograph, next to other rare ones and between common ones.
    #[test]
    fn treats_every_ideograph_as_jieba_does() {
        let all: String = ('\u{3000}'..'\u{32000}').filter(|c| is_ideographic(*c)).collect();
        assert_same_as_jieba(&all);
        let among: String = all.chars().flat_map(|c| ['中', c, '国']).collect();
        assert_same_as_jieba(&among);
    }

    fn words_of_the_dictionary() -> impl Strategy<Value = String> {
        let lines: Vec<&str> = include_str!(env!("JIEBA_DICTIONARY")).lines().collect();
        let word =
            prop::sample::select(lines).prop_map(|line| line.split(' ').next().unwrap_or("").to_owned());
        word.prop_filter("ideographs", |word| word.chars().all(is_ideographic))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Mixes whole and truncated words of the dictionary with frequent characters, for all kinds of ambiguity.
        #[test]
        fn splits_any_text_as_jieba_does(
            parts in prop::collection::vec(
                (words_of_the_dictionary(), 0_usize..4, "[的了是在人有我他这中大上不国一\n]{0,2}"), 1..40)
        ) {
            let mut text = String::new();
            for (word, dropped, between) in &parts {
                text.extend(word.chars().skip(*dropped));
                text.push_str(between);
            }
            assert_same_as_jieba(&text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4))]
        #[test]
        fn user_words_are_split_as_jieba_does(
            words in prop::collection::vec(
                ("[雷同检测器南京市长江大桥]{1,4}", prop::option::of(0_u64..100_000)), 1..6),
            text in "[雷同检测器南京市长江大桥的]{1,30}",
        ) {
            let mut jieba = JIEBA.clone();
            for (word, frequency) in &words {
                jieba.add_word(word, frequency.map(|frequency| frequency as usize), None);
            }
            let ours = ChineseSegmenter::new(&words, true).expect("room");
            let expected: Vec<&str> = jieba.cut(&text, true).into_iter().map(|token| token.word).collect();
            prop_assert_eq!(words_of(&ours, &text), expected);
        }
    }
}
