//! The paragraphs that the pages of one site have in common, as lines for `paragraph.boilerplate_file`.
//!
//! In: the normalised text of pages. Out: [`Shared`]. Memory: [`PARAGRAPHS_MAX`] paragraphs of [`LINE_BYTES_MAX`]
//! bytes.

use std::collections::{HashMap, HashSet};

use leitong_fingerprint::boilerplate::letters_hash;

/// Maximum number of different paragraphs of a site that are counted. Further paragraphs are ignored.
const PARAGRAPHS_MAX: usize = 256;
/// Maximum length of a paragraph that is counted, in bytes. A shortened paragraph would not match as a line
/// of a boilerplate file.
const LINE_BYTES_MAX: usize = 1024;
/// Maximum number of paragraphs that are reported. Those on the most pages are chosen.
const LINES_MAX: usize = 3;

/// Paragraphs that the pages of a site share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Number of pages that were examined.
    pub pages: u32,
    /// Paragraphs that at least half of the pages have, each with its number of pages; those of the most
    /// pages first.
    pub lines: Vec<(u32, String)>,
}

/// Counts of the paragraphs of a site.
#[derive(Debug, Default)]
pub(crate) struct Site {
    pages: u32,
    /// Paragraphs by the hash of their letters: the number of pages, and the text on the first page.
    paragraphs: HashMap<u64, (u32, Box<str>)>,
}

impl Site {
    /// Returns the number of pages that were counted.
    #[must_use]
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// Counts the paragraphs of a page.
    pub(crate) fn count<'t>(&mut self, paragraphs: impl Iterator<Item = &'t str>) {
        self.pages += 1;
        let mut of_page = HashSet::new();
        for text in paragraphs {
            let Some(hash) = letters_hash(text).filter(|_| text.len() <= LINE_BYTES_MAX) else { continue };
            let is_new = !self.paragraphs.contains_key(&hash);
            if (is_new && self.paragraphs.len() >= PARAGRAPHS_MAX) || !of_page.insert(hash) {
                continue;
            }
            let entry = self.paragraphs.entry(hash);
            entry.or_insert_with(|| (0, text.replace(['\n', '\r'], " ").into())).0 += 1;
        }
    }

    /// Returns the paragraphs that at least half of the pages have.
    #[must_use]
    pub(crate) fn shared(self) -> Shared {
        let pages = self.pages;
        let mut common: Vec<(u32, Box<str>)> =
            self.paragraphs.into_values().filter(|(count, _)| count * 2 >= pages).collect();
        // Among paragraphs on the same number of pages, the longest says most about the template.
        common.sort_by(|a, b| (b.0, b.1.len()).cmp(&(a.0, a.1.len())).then_with(|| a.1.cmp(&b.1)));
        common.truncate(LINES_MAX);
        Shared { pages, lines: common.into_iter().map(|(count, text)| (count, text.into())).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_on_half_of_the_pages_are_reported_as_lines_of_a_list() {
        let mut site = Site::default();
        for number in 0..10 {
            let own = if number < 4 { "Own words" } else { "other words" };
            let article = "x".repeat(number);
            site.count(format!("{article}\nAll rights, 20{number}\n{own}\nBuy now\nBuy now").lines());
        }
        let expected = [(10, "All rights, 200"), (10, "Buy now"), (6, "other words")];
        let Shared { pages, lines } = site.shared();
        assert_eq!(pages, 10);
        assert_eq!(lines.iter().map(|(count, line)| (*count, line.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn pages_that_share_nothing_give_no_line_and_memory_is_bounded() {
        let mut site = Site::default();
        for number in 0..10 {
            site.count([&*"y".repeat(number + 1), &"x".repeat(LINE_BYTES_MAX + 1)].into_iter());
        }
        let many: String = (0..1_000).map(|n| format!("{}\n", "z".repeat(n + 1))).collect();
        site.count(many.lines());
        assert_eq!(site.paragraphs.len(), PARAGRAPHS_MAX);
        assert!(site.paragraphs.values().all(|(_, text)| text.len() <= LINE_BYTES_MAX));
        assert_eq!(site.shared().lines, []);
    }
}
