//! Tests of damaged and hostile streams: no panic, no memory beyond what is there, and no other row is lost.

use std::io::Cursor;

use arrow_array::types::Int32Type;
use arrow_array::{DictionaryArray, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};

use super::*;

fn batch(rows: usize) -> RecordBatch {
    let texts: StringArray = (0..rows).map(|row| Some(format!("text {row}"))).collect();
    let few: DictionaryArray<Int32Type> = (0..rows).map(|row| Some(["a", "b"][row % 2])).collect();
    let columns: [(&str, ArrayRef); 2] = [("text", Arc::new(texts)), ("few", Arc::new(few))];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

/// Returns a stream with three batches, and the place where the second one begins.
fn stream() -> (Vec<u8>, usize) {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch(1).schema()).expect("a stream");
    writer.write(&batch(10)).expect("memory");
    let second = writer.get_ref().len();
    for _ in 0..2 {
        writer.write(&batch(10)).expect("memory");
    }
    (writer.into_inner().expect("memory"), second)
}

/// Returns the numbers of the rows that can be read, and the problems.
fn read(bytes: &[u8]) -> (Vec<u64>, Vec<String>) {
    let reader = BufReader::new(Box::new(Cursor::new(bytes.to_vec())) as Box<dyn Read + Send>);
    let file = match ArrowFile::open(reader).expect("memory") {
        Ok(file) => file,
        Err(error) => return (Vec::new(), vec![error.to_string()]),
    };
    let (mut rows, mut numbers, mut problems) = (file.rows(None, 0), Vec::new(), Vec::new());
    while let Some(chunk) = rows.next_chunk().expect("memory") {
        match chunk {
            Chunk::Rows { .. } => numbers.extend(chunk.rows()),
            Chunk::Lost { problem, .. } => problems.push(problem),
            Chunk::Broken { error, .. } => problems.push(error.to_string()),
            Chunk::TooLarge { .. } => panic!("{chunk:?}"),
        }
    }
    (numbers, problems)
}

#[test]
fn rows_before_a_cut_are_read() {
    let (whole, second) = stream();
    assert_eq!(read(&whole), ((0..30).collect(), Vec::new()));
    for length in 0..whole.len() {
        let (rows, problems) = read(&whole[..length]);
        assert!(length < second || rows.len() >= 10, "{length}");
        // A stream may end after any message.
        assert!(problems.len() <= 1 && rows.len() % 10 == 0, "{length}: {problems:?}");
    }
}

#[test]
fn any_changed_byte_costs_rows_and_nothing_else() {
    let (whole, _) = stream();
    for at in 0..whole.len() {
        for flipped in [0xff, 0x80, 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= flipped;
            let (rows, problems) = read(&damaged);
            assert!(rows.len() <= 1 << 20 && problems.len() <= 3, "{at}");
        }
    }
}

#[test]
fn lengths_that_are_claimed_cost_no_memory() {
    let (whole, second) = stream();
    let claims = |at: usize, bytes: &[u8]| {
        let mut damaged = whole.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        read(&damaged)
    };
    let (rows, problems) = claims(second + 4, &u32::MAX.to_le_bytes());
    assert!(rows.len() == 10 && problems[0].contains("description"), "{problems:?}");
    let (rows, problems) = claims(second + 4, &(HEAD_MAX - 1).to_le_bytes());
    assert!(rows.len() == 10 && problems[0].contains("ends early"), "{problems:?}");
}

/// A length that is allowed.
const HEAD_MAX: u32 = 64 << 20;

#[test]
fn compressed_columns_are_read_within_the_limit() {
    for codec in [CompressionType::ZSTD, CompressionType::LZ4_FRAME] {
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).expect("a codec");
        let batch = batch(200);
        let mut writer =
            StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).expect("a stream");
        (0..3).for_each(|_| writer.write(&batch).expect("memory"));
        let compressed = writer.into_inner().expect("memory");
        assert_eq!(read(&compressed), ((0..600).collect(), Vec::new()), "{codec:?}");
        let mut refused = 0;
        for at in 0..compressed.len() {
            let mut damaged = compressed.clone();
            damaged[at] ^= 0x40;
            let (rows, problems) = read(&damaged);
            assert!(rows.len() <= 1 << 20 && problems.len() <= 3, "{codec:?}, {at}");
            refused += problems.iter().filter(|problem| problem.contains("when decompressed")).count();
        }
        assert!(refused > 5, "{codec:?}: sizes that are claimed");
    }
}
