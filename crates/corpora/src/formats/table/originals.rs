//! Reads rows of a table again, by number, for copying.

use std::io;

use arrow_array::{Array, RecordBatch};

use super::row::Row;
use super::{Chunk, Chunks, Table};
use crate::formats::originals::{Content, Original, Originals};

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
