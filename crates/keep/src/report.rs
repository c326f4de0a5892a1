//! Summarises the documents of a run for people who build a corpus: how many are copies, which clusters are
//! the largest, which hosts copy, and which clusters look like a template.

mod render;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::Decision;
use super::accounts::AccountsReport;
use super::passages::benchmark::SharedPassage;
use super::spool::Spooled;
use super::verify::{Check, Counts};
use crate::error::Result;
use crate::sink::Language;
use crate::sink::copied::Copied;
use crate::sink::whole_lines::WholeLines;
use leitong_cluster::verdict::Kind;
use leitong_text::page::host;

/// Maximum number of clusters or hosts that are listed.
const NAMED_MAX: usize = 20;
/// Minimum size of a cluster of one host that is reported as a likely template: its pages may be different
/// texts in the same form, not copies.
const TEMPLATE_PAGES_MIN: u32 = 10;

/// The whole report.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Number of documents with a verdict.
    pub documents: u64,
    /// Number of documents with each kind of verdict.
    pub kinds: Vec<(&'static str, u64)>,
    /// Counts of copied documents, if documents were written.
    pub copied: Option<Copied>,
    /// Number of clusters with a page of this run.
    pub clusters: u64,
    /// Distribution of cluster sizes.
    pub sizes: Vec<SizeClass>,
    /// The largest clusters with at least two pages.
    pub largest: Vec<ClusterLine>,
    /// The largest clusters whose pages probably share a template and are not copies.
    pub suspicious: Vec<ClusterLine>,
    /// The hosts with the most documents.
    pub hosts: Vec<HostLine>,
    /// Total number of hosts.
    pub host_count: u64,
    /// The results of verification, if documents were verified.
    pub verified: Option<Verified>,
    /// The documents that contain a passage of a benchmark, if documents were compared with one.
    pub benchmarks: Option<Vec<DocumentLine<SharedPassage>>>,
    /// Number of documents by language, if languages are detected.
    pub languages: Option<BTreeMap<&'static str, Language>>,
    /// The accounts of the largest sources, if they were requested.
    pub accounts: Option<AccountsReport>,
}

/// The results of verification.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Verified {
    /// Number of documents by result.
    pub counts: Counts,
    /// Documents that are dropped although the kept document lacks some of their text, the longest lost passage first.
    pub losses: Vec<DocumentLine<Check>>,
    /// Documents that are kept because of verification, the longest passage that would be lost first.
    pub kept: Vec<DocumentLine<Check>>,
}

/// A document with what is reported of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DocumentLine<T> {
    /// The page id.
    pub page_id: String,
    /// The url.
    pub url: String,
    /// The result of verification, or the passage of a benchmark that it contains.
    #[serde(flatten)]
    pub what: T,
}

impl<T: Clone> DocumentLine<T> {
    fn new(decision: &Decision, what: &T) -> Self {
        Self { page_id: decision.page_id.clone(), url: decision.url.clone(), what: what.clone() }
    }
}

impl Verified {
    fn add(&mut self, decision: &Decision, check: &Check) {
        self.counts.count(check.finding);
        let lines = if check.keeps() { &mut self.kept } else { &mut self.losses };
        let is_listed = check.keeps() || check.lost_letters > 0;
        let is_longer = |line: &DocumentLine<Check>| line.what.lost_letters < check.lost_letters;
        if is_listed && (lines.len() < NAMED_MAX || lines.last().is_some_and(is_longer)) {
            let at = lines.partition_point(|line| line.what.lost_letters >= check.lost_letters);
            lines.insert(at, DocumentLine::new(decision, check));
            lines.truncate(NAMED_MAX);
        }
    }
}

/// The clusters within a range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct SizeClass {
    /// Minimum number of pages.
    pub from: u32,
    /// Maximum number of pages. `None` means no maximum.
    pub to: Option<u32>,
    /// Number of clusters in this range.
    pub clusters: u64,
    /// Number of pages in the clusters in this range.
    pub documents: u64,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ClusterLine {
    /// The cluster id.
    pub cluster_id: String,
    /// Number of the cluster's pages in this run.
    pub size: u32,
    /// Number of the cluster's pages in this run that are near-duplicates, but not exact duplicates.
    pub near: u32,
    /// True if all pages have the same host.
    pub one_host: bool,
    /// The id of the cluster's canonical page.
    pub canonical_page_id: String,
    /// The url of the cluster's canonical page.
    pub canonical_url: String,
    /// The id of the last page.
    pub example_page_id: String,
    /// The url of the last page.
    pub example_url: String,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HostLine {
    /// The name of the host. Empty for urls without a host.
    pub host: String,
    /// Number of documents.
    pub documents: u64,
    /// Number of documents that are duplicates.
    pub duplicates: u64,
}

/// The counts for a cluster.
struct Counted {
    size: u32,
    near: u32,
    /// Hash of the first page's host.
    host: u64,
    one_host: bool,
    /// The byte offset of the last page's decision in the spool.
    last: u64,
}

impl Report {
    /// Writes the report as JSON, HTML or text, depending on the name of the file.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let mut lines = WholeLines::create(path)?;
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        match extension.to_str() {
            Some("json") => lines.push(self)?,
            Some("html" | "htm") => lines.push_text(&self.html())?,
            _ => lines.push_text(&self.text())?,
        }
        Ok(lines.flush()?)
    }

    /// Reads all decisions and counts them. `compares` is true if documents were compared with benchmarks. Memory:
    /// about 60 bytes per cluster, and the names of hosts.
    ///
    /// # Errors
    /// The decisions cannot be read.
    pub(crate) fn collect(
        spooled: &mut Spooled,
        (copied, accounts, languages): (
            Option<Copied>,
            Option<AccountsReport>,
            Option<BTreeMap<&'static str, Language>>,
        ),
        compares: bool,
    ) -> Result<Report> {
        let mut kinds = Kind::ALL.map(|kind| (kind.as_str(), 0));
        let mut clusters: HashMap<u64, Counted> = HashMap::new();
        let mut hosts: HashMap<String, (u64, u64)> = HashMap::new();
        let mut documents = 0;
        let mut verified: Option<Verified> = None;
        let mut benchmarks = compares.then(Vec::new);
        spooled.each(|at, decision| {
            documents += 1;
            if let (Some(lines), Some(found)) = (&mut benchmarks, &decision.benchmark)
                && lines.len() < NAMED_MAX
            {
                lines.push(DocumentLine::new(decision, &**found));
            }
            if let Some(check) = &decision.check {
                verified.get_or_insert_default().add(decision, check);
            }
            kinds[decision.kind as usize].1 += 1;
            let host = host(&decision.url);
            count_in_cluster(&mut clusters, decision, xxh3_64(host.as_bytes()), at);
            let of_host = hosts.entry(host).or_default();
            of_host.0 += 1;
            of_host.1 += u64::from(is_duplicate(decision.kind));
            Ok(())
        })?;
        let mut by_size: Vec<&Counted> = clusters.values().filter(|cluster| cluster.size > 1).collect();
        by_size.sort_unstable_by_key(|cluster| (std::cmp::Reverse(cluster.size), cluster.last));
        let mut lines = |clusters: &mut dyn Iterator<Item = &Counted>| -> Result<Vec<ClusterLine>> {
            clusters.take(NAMED_MAX).map(|cluster| line(cluster, spooled)).collect()
        };
        let largest = lines(&mut by_size.iter().copied())?;
        let suspicious =
            lines(&mut by_size.iter().copied().filter(|cluster| looks_like_a_template(cluster)))?;
        Ok(Report {
            documents,
            kinds: kinds.to_vec(),
            copied,
            clusters: clusters.len() as u64,
            sizes: sizes(clusters.values()),
            largest,
            suspicious,
            host_count: hosts.len() as u64,
            hosts: largest_hosts(hosts),
            verified,
            benchmarks,
            languages,
            accounts: accounts.map(AccountsReport::largest),
        })
    }
}

fn is_duplicate(kind: Kind) -> bool {
    matches!(kind, Kind::ExactDuplicate | Kind::NearDuplicate)
}

fn count_in_cluster(clusters: &mut HashMap<u64, Counted>, decision: &Decision, host: u64, at: u64) {
    if decision.cluster_id.is_none() {
        return;
    }
    let near = u32::from(decision.kind == Kind::NearDuplicate);
    match clusters.entry(decision.founded) {
        Entry::Vacant(none) => {
            none.insert(Counted { size: 1, near, host, one_host: true, last: at });
        }
        Entry::Occupied(mut cluster) => {
            let cluster = cluster.get_mut();
            cluster.size += 1;
            cluster.near += near;
            cluster.one_host &= cluster.host == host;
            cluster.last = at;
        }
    }
}

/// Returns true if the pages of a cluster are probably one template, filled in several times. Copies are usually spread
/// over several hosts, and copies within a host are mostly exact. Many pages of one host that all differ slightly are
/// more probably a template.
fn looks_like_a_template(cluster: &Counted) -> bool {
    cluster.one_host && cluster.size >= TEMPLATE_PAGES_MIN && cluster.near * 5 >= cluster.size * 4
}

fn line(cluster: &Counted, spooled: &mut Spooled) -> Result<ClusterLine> {
    let last = spooled.at(cluster.last)?;
    Ok(ClusterLine {
        cluster_id: last.cluster_id.unwrap_or_default(),
        size: cluster.size,
        near: cluster.near,
        one_host: cluster.one_host,
        canonical_page_id: last.canonical_page_id.unwrap_or_default(),
        canonical_url: last.canonical_url.unwrap_or_default(),
        example_page_id: last.page_id,
        example_url: last.url,
    })
}

fn sizes<'a>(clusters: impl Iterator<Item = &'a Counted>) -> Vec<SizeClass> {
    let bounds = [(1, Some(1)), (2, Some(2)), (3, Some(5)), (6, Some(10)), (11, Some(100)), (101, None)];
    let mut classes = bounds.map(|(from, to)| SizeClass { from, to, clusters: 0, documents: 0 });
    for cluster in clusters {
        let class = classes.iter_mut().find(|class| class.to.is_none_or(|to| cluster.size <= to));
        if let Some(class) = class {
            class.clusters += 1;
            class.documents += u64::from(cluster.size);
        }
    }
    classes.into_iter().filter(|class| class.clusters > 0).collect()
}

fn largest_hosts(hosts: HashMap<String, (u64, u64)>) -> Vec<HostLine> {
    let line = |(host, (documents, duplicates))| HostLine { host, documents, duplicates };
    let mut lines: Vec<HostLine> = hosts.into_iter().map(line).collect();
    lines.sort_unstable_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.host.cmp(&b.host)));
    lines.truncate(NAMED_MAX);
    lines
}
