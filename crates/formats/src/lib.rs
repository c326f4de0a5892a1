//! Files of web pages: one folder for each format, with what recognises, reads, reads again and writes its files.
//!
//! In: the beginning of an input, and its bytes. Out: a [`Source`](source::Source) of records for the first reading, the
//! unchanged [`Original`]s for the [second](SecondReading), and the [`Form`] in which documents of the input are written.
//! Everything that asks which formats there are consults the [`list`], so a new format is a folder and a line there. A
//! format with rows and columns shares [`table`]. [`source`] opens inputs: files, folders, streams and objects in stores.

pub(crate) mod arrow;
pub(crate) mod cdx;
pub(crate) mod csv;
mod file_format;
pub(crate) mod form;
pub(crate) mod format;
pub(crate) mod framing;
pub(crate) mod html;
pub(crate) mod jsonl;
mod list;
pub(crate) mod originals;
pub(crate) mod other;
pub(crate) mod parquet;
pub mod source;
pub(crate) mod table;
pub(crate) mod warc;

#[cfg(test)]
#[path = "../../../tests/common/wait.rs"]
mod wait;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use file_format::FileFormat;
pub use form::Form;
pub use framing::Framing;
pub use originals::{Again, Content, Original, Row};
pub use source::second_reading::{EarlyForm, SecondReading, SecondReadingError};
pub use table::writer::{TableForm, TableWriter, WriteError};
