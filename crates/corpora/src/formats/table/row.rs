//! A row of a table that is found again.

use arrow_array::RecordBatch;

use super::json::JsonWriter;

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
