//! The pages of the input files, in any format that `leitong dedup` reads.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use leitong::Config;
use leitong::command_line::{for_each_document, wrong};
use leitong_formats::source::Payload;

use crate::pages::{EvalPage, Label};

/// Returns the label of the page in a record.
pub(super) fn label(payload: &Payload) -> Option<Label> {
    match payload {
        Payload::Json(line) => Label::from_line(line),
        _ => None,
    }
}

/// Returns all pages that have a main text, and the exit status.
pub(super) fn documents(paths: &[PathBuf], config: &Config) -> anyhow::Result<(Vec<EvalPage>, ExitCode)> {
    let mut pages = Vec::new();
    let status = for_each_document(paths, config, label, |id, document, label| {
        pages.push(EvalPage { id, document, label });
    })?;
    Ok((pages, status))
}

/// Returns at least two pages that have a main text, and the exit status.
pub(super) fn compared_documents(
    paths: &[PathBuf],
    config: &Config,
) -> anyhow::Result<(Vec<EvalPage>, ExitCode)> {
    let (pages, status) = documents(paths, config)?;
    if pages.len() < 2 {
        return Err(wrong(
            "fewer than two pages have a main text, so there is nothing to compare; name more pages",
        ));
    }
    Ok((pages, status))
}

/// Returns the contents of a list of synonyms; an empty text if there is none.
pub(super) fn synonyms(path: Option<&Path>) -> anyhow::Result<String> {
    path.map_or_else(
        || Ok(String::new()),
        |path| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display())),
    )
}
