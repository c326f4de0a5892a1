//! Words with their frequencies: jieba's dictionary, and a user's own words.

use std::collections::HashMap;

use super::route::Route;
use super::trie::{Code, Full, MAX_CODE, Trie};
use crate::segment::runs::is_ideographic;

/// jieba's own dictionary, lines of `word frequency tag`: build.rs finds it in the package of jieba-rs.
const DEFAULT: &str = include_str!(env!("JIEBA_DICTIONARY"));

/// The words of ideographs that a text may be cut into, and how likely each is.
pub(super) struct Dictionary {
    /// Word → number of its frequency.
    pub(super) trie: Trie,
    /// The distinct frequencies; number 0 stands for no word.
    frequencies: Vec<u64>,
    numbers: HashMap<u64, u16>,
    /// ln(frequency / total), by number; that of no word is not a number.
    log_probabilities: Vec<f64>,
    /// ln(1 / total): of a character that no word begins with.
    pub(super) log_probability_of_one: f64,
    /// The sum of all words' frequencies, those included that are not of ideographs.
    total: u64,
}

impl Dictionary {
    /// jieba's default dictionary and a user's `words`, each with its frequency; without one it gets that which just
    /// keeps it from being cut. The error is the index of the first word that there is no room for. Takes some 100 ms.
    pub(super) fn new(words: &[(String, Option<u64>)]) -> Result<Self, usize> {
        let mut dictionary = Self {
            trie: Trie::new(),
            frequencies: vec![0],
            numbers: HashMap::new(),
            log_probabilities: Vec::new(),
            log_probability_of_one: 0.0,
            total: 0,
        };
        for line in DEFAULT.lines() {
            let mut fields = line.split_ascii_whitespace();
            if let (Some(word), Some(Ok(frequency))) = (fields.next(), fields.next().map(str::parse)) {
                dictionary.enter(word, frequency).expect("the default dictionary fits");
            }
        }
        for (index, (word, frequency)) in words.iter().enumerate() {
            let frequency = frequency.unwrap_or_else(|| {
                dictionary.set_probabilities();
                dictionary.suggest_frequency(word)
            });
            dictionary.enter(word, frequency).map_err(|Full| index)?;
        }
        dictionary.set_probabilities();
        let Self { trie, frequencies, .. } = &mut dictionary;
        trie.warm(|number| frequencies[usize::from(number)]);
        Ok(dictionary)
    }

    /// ln(frequency / total) of the frequency with this number; not a number for 0.
    #[inline]
    pub(super) fn log_probability(&self, number: u16) -> f64 {
        self.log_probabilities[usize::from(number)]
    }

    fn enter(&mut self, word: &str, frequency: u64) -> Result<(), Full> {
        let mut before = None;
        // Other words never meet a run of ideographs; yet they count in the total.
        if word.chars().all(is_ideographic) {
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
        let number = u16::try_from(self.frequencies.len()).ok().filter(|n| *n <= MAX_CODE).ok_or(Full)?;
        self.frequencies.push(frequency);
        self.numbers.insert(frequency, number);
        Ok(number)
    }

    fn set_probabilities(&mut self) {
        // Term by term as jieba computes it, so that sums come out the same to the last bit.
        let log_total = (self.total as f64).ln();
        self.log_probability_of_one = 0.0 - log_total;
        self.log_probabilities.clear();
        self.log_probabilities.extend(self.frequencies.iter().map(|f| (*f as f64).ln() - log_total));
        self.log_probabilities[0] = f64::NAN;
    }

    /// As jieba's `suggest_freq`: a little more likely than the words that `word` would be cut into.
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
