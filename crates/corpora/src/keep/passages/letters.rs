//! The letters of a text, which are all that passages are compared by: white space and punctuation do not count.

use leitong_fingerprint::is_unit;

/// Number of letters that an ideograph or a kana counts for.
pub const IDEOGRAPH_LETTERS: u32 = 3;

/// A letter or digit of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Letter {
    /// The letter.
    pub c: char,
    /// Its byte offset in the text.
    pub start: usize,
    /// True for the first letter of a line or sentence.
    pub begins: bool,
}

impl Letter {
    /// The byte offset of the end of the letter.
    #[must_use]
    pub fn end(self) -> usize {
        self.start + self.c.len_utf8()
    }

    /// The number of letters that it counts for.
    #[must_use]
    pub fn weight(self) -> u32 {
        weight(self.c)
    }
}

/// Returns the number of letters that `c` counts for.
#[inline]
#[must_use]
pub fn weight(c: char) -> u32 {
    if !c.is_ascii() && is_unit(c) { IDEOGRAPH_LETTERS } else { 1 }
}

/// Returns true for a letter or digit of any script.
#[inline]
#[must_use]
pub fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { is_unit(c) || c.is_alphanumeric() }
}

/// Returns the letters of `text`.
pub fn letters(text: &str) -> impl Iterator<Item = Letter> + '_ {
    let (mut begins, mut after_dot) = (true, false);
    text.char_indices().filter_map(move |(start, c)| {
        let is_letter = is_letter(c);
        // A dot before a letter is part of a number, a version or a host.
        begins |= matches!(c, '\n' | '。' | '!' | '?' | '！' | '？') || (after_dot && !is_letter);
        after_dot = c == '.';
        is_letter.then(|| Letter { c, start, begins: std::mem::take(&mut begins) })
    })
}

/// Returns the number of letters of `text`.
#[must_use]
pub fn count(text: &str) -> u32 {
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
        let begins: Vec<char> = letters("ab\n\n. 中d。e 3.5. \"gh\" i.j! k")
            .filter(|letter| letter.begins)
            .map(|letter| letter.c)
            .collect();
        assert_eq!(begins, ['a', '中', 'e', 'g', 'k']);
    }
}
