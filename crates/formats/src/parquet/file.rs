//! An open Parquet file with its index.

use std::io;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::SchemaDescriptor;

use super::index;
use crate::source::location::Stored;
use crate::source::record::FramingError;
use crate::table::{Fault, guarded};

/// An open Parquet file with its index.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    pub(super) file: Stored,
    pub(super) index: ArrowReaderMetadata,
}

impl ParquetFile {
    /// Reads the index of `file`.
    ///
    /// # Errors
    /// The index is missing or broken.
    pub(super) fn open(file: Stored) -> Result<Self, Fault> {
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

    /// Reads the index of `stored`, or returns the fault of its content.
    pub(super) fn or_error(stored: Option<Stored>) -> io::Result<Result<Self, FramingError>> {
        let Some(stored) = stored else { return Err(io::Error::other("Parquet is read at any position")) };
        match Self::open(stored) {
            Ok(file) => Ok(Ok(file)),
            Err(fault) => {
                let problem = fault.content_fault()?;
                Ok(Err(FramingError::BrokenTable { format: "Parquet", problem }))
            }
        }
    }

    /// Returns the columns as a Parquet schema.
    pub(super) fn parquet_schema(&self) -> &SchemaDescriptor {
        self.index.parquet_schema()
    }

    /// Returns the content of the index.
    pub(super) fn metadata(&self) -> &ParquetMetaData {
        self.index.metadata()
    }

    /// Returns the number of rows in a row group. A negative number in a broken index counts as 0.
    pub(super) fn rows_of(&self, row_group: usize) -> u64 {
        u64::try_from(self.metadata().row_group(row_group).num_rows()).unwrap_or(0)
    }
}

impl Fault {
    /// Returns the failure of the machine or a store that caused this fault, if there was one. The library
    /// passes on only its message.
    pub(super) fn or_machine_failure(self, file: &Stored) -> Self {
        file.failure().map_or(self, Self::Machine)
    }
}
