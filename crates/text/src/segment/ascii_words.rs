//! Splits ASCII text into words by the rules of Unicode Standard Annex #29, without their tables.
//!
//! Letters and digits stay together, and `_` joins them (WB5, WB8–WB10, WB13). `'`, `.` and `:` join two letters (WB6,
//! WB7); `'`, `.`, `,` and `;` join two digits (WB11, WB12). About ten times as fast as the general rules; a property
//! test compares the two.

use std::ops::Range;

/// Calls `word` with the range of each word of `text`, in order. `text` must be ASCII.
pub(super) fn ascii_words(text: &[u8], mut word: impl FnMut(Range<usize>)) {
    let mut at = 0;
    while at < text.len() {
        if !is_word_byte(text[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let mut has_alphanumeric = false;
        loop {
            while at < text.len() && is_word_byte(text[at]) {
                has_alphanumeric |= text[at] != b'_';
                at += 1;
            }
            let Some(&[before, joiner, after]) = text.get(at - 1..at + 2) else { break };
            if !joins(before, joiner, after) {
                break;
            }
            at += 1;
        }
        if has_alphanumeric {
            word(start..at);
        }
    }
}

#[inline]
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns true if `joiner` joins the bytes before and after it into one word.
fn joins(before: u8, joiner: u8, after: u8) -> bool {
    let letters = before.is_ascii_alphabetic() && after.is_ascii_alphabetic();
    let digits = before.is_ascii_digit() && after.is_ascii_digit();
    match joiner {
        b'\'' | b'.' => letters || digits,
        b':' => letters,
        b',' | b';' => digits,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use icu_segmenter::WordSegmenter;
    use icu_segmenter::options::WordBreakInvariantOptions;
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        ascii_words(text.as_bytes(), |word| words.push(&text[word]));
        words
    }

    #[test]
    fn joins_letters_and_digits_as_the_rules_say() {
        assert_eq!(words("it doesn't cost $3.14, e.g."), ["it", "doesn't", "cost", "3.14", "e.g"]);
        assert_eq!(
            words("x86_64 __init__ _ 1,000;2 a,b 'quoted'"),
            ["x86_64", "__init__", "1,000;2", "a", "b", "quoted"]
        );
        assert_eq!(words(""), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn agrees_with_the_general_rules(text in "[a-cA-Z0-2'.:,;_\"\\- \\n\\t\\r$@/]{0,24}") {
            let icu = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
            let mut general = Vec::new();
            let mut start = 0;
            for (end, kind) in icu.segment_str(&text).iter_with_word_type() {
                // The general rules call `_` a word; here a word needs a letter or digit.
                if kind.is_word_like() && text[start..end].contains(|c: char| c.is_alphanumeric()) {
                    general.push(&text[start..end]);
                }
                start = end;
            }
            prop_assert_eq!(words(&text), general);
        }
    }
}
