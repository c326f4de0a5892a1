//! Writes a Parquet file of documents with the columns, key-value metadata and compression of the input.
//!
//! Rows are collected until the batch that they come from is finished, and written together. A row group is
//! written when it has as many rows as the input's largest row group, or [`ROW_GROUP_BYTES`]. Memory: a
//! compressed row group, and a batch.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{SchemaDescriptor, Type};

use super::annotate::{Added, Annotation, FIELDS, Value};
use super::forms::TableForm;
use super::parts::{Hashed, Parts};
use crate::sink::{Extent, part};
use crate::source::parquet::originals::Row;

/// Compressed size at which a row group is written. Until then it is held in memory.
const ROW_GROUP_BYTES: usize = 64 << 20;
/// Maximum number of rows in a row group, a common limit of other writers.
const ROW_GROUP_ROWS_MAX: usize = 1 << 20;

type Written = BufWriter<Hashed<File>>;
type Writer = ArrowWriter<Written>;

/// A Parquet file that is being written.
pub(crate) struct TableFile {
    path: PathBuf,
    columns: Columns,
    options: ArrowWriterOptions,
    writer: Option<Writer>,
    /// The parts that contain the rows until the file is completed. `None` if the run has no checkpoints.
    parts: Option<Parts>,
    rows: Rows,
}

/// The columns of the file.
struct Columns {
    schema: SchemaRef,
    /// The indexes of the input's columns that are copied.
    copied: Vec<usize>,
    added: Option<Added>,
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
        form: &TableForm,
        added: Option<Added>,
        parts: Option<Parts>,
    ) -> anyhow::Result<Self> {
        let columns = Columns::new(form, added);
        let options = options(form, &columns)?;
        let added = added.into_iter().flat_map(Added::columns);
        let rows =
            Rows { added: added.map(|(_, value)| AddedColumn::new(value)).collect(), ..Rows::default() };
        let mut file = Self { path: path.to_owned(), columns, options, writer: None, parts, rows };
        if file.parts.is_none() {
            file.writer = Some(file.writer_to(part::create(path)?)?);
        }
        Ok(file)
    }

    fn writer_to(&self, file: File) -> anyhow::Result<Writer> {
        let schema = Arc::clone(&self.columns.schema);
        Ok(ArrowWriter::try_new_with_options(
            BufWriter::new(Hashed::new(file)),
            schema,
            self.options.clone(),
        )?)
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
            let part = self.parts.as_ref().context("a Parquet file is already complete")?;
            self.writer = Some(self.writer_to(File::create(part.next_path())?)?);
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.write(&rows)?;
        if writer.in_progress_size() >= ROW_GROUP_BYTES {
            writer.flush()?;
        }
        Ok(())
    }

    /// Syncs all rows to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The rows cannot be written, or the file has no parts: without them, no run could continue it.
    pub(crate) fn extent(&mut self) -> anyhow::Result<Extent> {
        self.write_rows()?;
        let writer = self.writer.take();
        let parts = self.parts.as_mut().context("a Parquet file without parts cannot be continued")?;
        if let Some(writer) = writer {
            parts.end_one(end(writer)?)?;
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
            let (mut joined, _) = self.writer_to(part::create(&self.path)?)?.into_serialized_writer()?;
            if let Some(parts) = &self.parts {
                parts.join(&mut joined)?;
            }
            joined.finish()?;
            to_disk(joined.inner())?;
        } else {
            self.writer.take().map(end).transpose()?;
        }
        Ok(())
    }
}

/// Writes the index after all rows, and syncs the file to disk. Returns the hash of the file.
fn end(mut writer: Writer) -> anyhow::Result<u64> {
    writer.finish()?;
    writer.sync()?;
    to_disk(writer.inner())?;
    Ok(writer.inner().get_ref().digest())
}

/// Syncs regular files to disk; pipes cannot be synced.
fn to_disk(written: &Written) -> anyhow::Result<()> {
    let file = written.get_ref().inner();
    if file.metadata()?.is_file() {
        file.sync_data()?;
    }
    Ok(())
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

/// Returns the column `name` with values like `value` in Parquet's terms.
fn parquet_type(name: &str, value: Value<'_>) -> anyhow::Result<Type> {
    let column =
        |physical| Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    let column = match value {
        Value::Text(_) => column(PhysicalType::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8),
        Value::Count(_) => column(PhysicalType::INT64),
        Value::Flag(_) => column(PhysicalType::BOOLEAN),
        Value::Share(_) => column(PhysicalType::DOUBLE),
    };
    Ok(column.build()?)
}

impl Columns {
    /// Creates the columns for `form`. With annotations, columns that an earlier run has added are replaced.
    fn new(form: &TableForm, added: Option<Added>) -> Self {
        let columns = form.schema.fields().iter().enumerate();
        let is_copied = |name: &str| added.is_none() || !FIELDS.contains(&name);
        let copied: Vec<usize> =
            columns.filter(|(_, column)| is_copied(column.name())).map(|(at, _)| at).collect();
        let new = added.into_iter().flat_map(Added::columns);
        let new = new.map(|(name, value)| Arc::new(Field::new(name, arrow_type(value), true)));
        let fields = copied.iter().map(|at| Arc::clone(&form.schema.fields()[*at])).chain(new);
        let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), form.schema.metadata().clone());
        Self { schema: Arc::new(schema), copied, added }
    }

    /// Returns the columns in Parquet's terms, including properties unknown to Arrow, such as JSON and
    /// enumerations. Returns `None` if the input has an outdated layout of columns that cannot be written.
    fn parquet_schema(&self, form: &TableForm) -> anyhow::Result<Option<SchemaDescriptor>> {
        let root = form.parquet_schema.root_schema();
        let mut fields: Vec<_> = self.copied.iter().map(|at| Arc::clone(&root.get_fields()[*at])).collect();
        for (name, value) in self.added.into_iter().flat_map(Added::columns) {
            fields.push(Arc::new(parquet_type(name, value)?));
        }
        let root = Type::group_type_builder(root.name()).with_fields(fields).build()?;
        let wanted = SchemaDescriptor::new(Arc::new(root));
        let written = ArrowSchemaConverter::new().convert(&self.schema)?;
        let layout = |schema: &SchemaDescriptor| -> Vec<_> {
            let layout = |column: &parquet::schema::types::ColumnDescriptor| {
                (column.physical_type(), column.type_length(), column.max_def_level(), column.max_rep_level())
            };
            schema.columns().iter().map(|column| layout(column)).collect()
        };
        Ok((layout(&wanted) == layout(&written)).then_some(wanted))
    }
}

fn options(form: &TableForm, columns: &Columns) -> anyhow::Result<ArrowWriterOptions> {
    // The input's metadata about its Arrow types remains valid, unless columns are added.
    let knows_arrow = form.metadata.iter().any(|entry| entry.key == ARROW_SCHEMA_META_KEY);
    let is_rewritten = knows_arrow && columns.added.is_some();
    let metadata = form.metadata.iter().filter(|entry| !is_rewritten || entry.key != ARROW_SCHEMA_META_KEY);
    let metadata: Vec<_> = metadata.cloned().collect();
    let mut properties = WriterProperties::builder()
        .set_key_value_metadata((!metadata.is_empty()).then_some(metadata))
        .set_max_row_group_row_count(Some(match form.row_group_rows {
            0 => ROW_GROUP_ROWS_MAX,
            rows => rows.min(ROW_GROUP_ROWS_MAX),
        }));
    let written = |codec: Compression| match codec {
        // `LZ4` is the outdated framing of Hadoop, which readers interpret differently.
        Compression::LZ4 => Compression::LZ4_RAW,
        codec => codec,
    };
    if let Some((_, codec)) = form.compression.first() {
        properties = properties.set_compression(written(*codec));
    }
    for (column, codec) in &form.compression {
        properties = properties.set_column_compression(column.clone(), written(*codec));
    }
    let mut options = ArrowWriterOptions::new()
        .with_properties(properties.build())
        .with_schema_root(form.parquet_schema.root_schema().name().to_owned())
        .with_skip_arrow_metadata(!is_rewritten);
    if let Some(schema) = columns.parquet_schema(form)? {
        options = options.with_parquet_schema(schema);
    }
    Ok(options)
}
