//! Reads the records that an index names for a second time, unchanged, to copy them.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use super::WarcBase;
use super::ranges::{Range, Ranges};
use crate::source::originals::{Framing, Original, RecordOriginals};
use crate::source::rules::InputRules;
use crate::source::warc::WarcReader;
use leitong_text::page::PageConfig;

/// The records of one index, numbered by their lines.
pub struct IndexedOriginals {
    ranges: Ranges,
    limits: PageConfig,
}

impl IndexedOriginals {
    /// Creates a reader of the records below `base` that the decompressed `index` names.
    pub(in crate::source) fn new(
        index: Box<dyn Read + Send>,
        base: Arc<WarcBase>,
        rules: &InputRules,
    ) -> Self {
        Self { ranges: Ranges::new(index, base, rules), limits: rules.limits.clone() }
    }

    /// Returns the next record, or `None` at the end.
    ///
    /// # Errors
    /// The machine or a store fails.
    pub fn next_record(&mut self) -> io::Result<Option<Original>> {
        let Some(Range { line, record, .. }) = self.ranges.next()? else { return Ok(None) };
        let broken =
            Original { number: line, framing: Framing::Warc, is_page: true, bytes: None, json: None };
        let Ok(bytes) = record else { return Ok(Some(broken)) };
        let framed = |reader| -> io::Result<Box<dyn crate::source::Source>> {
            Ok(Box::new(
                WarcReader::new(BufReader::new(reader), Arc::from("-"), &self.limits).with_all_records(),
            ))
        };
        let reader = Box::new(Cursor::new(bytes));
        let original = RecordOriginals::new(reader, Framing::Line, &self.limits, framed)?.next_record()?;
        Ok(Some(original.map_or(broken, |original| Original { number: line, ..original })))
    }
}
