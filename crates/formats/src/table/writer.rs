//! Writes rows of inputs to new tables, with columns that are added.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use parquet::errors::ParquetError;
use thiserror::Error;

/// The reason why a table cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The rows do not fit the columns, or an Arrow file cannot be written.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A Parquet file cannot be written.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The machine fails.
    #[error(transparent)]
    Machine(#[from] io::Error),
    /// A part of the table cannot be added to it.
    #[error("cannot add {}", path.display())]
    Part {
        /// The path of the part.
        path: PathBuf,
        /// The reason.
        source: Box<Self>,
    },
    /// Rows are written to a table that is not begun, or was completed.
    #[error("the table is already complete")]
    NotBegun,
}

/// The file, or part of a file, to which a table is written.
pub(crate) type Output = Box<dyn Write + Send>;

/// The form of a file with typed columns.
#[derive(Debug)]
pub struct TableForm {
    /// The path of the input.
    pub path: PathBuf,
    /// The columns in Arrow's terms.
    pub schema: SchemaRef,
    /// The parts that only this format has, for writing.
    pub(crate) layout: Box<dyn Layout>,
}

impl TableForm {
    pub(crate) fn new(path: &Path, schema: SchemaRef, layout: Box<dyn Layout>) -> Self {
        Self { path: path.to_owned(), schema, layout }
    }

    /// Returns the names of the columns.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|column| column.name().clone()).collect()
    }

    /// Returns true if the rows of both fit into one file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.layout.format_name() == other.layout.format_name()
            && self.schema == other.schema
            && self.layout.properties() == other.layout.properties()
    }
}

/// The properties of a file that its format writes in addition to the columns.
pub(crate) trait Layout: fmt::Debug + Send + Sync {
    /// Returns the name of the format.
    fn format_name(&self) -> &'static str;

    /// Describes everything that files whose rows are joined must have in common, besides the columns.
    fn properties(&self) -> String;

    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written, or cannot have these columns.
    fn writer(&self, columns: &WrittenColumns, output: Output) -> Result<Box<dyn RowWriter>, WriteError>;

    /// Writes a file with the rows of `parts`, which were written before with the same columns.
    ///
    /// # Errors
    /// The parts cannot be read, or the file cannot be written.
    fn join(&self, columns: &WrittenColumns, parts: &[PathBuf], output: Output) -> Result<(), WriteError>;
}

/// The columns of a file that is written.
#[derive(Debug)]
pub(crate) struct WrittenColumns {
    /// All columns.
    pub schema: SchemaRef,
    /// The indexes of the input's columns that are copied. They come first.
    pub copied: Vec<usize>,
    /// The columns that are added, of texts, whole numbers, fractions or truth values.
    pub added: Vec<Field>,
}

/// A file that is being written.
pub(crate) trait RowWriter: Send {
    /// Writes rows.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write(&mut self, rows: &RecordBatch) -> Result<(), WriteError>;

    /// Completes the file.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish(self: Box<Self>) -> Result<(), WriteError>;
}

/// A writer of tables with the same columns: of a whole file, or of its parts one after the other.
pub struct TableWriter {
    form: Arc<TableForm>,
    columns: WrittenColumns,
    current: Option<Box<dyn RowWriter>>,
}

impl TableWriter {
    /// Creates a writer of rows of this form, with those columns for which `is_copied` is true, and these `added`
    /// ones.
    #[must_use]
    pub fn new(form: &Arc<TableForm>, is_copied: impl Fn(&str) -> bool, added: Vec<Field>) -> Self {
        let fields = form.schema.fields();
        let copied: Vec<usize> = (0..fields.len()).filter(|at| is_copied(fields[*at].name())).collect();
        let written = copied.iter().map(|at| Arc::clone(&fields[*at]));
        let written: Vec<_> = written.chain(added.iter().cloned().map(Arc::new)).collect();
        let schema = Arc::new(Schema::new_with_metadata(written, form.schema.metadata().clone()));
        let columns = WrittenColumns { schema, copied, added };
        Self { form: Arc::clone(form), columns, current: None }
    }

    /// Returns true if a file was begun and is not yet complete.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.current.is_some()
    }

    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written, or cannot have these columns.
    pub fn begin(&mut self, output: Box<dyn Write + Send>) -> Result<(), WriteError> {
        self.current = Some(self.form.layout.writer(&self.columns, output)?);
        Ok(())
    }

    /// Writes these rows of the input, with the values of the added columns.
    ///
    /// # Errors
    /// The rows cannot be written.
    pub fn write(
        &mut self,
        rows: &RecordBatch,
        added: impl Iterator<Item = ArrayRef>,
    ) -> Result<(), WriteError> {
        let copied = self.columns.copied.iter().map(|at| Arc::clone(rows.column(*at)));
        let rows = RecordBatch::try_new(Arc::clone(&self.columns.schema), copied.chain(added).collect())?;
        self.current.as_mut().ok_or(WriteError::NotBegun)?.write(&rows)
    }

    /// Completes the file, if one was begun.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        self.current.take().map_or(Ok(()), RowWriter::finish)
    }

    /// Writes a whole file with the rows of `parts`, which were written before with this writer or one like it.
    ///
    /// # Errors
    /// The parts cannot be read, or the file cannot be written.
    pub fn join(&self, parts: &[PathBuf], output: Box<dyn Write + Send>) -> Result<(), WriteError> {
        self.form.layout.join(&self.columns, parts, output)
    }
}
