//! Splits runs into words: Chinese as jieba does, all else with ICU's dictionaries and rules.
//!
//! Thai, Lao, Khmer and Burmese use ICU's dictionaries, longest word first, instead of its neural networks (LSTM).
//! Those take 4 to 8 s per megabyte where a dictionary takes 0.05 to 0.1 s, and compute in floating point.
//!
//! A paragraph is split in pieces of many runs, so memory does not grow with it. Runs are independent of one another.
//! Only a run of ideographs longer than a piece (87,000 without a punctuation mark) is itself split.

use std::ops::Range;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter as IcuSegmenter, WordSegmenterBorrowed};

use super::ascii_words::ascii_words;
use super::chinese::{ChineseSegmenter, ChineseWords};
use super::runs::{RunKind, is_punctuation, runs};
use leitong_base::work::{TooMuchWork, Work};

/// Size of a piece in bytes; it may exceed this by one run. The buffers for it, up to 20 MB, stay allocated by the
/// thread.
const PIECE_BYTES: usize = 256 << 10;

/// Steps of work for a byte of a run of ideographs. Like the other steps, measured on texts with the shortest words,
/// none of them in a dictionary.
const HAN_BYTE_STEPS: u64 = 60;
/// Steps of work for a byte of a run of ASCII.
const ASCII_BYTE_STEPS: u64 = 20;
/// Steps of work for a byte of any other run.
const ICU_BYTE_STEPS: u64 = 100;

/// A splitter of normalised text into words. Immutable once built, and shared by all threads.
pub(super) struct WordSegmenter {
    chinese: ChineseSegmenter,
    icu: WordSegmenterBorrowed<'static>,
}

/// Buffers for splitting a text. Kept from text to text to avoid allocations.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    runs: Vec<(RunKind, Range<usize>)>,
    chinese: ChineseWords,
}

/// An error in a line of a user dictionary.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DictionaryError {
    /// The line is not `word [frequency [tag]]`.
    BadLine,
    /// There is no room for more words.
    Full,
}

impl WordSegmenter {
    /// Loads the lines of a user dictionary in jieba's format, `word [frequency [tag]]`. Blank lines and lines that
    /// begin with `#` are skipped. With `guess`, Chinese words that are in no dictionary are guessed. The error has the
    /// number and text of the first bad line.
    pub(super) fn new(
        guess: bool,
        dictionary: &str,
        normalize: impl Fn(&str) -> String,
    ) -> Result<Self, (DictionaryError, usize, String)> {
        let mut words = Vec::new();
        let mut numbered = Vec::new();
        for (number, line) in (1..).zip(dictionary.lines()) {
            let mut parts = line.split_whitespace();
            let Some(word) = parts.next().filter(|word| !word.starts_with('#')) else { continue };
            let frequency = parts.next().map(str::parse).transpose();
            let (Ok(frequency), _tag, None) = (frequency, parts.next(), parts.next()) else {
                return Err((DictionaryError::BadLine, number, line.to_owned()));
            };
            words.push((normalize(word), frequency));
            numbered.push((number, line));
        }
        let chinese = ChineseSegmenter::new(&words, guess).map_err(|index| {
            let (number, line) = numbered[index];
            (DictionaryError::Full, number, line.to_owned())
        })?;
        let icu = IcuSegmenter::new_dictionary(WordBreakInvariantOptions::default());
        Ok(Self { chinese, icu })
    }

    /// Calls `word` with the range of each word of `text`, in order. Punctuation and spaces are not words.
    ///
    /// # Errors
    /// Returns [`TooMuchWork`], possibly after some of the words.
    pub(super) fn segment(
        &self,
        text: &str,
        workspace: &mut Workspace,
        work: &mut Work,
        mut word: impl FnMut(Range<usize>),
    ) -> Result<(), TooMuchWork> {
        let mut all =
            runs(text).flat_map(|(kind, run)| parts_of(text, kind, run).map(move |part| (kind, part)));
        loop {
            let parts = &mut workspace.runs;
            parts.clear();
            let mut bytes = 0;
            while bytes < PIECE_BYTES
                && let Some((kind, run)) = all.next()
            {
                bytes += run.len();
                work.add(run.len(), steps_of(text, kind, &run))?;
                parts.push((kind, run));
            }
            if parts.is_empty() {
                return Ok(());
            }
            self.segment_piece(text, workspace, &mut word);
        }
    }

    /// Splits the runs of a piece.
    fn segment_piece(&self, text: &str, workspace: &mut Workspace, word: &mut impl FnMut(Range<usize>)) {
        let Workspace { runs: parts, chinese } = workspace;
        let han = parts.iter().filter(|(kind, _)| *kind == RunKind::Han).map(|(_, run)| run.clone());
        self.chinese.segment(text, han, chinese);
        let mut chinese_words = chinese.words().peekable();
        for (kind, run) in parts {
            let start = run.start;
            match kind {
                RunKind::Han => {
                    while let Some(found) = chinese_words.next_if(|found| found.end <= run.end) {
                        word(found);
                    }
                }
                RunKind::Other if text[run.clone()].is_ascii() => {
                    let run = text[run.clone()].as_bytes();
                    ascii_words(run, |found| word(start + found.start..start + found.end));
                }
                RunKind::Other if text[run.clone()].chars().all(is_punctuation) => {}
                RunKind::Japanese | RunKind::Other => {
                    let mut from = start;
                    let mut breaks = self.icu.segment_str(&text[run.clone()]).iter_with_word_type();
                    // The first break is the start of the run.
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

/// Returns the run, or the chunks of a run of ideographs that is longer than a piece.
fn parts_of(text: &str, kind: RunKind, run: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = run.start;
    std::iter::from_fn(move || {
        let start = at;
        at = match kind {
            RunKind::Han if run.end - start > PIECE_BYTES => text.floor_char_boundary(start + PIECE_BYTES),
            _ => run.end,
        };
        (start < at).then_some(start..at)
    })
}

/// Returns the steps of work for a run.
#[inline]
fn steps_of(text: &str, kind: RunKind, run: &Range<usize>) -> u64 {
    match kind {
        RunKind::Han => HAN_BYTE_STEPS,
        RunKind::Other if text[run.clone()].is_ascii() => ASCII_BYTE_STEPS,
        RunKind::Japanese | RunKind::Other => ICU_BYTE_STEPS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(segmenter: &WordSegmenter, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let each = |word: Range<usize>| words.push(text[word].to_owned());
        segmenter.segment(text, &mut Workspace::default(), &mut Work::unbounded(), each).expect("no bound");
        words
    }

    /// 10 MB of one character must not take 569 MB of memory, which the thread would keep.
    #[test]
    fn a_long_run_takes_no_more_memory_than_a_piece() {
        let segmenter = WordSegmenter::new(true, "", str::to_owned).expect("no dictionary");
        let room = |text: &str| {
            let mut workspace = Workspace::default();
            segmenter.segment(text, &mut workspace, &mut Work::unbounded(), |_| ()).expect("no bound");
            workspace.runs.capacity() * size_of::<(RunKind, Range<usize>)>() + workspace.chinese.bytes()
        };
        for text in ["字", "字，", "中a", "的"] {
            // A piece may end with a run as long as itself.
            let two = room(&text.repeat(2 * PIECE_BYTES / text.len()));
            assert!(two < 20 << 20, "{text}: {two}");
            let bytes = room(&text.repeat(2 * PIECE_BYTES));
            assert!(bytes < 20 << 20, "{text}: {bytes}");
        }
    }

    #[test]
    fn splitting_in_pieces_gives_the_same_words() {
        let segmenter = WordSegmenter::new(true, "", str::to_owned).expect("no dictionary");
        let sentence = "我们在北京大学读书,it doesn't cost 3.14 euros。東京タワーへ行く。ภาษาไทย。小明硕士毕业于中国科学院\n";
        let times = 2 * PIECE_BYTES / sentence.len() + 10;
        let one = words_of(&segmenter, sentence);
        let whole = words_of(&segmenter, &sentence.repeat(times));
        assert_eq!(whole.len(), one.len() * times);
        assert!(whole.chunks(one.len()).all(|words| words == one));
    }

    #[test]
    fn texts_that_cost_too_much_are_stopped_before_any_word() {
        let segmenter = WordSegmenter::new(true, "", str::to_owned).expect("no dictionary");
        let mut work = Work::up_to(1_000_000);
        let mut words = 0;
        let cut = segmenter.segment(
            &"ภาษาไทย".repeat(10_000),
            &mut Workspace::default(),
            &mut work,
            |_| words += 1,
        );
        assert!(cut.is_err() && words == 0, "{words}");
    }

    #[test]
    fn splits_each_script_by_its_own_rules() {
        let segmenter = WordSegmenter::new(true, "", str::to_owned).expect("no dictionary");
        assert_eq!(words_of(&segmenter, "我们在北京大学读书。"), ["我们", "在", "北京大学", "读书"]);
        assert_eq!(
            words_of(&segmenter, "it doesn't cost 3.14 euros!"),
            ["it", "doesn't", "cost", "3.14", "euros"]
        );
        assert_eq!(words_of(&segmenter, "用rust写程序"), ["用", "rust", "写", "程序"]);
        assert_eq!(
            words_of(&segmenter, "東京都に住んでいます"),
            ["東京", "都", "に", "住", "んで", "いま", "す"]
        );
        assert_eq!(words_of(&segmenter, "ภาษาไทย"), ["ภาษา", "ไทย"]);
        assert_eq!(words_of(&segmenter, " ，。…\n"), Vec::<String>::new());
    }

    #[test]
    fn runs_are_independent_of_one_another() {
        let segmenter = WordSegmenter::new(true, "", str::to_owned).expect("no dictionary");
        let text =
            "研究生命起源,研究生，命起源a研究生b命起源。小明硕士毕业于中国科学院计算所x后在日本京都大学深造";
        let alone: Vec<String> = runs(text).flat_map(|(_, run)| words_of(&segmenter, &text[run])).collect();
        assert_eq!(words_of(&segmenter, text), alone);
    }

    #[test]
    fn words_of_the_user_dictionary_are_found() {
        let segmenter = |dictionary| WordSegmenter::new(false, dictionary, str::to_owned);
        assert_eq!(words_of(&segmenter("").expect("no dictionary"), "雷同检测器"), ["雷同", "检测器"]);
        let ours = segmenter("# ours\n\n雷同检测器 1000 n\n").expect("a dictionary");
        assert_eq!(words_of(&ours, "雷同检测器"), ["雷同检测器"]);
        let error = segmenter("好词\n坏词 many\n").err();
        assert_eq!(error, Some((DictionaryError::BadLine, 2, "坏词 many".to_owned())));
    }
}
