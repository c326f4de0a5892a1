//! Reads the pages that an index names, as a [`Source`].

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use super::WarcBase;
use super::ranges::{Range, Ranges};
use crate::source::rules::InputRules;
use crate::source::warc::WarcReader;
use crate::source::{FramingError, Payload, Record, Skipped, Source, WarcTypes, fill};
use leitong_base::record::Place;
use leitong_text::page::PageConfig;

/// The records of one index, numbered by their lines.
pub(in crate::source) struct IndexedRecords {
    ranges: Ranges,
    input: Arc<str>,
    limits: PageConfig,
    /// Records that are not pages, by type.
    no_pages: WarcTypes,
}

impl IndexedRecords {
    /// Creates a source of the records below `base` that the decompressed `index` names. Messages call the
    /// index `input`.
    pub(in crate::source) fn new(
        index: Box<dyn Read + Send>,
        input: Arc<str>,
        base: Arc<WarcBase>,
        rules: &InputRules,
    ) -> Self {
        let ranges = Ranges::new(index, base, rules);
        Self { ranges, input, limits: rules.limits.clone(), no_pages: WarcTypes::default() }
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        while let Some(Range { line, record, name }) = self.ranges.next()? {
            let payload = match record {
                Err(error) => Payload::Broken(error),
                Ok(bytes) => self.payload(bytes, &name)?,
            };
            if matches!(payload, Payload::NoPage) {
                continue;
            }
            let place = Place::Record { input: Arc::clone(&self.input), record: line };
            return Ok(Some(Record { place, span: 0..0, payload }));
        }
        Ok(None)
    }

    /// Reads the record at the start of `bytes`. Data after it belongs to other records.
    fn payload(&mut self, bytes: Vec<u8>, name: &str) -> io::Result<Payload> {
        let broken =
            |problem: String| Payload::Broken(FramingError::BrokenRange(format!("{name}: {problem}")));
        if !bytes.starts_with(b"WARC/") {
            return Ok(broken("no WARC record begins there".to_owned()));
        }
        let reader = BufReader::new(Cursor::new(bytes));
        let mut source = WarcReader::new(reader, Arc::clone(&self.input), &self.limits).with_all_records();
        let mut batch = Vec::new();
        source.read_batch(&mut batch, 1)?;
        let first = batch.into_iter().next().map(|record| record.payload);
        if matches!(first, Some(Payload::NoPage)) {
            self.no_pages += source.skipped().warc_records;
        }
        Ok(match first {
            None => broken("no WARC record begins there".to_owned()),
            Some(Payload::Broken(error)) => broken(error.to_string()),
            Some(payload) => payload,
        })
    }
}

impl Source for IndexedRecords {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        // Each record may have to be waited for, even though the next ones are being fetched.
        fill(self, (batch, bytes_max), Self::next_record, |_| false)
    }

    fn skipped(&self) -> Skipped {
        Skipped {
            warc_records: self.no_pages,
            index_lines: self.ranges.skipped_lines(),
            ..Skipped::default()
        }
    }
}
