//! Judges a document by its comparison with a kept one: it can be dropped, or is kept for a reason.

use std::collections::HashSet;

use super::facts::Comparison;
use super::{Check, Finding, LostMax, shortened};

/// Judges documents that would be dropped.
pub(super) struct Judge {
    lost_max: LostMax,
    /// Hashes of the passages for which documents were kept. Later documents are not kept for the same passages.
    passages: HashSet<u64>,
}

impl Judge {
    /// Creates a judge that has kept no document.
    #[must_use]
    pub(super) fn new(lost_max: LostMax) -> Self {
        Self { lost_max, passages: HashSet::new() }
    }

    /// Registers the own passages of a document that is kept.
    pub(super) fn remember(&mut self, passages: Vec<u64>) {
        self.passages.extend(passages);
    }

    /// Judges a document compared with a kept one. Also returns the hashes of its own passages.
    #[must_use]
    pub(super) fn check(&self, comparison: &Comparison) -> (Check, Vec<u64>) {
        let Comparison { loss, texts: [document, kept], .. } = comparison;
        let mut passages = comparison.own_passages(self.lost_max.own_letters());
        passages.retain(|passage| !self.passages.contains(passage));
        let is_lost = !passages.is_empty() || !comparison.allows(self.lost_max);
        let difference = if is_lost { None } else { comparison.replaced_fact() };
        let finding = match difference {
            Some(_) => Finding::FactsDiffer,
            None if is_lost => Finding::TextLost,
            None => Finding::Contained,
        };
        let check = Check {
            finding,
            lost_share: (loss.share() * 10_000.0).round() / 10_000.0,
            lost_letters: loss.longest,
            lost_passage: shortened(&document.text()[loss.passage.clone()]),
            differs: difference.map(|difference| comparison.shown(difference)),
            kept_url: kept.known_url(),
        };
        (check, passages)
    }
}
