//! Chooses pieces of a text by their content, so two texts that share a passage have chosen the same pieces of it
//! ("winnowing": Schleimer, Wilkerson and Aiken, 2003).
//!
//! A *run* is the shortest stretch of text that begins at a given letter and has at least `run` letters. Of the runs
//! that begin within any `window` letters, the one with the least hash is chosen. So of a passage of at least
//! [`Sampling::found_from`] letters that two texts share, at least one run is chosen in both, wherever the passage
//! is. Cost: linear, about 10 ns a letter; memory: the letters of one run and one window, whatever the text has.

use std::collections::VecDeque;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::letters::{IDEOGRAPH_LETTERS, Letter, is_letter};
use leitong_base::mix::mix;

/// Odd multipliers for hashes: the golden ratio in 64 bits, and a prime.
const LETTER_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const BASE: u64 = 0xd6e8_feb8_6659_fd93;

/// The lengths by which pieces are chosen.
#[derive(Debug, Clone)]
pub struct Sampling {
    run: u32,
    window: u32,
    /// True if pieces are also chosen at the start and end of each line.
    lines: bool,
    /// `BASE` to the power of the index.
    powers: Vec<u64>,
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The byte offset of its first letter.
    pub start: usize,
    /// The byte offset after its last letter.
    pub end: usize,
}

impl Piece {
    /// The byte range in the text.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns the hash of the piece's letters. `buffer` is reused from piece to piece.
    pub fn hash(self, text: &str, buffer: &mut String) -> u64 {
        buffer.clear();
        buffer.extend(text[self.range()].chars().filter(|c| is_letter(*c)));
        xxh3_64(buffer.as_bytes())
    }
}

/// A letter of the current run.
struct Held {
    start: usize,
    value: u64,
    weight: u32,
    begins: bool,
}

/// A run that may be chosen.
#[derive(Clone, Copy)]
struct Candidate {
    order: u64,
    /// Number of letters of the text before it.
    at: u64,
    piece: Piece,
}

impl Sampling {
    /// Chooses one run of `run` letters in each window of `window` letters. In texts that repeat a few letters, of
    /// which all runs are equal, each is chosen: two texts then agree in the places of all chosen runs.
    #[must_use]
    pub fn new(run: u32, window: u32) -> Self {
        let (run, window) = (run.max(1), window.max(1));
        let powers = std::iter::successors(Some(1), |power: &u64| Some(power.wrapping_mul(BASE)));
        Self { run, window, lines: false, powers: powers.take(run as usize + 1).collect() }
    }

    /// Chooses runs at the start and end of each line as well, and of equal runs only one in each window.
    #[must_use]
    pub fn with_lines(self) -> Self {
        Self { lines: true, ..self }
    }

    /// Returns the number of letters from which on a shared passage has a chosen run.
    #[must_use]
    pub fn found_from(&self) -> u32 {
        self.run + self.window + IDEOGRAPH_LETTERS - 2
    }

    /// Calls `take` with each chosen piece, until it returns false. Pieces of windows come in order; those at the
    /// start and end of lines may overtake some of them.
    pub fn each(&self, letters: impl Iterator<Item = Letter>, mut take: impl FnMut(Piece) -> bool) {
        let mut scan = Scan::new(self);
        for letter in letters {
            if !scan.push(letter, &mut take) {
                return;
            }
        }
        if self.lines {
            scan.end_line(&mut take);
        }
    }
}

/// The state of a walk through the letters of a text.
struct Scan<'a> {
    sampling: &'a Sampling,
    held: VecDeque<Held>,
    /// Number of letters held, and the hash of them.
    weight: u32,
    hash: u64,
    /// Start and weight of the letters that were released last.
    released: VecDeque<(usize, u32)>,
    /// Number of letters before those held.
    at: u64,
    end: usize,
    least: VecDeque<Candidate>,
    last: Option<Candidate>,
}

impl<'a> Scan<'a> {
    fn new(sampling: &'a Sampling) -> Self {
        Self {
            sampling,
            held: VecDeque::with_capacity(sampling.run as usize + 1),
            weight: 0,
            hash: 0,
            released: VecDeque::with_capacity(IDEOGRAPH_LETTERS as usize + 1),
            at: 0,
            end: 0,
            least: VecDeque::new(),
            last: None,
        }
    }

    fn push(&mut self, letter: Letter, take: &mut impl FnMut(Piece) -> bool) -> bool {
        if self.sampling.lines && letter.begins && !self.end_line(take) {
            return false;
        }
        let value = (u64::from(letter.c) + 1).wrapping_mul(LETTER_FACTOR);
        let value = value ^ value >> 29;
        self.held.push_back(Held { start: letter.start, value, weight: letter.weight(), begins: letter.begins });
        self.hash = self.hash.wrapping_mul(BASE).wrapping_add(value);
        self.weight += letter.weight();
        self.end = letter.end();
        while self.weight >= self.sampling.run {
            let hash = self.hash;
            let length = self.held.len();
            let Some(first) = self.held.pop_front() else { return true };
            self.hash = hash.wrapping_sub(first.value.wrapping_mul(self.sampling.powers[length - 1]));
            self.weight -= first.weight;
            let piece = Piece { start: first.start, end: self.end };
            if self.sampling.lines {
                if self.released.len() == IDEOGRAPH_LETTERS as usize {
                    self.released.pop_front();
                }
                self.released.push_back((first.start, first.weight));
                if first.begins && !take(piece) {
                    return false;
                }
            }
            if !self.choose(Candidate { order: mix(hash), at: self.at, piece }, take) {
                return false;
            }
            self.at += u64::from(first.weight);
        }
        true
    }

    /// Adds a run to the window that ends with it, and takes the least run of the window.
    fn choose(&mut self, new: Candidate, take: &mut impl FnMut(Piece) -> bool) -> bool {
        let window = u64::from(self.sampling.window);
        while self.least.back().is_some_and(|back| back.order >= new.order) {
            self.least.pop_back();
        }
        self.least.push_back(new);
        while self.least.front().is_some_and(|front| front.at + window <= new.at) {
            self.least.pop_front();
        }
        let Some(front) = self.least.front().copied().filter(|_| new.at + 1 >= window) else { return true };
        if let Some(last) = self.last {
            let is_held = last.at + window > new.at;
            if last.at == front.at || (self.sampling.lines && is_held && last.order == front.order) {
                return true;
            }
        }
        self.last = Some(front);
        take(front.piece)
    }

    /// Takes the shortest run that ends with the last letter.
    fn end_line(&mut self, take: &mut impl FnMut(Piece) -> bool) -> bool {
        let mut weight = self.weight;
        for (start, more) in self.released.iter().rev() {
            weight += more;
            if weight >= self.sampling.run {
                return take(Piece { start: *start, end: self.end });
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::letters::{count, letters};
    use super::*;

    fn pieces(sampling: &Sampling, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        sampling.each(letters(text), |piece| {
            found.push(text[piece.range()].chars().filter(|c| is_letter(*c)).collect());
            true
        });
        found
    }

    /// The naive twin: every run of the text, and the least of each window.
    fn naive(sampling: &Sampling, text: &str) -> BTreeSet<String> {
        let all: Vec<Letter> = letters(text).collect();
        let value = |c: char| {
            let value = (u64::from(c) + 1).wrapping_mul(LETTER_FACTOR);
            value ^ value >> 29
        };
        let mut runs = Vec::new();
        let mut at = 0;
        for (start, first) in all.iter().enumerate() {
            let mut letters = 0;
            let end = all[start..].iter().position(|letter| {
                letters += letter.weight();
                letters >= sampling.run
            });
            let Some(end) = end else { break };
            let run: String = all[start..=start + end].iter().map(|letter| letter.c).collect();
            let hash =
                run.chars().fold(0_u64, |hash, c| hash.wrapping_mul(BASE).wrapping_add(value(c)));
            runs.push((at, mix(hash), run));
            at += first.weight();
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
            with_lines: bool,
        ) {
            let sampling = Sampling::new(run, window);
            let sampling = if with_lines { sampling.with_lines() } else { sampling };
            prop_assume!(count(&passage) >= sampling.found_from());
            let [a, b, c, d] = around;
            let first: BTreeSet<String> = pieces(&sampling, &format!("{a}{passage}{b}")).into_iter().collect();
            let second = pieces(&sampling, &format!("{c}{passage}{d}"));
            prop_assert!(second.iter().any(|piece| first.contains(piece)));
        }
    }

    #[test]
    fn lines_begin_and_end_with_a_piece() {
        let sampling = Sampling::new(9, 50).with_lines();
        let text = "the river rose in the night\n河水在夜里涨了\nx\n";
        let found = pieces(&sampling, text);
        for expected in ["theriverr", "nthenight", "河水在", "夜里涨了", "里涨了x"] {
            assert!(found.iter().any(|piece| piece == expected), "{expected}: {found:?}");
        }
        assert!(pieces(&sampling, "too few\n\n").is_empty() && pieces(&sampling, "").is_empty());
    }

    /// A text of one letter has one run only.
    #[test]
    fn a_text_of_one_letter_has_few_pieces() {
        let text = "a".repeat(1_000_000);
        assert_eq!(pieces(&Sampling::new(60, 60).with_lines(), &text).len(), 1_000_000 / 60);
    }
}
