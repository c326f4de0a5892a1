//! `leitong-lab eval --verdicts`: scores the verdicts of any program.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use leitong::Config;
use leitong::command_line::{for_each_page, for_each_record, wrong};
use leitong_formats::source::Payload;

use super::inputs;
use crate::eval::{GivenVerdict, StreamScore};
use crate::pages::Label;

/// The name that a file of verdicts has in the table, and its path.
pub(super) type VerdictFile = (String, PathBuf);

/// Reads the value of `--verdicts`.
pub(super) fn verdict_file(given: &str) -> Result<VerdictFile, String> {
    let (name, path) = match given.split_once('=') {
        Some((name, path)) => (name.to_owned(), PathBuf::from(path)),
        None => {
            let path = PathBuf::from(given);
            (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path)
        }
    };
    let is_whole = !name.is_empty() && !path.as_os_str().is_empty();
    is_whole.then_some((name, path)).ok_or_else(|| "give NAME=FILE or FILE".to_owned())
}

#[derive(Serialize)]
struct Scored {
    name: String,
    #[serde(flatten)]
    score: StreamScore,
}

/// Scores each of `files` on the labelled pages of `inputs`. Returns the scores as JSON, as one table, and the exit
/// status.
pub(super) fn scores(
    files: &[VerdictFile],
    inputs: &[PathBuf],
    seed: u64,
) -> anyhow::Result<(String, String, ExitCode)> {
    let config = Config::default();
    let (pages, status) = labelled_pages(inputs, &config)?;
    let mut scored = Vec::new();
    for (name, path) in files {
        let given = given_verdicts(path, &config)?;
        let score = StreamScore::from_verdicts(&pages, given, seed)
            .map_err(|misfit| wrong(format_args!("{}: {misfit}", path.display())))?;
        scored.push(Scored { name: name.clone(), score });
    }
    let rows = scored.iter().map(|scored| (scored.name.as_str(), &scored.score));
    let table = format!("{} labelled pages; seed {seed}.\n\n{}", pages.len(), StreamScore::table(rows));
    Ok((serde_json::to_string_pretty(&scored)? + "\n", table, status))
}

/// Returns ids and labels of all pages, and the exit status. Every page needs a label. A page needs no main text,
/// because the verdict on it can be `UNDECIDABLE`.
fn labelled_pages(inputs: &[PathBuf], config: &Config) -> anyhow::Result<(Vec<(String, Label)>, ExitCode)> {
    let mut pages = Vec::new();
    let status = for_each_page(inputs, config, inputs::label, |place, page, label| {
        let Some(label) = label else {
            return Err(wrong(format_args!(
                "{place}: the page has no label; give JSON lines with the fields `cluster` and `label` (new, dup, \
                 ambiguous)"
            )));
        };
        pages.push((page.id, label));
        Ok(())
    })?;
    if pages.is_empty() {
        return Err(wrong("there is no labelled page to score verdicts on"));
    }
    Ok((pages, status))
}

/// Reads a verdict from each line of a file.
fn given_verdicts(path: &Path, config: &Config) -> anyhow::Result<Vec<GivenVerdict>> {
    let mut given = Vec::new();
    for_each_record(&[path.to_owned()], config, |record| {
        let verdict = match &record.payload {
            Payload::Json(line) => {
                serde_json::from_slice::<GivenVerdict>(line).map_err(|error| error.to_string())
            }
            _ => Err("it is not a line of JSON".to_owned()),
        };
        given.push(verdict.map_err(|error| {
            wrong(format_args!(
                "{}: not a verdict: {error}; write a JSON object with the fields page_id, kind (UNIQUE, \
                 EXACT_DUPLICATE, NEAR_DUPLICATE, UNDECIDABLE) and, for duplicates, canonical_page_id",
                record.place
            ))
        })?);
        Ok(())
    })?;
    Ok(given)
}
