//! A set of keys in nine bits each: says of every key that is in it that it may be, and of one in
//! 256 of the others.
//!
//! A binary fuse filter (Graf & Lemire 2022): a key's hash names three places in three neighbouring
//! segments of one array of bytes; their XOR is a byte of the hash. It is filled by peeling: a place
//! that only one key has is set last, after the two others of that key, and so on.
//!
//! Our own, since it is part of a file format, and that must not change with a library's version.
//! Cost: three cache misses a key asked for; some 60 ns a key to build.

use crate::mix::mix;

/// The filter of a set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    seed: u64,
    /// Places in a segment are 2 to the power of this.
    segment_bits: u32,
    /// Segments in which a key's first place may be; two more follow.
    segments: u32,
    places: Box<[u8]>,
}

impl Filter {
    /// The filter of these keys, each of which is there once.
    pub(super) fn of(keys: &[u64]) -> Self {
        if keys.is_empty() {
            return Self::default();
        }
        let size = keys.len().max(2) as f64;
        // Sizes for which peeling nearly always succeeds, from the paper's experiments.
        let segment_bits = (size.ln() / 3.33_f64.ln() + 2.25).floor().min(18.0) as u32;
        let factor = (0.875 + 0.25 * 1e6_f64.ln() / size.ln()).max(1.125);
        let places = (size * factor).round() as u32;
        let segments = places.div_ceil(1 << segment_bits).max(3) - 2;
        let mut filter = Self { seed: 0, segment_bits, segments, places: Box::default() };
        let mut hashes = vec![0; keys.len()];
        loop {
            hashes.iter_mut().zip(keys).for_each(|(hash, key)| *hash = mix(key ^ filter.seed));
            // Neighbouring hashes have neighbouring places: far fewer cache misses.
            hashes.sort_unstable();
            if let Some(order) = filter.peel(&hashes) {
                filter.fill(&order);
                return filter;
            }
            filter.seed = mix(filter.seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        }
    }

    /// Whether the key may be in the set; surely if it is.
    #[inline]
    pub(super) fn has(&self, key: u64) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let hash = mix(key ^ self.seed);
        let [a, b, c] = self.places_of(hash).map(|place| self.places[place as usize]);
        byte_of(hash) == a ^ b ^ c
    }

    /// All of it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 + self.places.len());
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend(self.segment_bits.to_le_bytes());
        bytes.extend(self.segments.to_le_bytes());
        bytes.extend(&*self.places);
        bytes
    }

    /// The filter of these bytes, if they are one.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (seed, bytes) = bytes.split_first_chunk::<8>()?;
        let (segment_bits, bytes) = bytes.split_first_chunk::<4>()?;
        let (segments, places) = bytes.split_first_chunk::<4>()?;
        let filter = Self {
            seed: u64::from_le_bytes(*seed),
            segment_bits: u32::from_le_bytes(*segment_bits),
            segments: u32::from_le_bytes(*segments),
            places: places.into(),
        };
        let is_whole = filter.segment_bits <= 18 && filter.places.len() as u64 == filter.len();
        (is_whole || filter == Self::default()).then_some(filter)
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.places.len()
    }

    /// Places, as the other fields say.
    fn len(&self) -> u64 {
        u64::from(self.segments + 2) << self.segment_bits
    }

    #[inline]
    fn places_of(&self, hash: u64) -> [u32; 3] {
        let (segment, mask) = (1_u32 << self.segment_bits, (1 << self.segment_bits) - 1);
        let first = ((u128::from(hash) * u128::from(self.segments << self.segment_bits)) >> 64) as u32;
        let second = (first + segment) ^ ((hash >> 18) as u32 & mask);
        let third = (first + 2 * segment) ^ (hash as u32 & mask);
        [first, second, third]
    }

    /// The hashes, each with a place that no later one has; none if there is no such order.
    fn peel(&self, hashes: &[u64]) -> Option<Vec<(u64, u32)>> {
        // Of each place how many hashes have it, and the XOR of those.
        let mut counts = vec![0_u8; self.len() as usize];
        let mut all = vec![0_u64; self.len() as usize];
        for hash in hashes {
            for place in self.places_of(*hash) {
                counts[place as usize] = counts[place as usize].checked_add(1)?;
                all[place as usize] ^= hash;
            }
        }
        let single = |(place, count): (usize, &u8)| (*count == 1).then_some(place as u32);
        let mut alone: Vec<u32> = counts.iter().enumerate().filter_map(single).collect();
        let mut order = Vec::with_capacity(hashes.len());
        while let Some(place) = alone.pop() {
            if counts[place as usize] != 1 {
                continue;
            }
            let hash = all[place as usize];
            order.push((hash, place));
            for other in self.places_of(hash) {
                counts[other as usize] -= 1;
                all[other as usize] ^= hash;
                if counts[other as usize] == 1 {
                    alone.push(other);
                }
            }
        }
        (order.len() == hashes.len()).then_some(order)
    }

    fn fill(&mut self, order: &[(u64, u32)]) {
        self.places = vec![0; self.len() as usize].into();
        for (hash, place) in order.iter().rev() {
            let [a, b, c] = self.places_of(*hash).map(|place| self.places[place as usize]);
            // The place itself is still 0.
            self.places[*place as usize] = byte_of(*hash) ^ a ^ b ^ c;
        }
    }
}

#[inline]
fn byte_of(hash: u64) -> u8 {
    (hash ^ hash >> 32) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn has_every_key_of_the_set_and_few_others_in_nine_bits_each() {
        for size in [0, 1, 2, 3, 4, 5, 10, 100, 1_000, 30_000, 200_000] {
            let mut random = Random::of_seed(size);
            let keys: Vec<u64> = (0..size).map(|_| random.next_bits()).collect();
            let filter = Filter::of(&keys);
            assert!(keys.iter().all(|key| filter.has(*key)), "{size}");
            let others = (0..100_000).filter(|_| filter.has(random.next_bits())).count();
            assert!(others < 500, "{others} of 100,000 others, where 390 are expected");
            if size >= 200_000 {
                let bits = filter.bytes() as f64 * 8.0 / size as f64;
                assert!(bits < 9.6, "{bits} bits a key");
            }
            assert_eq!(Filter::from_bytes(&filter.to_bytes()), Some(filter), "{size}");
        }
    }

    /// It is part of a file format: what is on disk must be read the same by every later version.
    #[test]
    fn stays_what_it_is() {
        let keys: Vec<u64> = (0..1_000_u64).map(|key| key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let sum = xxhash_rust::xxh3::xxh3_64(&Filter::of(&keys).to_bytes());
        assert_eq!(sum, GOLDEN, "{sum:#x}");
    }
    const GOLDEN: u64 = 0xe89d_9e90_02fd_4db0;

    #[test]
    fn what_is_no_filter_is_none() {
        assert_eq!(Filter::from_bytes(&[1; 15]), None);
        assert_eq!(Filter::from_bytes(&[1; 100]), None);
    }
}
