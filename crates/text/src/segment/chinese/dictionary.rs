//! Words with their frequencies: jieba's dictionary, and a user's own words.

use std::collections::HashMap;

use super::cuts::jieba_cuts;
use super::pairs::Pairs;
use super::route::Route;
use super::trie::{Code, Entry, Full, MAX_CODE, MAX_VALUE, Trie, UNKNOWN};

/// jieba's own dictionary, as `compile_dictionary` of build.rs writes it.
const DEFAULT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dictionary.bin"));

/// The words of ideographs that a text may be cut into, and how likely each is.
pub(super) struct Dictionary {
    /// Word → number of its frequency.
    pub(super) trie: Trie,
    /// The same for the first two characters.
    pub(super) pairs: Pairs,
    /// The distinct frequencies, the greatest first; number 0 stands for no word.
    frequencies: Vec<u64>,
    numbers: HashMap<u64, u16>,
    /// ln(frequency / total), by number; that of no word is not a number.
    log_probabilities: Box<[f64; MAX_VALUE as usize + 1]>,
    /// The same of words of one character, by its code.
    log_probabilities_of_singles: Box<[f64; MAX_CODE as usize + 1]>,
    /// ln(1 / total): of a character that no word begins with.
    pub(super) log_probability_of_one: f64,
    /// The sum of all words' frequencies, those included that are not of ideographs.
    total: u64,
}

impl Dictionary {
    /// jieba's default dictionary and a user's `words`, each with its frequency;
    /// without one it gets that which just keeps it from being cut. The error is
    /// the index of the first word that there is no room for.
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

    /// ln(frequency / total) of the word that ends at `entry`; not a number if none does.
    #[inline]
    pub(super) fn log_probability(&self, entry: Entry) -> f64 {
        self.log_probabilities[usize::from(entry.value() & MAX_VALUE)]
    }

    /// The same of the character with this code.
    #[inline]
    pub(super) fn log_probability_of_single(&self, code: Code) -> f64 {
        self.log_probabilities_of_singles[usize::from(code & MAX_CODE)]
    }

    /// Whether these two and more characters are a word.
    #[inline]
    pub(super) fn contains(&self, word: &[Code]) -> bool {
        self.pairs.may_have(word[0], word[1]) && self.trie.value(word) > 0
    }

    /// Gives characters and frequencies their numbers, the most frequent first: what texts need most often then lies
    /// close together.
    fn read_default(&mut self) -> Result<(), Full> {
        let mut default = Reader(DEFAULT);
        self.total = u64::from_le_bytes(default.next());
        for _ in 0..u32::from_le_bytes(default.next()) {
            let c = char::from_u32(u32::from_le_bytes(default.next())).expect("a character");
            self.trie.make_code(c)?;
        }
        for _ in 0..u32::from_le_bytes(default.next()) {
            self.number(u64::from_le_bytes(default.next()))?;
        }
        let mut word = Vec::new();
        while !default.0.is_empty() {
            let length = u16::from_le_bytes(default.next());
            let number = u16::from_le_bytes(default.next()) + 1;
            word.clear();
            word.extend((0..length).map(|_| u16::from_le_bytes(default.next()) + UNKNOWN + 1));
            self.trie.insert_codes(&word, number)?;
        }
        Ok(())
    }

    fn enter(&mut self, word: &str, frequency: u64) -> Result<(), Full> {
        let mut before = None;
        // Other words never meet a run of ideographs; yet they count in the total.
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
        // Term by term as jieba computes it, so that sums come out the same to the last bit.
        let log_total = (self.total as f64).ln();
        self.log_probability_of_one = 0.0 - log_total;
        let log_probabilities = self.frequencies.iter().map(|f| (*f as f64).ln() - log_total);
        // The first stays no number.
        for (slot, log_probability) in self.log_probabilities.iter_mut().zip(log_probabilities).skip(1) {
            *slot = log_probability;
        }
        for (code, entry) in self.trie.singles() {
            self.log_probabilities_of_singles[usize::from(code)] = self.log_probability(entry);
        }
    }

    /// As jieba's `suggest_freq`: a little more likely than
    /// the words that `word` would be cut into.
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

/// What is left to read.
struct Reader(&'static [u8]);

impl Reader {
    fn next<const N: usize>(&mut self) -> [u8; N] {
        let (next, rest) = self.0.split_first_chunk().expect("build.rs writes whole integers");
        self.0 = rest;
        *next
    }
}
