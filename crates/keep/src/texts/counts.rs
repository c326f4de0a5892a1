//! Counts of the texts that are written, and the report about them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Text;
use super::fields::InputField;
use crate::passages::cut::Cut;
use leitong_base::record::Reason;
use leitong_base::terminal;

/// Counts of documents that were written, shared with the code that reports them.
#[derive(Debug, Default)]
pub(crate) struct TextCounts {
    /// Number of documents that were written.
    documents: AtomicU64,
    /// Number of documents whose Markdown was made from text without markup.
    plain: AtomicU64,
    /// Number of documents without text, by reason. The reason is `None` if it is not known.
    without_text: Mutex<BTreeMap<Option<Reason>, u64>>,
    /// Number of documents that lack a field, by the field's pointer.
    lacking: Mutex<BTreeMap<String, u64>>,
    /// Number of values of the inputs that cannot be written as JSON, by column.
    without_json: Mutex<BTreeMap<String, u64>>,
    /// The numbers of: documents from which passages were cut, passages cut, bytes cut, passages that stay, and documents
    /// whose text is empty afterwards.
    cut: [AtomicU64; 5],
}

impl TextCounts {
    /// Returns the number of documents without text, by reason.
    fn without_text(&self) -> Vec<(Option<Reason>, u64)> {
        let counts = self.without_text.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(reason, count)| (*reason, *count)).collect()
    }

    /// Returns the number of documents that lack a field, by the field's pointer.
    fn lacking(&self) -> Vec<(String, u64)> {
        let counts = self.lacking.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(pointer, count)| (pointer.clone(), *count)).collect()
    }

    /// Returns the number of documents from which passages were cut, the sum of what was cut, and the number of
    /// documents that are empty now.
    fn cut(&self) -> (u64, Cut, u64) {
        let [documents, passages, bytes, left, emptied] =
            self.cut.each_ref().map(|count| count.load(Ordering::Relaxed));
        (documents, Cut { passages, bytes, left }, emptied)
    }

    pub(super) fn count_cut(&self, cut: Cut, text: &str) {
        let is_empty = cut.bytes > 0 && text.trim().is_empty();
        let counts = [u64::from(cut.bytes > 0), cut.passages, cut.bytes, cut.left, u64::from(is_empty)];
        for (sum, count) in self.cut.iter().zip(counts) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }

    pub(super) fn count(&self, text: &Text, fields: &[InputField], values: &[Option<String>]) {
        self.documents.fetch_add(1, Ordering::Relaxed);
        self.plain.fetch_add(u64::from(text.is_plain), Ordering::Relaxed);
        if text.text.is_none() {
            let mut counts = self.without_text.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry(text.reason).or_default() += 1;
        }
        for (field, _) in fields.iter().zip(values).filter(|(_, value)| value.is_none()) {
            let mut counts = self.lacking.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry(field.pointer.clone()).or_default() += 1;
        }
    }

    pub(super) fn set_without_json(&self, counts: BTreeMap<String, u64>) {
        *self.without_json.lock().unwrap_or_else(PoisonError::into_inner) = counts;
    }

    /// Reports the documents whose texts differ from what was requested.
    pub(crate) fn note(&self) {
        let without = self.without_text();
        let total: u64 = without.iter().map(|(_, count)| count).sum();
        if total > 0 {
            let reason = |(reason, count): &(Option<Reason>, u64)| {
                format!("{count} {}", reason.map_or("unreadable", Reason::as_str))
            };
            let reasons: Vec<_> = without.iter().map(reason).collect();
            terminal::note(format_args!(
                "{total} of the kept documents have no text ({}); they are written with text null; \
                 --drop-undecidable drops them instead",
                reasons.join(", ")
            ));
        }
        let plain = self.plain.load(Ordering::Relaxed);
        if plain > 0 {
            terminal::note(format_args!(
                "{plain} of the kept documents are plain text; their Markdown is their paragraphs, with special \
                 characters escaped"
            ));
        }
        let documents = self.documents.load(Ordering::Relaxed);
        for (pointer, lacking) in self.lacking() {
            terminal::note(format_args!(
                "{lacking} of {documents} kept documents have no field {pointer} (--fields)"
            ));
        }
        let without_json = self.without_json.lock().unwrap_or_else(PoisonError::into_inner);
        for (column, count) in without_json.iter() {
            terminal::note(format_args!(
                "column {column:?} has {count} values that cannot be written as JSON, such as bytes that are not UTF-8, NaN \
                 or times of day; null is written for each, or for the part of it that cannot be written (--fields)"
            ));
        }
    }

    /// Reports what was cut out of texts.
    pub(crate) fn note_cut(&self) {
        let (documents, Cut { passages, bytes, left }, emptied) = self.cut();
        terminal::note(format_args!(
            "--cut: {passages} passages ({:.1} MB) were cut out of {documents} documents",
            bytes as f64 / 1e6
        ));
        if emptied > 0 {
            terminal::note(format_args!(
                "--cut: {emptied} of these documents have nothing left; they are written with text \"\""
            ));
        }
        if left > 0 {
            terminal::note(format_args!(
                "--cut: {left} passages stay, because they are parts of sentences or their place in the text is not \
                 certain; only whole sentences and lines are cut"
            ));
        }
    }
}
