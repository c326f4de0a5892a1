//! Words with their frequencies: jieba's dictionary, and a user's own words.

use std::collections::HashMap;

use leitong_base::varint::take_varint;

use super::cuts::jieba_cuts;
use super::pairs::Pairs;
use super::route::Route;
use super::trie::{Code, Entry, Full, MAX_CODE, MAX_VALUE, Trie, UNKNOWN};

/// jieba's own dictionary, as written by `compile_dictionary` in build.rs.
const DEFAULT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dictionary.bin"));

/// The ideographic words that a text may be split into, with their probabilities.
pub(super) struct Dictionary {
    /// Maps a word to the index of its frequency.
    pub(super) trie: Trie,
    /// Finds the entry of the first two characters of a word, faster than the trie.
    pub(super) pairs: Pairs,
    /// The distinct frequencies in descending order; index 0 means "not a word".
    frequencies: Vec<u64>,
    numbers: HashMap<u64, u16>,
    /// ln(frequency / total) by index; NaN at index 0.
    log_probabilities: Box<[f64; MAX_VALUE as usize + 1]>,
    /// ln(frequency / total) of words of one character, by the character's code.
    log_probabilities_of_singles: Box<[f64; MAX_CODE as usize + 1]>,
    /// ln(1 / total), for a character with which no word begins.
    pub(super) log_probability_of_one: f64,
    /// The sum of all words' frequencies, including words that are not ideographic.
    total: u64,
}

impl Dictionary {
    /// Loads jieba's default dictionary and a user's `words`, each with its frequency. A word without a frequency gets
    /// one just high enough to keep it in one piece. The error is the index of the first word that does not fit.
    pub(super) fn new(words: &[(String, Option<u64>)]) -> Result<Self, usize> {
        let mut dictionary = Self {
            trie: Trie::new(jieba_cuts),
            pairs: Pairs::none(),
            frequencies: vec![0],
            numbers: HashMap::new(),
            log_probabilities: Box::new([f64::NAN; MAX_VALUE as usize + 1]),
            log_probabilities_of_singles: Box::new([f64::NAN; MAX_CODE as usize + 1]),
            log_probability_of_one: 0.0,
            total: 0,
        };
        dictionary.read_default().expect("the default dictionary fits");
        for (index, (word, frequency)) in words.iter().enumerate() {
            let frequency = frequency.unwrap_or_else(|| {
                dictionary.set_probabilities();
                dictionary.suggest_frequency(word)
            });
            dictionary.enter(word, frequency).map_err(|Full| index)?;
        }
        dictionary.set_probabilities();
        dictionary.pairs = Pairs::new(&dictionary.trie);
        Ok(dictionary)
    }

    /// Returns ln(frequency / total) of the word that ends at `entry`, or NaN if none does.
    #[inline]
    pub(super) fn log_probability(&self, entry: Entry) -> f64 {
        self.log_probabilities[usize::from(entry.value() & MAX_VALUE)]
    }

    /// Returns ln(frequency / total) of the word that is the character with this code, or NaN if it is not a word.
    #[inline]
    pub(super) fn log_probability_of_single(&self, code: Code) -> f64 {
        self.log_probabilities_of_singles[usize::from(code & MAX_CODE)]
    }

    /// Returns true if these characters, two or more, are a word.
    #[inline]
    pub(super) fn contains(&self, word: &[Code]) -> bool {
        self.pairs.may_have(word[0], word[1]) && self.trie.value(word) > 0
    }

    /// Reads characters and frequencies in descending order of frequency. The entries that texts need most often are
    /// then close together in memory.
    fn read_default(&mut self) -> Result<(), Full> {
        let mut default = Reader(DEFAULT);
        self.total = u64::from_le_bytes(default.next());
        for _ in 0..u32::from_le_bytes(default.next()) {
            let c = char::from_u32(u32::from_le_bytes(default.next())).expect("a character");
            self.trie.make_code(c)?;
        }
        let frequencies = u32::from_le_bytes(default.next()) as u16;
        for _ in 0..frequencies {
            self.number(u64::from_le_bytes(default.next()))?;
        }
        let mut word: Vec<Code> = Vec::new();
        while !default.0.is_empty() {
            let [lengths] = default.next();
            let number = frequencies - default.next_varint();
            let common = usize::from(lengths >> 4);
            let before = word.get(common).copied().unwrap_or(UNKNOWN + 1);
            word.truncate(common);
            word.push(before + default.next_varint());
            word.extend((0..lengths & 15).map(|_| default.next_varint() + UNKNOWN + 1));
            self.trie.insert_codes(&word, number)?;
        }
        Ok(())
    }

    fn enter(&mut self, word: &str, frequency: u64) -> Result<(), Full> {
        let mut before = None;
        // Other words never occur in a run of ideographs, but they count in the total.
        if word.chars().all(jieba_cuts) {
            let number = self.number(frequency)?;
            before = self.trie.insert(word, number)?;
        }
        self.total += frequency;
        self.total -= before.map_or(0, |number| self.frequencies[usize::from(number)]);
        Ok(())
    }

    fn number(&mut self, frequency: u64) -> Result<u16, Full> {
        if let Some(&number) = self.numbers.get(&frequency) {
            return Ok(number);
        }
        let number = u16::try_from(self.frequencies.len()).ok().filter(|n| *n <= MAX_VALUE).ok_or(Full)?;
        self.frequencies.push(frequency);
        self.numbers.insert(frequency, number);
        Ok(number)
    }

    fn set_probabilities(&mut self) {
        // Computed term by term as in jieba, for sums that are equal to the last bit.
        let log_total = (self.total as f64).ln();
        self.log_probability_of_one = 0.0 - log_total;
        let log_probabilities = self.frequencies.iter().map(|f| (*f as f64).ln() - log_total);
        // Index 0 remains NaN.
        for (slot, log_probability) in self.log_probabilities.iter_mut().zip(log_probabilities).skip(1) {
            *slot = log_probability;
        }
        for (code, entry) in self.trie.singles() {
            self.log_probabilities_of_singles[usize::from(code)] = self.log_probability(entry);
        }
    }

    /// Returns a frequency that makes `word` slightly more probable than the words it would be split into, as jieba's
    /// `suggest_freq` does.
    fn suggest_frequency(&self, word: &str) -> u64 {
        let codes: Vec<Code> = word.chars().map(|c| self.trie.code(c)).collect();
        let frequency = |codes: &[Code]| match self.trie.value(codes) {
            0 => 1,
            number => self.frequencies[usize::from(number)],
        };
        let mut route = Route::default();
        route.find(&codes, self);
        let log_total = (self.total as f64).ln();
        let log_probability =
            route.steps().fold(0.0, |sum, step| sum + (frequency(&codes[step]) as f64).ln() - log_total);
        let just_more = ((log_probability + log_total).exp() as u64).saturating_add(1);
        just_more.max(frequency(&codes))
    }
}

/// The bytes that are still unread.
struct Reader(&'static [u8]);

impl Reader {
    fn next<const N: usize>(&mut self) -> [u8; N] {
        let (next, rest) = self.0.split_first_chunk().expect("build.rs writes whole integers");
        self.0 = rest;
        *next
    }

    fn next_varint(&mut self) -> u16 {
        take_varint(&mut self.0).expect("build.rs writes indices of 16 bits")
    }
}
