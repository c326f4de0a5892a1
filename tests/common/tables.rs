//! Parquet files for tests: written from JSON documents, and read back.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::WriterProperties;
use serde_json::Value;

/// The options for writing a file.
pub(crate) struct Layout {
    pub(crate) packing: Compression,
    pub(crate) row_group_rows: usize,
    /// Bytes of a page before compression.
    pub(crate) page_bytes: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self { packing: Compression::SNAPPY, row_group_rows: 64, page_bytes: 1 << 20 }
    }
}

/// Returns the documents as columns: strings `id`, `url`, `text`, a number `score`, and `fetched_at` where a
/// document has them. Adds columns that nobody reads: a list in a struct, and a column of few distinct
/// values.
pub(crate) fn table(documents: &[Value]) -> RecordBatch {
    let strings = |name: &str| -> ArrayRef {
        Arc::new(documents.iter().map(|document| document[name].as_str()).collect::<StringArray>())
    };
    let score = |document: &Value| document["score"].as_i64();
    let fetched_at = |document: &Value| {
        let day = document["fetched_at"].as_str()?.get(8..10)?.parse::<i64>().ok()?;
        Some((20_726 + day) * 86_400_000) // days since 1970 up to October 2026
    };
    let lists = (0..documents.len()).map(|number| {
        let number = i32::try_from(number).expect("small");
        (number % 5 > 0).then(|| vec![Some(number), None, Some(-number)])
    });
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
    let item = Arc::new(Field::new("list", lists.data_type().clone(), true));
    let few: DictionaryArray<Int32Type> =
        (0..documents.len()).map(|number| Some(["red", "green", "blue"][number % 3])).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(Int32Array::from_iter(0..i32::try_from(documents.len()).expect("small")))),
        ("id", strings("id")),
        ("nested", Arc::new(StructArray::from(vec![(item, lists)]))),
        ("url", strings("url")),
        ("text", strings("text")),
        ("score", Arc::new(documents.iter().map(score).collect::<Int64Array>())),
        ("fetched_at", Arc::new(documents.iter().map(fetched_at).collect::<TimestampMillisecondArray>())),
        ("few", Arc::new(few)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .expect("columns of one length")
}

/// Returns the table with an additional column of strings.
pub(crate) fn with_column(table: &RecordBatch, name: &str, strings: StringArray) -> RecordBatch {
    let fields = table.schema().fields().iter().cloned().collect::<Vec<_>>();
    let fields = [fields, vec![Arc::new(Field::new(name, DataType::Utf8, true))]].concat();
    let columns = [table.columns(), &[Arc::new(strings) as ArrayRef]].concat();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("columns of one length")
}

/// Writes a table, with key-value metadata.
pub(crate) fn write_table(path: &Path, table: &RecordBatch, layout: &Layout) {
    let properties = WriterProperties::builder()
        .set_compression(layout.packing)
        .set_max_row_group_row_count(Some(layout.row_group_rows))
        .set_data_page_size_limit(layout.page_bytes)
        .set_write_batch_size(8)
        // Texts are in separate pages, as in large files.
        .set_column_dictionary_enabled("text".into(), false)
        .set_column_dictionary_enabled("number".into(), false)
        .set_key_value_metadata(Some(vec![KeyValue::new("origin".to_owned(), "a test".to_owned())]))
        .build();
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties)).expect("a table");
    writer.write(table).expect("written");
    writer.close().expect("written");
}

/// Reads all rows of a file.
pub(crate) fn read_table(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("Parquet");
    reader.map(|batch| batch.expect("rows")).collect()
}

/// Reads the metadata of a file.
pub(crate) fn index(path: &Path) -> Arc<ParquetMetaData> {
    let file = File::open(path).expect("a file");
    Arc::clone(ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").metadata())
}

/// Reads the columns of a file.
pub(crate) fn schema(path: &Path) -> Schema {
    let file = File::open(path).expect("a file");
    ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").schema().as_ref().clone()
}

/// Returns the strings of a column, over all batches.
pub(crate) fn strings(batches: &[RecordBatch], name: &str) -> Vec<Option<String>> {
    let column = |batch: &RecordBatch| batch.column_by_name(name).expect("a column").clone();
    let values = batches.iter().map(column).flat_map(|column| {
        let column = column.as_any().downcast_ref::<StringArray>().expect("strings").clone();
        (0..column.len())
            .map(move |row| column.is_valid(row).then(|| column.value(row).to_owned()))
            .collect::<Vec<_>>()
    });
    values.collect()
}

/// Returns the numbers of a column, over all batches.
pub(crate) fn floats(batches: &[RecordBatch], name: &str) -> Vec<Option<f64>> {
    let column = |batch: &RecordBatch| batch.column_by_name(name).expect("a column").clone();
    let values = batches.iter().map(column).flat_map(|column| {
        column.as_any().downcast_ref::<Float64Array>().expect("numbers").iter().collect::<Vec<_>>()
    });
    values.collect()
}

/// Returns the row numbers, a column of [`table`].
pub(crate) fn numbers(batches: &[RecordBatch]) -> Vec<usize> {
    let column = |batch: &RecordBatch| {
        let column = batch.column_by_name("number").expect("a column").clone();
        let column = column.as_any().downcast_ref::<Int32Array>().expect("numbers").clone();
        column.values().iter().map(|number| usize::try_from(*number).expect("positive")).collect::<Vec<_>>()
    };
    batches.iter().flat_map(column).collect()
}

/// Returns the rows of `table` with these numbers.
pub(crate) fn rows(table: &RecordBatch, numbers: &[usize]) -> RecordBatch {
    let numbers: Int64Array = numbers.iter().map(|number| i64::try_from(*number).ok()).collect();
    arrow_select::take::take_record_batch(table, &numbers).expect("rows")
}

/// Joins batches into one.
pub(crate) fn joined(batches: &[RecordBatch], like: &RecordBatch) -> RecordBatch {
    arrow_select::concat::concat_batches(&like.schema(), batches).expect("one schema")
}

/// Returns the type of `fetched_at`.
pub(crate) fn moment() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, None)
}

/// Returns a column of integers, for tests that need a wrong type.
pub(crate) fn integers(rows: usize) -> ArrayRef {
    Arc::new(arrow_array::PrimitiveArray::<Int64Type>::from_iter(
        (0..rows).map(|row| i64::try_from(row).ok()),
    ))
}
