//! Measures how many bytes the values of each row take when they are decoded.
//!
//! A file may store a value once and refer to it from many rows, or many times from one row. So sizes are taken from
//! the encoded levels, indexes and lengths, without decoding values. Memory: a page, and the lengths of a dictionary.
//! Cost: linear in the bytes of the pages.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_schema::DataType;
use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

#[cfg(test)]
use super::runs::delta_packed;
use super::runs::{Deltas, Hybrid};

/// Number of bytes of the length that precedes a value of varying size.
const LENGTH_BYTES: u64 = 4;
/// Number of bytes for the levels of a value, and its offset in one list.
const ENTRY_BYTES: u64 = 8;

/// The properties of a column that its pages depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Size of a value in bytes. `None` if it varies.
    width: Option<u64>,
    /// Number of values that the library allocates if a list of a fixed length is missing. 1 if there is no such list.
    list_values: u64,
    max_definition: u32,
    max_repetition: u32,
    /// True if the values themselves may be missing, and not only the lists and structs around them.
    has_nulls: bool,
}

impl Column {
    /// Creates the properties of a column in a field of the type `field`.
    pub(super) fn new(column: &ColumnDescriptor, field: &DataType) -> Self {
        let level = |level: i16| u32::try_from(level).unwrap_or(0);
        let width = match column.physical_type() {
            Type::BOOLEAN => Some(1),
            Type::INT32 | Type::FLOAT => Some(4),
            Type::INT64 | Type::DOUBLE => Some(8),
            Type::INT96 => Some(12),
            Type::FIXED_LEN_BYTE_ARRAY => Some(u64::try_from(column.type_length()).unwrap_or(0)),
            Type::BYTE_ARRAY => None,
        };
        Self {
            width,
            list_values: list_values(field),
            max_definition: level(column.max_def_level()),
            max_repetition: level(column.max_rep_level()),
            has_nulls: column.self_type().is_optional(),
        }
    }

    /// Returns the bytes that the library allocates for an entry without a value, at this definition level. A missing
    /// value of a fixed size takes the same memory as any other value, and a missing list of a fixed length that of all
    /// its values.
    fn missing_bytes(self, definition: u32) -> u64 {
        match (self.width, self.list_values) {
            (None, 1) => 0,
            (width, _) if self.has_nulls && definition + 1 == self.max_definition => width.unwrap_or(0),
            (width, values) => width.unwrap_or(LENGTH_BYTES).saturating_mul(values),
        }
    }

    /// Returns true if the levels of a page have the deprecated encoding, which is rare and stores no length before
    /// them.
    fn has_unmeasured_levels(self, page: &Page) -> bool {
        let Page::DataPage { def_level_encoding, rep_level_encoding, .. } = page else { return false };
        let is_former = |max, encoding: &Encoding| max > 0 && *encoding != Encoding::RLE;
        is_former(self.max_definition, def_level_encoding)
            || is_former(self.max_repetition, rep_level_encoding)
    }

    /// Returns the largest number of values that a dictionary of `bytes` bytes may have.
    pub(super) fn values_max(self, bytes: u64) -> u64 {
        bytes / self.width.unwrap_or(LENGTH_BYTES).max(1)
    }

    /// Returns the bytes for the levels of a value, and for its offset in each list around it.
    fn entry_bytes(self) -> u64 {
        ENTRY_BYTES * u64::from(self.max_repetition.max(1))
    }
}

/// Returns the largest number of values that a list of a fixed length, with the lists of fixed lengths in it, has below a
/// field of this type. 1 if there is no such list.
fn list_values(field: &DataType) -> u64 {
    match field {
        DataType::FixedSizeList(values, length) => {
            list_values(values.data_type()).saturating_mul(u64::try_from(*length).unwrap_or(0).max(1))
        }
        DataType::List(values)
        | DataType::LargeList(values)
        | DataType::ListView(values)
        | DataType::LargeListView(values)
        | DataType::Map(values, _) => list_values(values.data_type()),
        DataType::Struct(fields) => {
            fields.iter().map(|field| list_values(field.data_type())).max().unwrap_or(1)
        }
        _ => 1,
    }
}

/// The lengths of a dictionary's values.
pub(super) type Dictionary = Arc<[u32]>;

/// Returns the lengths of the values of a dictionary page.
pub(super) fn dictionary(column: Column, page: &Page) -> Dictionary {
    let mut values = match column.width {
        Some(_) => return Arc::default(),
        None => Lengths::Plain { bytes: page.buffer().clone(), at: 0 },
    };
    let next = || {
        let (_, length) = values.peek()?;
        values.pass(1);
        Some(u32::try_from(length).unwrap_or(u32::MAX))
    };
    std::iter::from_fn(next).take(page.num_values() as usize).collect()
}

/// Returns the bytes of all values of a data page when they are decoded; the greatest number if they cannot be measured to
/// the end, since the library may read on after what looks like damage here.
pub(super) fn total(column: Column, page: &Page, lengths: &Dictionary) -> u64 {
    let Some(mut costs) = PageCosts::new(column, page, lengths) else { return u64::MAX };
    let mut total = 0_u64;
    while costs.left > 0 {
        let Some(run) = costs.next() else { return u64::MAX };
        total = total.saturating_add(run.cost.saturating_mul(run.count));
    }
    total
}

/// The lengths of a page's values, one after the other.
#[derive(Debug)]
enum Lengths {
    Fixed(u64),
    Plain {
        bytes: Bytes,
        at: usize,
    },
    Dictionary(Hybrid, Dictionary),
    Deltas(Deltas, Option<u64>),
    /// Values that share a prefix with the previous value, which has `last` bytes.
    Shared {
        prefixes: Deltas,
        suffixes: Deltas,
        last: u64,
        next: Option<u64>,
    },
}

impl Lengths {
    fn new(column: Column, page: &Page, bytes: Bytes, dictionary: &Dictionary) -> Option<Self> {
        if bytes.is_empty() {
            // A page of nulls may have no values at all, and some values have no bytes.
            return Some(column.width.map_or(Self::Plain { bytes, at: 0 }, Self::Fixed));
        }
        let deltas = |bytes: Bytes| Deltas::new(bytes, u64::from(page.num_values()));
        let shared = |bytes: Bytes| {
            let prefixes = deltas(bytes)?;
            let suffixes = deltas(prefixes.after()?)?;
            Some((prefixes, suffixes))
        };
        Some(match (page.encoding(), column.width) {
            (Encoding::DELTA_BYTE_ARRAY, Some(width)) => shared(bytes).map(|_| Self::Fixed(width))?,
            (_, Some(width)) => Self::Fixed(width),
            (Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY, None) => {
                let width = *bytes.first()?;
                if width > 32 {
                    return None;
                }
                Self::Dictionary(Hybrid::new(bytes.slice(1..), u32::from(width)), Arc::clone(dictionary))
            }
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, None) => Self::Deltas(deltas(bytes)?, None),
            (Encoding::DELTA_BYTE_ARRAY, None) => {
                let (prefixes, suffixes) = shared(bytes)?;
                Self::Shared { prefixes, suffixes, last: 0, next: None }
            }
            _ => Self::Plain { bytes, at: 0 },
        })
    }

    /// Returns a number of next values that have the same length, and this length. More values of this length may
    /// follow. `None` if no value is left.
    fn peek(&mut self) -> Option<(u64, u64)> {
        let length = |length: i32| u64::try_from(length).ok();
        match self {
            Self::Fixed(width) => Some((u64::MAX, *width)),
            Self::Plain { bytes, at } => {
                let head = bytes.get(*at..at.checked_add(4)?)?.first_chunk()?;
                let length = u32::from_le_bytes(*head);
                (bytes.len() - *at - 4 >= length as usize).then_some((1, u64::from(length)))
            }
            Self::Dictionary(indexes, lengths) => {
                let (count, index) = indexes.peek()?;
                Some((count, u64::from(*lengths.get(usize::try_from(index).ok()?)?)))
            }
            Self::Deltas(lengths, next) => {
                if next.is_none() {
                    *next = Some(length(lengths.next()?)?);
                }
                Some((1, (*next)?))
            }
            Self::Shared { prefixes, suffixes, last, next } => {
                if next.is_none() {
                    // To the library, a prefix that is too long or negative is the whole previous value.
                    let prefix = length(prefixes.next()?).unwrap_or(u64::MAX).min(*last);
                    *last = prefix.checked_add(length(suffixes.next()?)?)?;
                    *next = Some(*last);
                }
                Some((1, (*next)?))
            }
        }
    }

    /// Moves on by `count` values, which must not be more than [`Self::peek`] has returned.
    fn pass(&mut self, count: u64) {
        match self {
            Self::Fixed(_) => {}
            Self::Plain { bytes, at } => {
                let length = bytes.get(*at..*at + 4).and_then(<[u8]>::first_chunk).copied();
                *at += 4 + length.map_or(0, u32::from_le_bytes) as usize;
            }
            Self::Dictionary(indexes, _) => indexes.pass(count),
            Self::Deltas(_, next) | Self::Shared { next, .. } => *next = None,
        }
    }
}

/// Consecutive entries of a page that are equal.
#[derive(Debug, Clone, Copy)]
struct EntryRun {
    count: u64,
    /// True if each entry begins a row.
    begins_row: bool,
    cost: u64,
}

/// The entries of a data page.
#[derive(Debug)]
struct PageCosts {
    repetition: Option<Hybrid>,
    definition: Option<(Hybrid, u64)>,
    values: Lengths,
    /// Number of entries left.
    left: u64,
    column: Column,
}

impl PageCosts {
    fn new(column: Column, page: &Page, dictionary: &Dictionary) -> Option<Self> {
        let width = |max: u32| u32::BITS - max.leading_zeros();
        let levels = |bytes: Bytes, max: u32| (max > 0).then(|| Hybrid::new(bytes, width(max)));
        let bytes = page.buffer();
        let (repetition, definition, values) = match page {
            Page::DataPage { .. } => {
                if column.has_unmeasured_levels(page) {
                    return None;
                }
                let mut at = 0;
                let mut part = |max: u32| {
                    if max == 0 {
                        return Some(Bytes::new());
                    }
                    let start = at + 4;
                    let length = u32::from_le_bytes(*bytes.get(at..start)?.first_chunk()?);
                    at = start.checked_add(length as usize)?;
                    (at <= bytes.len()).then(|| bytes.slice(start..at))
                };
                (part(column.max_repetition)?, part(column.max_definition)?, bytes.slice(at..))
            }
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                let middle = *rep_levels_byte_len as usize;
                let end = middle.checked_add(*def_levels_byte_len as usize)?;
                if end > bytes.len() {
                    return None;
                }
                (bytes.slice(..middle), bytes.slice(middle..end), bytes.slice(end..))
            }
            Page::DictionaryPage { .. } => return None,
        };
        Some(Self {
            repetition: levels(repetition, column.max_repetition),
            definition: levels(definition, column.max_definition)
                .map(|levels| (levels, u64::from(column.max_definition))),
            values: Lengths::new(column, page, values, dictionary)?,
            left: u64::from(page.num_values()),
            column,
        })
    }

    /// Returns the next entries. `None` at the end, or if the page is damaged.
    fn next(&mut self) -> Option<EntryRun> {
        let mut run = EntryRun { count: self.left, begins_row: true, cost: self.column.entry_bytes() };
        if let Some(levels) = &mut self.repetition {
            let (count, level) = levels.peek()?;
            if level > u64::from(self.column.max_repetition) {
                return None;
            }
            (run.count, run.begins_row) = (run.count.min(count), level == 0);
        }
        let mut has_value = true;
        if let Some((levels, max)) = &mut self.definition {
            let (count, level) = levels.peek()?;
            run.count = run.count.min(count);
            // In a column without lists, the library takes any level above 0 for a value.
            if level > *max {
                return None;
            }
            has_value = level == *max;
            if !has_value {
                let level = u32::try_from(level).unwrap_or(0);
                run.cost = run.cost.saturating_add(self.column.missing_bytes(level));
            }
        }
        if has_value {
            let (count, length) = self.values.peek()?;
            run.count = run.count.min(count);
            run.cost = run.cost.saturating_add(length);
            self.values.pass(run.count);
        }
        if let Some(levels) = &mut self.repetition {
            levels.pass(run.count);
        }
        if let Some((levels, _)) = &mut self.definition {
            levels.pass(run.count);
        }
        self.left -= run.count;
        Some(run)
    }
}

fn damaged() -> ParquetError {
    ParquetError::General("a Parquet page ends before its last value".to_owned())
}

/// Consecutive rows of a column that take the same number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowRun {
    pub(super) rows: u64,
    /// Number of bytes of each row.
    pub(super) cost: u64,
}

/// The rows of a column chunk.
pub(super) struct ChunkCosts {
    column: Column,
    pages: Box<dyn PageReader>,
    dictionary: Dictionary,
    page: Option<PageCosts>,
    /// Number of bytes so far of the last row, if it may continue.
    open: Option<u64>,
    ready: VecDeque<RowRun>,
}

impl ChunkCosts {
    pub(super) fn new(column: Column, pages: Box<dyn PageReader>) -> Self {
        let (dictionary, ready) = (Arc::default(), VecDeque::new());
        Self { column, pages, dictionary, page: None, open: None, ready }
    }

    /// Returns the next rows, or `None` at the end.
    ///
    /// # Errors
    /// A page cannot be read, or is damaged.
    pub(super) fn next(&mut self) -> Result<Option<RowRun>, ParquetError> {
        loop {
            if let Some(run) = self.ready.pop_front() {
                return Ok(Some(run));
            }
            let Some(page) = self.page.as_mut().filter(|page| page.left > 0) else {
                match self.pages.get_next_page()? {
                    None => return Ok(self.open.take().map(|cost| RowRun { rows: 1, cost })),
                    Some(page) if page.is_dictionary_page() => {
                        self.dictionary = dictionary(self.column, &page);
                    }
                    Some(page) => {
                        let costs = PageCosts::new(self.column, &page, &self.dictionary);
                        self.page = Some(costs.ok_or_else(damaged)?);
                    }
                }
                continue;
            };
            let EntryRun { count, begins_row, cost } = page.next().ok_or_else(damaged)?;
            match &mut self.open {
                _ if self.column.max_repetition == 0 => self.ready.push_back(RowRun { rows: count, cost }),
                Some(open) if !begins_row => *open = open.saturating_add(cost.saturating_mul(count)),
                open => {
                    self.ready.extend(open.replace(cost).map(|cost| RowRun { rows: 1, cost }));
                    if count > 1 {
                        self.ready.push_back(RowRun { rows: count - 1, cost });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: Column =
        Column { width: None, list_values: 1, max_definition: 0, max_repetition: 0, has_nulls: false };

    fn page(encoding: Encoding, values: u32, bytes: Vec<u8>) -> Page {
        let buf = Bytes::from(bytes);
        let (def_level_encoding, rep_level_encoding) = (Encoding::RLE, Encoding::RLE);
        Page::DataPage {
            buf,
            num_values: values,
            encoding,
            def_level_encoding,
            rep_level_encoding,
            statistics: None,
        }
    }

    fn bytes_of(column: Column, page: &Page) -> Option<u64> {
        let total = total(column, page, &Arc::from([1, 1 << 20]));
        total.checked_sub(ENTRY_BYTES * u64::from(page.num_values())).filter(|_| total < u64::MAX)
    }

    #[test]
    fn a_prefix_that_is_no_length_is_the_whole_value_before() {
        for prefixes in [[0, -1, -2, i32::MIN], [0, 100, 90, 80], [7, 30, 20, 10]] {
            let bytes = [delta_packed(&prefixes), delta_packed(&[10, 0, 0, 0]), vec![b'a'; 10]].concat();
            assert_eq!(
                bytes_of(TEXTS, &page(Encoding::DELTA_BYTE_ARRAY, 4, bytes)),
                Some(40),
                "{prefixes:?}"
            );
        }
    }

    #[test]
    fn a_page_that_claims_more_lengths_than_values_has_no_measure() {
        let lengths = delta_packed(&[0; 5]);
        let bytes = [&*lengths, &*lengths].concat();
        for column in [TEXTS, Column { width: Some(8), ..TEXTS }] {
            assert!(bytes_of(column, &page(Encoding::DELTA_BYTE_ARRAY, 5, bytes.clone())).is_some());
            assert_eq!(bytes_of(column, &page(Encoding::DELTA_BYTE_ARRAY, 4, bytes.clone())), None);
        }
        assert_eq!(bytes_of(TEXTS, &page(Encoding::DELTA_LENGTH_BYTE_ARRAY, 4, lengths)), None);
    }

    /// The library decodes each of these in some way.
    #[test]
    fn runs_that_no_writer_writes_have_no_measure() {
        let indexes = |bytes: &[u8]| bytes_of(TEXTS, &page(Encoding::RLE_DICTIONARY, 4, bytes.to_vec()));
        assert_eq!(indexes(&[1, 8, 1]), Some(4 << 20), "four times the value with the index 1");
        // The length of the run has ten bytes, and a bit too many.
        assert_eq!(indexes(&[&[1, 0x88][..], &[0x80; 8], &[2, 1]].concat()), Some(4 << 20));
        assert_eq!(indexes(&[1, 0, 8, 1]), None, "a head of 0");
        assert_eq!(
            indexes(&[1, 0x82, 0x80, 0x80, 0x80, 0x20, 0, 6, 1]),
            None,
            "a length of more than 32 bits"
        );
        let nullable = Column { max_definition: 1, has_nulls: true, ..TEXTS };
        let levels = |level: u8| {
            let bytes = [&[2, 0, 0, 0, 8, level][..], &[1, 8, 1]].concat();
            bytes_of(nullable, &page(Encoding::RLE_DICTIONARY, 4, bytes))
        };
        assert_eq!((levels(0), levels(1), levels(2)), (Some(0), Some(4 << 20), None));
    }

    #[test]
    fn values_without_bytes_are_measured() {
        let empty = Column { width: Some(0), ..TEXTS };
        assert_eq!(bytes_of(empty, &page(Encoding::PLAIN, 4, Vec::new())), Some(0));
        assert_eq!(bytes_of(TEXTS, &page(Encoding::PLAIN, 4, Vec::new())), None, "lengths are missing");
    }

    #[test]
    fn an_empty_list_of_a_fixed_length_has_its_length_in_missing_values() {
        let list = Column { width: Some(8), list_values: 1 << 24, max_definition: 2, ..TEXTS };
        assert_eq!(list.missing_bytes(1), 8 << 24, "values that cannot be missing");
        assert_eq!(Column { has_nulls: true, ..list }.missing_bytes(1), 8, "one value");
    }
}
