//! A set of keys in seven to nine bits each. It has every key that was inserted, and seems to have one in 64
//! to 256 of all other keys.
//!
//! A binary fuse filter (Graf & Lemire 2022): a key's hash names three places in three neighbouring segments
//! of one array, and the XOR of these places is the last bits of the hash. The filter is filled by peeling: a
//! place that only one key has is set last, after the other two places of that key, and so on.
//!
//! This is our own implementation, because the filter is part of a file format, which must not change with
//! the version of a library. Cost: three cache misses per look-up; some 40 ns per key to build.

use prost::bytes::Buf as _;

use leitong_base::mix::mix;

/// Limit on the number of seeds that are tried. One of them nearly always succeeds.
const SEEDS_MAX: u32 = 100;

/// The filter of a set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filter {
    seed: u64,
    /// Base-2 logarithm of the number of places in a segment.
    segment_bits: u32,
    /// Number of segments that a key's first place may be in; two more follow.
    segments: u32,
    /// Number of bits of a place, from 6 to 8. With `n` bits, one in 2^n of the other keys seems to be in the set.
    place_bits: u32,
    /// The places in order, the first one in the lowest bits of the first byte. One more byte follows, since
    /// two are read at once. Empty if there are no keys.
    places: Box<[u8]>,
}

/// Builds filters, one after another in the same memory.
#[derive(Default)]
pub(super) struct FilterBuilder {
    hashes: Vec<u64>,
    /// For each place, the number of hashes that have it.
    counts: Vec<u8>,
    /// For each place, the XOR of the hashes that have it.
    all: Vec<u64>,
    /// The places that only one hash has.
    alone: Vec<u32>,
    /// The hashes, each with a place that no later hash has.
    order: Vec<(u64, u32)>,
}

impl FilterBuilder {
    /// Builds the filter of these keys, which must be distinct, with 6 to 8 bits a place.
    ///
    /// # Panics
    /// Panics if a key is there twice, because then no seed succeeds, or if `place_bits` is out of range.
    pub(super) fn filter_of(&mut self, keys: &[u64], place_bits: u32) -> Filter {
        assert!((6..=8).contains(&place_bits), "{place_bits} bits a place");
        let mut filter = Filter { seed: 0, segment_bits: 0, segments: 0, place_bits, places: Box::default() };
        if keys.is_empty() {
            return filter;
        }
        let size = keys.len().max(2) as f64;
        // These sizes, from the paper's experiments, make peeling succeed nearly always.
        let segment_bits = (size.ln() / 3.33_f64.ln() + 2.25).floor().min(18.0) as u32;
        let factor = (0.875 + 0.25 * 1e6_f64.ln() / size.ln()).max(1.125);
        let places = (size * factor).round() as u32;
        filter.segments = places.div_ceil(1 << segment_bits).max(3) - 2;
        filter.segment_bits = segment_bits;
        for _ in 0..SEEDS_MAX {
            self.hash(keys, filter.seed);
            if self.peel(&filter).is_some() {
                filter.fill(&self.order);
                return filter;
            }
            filter.seed = mix(filter.seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        }
        panic!("no filter of {} keys with {SEEDS_MAX} seeds: a key is there twice", keys.len());
    }

    /// Hashes the keys and groups the hashes by their first bits. Hashes in a group have neighbouring places,
    /// so one cache line serves several of them.
    fn hash(&mut self, keys: &[u64], seed: u64) {
        const BITS: u32 = 10;
        let group_of = |hash: u64| (hash >> (64 - BITS)) as usize;
        let mut ends = [0_usize; 1 << BITS];
        for key in keys {
            ends[group_of(mix(key ^ seed))] += 1;
        }
        let mut begin = 0;
        for end in &mut ends {
            begin += std::mem::replace(end, begin);
        }
        self.hashes.resize(keys.len(), 0);
        for key in keys {
            let hash = mix(key ^ seed);
            let at = &mut ends[group_of(hash)];
            self.hashes[*at] = hash;
            *at += 1;
        }
    }

    /// Fills `order`. Returns `None` if the hashes cannot be ordered in that way.
    fn peel(&mut self, filter: &Filter) -> Option<()> {
        let Self { hashes, counts, all, alone, order } = self;
        counts.clear();
        all.clear();
        alone.clear();
        order.clear();
        counts.resize(filter.place_count() as usize, 0);
        all.resize(filter.place_count() as usize, 0);
        for hash in &*hashes {
            for place in filter.places_of(*hash) {
                counts[place as usize] = counts[place as usize].checked_add(1)?;
                all[place as usize] ^= hash;
            }
        }
        // A place is written before it is known whether it counts, because a mispredicted branch takes
        // longer. Each place counts at most once.
        alone.resize(counts.len() + 1, 0);
        let mut left = 0;
        for (place, count) in (0..).zip(&*counts) {
            alone[left] = place;
            left += usize::from(*count == 1);
        }
        while left > 0 {
            left -= 1;
            let place = alone[left];
            if counts[place as usize] != 1 {
                continue;
            }
            let hash = all[place as usize];
            order.push((hash, place));
            for other in filter.places_of(hash) {
                counts[other as usize] -= 1;
                all[other as usize] ^= hash;
                alone[left] = other;
                left += usize::from(counts[other as usize] == 1);
            }
        }
        (order.len() == hashes.len()).then_some(())
    }
}

impl Filter {
    /// Returns true if the key may be in the set. For a key in the set it is always true.
    #[inline]
    pub(super) fn has(&self, key: u64) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let hash = mix(key ^ self.seed);
        let [a, b, c] = self.places_of(hash).map(|place| self.read(place));
        (byte_of(hash) ^ a ^ b ^ c) & self.mask() == 0
    }

    /// Encodes the filter: the seed, the base-2 logarithm of a segment's places, the number of segments, the bits of a
    /// place, little-endian; then the places.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(20 + self.places.len());
        bytes.extend(self.seed.to_le_bytes());
        for number in [self.segment_bits, self.segments, self.place_bits] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&self.places[..self.bytes()]);
        bytes
    }

    /// Decodes a filter. Returns `None` if the bytes are not a filter.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut places = bytes;
        let seed = places.try_get_u64_le().ok()?;
        let mut next = || places.try_get_u32_le().ok();
        let (segment_bits, segments, place_bits) = (next()?, next()?, next()?);
        let place_bits = Some(place_bits).filter(|bits| (6..=8).contains(bits))?;
        let mut filter = Self { seed, segment_bits, segments, place_bits, places: Box::default() };
        if segments == 0 {
            return (segment_bits == 0 && seed == 0 && places.is_empty()).then_some(filter);
        }
        let is_whole = segment_bits <= 18
            && filter.place_count() <= u64::from(u32::MAX)
            && places.len() as u64 == filter.bytes_of_places();
        is_whole.then(|| {
            filter.places = [places, &[0]].concat().into();
            filter
        })
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.places.len().saturating_sub(1)
    }

    fn bytes_of_places(&self) -> u64 {
        (self.place_count() * u64::from(self.place_bits)).div_ceil(8)
    }

    /// Returns the number of places, computed from the other fields.
    fn place_count(&self) -> u64 {
        (u64::from(self.segments) + 2) << self.segment_bits
    }

    /// Returns the byte, and the bit in it, where a place begins.
    #[inline]
    fn begin(&self, place: u32) -> (usize, u32) {
        let bit = u64::from(place) * u64::from(self.place_bits);
        ((bit / 8) as usize, (bit % 8) as u32)
    }

    /// Returns the value of a place in the lower bits; the bits above are arbitrary.
    #[inline]
    fn read(&self, place: u32) -> u8 {
        let (byte, bit) = self.begin(place);
        (u16::from_le_bytes([self.places[byte], self.places[byte + 1]]) >> bit) as u8
    }

    /// Returns the mask of the bits of a place.
    #[inline]
    fn mask(&self) -> u8 {
        u8::MAX >> (8 - self.place_bits)
    }

    #[inline]
    fn places_of(&self, hash: u64) -> [u32; 3] {
        let (segment, mask) = (1_u32 << self.segment_bits, (1 << self.segment_bits) - 1);
        let first = ((u128::from(hash) * u128::from(self.segments << self.segment_bits)) >> 64) as u32;
        let second = (first + segment) ^ ((hash >> 18) as u32 & mask);
        let third = (first + 2 * segment) ^ (hash as u32 & mask);
        [first, second, third]
    }

    fn fill(&mut self, order: &[(u64, u32)]) {
        self.places = vec![0; self.bytes_of_places() as usize + 1].into();
        for (hash, place) in order.iter().rev() {
            let [a, b, c] = self.places_of(*hash).map(|place| self.read(place));
            // The place itself is still 0.
            let value = u16::from((byte_of(*hash) ^ a ^ b ^ c) & self.mask());
            let (byte, bit) = self.begin(*place);
            let [low, high] = (value << bit).to_le_bytes();
            self.places[byte] |= low;
            self.places[byte + 1] |= high;
        }
    }
}

/// Returns the bits that the places of a key add up to. The last bits of the hash alone choose its third place.
#[inline]
fn byte_of(hash: u64) -> u8 {
    (hash ^ hash >> 32) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_base::random::Random;

    #[test]
    fn has_every_key_of_the_set_and_few_others_in_nine_bits_each_or_fewer() {
        for (size, place_bits) in [0, 1, 2, 3, 4, 5, 10, 100, 1_000, 30_000, 200_000]
            .into_iter()
            .flat_map(|size| [6, 7, 8].map(|bits| (size, bits)))
        {
            let mut random = Random::from_seed(size);
            let keys: Vec<u64> = (0..size).map(|_| random.next_bits()).collect();
            let filter = FilterBuilder::default().filter_of(&keys, place_bits);
            assert!(keys.iter().all(|key| filter.has(*key)), "{size}, {place_bits}");
            let others = (0..100_000).filter(|_| filter.has(random.next_bits())).count();
            let expected = 100_000 >> place_bits;
            assert!(others < expected * 5 / 4, "{others} of 100,000 others, where {expected} are expected");
            if size >= 200_000 {
                let bits = filter.bytes() as f64 * 8.0 / size as f64;
                assert!(bits < 1.2 * f64::from(place_bits), "{bits} bits a key, {place_bits}");
            }
            assert_eq!(Filter::from_bytes(&filter.to_bytes()), Some(filter), "{size}, {place_bits}");
        }
    }

    /// The filter is part of a file format: every later version must read the same from disk.
    #[test]
    fn the_bytes_of_a_filter_never_change() {
        let keys: Vec<u64> = (0..1_000_u64).map(|key| key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let sums = [6, 7, 8].map(|bits| {
            xxhash_rust::xxh3::xxh3_64(&FilterBuilder::default().filter_of(&keys, bits).to_bytes())
        });
        assert_eq!(sums, GOLDEN, "{sums:#x?}");
    }
    const GOLDEN: [u64; 3] = [0xcaac_c988_0e3f_5f04, 0x01de_9f0d_d0df_9e29, 0x2651_4356_8160_ba2e];

    #[test]
    fn bytes_that_are_no_filter_are_refused() {
        let good = FilterBuilder::default().filter_of(&[1, 2, 3, 4, 5], 7).to_bytes();
        assert!(Filter::from_bytes(&good).is_some());
        for (at, value) in [(8, 19), (8, good[8] + 1), (12, good[12] + 1), (15, 0xff), (16, 5), (16, 9)] {
            let mut bytes = good.clone();
            bytes[at] = value;
            assert_eq!(Filter::from_bytes(&bytes), None, "{value} at {at}");
        }
        let empty = Filter { seed: 1, segment_bits: 0, segments: 0, place_bits: 7, places: Box::default() };
        let wrong = [&good[..15], &good[..good.len() - 1], &[&*good, &[0]].concat(), &empty.to_bytes()];
        assert!(wrong.iter().all(|bytes| Filter::from_bytes(bytes).is_none()));
    }

    #[test]
    #[should_panic = "a key is there twice"]
    fn a_key_that_is_there_twice_is_told() {
        FilterBuilder::default().filter_of(&[7, 8, 7], 8);
    }
}
