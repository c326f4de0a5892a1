//! Runs → words: jieba for Chinese, ICU's dictionaries and rules for all else.

use std::ops::Range;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use jieba_rs::Jieba;

use super::ascii_words::ascii_words;
use super::runs::{RunKind, runs};

/// Cuts normalised text into words. Immutable once built, and shared by all threads.
pub(super) struct WordCutter {
    jieba: Jieba,
    /// Whether jieba guesses words that its dictionary lacks.
    hmm: bool,
    icu: WordSegmenterBorrowed<'static>,
}

impl WordCutter {
    pub(super) fn new(hmm: bool) -> Self {
        Self { jieba: Jieba::new(), hmm, icu: WordSegmenter::new_auto(WordBreakInvariantOptions::default()) }
    }

    /// Adds the lines of a user dictionary in jieba's format, `word [frequency [tag]]`; blank lines and
    /// lines that begin with `#` are passed over. The error is the number and text of the first wrong line.
    pub(super) fn add_dictionary(
        &mut self,
        lines: &str,
        normalize: impl Fn(&str) -> String,
    ) -> Result<(), (usize, String)> {
        for (number, line) in (1..).zip(lines.lines()) {
            let mut parts = line.split_whitespace();
            let Some(word) = parts.next().filter(|word| !word.starts_with('#')) else { continue };
            let frequency = parts.next().map(str::parse).transpose();
            let (Ok(frequency), tag, None) = (frequency, parts.next(), parts.next()) else {
                return Err((number, line.to_owned()));
            };
            self.jieba.add_word(&normalize(word), frequency, tag);
        }
        Ok(())
    }

    /// Calls `word` with the range of each word of `text`, in order; punctuation and spaces are no words.
    ///
    /// All Chinese runs go to jieba in one call, parted by line feeds, over which it never joins: the words are
    /// those of each run alone, without the cost of a call and an allocation a run.
    pub(super) fn cut(&self, text: &str, mut word: impl FnMut(Range<usize>)) {
        let mut han = String::with_capacity(text.len());
        for (_, run) in runs(text).filter(|(kind, _)| *kind == RunKind::Han) {
            han.push_str(&text[run]);
            han.push('\n');
        }
        let mut tokens = self.jieba.cut(&han, self.hmm).into_iter();
        // Where the current run begins in `han`.
        let mut han_start = 0;
        for (kind, run) in runs(text) {
            let start = run.start;
            match kind {
                RunKind::Han => {
                    let han_end = han_start + run.len();
                    for token in tokens.by_ref().take_while(|token| token.byte_start < han_end) {
                        word(start + token.byte_start - han_start..start + token.byte_end - han_start);
                    }
                    // The token that ended the run is its line feed.
                    han_start = han_end + 1;
                }
                RunKind::Other if text[run.clone()].is_ascii() => {
                    ascii_words(text[run].as_bytes(), |found| word(start + found.start..start + found.end));
                }
                RunKind::Japanese | RunKind::Other => {
                    let mut from = start;
                    let mut breaks = self.icu.segment_str(&text[run]).iter_with_word_type();
                    // The first break is the run's beginning.
                    breaks.next();
                    for (end, kind) in breaks {
                        if kind.is_word_like() && text[from..start + end].contains(char::is_alphanumeric) {
                            word(from..start + end);
                        }
                        from = start + end;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(cutter: &WordCutter, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        cutter.cut(text, |word| words.push(text[word].to_owned()));
        words
    }

    #[test]
    fn cuts_each_script_by_its_own_rules() {
        let cutter = WordCutter::new(true);
        assert_eq!(cut(&cutter, "我们在北京大学读书。"), ["我们", "在", "北京大学", "读书"]);
        assert_eq!(cut(&cutter, "it doesn't cost 3.14 euros!"), ["it", "doesn't", "cost", "3.14", "euros"]);
        assert_eq!(cut(&cutter, "用rust写程序"), ["用", "rust", "写", "程序"]);
        assert_eq!(cut(&cutter, "東京都に住んでいます"), ["東京", "都", "に", "住", "んで", "いま", "す"]);
        assert_eq!(cut(&cutter, "ภาษาไทย"), ["ภาษา", "ไทย"]);
        assert_eq!(cut(&cutter, " ，。…\n"), Vec::<String>::new());
    }

    #[test]
    fn runs_do_not_see_one_another() {
        let cutter = WordCutter::new(true);
        let text =
            "研究生命起源,研究生，命起源a研究生b命起源。小明硕士毕业于中国科学院计算所x后在日本京都大学深造";
        let mut alone = Vec::new();
        for (kind, run) in runs(text) {
            let run = &text[run];
            match kind {
                RunKind::Han => {
                    alone.extend(cutter.jieba.cut(run, true).into_iter().map(|t| t.word.to_owned()));
                }
                _ => alone.extend(cut(&cutter, run)),
            }
        }
        assert_eq!(cut(&cutter, text), alone);
    }

    #[test]
    fn takes_words_of_the_user() {
        let mut cutter = WordCutter::new(false);
        assert_eq!(cut(&cutter, "雷同检测器"), ["雷同", "检测器"]);
        cutter.add_dictionary("# ours\n\n雷同检测器 1000 n\n", str::to_owned).expect("a dictionary");
        assert_eq!(cut(&cutter, "雷同检测器"), ["雷同检测器"]);
        let error = cutter.add_dictionary("好词\n坏词 many\n", str::to_owned);
        assert_eq!(error, Err((2, "坏词 many".to_owned())));
    }
}
