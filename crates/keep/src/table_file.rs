//! Writes a table of documents with the columns and properties of the input.
//!
//! Rows are collected until the batch that they come from is finished, and written together. Memory: a batch, and what
//! the format collects.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::take::take_record_batch;

use super::annotate::{Added, Annotation, FIELDS, Value};
use super::parts::Parts;
use crate::formats::table::{Row, RowWriter, TableForm, WrittenColumns};
use crate::sink::{Extent, part};

/// A table that is being written.
pub(crate) struct TableFile {
    path: PathBuf,
    form: Arc<TableForm>,
    columns: WrittenColumns,
    writer: Option<Box<dyn RowWriter>>,
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
    /// if there are to be any. With `parts`, rows are written to these until the file is completed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn create(
        path: &Path,
        form: &Arc<TableForm>,
        added: Option<Added>,
        parts: Option<Parts>,
    ) -> anyhow::Result<Self> {
        let columns = columns(form, added);
        let writer = match parts {
            Some(_) => None,
            None => Some(form.layout.writer(&columns, part::create(path)?)?),
        };
        let added = added.into_iter().flat_map(Added::columns);
        let rows =
            Rows { added: added.map(|(_, value)| AddedColumn::new(value)).collect(), ..Rows::default() };
        Ok(Self { path: path.to_owned(), form: Arc::clone(form), columns, writer, parts, rows })
    }

    /// Returns the path of the file.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one row of input `input`. `annotation` is used if the file has columns for it.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub(crate) fn write(
        &mut self,
        input: usize,
        row: &Row,
        annotation: &Annotation<'_>,
    ) -> anyhow::Result<()> {
        if self.rows.batch.as_ref().is_none_or(|(of, first, _)| (*of, *first) != (input, row.first)) {
            self.write_rows()?;
            self.rows.batch = Some((input, row.first, row.batch.clone()));
        }
        self.rows.at.push(row.at as u64);
        self.rows.added.iter_mut().zip(annotation.row()).for_each(|(column, value)| column.push(value));
        Ok(())
    }

    /// Writes the collected rows.
    fn write_rows(&mut self) -> anyhow::Result<()> {
        let Some((_, _, batch)) = self.rows.batch.take() else { return Ok(()) };
        let taken = take_record_batch(&batch, &UInt64Array::from(std::mem::take(&mut self.rows.at)))?;
        let copied = self.columns.copied.iter().map(|at| Arc::clone(taken.column(*at)));
        let added = self.rows.added.iter_mut().map(AddedColumn::finish);
        let rows = RecordBatch::try_new(Arc::clone(&self.columns.schema), copied.chain(added).collect())?;
        if self.writer.is_none() {
            let part = self.parts.as_ref().context("the table is already complete")?;
            let file = File::create(part.next_path())?;
            self.writer = Some(self.form.layout.writer(&self.columns, file)?);
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(&rows))
    }

    /// Syncs all rows to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The rows cannot be written, or the file has no parts: without them, no run could continue it.
    pub(crate) fn extent(&mut self) -> anyhow::Result<Extent> {
        self.write_rows()?;
        let writer = self.writer.take();
        let parts = self.parts.as_mut().context("a table without parts cannot be continued")?;
        if let Some(writer) = writer {
            parts.end_one(writer.finish()?)?;
        }
        Ok(parts.extent())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        self.write_rows()?;
        if self.parts.is_some() {
            self.extent()?;
            let parts = self.parts.as_ref().map_or_else(Vec::new, Parts::paths);
            self.form.layout.join(&self.columns, &parts, part::create(&self.path)?)?;
        } else {
            self.writer.take().map(RowWriter::finish).transpose()?;
        }
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

/// Returns the columns of a file with the form `form`. With annotations, columns that an earlier run has added are
/// replaced.
fn columns(form: &TableForm, added: Option<Added>) -> WrittenColumns {
    let columns = form.schema.fields().iter().enumerate();
    let is_copied = |name: &str| added.is_none() || !FIELDS.contains(&name);
    let copied: Vec<usize> =
        columns.filter(|(_, column)| is_copied(column.name())).map(|(at, _)| at).collect();
    let added = added.into_iter().flat_map(Added::columns);
    let added: Vec<_> = added.map(|(name, value)| Field::new(name, arrow_type(value), true)).collect();
    let fields = copied.iter().map(|at| Arc::clone(&form.schema.fields()[*at]));
    let fields = fields.chain(added.iter().cloned().map(Arc::new)).collect::<Vec<_>>();
    let schema = Arc::new(Schema::new_with_metadata(fields, form.schema.metadata().clone()));
    WrittenColumns { schema, copied, added }
}
