//! The masks of a Hamming ball: all ways to change a few bits of a key. XORed with a key, they give all keys within its
//! radius.

/// Returns the masks to XOR with a value of `width` bits to get all values within the radius, nearest first.
pub(super) fn masks(width: u32, radius: u32) -> Box<[u64]> {
    let mut masks = vec![0_u64];
    let mut shell = 0..1;
    for _ in 0..radius.min(width) {
        let start = masks.len();
        for at in shell {
            let mask = masks[at];
            // Sets only bits above those already set, so each combination occurs once.
            let from = 64 - mask.leading_zeros();
            masks.extend((from..width).map(|bit| mask | 1 << bit));
        }
        shell = start..masks.len();
    }
    masks.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_each_value_within_the_radius_once() {
        for (width, radius) in [(1, 0), (1, 3), (8, 0), (8, 1), (10, 3), (13, 4), (64, 1)] {
            let masks = masks(width, radius);
            let mut sorted = masks.to_vec();
            sorted.sort_unstable();
            if width < 64 {
                let naive: Vec<u64> =
                    (0..1 << width).filter(|mask: &u64| mask.count_ones() <= radius).collect();
                assert_eq!(sorted, naive, "{width} bits, radius {radius}");
            } else {
                assert_eq!(masks.len(), 65);
            }
            assert!(masks.windows(2).all(|pair| pair[0].count_ones() <= pair[1].count_ones()));
        }
    }
}
