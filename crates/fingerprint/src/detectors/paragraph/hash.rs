//! Computes the SimHash of a paragraph (paper 001, sections 4.3 and 4.4).
//!
//! Sentences of at least `sentence_chars_min` characters have this score, each part of which is from 0 to 1:
//! ```text
//! score_length·length + score_position·position + score_relevance·relevance
//! ```
//! Length is relative to the longest sentence. Position is 1 for the first and last sentence and a half for the
//! others. Relevance is the sentence's share of the paragraph's term weight. Nothing outside the paragraph
//! enters its hash; otherwise excerpts and changed headlines would change it.
//!
//! Integer arithmetic in basis points. Linear in the number of terms.

use super::config::{Bits, HashedTerms, ParagraphConfig};
use crate::idf::IdfTable;
use crate::secret::TextHash;
use leitong_base::random::Random;
use leitong_text::segment::{ParagraphTerms, Terms, sentences};

const ONE: u64 = 10_000;

/// A hasher of the paragraphs of a page. It reuses its buffers.
pub(super) struct Hasher<'a> {
    config: &'a ParagraphConfig,
    idf: &'a IdfTable,
    hash: TextHash,
    terms: &'a Terms,
    /// For each distinct term of the page, its frequency in the paragraph and the sum of its sentences'
    /// scores.
    counts: Vec<(u32, u32)>,
    /// The distinct terms of the paragraph.
    seen: Vec<u32>,
    sentences: Vec<Sentence>,
}

struct Sentence {
    chars: u64,
    /// Index of the sentence's first term.
    first: usize,
    end: usize,
    score: u64,
}

impl<'a> Hasher<'a> {
    pub(super) fn new(
        config: &'a ParagraphConfig,
        idf: &'a IdfTable,
        hash: TextHash,
        terms: &'a Terms,
    ) -> Self {
        let counts = vec![(0, 0); terms.distinct().len()];
        Self { config, idf, hash, terms, counts, seen: Vec::new(), sentences: Vec::new() }
    }

    /// Returns the hash of a paragraph; a 64-bit hash is in the upper half. `None` if no sentence is long
    /// enough or has a term.
    pub(super) fn hash(&mut self, paragraph: &ParagraphTerms) -> Option<u128> {
        self.read_sentences(paragraph);
        if !self.sentences.iter().any(|sentence| sentence.chars >= self.config.sentence_chars_min as u64) {
            return None;
        }
        self.score();
        if self.config.terms == HashedTerms::Representative {
            self.keep_representative();
        }
        for sentence in &self.sentences {
            for term in &self.terms.terms()[sentence.first..sentence.end] {
                let (frequency, score) = &mut self.counts[term.distinct as usize];
                if *frequency == 0 {
                    self.seen.push(term.distinct);
                }
                *frequency += 1;
                *score += sentence.score as u32;
            }
        }
        (!self.seen.is_empty()).then(|| self.vote())
    }

    fn read_sentences(&mut self, paragraph: &ParagraphTerms) {
        self.sentences.clear();
        let text = &self.terms.text()[paragraph.text.clone()];
        let mut first = paragraph.terms.start;
        for range in sentences(text) {
            let end_byte = paragraph.text.start + range.end;
            let rest = &self.terms.terms()[first..paragraph.terms.end];
            let end = first + rest.iter().take_while(|term| term.start() < end_byte).count();
            let chars = text[range].chars().count() as u64;
            self.sentences.push(Sentence { chars, first, end, score: 0 });
            first = end;
        }
    }

    /// Scores the sentences, in basis points.
    fn score(&mut self) {
        let [length, position, relevance] =
            [self.config.score_length, self.config.score_position, self.config.score_relevance]
                .map(|share| (share * ONE as f64).round() as u64);
        let weight = |sentence: &Sentence| -> u64 {
            let terms = &self.terms.terms()[sentence.first..sentence.end];
            match self.config.idf {
                true => terms
                    .iter()
                    .map(|t| u64::from(self.idf.idf(self.terms.distinct()[t.distinct as usize])))
                    .sum(),
                false => terms.len() as u64,
            }
        };
        let longest = self.sentences.iter().map(|sentence| sentence.chars).max().unwrap_or(1);
        let total = self.sentences.iter().map(weight).sum::<u64>().max(1);
        let last = self.sentences.len() - 1;
        let scores: Vec<u64> = (0..)
            .zip(&self.sentences)
            .map(|(number, sentence)| {
                let at_an_end = if number == 0 || number == last { ONE } else { ONE / 2 };
                (length * sentence.chars / longest)
                    + (position * at_an_end / ONE)
                    + relevance * weight(sentence) / total
            })
            .collect();
        self.sentences.iter_mut().zip(scores).for_each(|(sentence, score)| sentence.score = score.max(1));
    }

    /// Keeps the best half, rounded up, of the sentences that are long enough. Of equally good sentences, the
    /// earlier ones are kept.
    fn keep_representative(&mut self) {
        let min = self.config.sentence_chars_min as u64;
        self.sentences.retain(|sentence| sentence.chars >= min);
        self.sentences.sort_by_key(|sentence| std::cmp::Reverse(sentence.score));
        self.sentences.truncate(self.sentences.len().div_ceil(2));
    }

    fn vote(&mut self) -> u128 {
        let (mut high, mut low) = ([0; 64], [0; 64]);
        for number in self.seen.drain(..) {
            let (frequency, scores) = std::mem::take(&mut self.counts[number as usize]);
            let term = self.terms.distinct()[number as usize];
            // Weights have 16 fractional bits. The sum for the terms of a paragraph stays far below 2^31.
            let mut weight = self.config.weight.weight(frequency) as u64;
            if self.config.idf {
                weight = (weight * u64::from(self.idf.idf(term))) >> 18;
            }
            if self.config.terms == HashedTerms::Whole {
                weight = weight * u64::from(scores / frequency) / ONE;
            }
            let weight = (weight >> 6).min(1 << 20) as i32;
            let hash = self.hash.hash_term(self.terms.first(term), || term.hash);
            vote(hash, weight, &mut high);
            if self.config.bits == Bits::B128 {
                // The other half of the hash: SplitMix64 changes half of its bits for each bit of the first half.
                vote(Random::from_seed(hash).next_bits(), weight, &mut low);
            }
        }
        u128::from(outcome(&high)) << 64 | u128::from(outcome(&low))
    }
}

/// Adds `weight` to each sum whose bit is set, and subtracts it from the others.
#[inline]
fn vote(hash: u64, weight: i32, sums: &mut [i32; 64]) {
    for (bit, sum) in sums.iter_mut().enumerate() {
        *sum += weight * (2 * (hash >> bit & 1) as i32 - 1);
    }
}

/// Returns the hash; bit *j* is 1 iff its sum is positive.
fn outcome(sums: &[i32; 64]) -> u64 {
    sums.iter().enumerate().fold(0, |hash, (bit, sum)| hash | u64::from(*sum > 0) << bit)
}
