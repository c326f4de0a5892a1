//! Writes Arrow streams and files with the schema of an input.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;

use super::Arrow;
use crate::format::Format;
use crate::table::writer::{Layout, Output, RowWriter, WriteError, WrittenColumns};

/// The properties of an Arrow stream or file.
#[derive(Debug)]
pub(super) struct ArrowLayout {
    /// True for a file with an index.
    pub(super) is_file: bool,
}

/// A stream or file that is being written.
enum ArrowWriter {
    Stream(StreamWriter<BufWriter<Output>>),
    File(FileWriter<BufWriter<Output>>),
}

impl Layout for ArrowLayout {
    fn format_name(&self) -> &'static str {
        Arrow.name()
    }

    fn properties(&self) -> String {
        self.is_file.to_string()
    }

    fn writer(&self, columns: &WrittenColumns, output: Output) -> Result<Box<dyn RowWriter>, WriteError> {
        let written = BufWriter::new(output);
        let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
        let schema = &columns.schema;
        Ok(Box::new(match self.is_file {
            true => ArrowWriter::File(FileWriter::try_new_with_options(written, schema, options)?),
            false => ArrowWriter::Stream(StreamWriter::try_new_with_options(written, schema, options)?),
        }))
    }

    fn join(&self, columns: &WrittenColumns, parts: &[PathBuf], output: Output) -> Result<(), WriteError> {
        let mut joined = self.writer(columns, output)?;
        for part in parts {
            let mut add = || {
                let file = File::open(part)?;
                let batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>> = match self.is_file {
                    true => Box::new(FileReader::try_new_buffered(file, None)?),
                    false => Box::new(StreamReader::try_new_buffered(file, None)?),
                };
                batches.into_iter().try_for_each(|batch| joined.write(&batch?))
            };
            add().map_err(|error| WriteError::Part { path: part.clone(), source: Box::new(error) })?;
        }
        joined.finish()
    }
}

impl RowWriter for ArrowWriter {
    fn write(&mut self, rows: &RecordBatch) -> Result<(), WriteError> {
        match self {
            Self::Stream(stream) => stream.write(rows)?,
            Self::File(file) => file.write(rows)?,
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        let written = match &mut *self {
            Self::Stream(stream) => {
                stream.finish()?;
                stream.get_mut()
            }
            Self::File(file) => {
                file.finish()?;
                file.get_mut()
            }
        };
        Ok(written.flush()?)
    }
}
