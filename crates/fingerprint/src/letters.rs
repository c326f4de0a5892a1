//! Text → the values of its [sketch]: which runs of nine letters it has.
//!
//! Of short texts words are too coarse a measure: one that is replaced takes three shingles along,
//! and where spaces got lost ("didn'tknow") hardly any is left. So white space and typography do not
//! count here, nor where words end: a window is a run of letters and digits whose sizes add up to 9.
//! A letter has a size of 1, a Hangul syllable of 2, an ideograph or kana of 3, so that a window says
//! about the same in every script: two words of English, or three characters of Chinese. Unrelated
//! pages have a hundredth of these in common; of windows of 6 letters it would be a tenth.
//!
//! Cost: one pass over the normalised text, no allocation; with a secret a SipHash a letter.

use super::keyed_shingles::KeyedWindow;
use super::secret::TextHash;
use super::sketch::{self, BINS, Values, is_unit};
use super::window::Window;
use leitong_text::segment::is_punctuation;

/// Sum of sizes from which on a run of letters is a window.
const WINDOW_SIZE: u32 = 9;
/// Sizes of an ideograph or kana, and of a Hangul syllable: letters that say as much.
const IDEOGRAPH_SIZE: u32 = 3;
const SYLLABLE_SIZE: u32 = 2;

/// As how many letters a character counts; none for what is no letter or digit.
#[inline]
pub(crate) fn size(c: char) -> Option<u32> {
    if is_unit(c) {
        Some(IDEOGRAPH_SIZE)
    } else if is_punctuation(c) || !c.is_alphanumeric() {
        None
    } else if matches!(c, '\u{ac00}'..='\u{d7a3}') {
        Some(SYLLABLE_SIZE)
    } else {
        Some(1)
    }
}

/// The values of a normalised text, or none if it has no window; with a secret, by a keyed hash.
pub(super) fn values(text: &str, hash: &TextHash) -> Option<Values> {
    let mut minima = [u64::MAX; BINS];
    let mut take = |hash: u64| {
        let minimum = &mut minima[(hash >> 58) as usize];
        *minimum = (*minimum).min(hash << 6);
    };
    let letters = text.chars().filter_map(|c| Some((u64::from(u32::from(c)), size(c)?)));
    if hash.is_keyed() {
        let mut window = KeyedWindow::<WINDOW_SIZE>::default();
        letters.for_each(|(letter, size)| window.push(letter, size, hash, &mut take));
    } else {
        let mut window = Window::<WINDOW_SIZE>::default();
        letters.for_each(|(letter, size)| window.push(letter, size, &mut take));
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

    /// "Didn'tknow" shared no word with "didn't know", and short texts with a few such seams were
    /// taken for others.
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
