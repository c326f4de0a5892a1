//! Reads the rows of a table as a [`Source`].

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;

use super::columns::{Columns, RowLine};
use super::{Chunk, Chunks, OpenTable};
use crate::source::record::{FramingError, Payload, ReadSoFar, Record, Source, fill};
use crate::source::rules::InputRules;
use leitong_base::record::Place;
use leitong_text::page::Page;

/// A source of the rows in one file.
pub(crate) struct TableSource<R> {
    input: Arc<str>,
    read: Arc<ReadSoFar>,
    state: Progress<R>,
}

enum Progress<R> {
    Reading {
        rows: Box<R>,
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

impl<R: Chunks> TableSource<R> {
    /// Creates a source of the rows in `table`, or of the error for which it cannot be read. Messages call it `input`. `read` counts bytes as rows are
    /// read.
    pub(crate) fn new(
        table: Result<impl OpenTable<Rows = R>, FramingError>,
        input: Arc<str>,
        rules: &InputRules,
        read: Arc<ReadSoFar>,
    ) -> Self {
        let state = match table {
            Err(error) => Progress::Broken(error),
            Ok(table) => match Columns::select(table.schema().fields(), rules) {
                Err(problem) => Progress::Broken(FramingError::WrongColumns(problem)),
                Ok(columns) => {
                    let line_bytes_max = rules.limits.line_bytes_max;
                    let rows = Box::new(table.rows(Some(&columns.places()), line_bytes_max));
                    Progress::Reading { rows, columns, batch: None, too_large: 0..0 }
                }
            },
        };
        Self { input, read, state }
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        loop {
            let Progress::Reading { rows, columns, batch, too_large } = &mut self.state else {
                let Progress::Broken(error) = std::mem::replace(&mut self.state, Progress::Ended) else {
                    return Ok(None);
                };
                return Ok(Some(record(&self.input, 0, Payload::Broken(error))));
            };
            if let Some((first, read, next)) = batch {
                if *next < read.num_rows() {
                    let number = *first + *next as u64;
                    let url = || Page::made_up_url(&self.input, number + 1);
                    let payload = match columns.line(read, *next, url) {
                        RowLine::Whole(line) => Payload::Json(line),
                        RowLine::Cut { json, bytes } => Payload::Head { json: Ok(json), bytes },
                        RowLine::TooLarge => {
                            Payload::Broken(FramingError::LargeRow { bytes_max: rows.row_bytes_max() })
                        }
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
                None => self.state = Progress::Ended,
                Some(Chunk::Rows { first, batch: read }) => {
                    let bytes = rows.stored_bytes_per_row() * read.num_rows() as u64;
                    self.read.bytes.fetch_add(bytes, Ordering::Relaxed);
                    *batch = Some((first, read, 0));
                }
                Some(Chunk::TooLarge { rows, .. }) => *too_large = rows,
                Some(Chunk::Lost { rows: lost, part, problem }) => {
                    let error = FramingError::LostRows { rows: (lost.start + 1, lost.end), part, problem };
                    return Ok(Some(record(&self.input, lost.start, Payload::Broken(error))));
                }
                Some(Chunk::Broken { first, error }) => {
                    self.state = Progress::Ended;
                    return Ok(Some(record(&self.input, first, Payload::Broken(error))));
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

impl<R: Chunks> Source for TableSource<R> {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        // The rows of a file are available without waiting.
        fill(self, (batch, bytes_max), Self::next_record, |_| false)
    }
}
