//! Computes the values of a text's [sketch], from its runs of nine letters.
//!
//! For short texts words are too coarse a measure: one replaced word changes three shingles, and if spaces
//! were lost ("didn'tknow") hardly any shingle is left. So white space, typography and word ends do not count
//! here: a window is a run of letters and digits whose sizes add up to 9. A letter has size 1, a Hangul
//! syllable 2, an ideograph or kana 3. A window thus carries about as much in every script: two words of
//! English, or three characters of Chinese. Unrelated pages have a hundredth of these windows in common; with
//! windows of 6 letters it would be a tenth.
//!
//! Cost: one pass over the normalised text, no allocation; with a secret, one SipHash per letter.

use super::keyed_shingles::KeyedWindow;
use super::secret::TextHash;
use super::sketch::{self, BINS, Values};
use super::units::{is_letter, is_unit};
use super::window::Window;

/// Minimum sum of the sizes of the letters of a window.
const WINDOW_SIZE: u32 = 9;
/// Size of an ideograph or kana, in letters.
const IDEOGRAPH_SIZE: u32 = 3;
/// Size of a Hangul syllable, in letters.
const SYLLABLE_SIZE: u32 = 2;

/// Returns the size of a character in letters, or `None` if it is not a letter or digit.
#[inline]
pub(crate) fn size(c: char) -> Option<u32> {
    if c.is_ascii() {
        c.is_ascii_alphanumeric().then_some(1)
    } else if is_unit(c) {
        Some(IDEOGRAPH_SIZE)
    } else if !is_letter(c) {
        None
    } else if matches!(c, '\u{ac00}'..='\u{d7a3}') {
        Some(SYLLABLE_SIZE)
    } else {
        Some(1)
    }
}

/// Returns the values of a normalised text, or `None` if it has no window. With a secret, the hash is keyed.
pub(super) fn values(text: &str, hash: &TextHash) -> Option<Values> {
    let mut minima = [u64::MAX; BINS];
    let mut take = |hash: u64| {
        let minimum = &mut minima[(hash >> 58) as usize];
        *minimum = (*minimum).min(hash << 6);
    };
    if hash.is_keyed() {
        let mut window = KeyedWindow::<WINDOW_SIZE>::default();
        for c in text.chars() {
            if let Some(size) = size(c) {
                window.push(u64::from(u32::from(c)), size, hash, &mut take);
            }
        }
    } else {
        let mut window = Window::<WINDOW_SIZE>::default();
        for c in text.chars() {
            if let Some(size) = size(c) {
                window.push(u64::from(u32::from(c)), size, &mut take);
            }
        }
    }
    sketch::fill_empty(&mut minima).then(|| sketch::values(&minima))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::{Purpose, Secret};

    fn agree(a: &str, b: &str, hash: &TextHash) -> u32 {
        let [a, b] = [a, b].map(|text| values(text, hash).expect("nine letters"));
        sketch::matches(&a, &b)
    }

    /// "Didn'tknow" shares no word with "didn't know", but short texts with a few such seams must not be
    /// judged to be different.
    #[test]
    fn spaces_and_typography_do_not_count() {
        let secret = Secret::new("a secret of this test").expect("long enough");
        for hash in [TextHash::default(), TextHash::new(Some(&secret), Purpose::Passages)] {
            let text = "they didn't know that the ferry - the last one - had left";
            assert_eq!(agree(text, "theydidn’t know that theferry the lastone had left", &hash), 64);
            assert_eq!(agree("床前明月光，疑是地上霜。", "床前明月光 疑是地上霜", &hash), 64);
            assert!(agree(text, "nobody ever told them when the bus comes on sundays", &hash) < 12);
        }
    }

    #[test]
    fn a_window_is_nine_letters_or_three_ideographs() {
        let has_one = |text: &str| values(text, &TextHash::default()).is_some();
        for text in ["abcdefghi", "ab cd ef ghi", "一二三", "가나다라마", "一二 abc"] {
            assert!(has_one(text), "{text}");
        }
        for text in ["", "...", "abcdefgh", "一二", "가나다라"] {
            assert!(!has_one(text), "{text}");
        }
    }
}
