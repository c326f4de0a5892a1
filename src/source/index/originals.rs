//! The records that an index names once more, as they are.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use super::WarcBase;
use super::ranges::{Range, Ranges};
use crate::page::config::PageConfig;
use crate::source::originals::{Framing, Original, RecordOriginals};
use crate::source::rules::InputRules;
use crate::source::warc::WarcReader;

/// The records of one index. Each has the number of its line.
pub struct IndexedOriginals {
    ranges: Ranges,
    limits: PageConfig,
}

impl IndexedOriginals {
    /// What `index`, unpacked, names below `base`.
    pub(in crate::source) fn of(
        index: Box<dyn Read + Send>,
        base: Arc<WarcBase>,
        rules: &InputRules,
    ) -> Self {
        Self { ranges: Ranges::new(index, base, rules), limits: rules.limits.clone() }
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// The machine or a store cannot be read.
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
