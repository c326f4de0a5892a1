//! Reads WARC files through an index (CDX with 9 to 11 columns, or CDXJ in the format of pywb and Common
//! Crawl): only the records that the index names are read, in the order of the index.
//!
//! In: an index, and the folder of the WARC files. Out: records, numbered by their line in the index
//! ([`records`]). Several byte ranges are fetched at the same
//! time ([`ranges`]). If a line names no record, or a range contains none, only that line is lost.

mod line;
mod ranges;
mod records;

use std::io;
use std::path::Path;
use std::sync::Arc;

use self::records::IndexedRecords;
use super::form::Form;
use super::format::{Format, Head, Opened, WantedRecords};
use super::originals::{Again, Originals};
use crate::source::record::Source;
use crate::source::rules::InputRules;

/// Indexes of WARC files. Every input is one if the location of the WARC files is given.
pub(crate) struct Cdx;

impl Cdx {
    fn records(opened: Opened, rules: &InputRules) -> io::Result<IndexedRecords> {
        let Some(base) = &rules.warc_base else {
            return Err(io::Error::other("an index without --warc-base"));
        };
        Ok(IndexedRecords::new(Box::new(opened.reader), opened.name, Arc::clone(base), rules))
    }
}

impl Format for Cdx {
    fn name(&self) -> &'static str {
        "an index of WARC files"
    }

    fn recognise(&self, head: &Head<'_>) -> bool {
        head.is_index
    }

    fn read(&self, opened: Opened, rules: &InputRules, _: &WantedRecords<'_>) -> io::Result<Box<dyn Source>> {
        Ok(Box::new(Self::records(opened, rules)?))
    }

    fn reread(&self, opened: Opened, rules: &InputRules, _: &Again) -> io::Result<Box<dyn Originals>> {
        Ok(Box::new(Self::records(opened, rules)?))
    }

    fn form(&self, _: &Path, _: Opened, _: &InputRules) -> io::Result<Form> {
        Ok(Form::Warc)
    }
}
