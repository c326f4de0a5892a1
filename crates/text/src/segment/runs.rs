//! Splits a paragraph into runs of one kind of script, each for its own word segmenter.

use std::ops::Range;

/// The word segmenter that a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    /// Chinese: ideographs without kana next to them.
    Han,
    /// Japanese: kana, and the ideographs next to them.
    Japanese,
    /// Everything else, with its spaces and punctuation.
    Other,
}

/// Returns true if `c` is a CJK ideograph.
#[inline]
#[must_use]
pub fn is_ideographic(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{3005}'..='\u{3007}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// Returns true for ASCII other than letters and digits, and for the punctuation of Chinese and western texts: most of
/// what separates Chinese words. Needs no table.
#[inline]
#[must_use]
pub fn is_punctuation(c: char) -> bool {
    match c {
        ..'\u{80}' => !c.is_ascii_alphanumeric(),
        _ => matches!(c, '\u{2010}'..='\u{2027}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}'),
    }
}

/// Bytes of an ideograph of the main block (U+4E00 to U+9FFF) in UTF-8.
pub(super) const IDEOGRAPH_BYTES: usize = 3;

/// Returns the number of bytes at the start of `text` that are ideographs of the main block, which are most of a
/// Chinese text. They are recognised by their first two bytes.
#[inline]
pub(super) fn leading_ideographs(text: &[u8]) -> usize {
    let mut end = 0;
    while let Some([a, b, _]) = text.get(end..end + IDEOGRAPH_BYTES)
        && (0xe4b8..=0xe9bf).contains(&u16::from_be_bytes([*a, *b]))
    {
        end += IDEOGRAPH_BYTES;
    }
    end
}

/// Returns the code point of a character encoded in three bytes.
#[inline]
pub(super) fn number_of_three_bytes([a, b, c]: [u8; IDEOGRAPH_BYTES]) -> u16 {
    u16::from(a) << 12 | u16::from(b & 0x3f) << 6 | u16::from(c & 0x3f)
}

/// Returns the number of ASCII bytes at the start of `text`.
#[inline]
pub(super) fn leading_ascii(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii()).unwrap_or(text.len())
}

/// Returns true for hiragana, katakana and the prolonged sound mark. NFKC has removed half-width forms.
#[inline]
fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
}

/// Returns the runs of `text`, in order and without gaps.
pub(super) fn runs(text: &str) -> impl Iterator<Item = (RunKind, Range<usize>)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let (mut run_kind, length) = kind_at(text, start)?;
        at += length;
        while let Some((kind, length)) = kind_at(text, at) {
            if (kind == RunKind::Other) != (run_kind == RunKind::Other) {
                break;
            }
            if kind == RunKind::Japanese {
                run_kind = kind;
            }
            at += length;
        }
        Some((run_kind, start..at))
    })
}

/// Returns the kind of run that the characters at byte `at` belong to, and their length in bytes (one or more
/// characters); `None` at the end.
#[inline]
fn kind_at(text: &str, at: usize) -> Option<(RunKind, usize)> {
    let rest = &text.as_bytes()[at..];
    match (leading_ideographs(rest), leading_ascii(rest)) {
        (0, 0) => {}
        (0, ascii) => return Some((RunKind::Other, ascii)),
        (ideographs, _) => return Some((RunKind::Han, ideographs)),
    }
    let c = text[at..].chars().next()?;
    let kind = if is_kana(c) {
        RunKind::Japanese
    } else if is_ideographic(c) {
        RunKind::Han
    } else {
        RunKind::Other
    };
    Some((kind, c.len_utf8()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(text: &str) -> Vec<(RunKind, &str)> {
        runs(text).map(|(kind, range)| (kind, &text[range])).collect()
    }

    #[test]
    fn scripts_are_recognised() {
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

    #[test]
    fn punctuation_is_never_alphanumeric() {
        assert!(('\0'..=char::MAX).filter(|c| is_punctuation(*c)).all(|c| !c.is_alphanumeric()));
    }

    proptest! {
        #[test]
        fn runs_cover_the_text(text in "[a-z 中文かなカ，。!\\n]{0,30}") {
            let joined: String = runs(&text).map(|(_, range)| &text[range]).collect();
            prop_assert_eq!(joined, text);
        }

        #[test]
        fn each_character_is_in_a_run_of_its_kind(text in "[\\PC\u{4dfe}-\u{4e02}\u{9ffe}-\u{a002}かな]{0,12}") {
            for (kind, range) in runs(&text) {
                let run = &text[range];
                prop_assert_eq!(run.contains(is_kana), kind == RunKind::Japanese);
                prop_assert_eq!(run.chars().all(|c| is_ideographic(c) || is_kana(c)), kind != RunKind::Other);
                prop_assert_eq!(run.contains(|c| is_ideographic(c) || is_kana(c)), kind != RunKind::Other);
            }
        }
    }
}
