//! The paragraphs at fault: what the pages of a site have in common that gave the [template
//! alarm](super::templates).
//!
//! The owner of a table has fingerprints and no texts; the fingerprint stage has texts and has
//! forgotten them when the alarm is given. So from the alarm on, the site is watched: of its next
//! [`PAGES`] pages that this instance reads, paragraphs are counted, and those that half of the pages
//! and more have are told, written as a line of `paragraph.boilerplate_file` has to be.
//!
//! In: sites with an alarm; the normalised text of pages. Out: [`Shared`]. Nothing that is decided
//! depends on any of it. Memory is bounded: [`SITES_MAX`] sites of [`PARAGRAPHS_MAX`] paragraphs of
//! [`LINE_BYTES_MAX`] bytes, 2 MiB; a site that is watched longest makes room for the next. While none
//! is watched, a page costs one load of an integer.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::detectors::paragraph::boilerplate::letters_hash;

/// Pages of a site that are looked at after its alarm.
const PAGES: u32 = 10;
/// Sites that are watched at once.
const SITES_MAX: usize = 8;
/// Different paragraphs of a site that are counted; those that come later are not.
const PARAGRAPHS_MAX: usize = 256;
/// Bytes of the longest paragraph that is counted: cut, it would be no line of a list.
const LINE_BYTES_MAX: usize = 1024;
/// Paragraphs that are told, those on most pages.
const LINES_MAX: usize = 3;

/// What the pages of a site share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// Pages that were looked at.
    pub pages: u32,
    /// Paragraphs that half of them and more have, and how many; of most pages first. Empty if there is none.
    pub lines: Vec<(u32, String)>,
}

/// The paragraphs of some pages of a site.
#[derive(Debug, Default)]
pub struct Site {
    hash: u64,
    pages: u32,
    /// By the hash of their letters: pages that have it, and its text on the first of them.
    paragraphs: HashMap<u64, (u32, Box<str>)>,
}

impl Site {
    /// Pages that were taken in.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Takes the paragraphs of a page in.
    pub fn count<'t>(&mut self, paragraphs: impl Iterator<Item = &'t str>) {
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

    /// What half of the pages and more have.
    #[must_use]
    pub fn shared(self) -> Shared {
        let pages = self.pages;
        let mut common: Vec<(u32, Box<str>)> =
            self.paragraphs.into_values().filter(|(count, _)| count * 2 >= pages).collect();
        // Of those on equally many pages the longest says most.
        common.sort_by(|a, b| (b.0, b.1.len()).cmp(&(a.0, a.1.len())).then_with(|| a.1.cmp(&b.1)));
        common.truncate(LINES_MAX);
        Shared { pages, lines: common.into_iter().map(|(count, text)| (count, text.into())).collect() }
    }
}

/// The sites that are watched, longest first.
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

    /// Takes a page in; what is shared, once enough have come.
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
/// How many sites are watched.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Watches a site from now on, by the hash of its name.
pub(super) fn watch(site: u64) {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    watched.begin(site);
    COUNT.store(watched.0.len(), Ordering::Relaxed);
}

/// Whether any site is watched.
pub(super) fn is_watching() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Takes a page in; what the pages of its site share, if that is known now.
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
    fn what_half_of_the_pages_share_is_told_once_as_it_stands_in_a_list() {
        let mut watched = Watched::default();
        let form = |number: u32| {
            let own = if number < 4 { "Own words" } else { "other words" };
            format!(
                "Article {}\nAll rights reserved, 20{number}\n{own}\nBuy now\nBuy now",
                "x".repeat(number as usize)
            )
        };
        assert_eq!(pages(&mut watched, 7, 30, form), [], "it is not watched");
        watched.begin(7);
        watched.begin(7);
        let told = pages(&mut watched, 7, 30, form);
        let [Shared { pages: PAGES, lines }] = &told[..] else { panic!("{told:?}") };
        let expected = [(PAGES, "All rights reserved, 200"), (PAGES, "Buy now"), (6, "other words")];
        assert_eq!(lines.iter().map(|(count, line)| (*count, line.as_str())).collect::<Vec<_>>(), expected);
        assert!(watched.0.is_empty());
    }

    #[test]
    fn pages_that_share_nothing_end_with_nothing() {
        let mut watched = Watched::default();
        watched.begin(7);
        watched.begin(8);
        let told = pages(&mut watched, 7, PAGES, |number| {
            format!("only on page {}", "x".repeat(number as usize + 1))
        });
        assert_eq!(told, [Shared { pages: PAGES, lines: Vec::new() }]);
        assert_eq!(watched.0.len(), 1, "the other site is watched on");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut watched = Watched::default();
        (0..100).for_each(|site| watched.begin(site));
        let hashes: Vec<u64> = watched.0.iter().map(|site| site.hash).collect();
        assert_eq!(hashes, (100 - SITES_MAX as u64..100).collect::<Vec<_>>());
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        let many: String = (0..1_000).map(|n| format!("{}\n", "y".repeat(n + 1))).collect();
        let text = format!("{long}\n{many}last");
        assert_eq!(watched.page(99, text.lines()), None);
        let site = watched.0.back().expect("it is watched");
        assert_eq!(site.paragraphs.len(), PARAGRAPHS_MAX);
        assert!(site.paragraphs.values().all(|(_, text)| text.len() <= LINE_BYTES_MAX));
    }
}
