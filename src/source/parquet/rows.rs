//! Rows of a Parquet file in order, row group by row group and batch by batch, passing over those
//! that cannot be read.
//!
//! After an error the batch is read again in smaller steps, so that all rows before the broken
//! place are had. Behind it the next row that can be read is looked for in steps that double, and
//! then by halves: a broken page costs its rows and a few dozen attempts, a broken page head or
//! dictionary the rest of its row group. Invariant: each row is in exactly one [`Chunk`], and
//! chunks come in order.

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

/// What comes next of a file.
#[derive(Debug)]
pub enum Chunk {
    /// Rows that follow one another.
    Rows {
        /// The number of the first, from 0.
        first: u64,
        /// Their columns.
        batch: RecordBatch,
    },
    /// Rows that cannot be read.
    Lost {
        /// Their numbers, from 0.
        rows: Range<u64>,
        /// The row group that they are in, from 0.
        row_group: usize,
        /// Why.
        problem: String,
    },
}

impl Chunk {
    /// The numbers of its rows, from 0.
    #[must_use]
    pub fn rows(&self) -> Range<u64> {
        match self {
            Self::Rows { first, batch } => *first..*first + batch.num_rows() as u64,
            Self::Lost { rows, .. } => rows.clone(),
        }
    }
}

/// Reads rows.
pub struct Rows {
    file: ParquetFile,
    columns: ProjectionMask,
    row_group: usize,
    /// The number of the row group's first row.
    group_start: u64,
    /// The next row, counted in the row group.
    next: u64,
    /// Stands at the next row; none if it has to be made.
    reader: Option<ParquetRecordBatchReader>,
    /// Rows that the next reader reads at once, if they must be fewer than usual.
    step: Option<usize>,
}

impl Rows {
    /// The columns of `file` with these places among its columns, in their order; none: all.
    #[must_use]
    pub fn new(file: ParquetFile, columns: Option<&[usize]>) -> Self {
        let columns = match columns {
            None => ProjectionMask::all(),
            Some(places) => ProjectionMask::roots(file.parquet_schema(), places.iter().copied()),
        };
        Self { file, columns, row_group: 0, group_start: 0, next: 0, reader: None, step: None }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &ParquetFile {
        &self.file
    }

    /// Bytes of the row group that is being read, packed, for each of its rows.
    #[must_use]
    pub fn packed_bytes_per_row(&self) -> u64 {
        let row_groups = self.file.metadata().row_groups();
        let Some(group) = row_groups.get(self.row_group.min(row_groups.len().saturating_sub(1))) else {
            return 0;
        };
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        u64::try_from(group.compressed_size()).unwrap_or(0) / rows.max(1)
    }

    /// Goes to the row group of the row `number`, from 0, if that is further on.
    pub fn skip_towards(&mut self, number: u64) {
        while self.row_group < self.file.metadata().num_row_groups() && self.group_end() <= number {
            self.begin_next_group();
        }
    }

    /// What comes next; none at the end.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        while self.row_group < self.file.metadata().num_row_groups() {
            if self.next >= self.file.rows_of(self.row_group) {
                self.begin_next_group();
                continue;
            }
            match self.read_on() {
                Ok(batch) => {
                    let first = self.group_start + self.next;
                    self.next += batch.num_rows() as u64;
                    return Ok(Some(Chunk::Rows { first, batch }));
                }
                Err(fault) => {
                    let problem = fault.of_file()?;
                    self.reader = None;
                    match self.step {
                        None => self.step = Some(BATCH_ROWS_MAX / 16),
                        Some(1) => return self.pass_over_broken(problem).map(Some),
                        Some(step) => self.step = Some(step.div_ceil(16)),
                    }
                }
            }
        }
        Ok(None)
    }

    /// The number of the first row behind the row group. A broken index may claim any number.
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

    /// The next batch of the row group.
    fn read_on(&mut self) -> Result<RecordBatch, Fault> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.reader_at(self.next, self.step.unwrap_or_else(|| self.batch_rows()), None)?,
        };
        let batch = self.first_batch(&mut reader)?;
        self.reader = Some(reader);
        Ok(batch)
    }

    /// The row at `next` cannot be read: which is the next one that can?
    fn pass_over_broken(&mut self, problem: String) -> io::Result<Chunk> {
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
            Err(fault) => fault.of_file().map(|_| false),
        }
    }

    /// Reads from `row` of the row group on, in batches of `step` rows, so many rows at most.
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
        reader.map_err(|fault| fault.or_failure_of(&self.file.file))
    }

    fn first_batch(&self, reader: &mut ParquetRecordBatchReader) -> Result<RecordBatch, Fault> {
        match guarded(|| reader.next().transpose()).map_err(|fault| fault.or_failure_of(&self.file.file))? {
            Some(batch) if batch.num_rows() > 0 => Ok(batch),
            _ => Err(Fault::File("the row group ends before its last row".to_owned())),
        }
    }

    /// Rows that have some [`BATCH_BYTES`].
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

    /// Bytes that the values of one row may have, for columns that may hold a value more often than the file does:
    /// every row may have the whole dictionary's bytes, or, where values share beginnings, those of the column.
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

    /// Bytes of the dictionary of a column of the row group, unpacked; 0 if there is none. A broken one is told of
    /// when the column is read.
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

    /// A value that a dictionary holds once was copied for a thousand rows at once: a file of 3 KB took 1.8 GB.
    #[test]
    fn rows_that_share_a_large_value_are_read_a_few_at_once() {
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
        assert!(path.metadata().expect("a file").len() < 100_000, "the value is there once");
        let file = ParquetFile::open(Stored::File(File::open(&path).expect("a file"))).expect("its index");
        let mut rows = Rows::new(file, None);
        let (mut read, mut largest) = (0, 0);
        while let Some(chunk) = rows.next_chunk().expect("a file") {
            let Chunk::Rows { batch, .. } = chunk else { panic!("all can be read") };
            read += batch.num_rows();
            largest = largest.max(batch.num_rows());
        }
        // With the length that stands before each value, 15 of them have at most 64 MiB.
        assert_eq!((read, largest), (100, 15));
    }
}
