//! Shingles hashed with a key: the windows of [`super::sketch`] and [`super::letters`], each hashed as a
//! whole by SipHash.
//!
//! The fast rolling hash used without a key is not safe here: somebody can compute different windows with
//! equal rolling hashes, and keying the result afterwards would not change that.
//!
//! Cost: a SipHash of at most 72 bytes per unit, where a rolling hash takes a multiplication. `cargo bench
//! --bench detectors` measures every detector with and without a secret.

use super::secret::TextHash;
use super::units::{SHINGLE_SIZE, is_letter, is_unit};

/// Size of the ring of units: a power of two that no window exceeds. The largest window size in use is 9.
const RING: usize = 16;

/// Calls `shingle` with the hash of each shingle of `text`, in order; returns the sum of all unit sizes.
pub(crate) fn shingles(text: &str, hash: &TextHash, mut shingle: impl FnMut(u64)) -> u64 {
    let mut window = KeyedWindow::<SHINGLE_SIZE>::default();
    // The current word: where it begins, and its number of letters.
    let (mut word, mut letters) = (0, 0_u32);
    for (at, c) in text.char_indices() {
        let is_unit = is_unit(c);
        let is_of_word = !is_unit && is_letter(c);
        if is_of_word {
            word = if letters == 0 { at } else { word };
            letters += 1;
            continue;
        }
        if letters > 0 {
            window.push(hash.hash(&text.as_bytes()[word..at]), letters.min(2), hash, &mut shingle);
            letters = 0;
        }
        if is_unit {
            window.push(u64::from(u32::from(c)), 1, hash, &mut shingle);
        }
    }
    if letters > 0 {
        window.push(hash.hash(&text.as_bytes()[word..]), letters.min(2), hash, &mut shingle);
    }
    window.total_size
}

/// The last units of a text.
#[derive(Default)]
pub(super) struct KeyedWindow<const SIZE: u32> {
    /// A ring of the last units: hash or code point, and size.
    units: [(u64, u32); RING],
    start: usize,
    end: usize,
    /// The sum of the sizes in the window.
    size: u32,
    total_size: u64,
}

impl<const SIZE: u32> KeyedWindow<SIZE> {
    /// Adds a unit; calls `shingle` with the hash of the window that ends with it, if there is one.
    #[inline]
    pub(super) fn push(&mut self, unit: u64, size: u32, hash: &TextHash, shingle: &mut impl FnMut(u64)) {
        self.units[self.end % RING] = (unit, size);
        self.end += 1;
        self.size += size;
        self.total_size += u64::from(size);
        if self.size < SIZE {
            return;
        }
        let mut bytes = [[0; 8]; RING];
        let units = (self.start..self.end).map(|at| self.units[at % RING].0);
        bytes.iter_mut().zip(units).for_each(|(bytes, unit)| *bytes = unit.to_le_bytes());
        shingle(hash.hash(bytes[..self.end - self.start].as_flattened()));
        // Keep the longest tail that is not yet a shingle.
        while self.size >= SIZE {
            self.size -= self.units[self.start % RING].1;
            self.start += 1;
        }
    }
}
