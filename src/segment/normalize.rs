//! One paragraph → the form in which equal things are equal: NFKC, lower case, no invisible characters,
//! one kind of apostrophe. Full- and half-width forms meet here.

use icu_normalizer::ComposingNormalizerBorrowed;

/// Appends the normalised `paragraph` to `out`. Linear, in one pass over text that is normal already.
pub(super) fn normalize(paragraph: &str, out: &mut String) {
    let start = out.len();
    // Writing to a String cannot fail.
    let _ = ComposingNormalizerBorrowed::new_nfkc().normalize_to(paragraph, out);
    if out[start..].chars().any(|c| folded(c) != Folded::Same) {
        let normal = out.split_off(start);
        for c in normal.chars() {
            match folded(c) {
                Folded::Same => out.push(c),
                Folded::Gone => {}
                Folded::Apostrophe => out.push('\''),
                Folded::Lower => out.extend(c.to_lowercase()),
            }
        }
    }
}

#[derive(PartialEq)]
enum Folded {
    Same,
    Lower,
    Apostrophe,
    Gone,
}

#[inline]
fn folded(c: char) -> Folded {
    match c {
        'A'..='Z' => Folded::Lower,
        '\0'..='\u{7f}' => Folded::Same,
        // Nearly every character of Chinese text.
        '\u{3000}'..='\u{9fff}' => Folded::Same,
        // Soft hyphen, zero-width and directional marks, invisible operators, variation selectors,
        // byte order mark, tags: crawled text is full of them, and no reader sees them.
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}' => Folded::Gone,
        // Typographic apostrophes: don’t is don't.
        '\u{2019}' | '\u{2bc}' => Folded::Apostrophe,
        // Title case letters (ǅ, ᾈ) are not upper case, but have a lower case all the same.
        c if c.to_lowercase().ne([c]) => Folded::Lower,
        _ => Folded::Same,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn normalized(text: &str) -> String {
        let mut out = String::new();
        normalize(text, &mut out);
        out
    }

    #[test]
    fn width_case_and_invisible_characters_do_not_matter() {
        assert_eq!(normalized("ＡＢＣ１２３，ｶﾀｶﾅ"), "abc123,カタカナ");
        assert_eq!(normalized("Straße ÉCOLE e\u{301}cole"), "straße école école");
        assert_eq!(normalized("中\u{200b}文\u{feff}字\u{ad}"), "中文字");
        assert_eq!(normalized("Don’t"), "don't");
        assert_eq!(normalized("①㎡ﬁ"), "1m2fi");
    }

    proptest! {
        /// Against the plain definition, by another library.
        #[test]
        fn agrees_with_its_naive_twin(text in "\\PC{0,40}") {
            let naive: String = text
                .nfkc()
                .filter(|c| folded(*c) != Folded::Gone)
                .map(|c| if folded(c) == Folded::Apostrophe { '\'' } else { c })
                .flat_map(char::to_lowercase)
                .collect();
            prop_assert_eq!(normalized(&text), naive);
        }
    }
}
