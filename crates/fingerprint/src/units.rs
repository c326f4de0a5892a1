//! The units of text that fingerprints count: characters of scripts without spaces, and words of others.

use leitong_text::segment::{is_ideographic, is_punctuation};

/// Minimum sum of the sizes of the units of a shingle.
pub(crate) const SHINGLE_SIZE: u32 = 5;

/// Returns true for characters that are a unit each: ideographs and kana.
#[inline]
#[must_use]
pub fn is_unit(c: char) -> bool {
    // Most characters are ASCII, or letters of other alphabets.
    c >= '\u{3005}' && (is_ideographic(c) || matches!(c, '\u{3041}'..='\u{30ff}'))
}

/// Returns true for letters and digits of all scripts.
#[inline]
pub(crate) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { !is_punctuation(c) && c.is_alphanumeric() }
}
