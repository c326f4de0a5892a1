//! Where pages come from: files, standard input and objects of stores ([`open`], [`location`]). (Messages of a
//! topic stay where the client has received them; the room `kafka` reads those.)
//!
//! A source only cuts its input into records and reads no more of them than fit the
//! limits. Making sense of a record is left to the CPU stages, which run in parallel.

pub mod csv;
pub mod fetch;
pub mod folders;
mod frames;
mod gzip;
pub mod index;
pub mod inputs;
pub mod json_lines;
pub mod location;
mod lz4;
#[cfg(feature = "s3")]
pub mod object;
pub mod open;
pub mod originals;
mod other_formats;
pub mod page_file;
pub mod parquet;
pub mod reading;
pub mod rules;
mod skim;
pub mod warc;
pub mod warc_folder;
mod window;

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use crate::page::warc::WarcRecord;
use crate::record::{Cause, Place};

/// How much of the inputs is read, for those who watch.
#[derive(Debug, Default)]
pub struct ReadSoFar {
    /// Bytes of the files, packed as they may be.
    pub bytes: AtomicU64,
    /// Records that were in them.
    pub records: AtomicU64,
    /// Inputs that are read to their end and had no record.
    without_records: Mutex<Vec<WithoutRecords>>,
}

/// An input in which no record was found, with all that was passed over in it.
#[derive(Debug, Clone)]
pub struct WithoutRecords {
    /// The input.
    pub name: Arc<str>,
    /// What is in it, if that is not nothing.
    pub skipped: Skipped,
}

impl WithoutRecords {
    /// Whether the input holds something, which no filter was to pass over.
    #[must_use]
    pub fn holds_something(&self) -> bool {
        self.skipped.blank_lines > 0 || self.skipped.warc_records.total() > 0
    }
}

/// Such as `a.warc: no page in it, only WARC records of other types (3 request)`.
impl fmt::Display for WithoutRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, skipped } = self;
        match skipped {
            Skipped { warc_records, .. } if warc_records.total() > 0 => {
                write!(f, "{name}: no page in it, only WARC records of other types ({warc_records})")
            }
            Skipped { blank_lines: 1.., .. } => write!(f, "{name}: no page in it, only blank lines"),
            _ => write!(f, "{name}: is empty"),
        }
    }
}

impl ReadSoFar {
    /// The inputs that are read to their end and had no record.
    #[must_use]
    pub fn without_records(&self) -> Vec<WithoutRecords> {
        self.without_records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes note of an input that had no record.
    fn note_without_records(&self, name: Arc<str>, skipped: Skipped) {
        if skipped.index_lines == 0 {
            let mut known = self.without_records.lock().unwrap_or_else(PoisonError::into_inner);
            known.push(WithoutRecords { name, skipped });
        }
    }
}

/// One record of the input, not yet made sense of.
#[derive(Debug)]
pub struct Record {
    /// Where it stands.
    pub place: Place,
    /// Its bytes in the unpacked input, without line ends around it.
    pub span: Range<u64>,
    /// What it holds.
    pub payload: Payload,
}

/// What a record holds.
#[derive(Debug)]
pub enum Payload {
    /// One line of JSON.
    Json(Vec<u8>),
    /// A response or conversion record of a WARC file, or a whole file that is a page.
    Warc(Box<WarcRecord>),
    /// A line of JSON of which long strings were cut, since it is above the limit.
    Head {
        /// What is left of it, or why it cannot be cut.
        json: Result<Vec<u8>, String>,
        /// Bytes of the whole record.
        bytes: u64,
    },
    /// A WARC record that is no page, for those who asked for all records.
    NoPage,
    /// A record that the input's framing left unreadable.
    Broken(FramingError),
}

impl Record {
    /// Bytes of memory that the record holds, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let payload = match &self.payload {
            Payload::Json(line) => line.len(),
            Payload::Warc(record) => record.content.len() + record.url.as_deref().map_or(0, str::len),
            Payload::Head { json, .. } => json.as_ref().map_or(0, Vec::len),
            Payload::NoPage | Payload::Broken(_) => 0,
        };
        payload + size_of::<Self>()
    }
}

/// A fault of the input's framing; goes to the dead letters.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum FramingError {
    /// The compressed stream is broken or ends early: what follows is lost.
    #[error("the compressed input breaks off ({0}); fetch or write the file again, then run the rest")]
    BrokenCompression(String),
    /// A WARC record ends before its `Content-Length`.
    #[error("the WARC record of {url} breaks off after {found} of {expected} bytes; fetch the file again")]
    TruncatedWarc {
        /// Its `WARC-Target-URI`.
        url: String,
        /// As its head says.
        expected: u64,
        /// As there are.
        found: u64,
    },
    /// A WARC record claims bytes that belong to others.
    #[error(
        "the WARC record of {url} claims {expected} bytes, and another record begins after {found}; reading goes on \
         there; write the file again with true lengths"
    )]
    WrongWarcLength {
        /// Its `WARC-Target-URI`.
        url: String,
        /// As its head says.
        expected: u64,
        /// Up to the next record.
        found: u64,
    },
    /// No WARC record begins here.
    #[error("no WARC record: {0}; skipped to the next one")]
    BrokenWarc(String),
    /// A line of an index of WARC files that names no record.
    #[error("the index names no record here: {0}; write the index again")]
    BrokenIndex(String),
    /// A record that is not where an index says.
    #[error("{0}; check --warc-base, or make index and WARC files match")]
    BrokenRange(String),
    /// A row of a CSV or TSV file, or all that follows, that cannot be read.
    #[error("{0}")]
    BrokenCsv(String),
    /// A Parquet file of which nothing can be read.
    #[error("the Parquet file cannot be read ({0}); fetch or write it again")]
    BrokenParquet(String),
    /// Rows of a Parquet file that cannot be read.
    #[error(
        "rows {} to {} (row group {row_group}) cannot be read ({problem}); reading goes on behind them; fetch or write the \
         file again",
        rows.0, rows.1
    )]
    LostRows {
        /// The first and the last of them, from 1.
        rows: (u64, u64),
        /// The row group that they are in, from 0.
        row_group: usize,
        /// Why.
        problem: String,
    },
    /// A table whose columns are not what they are to be read as.
    #[error("{0}")]
    WrongColumns(String),
    /// The input is of a format that is not read.
    #[error(
        "this is {0}; the input is skipped, since only JSON lines, WARC, CSV and TSV (by their names), plain or compressed \
         with gzip, zstd or lz4, and files of Parquet or HTML are read"
    )]
    OtherFormat(&'static str),
}

impl FramingError {
    /// The kind of fault.
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self {
            Self::BrokenCompression(_) | Self::TruncatedWarc { .. } => Cause::TruncatedInput,
            Self::WrongWarcLength { .. } | Self::BrokenWarc(_) => Cause::BrokenWarc,
            Self::BrokenIndex(_) | Self::BrokenRange(_) => Cause::BodyNotFound,
            Self::BrokenCsv(_) => Cause::BrokenCsv,
            Self::BrokenParquet(_) | Self::LostRows { .. } => Cause::BrokenParquet,
            Self::WrongColumns(_) => Cause::WrongType,
            Self::OtherFormat(_) => Cause::OtherFormat,
        }
    }
}

/// Records in order. Bad records are part of the stream; an error ends the run.
pub trait Source: Send {
    /// Appends the next record to `batch`, waiting for it, and further ones as long as they are
    /// at hand without waiting and the batch stays below `bytes`. False at the end of the input.
    ///
    /// # Errors
    /// The input cannot be read any more.
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes: usize) -> io::Result<bool>;

    /// What was passed over so far.
    fn skipped(&self) -> Skipped;
}

/// Appends records to `batch`, as [`Source::read_batch`] promises: those that `next` gives, until one
/// might have to be waited for, or the batch has `bytes_max` bytes.
fn fill<S>(
    source: &mut S,
    (batch, bytes_max): (&mut Vec<Record>, usize),
    mut next: impl FnMut(&mut S) -> io::Result<Option<Record>>,
    may_wait: impl Fn(&S) -> bool,
) -> io::Result<bool> {
    let mut bytes = 0;
    while bytes < bytes_max {
        let Some(record) = next(source)? else { return Ok(false) };
        bytes += record.bytes();
        batch.push(record);
        if may_wait(source) {
            break;
        }
    }
    Ok(true)
}

/// What a source passed over, since it is no page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Lines of white space only.
    pub blank_lines: u64,
    /// WARC records that hold no page.
    pub warc_records: WarcTypes,
    /// Lines of indexes that are not read by their statuses and media types.
    pub index_lines: u64,
}

/// WARC records by type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarcTypes([u64; WarcTypes::NAMES.len()]);

impl WarcTypes {
    /// The types of the standard, and all others.
    const NAMES: [&str; 9] = [
        "request",
        "metadata",
        "response",
        "resource",
        "revisit",
        "conversion",
        "warcinfo",
        "continuation",
        "of unknown types",
    ];

    /// Counts a record of the type `record_type`, in lower case.
    pub fn count(&mut self, record_type: &str) {
        let place = Self::NAMES.iter().position(|name| *name == record_type);
        self.0[place.unwrap_or(Self::NAMES.len() - 1)] += 1;
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl std::ops::AddAssign for WarcTypes {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
    }
}

/// Such as `3 request, 1 warcinfo`.
impl fmt::Display for WarcTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0.iter().zip(Self::NAMES).filter(|(count, _)| **count > 0);
        let named: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
        f.write_str(&named.join(", "))
    }
}

impl std::ops::AddAssign for Skipped {
    fn add_assign(&mut self, other: Self) {
        self.blank_lines += other.blank_lines;
        self.warc_records += other.warc_records;
        self.index_lines += other.index_lines;
    }
}

/// A reader's error, told apart: faults of the input's
/// contents are records, faults of the machine end the run.
pub(crate) fn framing_error(error: &io::Error) -> Option<FramingError> {
    // `open::RawReader` wraps what the operating system says; all else comes from a decompressor.
    (!open::is_machine_error(error)).then(|| FramingError::BrokenCompression(error.to_string()))
}
