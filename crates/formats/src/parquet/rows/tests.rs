//! Tests of files with broken pages, headers and dictionaries, and with values too large for memory: no other row is
//! lost.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::ParquetMetaDataWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use super::*;
use crate::source::location::Stored;

const MIB: usize = 1 << 20;

fn properties() -> parquet::file::properties::WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_page_size_limit(64 * MIB)
}

fn write(folder: &Path, batches: &[RecordBatch], properties: WriterProperties) -> PathBuf {
    let path = folder.join("a.parquet");
    let file = File::create(&path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("written"));
    writer.close().expect("written");
    path
}

fn open(path: &Path) -> Rows {
    let file = ParquetFile::open(Stored::File(File::open(path).expect("a file"), 0)).expect("its index");
    Rows::new(file, None, 0)
}

/// Reads all rows. Returns the numbers of the rows that can be read, the numbers of the rows that are too large, and
/// the largest number of rows in a batch.
fn read(path: &Path) -> (Vec<u64>, Vec<u64>, usize) {
    let (mut rows, mut sound, mut large, mut most) = (open(path), Vec::new(), Vec::new(), 0);
    while let Some(chunk) = rows.next_chunk().expect("a file") {
        let numbers = chunk.rows();
        match chunk {
            Chunk::Rows { batch, .. } => {
                most = most.max(batch.num_rows());
                sound.extend(numbers);
            }
            Chunk::TooLarge { .. } => large.extend(numbers),
            other => panic!("{other:?}"),
        }
    }
    (sound, large, most)
}

fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn batch<const COLUMNS: usize>(columns: [(&str, ArrayRef); COLUMNS]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("a batch")
}

/// A value that a dictionary contains once must not be copied for a thousand rows at the same time: a file of 3 KB
/// would take 1.8 GB of memory.
#[test]
fn rows_that_share_a_large_value_are_read_in_small_batches() {
    let folder = tempfile::tempdir().expect("a folder");
    let value = "x".repeat(4 * MIB);
    let row = batch([("text", strings(&[&value]))]);
    let path = write(folder.path(), &vec![row; 100], properties().build());
    assert!(path.metadata().expect("a file").len() < 100_000, "the value is stored once");
    assert_eq!(read(&path), ((0..100).collect(), vec![], 1));
}

/// If a file loses its end while its rows are read, the rest must not look like a few faulty rows.
#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts: Vec<String> = (0..20_000_u64).map(|row| (row * row * 7_919).to_string()).collect();
    let row_groups = texts
        .chunks(1_000)
        .map(|texts| batch([("text", Arc::new(StringArray::from_iter_values(texts)) as ArrayRef)]));
    let one_a_group = properties().set_max_row_group_row_count(Some(1_000)).build();
    let path = write(folder.path(), &row_groups.collect::<Vec<_>>(), one_a_group);
    let bytes = path.metadata().expect("a file").len();
    let stored = Stored::File(File::open(&path).expect("a file"), bytes);
    let mut rows = Rows::new(ParquetFile::open(stored).expect("its index"), None, 0);
    assert!(rows.next_chunk().expect("whole").is_some());
    File::options().write(true).open(&path).expect("a file").set_len(bytes / 2).expect("shorter");
    let error = std::iter::from_fn(|| rows.next_chunk().transpose()).find_map(Result::err);
    assert!(error.expect("the end is missing").to_string().contains("became shorter"));
}

/// The library allocates memory for them, although the file stores a bit for each.
#[test]
fn missing_values_of_a_fixed_size_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let length = 30 * MIB as i32;
    let bytes = DataType::FixedSizeBinary(length);
    let list = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int32, true)), length / 4);
    for of_fixed_size in [bytes, list] {
        let missing = new_null_array(&of_fixed_size, 5);
        let batch = batch([("text", strings(&["a", "b", "c", "d", "e"])), ("fixed", missing)]);
        let path = write(folder.path(), &[batch], properties().build());
        let (sound, large, most) = read(&path);
        assert_eq!((sound.len(), large.len()), (5, 0), "{of_fixed_size}");
        assert!(most <= 2, "{of_fixed_size}: {most} rows of 30 MiB in a batch of 64 MiB");
    }
}

/// A single row with many references to a large value must not be decoded as a whole: a file of 3 KB would take several
/// GB.
#[test]
fn a_row_with_many_references_to_a_large_value_costs_only_itself() {
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let folder = tempfile::tempdir().expect("a folder");
        let value = "x".repeat(4 * MIB);
        // Decoded, the third row has more bytes than a string array can hold.
        let lengths = [1, 3, 600, 0, 2];
        let mut lists = ListBuilder::new(StringDictionaryBuilder::<Int32Type>::new());
        for count in lengths {
            lists.values().append_n(&value, count).expect("a value");
            lists.append(true);
        }
        lists.append_null();
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..6));
        let rows = batch([("id", ids), ("parts", Arc::new(lists.finish()))]);
        let path = folder.path().join("a.parquet");
        let properties = properties().set_writer_version(version).build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let file = File::create(&path).expect("a file");
        let mut writer = ArrowWriter::try_new_with_options(file, rows.schema(), options).expect("a writer");
        writer.write(&rows).expect("written");
        writer.close().expect("written");
        assert!(path.metadata().expect("a file").len() < 100_000, "the value is stored once");
        let (sound, large, _) = read(&path);
        assert_eq!((sound, large), (vec![0, 1, 3, 4, 5], vec![2]), "{version:?}");
    }
}

/// Returns the numbers of the rows that cannot be read.
fn lost(path: &Path) -> Vec<u64> {
    let mut rows = open(path);
    let chunks = std::iter::from_fn(|| rows.next_chunk().expect("a file"));
    chunks.filter(|chunk| matches!(chunk, Chunk::Lost { .. })).flat_map(|chunk| chunk.rows()).collect()
}

/// Replaces bytes that occur once in a file.
fn patch(path: &Path, from: &[u8], to: &[u8]) {
    let mut bytes = std::fs::read(path).expect("a file");
    let places: Vec<usize> = memchr::memmem::find_iter(&bytes, from).collect();
    assert_eq!(places.len(), 1);
    bytes[places[0]..][..to.len()].copy_from_slice(to);
    std::fs::write(path, bytes).expect("written");
}

/// If a row group has more rows than the index says, the surplus rows must not get the numbers of rows in the next row
/// group: two pages would have the same place.
#[test]
fn rows_that_the_index_does_not_count_cost_the_last_row_of_their_group() {
    // Number of rows in the pages, and number that the index claims, each with its encoding: twice the number, in seven
    // bits per byte.
    for (count, written, claimed, patched) in
        [(100, [0xc8, 1], 96, [0xc0, 1]), (2048, [0x80, 0x20], 1024, [0x80, 0x10])]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = batch([("text", strings(&vec!["x"; count + 90]))]);
        let properties = properties().set_max_row_group_row_count(Some(count)).build();
        let path = write(folder.path(), &[rows], properties);
        // The number of rows of a row group is followed by the field with its offset in the file (0x26). This
        // distinguishes the number from others.
        let [from, to] = [written, patched].map(|number| [&[0x16][..], &number, &[0x26]].concat());
        patch(&path, &from, &to);
        let mut reader = open(&path);
        let chunks: Vec<_> = std::iter::from_fn(|| reader.next_chunk().expect("a file")).collect();
        let numbers: Vec<u64> = chunks.iter().flat_map(Chunk::rows).collect();
        assert_eq!(numbers, (0..claimed + 90).collect::<Vec<_>>());
        assert_eq!(lost(&path), [claimed - 1]);
    }
}

/// If the rows that the index does not count are broken, too, the row group must not end without a message.
#[test]
fn broken_rows_that_the_index_does_not_count_cost_the_last_row_of_their_group() {
    let folder = tempfile::tempdir().expect("a folder");
    let values = [vec!["x"; 2047], vec!["surplus"]].concat();
    let plain = properties().set_compression(Compression::UNCOMPRESSED).set_dictionary_enabled(false);
    let plain = plain.set_statistics_enabled(EnabledStatistics::None).set_write_batch_size(1024);
    let path = write(folder.path(), &[batch([("text", strings(&values))])], plain.build());
    patch(&path, &[0x16, 0x80, 0x20, 0x26], &[0x16, 0x80, 0x10, 0x26]);
    patch(&path, b"surplus", b"\xffurplus");
    assert_eq!(lost(&path), [1023]);
}

/// The values of a damaged page are decoded up to the damage, so they must count: otherwise a file of 2 KB takes
/// several GB.
#[test]
fn values_before_the_damage_of_a_page_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let value = "x".repeat(4 * MIB);
    let rows: Vec<&str> =
        [(&*value, 96), ("y", 8), ("z", 8)].iter().flat_map(|(text, count)| [*text].repeat(*count)).collect();
    let plain = properties().set_compression(Compression::UNCOMPRESSED).set_write_batch_size(1024);
    let path = write(folder.path(), &[batch([("text", strings(&rows))])], plain.build());
    // The width of the indexes, then runs of 96, 8 and 8 of them. There is no value with the index 3.
    patch(&path, &[2, 0xc0, 1, 0, 0x10, 1, 0x10, 2], &[2, 0xc0, 1, 0, 0x10, 1, 0x10, 3]);
    let mut rows = open(&path);
    let mut most = 0;
    while let Some(chunk) = rows.next_chunk().expect("a file") {
        if let Chunk::Rows { batch, .. } = chunk {
            most = most.max(batch.num_rows());
        }
    }
    assert!(most <= 16, "{most} rows of 4 MiB at the same time");
    assert_eq!(lost(&path), (104..112).collect::<Vec<_>>());
}

/// The library takes any level above 0 for a value: a file of 2 MB took 2 GB, since such levels ended our measuring.
#[test]
fn values_with_a_level_above_the_greatest_are_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = strings(&vec![&*"x".repeat(4 * MIB); 96]);
    let batch = RecordBatch::try_from_iter_with_nullable([("text", rows, true)]).expect("a batch");
    let plain = properties().set_compression(Compression::UNCOMPRESSED).set_write_batch_size(1024);
    let path = write(folder.path(), &[batch], plain.build());
    // The length of the levels, then a run of 96 times 1.
    patch(&path, &[3, 0, 0, 0, 0xc0, 1, 1], &[3, 0, 0, 0, 0xc0, 1, 2]);
    assert_eq!(lost(&path), (0..96).collect::<Vec<_>>());
}

/// Memory must not be allocated for all values that a dictionary claims to have: a file of 200 bytes ended the process.
#[test]
fn a_dictionary_that_claims_too_many_values_costs_only_its_row_group() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = properties().set_compression(Compression::UNCOMPRESSED).set_write_batch_size(1024);
    let plain = plain.set_max_row_group_row_count(Some(80));
    // 80 values in the first row group, so their number takes two bytes in Thrift.
    let texts: Vec<String> = (0..81).map(|number| format!("text {number:02}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let path = write(folder.path(), &[batch([("text", strings(&texts))])], plain.build());
    // The header of a dictionary page: its sizes, the number of values (80), and the plain encoding.
    let head = |values: [u8; 2]| [&[0x4c, 0x15][..], &values, &[0x15, 0, 0x12, 0, 0]].concat();
    patch(&path, &head([0xa0, 1]), &head([0xfe, 0x7f]));
    let chunk = open(&path).next_chunk().expect("a file").expect("rows");
    let Chunk::Lost { rows, problem, .. } = chunk else { panic!("{chunk:?}") };
    assert_eq!(rows, 0..80);
    assert!(problem.contains("claims 8191 values"), "{problem}");
    assert_eq!(lost(&path), (0..80).collect::<Vec<_>>());
}

/// Lists within lists have an offset for each value and list, which must count: otherwise a file of 3 KB takes 4 GB.
#[test]
fn offsets_of_nested_lists_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let values = 1_100_000;
    let mut lists: ArrayRef = arrow_array::new_null_array(&arrow_schema::DataType::Utf8, values);
    for depth in 0..16 {
        let lengths = if depth < 15 { vec![1; values] } else { vec![values] };
        let item = arrow_schema::Field::new("item", lists.data_type().clone(), true);
        let mut of_numbers = ListBuilder::new(Int64Builder::new());
        for length in lengths {
            of_numbers.values().append_nulls(length);
            of_numbers.append(true);
        }
        let offsets = of_numbers.finish().offsets().clone();
        lists = Arc::new(ListArray::new(Arc::new(item), offsets, lists, None));
    }
    let path = write(folder.path(), &[batch([("lists", lists)])], properties().build());
    assert!(path.metadata().expect("a file").len() < 100_000, "the values are stored once");
    assert_eq!(read(&path), (vec![], vec![0], 0));
}

/// After a row that cannot be read, later rows must not be lost, nor more rows be read together than fit into memory.
#[test]
fn a_broken_row_between_large_ones_costs_only_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let value = "x".repeat(4 * MIB);
    let ids: Vec<String> = (0..72).map(|number| format!("id {number:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let rows = batch([("text", strings(&[&*value].repeat(72))), ("id", strings(&ids))]);
    let plain = properties().set_compression(Compression::UNCOMPRESSED).set_write_batch_size(1024);
    let plain = plain.set_column_dictionary_enabled("id".into(), false);
    let path = write(folder.path(), &[rows], plain.set_statistics_enabled(EnabledStatistics::None).build());
    patch(&path, b"id 40", b"id \xff0");
    assert_eq!(lost(&path), [40]);
}

/// Each column is within the limit, but a row has the values of all of them.
#[test]
fn the_columns_of_a_row_are_measured_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let (long, short) = ("x".repeat(30 * MIB), "y".to_owned());
    let values = [&long, &short, &long, &short];
    let column = |at: usize| strings(&values.map(String::as_str)[at..at + 2]);
    let rows = [
        batch([("a", column(0)), ("b", column(0)), ("c", column(0))]),
        batch([("a", column(0)), ("b", column(1)), ("c", column(0))]),
        batch([("a", column(0)), ("b", column(1)), ("c", column(1))]),
    ];
    let path = write(folder.path(), &rows, properties().build());
    let (sound, large, _) = read(&path);
    assert_eq!((sound, large), (vec![1, 2, 3, 4, 5], vec![0]));
}

/// The sizes in the index may be wrong, so a batch must not follow them alone: a thousand rows of any size would be
/// read together.
#[test]
fn a_row_group_that_claims_a_small_size_is_read_in_small_batches() {
    let folder = tempfile::tempdir().expect("a folder");
    let value = "x".repeat(MIB);
    let row = batch([("text", strings(&[&value]))]);
    let plain =
        properties().set_dictionary_enabled(false).set_data_page_size_limit(8 * MIB).set_write_batch_size(1);
    let path = write(folder.path(), &vec![row; 300], plain.build());
    let bytes = std::fs::read(&path).expect("a file");
    let index_bytes = u32::from_le_bytes(*bytes[bytes.len() - 8..].first_chunk().expect("a length")) as usize;
    let mut forged = bytes[..bytes.len() - 8 - index_bytes].to_vec();
    let index = open(&path).file.metadata().clone();
    let mut changed = index.clone().into_builder();
    let groups = changed.take_row_groups().into_iter().map(|group| {
        let columns = group.columns().iter().map(|column| {
            column.clone().into_builder().set_total_uncompressed_size(10).build().expect("a column")
        });
        group.clone().into_builder().set_column_metadata(columns.collect()).build().expect("a row group")
    });
    let changed = changed.set_row_groups(groups.collect()).build();
    ParquetMetaDataWriter::new(&mut forged, &changed).finish().expect("written");
    std::fs::write(&path, forged).expect("written");
    let (sound, large, most) = read(&path);
    assert_eq!((sound, large), ((0..300).collect(), vec![]));
    assert!(most <= 64, "{most} rows of a MiB at a time");
}

/// The measured size of rows is that of their values, in every encoding.
#[test]
fn rows_are_measured_in_every_encoding() {
    let lengths = |row: usize| (0..row % 4).map(move |at| (row * 31 + at * 17) % 300);
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..500 {
        for (at, length) in lengths(row).enumerate() {
            lists.values().append_option((at != 2).then(|| "z".repeat(length)));
        }
        lists.append(row % 7 != 0);
    }
    let parts: ArrayRef = Arc::new(lists.finish());
    let text = StringArray::from_iter((0..500).map(|row| (row % 5 != 0).then(|| "y".repeat(row % 90))));
    let rows = batch([("parts", parts), ("text", Arc::new(text))]);
    let expected: Vec<u64> = (0..500)
        .map(|row| {
            let values = lengths(row).enumerate().filter(|(at, _)| *at != 2).map(|(_, length)| length as u64);
            let entries = if row % 7 == 0 { 1 } else { (row % 4).max(1) };
            let list: u64 = if row % 7 == 0 { 0 } else { values.sum() };
            let text = if row % 5 == 0 { 0 } else { row % 90 };
            list + text as u64 + 8 * (entries as u64 + 1)
        })
        .collect();
    let with = |properties: parquet::file::properties::WriterPropertiesBuilder| {
        properties.set_data_page_row_count_limit(60).set_write_batch_size(20).build()
    };
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let plain = |encoding| {
            properties().set_writer_version(version).set_dictionary_enabled(false).set_encoding(encoding)
        };
        for properties in [
            properties().set_writer_version(version),
            plain(Encoding::PLAIN),
            plain(Encoding::DELTA_LENGTH_BYTE_ARRAY),
            plain(Encoding::DELTA_BYTE_ARRAY),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = write(folder.path(), std::slice::from_ref(&rows), with(properties));
            let rows = open(&path);
            let guard = rows.guard(Budget::None).expect("a file");
            let mut measured = vec![0; 500];
            for column in 0..2 {
                let pages = guard.pages(column).expect("pages");
                let mut costs = ChunkCosts::new(pages.column(), Box::new(pages));
                let mut row = 0;
                while let Some(run) = costs.next().expect("sound pages") {
                    for _ in 0..run.rows {
                        measured[row] += run.cost;
                        row += 1;
                    }
                }
                assert_eq!(row, 500);
            }
            assert_eq!(measured, expected, "{version:?}");
        }
    }
}
