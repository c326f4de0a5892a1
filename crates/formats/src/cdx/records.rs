//! Reads the records that an index names: pages, as a [`Source`], or all of them unchanged, as [`Originals`].

use std::io::{self, BufReader, Read};
use std::ops;
use std::sync::Arc;

use super::ranges::{Range, Ranges};
use crate::framing::Framing;
use crate::originals::{Content, Original, Originals};
use crate::source::record::{FramingError, Payload, Record, Skipped, Source, WarcTypes, fill};
use crate::source::rules::InputRules;
use crate::source::warc_base::WarcBase;
use crate::warc::WarcReader;
use leitong_base::record::Place;
use leitong_text::page::PageConfig;

/// The records of one index, numbered by their lines.
pub(super) struct IndexedRecords {
    ranges: Ranges,
    input: Arc<str>,
    limits: PageConfig,
    /// Records that are not pages, by type.
    no_pages: WarcTypes,
}

/// The record that a line of the index names.
struct Named {
    line: u64,
    payload: Payload,
    /// The bytes of the record, unless it is broken.
    bytes: Option<Vec<u8>>,
}

impl IndexedRecords {
    /// Creates a source of the records below `base` that the decompressed `index` names. Messages call the
    /// index `input`.
    pub(super) fn new(
        index: Box<dyn Read + Send>,
        input: Arc<str>,
        base: Arc<WarcBase>,
        rules: &InputRules,
    ) -> Self {
        let ranges = Ranges::new(index, base, rules);
        Self { ranges, input, limits: rules.limits.clone(), no_pages: WarcTypes::default() }
    }

    fn next_page(&mut self) -> io::Result<Option<Record>> {
        while let Some(Named { line, payload, .. }) = self.next_named()? {
            if !matches!(payload, Payload::NoPage) {
                let place = Place::Record { input: Arc::clone(&self.input), record: line };
                return Ok(Some(Record { place, span: 0..0, payload }));
            }
        }
        Ok(None)
    }

    fn next_named(&mut self) -> io::Result<Option<Named>> {
        let Some(Range { line, record, name }) = self.ranges.next()? else { return Ok(None) };
        let mut bytes = match record {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Some(Named { line, payload: Payload::Broken(error), bytes: None })),
        };
        let (payload, span) = self.first(&bytes, &name)?;
        bytes.truncate(span.end);
        bytes.drain(..span.start.min(span.end));
        let bytes = (!matches!(payload, Payload::Broken(_))).then_some(bytes);
        Ok(Some(Named { line, payload, bytes }))
    }

    /// Reads the record at the start of `bytes`, and returns its place in them. Data after it belongs to other records.
    fn first(&mut self, bytes: &[u8], name: &str) -> io::Result<(Payload, ops::Range<usize>)> {
        let broken = |problem: String| {
            (Payload::Broken(FramingError::BrokenRange(format!("{name}: {problem}"))), 0..0)
        };
        if !bytes.starts_with(b"WARC/") {
            return Ok(broken("no WARC record begins there".to_owned()));
        }
        let reader = BufReader::new(bytes);
        let mut source = WarcReader::new(reader, Arc::clone(&self.input), &self.limits).with_all_records();
        let mut batch = Vec::new();
        source.read_batch(&mut batch, 1)?;
        let Some(Record { payload, span, .. }) = batch.into_iter().next() else {
            return Ok(broken("no WARC record begins there".to_owned()));
        };
        if matches!(payload, Payload::NoPage) {
            self.no_pages += source.skipped().warc_records;
        }
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        Ok(match payload {
            Payload::Broken(error) => broken(error.to_string()),
            payload => (payload, at(span.start)..at(span.end)),
        })
    }
}

impl Source for IndexedRecords {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        // Each record may have to be waited for, even though the next ones are being fetched.
        fill(self, (batch, bytes_max), Self::next_page, |_| false)
    }

    fn skipped(&self) -> Skipped {
        Skipped {
            warc_records: self.no_pages,
            index_lines: self.ranges.skipped_lines(),
            ..Skipped::default()
        }
    }
}

impl Originals for IndexedRecords {
    fn next_record(&mut self, _: Option<u64>) -> io::Result<Option<Original>> {
        let Some(Named { line, payload, bytes }) = self.next_named()? else { return Ok(None) };
        let size = bytes.as_ref().map_or(0, Vec::len) as u64;
        let content = bytes.map_or(Content::TooLarge, |bytes| Content::Bytes(Framing::Warc, bytes));
        let is_page = !matches!(payload, Payload::NoPage);
        Ok(Some(Original { number: line, is_page, bytes: size, content, json: None }))
    }
}
