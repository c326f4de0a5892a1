//! Terms and texts for the tests.

use std::ops::Range;
use std::sync::OnceLock;

use leitong_text::extract::Document;
use leitong_text::segment::{Lexicons, SegmentConfig, Segmenter, Terms};

/// Returns the terms of a document, with the default settings.
pub(crate) fn terms_of(document: &Document) -> Terms {
    static SEGMENTER: OnceLock<Segmenter> = OnceLock::new();
    let defaults =
        || Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("the default settings");
    let mut terms = Terms::default();
    SEGMENTER.get_or_init(defaults).segment(document, &mut terms);
    terms
}

/// Returns the terms of a text.
pub(crate) fn terms(text: &str) -> Terms {
    terms_of(&Document::from_text(None, text))
}

/// Builds sentences that are all different.
pub(crate) fn sentences(range: Range<u32>) -> String {
    let word = |number: u32| format!("w{:x}", number.wrapping_mul(0x9e37_79b1) >> 8);
    let sentence = |at: u32| (0..9).map(|i| word(at * 9 + i)).collect::<Vec<_>>().join(" ") + ". ";
    range.map(sentence).collect()
}
