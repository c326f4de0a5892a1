//! A bijection of 64-bit numbers that spreads all bits over all bits.
//!
//! Invariant: fixed permanently. Fingerprints and files are made with it.

/// Each bit of the input changes half of the output (MurmurHash3's `fmix64`), and no two numbers
/// become one.
#[inline]
pub fn mix(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
