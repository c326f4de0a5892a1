//! The sorted keys of some neighbouring blocks, each with the centroids that have it.
//!
//! ```text
//! page 0 │ page 1 │ … │ filters │ first keys of the pages │ lengths of the filters │ footer
//! ```
//! In memory are the first key of each page (8 bytes for some 25 centroids of the default detector) and the
//! [filters](Filter). Each filter has the keys with the same first bits, about a million. It is read after
//! [`ASKED_MIN`] look-ups needed it; until then pages are read instead. So a run opens quickly, and a few
//! look-ups do not read all filters of a large table.
//!
//! Cost: for a key that is not there, no read in 63 of 64 to 255 of 256 cases. For a key that is there, one
//! page, or as many as a very frequent key takes.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::BlockError;
use super::files::Files;
use super::filter::{Filter, FilterBuilder};
use super::keys::{ENTRIES_ABOUT, Entry, OpenPage, PAGE_BYTES, Page};
use super::parts::{Footer, PartKind, PartReader, PartWriter, SUM_BYTES};
use leitong_base::proto::Stretch;

/// Approximate maximum number of keys in a filter. Much smaller filters take more bits per key.
const FILTER_KEYS: u64 = 1_500_000;
/// Number of look-ups that read pages instead of a filter, before the filter is read. Reading these pages
/// costs about as much as reading the filter.
const ASKED_MIN: u32 = 32;
/// Minimum number of centroids under one key whose second keys are stored with them.
const SECOND_KEYS_MIN: usize = 64;
/// Maximum number of pages of one key that are prefetched; the operating system reads further ahead by
/// itself.
const PAGES_AHEAD: usize = 4;

/// Returns the name of the file of the run with these numbers.
pub(super) fn name(Stretch { first, end }: Stretch) -> String {
    format!("keys-{first:012}-{end:012}.block")
}

/// Returns the number of bits of a place in the filters of a run with these numbers, in a table of `table`
/// numbers. The longest runs have nearly all keys, so they get few bits per key. Each of the many short runs
/// would cause as many useless reads as a long one, and more bits cost little there, so the short runs get
/// more.
pub(super) fn place_bits(numbers: Stretch, table: u64) -> u32 {
    match (numbers.end - numbers.first).saturating_mul(16) {
        much if much >= table => 6,
        some if some.saturating_mul(4) >= table => 7,
        _ => 8,
    }
}

/// A function that returns the second key of the centroid with a number, or `None` if the detector has no
/// second keys.
pub(super) type SecondOf<'a> = &'a dyn Fn(u64) -> Result<Option<u64>, BlockError>;

/// Writes a run.
pub(super) struct RunWriter<'a> {
    parts: PartWriter,
    numbers: Stretch,
    second_of: SecondOf<'a>,
    page: OpenPage,
    firsts: Vec<u64>,
    filter_bits: u32,
    place_bits: u32,
    /// The keys of the next filter.
    keys: Vec<u64>,
    builder: FilterBuilder,
    filters: Vec<Filter>,
    /// The entries of the present key while they are fewer than [`SECOND_KEYS_MIN`].
    group: Vec<Entry>,
    /// Number of entries of the present key so far.
    group_count: usize,
}

impl<'a> RunWriter<'a> {
    /// Creates a run of these numbers, with about `entries` entries, in a table of `table` numbers.
    pub(super) fn create(
        files: &Arc<dyn Files>,
        table_id: u64,
        numbers: Stretch,
        entries: u64,
        table: u64,
        second_of: SecondOf<'a>,
    ) -> Result<Self, BlockError> {
        let filters = entries.div_ceil(FILTER_KEYS).max(1).next_power_of_two();
        Ok(Self {
            parts: PartWriter::create(files, &name(numbers), table_id)?,
            numbers,
            second_of,
            page: OpenPage::default(),
            firsts: Vec::new(),
            filter_bits: filters.trailing_zeros(),
            place_bits: place_bits(numbers, table),
            keys: Vec::new(),
            builder: FilterBuilder::default(),
            filters: Vec::new(),
            group: Vec::new(),
            group_count: 0,
        })
    }

    /// Adds an entry. Entries must ascend by key and number.
    pub(super) fn push(&mut self, entry: Entry) -> Result<(), BlockError> {
        if self.keys.last() != Some(&entry.key) {
            self.end_group()?;
            while self.filters.len() < prefix(entry.key, self.filter_bits) {
                self.end_filter();
            }
            self.keys.push(entry.key);
        }
        self.group_count += 1;
        if self.group_count < SECOND_KEYS_MIN {
            self.group.push(entry);
            return Ok(());
        }
        // From here on the key's entries are written one by one, however many there are.
        for of_group in 0..self.group.len() {
            self.write_crowded(self.group[of_group])?;
        }
        self.group.clear();
        self.write_crowded(entry)
    }

    /// Writes the run to disk, and returns it opened.
    pub(super) fn finish(mut self, files: &dyn Files, table_id: u64) -> Result<Run, BlockError> {
        self.end_group()?;
        self.end_page()?;
        while self.filters.len() < 1 << self.filter_bits {
            self.end_filter();
        }
        let filters_at = self.parts.at();
        let mut lengths = Vec::new();
        for filter in &self.filters {
            let bytes = filter.to_bytes();
            lengths.extend((bytes.len() as u64 + SUM_BYTES as u64).to_le_bytes());
            self.parts.part(&bytes)?;
        }
        let firsts: Vec<u8> = self.firsts.iter().flat_map(|first| first.to_le_bytes()).collect();
        let firsts_at = self.parts.part(&firsts)?;
        let lengths_at = self.parts.part(&lengths)?;
        let lengths_end = self.parts.at();
        let places = [filters_at, firsts_at, lengths_at, lengths_end, 0];
        self.parts.finish(Footer { kind: PartKind::Keys, numbers: self.numbers, places })?;
        let run = Run::open(files, table_id, self.numbers)?;
        for (lazy, filter) in run.filters.iter().zip(self.filters) {
            // The filters are in memory already, so no look-up needs to read them.
            let _ = lazy.filter.set(filter);
        }
        Ok(run)
    }

    fn end_group(&mut self) -> Result<(), BlockError> {
        for at in 0..self.group.len() {
            self.write(self.group[at])?;
        }
        self.group.clear();
        self.group_count = 0;
        Ok(())
    }

    fn write_crowded(&mut self, mut entry: Entry) -> Result<(), BlockError> {
        if entry.second.is_none() {
            entry.second = (self.second_of)(self.numbers.first + entry.number)?;
        }
        self.write(entry)
    }

    fn write(&mut self, entry: Entry) -> Result<(), BlockError> {
        if !self.page.push(entry) {
            self.end_page()?;
            self.page.push(entry);
        }
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), BlockError> {
        if let Some((first, page)) = self.page.take() {
            self.parts.part(page)?;
            self.firsts.push(first);
        }
        Ok(())
    }

    fn end_filter(&mut self) {
        self.filters.push(self.builder.filter_of(&self.keys, self.place_bits));
        self.keys.clear();
    }
}

/// A run on disk.
pub(super) struct Run {
    reader: PartReader,
    numbers: Stretch,
    /// The first key of each page.
    firsts: Box<[u64]>,
    filters: Box<[LazyFilter]>,
    filter_bits: u32,
}

/// A filter that is read from disk once so many look-ups have needed it that reading it pays.
struct LazyFilter {
    at: u64,
    length: usize,
    asked: AtomicU32,
    filter: OnceLock<Filter>,
}

impl Run {
    /// Opens the run of these numbers, and reads the first keys of its pages.
    pub(super) fn open(files: &dyn Files, table_id: u64, numbers: Stretch) -> Result<Self, BlockError> {
        let (reader, footer) = PartReader::open(files, &name(numbers), table_id, (PartKind::Keys, numbers))?;
        let [mut at, firsts_at, lengths_at, lengths_end, _] = footer.places;
        let numbers_at = |from: u64, to: u64| {
            let bytes = reader.part(from, (to - from) as usize)?;
            Ok(bytes.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number)).collect::<Vec<_>>())
        };
        let firsts = numbers_at(firsts_at, lengths_at)?;
        let lengths = numbers_at(lengths_at, lengths_end)?;
        let mut filters = Vec::with_capacity(lengths.len());
        for length in lengths {
            let (asked, filter) = (AtomicU32::new(0), OnceLock::new());
            filters.push(LazyFilter { at, length: length as usize, asked, filter });
            at += length;
        }
        if at != firsts_at || !filters.len().is_power_of_two() {
            return Err(reader.damaged(lengths_at, "its filters have an unexpected length"));
        }
        let filter_bits = filters.len().trailing_zeros();
        Ok(Self { reader, numbers, firsts: firsts.into(), filters: filters.into(), filter_bits })
    }

    /// Returns the numbers of the centroids.
    pub(super) fn numbers(&self) -> Stretch {
        self.numbers
    }

    /// Returns the number of centroids in the range of [`Self::numbers`].
    pub(super) fn span(&self) -> u64 {
        self.numbers.end - self.numbers.first
    }

    /// Returns the size of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.reader.bytes()
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let filters = self.filters.iter().map(|lazy| lazy.filter.get().map_or(0, Filter::bytes));
        filters.sum::<usize>() + self.firsts.len() * 8 + self.filters.len() * size_of::<LazyFilter>()
    }

    /// Returns true if centroids may have this key. If any has it, the result is always true.
    #[inline]
    pub(super) fn may_have(&self, key: u64) -> Result<bool, BlockError> {
        let lazy = &self.filters[prefix(key, self.filter_bits)];
        match lazy.filter.get() {
            Some(filter) => Ok(filter.has(key)),
            None => self.read_if_it_pays(lazy, key),
        }
    }

    #[cold]
    fn read_if_it_pays(&self, lazy: &LazyFilter, key: u64) -> Result<bool, BlockError> {
        if lazy.asked.fetch_add(1, Ordering::Relaxed) < ASKED_MIN {
            return Ok(true);
        }
        let filter = self.read_filter(lazy)?;
        Ok(lazy.filter.get_or_init(|| filter).has(key))
    }

    fn read_filter(&self, lazy: &LazyFilter) -> Result<Filter, BlockError> {
        let bytes = self.reader.part(lazy.at, lazy.length)?;
        Filter::from_bytes(&bytes).ok_or_else(|| self.reader.damaged(lazy.at, "a filter is broken"))
    }

    /// Calls `each` with the entries of this key, with the numbers that centroids have in the table.
    pub(super) fn entries(
        &self,
        key: u64,
        mut each: impl FnMut(Entry) -> Result<(), BlockError>,
    ) -> Result<(), BlockError> {
        for page in self.pages_of(key) {
            let page = self.page(page)?;
            for mut entry in Page::new(&page).from(key).take_while(|entry| entry.key == key) {
                entry.number += self.numbers.first;
                each(entry)?;
            }
        }
        Ok(())
    }

    /// Prefetches the entries of this key.
    pub(super) fn will_need(&self, key: u64) {
        let pages = self.pages_of(key);
        self.reader.will_need((pages.start * PAGE_BYTES) as u64, pages.len().min(PAGES_AHEAD) * PAGE_BYTES);
    }

    /// Replaces `entries` by those of page `page`, counted from 0, with the numbers that centroids have in
    /// the table. Returns false if there is no such page.
    pub(super) fn read_page(&self, page: usize, entries: &mut Vec<Entry>) -> Result<bool, BlockError> {
        entries.clear();
        if page == self.firsts.len() {
            return Ok(false);
        }
        let of_table = |entry: Entry| Entry { number: entry.number + self.numbers.first, ..entry };
        entries.extend(Page::new(&self.page(page)?).entries().map(of_table));
        Ok(true)
    }

    /// Returns the approximate number of entries.
    pub(super) fn entries_estimate(&self) -> u64 {
        (self.firsts.len() * ENTRIES_ABOUT) as u64
    }

    /// Reads every part. After each one, calls `read` with its size; `read` returns false to stop. Returns
    /// the size of the file.
    pub(super) fn verify(&self, read: &mut dyn FnMut(u64) -> bool) -> Result<u64, BlockError> {
        let (mut last, mut filter) = (0, None);
        for page in 0..self.firsts.len() {
            for Entry { key, number, .. } in Page::new(&self.page(page)?).entries() {
                let at = prefix(key, self.filter_bits);
                if filter.as_ref().is_none_or(|(of, _)| *of != at) {
                    filter = Some((at, self.read_filter(&self.filters[at])?));
                }
                let is_known = filter.as_ref().is_some_and(|(_, filter)| filter.has(key));
                if key < last || number >= self.span() || !is_known {
                    return Err(self.reader.damaged(0, "its keys, filters or numbers do not match"));
                }
                last = key;
            }
            if !read(PAGE_BYTES as u64) {
                return Ok(self.reader.bytes());
            }
        }
        // Reads all filters, because those without any key were not read above.
        for lazy in &self.filters {
            self.reader.part(lazy.at, lazy.length)?;
            if !read(lazy.length as u64) {
                break;
            }
        }
        Ok(self.reader.bytes())
    }

    /// Returns the pages that may have entries of this key: at least one, unless no page of the run can have
    /// any.
    fn pages_of(&self, key: u64) -> Range<usize> {
        // Entries of the key may begin at the end of the page before the first page that begins with the key.
        let from = self.firsts_below(key).saturating_sub(1);
        from..from + self.firsts[from..].iter().take_while(|first| **first <= key).count()
    }

    /// Returns how many pages begin with a lesser key. Keys are spread evenly, so the search begins around
    /// the expected page; a search in all pages would cause many cache misses.
    fn firsts_below(&self, key: u64) -> usize {
        let firsts = &self.firsts;
        let guess = ((u128::from(key) * firsts.len() as u128) >> 64) as usize;
        let slack = firsts.len().isqrt() / 8 + 4;
        let (from, to) = (guess.saturating_sub(slack), firsts.len().min(guess + slack));
        let found = from + firsts[from..to].partition_point(|first| *first < key);
        let is_inside = (found > from || from == 0) && (found < to || to == firsts.len());
        if is_inside { found } else { firsts.partition_point(|first| *first < key) }
    }

    fn page(&self, number: usize) -> Result<Vec<u8>, BlockError> {
        self.reader.part((number * PAGE_BYTES) as u64, PAGE_BYTES)
    }
}

/// Returns the number of the filter of a key: its first bits.
#[inline]
fn prefix(key: u64, bits: u32) -> usize {
    // Two steps, because a shift by all 64 bits is not allowed.
    (key >> 1 >> (63 - bits)) as usize
}
