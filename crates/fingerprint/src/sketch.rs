//! Computes the sketch of a text. It finds candidates, and confirms them independently of the SimHash.
//!
//! *Values*, to confirm: 64 min-wise hashes by one permutation, 4 bits of each, of the [windows of nine
//! letters](super::letters): 32 bytes. The share of equal values estimates the Jaccard similarity *J* of two
//! sets: two sketches agree in 64·(1/16 + 15/16·J) values on average, so unrelated texts agree in 4 to 8, and
//! texts of *J* = 0.5 in 34. Sources: Broder 1997 (resemblance), Li & König 2010 (b bits of each minimum),
//! Li, Owen & Zhang 2012 (one permutation), Shrivastava 2017 (filling empty bins).
//!
//! *Keys*, to find candidates in a table of any size: 64 min-wise hashes of the text's shingles. A shingle is
//! a window of units whose sizes add up to 5: an ideograph or kana is a unit of size 1, a word of other
//! scripts one of size 2 (1 if it is a single letter). That is 5 characters of Chinese or 3 words of English.
//! Windows of 5 letters would not work for English, because long unrelated texts share most of them. There
//! are two kinds of keys:
//! * 4 *bands* of two minima each, in full. Texts of similarity *J* share at least one with probability 1 −
//!   (1 − J²)⁴ (J = 0.3: 0.31, 0.4: 0.50, 0.5: 0.68, 0.6: 0.83), unrelated texts with probability 4·2⁻³². They
//!   find short texts with changes in every passage.
//! * 10 *passages* of one minimum each: the smallest of four bins that no band uses, together with the
//!   shingle that ends five shingles before it. That is ten consecutive ideographs or eight words. A single
//!   shingle would not be enough, since unrelated texts share many. If one text is in the other, the text
//!   before a shingle is in it as well, and at least one passage is common with probability 1 − (1 − J)¹⁰ (J
//!   = 0.2: 0.89, 0.3: 0.97, 0.4: 0.99).
//!
//! Cost: two passes over the normalised text, about 4 ns per character each, no allocation.

use super::secret::TextHash;
use super::units::{SHINGLE_SIZE, is_letter, is_unit};
use super::window::{MULTIPLIER, Window};
use super::{keyed_shingles, letters};
use leitong_base::mix::mix;

// These numbers are part of every stored fingerprint: another one needs another `VERSION` of the detector.

/// Number of values of a sketch.
pub(crate) const BINS: usize = 64;
/// Number of bytes of a sketch's values.
pub(crate) const VALUE_BYTES: usize = BINS / 2;
/// Number of bands of a sketch.
pub(crate) const BANDS: usize = 4;
/// Number of passages of a sketch.
pub(crate) const PASSAGES: usize = 10;
/// Number of bins whose smallest minimum makes a passage. They are the last bins; the first ones are those of the
/// bands.
const PASSAGE_BINS: usize = 4;
/// Number of shingles from the start of a passage to the one with its smallest hash.
const PASSAGE_STEPS: usize = 5;
/// A power of two above the number of steps of a passage.
const PASSAGE_RING: usize = (PASSAGE_STEPS + 1).next_power_of_two();
const _: () = assert!(2 * BANDS + PASSAGES * PASSAGE_BINS <= BINS, "no bin is of a band and of a passage");

/// 64 values of 4 bits.
pub(crate) type Values = [u8; VALUE_BYTES];

/// The sketch of a text's windows and shingles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// Values that estimate the similarity of two texts by their letters.
    pub(crate) values: Values,
    /// Hashes that find candidates that are similar as a whole.
    pub(crate) bands: [u32; BANDS],
    /// Hashes that find candidates that contain a part of the other text; 0 where the text is too short for all of
    /// them.
    pub(crate) passages: [u32; PASSAGES],
    /// Sum of all unit sizes, at most 65,535: how much text the estimate is based on.
    pub(crate) size: u16,
}

/// Returns the sketch of a normalised text, or `None` if it has no shingle, or fewer than nine letters. With a
/// secret, the hash of its shingles is keyed.
pub(crate) fn sketch(text: &str, hash: &TextHash) -> Option<Sketch> {
    let mut minima = [u64::MAX; BINS];
    // For each minimum, the shingle some steps before it; and a ring of the last shingles.
    let mut before = [0; BINS];
    let (mut last, mut at) = ([0; PASSAGE_RING], 0_usize);
    let mut take = |hash: u64| {
        let bin = (hash >> 58) as usize;
        let value = hash << 6;
        last[at % PASSAGE_RING] = hash;
        if value < minima[bin] {
            minima[bin] = value;
            before[bin] = last[at.wrapping_sub(PASSAGE_STEPS) % PASSAGE_RING];
        }
        at += 1;
    };
    let size = match hash.is_keyed() {
        false => shingles(text, take),
        true => keyed_shingles::shingles(text, hash, &mut take),
    };
    let passages = passages(&minima, &before);
    if !fill_empty(&mut minima) {
        return None;
    }
    Some(Sketch {
        values: letters::values(text, hash)?,
        bands: std::array::from_fn(|i| {
            (mix(minima[2 * i].rotate_left(32) ^ mix(minima[2 * i + 1])) >> 32) as u32
        }),
        passages,
        size: u16::try_from(size).unwrap_or(u16::MAX),
    })
}

/// Returns the 64 values of filled minima.
pub(super) fn values(minima: &[u64; BINS]) -> Values {
    // A minimum is small, so its upper bits are not well mixed. Mix before taking some of them.
    std::array::from_fn(|i| {
        let low = mix(minima[2 * i]) >> 60;
        let high = mix(minima[2 * i + 1]) >> 60;
        (high << 4 | low) as u8
    })
}

/// Returns the smallest minimum of each group of bins, joined with the shingle before it. The first shingles of a
/// text have no shingle before them and are used alone.
fn passages(minima: &[u64; BINS], before: &[u64; BINS]) -> [u32; PASSAGES] {
    std::array::from_fn(|number| {
        let first = BINS - (PASSAGES - number) * PASSAGE_BINS;
        let least = (first..first + PASSAGE_BINS).min_by_key(|bin| minima[*bin]).unwrap_or(first);
        match minima[least] {
            u64::MAX => 0,
            minimum => ((mix(minimum.rotate_left(32) ^ mix(before[least])) >> 32) as u32).max(1),
        }
    })
}

/// Returns the number of equal values of two sketches.
#[inline]
pub(crate) fn matches(a: &Values, b: &Values) -> u32 {
    let (a, b) = (a.as_chunks().0, b.as_chunks().0);
    // Each value that differs counts in its own four bits, then all together: processors without an instruction for
    // counting bits take a sixth of the time.
    let differing: u64 = a
        .iter()
        .zip(b)
        .map(|(a, b)| {
            let mut bits = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
            bits |= bits >> 2;
            bits |= bits >> 1;
            bits & 0x1111_1111_1111_1111
        })
        .sum();
    let bytes = (differing & 0x0f0f_0f0f_0f0f_0f0f) + (differing >> 4 & 0x0f0f_0f0f_0f0f_0f0f);
    BINS as u32 - (bytes.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

/// Returns the Jaccard similarity that `matches` equal values indicate, in basis points from 0 to 10,000.
pub(crate) fn resemblance(matches: u32) -> u32 {
    // matches / 64 = 1/16 + 15/16·J
    (matches * 16).saturating_sub(64) * 10_000 / (15 * 64)
}

/// Returns the number of equal values that indicate this Jaccard similarity (in basis points), rounded up.
pub(crate) fn matches_of(resemblance: u32) -> u32 {
    let bins = BINS as u32;
    (resemblance * 15 * bins).div_ceil(16 * 10_000) + bins / 16
}

/// Calls `shingle` with the hash of each shingle of `text`, in order; returns the sum of all unit sizes.
fn shingles(text: &str, mut shingle: impl FnMut(u64)) -> u64 {
    let mut window = Window::<SHINGLE_SIZE>::default();
    // The current word: its hash, and its number of letters.
    let (mut word, mut letters) = (0_u64, 0_u32);
    for c in text.chars() {
        let is_unit = is_unit(c);
        if !is_unit && is_letter(c) {
            word = (word ^ u64::from(u32::from(c))).wrapping_mul(MULTIPLIER).rotate_left(23);
            letters += 1;
            continue;
        }
        if letters > 0 {
            window.push(word, letters.min(2), &mut shingle);
            (word, letters) = (0, 0);
        }
        if is_unit {
            window.push(u64::from(u32::from(c)), 1, &mut shingle);
        }
    }
    if letters > 0 {
        window.push(word, letters.min(2), &mut shingle);
    }
    window.total_size
}

/// Fills each empty bin with the minimum of another bin, chosen the same way for any two texts: the first
/// filled bin in a sequence that depends only on the empty bin. Returns false if all bins are empty.
pub(super) fn fill_empty(minima: &mut [u64; BINS]) -> bool {
    let filled = *minima;
    if filled.iter().all(|minimum| *minimum == u64::MAX) {
        return false;
    }
    for (bin, minimum) in minima.iter_mut().enumerate() {
        let mut attempt = 0_u64;
        while *minimum == u64::MAX {
            attempt += 1;
            let other = filled[(mix((bin as u64) << 32 | attempt) >> 58) as usize];
            if other != u64::MAX {
                // The copy must differ from the other bin's own value, or that value would count twice.
                *minimum = mix(other ^ attempt) & !1;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::secret::{Purpose, Secret};

    fn shingle_set(text: &str) -> HashSet<u64> {
        let mut set = HashSet::new();
        shingles(text, |hash| {
            set.insert(hash);
        });
        set
    }

    #[test]
    fn a_shingle_is_five_ideographs_or_three_words() {
        assert_eq!(shingle_set("一二三四五六").len(), 2);
        assert_eq!(shingle_set("一二三四"), HashSet::new());
        assert_eq!(shingle_set("one two three four").len(), 2);
        assert_eq!(shingle_set("用rust写程序").len(), 2, "用rust写程 and rust写程序");
        assert_eq!(
            shingle_set("一二三四五"),
            shingle_set("一二，三 四。五！"),
            "punctuation is not part of it"
        );
        assert_ne!(shingle_set("ab cd ef"), shingle_set("abcd ef gh"));
    }

    /// Keyed shingles are the same windows under another hash.
    #[test]
    fn keyed_shingles_are_the_same_windows() {
        let secret = Secret::new("a secret of this test").expect("long enough");
        let hash = TextHash::new(Some(&secret), Purpose::Passages);
        for text in [
            "",
            "一二三四五六",
            "one two three four",
            "用rust写程序 x y z, 2026年。かな",
            "a b c d e f g",
            "末尾 word",
        ] {
            let (mut unkeyed, mut keyed) = (Vec::new(), Vec::new());
            let size = shingles(text, |hash| unkeyed.push(hash));
            assert_eq!(keyed_shingles::shingles(text, &hash, |hash| keyed.push(hash)), size, "{text}");
            // Equal exactly where the unkeyed ones are equal.
            assert_eq!(unkeyed.len(), keyed.len(), "{text}");
            assert_eq!(
                unkeyed.iter().collect::<HashSet<_>>().len(),
                keyed.iter().collect::<HashSet<_>>().len()
            );
            assert!(keyed.iter().all(|hash| !unkeyed.contains(hash)), "{text}");
        }
    }

    #[test]
    fn short_texts_have_no_sketch() {
        for text in ["", "。。。", "中文字", "two words", "ab cd ef", "a b c d e f"] {
            assert_eq!(sketch(text, &TextHash::default()), None, "{text}");
        }
    }

    #[test]
    fn resemblance_inverts_the_expectation() {
        assert_eq!(resemblance(64), 10_000);
        assert_eq!(resemblance(4), 0);
        assert_eq!(resemblance(0), 0);
        assert_eq!(resemblance(34), 5_000);
        assert_eq!([0, 1, 5_000, 5_001, 10_000].map(matches_of), [4, 5, 34, 35, 64]);
    }

    /// Returns a text of `n` distinct ideographs from the `start`-th on.
    fn text(start: u32, n: u32) -> String {
        (start..start + n).filter_map(|i| char::from_u32(0x4e00 + i)).collect()
    }

    #[test]
    fn estimates_the_jaccard_similarity() {
        // A window slides over 2,000 ideographs: 1,996 - shift of 1,996 shingles are shared.
        for shift in [0, 200, 500, 1_000, 1_500] {
            let (a, b) = (text(0, 2_000), text(shift, 2_000));
            let (x, y) = (shingle_set(&a), shingle_set(&b));
            let exact = x.intersection(&y).count() as f64 / x.union(&y).count() as f64;
            let (Some(a), Some(b)) = (sketch(&a, &TextHash::default()), sketch(&b, &TextHash::default()))
            else {
                panic!("long texts have sketches")
            };
            let estimate = f64::from(resemblance(matches(&a.values, &b.values))) / 10_000.0;
            // Three standard deviations of 64 samples are at most 0.19.
            assert!((estimate - exact).abs() < 0.19, "shift {shift}: {estimate} for {exact}");
        }
    }

    /// An excerpt of three tenths shares passages with its text, keyed or not; unrelated texts never do.
    #[test]
    fn an_excerpt_shares_passages_with_its_text() {
        let secret = Secret::new("a secret of this test").expect("long enough");
        for hash in [TextHash::default(), TextHash::new(Some(&secret), Purpose::Passages)] {
            let passages = |text: &str| sketch(text, &hash).expect("long texts have sketches").passages;
            let shared = |a: [u32; PASSAGES], b| a.iter().zip(b).filter(|(a, b)| *a == b).count();
            let mut found = Vec::new();
            for number in 0..20 {
                let whole = passages(&text(number * 1_000, 1_000));
                assert!(whole.iter().all(|passage| *passage != 0));
                found.extend((0..10).map(|at| shared(passages(&text(number * 1_000 + 70 * at, 300)), whole)));
                assert_eq!(shared(passages(&text(number * 1_000 + 1_000, 1_000)), whole), 0);
            }
            let some = found.iter().filter(|shared| **shared > 0).count();
            assert!(some >= 190, "{some} of {} excerpts", found.len());
            let mean = found.iter().sum::<usize>() as f64 / found.len() as f64;
            assert!((2.4..3.4).contains(&mean), "{mean} of ten passages for 0.3");
        }
    }

    #[test]
    fn a_short_text_has_fewer_passages() {
        let passages = |n| sketch(&text(0, n), &TextHash::default()).expect("a shingle").passages;
        assert!(passages(5).iter().filter(|passage| **passage != 0).count() <= 1);
        assert!(passages(20).contains(&0) && passages(20) != [0; PASSAGES]);
    }

    proptest! {
        #[test]
        fn matches_counts_equal_values(a: [u8; 32], b: [u8; 32]) {
            let values = |s: [u8; 32]| s.into_iter().flat_map(|byte| [byte & 15, byte >> 4]);
            let naive = values(a).zip(values(b)).filter(|(x, y)| x == y).count();
            prop_assert_eq!(matches(&a, &b) as usize, naive);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            if let Some(sketch) = sketch(&text, &TextHash::default()) {
                prop_assert_eq!(matches(&sketch.values, &sketch.values), 64);
            }
        }
    }
}
