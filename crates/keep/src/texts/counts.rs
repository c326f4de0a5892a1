//! Counts of the texts that are written, and the report about them.

use std::collections::BTreeMap;

use super::Text;
use super::fields::InputField;
use crate::passages::cut::Cut;
use leitong_base::record::Reason;
use leitong_base::terminal;

/// Counts of documents that were written.
#[derive(Debug, Default)]
pub(crate) struct TextCounts {
    /// Number of documents that were written.
    documents: u64,
    /// Number of documents whose Markdown was made from text without markup.
    plain: u64,
    /// Number of documents without text, by reason. The reason is `None` if it is not known.
    without_text: BTreeMap<Option<Reason>, u64>,
    /// Number of documents that lack a field, by the field's pointer.
    lacking: BTreeMap<String, u64>,
    /// Number of values of the inputs that cannot be written as JSON, by column.
    pub(super) without_json: BTreeMap<String, u64>,
    /// The sum of what was cut.
    cut: Cut,
    /// Number of documents from which passages were cut.
    cut_from: u64,
    /// Number of documents whose text is empty afterwards.
    emptied: u64,
}

impl TextCounts {
    pub(super) fn count_cut(&mut self, cut: Cut, text: &str) {
        self.cut.passages += cut.passages;
        self.cut.bytes += cut.bytes;
        self.cut.left += cut.left;
        self.cut_from += u64::from(cut.bytes > 0);
        self.emptied += u64::from(cut.bytes > 0 && text.trim().is_empty());
    }

    pub(super) fn count(&mut self, text: &Text, fields: &[InputField], values: &[Option<String>]) {
        self.documents += 1;
        self.plain += u64::from(text.is_plain);
        if text.text.is_none() {
            *self.without_text.entry(text.reason).or_default() += 1;
        }
        for (field, _) in fields.iter().zip(values).filter(|(_, value)| value.is_none()) {
            *self.lacking.entry(field.pointer.clone()).or_default() += 1;
        }
    }

    /// Reports the documents whose texts differ from what was requested.
    pub(crate) fn note(&self) {
        let Self { documents, plain, without_text, lacking, without_json, .. } = self;
        let total: u64 = without_text.values().sum();
        if total > 0 {
            let reason = |(reason, count): (&Option<Reason>, &u64)| {
                format!("{count} {}", reason.map_or("unreadable", Reason::as_str))
            };
            let reasons: Vec<_> = without_text.iter().map(reason).collect();
            terminal::note(format_args!(
                "{total} of the kept documents have no text ({}); they are written with text null; \
                 --drop-undecidable drops them instead",
                reasons.join(", ")
            ));
        }
        if *plain > 0 {
            terminal::note(format_args!(
                "{plain} of the kept documents are plain text; their Markdown is their paragraphs, with special \
                 characters escaped"
            ));
        }
        for (pointer, lacking) in lacking {
            terminal::note(format_args!(
                "{lacking} of {documents} kept documents have no field {pointer} (--fields)"
            ));
        }
        for (column, count) in without_json {
            terminal::note(format_args!(
                "column {column:?} has {count} values that cannot be written as JSON, such as bytes that are not UTF-8, NaN \
                 or times of day; null is written for each, or for the part of it that cannot be written (--fields)"
            ));
        }
    }

    /// Reports what was cut out of texts.
    pub(crate) fn note_cut(&self) {
        let Self { cut: Cut { passages, bytes, left }, cut_from: documents, emptied, .. } = self;
        terminal::note(format_args!(
            "--cut: {passages} passages ({:.1} MB) were cut out of {documents} documents",
            *bytes as f64 / 1e6
        ));
        if *emptied > 0 {
            terminal::note(format_args!(
                "--cut: {emptied} of these documents have nothing left; they are written with text \"\""
            ));
        }
        if *left > 0 {
            terminal::note(format_args!(
                "--cut: {left} passages stay, because they are parts of sentences or their place in the text is not \
                 certain; only whole sentences and lines are cut"
            ));
        }
    }
}
