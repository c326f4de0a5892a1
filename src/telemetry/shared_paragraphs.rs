//! The paragraphs that the pages of a site have in common after a [template alarm](super::templates).
//!
//! The owner of a table raises the alarm, but it has fingerprints and no texts. The fingerprint stage has
//! texts, but by then no longer those of earlier pages. So a site is watched from its alarm on: the
//! paragraphs of the next [`PAGES`] pages of it that this instance reads are counted. Those that at least
//! half of these pages have are reported, in the form of lines for `paragraph.boilerplate_file`.
//!
//! In: sites with an alarm; the normalised text of pages. Out: [`Shared`]. No decision depends on this
//! module. Memory is bounded: [`SITES_MAX`] sites of [`PARAGRAPHS_MAX`] paragraphs of [`LINE_BYTES_MAX`]
//! bytes, which is 2 MiB. A further site replaces the one that has been watched for longest. While no site is
//! watched, a page costs one load of an integer.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use leitong_fingerprint::boilerplate::letters_hash;

/// Number of pages of a site that are examined after the site's alarm.
const PAGES: u32 = 10;
/// Maximum number of sites that are watched at once.
const SITES_MAX: usize = 8;
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
    hash: u64,
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

/// The watched sites; the one watched for longest comes first.
#[derive(Debug, Default)]
struct Watched(VecDeque<Site>);

impl Watched {
    fn begin(&mut self, hash: u64) {
        if self.0.iter().any(|site| site.hash == hash) {
            return;
        }
        if self.0.len() >= SITES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Site { hash, ..Site::default() });
    }

    /// Counts a page. Returns the shared paragraphs once there are enough pages.
    fn page<'t>(&mut self, hash: u64, paragraphs: impl Iterator<Item = &'t str>) -> Option<Shared> {
        let at = self.0.iter().position(|site| site.hash == hash)?;
        let site = self.0.get_mut(at)?;
        site.count(paragraphs);
        if site.pages < PAGES {
            return None;
        }
        self.0.remove(at).map(Site::shared)
    }
}

static WATCHED: Mutex<Watched> = Mutex::new(Watched(VecDeque::new()));
/// Number of watched sites.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Starts to watch a site, by the hash of its name.
pub(super) fn watch(site: u64) {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    watched.begin(site);
    COUNT.store(watched.0.len(), Ordering::Relaxed);
}

/// Returns true if any site is watched.
pub(super) fn is_watching() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Counts a page. Returns the paragraphs that the pages of its site share, once there are enough pages.
pub(super) fn page<'t>(site: u64, paragraphs: impl Iterator<Item = &'t str>) -> Option<Shared> {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = watched.page(site, paragraphs);
    COUNT.store(watched.0.len(), Ordering::Relaxed);
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(watched: &mut Watched, site: u64, count: u32, text: impl Fn(u32) -> String) -> Vec<Shared> {
        (0..count).filter_map(|number| watched.page(site, text(number).lines())).collect()
    }

    #[test]
    fn paragraphs_on_half_of_the_pages_are_reported_once_as_lines_of_a_list() {
        let mut watched = Watched::default();
        let form = |number: u32| {
            let own = if number < 4 { "Own words" } else { "other words" };
            format!(
                "Article {}\nAll rights reserved, 20{number}\n{own}\nBuy now\nBuy now",
                "x".repeat(number as usize)
            )
        };
        assert_eq!(pages(&mut watched, 7, 30, form), [], "the site is not watched");
        watched.begin(7);
        watched.begin(7);
        let reported = pages(&mut watched, 7, 30, form);
        let [Shared { pages: PAGES, lines }] = &reported[..] else { panic!("{reported:?}") };
        let expected = [(PAGES, "All rights reserved, 200"), (PAGES, "Buy now"), (6, "other words")];
        assert_eq!(lines.iter().map(|(count, line)| (*count, line.as_str())).collect::<Vec<_>>(), expected);
        assert!(watched.0.is_empty());
    }

    #[test]
    fn pages_that_share_nothing_give_an_empty_report() {
        let mut watched = Watched::default();
        watched.begin(7);
        watched.begin(8);
        let reported = pages(&mut watched, 7, PAGES, |number| {
            format!("only on page {}", "x".repeat(number as usize + 1))
        });
        assert_eq!(reported, [Shared { pages: PAGES, lines: Vec::new() }]);
        assert_eq!(watched.0.len(), 1, "the other site is still watched");
    }

    #[test]
    fn memory_for_sites_and_paragraphs_is_bounded() {
        let mut watched = Watched::default();
        (0..100).for_each(|site| watched.begin(site));
        let hashes: Vec<u64> = watched.0.iter().map(|site| site.hash).collect();
        assert_eq!(hashes, (100 - SITES_MAX as u64..100).collect::<Vec<_>>());
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        let many: String = (0..1_000).map(|n| format!("{}\n", "y".repeat(n + 1))).collect();
        let text = format!("{long}\n{many}last");
        assert_eq!(watched.page(99, text.lines()), None);
        let site = watched.0.back().expect("the site is watched");
        assert_eq!(site.paragraphs.len(), PARAGRAPHS_MAX);
        assert!(site.paragraphs.values().all(|(_, text)| text.len() <= LINE_BYTES_MAX));
    }
}
