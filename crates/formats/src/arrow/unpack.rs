//! Decompresses the columns of a batch, within a limit that is checked before anything is allocated.

use std::io::Read;

use arrow_buffer::Buffer;
use arrow_ipc::{
    Buffer as Place, CompressionType, DictionaryBatchBuilder, FieldNode, RecordBatch, RecordBatchBuilder,
};
use flatbuffers::FlatBufferBuilder;
use lz4_flex::frame::FrameDecoder;

use super::messages::BODY_BYTES_MAX;
use crate::table::Fault;

/// Values begin at multiples of this number of bytes.
const ALIGNMENT: usize = 16;

/// A batch without compression.
pub(super) struct Unpacked {
    /// The description: a batch of rows, or a dictionary.
    pub(super) head: Vec<u8>,
    /// The values.
    pub(super) body: Buffer,
}

/// Returns a batch with decompressed columns, or `None` if they are not compressed. For a dictionary, `dictionary` is
/// its id, and true if its values are added to others.
///
/// # Errors
/// The columns are damaged, or too large.
pub(super) fn unpacked(
    batch: &RecordBatch<'_>,
    body: &Buffer,
    dictionary: Option<(i64, bool)>,
) -> Result<Option<Unpacked>, Fault> {
    let Some(compression) = batch.compression() else { return Ok(None) };
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    for place in batch.buffers().into_iter().flatten() {
        let at = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        let packed = body.get(at(place.offset())..at(place.offset()).saturating_add(at(place.length())));
        let start = bytes.len();
        unpack(packed.ok_or_else(damaged)?, compression.codec(), &mut bytes)?;
        places.push(Place::new(number(start)?, number(bytes.len() - start)?));
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
    let mut builder = FlatBufferBuilder::new();
    let places = builder.create_vector(&places);
    let nodes: Vec<FieldNode> = batch.nodes().into_iter().flatten().copied().collect();
    let nodes = builder.create_vector(&nodes);
    let counts = batch.variadicBufferCounts().map(|counts| counts.iter().collect::<Vec<i64>>());
    let counts = counts.map(|counts| builder.create_vector(&counts));
    let mut fields = RecordBatchBuilder::new(&mut builder);
    fields.add_length(batch.length());
    fields.add_nodes(nodes);
    fields.add_buffers(places);
    if let Some(counts) = counts {
        fields.add_variadicBufferCounts(counts);
    }
    let rows = fields.finish();
    match dictionary {
        None => builder.finish(rows, None),
        Some((id, is_delta)) => {
            let mut fields = DictionaryBatchBuilder::new(&mut builder);
            fields.add_id(id);
            fields.add_data(rows);
            fields.add_isDelta(is_delta);
            let values = fields.finish();
            builder.finish(values, None);
        }
    }
    Ok(Some(Unpacked { head: builder.finished_data().to_vec(), body: Buffer::from_vec(bytes) }))
}

/// Appends the values of a column to `bytes`: their size comes first, or -1 if they are not compressed.
fn unpack(packed: &[u8], codec: CompressionType, bytes: &mut Vec<u8>) -> Result<(), Fault> {
    let Some((size, packed)) = packed.split_first_chunk() else {
        return if packed.is_empty() { Ok(()) } else { Err(damaged()) };
    };
    let size = i64::from_le_bytes(*size);
    if size == -1 {
        bytes.extend_from_slice(packed);
        return Ok(());
    }
    let size = u64::try_from(size).map_err(|_| damaged())?;
    if size.saturating_add(bytes.len() as u64) > BODY_BYTES_MAX {
        let problem = "the columns of a batch have more bytes when decompressed than";
        return Err(Fault::File(format!("{problem} {BODY_BYTES_MAX}; write the file with smaller batches")));
    }
    let start = bytes.len();
    let read = match codec {
        CompressionType::LZ4_FRAME => FrameDecoder::new(packed).take(size).read_to_end(bytes),
        CompressionType::ZSTD => {
            zstd::Decoder::with_buffer(packed).and_then(|decoder| decoder.take(size).read_to_end(bytes))
        }
        codec => {
            return Err(Fault::File(format!("its columns are compressed with an unknown codec ({codec:?})")));
        }
    };
    if read.is_ok() && (bytes.len() - start) as u64 == size { Ok(()) } else { Err(damaged()) }
}

fn number(number: usize) -> Result<i64, Fault> {
    i64::try_from(number).map_err(|_| damaged())
}

fn damaged() -> Fault {
    Fault::File("a compressed column is damaged".to_owned())
}
