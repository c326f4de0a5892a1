//! Accounts by source: how many documents and bytes came from each source, were kept and dropped, and how many
//! documents of a source have a copy in another one.
//!
//! A source is a value of a [`Field`](super::fields::Field). Memory: the names of the sources, and about 30 bytes
//! for each source of each cluster. Of the pairs of sources, only the largest ones are held.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use super::Decision;
use crate::error::Result;
use crate::sink::whole_lines::WholeLines;
use leitong_base::terminal;

/// Maximum number of sources of a cluster for which overlaps are counted. A page that is on every site says
/// nothing about any two sites, and would make too many pairs.
const CLUSTER_SOURCES_MAX: usize = 100;
/// Maximum number of pairs of sources that are written: those with the most documents.
const OVERLAPS_MAX: usize = 1_000;
/// Number of members of clusters up to which they are not merged.
const MEMBERS_MIN: usize = 1 << 12;
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
    members: Members,
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
            self.members.count(decision.founded, source);
        }
    }

    /// Returns the accounts, the largest sources first.
    pub(crate) fn finish(self, field: String) -> AccountsReport {
        let Self { names, totals, members } = self;
        let mut numbers: Vec<u32> = (0..totals.len() as u32).collect();
        numbers.sort_unstable_by_key(|number| names.name(*number));
        let mut ranks = vec![0; numbers.len()];
        (0..).zip(&numbers).for_each(|(rank, number)| ranks[*number as usize] = rank);
        let (members, clusters_left_out) = members.of_several_sources();
        let Pairs { largest, all } = Pairs::count(&members, &ranks);
        let name = |number: u32| names.name(number).map(str::to_owned);
        let overlap = |Pair { documents, ranks: Reverse(ranks) }: Pair| {
            let [source, with] = ranks.map(|rank| name(numbers[rank as usize]));
            Overlap { source, with, documents }
        };
        let overlaps: Vec<Overlap> = largest.into_iter().map(overlap).collect();
        let overlaps_left_out = all - overlaps.len() as u64;
        numbers.sort_by_key(|number| Reverse(totals[*number as usize].documents));
        let line = |number: u32| SourceLine { source: name(number), totals: totals[number as usize] };
        let sources = numbers.into_iter().map(line).collect();
        AccountsReport { field, sources, overlaps, overlaps_left_out, clusters_left_out }
    }
}

/// The number of documents of one source in one cluster, which is identified by its founder's log offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    founder: u64,
    source: u32,
    documents: u32,
}

/// The sources of each cluster. New members are merged with equal ones when they are as many as the merged ones.
#[derive(Debug, Default)]
struct Members {
    all: Vec<Member>,
    /// Number of members at which they are merged.
    merged_at: usize,
}

impl Members {
    fn count(&mut self, founder: u64, source: u32) {
        if self.all.len() >= self.merged_at {
            self.merge();
            self.merged_at = (2 * self.all.len()).max(MEMBERS_MIN);
            self.all.reserve_exact(self.merged_at - self.all.len());
        }
        self.all.push(Member { founder, source, documents: 1 });
    }

    /// Sorts the members, and adds up those of one source and cluster.
    fn merge(&mut self) {
        self.all.sort_unstable();
        self.all.dedup_by(|next, member| {
            let is_same = (next.founder, next.source) == (member.founder, member.source);
            if is_same {
                member.documents = member.documents.saturating_add(next.documents);
            }
            is_same
        });
    }

    /// Returns the members of clusters with several sources, sorted, and the number of clusters that are left out
    /// because they have more than [`CLUSTER_SOURCES_MAX`].
    fn of_several_sources(mut self) -> (Vec<Member>, u64) {
        self.merge();
        let (mut left_out, mut counted_until) = (0, 0);
        let mut start = 0;
        while let Some(first) = self.all.get(start) {
            let same = self.all[start..].iter().take_while(|member| member.founder == first.founder).count();
            if same > CLUSTER_SOURCES_MAX {
                left_out += 1;
            } else if same > 1 {
                self.all.copy_within(start..start + same, counted_until);
                counted_until += same;
            }
            start += same;
        }
        self.all.truncate(counted_until);
        (self.all, left_out)
    }
}

/// A pair of sources. Of two pairs, the one with more documents is larger, then the one whose names come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    documents: u64,
    /// The places of both sources in the order of their names.
    ranks: Reverse<[u32; 2]>,
}

/// The largest pairs of sources.
struct Pairs {
    /// At most [`OVERLAPS_MAX`] pairs, the largest first.
    largest: Vec<Pair>,
    /// Number of all pairs.
    all: u64,
}

impl Pairs {
    /// Counts the pairs of these members, which are sorted, source by source. So there are never more counts than
    /// sources. Cost: at most [`CLUSTER_SOURCES_MAX`] steps for each member.
    fn count(members: &[Member], ranks: &[u32]) -> Self {
        let mut by_source: Vec<usize> = (0..members.len()).collect();
        by_source.sort_unstable_by_key(|at| (members[*at].source, *at));
        let (mut all, mut largest) = (0, BinaryHeap::new());
        for of_source in by_source.chunk_by(|a, b| members[*a].source == members[*b].source) {
            let mut counts: HashMap<u32, u64> = HashMap::new();
            for at in of_source {
                let Member { founder, documents, .. } = members[*at];
                let is_of_cluster = |member: &&Member| member.founder == founder;
                let before = members[..*at].iter().rev().take_while(is_of_cluster);
                for with in before.chain(members[at + 1..].iter().take_while(is_of_cluster)) {
                    *counts.entry(with.source).or_default() += u64::from(documents);
                }
            }
            all += counts.len() as u64;
            let rank = |source: u32| ranks[source as usize];
            for (with, documents) in counts {
                let ranks = Reverse([rank(members[of_source[0]].source), rank(with)]);
                largest.push(Reverse(Pair { documents, ranks }));
                if largest.len() > OVERLAPS_MAX {
                    largest.pop();
                }
            }
        }
        let largest = largest.into_sorted_vec().into_iter().map(|Reverse(pair)| pair).collect();
        Self { largest, all }
    }
}

/// The accounts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AccountsReport {
    /// The field whose values are the sources.
    pub field: String,
    /// The counts of each source.
    pub sources: Vec<SourceLine>,
    /// The pairs of sources with the most documents in the same clusters, at most [`OVERLAPS_MAX`].
    pub overlaps: Vec<Overlap>,
    /// Number of further pairs.
    pub overlaps_left_out: u64,
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
    /// Writes the accounts as CSV or JSON, depending on the name of the file, and reports what they leave out.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let Self { overlaps_left_out, clusters_left_out, .. } = self;
        if *overlaps_left_out > 0 {
            terminal::note(format_args!(
                "--accounts: the {OVERLAPS_MAX} pairs of sources with the most documents are written, and \
                 {overlaps_left_out} are left out"
            ));
        }
        if *clusters_left_out > 0 {
            terminal::note(format_args!(
                "--accounts: {clusters_left_out} clusters of more than {CLUSTER_SOURCES_MAX} sources are left out of \
                 the pairs"
            ));
        }
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
    use std::collections::BTreeMap;

    use leitong_base::random::Random;

    use super::*;
    use crate::growth::{GROWTH_MAX, growth};

    /// Counts documents, each given by its cluster and its source.
    fn accounts(documents: &[(u64, u32)]) -> AccountsReport {
        let mut accounts = Accounts::default();
        for (founder, source) in documents {
            let number = accounts.names.number(Some(&format!("host{source}")));
            accounts.totals.resize(accounts.names.names.len(), Totals::default());
            accounts.totals[number as usize].documents += 1;
            accounts.members.count(*founder, number);
        }
        accounts.finish("host".to_owned())
    }

    /// The naive twin: counts all pairs at once.
    fn naive(documents: &[(u64, u32)]) -> (Vec<Overlap>, u64) {
        let mut clusters: BTreeMap<u64, BTreeMap<u32, u64>> = BTreeMap::new();
        for (founder, source) in documents {
            *clusters.entry(*founder).or_default().entry(*source).or_default() += 1;
        }
        let mut pairs: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let counted = |cluster: &&BTreeMap<u32, u64>| cluster.len() <= CLUSTER_SOURCES_MAX;
        for cluster in clusters.values().filter(counted) {
            for (source, documents) in cluster {
                for with in cluster.keys().filter(|with| *with != source) {
                    *pairs.entry((*source, *with)).or_default() += documents;
                }
            }
        }
        let name = |source: u32| Some(format!("host{source}"));
        let overlap = |((source, with), documents): (&(u32, u32), &u64)| Overlap {
            source: name(*source),
            with: name(*with),
            documents: *documents,
        };
        let mut overlaps: Vec<Overlap> = pairs.iter().map(overlap).collect();
        let names = |overlap: &Overlap| (overlap.source.clone(), overlap.with.clone());
        overlaps.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| names(a).cmp(&names(b))));
        let left_out = overlaps.len().saturating_sub(OVERLAPS_MAX);
        overlaps.truncate(OVERLAPS_MAX);
        (overlaps, left_out as u64)
    }

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

    #[test]
    fn the_largest_pairs_of_sources_are_those_of_a_naive_count() {
        let mut random = Random::from_seed(5);
        for (clusters, sources, documents) in [(1, 1, 9), (40, 9, 9_000), (900, 60, 9_000), (9, 200, 3_000)] {
            let document = |_| (random.below(clusters) as u64, random.below(sources) as u32);
            let documents: Vec<_> = (0..documents).map(document).collect();
            let found = accounts(&documents);
            assert_eq!((found.overlaps, found.overlaps_left_out), naive(&documents), "{clusters} clusters");
            let ordered = |pair: &[SourceLine]| {
                let [a, b] = [&pair[0], &pair[1]];
                (Reverse(a.totals.documents), &a.source) < (Reverse(b.totals.documents), &b.source)
            };
            assert!(found.sources.windows(2).all(ordered), "the largest first, then by name");
        }
    }

    /// Each cluster has a hundred sources of its own, so there are 9,900 pairs for each cluster.
    #[test]
    fn members_take_thirty_bytes_and_pairs_none() {
        let documents = |clusters: usize| -> Vec<(u64, u32)> {
            let of_cluster = |cluster: u64| (0..100).map(move |at| (cluster, cluster as u32 * 100 + at));
            (0..clusters as u64).flat_map(of_cluster).collect()
        };
        let mut members = Members::default();
        for _ in 0..3 {
            documents(300).iter().for_each(|(founder, source)| members.count(*founder, *source));
        }
        let bytes = members.all.capacity() * size_of::<Member>();
        assert!(bytes <= 34 * 30_000, "{bytes} bytes for 30,000 members");
        let found = accounts(&documents(300));
        assert_eq!((found.overlaps.len(), found.overlaps_left_out), (OVERLAPS_MAX, 300 * 9_900 - 1_000));
        assert!(found.csv().len() < 31_000 * 80, "{}", found.csv().len());
        let grown = growth(10, documents, |documents| {
            accounts(documents);
        });
        assert!(grown < GROWTH_MAX, "{grown}");
    }
}
