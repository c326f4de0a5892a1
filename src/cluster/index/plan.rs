//! How 64 bits are cut into blocks, so that look-ups within a Hamming distance are quick: the plan.
//!
//! Multi-index hashing (Norouzi, Punjani & Fleet 2012; with all radii 0: Manku, Jain & Das Sarma 2007). With blocks of
//! radius rᵢ and Σ(rᵢ + 1) = *d* + 1, two fingerprints within distance *d* lie within rᵢ of each other in at least one
//! block *i*: else they would differ in Σ(rᵢ + 1) > *d* bits. So a centre is entered under its value in each block, and
//! looked for under all values within rᵢ of each.
//!
//! Wide blocks have few centres a value and many values within their radius; narrow ones the reverse. Which is quicker
//! depends on the number of centres, the distance, and on how much fingerprints differ: the plan is the one with the least
//! cost by a simple model, whose constants were measured (`docs/adr/0008-look-ups.md`). It decides about speed
//! only: every plan finds the same.

/// Cost in nanoseconds of visiting a value of a block, of comparing a centre found there, and of comparing one in a row.
const VISIT: f64 = 15.0;
const COMPARE: f64 = 2.5;
const SCAN: f64 = 1.0;
/// Blocks have no more values than this within their radius: beyond, comparing all centres is quicker anyway.
const FLIPS_MAX: f64 = 70_000.0;
const BLOCKS_MAX: u32 = 8;

/// The blocks; none where all centres are compared in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan(pub(super) Vec<Block>);

/// Some neighbouring bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// Bits below it.
    pub(super) shift: u32,
    /// Its bits, 1 to 64.
    pub(super) width: u32,
    /// How many of them may differ.
    pub(super) radius: u32,
}

impl Block {
    /// The block's bits, moved to the lower end.
    #[inline]
    pub(super) fn of(&self, bits: u64) -> u64 {
        bits >> self.shift & u64::MAX >> (64 - self.width)
    }
}

impl Plan {
    /// The blocks and radii for `count` blocks, as even as can be: the narrower a block, the greater its radius.
    pub(super) fn even(count: u32, max_distance: u32) -> Self {
        let share = |total: u32, number: u32| total / count + u32::from(number < total % count);
        let mut shift = 64;
        let blocks = (0..count).map(|number| {
            let width = share(64, number);
            shift -= width;
            Block { shift, width, radius: share(max_distance + 1, count - 1 - number) - 1 }
        });
        Self(blocks.collect())
    }

    /// The quickest plan for `centres` centres, any two of which differ in bit *i* with probability `differ[i]`.
    pub(super) fn choose(centres: usize, max_distance: u32, differ: &[f64; 64]) -> Self {
        let most = BLOCKS_MAX.min(max_distance + 1);
        let plans = (1..=most).map(|count| Self::even(count, max_distance));
        let possible = plans.filter(|plan| plan.0.iter().all(|block| block.flips() <= FLIPS_MAX));
        let all = possible.chain([Self(Vec::new())]);
        let cost = |plan: &Self| plan.cost(centres, differ);
        all.min_by(|a, b| cost(a).total_cmp(&cost(b))).expect("at least one plan")
    }

    /// Expected nanoseconds of a look-up.
    pub(super) fn cost(&self, centres: usize, differ: &[f64; 64]) -> f64 {
        let centres = centres as f64;
        if self.0.is_empty() {
            return centres * SCAN;
        }
        let cost =
            |block: &Block| block.flips() * VISIT + centres * block.share_within_radius(differ) * COMPARE;
        self.0.iter().map(cost).sum()
    }
}

impl Block {
    /// Values within its radius of any value.
    fn flips(&self) -> f64 {
        let (mut flips, mut ways) = (1.0, 1.0);
        for r in 1..=self.radius.min(self.width) {
            ways *= f64::from(self.width - r + 1) / f64::from(r);
            flips += ways;
        }
        flips
    }

    /// The probability that two fingerprints lie within the radius here, if their bits are independent.
    fn share_within_radius(&self, differ: &[f64; 64]) -> f64 {
        let mut by_distance = vec![0.0; self.radius as usize + 1];
        by_distance[0] = 1.0;
        for differ in &differ[self.shift as usize..(self.shift + self.width) as usize] {
            for at in (0..by_distance.len()).rev() {
                let from_below = if at > 0 { by_distance[at - 1] * differ } else { 0.0 };
                by_distance[at] = by_distance[at] * (1.0 - differ) + from_below;
            }
        }
        by_distance.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_bits_and_radii_follow_the_rule() {
        for max_distance in 0..=16 {
            for count in 1..=BLOCKS_MAX.min(max_distance + 1) {
                let Plan(blocks) = Plan::even(count, max_distance);
                let bits = blocks.iter().map(|block| block.of(u64::MAX) << block.shift).fold(0, |a, b| {
                    assert_eq!(a & b, 0, "no bit twice");
                    a | b
                });
                assert_eq!(bits, u64::MAX);
                assert_eq!(blocks.iter().map(|block| block.radius + 1).sum::<u32>(), max_distance + 1);
            }
        }
    }

    #[test]
    fn more_centres_ask_for_wider_blocks() {
        let blocks = |centres, max_distance| Plan::choose(centres, max_distance, &[0.5; 64]).0.len();
        assert_eq!(blocks(50, 3), 0, "a few are compared in a row");
        let counts = [1_000, 1_000_000, 10_000_000, 100_000_000].map(|centres| blocks(centres, 3));
        assert!(counts.windows(2).all(|pair| pair[0] >= pair[1]), "{counts:?}");
        assert!(counts[0] == 4 && counts[3] == 2, "{counts:?}");
        assert_eq!(blocks(1 << 20, 0), 1, "equal ones share all bits");
    }

    #[test]
    fn bits_that_seldom_differ_count_less() {
        let block = Block { shift: 0, width: 2, radius: 1 };
        let mut differ = [0.5; 64];
        assert!((block.share_within_radius(&differ) - 0.75).abs() < 1e-9);
        differ[0] = 0.0;
        assert!((block.share_within_radius(&differ) - 1.0).abs() < 1e-9);
    }
}
