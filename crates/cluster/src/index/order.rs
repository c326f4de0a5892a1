//! A permutation of a fingerprint's bits.
//!
//! Bits that are nearly always or nearly never set discriminate little. Bits are ordered so that each part of
//! a plan discriminates equally well; otherwise some table would collapse into a few long lists. Hamming
//! distances do not change.

/// A permutation of 64 bits, as a table: the result for each value of each byte.
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
    pub(super) fn balanced(widths: &[u32], differ: &[f64; 64]) -> (Self, [f64; 64]) {
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
mod tests {
    use proptest::prelude::*;

    use super::*;

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
