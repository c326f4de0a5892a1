//! The letters and words of a text. Passages are compared by these alone; punctuation does not count.

use leitong_base::mix::mix;
use leitong_fingerprint::is_unit;

/// Number of letters that an ideograph or a kana counts for.
pub(crate) const IDEOGRAPH_LETTERS: u32 = 3;

/// Maximum number of letters of a word. A longer one, such as text of scripts without spaces, is cut into several.
pub(crate) const WORD_LETTERS_MAX: u32 = 20;
/// Odd multiplier for hashes of letters.
const LETTER_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Odd multiplier for hashes of words.
const WORD_FACTOR: u64 = 0xff51_afd7_ed55_8ccd;

/// A letter or a word of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The byte offset of the unit's first letter.
    pub start: usize,
    /// The byte offset after the unit's last letter.
    pub end: usize,
    /// The number of letters that the unit counts for.
    pub weight: u32,
    /// Hash of the unit's letters.
    pub value: u64,
    /// True if the unit begins a line or sentence.
    pub begins: bool,
}

/// Returns the number of letters that `c` counts for.
#[inline]
#[must_use]
pub(crate) fn weight(c: char) -> u32 {
    if !c.is_ascii() && is_unit(c) { IDEOGRAPH_LETTERS } else { 1 }
}

/// Returns true for a letter or digit of any script.
#[inline]
#[must_use]
pub(crate) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { is_unit(c) || c.is_alphanumeric() }
}

/// Returns the letters of `text`, each as a unit.
pub(crate) fn letters(text: &str) -> impl Iterator<Item = Unit> + '_ {
    let (mut begins, mut after_dot) = (true, false);
    text.char_indices().filter_map(move |(start, c)| {
        let is_letter = is_letter(c);
        // A dot before a letter is part of a number, a version or a host.
        begins |= matches!(c, '\n' | '。' | '!' | '?' | '！' | '？') || (after_dot && !is_letter);
        after_dot = c == '.';
        let value = (u64::from(c) + 1).wrapping_mul(LETTER_FACTOR);
        is_letter.then(|| Unit {
            start,
            end: start + c.len_utf8(),
            weight: weight(c),
            value: value ^ value >> 29,
            begins: std::mem::take(&mut begins),
        })
    })
}

/// Returns the words of `text`. An ideograph is a word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Unit> + '_ {
    let mut letters = letters(text).peekable();
    std::iter::from_fn(move || {
        let mut word = letters.next()?;
        let is_word = word.weight == 1;
        while let Some(next) = letters.next_if(|next| {
            is_word && next.weight == 1 && next.start == word.end && word.weight < WORD_LETTERS_MAX
        }) {
            word.value = word.value.wrapping_mul(WORD_FACTOR).wrapping_add(next.value);
            word.end = next.end;
            word.weight += 1;
        }
        Some(Unit { value: mix(word.value), ..word })
    })
}

/// Returns the number of letters of `text`.
#[must_use]
pub(crate) fn count(text: &str) -> u32 {
    text.chars().filter(|c| is_letter(*c)).map(weight).fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ideograph_counts_as_three_letters_and_punctuation_ends_sentences() {
        assert_eq!(count("the river, 2026"), 12);
        assert_eq!(count("河水：涨了。"), 12);
        assert_eq!(count(" …!？\n"), 0);
        let text = "ab\n\n. 中d。e 3.5. \"gh\" i.j! k";
        let begins: String = letters(text)
            .filter(|letter| letter.begins)
            .map(|letter| &text[letter.start..letter.end])
            .collect();
        assert_eq!(begins, "a中egk");
    }

    #[test]
    fn a_word_ends_before_an_ideograph_and_after_twenty_letters() {
        let text = format!("Don't 河水rose {}", "ab".repeat(15));
        let spelled: Vec<&str> = words(&text).map(|word| &text[word.start..word.end]).collect();
        assert_eq!(spelled, ["Don", "t", "河", "水", "rose", &"ab".repeat(10), &"ab".repeat(5)]);
        assert_eq!(words(&text).map(|word| word.weight).sum::<u32>(), count(&text));
    }
}
