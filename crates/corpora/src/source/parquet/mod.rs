//! Reads Parquet files. Each row becomes a JSON line with the columns that the mapping of `[input]` uses. So
//! columns, presets, dates and limits have the same meaning as in JSON lines, and later stages know nothing
//! of Parquet.
//!
//! In: a file that can be read at any position, because its index is at the end. Out: records in the order of the
//! rows, numbered from 1. If a row cannot be read, only that row is lost, as far as the structure of the file allows
//! it ([`rows`]). Memory: one batch of rows of about [`BATCH_BYTES`], and the Parquet pages that contain it. A page
//! is decompressed as a whole, up to [`PAGE_BYTES_MAX`](guard::PAGE_BYTES_MAX); writers usually make pages of about a
//! megabyte. A value that a dictionary contains once may occur in every row, or many times in one row. Therefore a
//! batch has at most as many rows as fit into [`DECODED_BYTES_MAX`] when they are decoded ([`costs`]), and a single
//! row above this limit is left out and reported.

mod columns;
mod compact;
mod costs;
mod guard;
mod heads;
mod index;
mod json;
pub(crate) mod originals;
mod plan;
pub(crate) mod rows;
mod runs;
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
use super::machine_error::is_machine_error;

pub(super) use source::ParquetSource;

/// The first and last bytes of a Parquet file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";
/// Size of a batch of rows in bytes, according to the average row size in the file.
const BATCH_BYTES: u64 = 4 << 20;
/// Maximum size of a row, and of a batch of rows, when it is decoded: a value that the file stores once counts as often
/// as it occurs. `page.line_bytes_max` applies instead if it is larger.
const DECODED_BYTES_MAX: u64 = 64 << 20;
/// Maximum number of rows in a batch.
const BATCH_ROWS_MAX: usize = 1024;

/// Returns true if a file begins like a Parquet file. Reads a few bytes, and does not move a file position.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn is_parquet(file: &Stored) -> io::Result<bool> {
    let mut start = [0; MAGIC.len()];
    Ok(file.read_at(&mut start, 0)? && start == *MAGIC)
}

/// An open Parquet file with its index.
#[derive(Debug)]
pub struct ParquetFile {
    file: Stored,
    index: ArrowReaderMetadata,
}

/// The reason why a part of a Parquet file cannot be read.
#[derive(Debug)]
pub enum Fault {
    /// The content of the file is faulty.
    File(String),
    /// The machine or the store fails.
    Machine(io::Error),
}

impl ParquetFile {
    /// Reads the index of `file`.
    ///
    /// # Errors
    /// The index is missing or broken.
    pub fn open(file: Stored) -> Result<Self, Fault> {
        let index = index::check(&file)
            .and_then(|()| guarded(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())));
        let index = index.map_err(|fault| fault.or_machine_failure(&file))?;
        let columns = index.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
        let is_read = |codec: &Compression| !matches!(codec, Compression::BROTLI(_) | Compression::LZO);
        if let Some(codec) = columns.map(ColumnChunkMetaData::compression).find(|codec| !is_read(codec)) {
            let name = if codec == Compression::LZO { "LZO" } else { "Brotli" };
            return Err(Fault::File(format!(
                "its columns are compressed with {name}, which is not supported; write it with zstd, snappy, gzip or lz4"
            )));
        }
        Ok(Self { file, index })
    }

    /// Opens the file at `path`. Returns `None` if it is not a Parquet file.
    ///
    /// # Errors
    /// The file cannot be opened, or its index cannot be read.
    pub fn at(path: &Path) -> Result<Option<Self>, Fault> {
        let location = match is_object(path) {
            true => Location::object(path).map_err(Fault::Machine)?,
            false => Location::File(path.to_owned()),
        };
        let file = location.open().map_err(Fault::Machine)?;
        if is_parquet(&file).map_err(Fault::Machine)? { Self::open(file).map(Some) } else { Ok(None) }
    }

    /// Returns the columns as an Arrow schema.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.index.schema()
    }

    /// Returns the columns as a Parquet schema.
    #[must_use]
    pub fn parquet_schema(&self) -> &SchemaDescriptor {
        self.index.parquet_schema()
    }

    /// Returns the content of the index.
    #[must_use]
    pub fn metadata(&self) -> &ParquetMetaData {
        self.index.metadata()
    }

    /// Returns the number of rows in a row group. A negative number in a broken index counts as 0.
    fn rows_of(&self, row_group: usize) -> u64 {
        u64::try_from(self.metadata().row_group(row_group).num_rows()).unwrap_or(0)
    }
}

impl Fault {
    /// Returns the failure of the machine or a store that caused this fault, if there was one. The library
    /// passes on only its message.
    fn or_machine_failure(self, file: &Stored) -> Self {
        file.failure().map_or(self, Self::Machine)
    }

    /// Returns the fault of the content, or fails with the error of the machine.
    ///
    /// # Errors
    /// The machine or the store failed.
    pub fn content_fault(self) -> io::Result<String> {
        match self {
            Self::File(problem) => Ok(problem),
            Self::Machine(error) => Err(error),
        }
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) if is_machine_fault(&error) => Self::Machine(error),
            ArrowError::ParquetError(problem) => Self::File(problem),
            error => Self::File(error.to_string()),
        }
    }
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) if is_machine_fault(&error) => Self::Machine(*error),
                Ok(error) => Self::File(error.to_string()),
                Err(inner) => Self::File(inner.to_string()),
            },
            ParquetError::General(problem) | ParquetError::EOF(problem) => Self::File(problem),
            error => Self::File(error.to_string()),
        }
    }
}

/// Returns true for errors of the machine: errors of the operating system, which have a number, and errors of a
/// store, which are marked. All other errors are faults of the file that the library found.
fn is_machine_fault(error: &io::Error) -> bool {
    error.raw_os_error().is_some() || is_machine_error(error)
}

/// Calls `read`. The library may panic on a malicious file. That counts as a fault of the content; the panic
/// hook has already logged where it happened.
fn guarded<T, E: Into<Fault>>(read: impl FnOnce() -> Result<T, E>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(Into::into),
        Err(_) => Err(Fault::File("the Parquet reader failed on this file".to_owned())),
    }
}
