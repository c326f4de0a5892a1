//! Detects the encoding of bytes that are not UTF-8, by statistics.
//!
//! In: the sample. Out: the most probable encoding. chardetng (Firefox's detector) decides, without the page's
//! top-level domain: the same bytes must give the same text, regardless of where they were fetched.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

use super::sample;

/// Returns the most probable encoding of `sample`.
pub(super) fn detect(sample: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    // A full sample may end within a character.
    detector.feed(sample, sample.len() < sample::BYTES_MAX);
    detector.guess(None, Utf8Detection::Deny)
}
