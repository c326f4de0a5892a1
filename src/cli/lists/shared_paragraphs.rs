//! The paragraphs that many pages have in common, as lines for `paragraph.boilerplate_file`.
//!
//! In: the terms of pages. Out: paragraphs with their numbers of pages. Memory: a bounded number of paragraphs; the
//! rarest are dropped.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use leitong_fingerprint::boilerplate::letters_hash;
use leitong_text::segment::Terms;

/// Minimum of the bound on paragraphs.
pub(super) const PARAGRAPHS_MIN: usize = 1_000;

/// Counts the pages on which each paragraph is.
pub(crate) struct ParagraphCounts {
    pages: u32,
    /// For each paragraph, by the hash of its letters, the number of pages that it is on, and its text once it was seen
    /// on a second page.
    counts: HashMap<u64, (u32, Box<str>)>,
    paragraphs_max: usize,
}

impl ParagraphCounts {
    /// Creates counts that hold at most `paragraphs_max` paragraphs, or [`PARAGRAPHS_MIN`].
    pub(super) fn new(paragraphs_max: usize) -> Self {
        let paragraphs_max = paragraphs_max.max(PARAGRAPHS_MIN);
        Self { pages: 0, counts: HashMap::new(), paragraphs_max }
    }

    /// Returns the number of pages that were counted.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// Counts the paragraphs of a page: normalised text, as the detector sees it.
    pub(crate) fn count_page(&mut self, terms: &Terms) {
        self.count(terms.paragraphs().iter().map(|paragraph| &terms.text()[paragraph.text.clone()]));
    }

    fn count<'t>(&mut self, paragraphs: impl Iterator<Item = &'t str>) {
        self.pages += 1;
        let mut of_page: Vec<(u64, &str)> =
            paragraphs.filter_map(|text| Some((letters_hash(text)?, text))).collect();
        of_page.sort_unstable_by_key(|(hash, _)| *hash);
        of_page.dedup_by_key(|(hash, _)| *hash);
        for (hash, text) in of_page {
            match self.counts.entry(hash) {
                Entry::Vacant(entry) => _ = entry.insert((1, "".into())),
                Entry::Occupied(mut entry) => {
                    let (count, known) = entry.get_mut();
                    *count += 1;
                    if known.is_empty() {
                        *known = text.replace(['\n', '\r'], " ").into();
                    }
                }
            }
        }
        let mut least = 1;
        while self.counts.len() > self.paragraphs_max {
            self.counts.retain(|_, (count, _)| *count > least);
            least += 1;
        }
    }

    /// Returns the paragraphs that are on at least `pages_min` pages, and on two. Those on the most pages come first,
    /// and of these the longest, which say most about a template.
    pub(crate) fn common(self, pages_min: u32) -> Vec<(u32, Box<str>)> {
        let mut common: Vec<_> =
            self.counts.into_values().filter(|(count, _)| *count >= pages_min.max(2)).collect();
        common.sort_unstable_by(|a, b| (b.0, b.1.len()).cmp(&(a.0, a.1.len())).then_with(|| a.1.cmp(&b.1)));
        common
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_on_half_of_the_pages_are_reported_as_lines_of_a_list() {
        let mut counts = ParagraphCounts::new(0);
        for number in 0..10 {
            let own = if number < 4 { "Own words" } else { "other words" };
            let article = "x".repeat(number);
            counts.count(format!("{article}\nAll rights, 20{number}\n{own}\nBuy now\nBuy now").lines());
        }
        assert_eq!(counts.pages(), 10);
        let common = counts.common(5);
        let common: Vec<_> = common.iter().map(|(count, line)| (*count, &**line)).collect();
        assert_eq!(common, [(10, "All rights, 201"), (10, "Buy now"), (6, "other words")]);
    }

    #[test]
    fn pages_that_share_nothing_give_no_line_and_memory_is_bounded() {
        let mut counts = ParagraphCounts::new(0);
        for number in 0..2 * PARAGRAPHS_MIN {
            counts.count([&*"y".repeat(number + 1)].into_iter());
        }
        assert!(counts.counts.len() <= PARAGRAPHS_MIN);
        assert_eq!(counts.common(1), []);
    }
}
