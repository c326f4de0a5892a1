//! All ways to change a few bits of a key.

/// What is to be XORed to a value of `width` bits to get all values within the radius, nearest first.
pub(super) fn flips(width: u32, radius: u32) -> Box<[u64]> {
    let mut flips = vec![0_u64];
    let mut shell = 0..1;
    for _ in 0..radius.min(width) {
        let start = flips.len();
        for at in shell {
            let flip = flips[at];
            // Only bits above those that are set, so that each set of bits comes once.
            let from = 64 - flip.leading_zeros();
            flips.extend((from..width).map(|bit| flip | 1 << bit));
        }
        shell = start..flips.len();
    }
    flips.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_within_the_radius_once() {
        for (width, radius) in [(1, 0), (1, 3), (8, 0), (8, 1), (10, 3), (13, 4), (64, 1)] {
            let flips = flips(width, radius);
            let mut sorted = flips.to_vec();
            sorted.sort_unstable();
            if width < 64 {
                let naive: Vec<u64> =
                    (0..1 << width).filter(|flip: &u64| flip.count_ones() <= radius).collect();
                assert_eq!(sorted, naive, "{width} bits, radius {radius}");
            } else {
                assert_eq!(flips.len(), 65);
            }
            assert!(flips.windows(2).all(|pair| pair[0].count_ones() <= pair[1].count_ones()));
        }
    }
}
