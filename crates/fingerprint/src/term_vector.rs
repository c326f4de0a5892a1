//! A fingerprint that is a few weighted terms, for detectors that compare key terms.
//!
//! Encoding: total (varint), then for each term, in order of rank, the length of its UTF-8 (1 byte), the
//! UTF-8 and its weight (varint). Terms are kept as text, some 6 bytes each; a verdict can show them.
//!
//! Cost: comparing two vectors of 20 terms takes about 1 µs.

use leitong_base::varint::{push_varint, take_varint};

/// Maximum bytes of a term. A longer one is truncated at the end of a character.
const TERM_BYTES_MAX: usize = 48;

/// A decoded vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TermVector<'a> {
    /// The text's length in terms, to which weights are relative.
    pub(crate) total: u32,
    /// Terms and weights, by rank.
    pub(crate) terms: Vec<(&'a [u8], u32)>,
}

/// Encodes a vector; `terms` must be in order of rank.
pub(crate) fn encode<'a>(total: u32, terms: impl IntoIterator<Item = (&'a str, u32)>) -> Box<[u8]> {
    let mut bytes = Vec::with_capacity(256);
    push_varint(total, &mut bytes);
    for (term, weight) in terms {
        let term = &term[..term.floor_char_boundary(TERM_BYTES_MAX)];
        bytes.push(term.len() as u8);
        bytes.extend_from_slice(term.as_bytes());
        push_varint(weight, &mut bytes);
    }
    bytes.into()
}

/// Decodes a vector; `None` if `bytes` are not a vector.
pub(crate) fn decode(bytes: &[u8]) -> Option<TermVector<'_>> {
    let mut rest = bytes;
    let total = take_varint(&mut rest)?;
    let mut terms = Vec::with_capacity(24);
    while let Some(length) = rest.split_off_first() {
        let term = rest.split_off(..usize::from(*length))?;
        std::str::from_utf8(term).ok()?;
        terms.push((term, take_varint(&mut rest)?));
    }
    Some(TermVector { total, terms })
}

/// Returns the cosine of the weights in basis points, rounded to the nearest.
pub(crate) fn cosine(a: &TermVector, b: &TermVector) -> u32 {
    let dot: u128 = shared(a, b).map(|(_, x, y)| u128::from(x) * u128::from(y)).sum();
    cosine_of(dot, square_sum(a), square_sum(b))
}

/// Returns dot ÷ √(a²·b²) in basis points, rounded to the nearest; 10,000 for vectors of the same direction.
/// Sums of squares are capped at 2^63, far above those of any text, so their product does not overflow.
fn cosine_of(dot: u128, a_squares: u128, b_squares: u128) -> u32 {
    if a_squares == 0 || b_squares == 0 {
        return 0;
    }
    let cap = |squares: u128| squares.min(1 << 63);
    let root = (cap(a_squares) * cap(b_squares)).isqrt().max(1);
    ((dot.min(1 << 100) * 10_000 + root / 2) / root).min(10_000) as u32
}

/// Returns the weighted Jaccard similarity of weight ÷ total, in basis points, rounded down: Σ min ÷ Σ max.
pub(crate) fn weighted_jaccard(a: &TermVector, b: &TermVector) -> u32 {
    // Uses a common denominator: each weight times the other's total.
    let scaled = |vector: &TermVector, by: u32| -> u128 {
        vector.terms.iter().map(|(_, weight)| u128::from(*weight) * u128::from(by.max(1))).sum()
    };
    let (a_by, b_by) = (b.total.max(1), a.total.max(1));
    let min: u128 = shared(a, b)
        .map(|(_, x, y)| (u128::from(x) * u128::from(a_by)).min(u128::from(y) * u128::from(b_by)))
        .sum();
    let max = scaled(a, a_by) + scaled(b, b_by) - min;
    (min * 10_000).checked_div(max).unwrap_or(0) as u32
}

/// A vector prepared for comparison with many candidates that are almost never near. An upper bound of the
/// similarity is read directly from a candidate's bytes, without an allocation. Terms count as equal if their
/// lengths and first seven bytes are equal; so near candidates always pass.
pub(crate) struct Prepared {
    total: u32,
    /// A bit for each of 256 values of [`bit_of`], which rules out most terms of a candidate.
    present: [u64; 4],
    /// Length and first bytes of each term, and its weight.
    terms: Vec<(u64, u32)>,
    weight_sum: u64,
    square_sum: u128,
}

impl Prepared {
    pub(crate) fn new(vector: &TermVector) -> Self {
        let terms: Vec<(u64, u32)> =
            vector.terms.iter().map(|(term, weight)| (beginning(term.len(), term), *weight)).collect();
        let mut present = [0; 4];
        for (beginning, _) in &terms {
            let bit = bit_of(*beginning);
            present[bit / 64] |= 1 << (bit % 64);
        }
        let weight_sum = vector.terms.iter().map(|(_, weight)| u64::from(*weight)).sum();
        Self { total: vector.total, present, terms, weight_sum, square_sum: square_sum(vector) }
    }

    /// Returns an upper bound of [`weighted_jaccard`] with the vector of these bytes; `None` if they are not
    /// a vector.
    pub(crate) fn weighted_jaccard_at_most(&self, bytes: &[u8]) -> Option<u32> {
        let mut rest = bytes;
        let (a_by, b_by) = (u128::from(take_varint::<u32>(&mut rest)?.max(1)), u128::from(self.total.max(1)));
        let (mut min, mut weight_sum) = (0_u128, 0_u64);
        each_term(rest, |beginning, weight| {
            weight_sum += u64::from(weight);
            if let Some(own) = self.largest(beginning) {
                min += (u128::from(own) * a_by).min(u128::from(weight) * b_by);
            }
        })?;
        let (of_a, of_b) = (u128::from(self.weight_sum) * a_by, u128::from(weight_sum) * b_by);
        // Terms that merely begin alike may add up to more than either vector holds.
        let min = min.min(of_a).min(of_b);
        Some((min * 10_000).checked_div(of_a + of_b - min).unwrap_or(0) as u32)
    }

    /// Returns an upper bound of [`cosine`] with the vector of these bytes; `None` if they are not a vector.
    pub(crate) fn cosine_at_most(&self, bytes: &[u8]) -> Option<u32> {
        let mut rest = bytes;
        take_varint::<u32>(&mut rest)?;
        let (mut dot, mut squares) = (0_u128, 0_u128);
        each_term(rest, |beginning, weight| {
            squares += u128::from(u64::from(weight).pow(2));
            dot += self.largest(beginning).map_or(0, |own| u128::from(u64::from(own) * u64::from(weight)));
        })?;
        Some(cosine_of(dot, self.square_sum, squares))
    }

    /// Returns the largest weight of a term with this beginning.
    #[inline]
    fn largest(&self, beginning: u64) -> Option<u32> {
        let bit = bit_of(beginning);
        if self.present[bit / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        let equal = self.terms.iter().filter(|(own, _)| *own == beginning);
        equal.map(|(_, weight)| *weight).max()
    }
}

/// Returns the length of a term, which is below 256, and its first seven bytes as one number; `bytes` begin
/// with the term.
#[inline]
fn beginning(length: usize, bytes: &[u8]) -> u64 {
    let first = match bytes.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => bytes.iter().rev().fold(0, |first, byte| first << 8 | u64::from(*byte)),
    };
    first & ((1 << (8 * length.min(7))) - 1) | (length as u64) << 56
}

/// Returns the number of the bit for terms with this beginning.
#[inline]
fn bit_of(beginning: u64) -> usize {
    (beginning.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// Calls `take` with the beginning and the weight of each term after the total; returns `None` if the bytes
/// are not terms.
#[inline]
fn each_term(mut rest: &[u8], mut take: impl FnMut(u64, u32)) -> Option<()> {
    while let Some((length, after)) = rest.split_first() {
        let length = usize::from(*length);
        let beginning = beginning(length, after);
        rest = after.get(length..)?;
        take(beginning, take_varint(&mut rest)?);
    }
    Some(())
}

/// Returns the terms of both vectors, each with its two weights, in the order of `a`.
pub(crate) fn shared<'v>(
    a: &'v TermVector<'_>,
    b: &'v TermVector<'_>,
) -> impl Iterator<Item = (&'v [u8], u32, u32)> {
    a.terms.iter().filter_map(|(term, x)| {
        let (_, y) = b.terms.iter().find(|(other, _)| other == term)?;
        Some((*term, *x, *y))
    })
}

fn square_sum(vector: &TermVector) -> u128 {
    vector.terms.iter().map(|(_, weight)| u128::from(*weight).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(max: u32) -> impl Strategy<Value = (u32, Vec<(String, u32)>)> {
        let terms = prop::collection::btree_map("[a-e中文]{1,2}", 1..=max, 0..12);
        (1..5_000_u32, terms.prop_map(|terms| terms.into_iter().collect()))
    }

    fn encoded((total, terms): &(u32, Vec<(String, u32)>)) -> Box<[u8]> {
        encode(*total, terms.iter().map(|(term, weight)| (&**term, *weight)))
    }

    proptest! {
        #[test]
        fn decodes_what_it_encodes(vector in vector(u32::MAX)) {
            let bytes = encoded(&vector);
            let decoded = decode(&bytes).expect("a vector");
            prop_assert_eq!(decoded.total, vector.0);
            let terms: Vec<(&[u8], u32)> = vector.1.iter().map(|(term, weight)| (term.as_bytes(), *weight)).collect();
            prop_assert_eq!(decoded.terms, terms);
        }

        #[test]
        fn bounds_are_no_less_than_the_similarities(a in vector(1_000), b in vector(1_000)) {
            let (a, b) = (encoded(&a), encoded(&b));
            let (x, y) = (decode(&a).expect("a vector"), decode(&b).expect("a vector"));
            let prepared = Prepared::new(&x);
            // Short terms are compared by all of their bytes.
            prop_assert_eq!(prepared.weighted_jaccard_at_most(&b), Some(weighted_jaccard(&x, &y)));
            prop_assert_eq!(prepared.cosine_at_most(&b), Some(cosine(&x, &y)));
            // Long terms are not.
            let longer = |vector: &TermVector| {
                let terms: Vec<String> =
                    vector.terms.iter().map(|(term, _)| format!("beginning{}", String::from_utf8_lossy(term))).collect();
                let weighted = terms.iter().zip(&vector.terms).map(|(term, (_, weight))| (&**term, *weight));
                encode(vector.total, weighted)
            };
            let (a, b) = (longer(&x), longer(&y));
            let (x, y) = (decode(&a).expect("a vector"), decode(&b).expect("a vector"));
            let prepared = Prepared::new(&x);
            prop_assert!(prepared.weighted_jaccard_at_most(&b) >= Some(weighted_jaccard(&x, &y)));
            prop_assert!(prepared.cosine_at_most(&b) >= Some(cosine(&x, &y)));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn similarities_agree_with_floating_point(a in vector(1_000), b in vector(1_000)) {
            let (bytes_a, bytes_b) = (encoded(&a), encoded(&b));
            let (x, y) = (decode(&bytes_a).expect("a vector"), decode(&bytes_b).expect("a vector"));
            let weight = |v: &(u32, Vec<(String, u32)>), term: &str| {
                v.1.iter().find(|(t, _)| t == term).map_or(0.0, |(_, w)| f64::from(*w))
            };
            let all: std::collections::BTreeSet<&str> = a.1.iter().chain(&b.1).map(|(t, _)| &**t).collect();
            let dot: f64 = all.iter().map(|t| weight(&a, t) * weight(&b, t)).sum();
            let norm = |v| all.iter().map(|t| weight(v, t).powi(2)).sum::<f64>().sqrt();
            if norm(&a) > 0.0 && norm(&b) > 0.0 {
                let exact = dot / norm(&a) / norm(&b);
                prop_assert!((f64::from(cosine(&x, &y)) / 1e4 - exact).abs() < 2e-3, "{} for {exact}", cosine(&x, &y));
            }
            let share = |v: &(u32, Vec<(String, u32)>), term| weight(v, term) / f64::from(v.0);
            let min: f64 = all.iter().map(|t| share(&a, t).min(share(&b, t))).sum();
            let max: f64 = all.iter().map(|t| share(&a, t).max(share(&b, t))).sum();
            if max > 0.0 {
                prop_assert!((f64::from(weighted_jaccard(&x, &y)) / 1e4 - min / max).abs() < 2e-4);
            }
            prop_assert_eq!(cosine(&x, &y), cosine(&y, &x));
            prop_assert_eq!(weighted_jaccard(&x, &y), weighted_jaccard(&y, &x));
        }
    }
}
