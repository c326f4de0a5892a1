//! What a run found in its documents, for people who build a corpus: how much of it are copies, which
//! clusters are the largest, which hosts copy, and which clusters look like a template.

mod render;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::spool::Spooled;
use super::{Copied, Decision};
use crate::page::host::host;
use crate::verdict::Kind;

/// Clusters and hosts that are named.
const NAMED_MAX: usize = 20;
/// Pages from which on a cluster of one host may be pages of a template, and no copies.
const TEMPLATE_PAGES_MIN: u32 = 10;

/// The whole report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Documents with a verdict.
    pub documents: u64,
    /// How many have each kind of verdict.
    pub kinds: Vec<(&'static str, u64)>,
    /// What was copied, if documents were written.
    pub copied: Option<Copied>,
    /// Clusters with a page of this run.
    pub clusters: u64,
    /// How many clusters have how many pages.
    pub sizes: Vec<SizeClass>,
    /// The largest, with two pages at least.
    pub largest: Vec<ClusterLine>,
    /// The largest of those that look like pages of a template rather than copies.
    pub suspicious: Vec<ClusterLine>,
    /// The hosts with most documents.
    pub hosts: Vec<HostLine>,
    /// Hosts in all.
    pub host_count: u64,
}

/// Clusters of some size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SizeClass {
    /// Pages at least.
    pub from: u32,
    /// Pages at most; none: any number.
    pub to: Option<u32>,
    /// Clusters of this size.
    pub clusters: u64,
    /// Pages in them.
    pub documents: u64,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClusterLine {
    /// Its name.
    pub cluster_id: String,
    /// Pages of this run.
    pub size: u32,
    /// How many of them are near-duplicates, and not exact ones.
    pub near: u32,
    /// Whether all are of one host.
    pub one_host: bool,
    /// The url of the page that founded it.
    pub canonical_url: String,
    /// The url of its last page.
    pub example_url: String,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostLine {
    /// Its name; empty for urls without one.
    pub host: String,
    /// Its documents.
    pub documents: u64,
    /// How many of them are duplicates.
    pub duplicates: u64,
}

/// What is counted of a cluster.
struct Counted {
    size: u32,
    near: u32,
    /// Hash of the first page's host.
    host: u64,
    one_host: bool,
    /// Where the last page's decision stands.
    last: u64,
}

/// Reads all decisions. Memory: some 60 bytes a cluster, and the names of hosts.
///
/// # Errors
/// The decisions cannot be read.
pub fn collect(spooled: &mut Spooled, copied: Option<Copied>) -> anyhow::Result<Report> {
    let mut kinds = Kind::ALL.map(|kind| (kind.as_str(), 0));
    let mut clusters: HashMap<u64, Counted> = HashMap::new();
    let mut hosts: HashMap<String, (u64, u64)> = HashMap::new();
    let mut documents = 0;
    spooled.each(|at, decision| {
        documents += 1;
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
    let mut lines = |clusters: &mut dyn Iterator<Item = &Counted>| -> anyhow::Result<Vec<ClusterLine>> {
        clusters.take(NAMED_MAX).map(|cluster| line(cluster, spooled)).collect()
    };
    let largest = lines(&mut by_size.iter().copied())?;
    let suspicious = lines(&mut by_size.iter().copied().filter(|cluster| looks_like_a_template(cluster)))?;
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
    })
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

/// Copies spread over sites, and most of them are exact on one site. Many pages of
/// one site that are all a little different are rather one form, filled in again and again.
fn looks_like_a_template(cluster: &Counted) -> bool {
    cluster.one_host && cluster.size >= TEMPLATE_PAGES_MIN && cluster.near * 5 >= cluster.size * 4
}

fn line(cluster: &Counted, spooled: &mut Spooled) -> anyhow::Result<ClusterLine> {
    let last = spooled.at(cluster.last)?;
    Ok(ClusterLine {
        cluster_id: last.cluster_id.unwrap_or_default(),
        size: cluster.size,
        near: cluster.near,
        one_host: cluster.one_host,
        canonical_url: last.canonical_url.unwrap_or_default(),
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
