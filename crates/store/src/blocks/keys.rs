//! Pages of sorted keys, with the centroids that have each key.
//!
//! ```text
//! count │ bytes of a key │ bytes of a number │ second key count │ first key │ keys │ numbers │ which │ second keys
//! ```
//! A page is 4 KiB with its checksum. Its keys are stored as differences to the first one. On one page, all
//! keys have the length of the greatest key, and all numbers of centroids have the length of the greatest
//! number; so a key is found by bisection. If very many centroids have one key, `which` has one bit per entry
//! that shows if the entry has a second key, and the [second keys](leitong_fingerprint::SecondKey) follow. An
//! entry takes about ten bytes.

use super::parts::SUM_BYTES;

/// Size of a page with its checksum. Disks and the system's cache read this much at once.
pub(super) const PAGE_BYTES: usize = 4_096;
/// Approximate number of entries on a page.
pub(super) const ENTRIES_ABOUT: usize = 405;
const BYTES: usize = PAGE_BYTES - SUM_BYTES;
/// Usable bytes of a page. Numbers are read as eight bytes of which some are masked, so eight bytes must be
/// left after the last number.
const ROOM: usize = BYTES - 8;
const HEAD_BYTES: usize = 2 + 1 + 1 + 2 + 8;

/// A key and the centroid that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// The key, mixed with the corpus and spread over 64 bits.
    pub(super) key: u64,
    /// Number of the centroid. Pages and writers of runs count from the run's first centroid; runs return
    /// numbers of the table.
    pub(super) number: u64,
    /// Second key of the centroid, if very many centroids have the key.
    pub(super) second: Option<u64>,
}

/// The layout of the entries on a page.
#[derive(Debug, Clone, Copy, Default)]
struct Layout {
    count: usize,
    key_bytes: usize,
    number_bytes: usize,
    seconds: usize,
}

impl Layout {
    fn numbers_at(&self) -> usize {
        HEAD_BYTES + self.count * self.key_bytes
    }

    fn which_at(&self) -> usize {
        self.numbers_at() + self.count * self.number_bytes
    }

    fn seconds_at(&self) -> usize {
        self.which_at() + if self.seconds > 0 { self.count.div_ceil(8) } else { 0 }
    }

    fn end(&self) -> usize {
        self.seconds_at() + self.seconds * 8
    }
}

/// A page that is being filled. Its entries ascend.
#[derive(Debug, Default)]
pub(super) struct OpenPage {
    entries: Vec<Entry>,
    layout: Layout,
    bytes: Vec<u8>,
}

impl OpenPage {
    /// Adds an entry. Returns false if the page is full.
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        let first = self.entries.first().map_or(entry.key, |first| first.key);
        let with = Layout {
            count: self.layout.count + 1,
            key_bytes: bytes_of(entry.key - first),
            number_bytes: self.layout.number_bytes.max(bytes_of(entry.number)),
            seconds: self.layout.seconds + usize::from(entry.second.is_some()),
        };
        if with.end() > ROOM {
            return false;
        }
        self.layout = with;
        self.entries.push(entry);
        true
    }

    /// Returns the bytes of the page and its first key, and begins an empty page. Returns `None` if the page
    /// has no entries.
    pub(super) fn take(&mut self) -> Option<(u64, &[u8])> {
        let first = self.entries.first()?.key;
        let layout = std::mem::take(&mut self.layout);
        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.extend((layout.count as u16).to_le_bytes());
        bytes.extend([layout.key_bytes as u8, layout.number_bytes as u8]);
        bytes.extend((layout.seconds as u16).to_le_bytes());
        bytes.extend(first.to_le_bytes());
        let mut put = |value: u64, length| bytes.extend_from_slice(&value.to_le_bytes()[..length]);
        self.entries.iter().for_each(|entry| put(entry.key - first, layout.key_bytes));
        self.entries.iter().for_each(|entry| put(entry.number, layout.number_bytes));
        if layout.seconds > 0 {
            let has = |entry: &Entry| u64::from(entry.second.is_some());
            for eight in self.entries.chunks(8) {
                put((0..).zip(eight).map(|(bit, entry)| has(entry) << bit).sum(), 1);
            }
            self.entries.iter().filter_map(|entry| entry.second).for_each(|second| put(second, 8));
        }
        bytes.resize(BYTES, 0);
        self.entries.clear();
        Some((first, &self.bytes))
    }
}

/// A page to read. The checksum of its bytes was compared before.
pub(super) struct Page<'a> {
    bytes: &'a [u8],
    layout: Layout,
    first: u64,
}

impl<'a> Page<'a> {
    /// Reads the layout of the page. A page with an impossible layout counts as empty.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let none = Self { bytes: &[], layout: Layout::default(), first: 0 };
        let Some((&[a, b, key_bytes, number_bytes, c, d, ref first @ ..], _)) =
            bytes.split_first_chunk::<HEAD_BYTES>()
        else {
            return none;
        };
        let layout = Layout {
            count: u16::from_le_bytes([a, b]).into(),
            key_bytes: key_bytes.into(),
            number_bytes: number_bytes.into(),
            seconds: u16::from_le_bytes([c, d]).into(),
        };
        let fits = bytes.len() == BYTES && layout.end() <= ROOM && key_bytes.max(number_bytes) <= 8;
        if fits { Self { bytes, layout, first: u64::from_le_bytes(*first) } } else { none }
    }

    /// Returns the entries with this key or a greater one.
    pub(super) fn from(&self, key: u64) -> impl Iterator<Item = Entry> + use<'_, 'a> {
        let (mut low, mut high) = (0, self.layout.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        self.entries_from(low)
    }

    /// Returns all entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + use<'_, 'a> {
        self.entries_from(0)
    }

    fn entries_from(&self, from: usize) -> impl Iterator<Item = Entry> + use<'_, 'a> {
        let Layout { count, number_bytes, .. } = self.layout;
        let (numbers_at, mut second_at) = (self.layout.numbers_at(), self.layout.seconds_at());
        second_at += (0..from).filter(|at| self.has_second(*at)).count() * 8;
        (from..count).map(move |at| {
            let number = self.read(numbers_at + at * number_bytes, number_bytes);
            let second = self.has_second(at).then(|| self.read(second_at, 8));
            second_at += usize::from(second.is_some()) * 8;
            Entry { key: self.key(at), number, second }
        })
    }

    #[inline]
    fn key(&self, at: usize) -> u64 {
        let Layout { key_bytes, .. } = self.layout;
        self.first.wrapping_add(self.read(HEAD_BYTES + at * key_bytes, key_bytes))
    }

    #[inline]
    fn has_second(&self, at: usize) -> bool {
        self.layout.seconds > 0 && self.bytes[self.layout.which_at() + at / 8] >> (at % 8) & 1 == 1
    }

    /// Reads the number of `length` bytes, from 0 to 8, at this position.
    #[inline]
    fn read(&self, at: usize, length: usize) -> u64 {
        let eight = self.bytes[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        if length < 8 { eight & !(u64::MAX << (8 * length)) } else { eight }
    }
}

/// Returns the number of bytes that a number needs.
fn bytes_of(number: u64) -> usize {
    (64 - number.leading_zeros()).div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Draws keys of few bits, which are often equal, and numbers of different sizes.
        #[test]
        fn pushed_keys_are_read_back(
            key_bits in 0..64_u32,
            mut entries in prop::collection::vec(
                (any::<u64>(), 0..1_u64 << 40, 0..40_u32, prop::option::of(any::<u64>())), 1..900),
            has_seconds: bool,
        ) {
            for (key, number, bits, second) in &mut entries {
                *key &= !(u64::MAX << key_bits);
                *number >>= *bits;
                *second = second.filter(|_| has_seconds);
            }
            entries.sort_unstable();
            let entries: Vec<Entry> =
                entries.into_iter().map(|(key, number, _, second)| Entry { key, number, second }).collect();
            let mut page = OpenPage::default();
            let mut read = Vec::new();
            let mut take = |page: &mut OpenPage| {
                let (first, bytes) = page.take().expect("something is on it");
                let page = Page::new(bytes);
                let of_page: Vec<Entry> = page.entries().collect();
                assert_eq!(of_page[0].key, first);
                for key in [of_page[of_page.len() / 2].key, first, first.saturating_add(1), u64::MAX] {
                    let from: Vec<Entry> = page.from(key).collect();
                    let expected: Vec<Entry> =
                        of_page.iter().copied().filter(|entry| entry.key >= key).collect();
                    assert_eq!(from, expected);
                }
                read.extend(of_page);
            };
            for entry in &entries {
                if !page.push(*entry) {
                    take(&mut page);
                    prop_assert!(page.push(*entry));
                }
            }
            take(&mut page);
            prop_assert!(page.take().is_none());
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn any_bytes_are_a_page_or_none(mut bytes in prop::collection::vec(any::<u8>(), 0..40), length in 0..=BYTES) {
            bytes.resize(length.max(bytes.len()), 7);
            let page = Page::new(&bytes);
            prop_assert_eq!(page.entries().count(), page.layout.count);
            page.from(9).count();
        }
    }
}
