//! Plans of the Hamming index: how a look-up within a Hamming distance is split into look-ups of equal
//! values.
//!
//! This is multi-index hashing (Norouzi, Punjani & Fleet 2012). The 64 bits are split into blocks with radii
//! rᵢ, where Σ(rᵢ + 1) = *d* + 1. Two fingerprints within distance *d* differ in at most rᵢ bits in at least
//! one block *i*; otherwise they would differ in Σ(rᵢ + 1) > *d* bits. So a centroid is stored under its
//! value in each block, and found under all values within rᵢ of the query's value.
//!
//! A block of radius 1 can use several tables instead. It is split into parts, and each table leaves out one
//! part. The one bit that differs is in one part, so in that part's table the values are equal. One look-up
//! per table is enough. (Two blocks of three parts are six tables of 21 bits for distance 3. Manku, Jain &
//! Das Sarma 2007 use two of five parts: ten tables of 25 bits.)
//!
//! Wide blocks have few centroids per value and many values within their radius; narrow blocks have the
//! reverse. Which is faster depends on the number of centroids, the distance, and how much fingerprints
//! differ. The plan with the lowest cost is chosen by a simple model, whose constants were measured
//! (`docs/adr/0008-look-ups.md`). The plan affects only speed: all plans find the same centroids.

use super::buckets::MEAN;

/// Nanoseconds for visiting a value of a block.
const VISIT: f64 = 20.0;
/// Nanoseconds for following a list if the bucket is full.
const LIST: f64 = 15.0;
/// Nanoseconds for comparing a centroid found under a value.
const COMPARE: f64 = 1.2;
/// Nanoseconds for fetching a centroid that looks near but is not.
const FETCH: f64 = 30.0;
/// Nanoseconds for comparing a centroid in a linear scan.
const SCAN: f64 = 1.0;
/// Extra cost of each table, in nanoseconds: every new page is stored in it too, and it takes memory.
const TABLE: f64 = 40.0;
/// Maximum number of values within the radius of a block. Beyond it, a linear scan is faster anyway.
const MASKS_MAX: f64 = 70_000.0;
const BLOCKS_MAX: u32 = 8;
/// The numbers of parts that a block of radius 1 may be split into. 1 means no split. Two parts would be the
/// same as two blocks.
const PARTS: [u32; 3] = [1, 3, 4];

/// The blocks, and an order of bits in which all blocks are equally discriminating. No blocks means a linear
/// scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    blocks: Vec<Block>,
    order: BitOrder,
}

/// A range of neighbouring bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    /// Number of bits below the block.
    shift: u32,
    /// Number of bits in the block, 1 to 64.
    width: u32,
    /// Number of bits in the block that may differ.
    radius: u32,
    /// Number of tables, each of which leaves out one part. 1 means one table of the whole block.
    parts: u32,
}

/// The key of a table: the bits of a block except one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// Number of bits below the block.
    shift: u32,
    /// Number of bits in the block.
    block: u32,
    /// Number of bits of the block below the part that is left out.
    below: u32,
    /// Number of bits in the part that is left out.
    gap: u32,
    /// Number of bits that may differ.
    pub(super) radius: u32,
}

impl Plan {
    /// Returns the plan that compares all centroids in a linear scan.
    pub(super) fn scan() -> Self {
        Self { blocks: Vec::new(), order: BitOrder::balanced(&[64], &[0.5; 64]).0 }
    }

    /// Returns a plan of `count` blocks that are as even as possible: the narrower a block, the larger its
    /// radius. Blocks of radius 1 are split into `parts`.
    fn even(count: u32, parts: u32, max_distance: u32, differ: &[f64; 64]) -> (Self, [f64; 64]) {
        let mut shift = 64;
        let block = |number| {
            let width = share(64, count, number);
            shift -= width;
            let radius = share(max_distance + 1, count, count - 1 - number) - 1;
            Block { shift, width, radius, parts: if radius == 1 { parts.min(width) } else { 1 } }
        };
        let mut blocks: Vec<Block> = (0..count).map(block).collect();
        blocks.reverse();
        let widths: Vec<u32> = blocks.iter().flat_map(Block::part_widths).collect();
        let (order, differ) = BitOrder::balanced(&widths, differ);
        (Self { blocks, order }, differ)
    }

    /// Returns every plan for this distance. With each comes the probability, for each bit in the plan's
    /// order, that two centroids differ in it.
    fn all(max_distance: u32, differ: &[f64; 64]) -> impl Iterator<Item = (Self, [f64; 64])> {
        let most = BLOCKS_MAX.min(max_distance + 1);
        (1..=most).flat_map(move |count| {
            PARTS
                .into_iter()
                .filter(move |parts| *parts == 1 || (1..2 * count).contains(&(max_distance + 1 - count)))
                .map(move |parts| Self::even(count, parts, max_distance, differ))
        })
    }

    /// Returns the fastest plan for this number of centroids, and its expected nanoseconds per look-up. Any
    /// two centroids differ in bit *i* with probability `differ[i]`.
    pub(super) fn choose(centroids: usize, max_distance: u32, differ: &[f64; 64]) -> (Self, f64) {
        let possible = Self::all(max_distance, differ)
            .filter(|(plan, _)| plan.blocks.iter().all(|block| block.mask_count() <= MASKS_MAX));
        let costs = possible.map(|(plan, differ)| {
            let cost = plan.cost_in_order(centroids, max_distance, &differ);
            (plan, cost)
        });
        let scan = (Self::scan(), centroids as f64 * SCAN);
        costs.chain([scan]).min_by(|(_, a), (_, b)| a.total_cmp(b)).expect("at least one plan")
    }

    /// Returns the expected nanoseconds per look-up; see [`Self::choose`] for the parameters.
    pub(super) fn cost(&self, centroids: usize, max_distance: u32, differ: &[f64; 64]) -> f64 {
        let mut ordered = [0.0; 64];
        for (bit, differ) in differ.iter().enumerate() {
            ordered[self.order.apply(1 << bit).trailing_zeros() as usize] = *differ;
        }
        self.cost_in_order(centroids, max_distance, &ordered)
    }

    fn cost_in_order(&self, centroids: usize, max_distance: u32, differ: &[f64; 64]) -> f64 {
        if self.is_scan() {
            return centroids as f64 * SCAN;
        }
        let cost = |key: Key| {
            let masks = masks(key.width(), key.radius);
            let here = key.differ(differ);
            let compared = centroids as f64 * within(&here, key.radius);
            let prefilter: Vec<f64> =
                (0..key.prefilter_width()).map(|bit| differ[key.prefilter_bit(bit) as usize]).collect();
            let lists = (compared / masks / MEAN as f64).min(1.0);
            TABLE
                + masks * (VISIT + lists * LIST)
                + compared * (COMPARE + within(&prefilter, max_distance) * FETCH)
        };
        self.keys().map(cost).sum()
    }

    /// Returns true if the plan is a linear scan.
    pub(super) fn is_scan(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the order of bits before they are split into blocks.
    pub(super) fn order(&self) -> &BitOrder {
        &self.order
    }

    /// Returns the key of each table.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.blocks.iter().flat_map(|block| {
            let &Block { shift, width, radius, parts } = block;
            let mut below = 0;
            let leave_out = move |gap| {
                below += gap;
                Key { shift, block: width, below: below - gap, gap, radius: 0 }
            };
            let whole = Key { shift, block: width, below: 0, gap: 0, radius };
            let one = (parts == 1).then_some(whole);
            one.into_iter().chain(block.part_widths().filter(move |_| parts > 1).map(leave_out))
        })
    }
}

/// Splits `total` into `count` shares that are as even as possible, larger ones first. Returns the share of
/// this number.
fn share(total: u32, count: u32, number: u32) -> u32 {
    total / count + u32::from(number < total % count)
}

impl Block {
    fn part_widths(&self) -> impl Iterator<Item = u32> + use<> {
        let Self { width, parts, .. } = *self;
        (0..parts).map(move |part| share(width, parts, part))
    }

    /// Returns the number of values that one look-up visits.
    fn mask_count(&self) -> f64 {
        if self.parts > 1 { f64::from(self.parts) } else { masks(self.width, self.radius) }
    }
}

impl Key {
    /// Returns the number of bits in the key, 1 to 64.
    pub(super) fn width(&self) -> u32 {
        self.block - self.gap
    }

    /// Returns the key's value in a fingerprint, shifted to the low end.
    #[inline]
    pub(super) fn value(&self, bits: u64) -> u64 {
        let block = bits >> self.shift & u64::MAX >> (64 - self.block);
        let below = (1 << self.below) - 1;
        block & below | block >> self.gap & !below
    }

    /// Returns the number of bits by which candidates are first compared. They lie outside the block if there are
    /// enough bits there. For a long key, which few centroids share, fewer bits are enough.
    pub(super) fn prefilter_width(&self) -> u32 {
        if self.radius == 0 && self.width() > 16 { 24 } else { 32 }
    }

    /// Returns the bits of a fingerprint by which candidates are first compared.
    #[inline]
    pub(super) fn prefilter(&self, bits: u64) -> u32 {
        bits.rotate_right(self.shift + self.block) as u32 & u32::MAX >> (32 - self.prefilter_width())
    }

    /// Returns the position in the fingerprint of this bit of [`Self::prefilter`].
    fn prefilter_bit(&self, bit: u32) -> u32 {
        (self.shift + self.block + bit) % 64
    }

    /// Returns the probabilities for the bits of the key.
    fn differ(&self, differ: &[f64; 64]) -> Vec<f64> {
        let gap = self.below..self.below + self.gap;
        let own = (0..self.block).filter(|bit| !gap.contains(bit));
        own.map(|bit| differ[(self.shift + bit) as usize]).collect()
    }
}

/// Returns the number of values of `width` bits within `radius` of any value.
fn masks(width: u32, radius: u32) -> f64 {
    let (mut masks, mut ways) = (1.0, 1.0);
    for r in 1..=radius.min(width) {
        ways *= f64::from(width - r + 1) / f64::from(r);
        masks += ways;
    }
    masks
}

/// Returns the probability that at most `radius` bits differ, if each bit differs with its own probability.
fn within(differ: &[f64], radius: u32) -> f64 {
    let mut by_distance = vec![0.0; radius as usize + 1];
    by_distance[0] = 1.0;
    for differ in differ {
        for at in (0..by_distance.len()).rev() {
            let from_below = if at > 0 { by_distance[at - 1] * differ } else { 0.0 };
            by_distance[at] = by_distance[at] * (1.0 - differ) + from_below;
        }
    }
    by_distance.iter().sum()
}

/// A permutation of 64 bits, as a table: the result for each value of each byte.
///
/// Bits that are nearly always or nearly never set discriminate little. Bits are ordered so that each part of
/// a plan discriminates equally well; otherwise some table would collapse into a few long lists. Hamming
/// distances do not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BitOrder {
    bytes: Box<[[u64; 256]; 8]>,
}

impl BitOrder {
    /// Creates the permutation that moves bit `sources[i]` to bit *i*. Each number below 64 occurs once.
    fn new(sources: &[u32; 64]) -> Self {
        let mut targets = [0; 64];
        for (target, source) in sources.iter().enumerate() {
            targets[*source as usize] = target;
        }
        let mut bytes = Box::new([[0; 256]; 8]);
        for (byte, values) in bytes.iter_mut().enumerate() {
            for value in 1..values.len() {
                // The result for all set bits except the lowest one, and that for the lowest one.
                values[value] =
                    values[value & (value - 1)] | 1 << targets[8 * byte + value.trailing_zeros() as usize];
            }
        }
        Self { bytes }
    }

    /// Returns the order in which parts of these widths, from bit 0 on, discriminate equally well, and the
    /// probabilities in that order. Two fingerprints differ in bit *i* with probability `differ[i]`.
    fn balanced(widths: &[u32], differ: &[f64; 64]) -> (Self, [f64; 64]) {
        let mut bits: Vec<u32> = (0..64).collect();
        bits.sort_by(|a, b| differ[*b as usize].total_cmp(&differ[*a as usize]));
        let mut parts: Vec<(f64, Vec<u32>)> = vec![Default::default(); widths.len()];
        for bit in bits {
            // The part that discriminates least for its width so far gets the next bit.
            let tells = |part: &usize| parts[*part].0 / f64::from(widths[*part]);
            let open = (0..parts.len()).filter(|part| parts[*part].1.len() < widths[*part] as usize);
            let part = open.min_by(|a, b| tells(a).total_cmp(&tells(b))).expect("the widths add up to 64");
            parts[part].0 += -(1.0 - differ[bit as usize]).log2();
            parts[part].1.push(bit);
        }
        let mut sources = [0; 64];
        let ordered = parts.into_iter().flat_map(|(_, bits)| bits);
        sources.iter_mut().zip(ordered).for_each(|(source, bit)| *source = bit);
        (Self::new(&sources), sources.map(|bit| differ[bit as usize]))
    }

    /// Returns the bits of a fingerprint in this order.
    #[inline]
    pub(super) fn apply(&self, bits: u64) -> u64 {
        let bytes = bits.to_le_bytes();
        self.bytes.iter().zip(bytes).fold(0, |all, (values, byte)| all | values[byte as usize])
    }
}

#[cfg(test)]
impl Plan {
    /// Returns every plan for this distance that visits at most `values` values.
    pub(super) fn all_below(values: f64, max_distance: u32) -> impl Iterator<Item = Self> {
        let plans = Self::all(max_distance, &[0.5; 64]).map(|(plan, _)| plan);
        plans.filter(move |plan| plan.blocks.iter().map(Block::mask_count).sum::<f64>() <= values)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_cover_all_bits_and_radii_follow_the_rule() {
        for max_distance in 0..=20 {
            for plan in Plan::all_below(f64::INFINITY, max_distance) {
                let bits = plan.blocks.iter().fold(0, |all, block| {
                    let bits = (u64::MAX >> (64 - block.width)) << block.shift;
                    assert_eq!(all & bits, 0, "no bit twice");
                    assert_eq!(block.part_widths().sum::<u32>(), block.width);
                    all | bits
                });
                assert_eq!(bits, u64::MAX);
                assert_eq!(plan.blocks.iter().map(|block| block.radius + 1).sum::<u32>(), max_distance + 1);
            }
        }
    }

    /// Two fingerprints within the distance always share a table in which they differ by no more bits than
    /// its radius.
    #[test]
    fn every_near_fingerprint_is_looked_for() {
        for max_distance in 0..=8 {
            for plan in Plan::all_below(f64::INFINITY, max_distance) {
                let masks: Vec<(u64, u32)> = plan
                    .keys()
                    .map(|key| {
                        (
                            (0..64).filter(|bit| key.value(1 << bit) != 0).fold(0, |all, bit| all | 1 << bit),
                            key.radius,
                        )
                    })
                    .collect();
                for seed in 0..2_000_u64 {
                    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(max_distance);
                    let changed = (0..max_distance).fold(0_u64, |changed, _| {
                        x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                        changed | 1 << (x >> 58)
                    });
                    assert!(
                        masks.iter().any(|(mask, radius)| (changed & mask).count_ones() <= *radius),
                        "{changed:x} by {:?}",
                        plan.blocks
                    );
                }
            }
        }
    }

    #[test]
    fn keys_leave_one_part_out() {
        let (plan, _) = Plan::even(2, 3, 3, &[0.5; 64]);
        let keys: Vec<Key> = plan.keys().collect();
        assert_eq!(keys.iter().map(Key::width).collect::<Vec<_>>(), [21, 21, 22, 21, 21, 22]);
        for key in keys {
            let own = (0..64).filter(|bit| key.value(1 << bit) != 0).count();
            assert_eq!(own, key.width() as usize);
            assert_eq!(key.value(u64::MAX), u64::MAX >> (64 - key.width()));
            assert!((0..24).all(|bit| key.prefilter(1 << key.prefilter_bit(bit)) == 1 << bit));
            assert!((0..24).all(|bit| key.value(1 << key.prefilter_bit(bit)) == 0), "outside the block");
        }
    }

    #[test]
    fn more_centroids_lead_to_wider_blocks() {
        let widest = |centroids, max_distance| {
            let (plan, _) = Plan::choose(centroids, max_distance, &[0.5; 64]);
            plan.keys().map(|key| key.width()).max().unwrap_or(0)
        };
        assert_eq!(widest(50, 3), 0, "a few are compared by a linear scan");
        let widths = [1_000, 1_000_000, 10_000_000, 100_000_000].map(|centroids| widest(centroids, 3));
        assert!(widths.windows(2).all(|pair| pair[0] <= pair[1]), "{widths:?}");
        assert!(widths[0] == 16 && widths[3] > 20, "{widths:?}");
        assert_eq!(widest(1 << 20, 0), 64, "equal ones share all bits");
    }

    #[test]
    fn bits_that_seldom_differ_count_less() {
        assert!((within(&[0.5, 0.5], 1) - 0.75).abs() < 1e-9);
        assert!((within(&[0.0, 0.5], 1) - 1.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn every_bit_goes_to_its_place(
            sources in Just(std::array::from_fn::<u32, 64, _>(|i| i as u32).to_vec()).prop_shuffle(),
            bits: u64,
        ) {
            let sources: [u32; 64] = sources.try_into().expect("64 of them");
            let naive = (0..64).fold(0, |all, i| all | (bits >> sources[i] & 1) << i);
            prop_assert_eq!(BitOrder::new(&sources).apply(bits), naive);
        }
    }

    #[test]
    fn each_part_gets_its_share_of_discriminating_bits() {
        // The upper half never differs.
        let differ = std::array::from_fn(|bit| if bit < 32 { 0.5 } else { 0.0 });
        let (order, ordered) = BitOrder::balanced(&[22, 21, 21], &differ);
        let discriminating =
            |from: usize, to: usize| ordered[from..to].iter().filter(|differ| **differ > 0.0).count();
        assert_eq!(
            [discriminating(0, 22), discriminating(22, 43), discriminating(43, 64)].iter().sum::<usize>(),
            32
        );
        assert!(
            [discriminating(0, 22), discriminating(22, 43), discriminating(43, 64)]
                .iter()
                .all(|count| (10..=11).contains(count))
        );
        let set = order.apply(0xffff_ffff);
        assert!((0..64).all(|bit| (set >> bit & 1 == 1) == (ordered[bit] > 0.0)), "{set:x}");
    }
}
