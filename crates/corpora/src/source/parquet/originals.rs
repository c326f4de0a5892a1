//! Reads rows of a Parquet file again, by number, for copying.

use std::io;

use arrow_array::RecordBatch;

use super::ParquetFile;
use super::json::JsonWriter;
use super::rows::{Chunk, Rows};

/// A row with all columns that are read.
#[derive(Debug, Clone)]
pub struct Row {
    /// The batch that contains the row.
    pub batch: RecordBatch,
    /// The number of the batch's first row in the file, from 0.
    pub first: u64,
    /// The index of the row in the batch, from 0.
    pub at: usize,
    /// Memory use of the row: the average in its batch, in bytes.
    pub bytes: u64,
}

impl Row {
    /// Returns the row as a JSON object.
    #[must_use]
    pub fn json(&self) -> Vec<u8> {
        let mut json = JsonWriter::new(usize::MAX);
        let schema = self.batch.schema();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        json.object(names.zip(self.batch.columns()), self.at);
        json.json.into_bytes()
    }

    /// Returns a JSON object with only the named column, if there is one.
    #[must_use]
    pub fn json_of(&self, column: &str) -> Vec<u8> {
        let mut json = JsonWriter::new(usize::MAX);
        let named = self.batch.column_by_name(column).map(|values| (column, values));
        json.object(named.into_iter(), self.at);
        json.json.into_bytes()
    }
}

/// The reason why there is no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRow {
    /// The row, or a part of it, cannot be read.
    Unreadable,
    /// The row is larger than a row may be.
    TooLarge,
}

/// A reader that finds rows by number.
pub struct RowOriginals {
    /// `None` if no row of the file can be read.
    rows: Option<Rows>,
    /// The last chunk that was read.
    chunk: Option<Chunk>,
}

impl RowOriginals {
    /// Creates a reader of the rows of `file`, with all columns or only the named one.
    #[must_use]
    pub fn new(file: Option<ParquetFile>, column: Option<&str>, line_bytes_max: usize) -> Self {
        let rows = file.map(|file| {
            let place = |name| Vec::from_iter(file.schema().fields().find(name).map(|(at, _)| at));
            let places = column.map(place);
            Rows::new(file, places.as_deref(), line_bytes_max)
        });
        Self { rows, chunk: None }
    }

    /// Returns row `number`, from 1. Numbers must be requested in ascending order.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn find(&mut self, number: u64) -> io::Result<Result<Row, NoRow>> {
        let Some(rows) = &mut self.rows else { return Ok(Err(NoRow::Unreadable)) };
        let number = number.saturating_sub(1);
        while self.chunk.as_ref().is_none_or(|chunk| chunk.rows().end <= number) {
            rows.skip_towards(number);
            self.chunk = rows.next_chunk()?;
            if self.chunk.is_none() {
                return Ok(Err(NoRow::Unreadable));
            }
        }
        Ok(match &self.chunk {
            Some(Chunk::Rows { first, batch }) => {
                let bytes = batch.get_array_memory_size() / batch.num_rows().max(1);
                let at = usize::try_from(number - first).map_err(io::Error::other)?;
                Ok(Row { batch: batch.clone(), first: *first, at, bytes: bytes as u64 })
            }
            Some(Chunk::TooLarge { .. }) => Err(NoRow::TooLarge),
            _ => Err(NoRow::Unreadable),
        })
    }
}
