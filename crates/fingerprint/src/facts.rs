//! Extracts facts from terms: the numbers, versions and names of a text. Facts separate copies from pages of
//! one series, which say the same about different things.
//!
//! A fact is a word with a digit, including everything joined to it by points and hyphens (`4.2.15`,
//! `cve-2015-8405`), or a name: a term in a script with letters that is not in the [table of common
//! words](super::idf) or that has two letters (chapter IV; segmentation drops single letters and stop words,
//! some numerals among them). Common words are not facts, since edited copies differ in them. Words of
//! ideographs are not facts either, because nothing distinguishes names among them. Numbers that count the lines or
//! notes of a text, and its time stamps, are [labels](words_with_digits) instead of facts.
//!
//! Three sets of a text are compared: all of its *facts*, its *numbers* alone (a figure of a short text that is
//! replaced is seen among any number of names), and its *[topics](super::topics)*.
//!
//! The distinct facts of a text make an *odd sketch* (Mitzenmacher, Pagh & Pham 2014): each fact flips one of
//! 64 bits. The number of differing bits in two sketches estimates how many facts differ, exactly if these
//! are few, however many facts both texts have. Together with the number of facts of each text, this shows
//! how many were *replaced*: each text has as many facts that the other lacks. A fact that was merely added
//! or left out replaces nothing.
//!
//! One replaced fact flips the same bit as the other one in a 64th of all cases. So there is a checksum: if bits and
//! numbers of facts are equal and the checksums are not, one was replaced.
//!
//! Encoding: the 64 bits, the number of facts, and the checksum, big-endian. Cost: one scan for digits, and one look-up
//! per distinct term.

use super::idf;
use super::secret::TextHash;
use super::units::is_unit;
use leitong_text::segment::{DistinctTerm, Terms};

/// Number of bytes of a text's facts.
pub(crate) const FACT_BYTES: usize = 12;
/// Maximum number of letters of a term that counts as a name although the table has it.
const SHORT_NAME_CHARS: usize = 2;
/// Maximum number of digits of a label. More are a year, or an amount.
const LABEL_DIGITS: usize = 3;
/// Number of differing bits from which the estimate is [`MANY_DIFFERING`].
const BITS_MAX: usize = 30;
/// The estimated number of differing facts, in hundredths, by the number of differing bits: −32·ln(1 −
/// bits/32).
const DIFFERING: [u32; BITS_MAX] = [
    0, 102, 207, 315, 427, 544, 664, 790, 921, 1_057, 1_199, 1_348, 1_504, 1_668, 1_841, 2_024, 2_218, 2_425,
    2_645, 2_883, 3_139, 3_417, 3_722, 4_059, 4_436, 4_863, 5_357, 5_940, 6_654, 7_575,
];
/// One fact, in hundredths.
pub(crate) const ONE: u32 = 100;
/// Estimate, in hundredths, if at least [`BITS_MAX`] bits differ.
const MANY_DIFFERING: u32 = 10_000;

/// The 64 bits, the number of facts, and the checksum.
pub(crate) type Facts = [u8; FACT_BYTES];

/// Returns the facts of a text, and its numbers alone.
pub(crate) fn facts_and_numbers(terms: &Terms, hash: &TextHash) -> (Facts, Facts) {
    let mut found = Vec::new();
    words_with_digits(terms.text(), |word| found.push(hash.hash(word.as_bytes())));
    let numbers = odd_sketch(&mut found);
    found.extend(terms.distinct().iter().filter_map(|term| name(terms, *term, hash)));
    (odd_sketch(&mut found), numbers)
}

/// Returns the odd sketch of the distinct hashes, and their number. The hashes are left sorted.
pub(crate) fn odd_sketch(found: &mut Vec<u64>) -> Facts {
    found.sort_unstable();
    found.dedup();
    let bits = found.iter().fold(0_u64, |bits, fact| bits ^ 1 << (fact >> 58));
    let count = u16::try_from(found.len()).unwrap_or(u16::MAX);
    encode(bits, count, found.iter().fold(0, |sum, fact| sum ^ *fact as u16))
}

/// Returns the encoded odd sketch.
pub(crate) fn encode(bits: u64, count: u16, checksum: u16) -> Facts {
    let mut facts = [0; FACT_BYTES];
    facts[..8].copy_from_slice(&bits.to_be_bytes());
    facts[8..10].copy_from_slice(&count.to_be_bytes());
    facts[10..].copy_from_slice(&checksum.to_be_bytes());
    facts
}

/// Estimates how many facts of one text are replaced in the other, in hundredths.
pub(crate) fn replaced(a: &Facts, b: &Facts) -> u32 {
    if a[..10] == b[..10] {
        return if a[10..] == b[10..] { 0 } else { ONE };
    }
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
    u64::from_be_bytes(*facts.first_chunk().expect("12 bytes"))
}

/// Returns the number of facts of a text.
pub(crate) fn count(facts: &Facts) -> u32 {
    u16::from_be_bytes([facts[8], facts[9]]).into()
}

/// Returns the checksum of a text's facts.
pub(crate) fn checksum(facts: &Facts) -> u16 {
    u16::from_be_bytes([facts[10], facts[11]])
}

/// Returns the hash of a term if it is a name.
pub(crate) fn name(terms: &Terms, distinct: DistinctTerm, hash: &TextHash) -> Option<u64> {
    let term = terms.first(distinct);
    let is_word = !term.chars().any(|c| is_unit(c) || c.is_ascii_digit());
    let is_name = || term.chars().nth(SHORT_NAME_CHARS).is_none() || !idf::is_common(distinct.hash);
    (is_word && is_name()).then(|| hash.hash_term(term, || distinct.hash))
}

/// Calls `word` with each word that has a digit, including everything joined to it by points and hyphens. Labels are
/// passed over, because copies may be numbered otherwise: numbers of up to three digits that stand in brackets (`(12)`,
/// `[3]`), or that begin a line and are set apart by punctuation (`2.`, `3)`), and time stamps at the beginning of a
/// line (`0:17`).
pub(crate) fn words_with_digits<'a>(text: &'a str, mut word: impl FnMut(&'a str)) {
    let is_joined = |c: char| is_of_a_word(c) || matches!(c, '.' | '-');
    // `begins_line`: the line has no letter so far.
    let (mut at, mut begins_line) = (0, true);
    while let Some(digit) = text.as_bytes()[at..].iter().position(u8::is_ascii_digit) {
        let before = &text[at..at + digit];
        let begin = at + before.trim_end_matches(is_joined).len();
        let end = begin + text[begin..].find(|c| !is_joined(c)).unwrap_or(text.len() - begin);
        let found = text[begin..end].trim_matches(['.', '-']);
        let passed = &text[at..begin];
        let line = passed.rfind('\n');
        begins_line = (begins_line || line.is_some())
            && !passed[line.unwrap_or(0)..].contains(char::is_alphabetic)
            && found.bytes().all(|byte| byte.is_ascii_digit());
        let end_of_word = begin + text[begin..end].trim_end_matches(['.', '-']).len();
        if !is_label(found, passed.chars().next_back(), text[end_of_word..].chars().next(), begins_line) {
            word(found);
        }
        at = end;
    }
}

/// Returns true if a word with a digit is a label, from the characters before and after it.
fn is_label(word: &str, before: Option<char>, after: Option<char>, begins_line: bool) -> bool {
    let is_short = word.len() <= LABEL_DIGITS && word.bytes().all(|byte| byte.is_ascii_digit());
    let closes = matches!(after, Some(')' | ']'));
    is_short
        && match begins_line {
            true => closes || matches!(after, Some('.' | ':' | '、')) || before == Some(':'),
            false => closes && matches!(before, Some('(' | '[')),
        }
}

/// Returns true for letters and digits of words of several characters. Ideographs and kana are units of their own.
pub(crate) fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() && !is_unit(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_texts::terms;

    /// Returns the facts of two texts.
    fn facts_of(texts: [&str; 2]) -> [Facts; 2] {
        texts.map(|text| facts_and_numbers(&terms(text), &TextHash::default()).0)
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

    /// Without the checksum, only 64 pages of a template in which one number differs would be told apart.
    #[test]
    fn a_replaced_number_is_seen_even_if_it_flips_the_same_bit() {
        let numbers = |number: u32| {
            let mut found = vec![TextHash::default().hash(number.to_string().as_bytes())];
            odd_sketch(&mut found)
        };
        let all: Vec<Facts> = (0..300).map(numbers).collect();
        let same = (0..300).flat_map(|i| (0..i).map(move |j| (i, j)));
        assert_eq!(same.filter(|(i, j)| replaced(&all[*i], &all[*j]) < 100).count(), 0);
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

    #[test]
    fn labels_are_no_facts() {
        let words = |text| {
            let mut found = Vec::new();
            words_with_digits(text, |word| found.push(word));
            found
        };
        assert_eq!(words("0:17\nthe crane\n1:02:33 that stood"), Vec::<&str>::new(), "time stamps");
        assert_eq!(words("in the beginning (1) was [12] the word (1998)"), ["1998"], "verses and notes");
        assert_eq!(words("1. peel 2 apples\n2) 3.5 l of water\n 10、茶"), ["2", "3.5"], "steps");
        assert_eq!(words("18.00\n31\nat 8:07 (12 of them)"), ["18.00", "31", "8", "07", "12"], "figures");
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
