//! Finds a page in files by its id or url.
//!
//! Each look-up reads the files from the start until the page is found. There is no index, and memory holds
//! one batch. A gigabyte takes some seconds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::config::Config;
use crate::pipeline::page_reader::PageReader;
use leitong_corpora::source::{Input, InputRules, Inputs, Source};
use leitong_text::page::Page;

/// Bytes that are read at once.
const BATCH_BYTES: usize = 1 << 20;

/// Returns the first page of `paths` for which `is_it` returns true.
///
/// # Errors
/// Fails if a file cannot be read, or if a setting of `[input]` is invalid.
pub(crate) fn find(
    paths: &[PathBuf],
    config: &Config,
    is_it: impl Fn(&Page) -> bool,
) -> anyhow::Result<Option<Page>> {
    let open = |path: &PathBuf| Input::open(path).with_context(|| format!("cannot read {}", path.display()));
    let inputs = paths.iter().map(open).collect::<anyhow::Result<_>>()?;
    let reader = PageReader::new(config)?.without_urls();
    let rules =
        InputRules::new(&config.page, &config.input).map_err(|faults| anyhow::anyhow!(faults.join("\n")))?;
    let mut source = Inputs::new(inputs, rules, Arc::default());
    let mut more = true;
    while more {
        let mut batch = Vec::new();
        more = source.read_batch(&mut batch, BATCH_BYTES).context("cannot read the files of pages")?;
        let mut pages = batch.into_iter().filter_map(|record| reader.page(&record.place, record.payload));
        if let Some(page) = pages.find(|page| is_it(page)) {
            return Ok(Some(page));
        }
    }
    Ok(None)
}

/// Returns true if a file is plain text by its name, as a web server would decide.
#[must_use]
pub(crate) fn is_text_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"))
}
