//! Reads the rows of a Parquet file as a [`Source`].

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;

use super::ParquetFile;
use super::columns::{Columns, RowLine};
use super::rows::{Chunk, Rows};
use crate::source::location::Stored;
use crate::source::rules::InputRules;
use crate::source::{FramingError, Payload, ReadSoFar, Record, Skipped, Source, fill};
use leitong_base::record::Place;
use leitong_text::page::Page;

/// A source of the rows in one file.
pub(in crate::source) struct ParquetSource {
    input: Arc<str>,
    read: Arc<ReadSoFar>,
    state: State,
}

enum State {
    Reading {
        rows: Box<Rows>,
        columns: Columns,
        /// The current batch: the number of its first row, the batch, and the index of the next row.
        batch: Option<(u64, RecordBatch, usize)>,
        /// Rows that are too large, and not reported yet.
        too_large: Range<u64>,
    },
    /// The file cannot be read. The error is not yet reported.
    Broken(FramingError),
    Ended,
}

impl ParquetSource {
    /// Creates a source of the rows in `file`. Messages call it `input`. `read` counts bytes as rows are
    /// read.
    ///
    /// # Errors
    /// The machine cannot read the file. A fault of its content becomes a record instead.
    pub(in crate::source) fn new(
        file: Stored,
        input: Arc<str>,
        rules: &InputRules,
        read: Arc<ReadSoFar>,
    ) -> io::Result<Self> {
        let state = match ParquetFile::open(file) {
            Err(fault) => State::Broken(FramingError::BrokenParquet(fault.content_fault()?)),
            Ok(file) => match Columns::select(file.schema().fields(), rules) {
                Err(problem) => State::Broken(FramingError::WrongColumns(problem)),
                Ok(columns) => {
                    let line_bytes_max = rules.limits.line_bytes_max;
                    let rows = Box::new(Rows::new(file, Some(&columns.places()), line_bytes_max));
                    State::Reading { rows, columns, batch: None, too_large: 0..0 }
                }
            },
        };
        Ok(Self { input, read, state })
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        loop {
            let State::Reading { rows, columns, batch, too_large } = &mut self.state else {
                let State::Broken(error) = std::mem::replace(&mut self.state, State::Ended) else {
                    return Ok(None);
                };
                return Ok(Some(record(&self.input, 0, Payload::Broken(error))));
            };
            if let Some((first, rows, next)) = batch {
                if *next < rows.num_rows() {
                    let number = *first + *next as u64;
                    let url = || Page::made_up_url(&self.input, number + 1);
                    let payload = match columns.line(rows, *next, url) {
                        RowLine::Whole(line) => Payload::Json(line),
                        RowLine::Cut { json, bytes } => Payload::Head { json: Ok(json), bytes },
                        RowLine::NotUtf8(column) => Payload::Broken(FramingError::WrongColumns(format!(
                            "column {column:?} contains bytes here that are not UTF-8; to read pages in other encodings, \
                             use --html-column {column}"
                        ))),
                    };
                    *next += 1;
                    return Ok(Some(record(&self.input, number, payload)));
                }
                *batch = None;
            }
            if let Some(number) = too_large.next() {
                let error = FramingError::LargeRow { bytes_max: rows.row_bytes_max() };
                return Ok(Some(record(&self.input, number, Payload::Broken(error))));
            }
            match rows.next_chunk()? {
                None => self.state = State::Ended,
                Some(Chunk::Rows { first, batch: read }) => {
                    let bytes = rows.compressed_bytes_per_row() * read.num_rows() as u64;
                    self.read.bytes.fetch_add(bytes, Ordering::Relaxed);
                    *batch = Some((first, read, 0));
                }
                Some(Chunk::TooLarge { rows, .. }) => *too_large = rows,
                Some(Chunk::Lost { rows: lost, row_group, problem }) => {
                    let error =
                        FramingError::LostRows { rows: (lost.start + 1, lost.end), row_group, problem };
                    return Ok(Some(record(&self.input, lost.start, Payload::Broken(error))));
                }
            }
        }
    }
}

/// Creates the record of row `number`, from 0.
fn record(input: &Arc<str>, number: u64, payload: Payload) -> Record {
    let place = Place::Record { input: Arc::clone(input), record: number + 1 };
    Record { place, span: 0..0, payload }
}

impl Source for ParquetSource {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        // The rows of a file are available without waiting.
        fill(self, (batch, bytes_max), Self::next_record, |_| false)
    }

    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}
