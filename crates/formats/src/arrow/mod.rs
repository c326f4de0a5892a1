//! Reads and writes Arrow IPC: streams, as Hugging Face datasets saves them, and files, also called Feather.
//!
//! A file is a stream between a first line and an index, so both are read from start to end, also compressed and from
//! pipes. Each batch of rows is a message that says how long it is ([`messages`]). A batch that is damaged, or larger
//! than [`BODY_BYTES_MAX`](messages::BODY_BYTES_MAX), costs its own rows; a damaged length costs the rest of the file.
//! Memory: one batch, and the dictionaries.

mod messages;
mod rows;
mod write;

use std::io;
use std::path::Path;

use arrow_schema::SchemaRef;

use self::messages::{CONTINUATION, FILE_MAGIC};
use self::rows::ArrowFile;
use self::write::ArrowLayout;
use super::form::Form;
use super::format::{Format, Head, Opened, WantedRecords};
use super::originals::{Again, Originals};
use super::table::writer::{Layout, WriteError};
use super::table::{self, OpenTable, TableOriginals, TableSource};
use crate::source::record::Source;
use crate::source::rules::InputRules;

/// Files and streams of batches.
pub(crate) struct Arrow;

impl Format for Arrow {
    fn name(&self) -> &'static str {
        "an Arrow file"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["arrow", "feather", "arrows"]
    }

    fn recognise(&self, head: &Head<'_>) -> bool {
        !head.is_broken && self.records_in(head.start).is_some()
    }

    fn records_in(&self, start: &[u8]) -> Option<&'static str> {
        (start.starts_with(FILE_MAGIC) || start.starts_with(&CONTINUATION)).then_some("rows of Arrow")
    }

    fn layout_for(&self, _: &SchemaRef) -> Option<Result<Box<dyn Layout>, WriteError>> {
        Some(Ok(Box::new(ArrowLayout { is_file: true })))
    }

    fn has_columns(&self) -> bool {
        true
    }

    fn read(&self, opened: Opened, rules: &InputRules, _: &WantedRecords<'_>) -> io::Result<Box<dyn Source>> {
        let file = ArrowFile::open(opened.reader)?;
        Ok(Box::new(TableSource::new(file, opened.name, rules, opened.read)))
    }

    fn reread(&self, opened: Opened, rules: &InputRules, again: &Again) -> io::Result<Box<dyn Originals>> {
        let file = ArrowFile::open(opened.reader)?.ok();
        Ok(Box::new(TableOriginals::new(file, rules, again)))
    }

    fn form(&self, path: &Path, opened: Opened, _: &InputRules) -> io::Result<Form> {
        let is_file = opened.reader.buffer().starts_with(FILE_MAGIC);
        Ok(match ArrowFile::open(opened.reader)? {
            Ok(file) => table::form(path, SchemaRef::clone(file.schema()), ArrowLayout { is_file }),
            Err(_) => Form::Unreadable,
        })
    }
}
