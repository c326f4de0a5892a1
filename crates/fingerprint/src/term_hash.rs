//! 64-bit hashes of terms, for SimHash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hash that turns a term into 64 votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TermHash {
    /// XXH3-64: well mixed.
    Xxh3,
    /// The paper's hash over UTF-16 code units, as its Java program computed it. A term of two
    /// characters never reaches the upper bits, so half of a Chinese fingerprint is constant.
    Sdbm,
    /// SDBM over UTF-8 bytes: less biased.
    SdbmUtf8,
}

impl TermHash {
    /// Returns the hash of `term`, given its XXH3-64.
    #[inline]
    pub(crate) fn hash(self, term: &str, xxh3: u64) -> u64 {
        match self {
            Self::Xxh3 => xxh3,
            Self::Sdbm => sdbm(term.encode_utf16().map(u64::from)),
            Self::SdbmUtf8 => sdbm(term.bytes().map(u64::from)),
        }
    }
}

/// Computes SDBM: `h = c + (h << 6) + (h << 16) - h`, wrapping at 64 bits. Paper 002, section 3.1, names it
/// without the formula; this is the one of the SDBM project.
fn sdbm(units: impl Iterator<Item = u64>) -> u64 {
    units.fold(0_u64, |h, c| c.wrapping_add(h << 6).wrapping_add(h << 16).wrapping_sub(h))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sdbm_is_multiplication_by_65599() {
        // The shifts are a way to multiply by 65599 = 2^16 + 2^6 - 1.
        let horner = |units: &[u64]| units.iter().fold(0_u64, |h, c| h.wrapping_mul(65_599).wrapping_add(*c));
        assert_eq!(TermHash::SdbmUtf8.hash("abc", 0), horner(&[97, 98, 99]));
        assert_eq!(TermHash::Sdbm.hash("中文", 0), horner(&[0x4e2d, 0x6587]));
    }

    #[test]
    fn sdbm_leaves_the_upper_half_of_a_two_character_word_empty() {
        assert!(TermHash::Sdbm.hash("中文", 0) < 1 << 33);
    }
}
