//! Parquet files: each row is a record, which is handed on as a line of JSON with the columns that
//! the mapping of `[input]` would look at in a message. So columns, presets, dates and limits mean
//! the same as in JSON lines, and the stages behind know nothing of Parquet.
//!
//! In: a file that can be read at any place (the index stands at its end). Out: records in the order
//! of the rows, numbered from 1. A row that cannot be read costs only itself, where the file's pages
//! allow it ([`rows`]). Memory: one batch of rows of some [`BATCH_BYTES`], and the pages that it
//! stands in; a page is unpacked as a whole, and writers make them about a megabyte large. A value that
//! a dictionary holds once may be that of every row, so as many rows are read at once as have
//! [`DECODED_BYTES_MAX`] even so, or one.

mod columns;
mod json;
pub mod originals;
pub mod rows;
mod source;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::SchemaDescriptor;

use super::location::{Location, Stored, is_object};
use super::open::is_machine_error;

pub(super) use source::ParquetSource;

/// Bytes with which a Parquet file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";
/// Bytes of rows that are read at once, as the file says how large they are on average.
const BATCH_BYTES: u64 = 4 << 20;
/// Bytes that rows which are read at once may have at most, of columns whose values the file holds once for many rows.
const DECODED_BYTES_MAX: u64 = 64 << 20;
/// Rows that are read at once at most.
const BATCH_ROWS_MAX: usize = 1024;

/// Whether a file begins as a Parquet file does. Reads a few bytes, and moves no position.
///
/// # Errors
/// It cannot be read.
pub fn is_parquet(file: &Stored) -> io::Result<bool> {
    let mut start = [0; MAGIC.len()];
    Ok(file.read_at(&mut start, 0)? && start == *MAGIC)
}

/// A Parquet file whose index is read.
#[derive(Debug)]
pub struct ParquetFile {
    file: Stored,
    index: ArrowReaderMetadata,
}

/// Why something of a Parquet file cannot be read.
#[derive(Debug)]
pub enum Fault {
    /// The file is not as it should be.
    File(String),
    /// The machine cannot read it.
    Machine(io::Error),
}

impl ParquetFile {
    /// Reads the index of `file`.
    ///
    /// # Errors
    /// There is none, or it is broken.
    pub fn open(file: Stored) -> Result<Self, Fault> {
        let index = guarded(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()));
        let index = index.map_err(|fault| fault.or_failure_of(&file))?;
        let columns = index.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
        let is_read = |packing: &Compression| !matches!(packing, Compression::BROTLI(_) | Compression::LZO);
        if let Some(packing) = columns.map(ColumnChunkMetaData::compression).find(|packing| !is_read(packing))
        {
            let name = if packing == Compression::LZO { "LZO" } else { "Brotli" };
            return Err(Fault::File(format!(
                "its columns are compressed with {name}, which is not supported; write it with zstd, snappy, gzip or lz4"
            )));
        }
        Ok(Self { file, index })
    }

    /// The file at `path`, if it is a Parquet file; none if it is something else.
    ///
    /// # Errors
    /// It cannot be opened, or its index cannot be read.
    pub fn at(path: &Path) -> Result<Option<Self>, Fault> {
        let location = match is_object(path) {
            true => Location::object(path).map_err(Fault::Machine)?,
            false => Location::File(path.to_owned()),
        };
        let file = location.open().map_err(Fault::Machine)?;
        if is_parquet(&file).map_err(Fault::Machine)? { Self::open(file).map(Some) } else { Ok(None) }
    }

    /// Its columns as Arrow sees them.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.index.schema()
    }

    /// Its columns as Parquet writes them.
    #[must_use]
    pub fn parquet_schema(&self) -> &SchemaDescriptor {
        self.index.parquet_schema()
    }

    /// All that its index says.
    #[must_use]
    pub fn metadata(&self) -> &ParquetMetaData {
        self.index.metadata()
    }

    /// Rows of a row group. A broken index may say less than none.
    fn rows_of(&self, row_group: usize) -> u64 {
        u64::try_from(self.metadata().row_group(row_group).num_rows()).unwrap_or(0)
    }
}

impl Fault {
    /// The failure of the machine or a store that is behind this fault, where the library has only handed on its words.
    fn or_failure_of(self, file: &Stored) -> Self {
        file.failure().map_or(self, Self::Machine)
    }

    /// What is wrong with the file, or the machine's error.
    ///
    /// # Errors
    /// The machine cannot read.
    pub fn of_file(self) -> io::Result<String> {
        match self {
            Self::File(problem) => Ok(problem),
            Self::Machine(error) => Err(error),
        }
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) if is_of_machine(&error) => Self::Machine(error),
            ArrowError::ParquetError(problem) => Self::File(problem),
            error => Self::File(error.to_string()),
        }
    }
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) if is_of_machine(&error) => Self::Machine(*error),
                Ok(error) => Self::File(error.to_string()),
                Err(inner) => Self::File(inner.to_string()),
            },
            ParquetError::General(problem) | ParquetError::EOF(problem) => Self::File(problem),
            error => Self::File(error.to_string()),
        }
    }
}

/// What the operating system says has a number, what a store says is marked; all else the library has found out.
fn is_of_machine(error: &io::Error) -> bool {
    error.raw_os_error().is_some() || is_machine_error(error)
}

/// What `read` gives. The library may panic on a file that is made to break it: that is a fault of
/// the file as well, and the panic hook has written where.
fn guarded<T, E: Into<Fault>>(read: impl FnOnce() -> Result<T, E>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(Into::into),
        Err(_) => Err(Fault::File("the reader of Parquet fails on this file".to_owned())),
    }
}
