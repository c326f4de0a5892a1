//! A fingerprint that is a set of 32-bit hashes, for detectors that compare shares of equal parts.
//!
//! Encoding: the hashes in ascending order, 4 bytes each, big-endian.

/// Encodes a set; sorts `hashes` and removes duplicates.
pub(crate) fn encode(hashes: &mut Vec<u32>) -> Box<[u8]> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.iter().flat_map(|hash| hash.to_be_bytes()).collect()
}

/// Returns true if `bytes` encode a set of 1 to `max` hashes.
pub(crate) fn is_set(bytes: &[u8], max: usize) -> bool {
    let (hashes, rest) = bytes.as_chunks::<4>();
    rest.is_empty() && (1..=max).contains(&hashes.len()) && hashes.is_sorted_by(|a, b| a < b)
}

/// Returns the number of hashes in a set.
pub(crate) fn len(bytes: &[u8]) -> u64 {
    bytes.len() as u64 / 4
}

/// Returns the number of hashes that two sets share. Linear.
pub(crate) fn shared(a: &[u8], b: &[u8]) -> u64 {
    let (a, b) = (a.as_chunks::<4>().0, b.as_chunks::<4>().0);
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        shared += u64::from(a[i] == b[j]);
        (i, j) = (i + usize::from(a[i] <= b[j]), j + usize::from(b[j] <= a[i]));
    }
    shared
}

/// Adds the n − ⌈share·n⌉ + 1 smallest hashes as keys. Two sets that share at least `share_min` (in basis
/// points) of the larger set have one of these keys in common. Otherwise all shared hashes would lie beyond
/// the prefix of one of them, where fewer than ⌈share·n⌉ are left.
pub(crate) fn prefix_keys(bytes: &[u8], share_min: u32, keys: &mut Vec<u64>) {
    let n = len(bytes);
    let needed = (n * u64::from(share_min)).div_ceil(10_000).max(1);
    let hashes = bytes.as_chunks::<4>().0.iter().take((n - needed + 1) as usize);
    keys.extend(hashes.map(|hash| u64::from(u32::from_be_bytes(*hash))));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_sets(a in prop::collection::vec(0..40_u32, 1..30), b in prop::collection::vec(0..40_u32, 1..30), share_min in 0..=10_000_u32) {
            let (x, y) = (encode(&mut a.clone()), encode(&mut b.clone()));
            let (a, b): (BTreeSet<u32>, BTreeSet<u32>) = (a.into_iter().collect(), b.into_iter().collect());
            let both = a.intersection(&b).count() as u64;
            prop_assert_eq!(shared(&x, &y), both);
            prop_assert!(is_set(&x, 30) && len(&x) == a.len() as u64);
            let (mut of_x, mut of_y) = (vec![], vec![]);
            prefix_keys(&x, share_min, &mut of_x);
            prefix_keys(&y, share_min, &mut of_y);
            if both > 0 && both * 10_000 >= u64::from(share_min) * len(&x).max(len(&y)) {
                prop_assert!(of_x.iter().any(|key| of_y.contains(key)));
            }
        }
    }

    #[test]
    fn recognises_encoded_sets() {
        assert!(is_set(&[0, 0, 0, 1, 0, 0, 0, 2], 2));
        for bytes in [&[][..], &[0, 0, 0], &[0, 0, 0, 2, 0, 0, 0, 1], &[0, 0, 0, 1, 0, 0, 0, 1]] {
            assert!(!is_set(bytes, 9), "{bytes:?}");
        }
        assert!(!is_set(&[0, 0, 0, 1, 0, 0, 0, 2], 1));
    }
}
