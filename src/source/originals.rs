//! An input read once more, record by record with its bytes as they are, for those who copy some.
//!
//! The records are cut by the same code as in the first reading, so their numbers are the same. A
//! copy of what that code reads is held until the record it belongs to is known. Memory: a record
//! of the longest kind and what is read ahead of it; the bytes of a longer record are let go.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::csv::Dialect;
use super::index::originals::IndexedOriginals;
use super::parquet::originals::RowOriginals;
use super::{Payload, Source};
use crate::page::config::PageConfig;
use crate::record::Place;

/// Bytes that may be read ahead of a record's end, and of a WARC record's head.
const READ_AHEAD_BYTES: usize = 8 << 20;

/// One record of the input.
#[derive(Debug)]
pub struct Original {
    /// Its number, as in its [`Place`].
    pub number: u64,
    /// How it is framed.
    pub framing: Framing,
    /// Whether it may hold a page.
    pub is_page: bool,
    /// Its bytes without line ends around it; none where it is too long or broken.
    pub bytes: Option<Vec<u8>>,
    /// Of a row of a table, the column that was asked for as a JSON object.
    pub json: Option<Vec<u8>>,
}

/// How records are told from one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One a line.
    Line,
    /// By the lengths in their heads.
    Warc,
    /// Line by line, but for line feeds in quotes; the first names the columns.
    Csv(Dialect),
    /// The whole input is one page.
    Page,
}

/// The records of one input.
pub enum Originals {
    /// One after the other.
    Records(RecordOriginals),
    /// The same of an index.
    Indexed(Box<IndexedOriginals>),
    /// By their numbers.
    Rows(Box<RowOriginals>),
}

/// The records of an input that is read from its beginning to its end.
pub struct RecordOriginals {
    source: Box<dyn Source>,
    /// How records are framed, if they are those of no WARC file.
    lines: Framing,
    held: Arc<Mutex<Held>>,
}

impl RecordOriginals {
    /// The records that `framed` cuts `unpacked` into.
    pub(super) fn new(
        unpacked: Box<dyn Read + Send>,
        lines: Framing,
        limits: &PageConfig,
        framed: impl FnOnce(Box<dyn Read + Send>) -> io::Result<Box<dyn Source>>,
    ) -> io::Result<Self> {
        let bytes_max = limits.line_bytes_max.max(limits.bytes_max) + READ_AHEAD_BYTES;
        let held = Arc::new(Mutex::new(Held::new(bytes_max)));
        let source = framed(Box::new(Copying { inner: unpacked, held: Arc::clone(&held) }))?;
        Ok(Self { source, lines, held })
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn next_record(&mut self) -> io::Result<Option<Original>> {
        let mut batch = Vec::new();
        // One byte is reached with the first record.
        while batch.is_empty() && self.source.read_batch(&mut batch, 1)? {}
        let Some(record) = batch.pop() else { return Ok(None) };
        debug_assert!(batch.is_empty(), "one record at a time");
        let mut held = lock(&self.held);
        let bytes = match &record.payload {
            Payload::Broken(_) => None,
            _ => held.get(&record.span),
        };
        held.let_go(record.span.end);
        let (number, framing) = match record.place {
            Place::Line { line, .. } => (line, self.lines),
            Place::Record { record, .. } if self.lines == Framing::Page => (record, Framing::Page),
            Place::Record { record, .. } => (record, Framing::Warc),
            Place::Message { offset, .. } => (offset, Framing::Line),
        };
        let is_page = !matches!(record.payload, Payload::NoPage);
        let json = match record.payload {
            Payload::Json(json) if matches!(framing, Framing::Csv(_)) => Some(json),
            _ => None,
        };
        Ok(Some(Original { number, framing, is_page, bytes, json }))
    }
}

/// Keeps a copy of what is read.
struct Copying {
    inner: Box<dyn Read + Send>,
    held: Arc<Mutex<Held>>,
}

impl Read for Copying {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        lock(&self.held).add(&buffer[..count]);
        Ok(count)
    }
}

/// The last bytes of an input.
struct Held {
    bytes: Vec<u8>,
    /// Where they begin in the input.
    start: u64,
    /// So many of them are let go already.
    gone: usize,
    bytes_max: usize,
}

impl Held {
    fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, gone: 0, bytes_max }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.bytes.len() - self.gone + bytes.len() > self.bytes_max {
            // A record this long is not copied.
            self.let_go(u64::MAX);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes at `span`, if all of them are held.
    fn get(&self, span: &Range<u64>) -> Option<Vec<u8>> {
        let index = |at: u64| usize::try_from(at.checked_sub(self.start)?).ok();
        let (from, to) = (index(span.start)?, index(span.end)?);
        if from < self.gone {
            return None;
        }
        self.bytes.get(from..to).map(<[u8]>::to_vec)
    }

    fn let_go(&mut self, until: u64) {
        let count = usize::try_from(until.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.gone = count.clamp(self.gone, self.bytes.len());
        // Each byte is moved at most once for as many bytes that went.
        if self.gone * 2 > self.bytes.len() {
            self.bytes.drain(..self.gone);
            self.start += self.gone as u64;
            self.gone = 0;
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
    fn bytes_are_held_until_they_are_let_go() {
        let mut held = Held::new(100);
        held.add(b"one\ntwo\nthree\n");
        assert_eq!(held.get(&(0..3)).as_deref(), Some(&b"one"[..]));
        held.let_go(3);
        assert_eq!(held.get(&(0..3)), None);
        assert_eq!(held.get(&(4..7)).as_deref(), Some(&b"two"[..]));
        held.let_go(7);
        held.add(b"four\n");
        assert_eq!(held.get(&(8..13)).as_deref(), Some(&b"three"[..]));
        assert_eq!(held.get(&(14..18)).as_deref(), Some(&b"four"[..]));
        assert_eq!(held.get(&(14..20)), None, "not read yet");
        held.add(&[b'x'; 99]);
        assert_eq!(held.get(&(8..13)), None, "more is not held");
    }
}
