//! Normalises one paragraph, which makes texts that read the same equal: NFKC, lower case, no invisible characters, one
//! kind of apostrophe, ASCII digits, one spelling of letters that a reader does not tell apart (`fold`). NFKC also
//! unifies full- and half-width forms.
//!
//! Cost: one pass, counted as work, because NFKC may turn one character into 18. Nearly all characters are *simple*:
//! their normal form is known without a table, and they never combine with the previous character. Only the others go
//! through the ICU library's NFKC, together with the simple character before them, because they may combine with it.
//! This is what makes Chinese fast: NFKC always changes its full-width punctuation.

use std::borrow::Cow;
use std::fmt;

use icu_normalizer::ComposingNormalizerBorrowed;

use super::fold::push_folded;
use super::runs::{IDEOGRAPH_BYTES, leading_ascii, leading_ideographs};
use leitong_base::work::{TooMuchWork, Work};

/// Steps of work for a byte of a paragraph.
const BYTE_STEPS: u64 = 3;
/// Steps of work for a byte that the library writes.
const TABLE_BYTE_STEPS: u64 = 15;

/// Appends the normalised `paragraph` to `out`.
///
/// # Errors
/// Returns [`TooMuchWork`]; then only a part of the paragraph is appended.
pub(super) fn normalize(paragraph: &str, out: &mut String, work: &mut Work) -> Result<(), TooMuchWork> {
    work.add(paragraph.len(), BYTE_STEPS)?;
    out.reserve(paragraph.len());
    let mut at = 0;
    // Offset of the last simple character in the paragraph, and of its normal form in `out`.
    let mut last = (0, out.len());
    while at < paragraph.len() {
        let rest = &paragraph[at..];
        let ideographs = leading_ideographs(rest.as_bytes());
        let ascii = if ideographs > 0 { 0 } else { leading_ascii(rest.as_bytes()) };
        if ideographs + ascii > 0 {
            // Ideographs and ASCII are most of a text; they are copied in one step.
            let start = out.len();
            out.push_str(&rest[..ideographs + ascii]);
            out[start + ideographs..].make_ascii_lowercase();
            at += ideographs + ascii;
            let bytes = if ascii > 0 { 1 } else { IDEOGRAPH_BYTES };
            last = (at - bytes, out.len() - bytes);
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        if let Some(normal) = simple(c) {
            last = (at, out.len());
            out.push(normal);
            at += c.len_utf8();
        } else {
            at += rest.find(|c| simple(c).is_some()).unwrap_or(rest.len());
            out.truncate(last.1);
            normalize_by_table(&paragraph[last.0..at], out, work)?;
            last = (at, out.len());
        }
    }
    Ok(())
}

/// Returns the normal form of a character that needs no table and never combines with the previous character; `None`
/// for any other character.
#[inline]
fn simple(c: char) -> Option<char> {
    let lower = |c: char| char::from_u32(u32::from(c) + 0x20);
    match c {
        'A'..='Z' => lower(c),
        '\0'..='\x7f' => Some(c),
        // Ideographs, CJK punctuation, kana, Hangul syllables.
        '\u{4e00}'..='\u{9fff}' | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' => Some(c),
        '\u{30a1}'..='\u{30fa}' | '\u{ac00}'..='\u{d7a3}' => Some(c),
        // Full-width ASCII, and the full-width space.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).map(|c| c.to_ascii_lowercase()),
        '\u{3000}' => Some(' '),
        // Letters of western Europe and Cyrillic.
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{de}' | '\u{410}'..='\u{42f}' => lower(c),
        '\u{e0}'..='\u{ff}' | '\u{430}'..='\u{44f}' => Some(c),
        // Quotation marks and dashes; typographic apostrophes become ASCII ones.
        '\u{2018}' | '\u{2019}' => Some('\''),
        '\u{201c}' | '\u{201d}' | '\u{2013}' | '\u{2014}' => Some(c),
        _ => None,
    }
}

/// Appends the normal form of any text, as computed by the library.
fn normalize_by_table(text: &str, out: &mut String, work: &mut Work) -> Result<(), TooMuchWork> {
    let mut visible = Visible { out, work, result: Ok(()) };
    // An invisible character would separate an accent from its letter.
    let text = match text.contains(is_invisible) {
        true => Cow::Owned(text.replace(is_invisible, "")),
        false => Cow::Borrowed(text),
    };
    // The only error is that of `visible`, which reports it itself.
    let _ = ComposingNormalizerBorrowed::new_nfkc().normalize_to(&text, &mut visible);
    visible.result
}

/// A receiver of composed text, which appends the visible characters in lower case. It stops the library when the
/// page has cost enough: 10 MB of U+FDFA become 110 MB of text.
struct Visible<'a> {
    out: &'a mut String,
    work: &'a mut Work,
    result: Result<(), TooMuchWork>,
}

impl fmt::Write for Visible<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.result = self.work.add(text.len(), TABLE_BYTE_STEPS);
        self.result.map_err(|_| fmt::Error)?;
        for c in text.chars().filter(|c| !is_invisible(*c)) {
            match c {
                NON_JOINER if self.out.ends_with(is_arabic) => self.out.push(' '),
                NON_JOINER => {}
                _ => push_folded(c, self.out),
            }
        }
        Ok(())
    }
}

/// Returns true for characters that readers do not see and that crawled text is full of: soft hyphens, zero-width and
/// directional marks, invisible operators, variation selectors, fillers, byte order marks, tags. These are Unicode's
/// `Default_Ignorable_Code_Point`, except [`NON_JOINER`]. Combining lines under, over and through a letter are the
/// letter's decoration.
fn is_invisible(c: char) -> bool {
    match c {
        '\0'..='\u{ac}' | NON_JOINER => false,
        _ => matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{305}' | '\u{332}' | '\u{333}' | '\u{335}'..='\u{337}' | '\u{33f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'),
    }
}

/// The zero-width non-joiner. In Persian it separates parts of a word that others write with a space, so it becomes a
/// space there, as in Lucene's `PersianCharFilter`. Elsewhere it is invisible.
const NON_JOINER: char = '\u{200c}';

fn is_arabic(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6ff}' | '\u{750}'..='\u{77f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn normalized(text: &str) -> String {
        let mut out = "before".to_owned();
        normalize(text, &mut out, &mut Work::unbounded()).expect("no bound");
        out.split_off("before".len())
    }

    #[test]
    fn characters_that_expand_are_stopped_by_the_work_limit() {
        let flood = "\u{fdfa}".repeat(10_000);
        let (mut out, mut work) = (String::new(), Work::up_to(1_000_000));
        assert!(normalize(&flood, &mut out, &mut work).is_err());
        assert!(out.len() <= 100_000, "{}", out.len());
    }

    #[test]
    fn width_case_and_invisible_characters_do_not_matter() {
        assert_eq!(normalized("ＡＢＣ１２３，ｶﾀｶﾅ"), "abc123,カタカナ");
        assert_eq!(normalized("Straße ÉCOLE e\u{301}cole"), "strasse école école");
        assert_eq!(normalized("中\u{200b}文\u{feff}字\u{ad}"), "中文字");
        assert_eq!(normalized("Don’t"), "don't");
        assert_eq!(normalized("\u{2067}۲۰۲۶\u{2069} \u{61c}ﻛﺘﺎب \u{200e}कि १२"), "2026 كتاب कि 12");
        assert_eq!(normalized("①㎡ﬁ…"), "1m2fi...");
    }

    /// Copies with a grapheme joiner, a Mongolian separator or a Hangul filler between their letters must be
    /// recognised, and so must Persian words with a space instead of a non-joiner.
    #[test]
    fn no_ignorable_character_keeps_copies_apart() {
        for c in [
            '\u{34f}',
            '\u{115f}',
            '\u{1160}',
            '\u{17b4}',
            '\u{180b}',
            '\u{180e}',
            '\u{180f}',
            '\u{2065}',
            '\u{3164}',
            '\u{ffa0}',
            '\u{fff0}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0100}',
        ] {
            assert_eq!(normalized(&format!("fer{c}ry 中{c}文 ka{c}\u{301}")), "ferry 中文 ká", "{c:?}");
        }
        assert_eq!(normalized("می\u{200c}شود"), normalized("می شود"));
        assert_eq!(normalized("fer\u{200c}ry 中\u{200c}文"), "ferry 中文");
        assert_eq!(normalized("क्\u{200c}ष"), "क्ष");
    }

    /// Computes the normal form by its definition, with another library.
    fn naive(text: &str) -> String {
        let mut out = String::new();
        for c in text.chars().filter(|c| !is_invisible(*c)).nfkc().filter(|c| !is_invisible(*c)) {
            match c {
                NON_JOINER if out.ends_with(is_arabic) => out.push(' '),
                NON_JOINER => {}
                c => push_folded(c, &mut out),
            }
        }
        out
    }

    #[test]
    fn every_simple_character_agrees_with_the_definition() {
        for c in ('\0'..=char::MAX).filter(|c| simple(*c).is_some()) {
            assert_eq!(normalized(&c.to_string()), naive(&c.to_string()), "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_agrees_with_the_definition(text in "\\PC{0,40}") {
            prop_assert_eq!(normalized(&text), naive(&text));
        }

        #[test]
        fn combining_characters_agree_with_the_definition(
            text in "[aEｅéК中が가ㄱ\u{301}\u{308}\u{3099}\u{11a8}\u{1161}\u{1100}\u{345}\u{200d}’，\u{fe0f}]{0,12}"
        ) {
            prop_assert_eq!(normalized(&text), naive(&text));
        }
    }
}
