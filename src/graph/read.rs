//! The source end: records of files.

use std::mem;

use anyhow::Context;

use leitong_formats::source::{Record, Source};
use leitong_graph::{Load, SourceEnd};

/// Source end that reads records of files.
pub(super) struct Files<'a> {
    source: &'a mut dyn Source,
    /// Records that were read together with others, and are passed on next.
    rest: Vec<Record>,
    has_more: bool,
}

impl<'a> Files<'a> {
    pub(super) fn new(source: &'a mut dyn Source) -> Self {
        Self { source, rest: Vec::new(), has_more: true }
    }
}

impl SourceEnd for Files<'_> {
    type Page = Record;
    type Error = anyhow::Error;

    fn bytes(record: &Record) -> usize {
        record.bytes()
    }

    async fn read(&mut self, limit: Load) -> anyhow::Result<Option<Vec<Record>>> {
        if self.rest.is_empty() && self.has_more {
            let more = self.source.read_batch(&mut self.rest, limit.bytes);
            self.has_more = more.context("cannot continue to read the inputs")?;
        }
        if self.rest.is_empty() && !self.has_more {
            return Ok(None);
        }
        // The source ends a batch by its bytes alone, so there may be more than `limit.pages` records.
        let rest = self.rest.split_off(self.rest.len().min(limit.pages));
        Ok(Some(mem::replace(&mut self.rest, rest)))
    }
}
