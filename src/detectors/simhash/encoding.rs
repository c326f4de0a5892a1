//! The bytes of a `simhash` fingerprint.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | SimHash, big-endian |
//! | 2 | size of the text, big-endian |
//! | 32 | values of the sketch, two a byte |
//! | 24 | number slots |
//! | 8 | address |
//! | 64 | bands of the sketch, 16 times 4, big-endian |
//!
//! All but the bands is what a look-up compares.

use super::addresses::ADDRESS_BYTES;
use crate::fingerprint::numbers::{SLOT_BYTES, Slots};
use crate::fingerprint::sketch::{BANDS, VALUE_BYTES, Values};

/// Bytes of the bands.
pub(super) const BAND_BYTES: usize = 4 * BANDS;
/// Bytes of a fingerprint.
pub(super) const FINGERPRINT_BYTES: usize = 8 + 2 + VALUE_BYTES + SLOT_BYTES + ADDRESS_BYTES + BAND_BYTES;

/// A fingerprint of these parts: the SimHash, the sketch's size and values (two a byte), the number
/// slots (all zero: no numbers), the address (all zero: none) and the sketch's bands.
#[must_use]
pub fn encode(
    hash: u64,
    size: u16,
    values: &[u8; VALUE_BYTES],
    numbers: &[u8; SLOT_BYTES],
    address: [u8; ADDRESS_BYTES],
    bands: [u32; BANDS],
) -> Box<[u8]> {
    let bands = bands.map(u32::to_be_bytes);
    [&hash.to_be_bytes()[..], &size.to_be_bytes(), values, numbers, &address, bands.as_flattened()]
        .concat()
        .into()
}

/// The SimHash of a fingerprint, or of its beginning.
#[inline]
#[must_use]
pub fn simhash_of(fingerprint: &[u8]) -> u64 {
    u64::from_be_bytes(*fingerprint.first_chunk().expect("8 bytes at least"))
}

/// The 64 values of a fingerprint's sketch, each from 0 to 15, for people to look at.
///
/// # Panics
/// If these are not the bytes of a fingerprint.
pub fn sketch_of(fingerprint: &[u8]) -> impl Iterator<Item = u8> {
    SketchView::of(fingerprint).values.iter().flat_map(|byte| [byte & 0xf, byte >> 4])
}

/// What a fingerprint holds to confirm candidates.
pub(super) struct SketchView<'a> {
    pub(super) size: u32,
    pub(super) values: &'a Values,
    pub(super) numbers: &'a Slots,
    pub(super) address: &'a [u8; ADDRESS_BYTES],
}

impl<'a> SketchView<'a> {
    #[inline]
    pub(super) fn of(fingerprint: &'a [u8]) -> Self {
        let (size, rest) = fingerprint[8..].split_first_chunk::<2>().expect("74 bytes at least");
        let (values, rest) = rest.split_first_chunk().expect("74 bytes at least");
        let (numbers, rest) = rest.split_first_chunk().expect("74 bytes at least");
        let address = rest.first_chunk().expect("74 bytes at least");
        Self { size: u16::from_be_bytes(*size).into(), values, numbers, address }
    }
}

/// An encoded fingerprint, taken apart; its length was checked where it was read.
pub(super) struct Parts<'a> {
    pub(super) hash: u64,
    pub(super) view: SketchView<'a>,
    pub(super) bands: &'a [u8; BAND_BYTES],
}

impl<'a> Parts<'a> {
    #[inline]
    pub(super) fn of(fingerprint: &'a [u8]) -> Self {
        let bands = fingerprint.last_chunk().expect("138 bytes");
        Self { hash: simhash_of(fingerprint), view: SketchView::of(fingerprint), bands }
    }

    pub(super) fn bands(&self) -> impl Iterator<Item = u32> {
        self.bands.as_chunks::<4>().0.iter().map(|band| u32::from_be_bytes(*band))
    }

    /// The bands by their numbers, and the SimHash, which is no such small number but in one case
    /// of 2²⁸.
    pub(super) fn keys(&self) -> impl Iterator<Item = u64> {
        let bands = (0..).zip(self.bands()).map(|(number, band): (u64, u32)| number << 32 | u64::from(band));
        bands.chain([self.hash])
    }

    pub(super) fn shares_band(&self, other: &Self) -> bool {
        self.bands().zip(other.bands()).any(|(a, b)| a == b)
    }
}
