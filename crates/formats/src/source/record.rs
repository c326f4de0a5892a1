//! Records of inputs that are not parsed yet, and the trait of all sources of them.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use super::frames::needs;
use super::machine_error::is_machine_error;
use leitong_base::record::{Cause, Place};
use leitong_text::page::WarcRecord;

/// The progress of reading the inputs, for display.
#[derive(Debug, Default)]
pub struct ReadSoFar {
    /// Number of bytes read from the files, before decompression.
    pub bytes: AtomicU64,
    /// Number of records read.
    pub records: AtomicU64,
    /// Inputs that were read completely and contained no record.
    without_records: Mutex<Vec<WithoutRecords>>,
}

/// An input that contained no record, with counts of everything that was skipped.
#[derive(Debug, Clone)]
pub struct WithoutRecords {
    /// The name of the input.
    pub name: Arc<str>,
    /// Counts of the data that was skipped.
    pub skipped: Skipped,
}

impl WithoutRecords {
    /// Returns true if the input is not empty, but has only blank lines or WARC records of other types.
    #[must_use]
    pub fn holds_something(&self) -> bool {
        self.skipped.blank_lines > 0 || self.skipped.warc_records.total() > 0
    }
}

/// Writes text such as `a.warc: no page in it, only WARC records of other types (3 request)`.
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
    /// Returns the inputs that were read completely and contained no record.
    #[must_use]
    pub fn without_records(&self) -> Vec<WithoutRecords> {
        self.without_records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds an input that contained no record.
    pub(super) fn note_without_records(&self, name: Arc<str>, skipped: Skipped) {
        if skipped.index_lines == 0 {
            let mut known = self.without_records.lock().unwrap_or_else(PoisonError::into_inner);
            known.push(WithoutRecords { name, skipped });
        }
    }
}

/// A record of the input, not yet parsed.
#[derive(Debug)]
pub struct Record {
    /// The place of the record.
    pub place: Place,
    /// The byte range of the record in the decompressed input, without surrounding line ends.
    pub span: Range<u64>,
    /// The content of the record.
    pub payload: Payload,
}

/// The content of a record.
#[derive(Debug)]
pub enum Payload {
    /// One line of JSON.
    Json(Vec<u8>),
    /// A WARC record with a page, or a whole file that is a page.
    Warc(Box<WarcRecord>),
    /// A JSON line above the size limit, with long strings cut.
    Head {
        /// The line with long strings cut, or the reason why it cannot be read.
        json: Result<Vec<u8>, String>,
        /// Size of the whole record in bytes.
        bytes: u64,
    },
    /// A WARC record that is not a page. Only returned if all records are requested.
    NoPage,
    /// A record that cannot be read because of a fault in the file format.
    Broken(FramingError),
}

impl Record {
    /// Returns the approximate memory use in bytes.
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

/// A fault in the file format of an input. It becomes a dead letter.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum FramingError {
    /// The compressed data is damaged or ends early. The rest of this gzip member, or zstd or lz4 frame, is lost.
    #[error("the compressed input {0}; fetch or write the file again, and run again")]
    BrokenCompression(String),
    /// A WARC record ends before its `Content-Length`.
    #[error("the WARC record of {url} ends early, after {found} of {expected} bytes; fetch the file again")]
    TruncatedWarc {
        /// `WARC-Target-URI` of the record.
        url: String,
        /// The length according to the header.
        expected: u64,
        /// The length that was found.
        found: u64,
    },
    /// A WARC record claims bytes that belong to other records.
    #[error(
        "the WARC record of {url} claims {expected} bytes, but another record begins after {found} and is \
         read; write the file again with correct lengths"
    )]
    WrongWarcLength {
        /// `WARC-Target-URI` of the record.
        url: String,
        /// The length according to the header.
        expected: u64,
        /// Number of bytes from the start of the content to the next record.
        found: u64,
    },
    /// There is no WARC record at this position.
    #[error("not a WARC record: {0}; reading continues at the next record")]
    BrokenWarc(String),
    /// A line in an index of WARC files does not name a record.
    #[error("the index names no record here: {0}; write the index again")]
    BrokenIndex(String),
    /// A record is not at the place that an index names.
    #[error("{0}; check --warc-base, or make index and WARC files match")]
    BrokenRange(String),
    /// A row of a CSV or TSV file, or the rest of the file, cannot be read.
    #[error("{0}")]
    BrokenCsv(String),
    /// A file with typed columns, or the rest of it, cannot be read.
    #[error("the {format} file cannot be read ({problem}); fetch or write it again")]
    BrokenTable {
        /// The name of the format, such as `Parquet`.
        format: &'static str,
        /// The reason.
        problem: String,
    },
    /// Some rows of a table cannot be read.
    #[error(
        "rows {} to {} ({part}) cannot be read ({problem}); reading continues after them; fetch or write the \
         file again",
        rows.0, rows.1
    )]
    LostRows {
        /// The first and last of the lost rows, from 1.
        rows: (u64, u64),
        /// The part of the file that contains the rows, such as `row group 3`.
        part: String,
        /// The reason.
        problem: String,
    },
    /// A row of a table takes too much memory.
    #[error(
        "the row is skipped, because it has more than {bytes_max} bytes when decoded; raise \
         page.line_bytes_max to read it"
    )]
    LargeRow {
        /// The maximum size.
        bytes_max: u64,
    },
    /// A table does not have the required columns.
    #[error("{0}")]
    WrongColumns(String),
    /// The input has a format that is not supported.
    #[error(
        "this is {0}, so the input is skipped; supported are JSON lines, WARC, CSV and TSV (by name), also \
         compressed with gzip, zstd or lz4, Parquet, Arrow and HTML"
    )]
    OtherFormat(&'static str),
}

impl FramingError {
    /// Returns the cause, for the dead letter.
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self {
            Self::BrokenCompression(_) | Self::TruncatedWarc { .. } => Cause::TruncatedInput,
            Self::WrongWarcLength { .. } | Self::BrokenWarc(_) => Cause::BrokenWarc,
            Self::BrokenIndex(_) | Self::BrokenRange(_) => Cause::BodyNotFound,
            Self::BrokenCsv(_) => Cause::BrokenCsv,
            Self::BrokenTable { .. } | Self::LostRows { .. } | Self::LargeRow { .. } => Cause::BrokenTable,
            Self::WrongColumns(_) => Cause::WrongType,
            Self::OtherFormat(_) => Cause::OtherFormat,
        }
    }
}

/// A stream of records. Faulty records are part of the stream; an error ends the run.
pub trait Source: Send {
    /// Waits for the next record and appends it to `batch`. Appends further records while they are available
    /// without waiting and the batch is smaller than `bytes`. Returns false at the end of the input.
    ///
    /// # Errors
    /// The input cannot be read any further.
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes: usize) -> io::Result<bool>;

    /// Returns counts of everything that was skipped so far.
    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}

/// Implements [`Source::read_batch`]: appends records from `next` until the next one might have to be waited
/// for, or the batch has `bytes_max` bytes.
pub(crate) fn fill<S>(
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

/// Counts of the parts of an input that are not pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Number of lines with only white space.
    pub blank_lines: u64,
    /// WARC records without a page, by type.
    pub warc_records: WarcTypes,
    /// Number of index lines that were skipped because of their status or media type.
    pub index_lines: u64,
}

/// Counts of WARC records by type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarcTypes([u64; WarcTypes::NAMES.len()]);

impl WarcTypes {
    /// The types of the standard, and a name for all others.
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

    /// Counts a record of the type `record_type`, given in lower case.
    pub fn count(&mut self, record_type: &str) {
        let place = Self::NAMES.iter().position(|name| *name == record_type);
        self.0[place.unwrap_or(Self::NAMES.len() - 1)] += 1;
    }

    /// Returns the total number of records.
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

/// Writes text such as `3 request, 1 warcinfo`.
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

/// Returns the error as a fault of the input's content, which becomes a record. Returns `None` for a fault of
/// the machine, which ends the run.
pub(crate) fn framing_error(error: &io::Error) -> Option<FramingError> {
    // `open::RawReader` wraps errors of the operating system. All others come from a decompressor.
    (!is_machine_error(error)).then(|| {
        let problem = error.to_string();
        match needs(&problem) {
            Some(format) => FramingError::OtherFormat(format),
            None => FramingError::BrokenCompression(match error.kind() {
                io::ErrorKind::UnexpectedEof => format!("ends early ({problem})"),
                _ => format!("is damaged ({problem})"),
            }),
        }
    })
}
