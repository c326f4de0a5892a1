//! Files of rows with typed columns, as Arrow batches. A format reads them in [`Chunks`] and writes them with a
//! [`Layout`], and everything else is the same for all: which [`columns`] are read, how a row becomes [`json`], how rows
//! are found again, and how they are [written](writer).

pub(crate) mod columns;
mod fault;
pub(crate) mod json;
mod originals;
mod source;
pub(crate) mod writer;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::writer::{Layout, TableForm};
use crate::form::Form;
use crate::source::record::FramingError;

pub(crate) use fault::{Fault, guarded};
pub(crate) use originals::TableOriginals;
pub(crate) use source::TableSource;

/// Size of a batch of rows in bytes, according to the average row size in the file.
pub(crate) const BATCH_BYTES: u64 = 4 << 20;
/// Maximum size of a row, and of a batch of rows, when it is decoded: a value that the file stores once counts as often
/// as it occurs. `page.line_bytes_max` applies instead if it is larger.
pub(crate) const DECODED_BYTES_MAX: u64 = 64 << 20;

/// A file whose columns are known.
pub(crate) trait OpenTable {
    /// The reader of its rows.
    type Rows: Chunks + 'static;

    /// Returns the columns.
    fn schema(&self) -> &SchemaRef;

    /// Returns a reader for the columns with these indexes, or for all columns. A row above [`DECODED_BYTES_MAX`] is
    /// left out, unless `line_bytes_max` is more.
    fn rows(self, columns: Option<&[usize]>, line_bytes_max: usize) -> Self::Rows;
}

/// A reader of rows, in order.
pub(crate) trait Chunks: Send {
    /// Returns the next chunk, or `None` at the end.
    ///
    /// # Errors
    /// The machine fails.
    fn next_chunk(&mut self) -> io::Result<Option<Chunk>>;

    /// Moves on to a part of the file near row `number`, from 0, if that is further ahead.
    fn skip_towards(&mut self, _number: u64) {}

    /// Returns the maximum size of a row in bytes when it is decoded.
    fn row_bytes_max(&self) -> u64;

    /// Returns the average size of a row as it is stored, in bytes, unless the bytes of the input are counted elsewhere.
    fn stored_bytes_per_row(&self) -> u64 {
        0
    }
}

/// The next part of a file.
#[derive(Debug)]
pub(crate) enum Chunk {
    /// Consecutive rows.
    Rows {
        /// The number of the first row, from 0.
        first: u64,
        /// The columns of the rows.
        batch: RecordBatch,
    },
    /// Rows that cannot be read.
    Lost {
        /// The numbers of the rows, from 0.
        rows: Range<u64>,
        /// The part of the file, such as `row group 3`.
        part: String,
        /// The reason.
        problem: String,
    },
    /// Rows that are too large to be read.
    TooLarge {
        /// The numbers of the rows, from 0.
        rows: Range<u64>,
    },
    /// The rest of the file cannot be read.
    Broken {
        /// The number of the first lost row, from 0.
        first: u64,
        /// The reason.
        error: FramingError,
    },
}

impl Chunk {
    /// Returns the numbers of the rows, from 0.
    pub(crate) fn rows(&self) -> Range<u64> {
        match self {
            Self::Rows { first, batch } => *first..*first + batch.num_rows() as u64,
            Self::Lost { rows, .. } | Self::TooLarge { rows, .. } => rows.clone(),
            Self::Broken { first, .. } => *first..u64::MAX,
        }
    }
}

/// Returns the form of documents of the input at `path`, which has these columns.
pub(crate) fn form(path: &Path, schema: SchemaRef, layout: impl Layout + 'static) -> Form {
    Form::Rows(Arc::new(TableForm::new(path, schema, Box::new(layout))))
}
