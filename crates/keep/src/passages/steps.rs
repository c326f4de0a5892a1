//! The steps of a run that deal with passages: reading benchmarks, comparing documents with them, and listing or
//! cutting the passages that many documents have.

use std::path::Path;
use std::sync::Arc;

use super::benchmark::Benchmarks;
use super::cut::Cutter;
use super::repeated::{Counts, Search};
use super::{Contaminated, Limits};
use crate::error::{Context, Error, Result};
use crate::options::PassageOptions;
use crate::prefer::Choice;
use crate::sink::whole_lines::WholeLines;
use crate::spool::{Spool, Spooled};
use crate::verify::texts::TextFile;
use leitong_base::terminal;
use leitong_formats::source::{InputRules, is_object};

/// Reads the benchmarks.
pub(crate) fn read_benchmarks(options: &PassageOptions, rules: &InputRules) -> Result<Benchmarks> {
    let normalised = |text: &str| {
        // Each line is a paragraph, and is normalised according to its own script.
        let lines: Vec<String> = text.lines().map(|line| (options.normalise)(line)).collect();
        lines.join("\n")
    };
    let Limits { letters_min, memory_bytes, .. } = options.limits();
    let mut benchmarks = Benchmarks::new(letters_min, memory_bytes);
    for path in &options.against {
        if !is_object(path) && !path.is_file() {
            let problem = match path.exists() {
                true => "is not a regular file; write what the pipe or device gives to a file first",
                false => "there is no such file",
            };
            return Err(Error::wrong_option(format_args!("--against {}: {problem}", path.display())));
        }
        let cannot = || format!("--against {}: cannot read the benchmark", path.display());
        benchmarks.add_items(path, rules, &normalised).with_context(cannot)?;
    }
    benchmarks.finish().context("--against: cannot index the benchmarks")?;
    let (found, short) = (benchmarks.len(), benchmarks.short());
    if found == 0 {
        return Err(Error::wrong_option(format_args!(
            "--against: the benchmarks have no text of at least {letters_min} letters; lower --passage-letters, or \
             name other files"
        )));
    }
    if short > 0 {
        terminal::note(format_args!(
            "{short} of {} texts in the benchmarks have fewer than {letters_min} letters (--passage-letters); they are \
             searched for only together with their answer choices, if they have any",
            found as u64 + short,
        ));
    }
    Ok(benchmarks)
}

/// Compares all documents with the benchmarks.
pub(crate) fn compare(
    spooled: &mut Spooled,
    texts: &TextFile,
    benchmarks: &Benchmarks,
    searched: Spool,
) -> Result<Spooled> {
    let (searched, Contaminated { documents, not_searched }) = benchmarks
        .find_in_all(spooled, texts, searched)
        .context("cannot compare documents with benchmarks")?;
    terminal::note(format_args!(
        "benchmarks: {documents} documents contain a passage of {} letters or more and are dropped",
        benchmarks.letters_min()
    ));
    note_not_searched(not_searched);
    Ok(searched)
}

/// Finds the passages that many kept documents have, and lists them if requested. Returns the cutter if they are to be
/// cut.
pub(crate) fn find_repeated(
    options: &PassageOptions,
    (spooled, choice, texts): (&mut Spooled, &Choice, &TextFile),
    folder: &Path,
) -> Result<Option<Cutter>> {
    if !options.repeats() {
        return Ok(None);
    }
    let mut search = Search::new(options.limits(), folder, texts, choice);
    let frequent = search.frequent(spooled).context("cannot find passages")?;
    note_not_searched(search.counts().not_searched);
    if let Some(path) = &options.list {
        let cannot = || format!("cannot write {}", path.display());
        let mut lines = WholeLines::create(path).with_context(cannot)?;
        let Counts { searched, passages, .. } =
            search.list(spooled, &frequent, &mut lines).with_context(cannot)?;
        terminal::note(format_args!(
            "passages: {passages} occur in {} or more of the {searched} kept documents that were searched",
            options.documents_min
        ));
    }
    Ok(options.cut.then(|| Cutter::new(options.letters_min, frequent, Arc::clone(&options.normalise))))
}

fn note_not_searched(count: u64) {
    if count > 0 {
        terminal::note(format_args!(
            "{count} documents are not searched for passages, since they have no main text (see the reasons of \
             undecidable pages)"
        ));
    }
}
