//! An upper bound of what two pages share, for candidates that are almost never near.
//!
//! A paragraph that is on very many pages makes them all candidates of each other, and no short second key
//! separates them exactly: matching paragraphs agree in one of four blocks of 16 bits within its radius, but
//! so do, by chance, some paragraphs of any two pages with twenty each (400 pairs, 188 of 65,536 values
//! each). So all candidates are compared, but first by this bound, computed directly from their bytes: the
//! weight of all paragraphs that match *any* paragraph of the other page, one-to-one or not. Near pages
//! always pass it.
//!
//! Cost: n·m comparisons of 64 bits, vectorised, without an allocation per candidate.

use super::WEIGHT_BYTES;
use super::matching::ParagraphFingerprint;

/// A page that is compared with many others.
pub(super) struct Bound<'a> {
    fingerprints: &'a [ParagraphFingerprint],
    /// The upper 64 bits of each paragraph's hash.
    hashes: Vec<u64>,
    total: u64,
    max_distance: u32,
    share_min: u64,
    hash_bytes: usize,
}

impl<'a> Bound<'a> {
    pub(super) fn new(
        fingerprints: &'a [ParagraphFingerprint],
        max_distance: u32,
        share_min: u32,
        hash_bytes: usize,
    ) -> Self {
        let hashes = fingerprints.iter().map(|fingerprint| (fingerprint.hash >> 64) as u64).collect();
        let total = fingerprints.iter().map(|fingerprint| u64::from(fingerprint.weight)).sum();
        Self { fingerprints, hashes, total, max_distance, share_min: share_min.into(), hash_bytes }
    }

    /// Returns true if the page of this fingerprint may share enough of both pages. Written as loops, because
    /// closures would not be compiled for the CPU's own instructions.
    #[inline(always)]
    fn may_be_near(&self, fingerprint: &[u8]) -> bool {
        let (mut matched, mut total) = (0, 0);
        for entry in fingerprint.chunks_exact(self.hash_bytes + WEIGHT_BYTES) {
            let weight = weight_of(entry);
            total += weight;
            if self.nearest(hash_of(entry)) <= self.max_distance {
                matched += weight;
            }
        }
        if matched * 10_000 / total.max(1) < self.share_min {
            return false;
        }
        let mut own_matched = 0;
        for (own, paragraph) in self.hashes.iter().zip(self.fingerprints) {
            for entry in fingerprint.chunks_exact(self.hash_bytes + WEIGHT_BYTES) {
                if (own ^ hash_of(entry)).count_ones() <= self.max_distance {
                    own_matched += u64::from(paragraph.weight);
                    break;
                }
            }
        }
        own_matched * 10_000 / self.total.max(1) >= self.share_min
    }

    /// Returns the distance to the nearest of the page's own paragraphs.
    #[inline(always)]
    fn nearest(&self, hash: u64) -> u32 {
        let mut nearest = u64::BITS;
        for own in &self.hashes {
            nearest = nearest.min((own ^ hash).count_ones());
        }
        nearest
    }
}

/// Returns the upper 64 bits of a paragraph's hash.
#[inline(always)]
fn hash_of(entry: &[u8]) -> u64 {
    u64::from_be_bytes(*entry.first_chunk().unwrap_or(&[0; 8]))
}

#[inline(always)]
fn weight_of(entry: &[u8]) -> u64 {
    u64::from(u16::from_be_bytes(*entry.last_chunk::<WEIGHT_BYTES>().unwrap_or(&[0; WEIGHT_BYTES])))
}

/// The selection of the fingerprints that may be near, by their numbers. It is compiled with the CPU's own
/// instructions for counting bits.
pub(super) struct MayBeNear<'a> {
    pub(super) bound: Bound<'a>,
    pub(super) fingerprints: &'a [&'a [u8]],
}

impl pulp::NullaryFnOnce for MayBeNear<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn call(self) -> Vec<usize> {
        let mut numbers = Vec::new();
        for (number, other) in self.fingerprints.iter().enumerate() {
            if self.bound.may_be_near(other) {
                numbers.push(number);
            }
        }
        numbers
    }
}
