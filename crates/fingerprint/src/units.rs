//! The units of text that fingerprints count: characters of scripts without spaces, and words of others.

use leitong_text::segment::is_ideographic;

/// Sum of unit sizes from which on a window is a shingle.
pub(crate) const SHINGLE_SIZE: u32 = 5;

/// Returns true for characters that are a unit each: ideographs and kana.
#[inline]
#[must_use]
pub fn is_unit(c: char) -> bool {
    is_ideographic(c) || matches!(c, '\u{3041}'..='\u{30ff}')
}
