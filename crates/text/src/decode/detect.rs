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

/// Returns the encoding whose escape codes are in these ASCII bytes: ISO-2022-JP or ISO-2022-KR.
pub(super) fn escape_codes(bytes: &[u8]) -> Option<Escapes> {
    let escape = memchr::memchr(0x1b, bytes)?;
    match bytes.get(escape + 1..escape + 3) {
        Some(b"$B" | b"$@" | b"(J" | b"(I") => Some(Escapes::Japanese),
        Some(b"$)") if bytes.get(escape + 3) == Some(&b'C') => Some(Escapes::Korean),
        _ => None,
    }
}

/// Seven-bit encodings with escape codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// ISO-2022-JP, which is in the Encoding Standard.
    Japanese,
    /// ISO-2022-KR, which is not in the Encoding Standard.
    Korean,
}

/// Converts ISO-2022-KR to EUC-KR: between SO and SI, the bytes of characters lack their high bits.
pub(super) fn euc_kr_of_iso_2022_kr(bytes: &[u8]) -> Vec<u8> {
    let mut shifted = false;
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            0x0e => shifted = true,
            0x0f => shifted = false,
            b'\n' => {
                shifted = false;
                out.push(byte);
            }
            _ => out.push(if shifted && byte > 0x20 { byte | 0x80 } else { byte }),
        }
    }
    // The designator `ESC $ ) C` is not needed anymore.
    let designator = memchr::memmem::find(&out, b"\x1b$)C");
    if let Some(at) = designator {
        out.drain(at..at + 4);
    }
    out
}
