//! Extracts facts from terms: the numbers, versions and names of a text. Facts separate copies from pages of
//! one series, which say the same about different things.
//!
//! A fact is a word with a digit, including everything joined to it by points and hyphens (`4.2.15`,
//! `cve-2015-8405`), or a name: a term in a script with letters that is not in the [table of common
//! words](super::idf) or that has two letters (chapter IV; segmentation drops single letters and stop words,
//! some numerals among them). Common words are not facts, since edited copies differ in them. Words of
//! ideographs are not facts either, because nothing distinguishes names among them.
//!
//! The distinct facts of a text make an *odd sketch* (Mitzenmacher, Pagh & Pham 2014): each fact flips one of
//! 64 bits. The number of differing bits in two sketches estimates how many facts differ, exactly if these
//! are few, however many facts both texts have. Together with the number of facts of each text, this shows
//! how many were *replaced*: each text has as many facts that the other lacks. A fact that was merely added
//! or left out replaces nothing.
//!
//! Encoding: the 64 bits and the number of facts, big-endian. Cost: one scan for digits, and one look-up per
//! distinct term.

use super::idf;
use super::numbers::is_of_a_word;
use super::secret::TextHash;
use super::units::is_unit;
use leitong_text::segment::{DistinctTerm, Terms};

/// Number of bytes of a text's facts.
pub(crate) const FACT_BYTES: usize = 10;
/// Maximum number of letters of a term that counts as a name although the table has it.
const SHORT_NAME_CHARS: usize = 2;
/// Number of differing bits from which the estimate is [`MANY_DIFFERING`].
const BITS_MAX: usize = 30;
/// The estimated number of differing facts, in hundredths, by the number of differing bits: −32·ln(1 −
/// bits/32).
const DIFFERING: [u32; BITS_MAX] = [
    0, 102, 207, 315, 427, 544, 664, 790, 921, 1_057, 1_199, 1_348, 1_504, 1_668, 1_841, 2_024, 2_218, 2_425,
    2_645, 2_883, 3_139, 3_417, 3_722, 4_059, 4_436, 4_863, 5_357, 5_940, 6_654, 7_575,
];
/// Estimate, in hundredths, if at least [`BITS_MAX`] bits differ.
const MANY_DIFFERING: u32 = 10_000;

/// The 64 bits, and the number of facts.
pub(crate) type Facts = [u8; FACT_BYTES];

/// Returns the facts of a text.
pub(crate) fn facts(terms: &Terms, hash: &TextHash) -> Facts {
    let mut found = Vec::new();
    words_with_digits(terms.text(), |word| found.push(hash.hash(word.as_bytes())));
    found.extend(terms.distinct().iter().filter_map(|term| name(terms, *term, hash)));
    found.sort_unstable();
    found.dedup();
    let bits = found.iter().fold(0_u64, |bits, fact| bits ^ 1 << (fact >> 58));
    let count = u16::try_from(found.len()).unwrap_or(u16::MAX);
    let mut facts = [0; FACT_BYTES];
    facts[..8].copy_from_slice(&bits.to_be_bytes());
    facts[8..].copy_from_slice(&count.to_be_bytes());
    facts
}

/// Estimates how many facts of one text are replaced in the other, in hundredths.
pub(crate) fn replaced(a: &Facts, b: &Facts) -> u32 {
    let differing = (bits(a) ^ bits(b)).count_ones() as usize;
    let differing = DIFFERING.get(differing).copied().unwrap_or(MANY_DIFFERING);
    differing.saturating_sub(100 * count(a).abs_diff(count(b))) / 2
}

/// Returns the largest number of differing bits with which fewer than `allowed` (in hundredths) facts seem to be
/// [`replaced`], if one text has `more` facts more than the other.
pub(crate) fn bits_that_may_differ(allowed: u32, more: u32) -> u32 {
    let fits = |differing: u32| differing.saturating_sub(100 * more) / 2 < allowed;
    match fits(MANY_DIFFERING) {
        true => u64::BITS,
        false => (DIFFERING.partition_point(|differing| fits(*differing)) as u32).saturating_sub(1),
    }
}

/// Returns the odd sketch of a text's facts.
pub(crate) fn bits(facts: &Facts) -> u64 {
    u64::from_be_bytes(*facts.first_chunk().expect("10 bytes"))
}

/// Returns the number of facts of a text.
pub(crate) fn count(facts: &Facts) -> u32 {
    u16::from_be_bytes(*facts.last_chunk().expect("10 bytes")).into()
}

/// Returns the hash of a term if it is a name.
fn name(terms: &Terms, distinct: DistinctTerm, hash: &TextHash) -> Option<u64> {
    let term = terms.first(distinct);
    let is_word = !term.chars().any(|c| is_unit(c) || c.is_ascii_digit());
    let is_name = || term.chars().nth(SHORT_NAME_CHARS).is_none() || !idf::is_common(distinct.hash);
    (is_word && is_name()).then(|| hash.hash_term(term, || distinct.hash))
}

/// Calls `word` with each word that has a digit, including everything joined to it by points and hyphens.
pub fn words_with_digits<'a>(text: &'a str, mut word: impl FnMut(&'a str)) {
    let is_joined = |c: char| is_of_a_word(c) || matches!(c, '.' | '-');
    let mut at = 0;
    while let Some(digit) = text.as_bytes()[at..].iter().position(u8::is_ascii_digit) {
        let before = &text[at..at + digit];
        let begin = at + before.trim_end_matches(is_joined).len();
        let end = begin + text[begin..].find(|c| !is_joined(c)).unwrap_or(text.len() - begin);
        word(text[begin..end].trim_matches(['.', '-']));
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_text::extract::Document;
    use leitong_text::segment::{Lexicons, SegmentConfig, Segmenter};

    /// Returns the facts of two texts.
    fn facts_of(texts: [&str; 2]) -> [Facts; 2] {
        let segmenter = Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("defaults");
        texts.map(|text| {
            let mut terms = Terms::default();
            segmenter.segment(&Document::from_text(None, text), &mut terms);
            facts(&terms, &TextHash::default())
        })
    }

    fn compared(a: &str, b: &str) -> u32 {
        let [a, b] = facts_of([a, b]);
        assert_eq!(replaced(&a, &b), replaced(&b, &a));
        replaced(&a, &b)
    }

    #[test]
    fn one_replaced_fact_is_seen_among_many() {
        let list = |last: u32| {
            let numbers: Vec<String> = (1..60).map(|n| format!("cve-2015-{}", 8_000 + n)).collect();
            format!(
                "Adobe Flash Player before 18.0.0.268, other than {} and cve-2015-{last}",
                numbers.join(", ")
            )
        };
        assert_eq!(compared(&list(8_405), &list(8_405)), 0);
        assert_eq!(compared(&list(8_405), &list(8_404)), 103);
        assert_eq!(compared("Pillow before 8.1.1 allows", "Pillow before 8.1.2 allows"), 103, "a version");
        assert_eq!(compared("Line XI of the tramway", "Line IV of the tramway"), 103, "a numeral");
        assert_eq!(compared("an alias of gcomm on linux", "an alias of gpathchk on linux"), 103, "a name");
    }

    #[test]
    fn additions_and_other_wording_replace_no_fact() {
        for (a, b) in [
            ("Pillow before 8.1.1 allows this", "Rack: Pillow before 8.1.1 allows this (7.0 as well)"),
            ("there is a large house by the river", "there's a big house near the river"),
            ("本市今天晴", "本城明天阴"),
            ("", "no number"),
        ] {
            assert!(compared(a, b) < 50, "{a} {b}: {}", compared(a, b));
        }
    }

    #[test]
    fn words_with_digits_are_whole() {
        let words = |text| {
            let mut found = Vec::new();
            words_with_digits(text, |word| found.push(word));
            found
        };
        assert_eq!(
            words("in 5.0.8, rfc-2616 and v2. 第3章（1998年）-7-"),
            ["5.0.8", "rfc-2616", "v2", "3", "1998", "7"]
        );
        assert_eq!(words("no digit"), Vec::<&str>::new());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(\\PC|[0-9.-]|[一二]){0,60}") {
            words_with_digits(&text, |word| assert!(word.bytes().any(|byte| byte.is_ascii_digit()), "{word}"));
        }
    }

    #[test]
    fn the_table_is_the_formula() {
        for (bits, differing) in DIFFERING.iter().enumerate() {
            let exact = -3_200.0 * (1.0 - bits as f64 / 32.0).ln();
            assert!((f64::from(*differing) - exact).abs() < 1.0, "{bits}: {differing} for {exact}");
        }
    }
}
