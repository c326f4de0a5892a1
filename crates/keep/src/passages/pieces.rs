//! Chooses pieces of a text by their content, so the same pieces of a passage are chosen in every text that has it
//! ("winnowing": Schleimer, Wilkerson and Aiken, 2003).
//!
//! Texts are sequences of units: letters, or words. A *run* is the shortest stretch of text that begins at a given unit
//! and has at least `run` letters. Of the runs that begin within any `window` letters, the one with the least hash is
//! chosen. So of a passage of at least `Sampling::found_from` letters that two texts share, at least one run is chosen
//! in both, wherever the passage is. Cost: linear; memory: one run and one window, however long the text is.

use std::collections::VecDeque;
use std::ops::Range;

use super::letters::Unit;
use leitong_base::mix::mix;

/// An odd multiplier for hashes.
const BASE: u64 = 0xd6e8_feb8_6659_fd93;

/// The lengths by which pieces are chosen.
#[derive(Debug, Clone)]
pub(crate) struct Sampling {
    run: u32,
    window: u32,
    /// True if pieces are also chosen at the start and end of each line and sentence.
    has_ends: bool,
    /// `BASE` to the power of the index.
    powers: Vec<u64>,
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The byte offset of the piece's first letter.
    pub start: usize,
    /// The byte offset after the piece's last letter.
    pub end: usize,
    /// Hash of the piece's letters.
    pub hash: u64,
}

impl Piece {
    /// Returns the byte range in the text.
    #[must_use]
    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

impl Sampling {
    /// Creates a sampling that chooses one run of at least `run` letters in each window of `window` letters. Equal
    /// runs, as in a text that repeats a few letters, are all chosen, so two texts agree in the places of all chosen
    /// runs.
    #[must_use]
    pub(crate) fn new(run: u32, window: u32) -> Self {
        let (run, window) = (run.max(1), window.max(1));
        let powers = std::iter::successors(Some(1), |power: &u64| Some(power.wrapping_mul(BASE)));
        Self { run, window, has_ends: false, powers: powers.take(run as usize + 1).collect() }
    }

    /// Makes the sampling also choose the runs at the start and end of each line and sentence. Of equal runs, only one
    /// in each window is chosen.
    #[must_use]
    pub(crate) fn with_ends(self) -> Self {
        Self { has_ends: true, ..self }
    }

    /// Returns the minimum number of letters of a shared passage that certainly contains a chosen run, if no unit has
    /// more than `unit_max` letters.
    #[cfg(test)]
    pub(crate) fn found_from(&self, unit_max: u32) -> u32 {
        (self.run + self.window + unit_max).saturating_sub(2)
    }

    /// Calls `take` with each chosen piece, until it returns false. Pieces are not quite in the order of the
    /// text: one at the start or end of a line or sentence may come before a piece that begins earlier.
    pub(crate) fn chosen(&self, units: impl Iterator<Item = Unit>, mut take: impl FnMut(Piece) -> bool) {
        let mut window = Window::new(self);
        self.runs(units, |run, kind| match kind {
            RunPlace::End => take(run.piece),
            RunPlace::Start if !take(run.piece) => false,
            RunPlace::Start | RunPlace::Inner => window.push(run).is_none_or(&mut take),
        });
    }

    /// Calls `take` with every run, and with all pieces at the end of lines and sentences.
    pub(crate) fn all(&self, units: impl Iterator<Item = Unit>, mut take: impl FnMut(Piece)) {
        self.runs(units, |run, _| {
            take(run.piece);
            true
        });
    }

    /// Calls `take` with each run, in order, until it returns false.
    fn runs(&self, units: impl Iterator<Item = Unit>, mut take: impl FnMut(Run, RunPlace) -> bool) {
        let mut scan = Scan::new(self);
        for unit in units {
            if self.has_ends && unit.begins && scan.last_run().is_some_and(|run| !take(run, RunPlace::End)) {
                return;
            }
            scan.push(unit);
            while let Some((run, begins)) = scan.next_run() {
                if !take(run, if begins && self.has_ends { RunPlace::Start } else { RunPlace::Inner }) {
                    return;
                }
            }
        }
        if self.has_ends
            && let Some(run) = scan.last_run()
        {
            take(run, RunPlace::End);
        }
    }
}

/// The place of a run in its line or sentence.
#[derive(Clone, Copy)]
enum RunPlace {
    /// The run begins with a line or sentence.
    Start,
    /// The run ends with a line or sentence, and does not count for windows.
    End,
    Inner,
}

/// A run of letters.
#[derive(Clone, Copy)]
struct Run {
    piece: Piece,
    /// Number of letters of the text before the run.
    at: u64,
}

/// The state of a walk through the units of a text.
struct Scan<'a> {
    sampling: &'a Sampling,
    /// The units of the current run.
    held: VecDeque<Unit>,
    /// Number of letters held.
    weight: u32,
    /// Hash of the letters held.
    hash: u64,
    /// The unit that was released last.
    released: Option<Unit>,
    /// Number of letters before the held letters.
    at: u64,
    end: usize,
}

impl<'a> Scan<'a> {
    fn new(sampling: &'a Sampling) -> Self {
        Self { sampling, held: VecDeque::new(), weight: 0, hash: 0, released: None, at: 0, end: 0 }
    }

    fn push(&mut self, unit: Unit) {
        self.held.push_back(unit);
        self.hash = self.hash.wrapping_mul(BASE).wrapping_add(unit.value);
        self.weight += unit.weight;
        self.end = unit.end;
    }

    /// Returns the run from the first unit held to the last one, if they have enough letters. Releases the first one.
    /// The second value is true if the run begins a line or sentence.
    fn next_run(&mut self) -> Option<(Run, bool)> {
        if self.weight < self.sampling.run {
            return None;
        }
        let first = self.held.pop_front()?;
        let piece = Piece { start: first.start, end: self.end, hash: mix(self.hash) };
        let run = Run { piece, at: self.at };
        self.hash = self.hash.wrapping_sub(first.value.wrapping_mul(self.sampling.powers[self.held.len()]));
        self.weight -= first.weight;
        self.at += u64::from(first.weight);
        self.released = Some(first);
        Some((run, first.begins))
    }

    /// Returns the shortest stretch that ends with the last unit and has enough letters.
    fn last_run(&self) -> Option<Run> {
        // The units held and the one that was released last had enough letters together.
        let first = self.released?;
        let hash = self.hash.wrapping_add(first.value.wrapping_mul(self.sampling.powers[self.held.len()]));
        Some(Run { piece: Piece { start: first.start, end: self.end, hash: mix(hash) }, at: self.at })
    }
}

/// The runs of letters in a window. The one with the smallest hash is chosen.
struct Window<'a> {
    sampling: &'a Sampling,
    /// The runs that may still be chosen. Both their places and their hashes ascend.
    least: VecDeque<Run>,
    last: Option<Run>,
}

impl<'a> Window<'a> {
    fn new(sampling: &'a Sampling) -> Self {
        Self { sampling, least: VecDeque::new(), last: None }
    }

    /// Adds the last run of the next window. Returns the run with the least hash in that window, unless it was chosen
    /// before.
    fn push(&mut self, new: Run) -> Option<Piece> {
        let length = u64::from(self.sampling.window);
        while self.least.back().is_some_and(|back| back.piece.hash >= new.piece.hash) {
            self.least.pop_back();
        }
        self.least.push_back(new);
        while self.least.front().is_some_and(|front| front.at + length <= new.at) {
            self.least.pop_front();
        }
        let front = self.least.front().copied().filter(|_| new.at + 1 >= length)?;
        if let Some(last) = self.last {
            let is_held = last.at + length > new.at;
            if last.at == front.at
                || (self.sampling.has_ends && is_held && last.piece.hash == front.piece.hash)
            {
                return None;
            }
        }
        self.last = Some(front);
        Some(front.piece)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::letters::{count, is_letter, letters};
    use super::*;

    fn pieces(sampling: &Sampling, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        sampling.chosen(letters(text), |piece| {
            found.push(text[piece.range()].chars().filter(|c| is_letter(*c)).collect());
            true
        });
        found
    }

    /// The naive twin: every run of the text, and the least of each window.
    fn naive(sampling: &Sampling, text: &str) -> BTreeSet<String> {
        let all: Vec<Unit> = letters(text).collect();
        let mut runs = Vec::new();
        let mut at = 0;
        for (start, first) in all.iter().enumerate() {
            let mut letters = 0;
            let end = all[start..].iter().position(|letter| {
                letters += letter.weight;
                letters >= sampling.run
            });
            let Some(end) = end else { break };
            let run = &all[start..=start + end];
            let hash =
                run.iter().fold(0_u64, |hash, letter| hash.wrapping_mul(BASE).wrapping_add(letter.value));
            let spelled = text[first.start..all[start + end].end].chars().filter(|c| is_letter(*c));
            runs.push((at, mix(hash), spelled.collect::<String>()));
            at += first.weight;
        }
        let windows = runs.iter().filter(|(last, ..)| last + 1 >= sampling.window);
        let least = windows.map(|(last, ..)| {
            let window = runs.iter().filter(|(at, ..)| at <= last && at + sampling.window > *last);
            window.min_by_key(|(_, order, _)| *order).expect("a run").2.clone()
        });
        least.collect()
    }

    proptest! {
        #[test]
        fn the_least_run_of_each_window_is_chosen(
            text in "[abc中文 .\n]{0,80}",
            run in 1_u32..12,
            window in 1_u32..12,
        ) {
            let sampling = Sampling::new(run, window);
            let found: BTreeSet<String> = pieces(&sampling, &text).into_iter().collect();
            prop_assert_eq!(found, naive(&sampling, &text));
        }

        #[test]
        fn texts_that_share_a_passage_have_a_piece_of_it_in_common(
            passage in "[abcdefg中文字水 .\n]{20,60}",
            around in prop::array::uniform4("[abcdefg中文字水 .\n]{0,40}"),
            run in 3_u32..10,
            window in 1_u32..12,
            with_ends: bool,
        ) {
            let sampling = Sampling::new(run, window);
            let sampling = if with_ends { sampling.with_ends() } else { sampling };
            prop_assume!(count(&passage) >= sampling.found_from(3));
            let [a, b, c, d] = around;
            let first: BTreeSet<String> = pieces(&sampling, &format!("{a}{passage}{b}")).into_iter().collect();
            let second = pieces(&sampling, &format!("{c}{passage}{d}"));
            prop_assert!(second.iter().any(|piece| first.contains(piece)));
        }
    }

    #[test]
    fn lines_and_sentences_begin_and_end_with_a_piece() {
        let sampling = Sampling::new(9, 50).with_ends();
        let text = "the river rose in the night\n河水在夜里涨了\nx\n";
        let found = pieces(&sampling, text);
        for expected in ["theriverr", "nthenight", "河水在", "里涨了", "里涨了x"] {
            assert!(found.iter().any(|piece| piece == expected), "{expected}: {found:?}");
        }
        let found = pieces(&sampling, "Version 4.2 of it. The river rose. Prices");
        for expected in ["Version42", "sion42ofi", "Theriverr", "riverrose", "rosePrice"] {
            let is_expected = expected != "sion42ofi" && expected != "rosePrice";
            assert_eq!(found.iter().any(|piece| piece == expected), is_expected, "{expected}: {found:?}");
        }
        assert!(pieces(&sampling, "too few\n\n").is_empty() && pieces(&sampling, "").is_empty());
    }

    #[test]
    fn equal_letters_have_equal_hashes_and_others_have_not() {
        let sampling = Sampling::new(4, 3).with_ends();
        let (mut hashes, mut spellings) = (BTreeSet::new(), BTreeSet::new());
        let mut random = leitong_base::random::Random::from_seed(1);
        let text: String =
            (0..20_000).map(|_| ['a', 'b', 'c', '中', '文', ' ', '.'][random.below(7)]).collect();
        let mut pairs = BTreeSet::new();
        sampling.all(letters(&text), |piece| {
            let spelled: String = text[piece.range()].chars().filter(|c| is_letter(*c)).collect();
            hashes.insert(piece.hash);
            spellings.insert(spelled.clone());
            pairs.insert((piece.hash, spelled));
        });
        assert!(spellings.len() > 100 && hashes.len() == spellings.len() && pairs.len() == hashes.len());
    }

    /// A text of one letter has one run only.
    #[test]
    fn a_text_of_one_letter_has_few_pieces() {
        let text = "a".repeat(1_000_000);
        let found = pieces(&Sampling::new(60, 60).with_ends(), &text).len();
        assert!(found < 1_000_000 / 60 + 5, "{found}");
    }
}
