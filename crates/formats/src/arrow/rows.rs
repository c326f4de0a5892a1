//! Reads the batches of an Arrow stream in order.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{self as ipc, DictionaryBatch, MessageHeader, MetadataVersion};
use arrow_schema::SchemaRef;

use super::messages::{BODY_BYTES_MAX, Messages, Parts, check, rows_in};
use crate::source::record::{FramingError, framing_error};
use crate::table::{Chunk, Chunks, DECODED_BYTES_MAX, Fault, OpenTable, guarded};

/// Maximum size of all dictionaries together.
const DICTIONARY_BYTES_MAX: usize = 512 << 20;
/// Maximum number of bytes that are copied because dictionaries grow step by step, and of fields that are searched.
const DICTIONARY_WORK_MAX: usize = 16 << 30;
/// Number of bytes that are copied in the time in which a field is searched.
const FIELD_WORK: usize = 64;

/// An Arrow file or stream whose schema is read.
pub(super) struct ArrowFile {
    messages: Messages,
    schema: SchemaRef,
}

impl ArrowFile {
    /// Reads the schema, or returns the fault of the content.
    ///
    /// # Errors
    /// The machine fails.
    pub(super) fn open(reader: BufReader<Box<dyn Read + Send>>) -> io::Result<Result<Self, FramingError>> {
        let mut messages = Messages::new(reader)?;
        match schema(&mut messages) {
            Ok(schema) => Ok(Ok(Self { messages, schema })),
            Err(fault) => error(fault).map(Err),
        }
    }
}

/// Returns the schema, which is the first message.
fn schema(messages: &mut Messages) -> Result<SchemaRef, Fault> {
    let parts = messages.next()?.ok_or_else(|| Fault::File("it has no schema".to_owned()))?;
    let message = parts.message()?;
    let schema = message.header_as_schema();
    let schema = schema.ok_or_else(|| Fault::File("it does not begin with a schema".to_owned()))?;
    if !schema.endianness().equals_to_target_endianness() {
        return Err(Fault::File("its numbers have the byte order of another machine".to_owned()));
    }
    guarded(|| try_fb_to_schema(schema)).map(Arc::new)
}

/// Returns the fault of the content as an error of the file, or fails with the error of the machine.
fn error(fault: Fault) -> io::Result<FramingError> {
    match fault {
        Fault::File(problem) => Ok(FramingError::BrokenTable { format: "Arrow", problem }),
        Fault::Machine(error) => framing_error(&error).ok_or(error),
    }
}

impl OpenTable for ArrowFile {
    type Rows = ArrowRows;

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(self, columns: Option<&[usize]>, line_bytes_max: usize) -> ArrowRows {
        ArrowRows {
            file: self,
            columns: columns.map(<[usize]>::to_vec),
            dictionaries: HashMap::new(),
            dictionary_bytes: HashMap::new(),
            dictionary_work: 0,
            next: 0,
            batches: 0,
            row_bytes_max: DECODED_BYTES_MAX.max(line_bytes_max as u64),
            is_ended: false,
        }
    }
}

/// A reader of batches.
pub(super) struct ArrowRows {
    file: ArrowFile,
    columns: Option<Vec<usize>>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Size of each dictionary in bytes.
    dictionary_bytes: HashMap<i64, usize>,
    /// Number of bytes copied so far because dictionaries grew, and of fields searched.
    dictionary_work: usize,
    /// The number of the next row, from 0.
    next: u64,
    /// Number of batches so far.
    batches: u64,
    row_bytes_max: u64,
    is_ended: bool,
}

impl ArrowRows {
    /// Reads up to the next batch. Returns `None` at the end.
    fn next_batch(&mut self) -> Result<Option<Chunk>, Fault> {
        while let Some(parts) = self.file.messages.next()? {
            let message = parts.message()?;
            match message.header_type() {
                MessageHeader::DictionaryBatch => {
                    let batch = message.header_as_dictionary_batch();
                    self.add_dictionary(batch.ok_or_else(no_content)?, &parts)?;
                }
                MessageHeader::RecordBatch => return self.chunk(&parts).map(Some),
                _ => return Err(Fault::File("it has a message that is no batch of rows".to_owned())),
            }
        }
        Ok(None)
    }

    /// Decodes a batch. If that fails, its rows are lost.
    fn chunk(&mut self, parts: &Parts) -> Result<Chunk, Fault> {
        let message = parts.message()?;
        let batch = message.header_as_record_batch().ok_or_else(no_content)?;
        let body_bytes = match &parts.body {
            Ok(body) => body.len() as u64,
            Err(bytes) => *bytes,
        };
        let rows = self.next..self.next.saturating_add(rows_in(&batch, body_bytes)?);
        let part = format!("batch {}", self.batches);
        (self.next, self.batches) = (rows.end, self.batches + 1);
        let Ok(body) = &parts.body else {
            let problem = format!(
                "a batch has {body_bytes} bytes, more than {BODY_BYTES_MAX}; write the file with smaller batches"
            );
            return Ok(Chunk::Lost { rows, part, problem });
        };
        let decoded = self.decoded(batch, body, message.version());
        Ok(match decoded {
            Ok(batch) if batch.num_rows() as u64 == rows.end - rows.start => {
                Chunk::Rows { first: rows.start, batch }
            }
            Ok(_) => Chunk::Lost { rows, part, problem: "its columns have another length".to_owned() },
            Err(Fault::Machine(error)) => return Err(Fault::Machine(error)),
            Err(Fault::File(problem)) => Chunk::Lost { rows, part, problem },
        })
    }

    fn decoded(
        &self,
        batch: ipc::RecordBatch<'_>,
        body: &Buffer,
        version: MetadataVersion,
    ) -> Result<RecordBatch, Fault> {
        check(&batch, body)?;
        let (schema, columns) = (Arc::clone(&self.file.schema), self.columns.as_deref());
        guarded(|| read_record_batch(body, batch, schema, &self.dictionaries, columns, &version))
    }

    /// Adds a dictionary, or more values to one. Without it, no later row could be read.
    fn add_dictionary(&mut self, dictionary: DictionaryBatch<'_>, parts: &Parts) -> Result<(), Fault> {
        let Ok(body) = &parts.body else {
            return Err(Fault::File(format!("a dictionary has more than {BODY_BYTES_MAX} bytes")));
        };
        let (batch, message) = (dictionary.data().ok_or_else(no_content)?, parts.message()?);
        rows_in(&batch, body.len() as u64)?;
        let decompressed = usize::try_from(check(&batch, body)?).unwrap_or(usize::MAX);
        self.dictionary_work += FIELD_WORK * self.file.schema.flattened_fields().len();
        let bytes = self.dictionary_bytes.entry(dictionary.id()).or_default();
        if dictionary.isDelta() {
            self.dictionary_work += *bytes;
        } else {
            *bytes = 0;
        }
        *bytes = bytes.saturating_add(decompressed);
        let bytes = self.dictionary_bytes.values().copied().fold(0, usize::saturating_add);
        if bytes > DICTIONARY_BYTES_MAX || self.dictionary_work > DICTIONARY_WORK_MAX {
            let problem =
                format!("its dictionaries have more than {DICTIONARY_BYTES_MAX} bytes, or too many parts");
            return Err(Fault::File(problem));
        }
        let (schema, dictionaries) = (&self.file.schema, &mut self.dictionaries);
        guarded(|| read_dictionary(body, dictionary, schema, dictionaries, &message.version()))
    }
}

fn no_content() -> Fault {
    Fault::File("a message has no content".to_owned())
}

impl Chunks for ArrowRows {
    fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        if self.is_ended {
            return Ok(None);
        }
        let next = self.next_batch();
        self.is_ended = !matches!(next, Ok(Some(_)));
        match next {
            Ok(chunk) => Ok(chunk),
            Err(fault) => Ok(Some(Chunk::Broken { first: self.next, error: error(fault)? })),
        }
    }

    fn row_bytes_max(&self) -> u64 {
        self.row_bytes_max
    }
}

#[cfg(test)]
mod tests;
