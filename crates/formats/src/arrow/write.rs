//! Writes Arrow streams and files with the schema of an input.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;

use super::Arrow;
use crate::formats::Format;
use crate::formats::table::{Layout, RowWriter, WrittenColumns};
use crate::sink::summed::{Hashed, to_disk};

type Written = BufWriter<Hashed<File>>;

/// The properties of an Arrow stream or file.
#[derive(Debug)]
pub(super) struct ArrowLayout {
    /// True for a file with an index.
    pub(super) is_file: bool,
}

/// A stream or file that is being written.
enum ArrowWriter {
    Stream(StreamWriter<Written>),
    File(FileWriter<Written>),
}

impl Layout for ArrowLayout {
    fn format(&self) -> &'static dyn Format {
        &Arrow
    }

    fn properties(&self) -> String {
        self.is_file.to_string()
    }

    fn writer(&self, columns: &WrittenColumns, file: File) -> anyhow::Result<Box<dyn RowWriter>> {
        let written = BufWriter::new(Hashed::new(file));
        let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
        let schema = &columns.schema;
        Ok(Box::new(match self.is_file {
            true => ArrowWriter::File(FileWriter::try_new_with_options(written, schema, options)?),
            false => ArrowWriter::Stream(StreamWriter::try_new_with_options(written, schema, options)?),
        }))
    }

    fn join(&self, columns: &WrittenColumns, parts: &[PathBuf], file: File) -> anyhow::Result<()> {
        let mut joined = self.writer(columns, file)?;
        for part in parts {
            let mut add = || {
                let file = File::open(part)?;
                let batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>> = match self.is_file {
                    true => Box::new(FileReader::try_new_buffered(file, None)?),
                    false => Box::new(StreamReader::try_new_buffered(file, None)?),
                };
                batches.into_iter().try_for_each(|batch| joined.write(&batch?))
            };
            add().with_context(|| format!("cannot add {}", part.display()))?;
        }
        joined.finish().map(drop)
    }
}

impl RowWriter for ArrowWriter {
    fn write(&mut self, rows: &RecordBatch) -> anyhow::Result<()> {
        match self {
            Self::Stream(stream) => stream.write(rows)?,
            Self::File(file) => file.write(rows)?,
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<u64> {
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
        written.flush()?;
        to_disk(written.get_ref().inner())?;
        Ok(written.get_ref().digest())
    }
}
