//! Detection by statistics, for bytes that are not UTF-8.
//!
//! In: the sample. Out: the likeliest encoding. chardetng (Firefox's
//! detector) decides; it has no opinion on a top-level domain here, since
//! the same bytes must give the same text wherever they were fetched.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

use super::sample;

/// The likeliest encoding of `sample`.
pub(super) fn detect(sample: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    // A full sample may end within a character.
    detector.feed(sample, sample.len() < sample::BYTES_MAX);
    detector.guess(None, Utf8Detection::Deny)
}

/// Whether ASCII bytes hold the escape codes of ISO-2022-JP
/// or ISO-2022-KR, so that they are no ASCII text.
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
    /// ISO-2022-JP, which the Encoding Standard has.
    Japanese,
    /// ISO-2022-KR, which it has not.
    Korean,
}

/// ISO-2022-KR → EUC-KR: between SO and SI the same characters stand without their high bits.
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
    // The designator `ESC $ ) C` says nothing more.
    let designator = memchr::memmem::find(&out, b"\x1b$)C");
    if let Some(at) = designator {
        out.drain(at..at + 4);
    }
    out
}
