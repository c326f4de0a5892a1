//! Passages: stretches of text that documents share with a [benchmark] or with [many other documents](repeated).
//!
//! In: the decisions of a run, and the normalised texts of its documents on disk. Out: which documents contain a
//! passage of a benchmark; a list of the passages that are in many documents.
//!
//! Punctuation does not matter, nor do spaces and line breaks if a text is compared with a benchmark, letter by letter.
//! Passages of many documents begin and end with a whole [word](letters::words); an ideograph counts as a word.
//! [Pieces](pieces) that are chosen by their content show which passages texts share; pieces that do not fit into
//! memory are [sorted] on disk. [`steps`] calls all of this in the order of a run. Texts are read in parallel, and
//! results are taken in the order of the documents, so they do not depend on the number of threads.

pub(crate) mod benchmark;
pub(crate) mod cut;
pub(crate) mod items;
pub(crate) mod letters;
pub(crate) mod pieces;
pub(crate) mod repeated;
mod sentences;
pub(crate) mod sorted;
pub(crate) mod steps;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::Decision;
use super::spool::{Spool, Spooled};
use super::verify::texts::{Text, TextFile, decompressed};
use crate::error::Result;
use benchmark::Benchmarks;

/// Maximum number of texts that are searched together.
const BATCH_TEXTS: usize = 1024;
/// Total size of compressed texts, in bytes, at which they are searched even if they are fewer than [`BATCH_TEXTS`].
const BATCH_BYTES: u64 = 8 << 20;

/// The limits of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Minimum number of letters of a passage.
    pub letters_min: u32,
    /// Minimum number of documents that must have a passage for it to be listed or cut.
    pub documents_min: u32,
    /// Maximum memory for the texts of benchmarks, and for sorting, in bytes.
    pub memory_bytes: usize,
}

/// Counts of documents that were compared with benchmarks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Contaminated {
    /// Number of documents that contain a passage of a benchmark.
    pub documents: u64,
    /// Number of documents without a text to search.
    pub not_searched: u64,
}

impl Benchmarks {
    /// Searches all documents of `spooled` for passages. Writes the decisions to `searched`, each with the passage that
    /// was found, if any, and returns them.
    ///
    /// # Errors
    /// Decisions or texts cannot be read or written.
    pub(crate) fn find_in_all(
        &self,
        spooled: &mut Spooled,
        texts: &TextFile,
        mut searched: Spool,
    ) -> Result<(Spooled, Contaminated)> {
        let mut counts = Contaminated::default();
        let make = |(): &(), text: &Text| self.find(text.text());
        each_text(
            spooled,
            texts,
            |_, _| Ok(Some(())),
            make,
            |_, mut decision, found| {
                counts.not_searched += u64::from(found.is_none());
                decision.benchmark = found.flatten().map(Box::new);
                counts.documents += u64::from(decision.benchmark.is_some());
                Ok(searched.push(&decision)?)
            },
        )?;
        Ok((searched.finish()?, counts))
    }
}

/// A document that waits to be searched.
struct Waiting<W> {
    ordinal: u64,
    decision: Decision,
    wanted: W,
}

/// Calls `make` with each text for which `wanted` returns something, in parallel, and `take` with the results, in
/// order. A document without a text, or with a damaged one, has the result `None`.
fn each_text<W: Send, R: Send>(
    spooled: &mut Spooled,
    texts: &TextFile,
    mut wanted: impl FnMut(u64, &Decision) -> Result<Option<W>>,
    make: impl Fn(&W, &Text) -> R + Sync,
    mut take: impl FnMut(u64, Decision, Option<R>) -> Result<()>,
) -> Result<()> {
    let search = |waiting: Waiting<W>| {
        let Waiting { ordinal, decision, wanted } = waiting;
        let compressed = decision.text.map(|place| texts.read(place)).transpose()?;
        let text = compressed.and_then(|compressed| decompressed(&compressed));
        let result = text.map(|text| make(&wanted, &text));
        Ok((ordinal, decision, result))
    };
    let mut flush = |waiting: Vec<Waiting<W>>| -> Result<()> {
        let results: Vec<_> = waiting.into_par_iter().map(search).collect::<Result<_>>()?;
        results.into_iter().try_for_each(|(ordinal, decision, result)| take(ordinal, decision, result))
    };
    let (mut waiting, mut bytes, mut ordinals) = (Vec::new(), 0, 0..);
    spooled.each(|_, decision| {
        let Some(ordinal) = ordinals.next() else { return Ok(()) };
        let Some(wanted) = wanted(ordinal, decision)? else { return Ok(()) };
        bytes += decision.text.map_or(0, |place| u64::from(place.bytes));
        waiting.push(Waiting { ordinal, decision: decision.clone(), wanted });
        if waiting.len() < BATCH_TEXTS && bytes < BATCH_BYTES {
            return Ok(());
        }
        bytes = 0;
        flush(std::mem::take(&mut waiting))
    })?;
    flush(waiting)
}
