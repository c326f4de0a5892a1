//! Finds the kept texts of a cluster that are most like a document.
//!
//! A cluster may have thousands of kept texts, and a document is compared with few of them. All of them were compared
//! with the first one. A text with the same words as the document where the first one has others is most likely the one
//! that contains it.
//!
//! Memory: about 60 bytes for each place in which a kept text differs from the first one, and at most
//! [`PLACES_MAX`] places of each text. Cost: bounded for each document ([`TEXTS_MAX`]).

use leitong_base::hashed::HashedMap;

use super::slots::Filling;

/// Maximum number of places of a text that are used.
const PLACES_MAX: usize = 20;
/// Maximum number of texts with the same words in a place that are looked at: the latest ones.
const TEXTS_MAX: usize = 64;

/// The kept texts by the words in which they differ from the first text of their cluster.
#[derive(Debug, Default)]
pub(super) struct Alike(HashedMap<Vec<Entry>>);

/// A kept text with some words.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The number of the text in its cluster.
    text: u32,
    /// The number of places in which it differs from the first text.
    places: u32,
}

impl Alike {
    /// Adds the kept text with this number in the cluster with this founder.
    pub(super) fn add(&mut self, founder: u64, text: u32, fillings: &[Filling]) {
        let words = different_words(fillings);
        let entry = Entry { text, places: words.len() as u32 };
        words.iter().for_each(|words| self.0.entry(key(founder, *words)).or_default().push(entry));
    }

    /// Returns the numbers of the texts with some of these words, in the order of the share of words in common. Of
    /// equals, the latest is first.
    #[must_use]
    pub(super) fn most_alike(&self, founder: u64, fillings: &[Filling]) -> Vec<u32> {
        let words = different_words(fillings);
        let texts = words.iter().filter_map(|words| self.0.get(&key(founder, *words)));
        let mut found: Vec<Entry> =
            texts.flat_map(|texts| &texts[texts.len().saturating_sub(TEXTS_MAX)..]).copied().collect();
        found.sort_unstable_by_key(|entry| entry.text);
        let share = |same: &[Entry]| {
            let common = same.len();
            let all = words.len() + same[0].places as usize - common;
            (common * 1_000 / all, same[0].text)
        };
        let mut shares: Vec<_> = found.chunk_by(|a, b| a.text == b.text).map(share).collect();
        shares.sort_unstable_by(|a, b| b.cmp(a));
        shares.into_iter().map(|(_, text)| text).collect()
    }
}

/// Returns the different words of the first [`PLACES_MAX`] places.
fn different_words(fillings: &[Filling]) -> Vec<u64> {
    let mut words: Vec<u64> = fillings.iter().take(PLACES_MAX).map(|filling| filling.words).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Returns the key of some words in the cluster with this founder.
fn key(founder: u64, words: u64) -> u64 {
    // Founders are consecutive numbers, and are spread over all bits.
    words ^ founder.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_with_most_words_in_common_is_first() {
        let mut alike = Alike::default();
        let fillings = |words: &[u64]| -> Vec<Filling> {
            words.iter().map(|words| Filling { place: 0, words: *words, replaces: true }).collect()
        };
        alike.add(1, 1, &fillings(&[10, 20]));
        alike.add(1, 2, &fillings(&[10, 20, 30]));
        alike.add(1, 3, &fillings(&[30]));
        alike.add(1, 4, &fillings(&[40]));
        assert_eq!(alike.most_alike(1, &fillings(&[10, 20])), [1, 2]);
        assert_eq!(alike.most_alike(1, &fillings(&[30])), [3, 2]);
        assert_eq!(alike.most_alike(1, &fillings(&[50])), [0_u32; 0]);
        assert_eq!(alike.most_alike(2, &fillings(&[10])), [0_u32; 0], "another cluster");
        (5..200).for_each(|text| alike.add(1, text, &fillings(&[40])));
        let found = alike.most_alike(1, &fillings(&[40]));
        assert_eq!((found[0], found.len()), (199, TEXTS_MAX), "the latest ones");
    }
}
