//! Weights of terms by frequency, in integers: a machine's rounding cannot decide a bit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weight of a term that occurs `tf` times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TermWeight {
    /// tf, as in the paper.
    Tf,
    /// 1 + ln tf.
    LnTf,
}

/// Fractional bits of a weight.
pub(crate) const FRACTION_BITS: u32 = 16;
/// ln 2 in Q32, rounded down: 0.693147180559945… × 2^32.
const LN_2_Q32: u64 = 2_977_044_471;

impl TermWeight {
    /// Returns the weight, with [`FRACTION_BITS`] fractional bits.
    #[inline]
    pub(crate) fn weight(self, tf: u32) -> i64 {
        match self {
            Self::Tf => i64::from(tf) << FRACTION_BITS,
            Self::LnTf => (1 << FRACTION_BITS) + ln(tf),
        }
    }
}

/// Returns ln `tf` with [`FRACTION_BITS`] fractional bits, rounded down, in integer arithmetic: computes the
/// logarithm to base 2 bit by bit (square the mantissa; if it passes 2, the bit is 1), and multiplies it by
/// ln 2. Returns 0 for 0.
pub(crate) fn ln(tf: u32) -> i64 {
    if tf < 2 {
        return 0;
    }
    let whole = tf.ilog2();
    // The mantissa in [1, 2) with 31 fractional bits; squares fit 64 bits.
    let mut mantissa = u64::from(tf) << (31 - whole);
    let mut log2 = u64::from(whole);
    for _ in 0..24 {
        mantissa = (mantissa * mantissa) >> 31;
        let bit = mantissa >> 32;
        mantissa >>= bit;
        log2 = log2 << 1 | bit;
    }
    i64::try_from((log2 * LN_2_Q32) >> (24 + 32 - FRACTION_BITS)).expect("ln of a u32 is below 23")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_floating_point_logarithm() {
        for tf in (1..5_000).chain([1 << 20, u32::MAX]) {
            let exact = (1.0 + f64::from(tf).ln()) * 65_536.0;
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let off = TermWeight::LnTf.weight(tf) as f64 - exact;
            assert!((-1.1..=0.1).contains(&off), "tf {tf}: off by {off}");
        }
    }

    #[test]
    fn the_weight_of_a_frequency_never_changes() {
        let weights = [1, 2, 3, 10, 1_000].map(|tf| TermWeight::LnTf.weight(tf));
        assert_eq!(weights, [65_536, 110_962, 137_534, 216_438, 518_242]);
        assert_eq!(TermWeight::Tf.weight(3), 3 << 16);
    }
}
