//! Reads Parquet files. Each row becomes a JSON line with the columns that the mapping of `[input]` uses. So
//! columns, presets, dates and limits have the same meaning as in JSON lines, and later stages know nothing
//! of Parquet.
//!
//! In: a file that can be read at any position, because its index is at the end. Out: records in the order of the rows,
//! numbered from 1. If a row cannot be read, only that row is lost, as far as the structure of the file allows it
//! ([`rows`]). Memory: one batch of rows of about [`BATCH_BYTES`](super::table::BATCH_BYTES), and the Parquet pages
//! that contain it. A page is decompressed as a whole, up to [`PAGE_BYTES_MAX`](guard::PAGE_BYTES_MAX); writers usually
//! make pages of about a megabyte. A value that a dictionary contains once may occur in every row, or many times in one
//! row. Therefore a batch has at most as many rows as fit into [`DECODED_BYTES_MAX`](super::table::DECODED_BYTES_MAX)
//! when they are decoded ([`costs`]), and a single row above this limit is left out and reported.

mod compact;
mod costs;
mod file;
mod guard;
mod heads;
mod index;
mod plan;
mod rows;
mod runs;
mod write;

use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use self::file::ParquetFile;
use self::index::MAGIC;
use self::rows::Rows;
pub(crate) use self::write::ParquetLayout;
use super::form::Form;
use super::format::{Format, Head, Opened, WantedRecords};
use super::originals::{Again, Originals};
use super::table::writer::{Layout, WriteError};
use super::table::{self, OpenTable, TableOriginals, TableSource};
use crate::source::record::Source;
use crate::source::rules::InputRules;

/// Files of row groups.
pub(crate) struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "a Parquet file"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["parquet"]
    }

    fn recognise(&self, head: &Head<'_>) -> bool {
        !head.is_index && self.records_in(head.start).is_some()
    }

    fn needs_stored(&self) -> bool {
        true
    }

    fn records_in(&self, start: &[u8]) -> Option<&'static str> {
        start.starts_with(MAGIC).then_some("rows of Parquet")
    }

    fn layout_for(&self, columns: &SchemaRef) -> Option<Result<Box<dyn Layout>, WriteError>> {
        Some(ParquetLayout::for_columns(columns).map(|layout| Box::new(layout) as _))
    }

    fn has_columns(&self) -> bool {
        true
    }

    fn read(&self, opened: Opened, rules: &InputRules, _: &WantedRecords<'_>) -> io::Result<Box<dyn Source>> {
        let Opened { name, stored, read, .. } = opened;
        Ok(Box::new(TableSource::new(ParquetFile::or_error(stored)?, name, rules, read)))
    }

    fn reread(&self, opened: Opened, rules: &InputRules, again: &Again) -> io::Result<Box<dyn Originals>> {
        let file = ParquetFile::or_error(opened.stored)?.ok();
        Ok(Box::new(TableOriginals::new(file, rules, again)))
    }

    fn form(&self, path: &Path, opened: Opened, _: &InputRules) -> io::Result<Form> {
        Ok(match ParquetFile::or_error(opened.stored)? {
            Ok(file) => table::form(path, Arc::clone(file.schema()), ParquetLayout::from_file(&file)),
            Err(_) => Form::Unreadable,
        })
    }
}

impl OpenTable for ParquetFile {
    type Rows = Rows;

    fn schema(&self) -> &SchemaRef {
        self.index.schema()
    }

    fn rows(self, columns: Option<&[usize]>, line_bytes_max: usize) -> Rows {
        Rows::new(self, columns, line_bytes_max)
    }
}
