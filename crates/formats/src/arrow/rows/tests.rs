//! Tests of damaged and hostile streams: no panic, no memory beyond what is there, and no other row is lost.

use std::io::Cursor;

use arrow_array::types::Int32Type;
use arrow_array::{DictionaryArray, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_ipc::{BodyCompression, BodyCompressionArgs, CompressionType};

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

/// Compresses the columns of all batches of a stream with zstd or LZ4. The first column is stored as it is.
fn packed(stream: &[u8], codec: CompressionType) -> Vec<u8> {
    let reader = BufReader::new(Box::new(Cursor::new(stream.to_vec())) as Box<dyn Read + Send>);
    let (mut messages, mut packed) = (Messages::new(reader).expect("memory"), Vec::new());
    while let Some(parts) = messages.next().expect("a message") {
        let (message, body) = (parts.message().expect("a message"), parts.body.as_ref().expect("small"));
        let dictionary = message.header_as_dictionary_batch();
        let batch = message.header_as_record_batch().or_else(|| dictionary.and_then(|batch| batch.data()));
        let (head, body) = match batch {
            None => (parts.head().to_vec(), Vec::new()),
            Some(batch) => pack(&message, batch, body, codec),
        };
        packed.extend_from_slice(&[0xff; 4]);
        packed.extend_from_slice(&u32::try_from(head.len()).expect("small").to_le_bytes());
        packed.extend_from_slice(&head);
        packed.extend_from_slice(&body);
    }
    packed
}

fn pack(
    message: &ipc::Message<'_>,
    batch: ipc::RecordBatch<'_>,
    body: &[u8],
    codec: CompressionType,
) -> (Vec<u8>, Vec<u8>) {
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    for (number, place) in batch.buffers().into_iter().flatten().enumerate() {
        let at = |number: i64| usize::try_from(number).expect("positive");
        let values = &body[at(place.offset())..at(place.offset() + place.length())];
        let (size, values) = match (number, codec) {
            (0, _) => (-1, values.to_vec()),
            (_, CompressionType::ZSTD) => (place.length(), zstd::encode_all(values, 1).expect("memory")),
            _ => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                std::io::Write::write_all(&mut encoder, values).expect("memory");
                (place.length(), encoder.finish().expect("memory"))
            }
        };
        let start = bytes.len();
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&values);
        let length = |count: usize| i64::try_from(count).expect("small");
        places.push(ipc::Buffer::new(length(start), length(bytes.len() - start)));
    }
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let places = builder.create_vector(&places);
    let nodes: Vec<ipc::FieldNode> = batch.nodes().into_iter().flatten().copied().collect();
    let nodes = builder.create_vector(&nodes);
    let compression =
        BodyCompression::create(&mut builder, &BodyCompressionArgs { codec, ..Default::default() });
    let mut fields = ipc::RecordBatchBuilder::new(&mut builder);
    fields.add_length(batch.length());
    fields.add_nodes(nodes);
    fields.add_buffers(places);
    fields.add_compression(compression);
    let mut header = fields.finish().as_union_value();
    if let Some(dictionary) = message.header_as_dictionary_batch() {
        let mut fields = ipc::DictionaryBatchBuilder::new(&mut builder);
        fields.add_id(dictionary.id());
        fields.add_data(flatbuffers::WIPOffset::new(header.value()));
        header = fields.finish().as_union_value();
    }
    let mut fields = ipc::MessageBuilder::new(&mut builder);
    fields.add_version(message.version());
    fields.add_header_type(message.header_type());
    fields.add_header(header);
    fields.add_bodyLength(i64::try_from(bytes.len()).expect("small"));
    let message = fields.finish();
    builder.finish(message, None);
    (builder.finished_data().to_vec(), bytes)
}

#[test]
fn compressed_columns_are_read_within_the_limit() {
    let (whole, _) = stream();
    for codec in [CompressionType::ZSTD, CompressionType::LZ4_FRAME] {
        let packed = packed(&whole, codec);
        assert_eq!(read(&packed), ((0..30).collect(), Vec::new()), "{codec:?}");
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 0xff;
            let (rows, problems) = read(&damaged);
            assert!(rows.len() <= 1 << 20 && problems.len() <= 3, "{codec:?}, {at}");
        }
    }
}
