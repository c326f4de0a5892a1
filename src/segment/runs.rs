//! A paragraph → runs of one kind of script, each for the word cutter made for it.

use std::ops::Range;

/// Which word cutter a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    /// Chinese: ideographs with no kana among them.
    Han,
    /// Japanese: kana, and the ideographs they touch.
    Japanese,
    /// All else, with its spaces and punctuation.
    Other,
}

/// Whether `c` is a CJK ideograph: a character that is a unit of its own.
#[inline]
#[must_use]
pub fn is_ideographic(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{3005}'..='\u{3007}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// Hiragana, katakana and the prolonged sound mark; half-width forms are gone after NFKC.
#[inline]
fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
}

/// The runs of `text`, in order and without gaps.
pub(super) fn runs(text: &str) -> impl Iterator<Item = (RunKind, Range<usize>)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let mut chars = text[start..].char_indices();
        let (_, first) = chars.next()?;
        let east_asian = is_ideographic(first) || is_kana(first);
        let mut kana = is_kana(first);
        at = text.len();
        for (offset, c) in chars {
            let c_is_kana = is_kana(c);
            if (c_is_kana || is_ideographic(c)) != east_asian {
                at = start + offset;
                break;
            }
            kana |= c_is_kana;
        }
        let kind = match (east_asian, kana) {
            (false, _) => RunKind::Other,
            (true, false) => RunKind::Han,
            (true, true) => RunKind::Japanese,
        };
        Some((kind, start..at))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(text: &str) -> Vec<(RunKind, &str)> {
        runs(text).map(|(kind, range)| (kind, &text[range])).collect()
    }

    #[test]
    fn tells_scripts_apart() {
        use RunKind::{Han, Japanese, Other};
        assert_eq!(
            kinds("用rust写程序, 東京タワーへ行く!"),
            [
                (Han, "用"),
                (Other, "rust"),
                (Han, "写程序"),
                (Other, ", "),
                (Japanese, "東京タワーへ行く"),
                (Other, "!")
            ]
        );
        assert_eq!(kinds(""), []);
    }

    proptest! {
        #[test]
        fn runs_cover_the_text(text in "[a-z 中文かなカ，。!\\n]{0,30}") {
            let joined: String = runs(&text).map(|(_, range)| &text[range]).collect();
            prop_assert_eq!(joined, text);
        }
    }
}
