//! Tells if two pages share a passage: a run of letters that unrelated texts do not have in common.
//!
//! The runs of each page are hashed once, at the page's first use, and kept sorted. So a pair costs one walk
//! along two lists (about 10 µs) instead of two texts; detectors with many errors need hundreds of thousands
//! of pairs. Memory: 8 bytes per letter of the pages that were used. Two different passages are mistaken for
//! the same one with a probability of 2⁻⁶⁴.

use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64;

use crate::pages::EvalPage;

/// Number of consecutive letters that unrelated texts do not have in common.
pub(crate) const PASSAGE_CHARS: usize = 20;

/// The passages of pages, computed at first use.
pub(crate) struct Passages<'a> {
    pages: &'a [EvalPage],
    hashes: Vec<OnceLock<Box<[u64]>>>,
}

impl<'a> Passages<'a> {
    /// Creates the collection for `pages`.
    pub(crate) fn new(pages: &'a [EvalPage]) -> Self {
        Self { pages, hashes: pages.iter().map(|_| OnceLock::new()).collect() }
    }

    /// Returns true if pages number `a` and `b` share a passage.
    pub(crate) fn share(&self, a: usize, b: usize) -> bool {
        self.common(a, b).next().is_some()
    }

    /// Returns true if the page with fewer passages has most of them in common with the other one. Without
    /// labels, such pages are taken for copies.
    pub(crate) fn are_mostly_shared(&self, a: usize, b: usize) -> bool {
        2 * self.common(a, b).count() > self.hashes_of(a).len().min(self.hashes_of(b).len())
    }

    /// Returns the hashes of the passages that are in both pages.
    fn common(&self, a: usize, b: usize) -> impl Iterator<Item = &u64> {
        let b = self.hashes_of(b);
        self.hashes_of(a).iter().filter(|hash| b.binary_search(hash).is_ok())
    }

    fn hashes_of(&self, page: usize) -> &[u64] {
        self.hashes[page].get_or_init(|| hashes(&self.pages[page].document.text()))
    }
}

/// Returns the sorted hashes of all passages of a text.
fn hashes(text: &str) -> Box<[u64]> {
    let letters: Vec<u8> =
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let mut hashes: Vec<u64> = letters.windows(4 * PASSAGE_CHARS).step_by(4).map(xxh3_64).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_text::extract::Document;

    #[test]
    fn twenty_letters_in_a_row_are_a_passage_whatever_is_in_between() {
        let page = |text: &str| EvalPage {
            id: String::new(),
            document: Document::from_text(None, text),
            label: None,
        };
        let passage = "本文由译者翻译并发布在此转载请注明出处谢谢";
        let pages = [
            page(&format!("第一篇说的是天气。{passage}")),
            page("第二篇说的是收成，\n本文由译者翻译，并发布在此；转载请注明出处。谢谢！"),
            page("第三篇，本文由译者翻译并发布在此转载请注明"),
            page(""),
        ];
        let passages = Passages::new(&pages);
        assert!(passages.share(0, 1) && passages.share(1, 0));
        assert!(!passages.share(0, 2), "19 letters are too few");
        assert!(!passages.share(0, 3) && !passages.share(3, 3));
    }

    #[test]
    fn copies_share_most_passages_of_the_shorter_text() {
        let letters: String = ('一'..='丿').collect();
        let other: String = ('中'..='乿').collect();
        let page = |text: &str| EvalPage {
            id: String::new(),
            document: Document::from_text(None, text),
            label: None,
        };
        let quoted = format!("{}{other}", letters.chars().take(30).collect::<String>());
        let excerpt: String = letters.chars().take(40).collect();
        let pages = [page(&letters), page(&excerpt), page(&quoted), page("")];
        let passages = Passages::new(&pages);
        assert!(passages.are_mostly_shared(0, 1) && passages.are_mostly_shared(1, 0));
        assert!(!passages.are_mostly_shared(0, 2), "a quotation is not a copy");
        assert!(!passages.are_mostly_shared(0, 3) && !passages.are_mostly_shared(3, 3));
    }
}
