//! Accounts by source: how many documents and bytes came from each source, were kept and dropped, and how many
//! documents of a source have a copy in another one.
//!
//! A source is a value of a [`Field`](super::fields::Field). Memory: the names of the sources, and about 30 bytes
//! for each source of each cluster.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use super::Decision;
use crate::sink::whole_lines::WholeLines;
use leitong_base::terminal;

/// Maximum number of sources of a cluster for which overlaps are counted. A page that is on every site says
/// nothing about any two sites, and would make too many pairs.
const CLUSTER_SOURCES_MAX: usize = 100;
/// Maximum number of sources or overlaps that a report lists.
const NAMED_MAX: usize = 20;

/// The names of sources, each with a number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl Names {
    /// Returns the number of a source. Documents without a value are one source, whose name is empty.
    pub(crate) fn number(&mut self, value: Option<&str>) -> u32 {
        let name = value.unwrap_or_default();
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        number
    }

    /// Returns the name of a source. `None` for documents without a value.
    #[must_use]
    pub(crate) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(|name| &**name).filter(|name| !name.is_empty())
    }
}

/// The outcome for a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The document was kept.
    Kept,
    /// The document was dropped.
    Dropped,
    /// The document could not be copied.
    NotCopied,
}

/// The counts of one source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Totals {
    /// Number of documents with a verdict.
    pub documents: u64,
    /// Size of the documents with a verdict in bytes, before compression.
    pub bytes: u64,
    /// Number of documents that were kept.
    pub kept: u64,
    /// Size of the kept documents in bytes.
    pub kept_bytes: u64,
    /// Number of documents that were dropped.
    pub dropped: u64,
    /// Size of the dropped documents in bytes.
    pub dropped_bytes: u64,
    /// Number of documents that were kept only because of `--verify`.
    pub kept_by_verify: u64,
}

/// Counts documents by source.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    names: Names,
    totals: Vec<Totals>,
    /// Number of documents of each source in each cluster, which is identified by its founder's log offset.
    clusters: HashMap<(u64, u32), u32>,
}

impl Accounts {
    /// Counts a document of the source `value`.
    pub(crate) fn count(&mut self, decision: &Decision, value: Option<&str>, fate: Fate, bytes: u64) {
        let source = self.names.number(value);
        if self.totals.len() <= source as usize {
            self.totals.resize(source as usize + 1, Totals::default());
        }
        let totals = &mut self.totals[source as usize];
        totals.documents += 1;
        totals.bytes += bytes;
        match fate {
            Fate::Kept => {
                totals.kept += 1;
                totals.kept_bytes += bytes;
                totals.kept_by_verify += u64::from(decision.is_kept_by_verify());
            }
            Fate::Dropped => {
                totals.dropped += 1;
                totals.dropped_bytes += bytes;
            }
            Fate::NotCopied => {}
        }
        if decision.cluster_id.is_some() {
            *self.clusters.entry((decision.founded, source)).or_default() += 1;
        }
    }

    /// Returns the accounts, the largest sources first.
    #[must_use]
    pub(crate) fn finish(self, field: String) -> AccountsReport {
        let Self { names, totals, clusters } = self;
        let mut members: Vec<((u64, u32), u32)> = clusters.into_iter().collect();
        members.sort_unstable();
        let mut overlaps: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut clusters_left_out = 0;
        for cluster in members.chunk_by(|a, b| a.0.0 == b.0.0) {
            if cluster.len() > CLUSTER_SOURCES_MAX {
                clusters_left_out += 1;
                continue;
            }
            for ((_, source), documents) in cluster {
                for ((_, with), _) in cluster.iter().filter(|((_, with), _)| with != source) {
                    *overlaps.entry((*source, *with)).or_default() += u64::from(*documents);
                }
            }
        }
        let name = |number: u32| names.name(number).map(str::to_owned);
        let line =
            |(number, totals): (usize, &Totals)| SourceLine { source: name(number as u32), totals: *totals };
        let mut sources: Vec<SourceLine> = totals.iter().enumerate().map(line).collect();
        sources.sort_by(|a, b| {
            b.totals.documents.cmp(&a.totals.documents).then_with(|| a.source.cmp(&b.source))
        });
        let overlap =
            |((source, with), documents)| Overlap { source: name(source), with: name(with), documents };
        let mut overlaps: Vec<Overlap> = overlaps.into_iter().map(overlap).collect();
        overlaps.sort_by(|a, b| {
            let names = |overlap: &Overlap| (overlap.source.clone(), overlap.with.clone());
            b.documents.cmp(&a.documents).then_with(|| names(a).cmp(&names(b)))
        });
        AccountsReport { field, sources, overlaps, clusters_left_out }
    }
}

/// The accounts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AccountsReport {
    /// The field whose values are the sources.
    pub field: String,
    /// The counts of each source.
    pub sources: Vec<SourceLine>,
    /// Pairs of sources with documents in the same clusters.
    pub overlaps: Vec<Overlap>,
    /// Number of clusters whose documents have too many sources to count their pairs.
    pub clusters_left_out: u64,
}

/// The counts of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SourceLine {
    /// The value of the field. `None` for documents without one.
    pub source: Option<String>,
    /// The counts.
    #[serde(flatten)]
    pub totals: Totals,
}

/// Number of documents of one source that have a copy in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Overlap {
    /// The source of the documents.
    pub source: Option<String>,
    /// The other source.
    pub with: Option<String>,
    /// Number of documents of `source` in clusters that also have a document of `with`.
    pub documents: u64,
}

impl AccountsReport {
    /// Writes the accounts as CSV or JSON, depending on the name of the file.
    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut lines = WholeLines::create(path)?;
        match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
            true => lines.push_text(&self.csv())?,
            false => lines.push(self)?,
        }
        Ok(lines.flush()?)
    }

    /// Formats the accounts as CSV: a row for each source, then a row for each pair, with the other source in the
    /// second column. Only the rows of sources have a number of bytes.
    fn csv(&self) -> String {
        let mut csv = String::from(
            "source,with,documents,bytes,kept,kept_bytes,dropped,dropped_bytes,kept_by_verify\n",
        );
        for SourceLine { source, totals } in &self.sources {
            let Totals { documents, bytes, kept, kept_bytes, dropped, dropped_bytes, kept_by_verify } =
                totals;
            let _ = writeln!(
                csv,
                "{},,{documents},{bytes},{kept},{kept_bytes},{dropped},{dropped_bytes},{kept_by_verify}",
                cell(source.as_deref())
            );
        }
        for Overlap { source, with, documents } in &self.overlaps {
            let [source, with] = [source, with].map(|source| cell(source.as_deref()));
            let _ = writeln!(csv, "{source},{with},{documents},,,,,,");
        }
        csv
    }

    /// Returns the accounts of the largest sources and overlaps only.
    #[must_use]
    pub(crate) fn largest(mut self) -> Self {
        self.sources.truncate(NAMED_MAX);
        self.overlaps.truncate(NAMED_MAX);
        self
    }
}

/// Characters at which a spreadsheet takes a cell for a formula, also after a line end or in full width.
const FORMULA_STARTS: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Formats the name of a source for CSV, in which documents without a value are an empty cell. A spreadsheet must not take
/// a name for a formula, so an apostrophe is put before it. Characters that would control a terminal, or make a line read
/// differently than it is written, become escapes.
fn cell(source: Option<&str>) -> String {
    let source = source.unwrap_or_default();
    let is_formula =
        source.trim_start().starts_with(FORMULA_STARTS) || source.starts_with(['\t', '\r', '\n']);
    let name = format!("{}{}", if is_formula { "'" } else { "" }, terminal::escape(source));
    // With some languages, a spreadsheet separates cells at semicolons.
    match name.contains([',', ';', '"']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources come from pages. A cell such as `=HYPERLINK(…)` was active in a spreadsheet, and documents without a value
    /// looked like a source called `(none)`.
    #[test]
    fn cells_are_harmless_and_no_value_is_empty() {
        for (source, expected) in [
            (None, ""),
            (Some("(none)"), "(none)"),
            (Some("a.example"), "a.example"),
            (Some("a;=1"), "\"a;=1\""),
            (Some("a, \"b\""), "\"a, \"\"b\"\"\""),
            (Some("=1+1"), "'=1+1"),
            (Some("+1"), "'+1"),
            (Some("-1"), "'-1"),
            (Some("@sum"), "'@sum"),
            (Some(" =1"), "' =1"),
            (Some("\u{ff1d}1"), "'\u{ff1d}1"),
            (Some("\t=1"), "'\\t=1"),
            (Some("\r=1"), "'\\r=1"),
            (Some("=A1,\"x\""), "\"'=A1,\"\"x\"\"\""),
            (Some("a\nb\u{1b}[31m\u{202e}"), "a\\nb\\u{1b}[31m\\u{202e}"),
        ] {
            assert_eq!(cell(source), expected, "{source:?}");
        }
    }
}
