//! Files of rows with typed columns, as Arrow batches. A format reads them in [`Chunks`] and writes them with a
//! [`Layout`], and everything else is the same for all: which [`columns`] are read, how a row becomes [`json`], and how
//! rows are found again.

mod columns;
mod fault;
pub(in crate::formats) mod json;
mod originals;
mod source;

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{Field, SchemaRef};

use super::Format;
use crate::source::record::FramingError;

pub(in crate::formats) use fault::{Fault, guarded};
pub(crate) use originals::Row;
pub(in crate::formats) use originals::TableOriginals;
pub(in crate::formats) use source::TableSource;

/// Size of a batch of rows in bytes, according to the average row size in the file.
pub(in crate::formats) const BATCH_BYTES: u64 = 4 << 20;
/// Maximum size of a row, and of a batch of rows, when it is decoded: a value that the file stores once counts as often
/// as it occurs. `page.line_bytes_max` applies instead if it is larger.
pub(in crate::formats) const DECODED_BYTES_MAX: u64 = 64 << 20;

/// A file whose columns are known.
pub(in crate::formats) trait Table {
    /// The reader of its rows.
    type Rows: Chunks + 'static;

    /// Returns the columns.
    fn schema(&self) -> &SchemaRef;

    /// Returns a reader for the columns with these indexes, or for all columns. A row above [`DECODED_BYTES_MAX`] is
    /// left out, unless `line_bytes_max` is more.
    fn rows(self, columns: Option<&[usize]>, line_bytes_max: usize) -> Self::Rows;
}

/// A reader of rows, in order.
pub(in crate::formats) trait Chunks: Send {
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
    #[must_use]
    pub(crate) fn rows(&self) -> Range<u64> {
        match self {
            Self::Rows { first, batch } => *first..*first + batch.num_rows() as u64,
            Self::Lost { rows, .. } | Self::TooLarge { rows, .. } => rows.clone(),
            Self::Broken { first, .. } => *first..u64::MAX,
        }
    }
}

/// The form of a file with typed columns.
#[derive(Debug)]
pub(crate) struct TableForm {
    /// The path of the input.
    pub path: PathBuf,
    /// The columns in Arrow's terms.
    pub schema: SchemaRef,
    /// The parts that only this format has, for writing.
    pub layout: Box<dyn Layout>,
}

impl TableForm {
    /// Returns true if the rows of both fit into one file.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.layout.format() == other.layout.format()
            && self.schema == other.schema
            && self.layout.properties() == other.layout.properties()
    }
}

/// The properties of a file that its format writes in addition to the columns.
pub(crate) trait Layout: fmt::Debug + Send + Sync {
    /// Returns the format.
    fn format(&self) -> &'static dyn Format;

    /// Describes everything that files whose rows are joined must have in common, besides the columns.
    fn properties(&self) -> String;

    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written, or cannot have these columns.
    fn writer(&self, columns: &WrittenColumns, file: File) -> anyhow::Result<Box<dyn RowWriter>>;

    /// Writes a file with the rows of `parts`, which were written before with the same columns.
    ///
    /// # Errors
    /// The parts cannot be read, or the file cannot be written.
    fn join(&self, columns: &WrittenColumns, parts: &[PathBuf], file: File) -> anyhow::Result<()>;
}

/// The columns of a file that is written.
#[derive(Debug)]
pub(crate) struct WrittenColumns {
    /// All columns.
    pub schema: SchemaRef,
    /// The indexes of the input's columns that are copied. They come first.
    pub copied: Vec<usize>,
    /// The columns that are added, of texts, whole numbers, fractions or truth values.
    pub added: Vec<Field>,
}

/// A file that is being written.
pub(crate) trait RowWriter: Send {
    /// Writes rows.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write(&mut self, rows: &RecordBatch) -> anyhow::Result<()>;

    /// Completes the file and syncs it to disk. Returns the hash of its bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish(self: Box<Self>) -> anyhow::Result<u64>;
}

/// Opens the columns of the input at `path`, to write documents in their form.
pub(in crate::formats) fn form(path: &Path, schema: SchemaRef, layout: impl Layout + 'static) -> super::Form {
    let form = TableForm { path: path.to_owned(), schema, layout: Box::new(layout) };
    super::Form::Rows(std::sync::Arc::new(form))
}
