//! Writes a table of documents with the columns and properties of the input.
//!
//! Rows are collected until the batch that they come from is finished, and written together. Memory: a batch, and what
//! the format collects.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field};
use arrow_select::take::take_record_batch;

use super::annotate::{self, Added, Annotation, Value};
use super::parts::Parts;
use crate::error::{Context, Result};
use crate::sink::summed::HashedFile;
use crate::sink::{Extent, part};
use leitong_formats::{Row, TableForm, TableWriter};

/// A table that is being written.
pub(crate) struct TableFile {
    path: PathBuf,
    writer: TableWriter,
    /// The file, or the part of it, that is being written.
    file: Option<HashedFile>,
    /// The parts that contain the rows until the file is completed. `None` if the run has no checkpoints.
    parts: Option<Parts>,
    rows: Rows,
}

/// Rows that are not yet written.
#[derive(Default)]
struct Rows {
    /// The index of the input, the number of the batch's first row, and the batch that contains the rows.
    batch: Option<(usize, u64, RecordBatch)>,
    at: Vec<u64>,
    /// The values for each column that is added.
    added: Vec<AddedColumn>,
}

impl TableFile {
    /// Begins the output `path` (`-` is standard output) with the form `form`, plus columns for annotations
    /// if there are to be any, which replace those of an earlier run. With `parts`, rows are written to these until the
    /// file is completed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn create(
        path: &Path,
        form: &Arc<TableForm>,
        added: Option<Added>,
        parts: Option<Parts>,
    ) -> Result<Self> {
        let is_copied = |name: &str| added.is_none() || !annotate::names().any(|added| added == name);
        let columns = || added.into_iter().flat_map(Added::columns);
        let fields = columns().map(|(name, value)| Field::new(name, arrow_type(value), true)).collect();
        let writer = TableWriter::new(form, is_copied, fields);
        let rows =
            Rows { added: columns().map(|(_, value)| AddedColumn::new(value)).collect(), ..Rows::default() };
        let mut table = Self { path: path.to_owned(), writer, file: None, parts, rows };
        if table.parts.is_none() {
            table.begin(part::create(path)?)?;
        }
        Ok(table)
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn begin(&mut self, file: File) -> Result<()> {
        let file = HashedFile::new(file);
        self.writer.begin(Box::new(file.clone()))?;
        self.file = Some(file);
        Ok(())
    }

    /// Completes the file that is being written and syncs it to disk. Returns the hash of its bytes; `None` if there is
    /// no such file.
    fn end(&mut self) -> Result<Option<u64>> {
        self.writer.finish()?;
        Ok(self.file.take().map(HashedFile::finish).transpose()?)
    }

    /// Writes one row of input `input`. `annotation` is used if the file has columns for it.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub(crate) fn write(&mut self, input: usize, row: &Row, annotation: &Annotation<'_>) -> Result<()> {
        if self.rows.batch.as_ref().is_none_or(|(of, first, _)| (*of, *first) != (input, row.first)) {
            self.write_rows()?;
            self.rows.batch = Some((input, row.first, row.batch.clone()));
        }
        self.rows.at.push(row.at as u64);
        self.rows.added.iter_mut().zip(annotation.row()).for_each(|(column, value)| column.push(value));
        Ok(())
    }

    /// Writes the collected rows.
    fn write_rows(&mut self) -> Result<()> {
        let Some((_, _, batch)) = self.rows.batch.take() else { return Ok(()) };
        let taken = take_record_batch(&batch, &UInt64Array::from(std::mem::take(&mut self.rows.at)))?;
        if let Some(parts) = self.parts.as_ref().filter(|_| self.file.is_none()) {
            self.begin(File::create(parts.next_path())?)?;
        }
        Ok(self.writer.write(&taken, self.rows.added.iter_mut().map(AddedColumn::finish))?)
    }

    /// Syncs all rows to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The rows cannot be written, or the file has no parts: without them, no run could continue it.
    pub(crate) fn extent(&mut self) -> Result<Extent> {
        self.write_rows()?;
        let hash = if self.parts.is_some() { self.end()? } else { None };
        let parts = self.parts.as_mut().context("a table without parts cannot be continued")?;
        if let Some(hash) = hash {
            parts.end_one(hash)?;
        }
        Ok(parts.extent())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.write_rows()?;
        if self.parts.is_none() {
            return self.end().map(drop);
        }
        self.extent()?;
        let parts = self.parts.as_ref().map_or_else(Vec::new, Parts::paths);
        let whole = HashedFile::new(part::create(&self.path)?);
        self.writer.join(&parts, Box::new(whole.clone()))?;
        whole.finish()?;
        Ok(())
    }
}

/// The values of a column that is added.
enum AddedColumn {
    Text(StringBuilder),
    Count(Int64Builder),
    Flag(BooleanBuilder),
    Share(Float64Builder),
}

impl AddedColumn {
    /// Creates a column for values like `value`.
    fn new(value: Value<'_>) -> Self {
        match value {
            Value::Text(_) => Self::Text(StringBuilder::new()),
            Value::Count(_) => Self::Count(Int64Builder::new()),
            Value::Flag(_) => Self::Flag(BooleanBuilder::new()),
            Value::Share(_) => Self::Share(Float64Builder::new()),
        }
    }

    fn push(&mut self, value: Value<'_>) {
        match (self, value) {
            (Self::Text(column), Value::Text(text)) => column.append_option(text),
            (Self::Count(column), Value::Count(count)) => {
                column.append_option(count.and_then(|count| i64::try_from(count).ok()));
            }
            (Self::Flag(column), Value::Flag(flag)) => column.append_option(flag),
            (Self::Share(column), Value::Share(share)) => column.append_option(share),
            _ => debug_assert!(false, "a value of another column"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(column.finish()),
            Self::Count(column) => Arc::new(column.finish()),
            Self::Flag(column) => Arc::new(column.finish()),
            Self::Share(column) => Arc::new(column.finish()),
        }
    }
}

/// Returns the type in Arrow's terms of a column with values like `value`.
fn arrow_type(value: Value<'_>) -> DataType {
    match value {
        Value::Text(_) => DataType::Utf8,
        Value::Count(_) => DataType::Int64,
        Value::Flag(_) => DataType::Boolean,
        Value::Share(_) => DataType::Float64,
    }
}
