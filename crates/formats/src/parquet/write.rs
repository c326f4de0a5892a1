//! Writes Parquet files with the key-value metadata and compression of an input.
//!
//! A row group is written when it has as many rows as the input's largest row group, or [`ROW_GROUP_BYTES`]. Memory: a
//! compressed row group. Parts of a file are joined without decompressing their column chunks.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, SchemaRef};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{KeyValue, PageIndexPolicy, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type};

use super::Parquet;
use super::file::ParquetFile;
use crate::format::Format;
use crate::table::writer::{Layout, Output, RowWriter, WriteError, WrittenColumns};

/// Compressed size at which a row group is written. Until then it is held in memory.
const ROW_GROUP_BYTES: usize = 64 << 20;
/// Maximum number of rows in a row group, a common limit of other writers.
const ROW_GROUP_ROWS_MAX: usize = 1 << 20;

type Written = BufWriter<Output>;

/// The properties of a Parquet file.
#[derive(Debug)]
pub(crate) struct ParquetLayout {
    /// The columns in Parquet's terms.
    schema: SchemaDescriptor,
    /// The key-value metadata.
    metadata: Vec<KeyValue>,
    /// The compression of each column.
    compression: Vec<(ColumnPath, Compression)>,
    /// Number of rows in the largest row group.
    row_group_rows: usize,
}

impl ParquetLayout {
    /// Returns the layout of `file`.
    pub(super) fn from_file(file: &ParquetFile) -> Self {
        let index = file.metadata();
        let groups = index.row_groups();
        let compression = groups.iter().take(1).flat_map(RowGroupMetaData::columns);
        let rows = groups.iter().filter_map(|group| usize::try_from(group.num_rows()).ok());
        Self {
            schema: file.parquet_schema().clone(),
            metadata: index.file_metadata().key_value_metadata().cloned().unwrap_or_default(),
            compression: compression
                .map(|column| (column.column_path().clone(), column.compression()))
                .collect(),
            row_group_rows: rows.max().unwrap_or(0),
        }
    }

    /// Returns the layout of a new file with these columns.
    ///
    /// # Errors
    /// Parquet has no such columns.
    pub(crate) fn for_columns(schema: &SchemaRef) -> Result<Self, WriteError> {
        let first = schema.fields().first().map_or("", |field| field.name());
        Ok(Self {
            schema: ArrowSchemaConverter::new().convert(schema)?,
            metadata: Vec::new(),
            compression: vec![(ColumnPath::from(first), Compression::ZSTD(ZstdLevel::default()))],
            row_group_rows: 0,
        })
    }

    fn arrow_writer(
        &self,
        columns: &WrittenColumns,
        output: Output,
    ) -> Result<ArrowWriter<Written>, WriteError> {
        let (written, schema) = (BufWriter::new(output), Arc::clone(&columns.schema));
        Ok(ArrowWriter::try_new_with_options(written, schema, self.options(columns)?)?)
    }

    fn options(&self, columns: &WrittenColumns) -> Result<ArrowWriterOptions, WriteError> {
        // The input's metadata about its Arrow types remains valid, unless columns are added.
        let knows_arrow = self.metadata.iter().any(|entry| entry.key == ARROW_SCHEMA_META_KEY);
        let is_rewritten = knows_arrow && !columns.added.is_empty();
        let metadata =
            self.metadata.iter().filter(|entry| !is_rewritten || entry.key != ARROW_SCHEMA_META_KEY);
        let metadata: Vec<_> = metadata.cloned().collect();
        let mut properties = WriterProperties::builder()
            .set_key_value_metadata((!metadata.is_empty()).then_some(metadata))
            .set_max_row_group_row_count(Some(match self.row_group_rows {
                0 => ROW_GROUP_ROWS_MAX,
                rows => rows.min(ROW_GROUP_ROWS_MAX),
            }));
        let written = |codec: Compression| match codec {
            // `LZ4` is the outdated framing of Hadoop, which readers interpret differently.
            Compression::LZ4 => Compression::LZ4_RAW,
            codec => codec,
        };
        if let Some((_, codec)) = self.compression.first() {
            properties = properties.set_compression(written(*codec));
        }
        for (column, codec) in &self.compression {
            properties = properties.set_column_compression(column.clone(), written(*codec));
        }
        let mut options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_schema_root(self.schema.root_schema().name().to_owned())
            .with_skip_arrow_metadata(!is_rewritten);
        if let Some(schema) = self.parquet_schema(columns)? {
            options = options.with_parquet_schema(schema);
        }
        Ok(options)
    }

    /// Returns the columns in Parquet's terms, including properties unknown to Arrow, such as JSON and
    /// enumerations. Returns `None` if the input has an outdated layout of columns that cannot be written.
    fn parquet_schema(&self, columns: &WrittenColumns) -> Result<Option<SchemaDescriptor>, WriteError> {
        let root = self.schema.root_schema();
        let mut fields: Vec<_> =
            columns.copied.iter().map(|at| Arc::clone(&root.get_fields()[*at])).collect();
        for column in &columns.added {
            fields.push(Arc::new(parquet_type(column)?));
        }
        let root = Type::group_type_builder(root.name()).with_fields(fields).build()?;
        let wanted = SchemaDescriptor::new(Arc::new(root));
        let written = ArrowSchemaConverter::new().convert(&columns.schema)?;
        let layout = |schema: &SchemaDescriptor| -> Vec<_> {
            let layout = |column: &parquet::schema::types::ColumnDescriptor| {
                (column.physical_type(), column.type_length(), column.max_def_level(), column.max_rep_level())
            };
            schema.columns().iter().map(|column| layout(column)).collect()
        };
        Ok((layout(&wanted) == layout(&written)).then_some(wanted))
    }
}

impl Layout for ParquetLayout {
    fn format_name(&self) -> &'static str {
        Parquet.name()
    }

    fn properties(&self) -> String {
        format!("{:?} {:?}", self.schema.root_schema(), self.metadata)
    }

    fn writer(&self, columns: &WrittenColumns, output: Output) -> Result<Box<dyn RowWriter>, WriteError> {
        Ok(Box::new(self.arrow_writer(columns, output)?))
    }

    fn join(&self, columns: &WrittenColumns, parts: &[PathBuf], output: Output) -> Result<(), WriteError> {
        let (mut joined, _) = self.arrow_writer(columns, output)?.into_serialized_writer()?;
        for part in parts {
            let mut add = || append(&File::open(part)?, &mut joined);
            add().map_err(|error| WriteError::Part { path: part.clone(), source: Box::new(error) })?;
        }
        joined.finish()?;
        Ok(())
    }
}

impl RowWriter for ArrowWriter<Written> {
    fn write(&mut self, rows: &RecordBatch) -> Result<(), WriteError> {
        Self::write(self, rows)?;
        if self.in_progress_size() >= ROW_GROUP_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the index after all rows.
    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        Self::finish(&mut self)?;
        self.sync()?;
        Ok(())
    }
}

/// Returns an added column in Parquet's terms.
fn parquet_type(column: &Field) -> Result<Type, WriteError> {
    let of = |physical| {
        Type::primitive_type_builder(column.name(), physical).with_repetition(Repetition::OPTIONAL)
    };
    let built = match column.data_type() {
        DataType::Int64 => of(PhysicalType::INT64),
        DataType::Boolean => of(PhysicalType::BOOLEAN),
        DataType::Float64 => of(PhysicalType::DOUBLE),
        _ => of(PhysicalType::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8),
    };
    Ok(built.build()?)
}

/// Adds the row groups of `part` to `writer`.
fn append<W: io::Write + Send>(part: &File, writer: &mut SerializedFileWriter<W>) -> Result<(), WriteError> {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    let index = reader.parse_and_finish(part)?;
    let pages = index.page_index();
    for (number, group) in index.row_groups().iter().enumerate() {
        let mut added = writer.next_row_group()?;
        for (at, column) in group.columns().iter().enumerate() {
            let closed = ColumnCloseResult {
                bytes_written: u64::try_from(column.compressed_size()).map_err(io::Error::other)?,
                rows_written: u64::try_from(group.num_rows()).map_err(io::Error::other)?,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: pages.and_then(|pages| pages.column_index(number, at)).cloned(),
                offset_index: pages.and_then(|pages| pages.offset_index(number, at)).cloned(),
            };
            added.append_column(part, closed)?;
        }
        added.close()?;
    }
    Ok(())
}
