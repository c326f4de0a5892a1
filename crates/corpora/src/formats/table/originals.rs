//! Reads rows of a table again, by number, for copying.

use std::io;

use arrow_array::{Array, RecordBatch};

use super::json::JsonWriter;
use super::{Chunk, Chunks, Table};
use crate::formats::originals::{Content, Original, Originals};

/// A row with all columns that are read.
#[derive(Debug, Clone)]
pub(crate) struct Row {
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
    pub(crate) fn json(&self) -> Vec<u8> {
        let mut json = JsonWriter::new(usize::MAX);
        let schema = self.batch.schema();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        json.object(names.zip(self.batch.columns()), self.at);
        json.json.into_bytes()
    }

    /// Returns a JSON object with only the named column, if there is one.
    #[must_use]
    pub(crate) fn json_of(&self, column: &str) -> Vec<u8> {
        let mut json = JsonWriter::new(usize::MAX);
        let named = self.batch.column_by_name(column).map(|values| (column, values));
        json.object(named.into_iter(), self.at);
        json.json.into_bytes()
    }
}

/// A reader that finds rows by number.
pub(in crate::formats) struct TableOriginals<R> {
    /// `None` if no row of the file can be read.
    rows: Option<R>,
    /// The last chunk that was read.
    chunk: Option<Chunk>,
}

impl<R: Chunks> TableOriginals<R> {
    /// Creates a reader of the rows of `table`, with all columns or only the named one.
    pub(in crate::formats) fn new(
        table: Option<impl Table<Rows = R>>,
        column: Option<&str>,
        line_bytes_max: usize,
    ) -> Self {
        let rows = table.map(|table| {
            let place = |name| Vec::from_iter(table.schema().fields().find(name).map(|(at, _)| at));
            let places = column.map(place);
            table.rows(places.as_deref(), line_bytes_max)
        });
        Self { rows, chunk: None }
    }

    /// Returns row `number`, from 0, or `None` after the end.
    fn find(&mut self, number: u64) -> io::Result<Option<Content>> {
        let Some(rows) = &mut self.rows else { return Ok(Some(Content::Unreadable)) };
        while self.chunk.as_ref().is_none_or(|chunk| chunk.rows().end <= number) {
            rows.skip_towards(number);
            self.chunk = rows.next_chunk()?;
            if self.chunk.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(match &self.chunk {
            Some(Chunk::Rows { first, batch }) => {
                let bytes = memory(batch) / batch.num_rows().max(1);
                let at = usize::try_from(number - first).map_err(io::Error::other)?;
                Content::Row(Row { batch: batch.clone(), first: *first, at, bytes: bytes as u64 })
            }
            Some(Chunk::TooLarge { .. }) => Content::TooLarge,
            _ => Content::Unreadable,
        }))
    }
}

/// Returns the memory use of a batch in bytes, without what it shares with others.
fn memory(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    columns.map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}

impl<R: Chunks> Originals for TableOriginals<R> {
    fn next_record(&mut self, wanted: Option<u64>) -> io::Result<Option<Original>> {
        let Some(number) = wanted else { return Ok(None) };
        let content = self.find(number.saturating_sub(1))?;
        Ok(content.map(|content| Original { number, is_page: true, content, json: None }))
    }
}
