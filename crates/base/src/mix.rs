//! A bijection of 64-bit numbers that spreads all bits over all bits.
//!
//! Invariant: this function never changes, because fingerprints and files depend on it.

/// Returns `hash` mixed with MurmurHash3's `fmix64`: each input bit changes about half of the output bits,
/// and different inputs have different results.
#[inline]
pub fn mix(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
