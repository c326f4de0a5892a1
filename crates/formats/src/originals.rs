//! Reads an input again, record by record and with unchanged bytes, for copying.
//!
//! The same code as in the first reading splits the input into records, so their numbers agree. A copy of
//! what that code reads is kept until it is known which record it belongs to. Memory: the longest record
//! allowed, and what is read ahead of it. The bytes of a longer record are discarded.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;

use super::framing::Framing;
use crate::source::record::{Payload, Source};
use leitong_base::record::Place;
use leitong_text::page::PageConfig;

/// Number of bytes that may be read ahead, plus the header of a WARC record.
const READ_AHEAD_BYTES: usize = 8 << 20;

/// The parts of each record that are read again. Clones share their counts.
#[derive(Debug, Clone, Default)]
pub struct Again {
    /// The names of the top-level fields whose values are needed.
    pub(crate) fields: Vec<String>,
    /// The columns of tables that are read in addition to these fields.
    pub(crate) rows: RowParts,
    /// Number of values of these fields that cannot be written as JSON, by column.
    without_json: Arc<Mutex<BTreeMap<String, u64>>>,
}

/// The columns of tables that are read again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RowParts {
    /// No columns, because rows are not written.
    #[default]
    None,
    /// The columns of the first reading, by which the size of a row is known.
    Mapped,
    /// All columns, so that rows can be written.
    Whole,
}

impl Again {
    /// Reads only the top-level fields with these names.
    #[must_use]
    pub fn fields(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        names.dedup();
        Self { fields: names, ..Self::default() }
    }

    /// Also reads the columns of the first reading, by which the size of a row is known.
    #[must_use]
    pub fn with_sizes(self) -> Self {
        Self { rows: RowParts::Mapped, ..self }
    }

    /// Also reads all columns, so that rows can be written.
    #[must_use]
    pub fn with_rows(self) -> Self {
        Self { rows: RowParts::Whole, ..self }
    }

    /// Counts a value of `column` that cannot be written as JSON.
    pub(crate) fn count_without_json(&self, column: &str) {
        let mut counts = self.without_json.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(column.to_owned()).or_default() += 1;
    }

    /// Returns the number of values that cannot be written as JSON, by column.
    #[must_use]
    pub fn without_json(&self) -> BTreeMap<String, u64> {
        self.without_json.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The records of an input that is read again, unchanged.
pub trait Originals: Send {
    /// Returns the next record, or `None` at the end. A table has rows only: it returns the row with the number
    /// `wanted`, and no row if none is wanted. Numbers must be requested in ascending order.
    ///
    /// # Errors
    /// The machine or a store fails.
    fn next_record(&mut self, wanted: Option<u64>) -> io::Result<Option<Original>>;
}

/// One record of the input.
#[derive(Debug)]
pub struct Original {
    /// The number of the record, as in its [`Place`].
    pub number: u64,
    /// True if the record may contain a page.
    pub is_page: bool,
    /// The size of the record in bytes. For a row of a table, the average of its batch in memory.
    pub bytes: u64,
    /// The unchanged record.
    pub content: Content,
    /// The record as a JSON object, if that differs from its bytes. For a row, only the fields that are needed.
    pub(crate) json: Option<Vec<u8>>,
}

/// A row of a table, with all columns that are read.
#[derive(Debug, Clone)]
pub struct Row {
    /// The batch that contains the row.
    pub batch: RecordBatch,
    /// The number of the batch's first row in the file, from 0.
    pub first: u64,
    /// The index of the row in the batch, from 0.
    pub at: usize,
}

/// The content of a record.
#[derive(Debug)]
pub enum Content {
    /// The bytes without surrounding line ends.
    Bytes(Framing, Vec<u8>),
    /// A row of a table with typed columns.
    Row(Row),
    /// The record is too long.
    TooLarge,
    /// The row, or a part of it, cannot be read.
    Unreadable,
}

impl Original {
    /// Returns the content as a JSON object, if it is one. For a row, only the fields that are needed.
    #[must_use]
    pub fn json(&self) -> Option<&[u8]> {
        match (&self.json, &self.content) {
            (Some(json), _) => Some(json),
            (None, Content::Bytes(_, bytes)) => Some(bytes),
            (None, _) => None,
        }
    }
}

/// The records of an input that is read from start to end.
pub(crate) struct RecordOriginals {
    source: Box<dyn Source>,
    framing: Framing,
    held: Arc<Mutex<Held>>,
}

impl RecordOriginals {
    /// Creates a reader of the records into which `read` splits the input.
    pub(super) fn new(
        reader: BufReader<Box<dyn Read + Send>>,
        framing: Framing,
        limits: &PageConfig,
        read: impl FnOnce(BufReader<Box<dyn Read + Send>>) -> io::Result<Box<dyn Source>>,
    ) -> io::Result<Self> {
        let bytes_max = limits.line_bytes_max.max(limits.bytes_max) + READ_AHEAD_BYTES;
        let held = Arc::new(Mutex::new(Held::new(bytes_max)));
        let capacity = reader.capacity();
        let copying = Copying { inner: reader, held: Arc::clone(&held) };
        let mut reader = BufReader::with_capacity(capacity, Box::new(copying) as Box<dyn Read + Send>);
        // Formats look at the first bytes, which are in the inner buffer already.
        reader.fill_buf()?;
        let source = read(reader)?;
        Ok(Self { source, framing, held })
    }
}

impl Originals for RecordOriginals {
    fn next_record(&mut self, _: Option<u64>) -> io::Result<Option<Original>> {
        let mut batch = Vec::new();
        // A limit of one byte makes each batch end after its first record.
        while batch.is_empty() && self.source.read_batch(&mut batch, 1)? {}
        let Some(record) = batch.pop() else { return Ok(None) };
        debug_assert!(batch.is_empty(), "one record at a time");
        let mut held = lock(&self.held);
        let bytes = match &record.payload {
            Payload::Broken(_) => None,
            _ => held.get(&record.span),
        };
        held.discard(record.span.end);
        let (Place::Line { line: number, .. }
        | Place::Record { record: number, .. }
        | Place::Message { offset: number, .. }) = record.place;
        let is_page = !matches!(record.payload, Payload::NoPage);
        let json = match record.payload {
            Payload::Json(json) if matches!(self.framing, Framing::Csv(_)) => Some(json),
            // The values of fields are read from the line in which numbers without a value are null.
            Payload::Json(json) if bytes.as_ref().is_some_and(|bytes| *bytes != json) => Some(json),
            Payload::Head { json: Ok(json), .. } if bytes.is_none() => Some(json),
            _ => None,
        };
        let content = bytes.map_or(Content::TooLarge, |bytes| Content::Bytes(self.framing, bytes));
        let bytes = record.span.end - record.span.start;
        Ok(Some(Original { number, is_page, bytes, content, json }))
    }
}

/// A reader that keeps a copy of everything that is read.
struct Copying {
    inner: BufReader<Box<dyn Read + Send>>,
    held: Arc<Mutex<Held>>,
}

impl Read for Copying {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        lock(&self.held).add(&buffer[..count]);
        Ok(count)
    }
}

/// The bytes of an input that were read last.
struct Held {
    bytes: Vec<u8>,
    /// The position of `bytes` in the input.
    start: u64,
    /// Number of bytes at the start that are already discarded.
    discarded: usize,
    bytes_max: usize,
}

impl Held {
    fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, discarded: 0, bytes_max }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.bytes.len() - self.discarded + bytes.len() > self.bytes_max {
            // A record that is so long is not copied.
            self.discard(u64::MAX);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the bytes at `span`, if all of them are kept.
    fn get(&self, span: &Range<u64>) -> Option<Vec<u8>> {
        let index = |at: u64| usize::try_from(at.checked_sub(self.start)?).ok();
        let (from, to) = (index(span.start)?, index(span.end)?);
        if from < self.discarded {
            return None;
        }
        self.bytes.get(from..to).map(<[u8]>::to_vec)
    }

    fn discard(&mut self, until: u64) {
        let count = usize::try_from(until.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.discarded = count.clamp(self.discarded, self.bytes.len());
        // Removing bytes moves the rest, so it is done only when at least as many are removed as are moved.
        if self.discarded * 2 > self.bytes.len() {
            self.bytes.drain(..self.discarded);
            self.start += self.discarded as u64;
            self.discarded = 0;
        }
    }
}

fn lock(held: &Mutex<Held>) -> std::sync::MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Held;

    #[test]
    fn bytes_are_kept_until_they_are_discarded() {
        let mut held = Held::new(100);
        held.add(b"one\ntwo\nthree\n");
        assert_eq!(held.get(&(0..3)).as_deref(), Some(&b"one"[..]));
        held.discard(3);
        assert_eq!(held.get(&(0..3)), None);
        assert_eq!(held.get(&(4..7)).as_deref(), Some(&b"two"[..]));
        held.discard(7);
        held.add(b"four\n");
        assert_eq!(held.get(&(8..13)).as_deref(), Some(&b"three"[..]));
        assert_eq!(held.get(&(14..18)).as_deref(), Some(&b"four"[..]));
        assert_eq!(held.get(&(14..20)), None, "not read yet");
        held.add(&[b'x'; 99]);
        assert_eq!(held.get(&(8..13)), None, "at most 100 bytes are kept");
    }
}
