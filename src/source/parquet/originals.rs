//! Rows of a Parquet file once more, by their numbers, for those who copy some.

use std::io;

use arrow_array::RecordBatch;

use super::ParquetFile;
use super::json::JsonWriter;
use super::rows::{Chunk, Rows};

/// One row, with all columns that are read.
#[derive(Debug, Clone)]
pub struct Row {
    /// The rows that it was read with.
    pub batch: RecordBatch,
    /// The number of the first of these in the file, from 0.
    pub first: u64,
    /// Which of these it is, from 0.
    pub at: usize,
    /// Its bytes in memory, as those of its batch are on average.
    pub bytes: u64,
}

impl Row {
    /// The row as a JSON object.
    #[must_use]
    pub fn json(&self) -> Vec<u8> {
        let mut json = JsonWriter::new(usize::MAX);
        let schema = self.batch.schema();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        json.object(names.zip(self.batch.columns()), self.at);
        json.json.into_bytes()
    }
}

/// Finds rows.
pub struct RowOriginals {
    /// None where nothing of the file can be read.
    rows: Option<Rows>,
    /// What was read last.
    chunk: Option<Chunk>,
}

impl RowOriginals {
    /// Rows of `file` with the column of this name alone, or with all.
    #[must_use]
    pub fn new(file: Option<ParquetFile>, column: Option<&str>) -> Self {
        let rows = file.map(|file| {
            let place = |name| Vec::from_iter(file.schema().fields().find(name).map(|(at, _)| at));
            let places = column.map(place);
            Rows::new(file, places.as_deref())
        });
        Self { rows, chunk: None }
    }

    /// The row `number`, from 1, which is not before any that was asked for; none if it, or a part of
    /// it, cannot be read.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn find(&mut self, number: u64) -> io::Result<Option<Row>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let number = number.saturating_sub(1);
        while self.chunk.as_ref().is_none_or(|chunk| chunk.rows().end <= number) {
            rows.skip_towards(number);
            self.chunk = rows.next_chunk()?;
            if self.chunk.is_none() {
                return Ok(None);
            }
        }
        Ok(match &self.chunk {
            Some(Chunk::Rows { first, batch }) => {
                let bytes = batch.get_array_memory_size() / batch.num_rows().max(1);
                let at = usize::try_from(number - first).map_err(io::Error::other)?;
                Some(Row { batch: batch.clone(), first: *first, at, bytes: bytes as u64 })
            }
            _ => None,
        })
    }
}
