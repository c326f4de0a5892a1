//! Pages of sorted keys: which centroids have each.
//!
//! A page is 4 KiB with its checksum: how many entries, the first key, and then of each entry the
//! difference to the key before, the centroid's number in its run, and, where very many centroids
//! have one key, the [second key](crate::fingerprint::SecondKey). About nine bytes an entry.

use crate::varint::{push_varint, take_varint};

use super::parts::SUM_BYTES;

/// Bytes of a page with its sum: what disks and the system's cache read at once.
pub(super) const PAGE_BYTES: usize = 4_096;
/// Bytes that its entries may take.
const ROOM: usize = PAGE_BYTES - SUM_BYTES;
const HEAD_BYTES: usize = 2 + 8;
/// The longest entry: a difference of 64 bits, a number, a second key.
const ENTRY_BYTES_MAX: usize = 10 + 6 + 8;

/// A key of a centroid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// The key, mixed with the corpus and spread over 64 bits.
    pub(super) key: u64,
    /// The centroid, counted from the first one of the run.
    pub(super) number: u64,
    /// Its second key, where it is needed.
    pub(super) second: Option<u64>,
}

/// A page that is being filled; its entries ascend.
#[derive(Debug, Default)]
pub(super) struct OpenPage {
    bytes: Vec<u8>,
    count: u16,
    last: u64,
}

impl OpenPage {
    /// Adds an entry; false if the page is full.
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        if self.count == 0 {
            self.bytes.clear();
            self.bytes.extend([0; 2]);
            self.bytes.extend(entry.key.to_le_bytes());
            self.last = entry.key;
        } else if self.bytes.len() + ENTRY_BYTES_MAX > ROOM {
            return false;
        }
        push_varint(entry.key - self.last, &mut self.bytes);
        push_varint(entry.number << 1 | u64::from(entry.second.is_some()), &mut self.bytes);
        self.bytes.extend(entry.second.into_iter().flat_map(u64::to_le_bytes));
        self.last = entry.key;
        self.count += 1;
        true
    }

    /// The page, and the first key on it; none if nothing is on it. Empties it.
    pub(super) fn take(&mut self) -> Option<(u64, &[u8])> {
        if self.count == 0 {
            return None;
        }
        self.bytes[..2].copy_from_slice(&self.count.to_le_bytes());
        self.bytes.resize(ROOM, 0);
        self.count = 0;
        let first = self.bytes[2..HEAD_BYTES].try_into().map_or(0, u64::from_le_bytes);
        Some((first, &self.bytes))
    }
}

/// Reads the entries of a page.
pub(super) struct Entries<'a> {
    bytes: &'a [u8],
    left: u16,
    key: u64,
}

impl<'a> Entries<'a> {
    /// Of the page of these bytes, whose sum fits.
    pub(super) fn new(page: &'a [u8]) -> Self {
        let none = Self { bytes: &[], left: 0, key: 0 };
        let Some((count, rest)) = page.split_first_chunk::<2>() else { return none };
        let Some((key, bytes)) = rest.split_first_chunk::<8>() else { return none };
        Self { bytes, left: u16::from_le_bytes(*count), key: u64::from_le_bytes(*key) }
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    #[inline]
    fn next(&mut self) -> Option<Entry> {
        self.left = self.left.checked_sub(1)?;
        self.key = self.key.wrapping_add(take_varint(&mut self.bytes)?);
        let number: u64 = take_varint(&mut self.bytes)?;
        let second = if number & 1 == 1 {
            let (second, rest) = self.bytes.split_first_chunk::<8>()?;
            self.bytes = rest;
            Some(u64::from_le_bytes(*second))
        } else {
            None
        };
        Some(Entry { key: self.key, number: number >> 1, second })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_pushed_is_read(
            mut entries in prop::collection::vec((any::<u64>(), 0..1_u64 << 40, prop::option::of(any::<u64>())), 1..900),
        ) {
            entries.sort_unstable();
            let mut page = OpenPage::default();
            let mut read = Vec::new();
            let mut take = |page: &mut OpenPage| {
                let (first, bytes) = page.take().expect("something is on it");
                assert_eq!(bytes.len(), PAGE_BYTES - SUM_BYTES);
                let of_page: Vec<Entry> = Entries::new(bytes).collect();
                assert_eq!(of_page[0].key, first);
                read.extend(of_page);
            };
            for (key, number, second) in &entries {
                let entry = Entry { key: *key, number: *number, second: *second };
                if !page.push(entry) {
                    take(&mut page);
                    prop_assert!(page.push(entry));
                }
            }
            take(&mut page);
            prop_assert!(page.take().is_none());
            let read: Vec<_> = read.into_iter().map(|Entry { key, number, second }| (key, number, second)).collect();
            prop_assert_eq!(read, entries);
        }
    }
}
