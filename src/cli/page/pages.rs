//! Finds a page in files by its id or url.
//!
//! Each look-up reads the files from the start until the page is found. There is no index, and memory holds
//! one batch. A gigabyte takes some seconds.

use std::path::PathBuf;

use anyhow::Context;

use crate::cli::files::documents::open_records;
use leitong_pipeline::PageReader;
use leitong_pipeline::config::Config;
use leitong_text::page::Page;

/// Returns the first page of `paths` for which `is_it` returns true.
///
/// # Errors
/// Fails if a file cannot be read, or if a setting of `[input]` is invalid.
pub(crate) fn find(
    paths: &[PathBuf],
    config: &Config,
    is_it: impl Fn(&Page) -> bool,
) -> anyhow::Result<Option<Page>> {
    let reader = PageReader::new(config)?.without_urls();
    let mut source = open_records(paths, config)?;
    for record in source.records() {
        let record = record.context("cannot read the files of pages")?;
        if let Some(page) = reader.page(&record.place, record.payload).filter(&is_it) {
            return Ok(Some(page));
        }
    }
    Ok(None)
}
