//! Keys of paragraphs: *bands*, which are groups of 32 consecutive bits of their hashes.

use super::matching::ParagraphFingerprint;

/// Adds the bands of these paragraphs to `keys`: the first `count` groups of 32 bits of each hash, in order.
pub(super) fn keys(fingerprints: &[ParagraphFingerprint], count: u32, keys: &mut Vec<u64>) {
    distinct_keys(fingerprints, keys, |hash, keys| {
        keys.extend((0..count).map(|band| u64::from(band) << 32 | u64::from(value(hash, band))));
    });
}

/// Returns true if any two of these paragraphs agree in a band.
pub(super) fn share(a: &[ParagraphFingerprint], b: &[ParagraphFingerprint], count: u32) -> bool {
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    keys(a, count, &mut of_a);
    keys(b, count, &mut of_b);
    of_a.iter().any(|key| of_b.binary_search(key).is_ok())
}

/// Adds the keys that `of_hash` yields for the paragraphs' hashes, in order and without duplicates.
pub(super) fn distinct_keys(
    fingerprints: &[ParagraphFingerprint],
    keys: &mut Vec<u64>,
    of_hash: impl Fn(u128, &mut Vec<u64>),
) {
    let mut own = Vec::new();
    fingerprints.iter().for_each(|fingerprint| of_hash(fingerprint.hash, &mut own));
    own.sort_unstable();
    own.dedup();
    keys.append(&mut own);
}

/// Returns a band's value; band 0 holds the upper 32 bits.
#[inline]
fn value(hash: u128, band: u32) -> u32 {
    (hash >> (96 - 32 * band)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_share_a_band_in_one_place_only() {
        let fingerprint = |high: u32, low: u32| ParagraphFingerprint {
            hash: u128::from(high) << 96 | u128::from(low) << 64,
            weight: 1,
        };
        let (a, b) = (
            [fingerprint(1, 2), fingerprint(3, 4), fingerprint(3, 4)],
            [fingerprint(5, 6), fingerprint(7, 4)],
        );
        assert!(share(&a, &b, 2) && share(&b, &a, 2));
        assert!(!share(&a, &b, 1), "the upper halves differ");
        assert!(!share(&a, &[fingerprint(2, 3)], 2), "equal bits in other places");
        let mut found = vec![9];
        keys(&a, 2, &mut found);
        assert_eq!(found, [9, 1, 3, 1 << 32 | 2, 1 << 32 | 4], "each once, behind those that were there");
    }
}
