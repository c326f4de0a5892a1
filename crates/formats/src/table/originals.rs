//! Reads rows of a table again, by number, for copying.

use std::io;

use arrow_array::{Array, RecordBatch};

use super::columns::NamedColumns;
use super::{Chunk, Chunks, OpenTable};
use crate::originals::{Again, Content, Original, Originals, Row, RowParts};
use crate::source::rules::InputRules;

/// A reader that finds rows by number.
pub(crate) struct TableOriginals<R> {
    /// `None` if no row of the file can be read.
    rows: Option<R>,
    /// The columns whose values are needed. `None` if there are none.
    named: Option<NamedColumns>,
    /// The last chunk that was read.
    chunk: Option<Chunk>,
    again: Again,
}

impl<R: Chunks> TableOriginals<R> {
    /// Creates a reader of the rows of `table`.
    pub(crate) fn new(table: Option<impl OpenTable<Rows = R>>, rules: &InputRules, again: &Again) -> Self {
        let mut named = None;
        let rows = table.map(|table| {
            let columns = table.schema().fields();
            named = (!again.fields.is_empty()).then(|| NamedColumns::select(columns, rules, &again.fields));
            let mapped = rules.mapping.first_names().filter(|_| again.rows == RowParts::Mapped);
            let names = again.fields.iter().map(String::as_str).chain(mapped);
            let mut places: Vec<usize> = names.filter_map(|name| Some(columns.find(name)?.0)).collect();
            places.sort_unstable();
            places.dedup();
            let places = (again.rows != RowParts::Whole).then_some(&*places);
            table.rows(places, rules.limits.line_bytes_max)
        });
        Self { rows, named, chunk: None, again: again.clone() }
    }

    /// Returns row `number`, from 1, or `None` after the end.
    fn find(&mut self, number: u64) -> io::Result<Option<Original>> {
        let original = |content| Original { number, is_page: true, bytes: 0, content, json: None };
        let Some(rows) = &mut self.rows else { return Ok(Some(original(Content::Unreadable))) };
        let row = number.saturating_sub(1);
        while self.chunk.as_ref().is_none_or(|chunk| chunk.rows().end <= row) {
            rows.skip_towards(row);
            self.chunk = rows.next_chunk()?;
            if self.chunk.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(match &self.chunk {
            Some(Chunk::Rows { first, batch }) => {
                // The average of the batch.
                let bytes = (memory(batch) / batch.num_rows().max(1)) as u64;
                let at = usize::try_from(row - first).map_err(io::Error::other)?;
                let lost = |column: &str| self.again.count_without_json(column);
                let json = self.named.as_ref().and_then(|named| named.object(batch, at, lost));
                let content = Content::Row(Row { batch: batch.clone(), first: *first, at });
                Original { bytes, json, ..original(content) }
            }
            Some(Chunk::TooLarge { .. }) => original(Content::TooLarge),
            _ => original(Content::Unreadable),
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
        wanted.map_or(Ok(None), |number| self.find(number))
    }
}
