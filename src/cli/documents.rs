//! Input files → documents, for commands that look at pages as a whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::Context;

use crate::config::Config;
use crate::eval::pages::Label;
use crate::extract::{Document, Extractor};
use crate::page::json::Rules;
use crate::pipeline::document;
use crate::pipeline::fingerprint_half::read_page;
use crate::source::inputs::Inputs;
use crate::source::open::Input;
use crate::source::{Payload, Source};

/// Calls `take` with id, document and label of each page that has a main text; says how many have none.
pub(super) fn for_each(
    inputs: &[PathBuf],
    config: &Config,
    mut take: impl FnMut(String, Document, Option<Label>),
) -> anyhow::Result<()> {
    let open = |path: &PathBuf| Input::open(path).with_context(|| format!("cannot read {}", path.display()));
    let inputs = inputs.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let mut source = Inputs::new(inputs, config.page.clone(), Arc::new(AtomicU64::new(0)));
    let rules = Rules { page_bytes_max: config.page.bytes_max, url_required: false };
    let mut extractor = Extractor::new(&config.extract);
    let mut left_out = 0_u64;
    let mut more = true;
    while more {
        let mut batch = Vec::new();
        more = source.read_batch(&mut batch, 1 << 20).context("cannot read on")?;
        for record in batch {
            let label = match &record.payload {
                Payload::Json(line) => Label::of_line(line),
                _ => None,
            };
            let page = read_page(record.payload, rules).ok();
            match page.and_then(|page| Some((document::read(&page, &mut extractor).ok()?.document, page.id)))
            {
                Some((document, id)) => take(id, document, label),
                None => left_out += 1,
            }
        }
    }
    if left_out > 0 {
        eprintln!("leitong: {left_out} records are no pages with a main text, and are left out");
    }
    Ok(())
}

/// Writes text to a file, or to standard output for `-`.
pub(super) fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        print!("{contents}");
        return Ok(());
    }
    std::fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}
