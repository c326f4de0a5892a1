//! The bytes of a `simhash` fingerprint.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | SimHash, big-endian |
//! | 2 | size of the text, big-endian |
//! | 32 | values of the sketch, two per byte |
//! | 12 | facts |
//! | 12 | numbers |
//! | 12 | topics |
//! | 12 | address |
//! | 16 | bands of the sketch, 4 times 4, big-endian |
//! | 40 | passages of the sketch, 10 times 4, big-endian; zero if there are fewer |
//!
//! A look-up compares everything except the bands and the passages.

use super::addresses::{ADDRESS_BYTES, AddressBytes};
use crate::SecondKey;
use crate::facts::{FACT_BYTES, Facts};
use crate::sketch::{BANDS, PASSAGES, VALUE_BYTES, Values};

/// Number of bytes that a look-up compares.
pub(super) const COMPARED_BYTES: usize = 8 + 2 + VALUE_BYTES + 3 * FACT_BYTES + ADDRESS_BYTES;
/// Number of bytes that make the keys, without the SimHash.
const KEY_BYTES: usize = 4 * (BANDS + PASSAGES);
/// Number of bytes of a fingerprint.
pub(super) const FINGERPRINT_BYTES: usize = COMPARED_BYTES + KEY_BYTES;

/// Encodes a fingerprint: the SimHash, the sketch's size and values (two per byte), the facts, numbers and topics (all
/// zero: none), the address (all zero: not known), and the sketch's bands and passages.
#[must_use]
pub fn encode(
    hash: u64,
    size: u16,
    values: &[u8; VALUE_BYTES],
    facts: [[u8; FACT_BYTES]; 3],
    address: [u8; ADDRESS_BYTES],
    (bands, passages): ([u32; BANDS], [u32; PASSAGES]),
) -> Box<[u8]> {
    let (bands, passages) = (bands.map(u32::to_be_bytes), passages.map(u32::to_be_bytes));
    let (bands, passages) = (bands.as_flattened(), passages.as_flattened());
    let size = size.to_be_bytes();
    let facts = facts.as_flattened();
    [&hash.to_be_bytes()[..], &size, values, facts, &address, bands, passages].concat().into()
}

/// Returns the SimHash of a fingerprint, or of its beginning.
#[inline]
#[must_use]
pub fn simhash_of(fingerprint: &[u8]) -> u64 {
    u64::from_be_bytes(*fingerprint.first_chunk().expect("8 bytes at least"))
}

/// The part of a fingerprint that confirms candidates.
pub(super) struct SketchView<'a> {
    pub(super) size: u32,
    pub(super) values: &'a Values,
    pub(super) facts: &'a Facts,
    pub(super) numbers: &'a Facts,
    pub(super) topics: &'a Facts,
    pub(super) address: &'a AddressBytes,
}

impl<'a> SketchView<'a> {
    #[inline]
    pub(super) fn new(fingerprint: &'a [u8]) -> Self {
        let (size, rest) = fingerprint[8..].split_first_chunk::<2>().expect("90 bytes at least");
        let (values, rest) = rest.split_first_chunk().expect("90 bytes at least");
        let (facts, rest) = rest.split_first_chunk::<{ 3 * FACT_BYTES }>().expect("90 bytes at least");
        let [facts, numbers, topics] = facts.as_chunks().0 else { unreachable!("three times twelve bytes") };
        let address = rest.first_chunk().expect("90 bytes at least");
        Self { size: u16::from_be_bytes(*size).into(), values, facts, numbers, topics, address }
    }
}

/// A decoded fingerprint. Its length was validated when it was read.
pub(super) struct Parts<'a> {
    pub(super) hash: u64,
    pub(super) view: SketchView<'a>,
    keys: &'a [u8; KEY_BYTES],
}

impl<'a> Parts<'a> {
    #[inline]
    pub(super) fn new(fingerprint: &'a [u8]) -> Self {
        let keys = fingerprint.last_chunk().expect("146 bytes");
        Self { hash: simhash_of(fingerprint), view: SketchView::new(fingerprint), keys }
    }

    fn hashes(&self) -> impl Iterator<Item = u32> {
        self.keys.as_chunks::<4>().0.iter().map(|hash| u32::from_be_bytes(*hash))
    }

    pub(super) fn bands(&self) -> impl Iterator<Item = u32> {
        self.hashes().take(BANDS)
    }

    /// Returns the passages; missing ones are zero.
    fn passages(&self) -> impl Iterator<Item = u32> {
        self.hashes().skip(BANDS)
    }

    /// Returns the keys: the bands with their numbers; [the SimHash](Self::hash_key), which looks like a
    /// numbered band in only one of 2²⁸ cases; and the passages with their numbers, as wide keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = u64> {
        let numbered = |(number, hash): (u64, u32)| number << 32 | u64::from(hash);
        let bands = (0..).zip(self.bands()).map(numbered);
        let passages = (0..).zip(self.passages()).filter(|(_, passage)| *passage != 0).map(numbered);
        bands.chain([self.hash_key()]).chain(passages.map(|key| key | SecondKey::WIDE))
    }

    /// Adds the [keys](Self::keys) to `keys`. `Vec::extend` takes three times as long, because it asks for one key at
    /// a time, and each time the chained iterators look for the part that is not yet at its end.
    pub(super) fn add_keys(&self, keys: &mut Vec<u64>) {
        self.keys().for_each(|key| keys.push(key));
    }

    /// Returns the SimHash without its first bit, which would mark the key as wide.
    pub(super) fn hash_key(&self) -> u64 {
        self.hash & !SecondKey::WIDE
    }

    pub(super) fn shares_band(&self, other: &Self) -> bool {
        self.bands().zip(other.bands()).any(|(a, b)| a == b)
    }

    /// Returns the number of passages in which both agree.
    pub(super) fn passages_shared(&self, other: &Self) -> usize {
        self.passages().zip(other.passages()).filter(|(a, b)| a == b && *a != 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_make_the_wide_keys() {
        let (bands, mut passages) = ([7; BANDS], [9; PASSAGES]);
        passages[3] = 0;
        let encoded = |passages, hash| encode(hash, 1, &[0; 32], [[0; 12]; 3], [0; 12], (bands, passages));
        let (a, b) = (encoded(passages, u64::MAX), encoded([0; PASSAGES], u64::MAX));
        let keys: Vec<u64> = Parts::new(&a).keys().collect();
        assert_eq!(keys.len(), BANDS + 1 + PASSAGES - 1, "a missing passage is not a key");
        assert_eq!(keys.iter().filter(|key| *key & SecondKey::WIDE != 0).count(), PASSAGES - 1);
        assert_eq!(keys[1], 1 << 32 | 7);
        assert_eq!(keys[BANDS + 1], SecondKey::WIDE | 9);
        assert_eq!(Parts::new(&a).passages_shared(&Parts::new(&a)), PASSAGES - 1);
        assert_eq!(Parts::new(&a).passages_shared(&Parts::new(&b)), 0);
        assert_eq!(Parts::new(&b).passages_shared(&Parts::new(&b)), 0, "missing passages are not shared");
    }
}
