//! What a page is written in, as far as weights differ by it: Chinese, Japanese and Korean, or alphabets.
//!
//! In: the tree and the source of a page. Out: its [`Writing`]. A character of Chinese, a kana or a
//! syllable of Korean tells about what three letters do, so it counts three; a hundredth of all is
//! enough, since pages in Chinese may hold mostly code (of 2,552 help pages 97 have less than a thirtieth), while
//! pages of alphabets name such languages in a menu at most: one in a hundred of those in English has as much.
//! Character references are read as what their letters are. Cost: about
//! 0.1 ns a byte of text.

use crate::extract::parse::tree::{Segment, Tree};

/// What a page is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Writing {
    /// Letters, or letters and marks: Latin, Cyrillic, Arabic, Devanagari, Thai, …
    Alphabet,
    /// Chinese characters, kana, or Korean syllables.
    EastAsian,
}

impl Writing {
    /// The writing of all text in `tree`, the page `html`.
    pub(in crate::extract) fn of(tree: &Tree, html: &[u8]) -> Self {
        let (mut syllables, mut letters) = (0_u64, 0_u64);
        for segment in tree.segments.iter().filter(|segment| **segment != Segment::LINE_BREAK) {
            let text = html.get(segment.start as usize..segment.end as usize).unwrap_or_default();
            // First bytes of U+3000–U+DFFF, which are the wanted scripts but for their punctuation.
            syllables += count(text, |byte| matches!(byte, 0xe3..=0xed));
            // First bytes of all other letters but those of U+2000–U+2FFF, mostly signs.
            letters += count(text, |byte| byte.is_ascii_alphabetic() || matches!(byte, 0xc3..=0xe1));
        }
        if syllables > 0 && 3 * syllables * 100 >= letters + 3 * syllables {
            Self::EastAsian
        } else {
            Self::Alphabet
        }
    }
}

fn count(text: &[u8], is_counted: fn(u8) -> bool) -> u64 {
    text.iter().map(|byte| u64::from(is_counted(*byte))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::ExtractConfig;
    use crate::extract::parse::{Builder, Show, Stack, scan};

    fn of(html: &str) -> Writing {
        let (mut tree, mut stack) = (Tree::default(), Stack::default());
        let mut builder =
            Builder::new(html, &ExtractConfig::default(), Show::Also(&[]), &mut tree, &mut stack);
        scan::scan(html.as_bytes(), &mut builder).expect("within the limits");
        Writing::of(&tree, html.as_bytes())
    }

    #[test]
    fn pages_of_code_are_of_the_language_that_explains_it() {
        for east_asian in
            ["<p>河面结了冰", "<p>川の氷", "<p>강에 얼음이", "<p>下面的命令<pre>cargo build --release</pre>"]
        {
            assert_eq!(of(east_asian), Writing::EastAsian, "{east_asian}");
        }
    }

    #[test]
    fn menus_of_languages_and_signs_change_nothing() {
        let english = "<p>The river is frozen, and the children skate on it until the evening. ".repeat(20);
        let menu = "<ul><li>Deutsch<li>中文<li>Русский</ul>";
        for alphabet in [
            "",
            "<p>12 – 14 €",
            "<script>河面结了冰</script><p>ice",
            "<p>Река замёрзла",
            "<p>النهر متجمد",
            "<p>แม่น้ำกลายเป็นน้ำแข็ง",
            &format!("{menu}{english}"),
        ] {
            assert_eq!(of(alphabet), Writing::Alphabet, "{alphabet}");
        }
    }
}
