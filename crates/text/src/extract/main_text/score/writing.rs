//! Detects the writing of a page, as far as weights depend on it: Chinese, Japanese and Korean, or alphabets.
//!
//! In: the tree and the source of a page. Out: its [`Writing`]. A Chinese character, a kana or a Korean syllable
//! carries about as much information as three letters, so it counts as three. If they are one hundredth of the page's
//! text, it is East Asian: such a page may be mostly code (of 2,552 help pages, 97 have less than a thirtieth), while
//! pages in alphabets have at most the names of such languages in a menu (one in a hundred English pages has as much).
//! Character references count as the letters they are written with. Cost: about 0.1 ns per byte of text.

use crate::extract::parse::segment::Segment;
use crate::extract::parse::tree::Tree;

/// The kind of writing of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Writing {
    /// Letters, or letters and marks: Latin, Cyrillic, Arabic, Devanagari, Thai, …
    Alphabet,
    /// Chinese characters, kana, or Korean syllables.
    EastAsian,
}

impl Writing {
    /// Detects the writing of all text in `tree`, the page `html`.
    pub(in crate::extract) fn detect(tree: &Tree, html: &[u8]) -> Self {
        let (mut syllables, mut letters) = (0_u64, 0_u64);
        for segment in tree.segments.iter().filter(|segment| **segment != Segment::LINE_BREAK) {
            let text = html.get(segment.range()).unwrap_or_default();
            // First bytes of U+3000–U+DFFF, which are these scripts and their punctuation.
            syllables += count(text, |byte| matches!(byte, 0xe3..=0xed));
            // First bytes of all other letters, without U+2000–U+2FFF, mostly signs.
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

    fn writing(html: &str) -> Writing {
        let (mut tree, mut stack) = (Tree::default(), Stack::default());
        let mut builder =
            Builder::new(html, &ExtractConfig::default(), Show::Also(&[]), &mut tree, &mut stack);
        scan::scan(html.as_bytes(), &mut builder).expect("within the limits");
        Writing::detect(&tree, html.as_bytes())
    }

    #[test]
    fn pages_of_code_have_the_writing_of_their_explanations() {
        for east_asian in
            ["<p>河面结了冰", "<p>川の氷", "<p>강에 얼음이", "<p>下面的命令<pre>cargo build --release</pre>"]
        {
            assert_eq!(writing(east_asian), Writing::EastAsian, "{east_asian}");
        }
    }

    #[test]
    fn language_menus_and_signs_change_nothing() {
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
            assert_eq!(writing(alphabet), Writing::Alphabet, "{alphabet}");
        }
    }
}
