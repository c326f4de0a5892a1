//! Splits an Arrow stream into messages, and checks the lengths that a message claims before anything is allocated.

use std::io::{self, BufRead, BufReader, Read};

use arrow_buffer::Buffer;
use arrow_ipc::{Message, RecordBatch, root_as_message};

use crate::table::Fault;

/// The first bytes of a file.
pub(super) const FILE_MAGIC: &[u8] = b"ARROW1\0\0";
/// The first bytes of a message.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];
/// Maximum size of the description of a message. A schema may contain long metadata of other programs.
const HEAD_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of the values of a batch. Writers make batches of some thousand rows.
pub(super) const BODY_BYTES_MAX: u64 = 512 << 20;
/// Maximum number of zeros after the first bytes of a file.
const FILE_HEAD_MAX: usize = 56;
/// Maximum number of rows of a batch whose columns have no bytes.
const EMPTY_ROWS_MAX: u64 = 1 << 20;

/// A reader of messages.
pub(super) struct Messages {
    reader: BufReader<Box<dyn Read + Send>>,
}

/// A message with its values.
pub(super) struct Parts {
    head: Vec<u8>,
    /// The values, or their size if there are too many.
    pub(super) body: Result<Buffer, u64>,
}

impl Messages {
    /// Creates a reader of a file or stream.
    ///
    /// # Errors
    /// The machine fails, or the first bytes cannot be decompressed.
    pub(super) fn new(mut reader: BufReader<Box<dyn Read + Send>>) -> io::Result<Self> {
        let start = reader.fill_buf()?;
        if let Some(rest) = start.strip_prefix(FILE_MAGIC) {
            // Writers fill up 8 to 64 bytes with zeros.
            let zeros = rest.iter().take(FILE_HEAD_MAX).take_while(|byte| **byte == 0).count();
            reader.consume(FILE_MAGIC.len() + zeros / FILE_MAGIC.len() * FILE_MAGIC.len());
        }
        Ok(Self { reader })
    }

    /// Returns the next message, or `None` at the end.
    ///
    /// # Errors
    /// The input ends early, a length is damaged, or the machine fails.
    pub(super) fn next(&mut self) -> Result<Option<Parts>, Fault> {
        // A stream may end without a mark.
        if self.reader.fill_buf().map_err(Fault::Machine)?.is_empty() {
            return Ok(None);
        }
        let mut length = self.number()?;
        // Before version 0.15, messages had no mark.
        if length == CONTINUATION {
            length = self.number()?;
        }
        let length = u64::from(u32::from_le_bytes(length));
        if length == 0 {
            return Ok(None);
        }
        if length > HEAD_BYTES_MAX {
            return Err(Fault::File(format!("a message claims a description of {length} bytes")));
        }
        let head = self.bytes(length)?;
        let body = u64::try_from(message(&head)?.bodyLength())
            .map_err(|_| Fault::File("a message claims a negative length".to_owned()))?;
        if body <= BODY_BYTES_MAX {
            return Ok(Some(Parts { head, body: Ok(Buffer::from_vec(self.bytes(body)?)) }));
        }
        let skipped = io::copy(&mut (&mut self.reader).take(body), &mut io::sink());
        match skipped.map_err(Fault::Machine)? {
            skipped if skipped < body => Err(ends_early()),
            _ => Ok(Some(Parts { head, body: Err(body) })),
        }
    }

    fn number(&mut self) -> Result<[u8; 4], Fault> {
        self.bytes(4)?.try_into().map_err(|_| ends_early())
    }

    /// Reads bytes. Memory grows with those that are there, whatever the message claims.
    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        let read = (&mut self.reader).take(count).read_to_end(&mut bytes).map_err(Fault::Machine)?;
        if (read as u64) < count { Err(ends_early()) } else { Ok(bytes) }
    }
}

impl Parts {
    /// Returns the description.
    pub(super) fn message(&self) -> Result<Message<'_>, Fault> {
        message(&self.head)
    }
}

fn message(head: &[u8]) -> Result<Message<'_>, Fault> {
    root_as_message(head).map_err(|error| Fault::File(format!("a message is damaged: {error}")))
}

fn ends_early() -> Fault {
    Fault::File("it ends early".to_owned())
}

/// Returns the number of rows of a batch.
///
/// # Errors
/// The number cannot be right.
pub(super) fn rows_in(batch: &RecordBatch<'_>, body_bytes: u64) -> Result<u64, Fault> {
    let rows = u64::try_from(batch.length()).unwrap_or(u64::MAX);
    // A value takes a bit at least.
    let rows_max = body_bytes.saturating_mul(8).max(EMPTY_ROWS_MAX);
    if rows > rows_max { Err(Fault::File(format!("a batch claims {rows} rows"))) } else { Ok(rows) }
}

/// Checks that the buffers of a batch are in its body, and returns the size of all when they are decompressed. A
/// compressed buffer begins with its size, or with -1 if it is stored as it is; the library never writes more than that.
///
/// # Errors
/// A buffer is not in the body, or all together are too large.
pub(super) fn check(batch: &RecordBatch<'_>, body: &Buffer) -> Result<u64, Fault> {
    let mut decompressed = if batch.compression().is_some() { 0 } else { body.len() as u64 };
    for buffer in batch.buffers().into_iter().flatten() {
        let values = || {
            let start = usize::try_from(buffer.offset()).ok()?;
            body.get(start..start.checked_add(usize::try_from(buffer.length()).ok()?)?)
        };
        let values = values().ok_or_else(|| {
            let (bytes, at) = (buffer.length(), buffer.offset());
            Fault::File(format!("a column claims {bytes} bytes at {at} of a batch with {}", body.len()))
        })?;
        if batch.compression().is_some() {
            let size = values.first_chunk().map_or(0, |size| i64::from_le_bytes(*size));
            decompressed = decompressed.saturating_add(u64::try_from(size).unwrap_or(values.len() as u64));
        }
    }
    if decompressed > BODY_BYTES_MAX {
        let problem = "the columns of a batch have more bytes when decompressed than";
        return Err(Fault::File(format!("{problem} {BODY_BYTES_MAX}; write the file with smaller batches")));
    }
    Ok(decompressed)
}
