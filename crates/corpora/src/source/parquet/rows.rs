//! Reads the rows of a Parquet file in order, by row groups and batches, and skips rows that cannot be read.
//!
//! After an error, the batch is read again in smaller steps, which recovers all rows before the broken place.
//! To find the next readable row after it, the reader tries rows at doubling distances, and then bisects. A
//! broken page costs its rows and a few dozen attempts; a broken page header or dictionary costs the rest of
//! its row group. Invariant: each row is in exactly one [`Chunk`], and chunks are in order.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::basic::{Encoding, PageType, Type};
use parquet::column::page::PageReader;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::{BATCH_BYTES, BATCH_ROWS_MAX, DECODED_BYTES_MAX, Fault, ParquetFile, guarded};

/// The next part of a file.
#[derive(Debug)]
pub enum Chunk {
    /// Consecutive rows.
    Rows {
        /// The number of the first row, from 0.
        first: u64,
        /// The columns of the rows.
        batch: RecordBatch,
    },
    /// Rows that cannot be read.
    Lost {
        /// The numbers of the rows, from 0.
        rows: Range<u64>,
        /// The row group of the rows, from 0.
        row_group: usize,
        /// The reason.
        problem: String,
    },
}

impl Chunk {
    /// Returns the numbers of the rows, from 0.
    #[must_use]
    pub fn rows(&self) -> Range<u64> {
        match self {
            Self::Rows { first, batch } => *first..*first + batch.num_rows() as u64,
            Self::Lost { rows, .. } => rows.clone(),
        }
    }
}

/// A reader of rows.
pub struct Rows {
    file: ParquetFile,
    columns: ProjectionMask,
    row_group: usize,
    /// The number of the first row in the row group.
    group_start: u64,
    /// The next row, counted within the row group.
    next: u64,
    /// A reader positioned at the next row. `None` if it must be created.
    reader: Option<ParquetRecordBatchReader>,
    /// Batch size of the next reader, if it must be smaller than usual.
    step: Option<usize>,
}

impl Rows {
    /// Creates a reader for the columns with these indexes, or for all columns.
    #[must_use]
    pub fn new(file: ParquetFile, columns: Option<&[usize]>) -> Self {
        let columns = match columns {
            None => ProjectionMask::all(),
            Some(places) => ProjectionMask::roots(file.parquet_schema(), places.iter().copied()),
        };
        Self { file, columns, row_group: 0, group_start: 0, next: 0, reader: None, step: None }
    }

    /// Returns the file that is read.
    #[must_use]
    pub fn file(&self) -> &ParquetFile {
        &self.file
    }

    /// Returns the compressed size of the current row group, divided by its number of rows.
    #[must_use]
    pub fn compressed_bytes_per_row(&self) -> u64 {
        let row_groups = self.file.metadata().row_groups();
        let Some(group) = row_groups.get(self.row_group.min(row_groups.len().saturating_sub(1))) else {
            return 0;
        };
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        u64::try_from(group.compressed_size()).unwrap_or(0) / rows.max(1)
    }

    /// Moves on to the row group of row `number`, from 0, if that is further ahead.
    pub fn skip_towards(&mut self, number: u64) {
        while self.row_group < self.file.metadata().num_row_groups() && self.group_end() <= number {
            self.begin_next_group();
        }
    }

    /// Returns the next chunk, or `None` at the end.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        while self.row_group < self.file.metadata().num_row_groups() {
            if self.next >= self.file.rows_of(self.row_group) {
                self.begin_next_group();
                continue;
            }
            match self.next_batch() {
                Ok(batch) => {
                    let first = self.group_start + self.next;
                    self.next += batch.num_rows() as u64;
                    return Ok(Some(Chunk::Rows { first, batch }));
                }
                Err(fault) => {
                    let problem = fault.content_fault()?;
                    self.reader = None;
                    match self.step {
                        None => self.step = Some(BATCH_ROWS_MAX / 16),
                        Some(1) => return self.skip_broken(problem).map(Some),
                        Some(step) => self.step = Some(step.div_ceil(16)),
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the number of the first row after the row group. Saturates, because a broken index may claim
    /// any number.
    fn group_end(&self) -> u64 {
        self.group_start.saturating_add(self.file.rows_of(self.row_group))
    }

    fn begin_next_group(&mut self) {
        self.group_start = self.group_end();
        self.row_group += 1;
        self.next = 0;
        self.reader = None;
        self.step = None;
    }

    /// Reads the next batch of the row group.
    fn next_batch(&mut self) -> Result<RecordBatch, Fault> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.reader_at(self.next, self.step.unwrap_or_else(|| self.batch_rows()), None)?,
        };
        let batch = self.first_batch(&mut reader)?;
        self.reader = Some(reader);
        Ok(batch)
    }

    /// Finds the next readable row after the row at `next`, which cannot be read. Returns the rows between as
    /// lost.
    fn skip_broken(&mut self, problem: String) -> io::Result<Chunk> {
        let (mut broken, end) = (self.next, self.file.rows_of(self.row_group));
        let mut readable = end;
        let mut step = 1;
        while broken < end - 1 {
            let candidate = broken.saturating_add(step).min(end - 1);
            if self.is_readable(candidate)? {
                readable = candidate;
                break;
            }
            broken = candidate;
            step = step.saturating_mul(2);
        }
        while readable < end && readable - broken > 1 {
            let middle = broken + (readable - broken) / 2;
            if self.is_readable(middle)? { readable = middle } else { broken = middle }
        }
        let row = |number: u64| self.group_start.saturating_add(number);
        let rows = row(self.next)..row(readable);
        self.next = readable;
        self.step = None;
        Ok(Chunk::Lost { rows, row_group: self.row_group, problem })
    }

    fn is_readable(&self, row: u64) -> io::Result<bool> {
        let read = self.reader_at(row, 1, Some(1)).and_then(|mut reader| self.first_batch(&mut reader));
        match read {
            Ok(_) => Ok(true),
            Err(fault) => fault.content_fault().map(|_| false),
        }
    }

    /// Creates a reader that starts at `row` of the row group and reads batches of `step` rows, `rows_max`
    /// rows at most.
    fn reader_at(
        &self,
        row: u64,
        step: usize,
        rows_max: Option<usize>,
    ) -> Result<ParquetRecordBatchReader, Fault> {
        let file = self.file.file.try_clone().map_err(Fault::Machine)?;
        let reader = guarded(|| {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.file.index.clone())
                .with_row_groups(vec![self.row_group])
                .with_projection(self.columns.clone())
                .with_batch_size(step);
            let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
            let builder = match (row, rows_max) {
                (0, None) => builder,
                (row, rows_max) => {
                    let rest = count(self.file.rows_of(self.row_group) - row);
                    let selected = rows_max.unwrap_or(rest).min(rest);
                    builder.with_row_selection(RowSelection::from(vec![
                        RowSelector::skip(count(row)),
                        RowSelector::select(selected),
                    ]))
                }
            };
            builder.build()
        });
        reader.map_err(|fault| fault.or_machine_failure(&self.file.file))
    }

    fn first_batch(&self, reader: &mut ParquetRecordBatchReader) -> Result<RecordBatch, Fault> {
        match guarded(|| reader.next().transpose())
            .map_err(|fault| fault.or_machine_failure(&self.file.file))?
        {
            Some(batch) if batch.num_rows() > 0 => Ok(batch),
            _ => Err(Fault::File("the row group ends before its last row".to_owned())),
        }
    }

    /// Returns the number of rows that have about [`BATCH_BYTES`].
    fn batch_rows(&self) -> usize {
        let group = self.file.metadata().row_group(self.row_group);
        let columns = group.columns().iter().enumerate();
        let read = columns.filter(|(at, _)| self.columns.leaf_included(*at)).map(|(_, column)| column);
        let bytes = read.map(|column| u64::try_from(column.uncompressed_size()).unwrap_or(0));
        let bytes = bytes.fold(1, u64::saturating_add);
        let rows = BATCH_BYTES.saturating_mul(self.file.rows_of(self.row_group)) / bytes;
        let rows = rows.min(DECODED_BYTES_MAX / self.value_bytes_max().max(1));
        usize::try_from(rows).unwrap_or(usize::MAX).clamp(1, BATCH_ROWS_MAX)
    }

    /// Returns the maximum size of a row's values in columns where the file may store a value once for many
    /// rows. With a dictionary, each row may have all bytes of the dictionary. With delta encoding, where
    /// values share prefixes, each row may have all bytes of the column.
    fn value_bytes_max(&self) -> u64 {
        let group = self.file.metadata().row_group(self.row_group);
        let columns = group.columns().iter().enumerate();
        let columns = columns.filter(|(at, _)| self.columns.leaf_included(*at)).map(|(_, column)| column);
        let bytes = columns.filter(|column| column.column_type() == Type::BYTE_ARRAY).map(|column| {
            let shares_beginnings = column.encodings().any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY);
            match shares_beginnings {
                true => u64::try_from(column.uncompressed_size()).unwrap_or(0),
                false => self.dictionary_bytes(column),
            }
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// Returns the decompressed size of the dictionary of a column in this row group, or 0 if it has none. A
    /// broken dictionary is reported when the column is read.
    fn dictionary_bytes(&self, column: &ColumnChunkMetaData) -> u64 {
        if column.dictionary_page_offset().is_none() {
            return 0;
        }
        let page = guarded(|| {
            let file = Arc::new(self.file.file.try_clone()?);
            let rows = usize::try_from(self.file.rows_of(self.row_group)).unwrap_or(usize::MAX);
            SerializedPageReader::new(file, column, rows, None)?.get_next_page()
        });
        match page {
            Ok(Some(page)) if page.page_type() == PageType::DICTIONARY_PAGE => page.buffer().len() as u64,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use arrow_array::{ArrayRef, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::source::location::Stored;

    /// A value that a dictionary contained once was copied for a thousand rows at the same time: a file of 3
    /// KB took 1.8 GB of memory.
    #[test]
    fn rows_that_share_a_large_value_are_read_in_small_batches() {
        const VALUE_BYTES: usize = 4 << 20;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.parquet");
        let value = "x".repeat(VALUE_BYTES);
        let row: ArrayRef = Arc::new(StringArray::from_iter_values([&value]));
        let batch = RecordBatch::try_from_iter([("text", row)]).expect("a batch");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_page_size_limit(64 << 20)
            .build();
        let file = File::create(&path).expect("a file");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
        for _ in 0..100 {
            writer.write(&batch).expect("written");
        }
        writer.close().expect("written");
        assert!(path.metadata().expect("a file").len() < 100_000, "the value is stored once");
        let file = ParquetFile::open(Stored::File(File::open(&path).expect("a file"))).expect("its index");
        let mut rows = Rows::new(file, None);
        let (mut read, mut largest) = (0, 0);
        while let Some(chunk) = rows.next_chunk().expect("a file") {
            let Chunk::Rows { batch, .. } = chunk else { panic!("all can be read") };
            read += batch.num_rows();
            largest = largest.max(batch.num_rows());
        }
        // With the length in front of each value, 15 of them fit into 64 MiB.
        assert_eq!((read, largest), (100, 15));
    }
}
