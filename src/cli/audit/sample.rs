//! Draws a sample of removals in which each outcome and each source has its share.
//!
//! Removals are sorted by outcome and source, and taken at equal distances from a random start (systematic sampling:
//! Madow and Madow, 1944). So each removal has the same chance, and shares of the sample are shares of all.

use leitong_base::random::Random;
use leitong_keep::AuditOutcome;
use xxhash_rust::xxh3::xxh3_64;

/// The removals from which a sample is drawn: 32 bytes for each.
pub(super) struct Sampler {
    seed: u64,
    added: usize,
    /// Outcome, hash of the source, a random number, and number of each removal.
    removals: Vec<(AuditOutcome, u64, u64, usize)>,
    random: Random,
}

impl Sampler {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, added: 0, removals: Vec::new(), random: Random::from_seed(seed) }
    }

    /// Adds the next removal. One with the same text as a kept document need not be judged, nor one without a text.
    pub(super) fn add(&mut self, outcome: AuditOutcome, source: &str) {
        if !matches!(outcome, AuditOutcome::SameText | AuditOutcome::NoText) {
            self.removals.push((outcome, xxh3_64(source.as_bytes()), self.random.next_bits(), self.added));
        }
        self.added += 1;
    }

    /// Returns the numbers of at most `size` removals in random order.
    pub(super) fn draw(&self, size: usize) -> Vec<usize> {
        let mut sorted = self.removals.clone();
        sorted.sort_unstable();
        let mut random = Random::new(self.seed, 1);
        let size = size.min(sorted.len());
        let start = random.below(sorted.len());
        let at = |number: usize| (number * sorted.len() + start) / size;
        let mut drawn: Vec<usize> = (0..size).map(|number| sorted[at(number)].3).collect();
        random.shuffle(&mut drawn);
        drawn
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_removal_has_the_same_chance_and_each_outcome_its_share() {
        let mut chosen = [0_u32; 100];
        for seed in 0..2_000 {
            let mut sampler = Sampler::new(seed);
            for number in 0..100 {
                let outcome = if number % 4 == 0 { AuditOutcome::TextLost } else { AuditOutcome::Contained };
                sampler.add(outcome, if number % 2 == 0 { "a.example" } else { "b.example" });
            }
            let drawn = sampler.draw(20);
            assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), 20, "each once");
            assert_eq!(drawn.iter().filter(|number| *number % 4 == 0).count(), 5);
            drawn.iter().for_each(|number| chosen[*number] += 1);
        }
        assert!(chosen.iter().all(|times| (300..500).contains(times)), "{chosen:?}");
    }

    #[test]
    fn a_sample_has_no_more_than_there_is_and_leaves_equal_texts_out() {
        let mut sampler = Sampler::new(7);
        sampler.add(AuditOutcome::SameText, "");
        assert!(sampler.draw(5).is_empty());
        sampler.add(AuditOutcome::FactsDiffer, "");
        assert_eq!(sampler.draw(5), [1]);
    }
}
