//! Counts the removals of an audit by outcome and source.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use leitong_base::terminal;
use leitong_keep::{AuditOutcome, Audited, AuditedNames};
use leitong_text::page::host;

/// Maximum number of sources that are listed as text.
const NAMED_MAX: usize = 20;

/// The counts.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// Number of kept documents.
    kept: usize,
    /// Number of removed documents, by outcome.
    removed: Outcomes,
    /// The same by source.
    sources: BTreeMap<String, Outcomes>,
}

type Outcomes = BTreeMap<&'static str, usize>;

impl Summary {
    pub(super) fn new(kept: usize) -> Self {
        let removed = AuditOutcome::ALL.map(|outcome| (outcome.as_str(), 0)).into();
        Self { kept, removed, sources: BTreeMap::new() }
    }

    pub(super) fn count(&mut self, audited: &Audited) {
        let of_source = self.sources.entry(source(&audited.removed)).or_default();
        for counts in [&mut self.removed, of_source] {
            *counts.entry(audited.outcome.as_str()).or_default() += 1;
        }
    }

    /// Returns the number of removals with this outcome.
    pub(super) fn with(&self, outcome: AuditOutcome) -> usize {
        self.removed[outcome.as_str()]
    }

    /// Formats the counts for people.
    pub(super) fn text(&self) -> String {
        let removed: usize = self.removed.values().sum();
        let mut out = format!("{removed} documents were removed, and {} kept\n", self.kept);
        for outcome in AuditOutcome::ALL {
            let what = match outcome {
                AuditOutcome::SameText => "a kept document has the same text",
                AuditOutcome::Contained => "a kept document contains it",
                AuditOutcome::FactsDiffer => "numbers, versions or names differ",
                AuditOutcome::TextLost => "text is in no kept document that is like it",
                AuditOutcome::NothingLikeIt => "no kept document is like it",
                AuditOutcome::NoText => "it has no text",
            };
            let _ = writeln!(out, "{:>12}  {}: {what}", self.with(outcome), outcome.as_str());
        }
        let total = |(_, counts): &(&String, &Outcomes)| counts.values().sum::<usize>();
        let mut sources: Vec<_> = self.sources.iter().collect();
        sources.sort_by_key(|source| std::cmp::Reverse(total(source)));
        for source in sources.iter().take(NAMED_MAX) {
            let counts = source.1.iter().map(|(outcome, count)| format!("{outcome} {count}"));
            let counts = counts.collect::<Vec<_>>().join(", ");
            let _ = writeln!(out, "{:>12}  from {}: {counts}", total(source), terminal::escape(source.0));
        }
        if sources.len() > NAMED_MAX {
            let _ = writeln!(
                out,
                "{:>12}  more sources: --report FILE.json lists all",
                sources.len() - NAMED_MAX
            );
        }
        out
    }
}

/// Returns the source of a document: the host of its url, or its file if there is no host.
pub(super) fn source(names: &AuditedNames) -> String {
    let host = host(&names.url);
    let file = || names.place.rsplit_once(':').map_or(&*names.place, |(file, _)| file).to_owned();
    if host.is_empty() { file() } else { host }
}
