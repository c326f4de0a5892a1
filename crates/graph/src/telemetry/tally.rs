//! Counts of pages and duplicates by corpus, host and cluster, for the console.
//!
//! These have too many values for labels of metrics. At most [`NAMES_MAX`] names of each kind are kept. A
//! further name replaces the one with the fewest pages, whose pages are then counted under "others". So the
//! names with the most pages stay, and no count is too high. Nothing is counted unless the console is on.
//! Memory: `NAMES_MAX` corpora, hosts, clusters and urls of clusters, each of at most [`NAME_BYTES_MAX`]
//! bytes.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use leitong_cluster::verdict::{Conclusion, Kind};
use leitong_text::page::host;

/// Maximum number of names that are kept of each kind.
const NAMES_MAX: usize = 256;
/// Maximum length of a name, in bytes. Longer names are cut off.
const NAME_BYTES_MAX: usize = 512;

/// The tally of this process; unset unless the console is on.
static OF_THIS_PROCESS: OnceLock<Mutex<Tally>> = OnceLock::new();

/// Counts for one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pages {
    /// Pages with a verdict.
    pub verdicts: u64,
    /// Exact and near duplicates among these.
    pub duplicates: u64,
}

/// The values that are counted for one verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tallied {
    /// Corpus of the page.
    pub corpus: String,
    /// Host of the page's url; empty if the url has none.
    pub host: String,
    /// Id and canonical url of the cluster that a duplicate joined.
    pub joined: Option<(String, String)>,
}

impl Tallied {
    /// Returns the values to count for `conclusion`; `None` unless [`begin`] was called.
    #[must_use]
    pub fn from_conclusion(conclusion: &Conclusion) -> Option<Self> {
        OF_THIS_PROCESS.get()?;
        let Conclusion::Verdict(verdict) = conclusion else { return None };
        let is_duplicate = matches!(verdict.kind, Kind::ExactDuplicate | Kind::NearDuplicate);
        let joined = verdict.cluster_id.filter(|_| is_duplicate);
        Some(Self {
            corpus: verdict.corpus.clone(),
            host: host(&verdict.url),
            joined: joined.map(|id| (id.to_string(), verdict.canonical_url.clone().unwrap_or_default())),
        })
    }
}

/// Starts to count in this process.
pub fn begin() {
    OF_THIS_PROCESS.get_or_init(Mutex::default);
}

/// Counts committed verdicts.
pub fn committed(verdicts: &[Tallied]) {
    if let Some(tally) = OF_THIS_PROCESS.get() {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        verdicts.iter().for_each(|verdict| tally.count(verdict));
    }
}

/// Returns the counts of this process so far.
#[must_use]
pub fn so_far() -> Tally {
    let tally = OF_THIS_PROCESS.get();
    tally.map(|tally| tally.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap_or_default()
}

/// Counts by corpus, host and cluster.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Counts by corpus.
    pub corpora: Names,
    /// Counts by host, without pages whose url has no host.
    pub hosts: Names,
    /// Counts of duplicates by the id of the cluster that they joined.
    pub clusters: Names,
}

impl Tally {
    /// Counts one verdict.
    pub fn count(&mut self, Tallied { corpus, host, joined }: &Tallied) {
        let duplicates = u64::from(joined.is_some());
        let pages = Pages { verdicts: 1, duplicates };
        self.corpora.add(corpus, "", pages);
        if !host.is_empty() {
            self.hosts.add(host, "", pages);
        }
        if let Some((cluster, url)) = joined {
            self.clusters.add(cluster, url, pages);
        }
    }
}

/// Counts for a bounded number of names.
#[derive(Debug, Clone, Default)]
pub struct Names {
    kept: BTreeMap<Box<str>, (Box<str>, Pages)>,
    /// Counts of names that are not kept.
    pub others: Pages,
}

impl Names {
    /// Adds pages to a name. `note` describes the name.
    fn add(&mut self, name: &str, note: &str, more: Pages) {
        let name = short(name);
        if !self.kept.contains_key(name) && self.kept.len() >= NAMES_MAX {
            let fewest = self.kept.iter().min_by_key(|(_, (_, pages))| pages.verdicts);
            let fewest = fewest.map(|(name, _)| name.clone());
            if let Some((_, gone)) = fewest.and_then(|name| self.kept.remove(&name)) {
                self.others.verdicts += gone.verdicts;
                self.others.duplicates += gone.duplicates;
            }
        }
        let (_, pages) =
            self.kept.entry(name.into()).or_insert_with(|| (short(note).into(), Pages::default()));
        pages.verdicts += more.verdicts;
        pages.duplicates += more.duplicates;
    }

    /// Returns at most `most` names, those with the most pages first: name, note, pages.
    #[must_use]
    pub fn largest(&self, most: usize) -> Vec<(&str, &str, Pages)> {
        let mut all: Vec<_> =
            self.kept.iter().map(|(name, (note, pages))| (&**name, &**note, *pages)).collect();
        all.sort_by_key(|(name, _, pages)| (std::cmp::Reverse(pages.verdicts), *name));
        all.truncate(most);
        all
    }
}

fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stay_and_memory_is_bounded() {
        let mut tally = Tally::default();
        let verdict = |host: String, joined| Tallied { corpus: "default".to_owned(), host, joined };
        for number in 0..20_000_u32 {
            tally.count(&verdict(format!("once-{number}.example"), None));
            if number % 4 == 0 {
                let joined = Some(("7".repeat(32), "x".repeat(9_000)));
                tally.count(&verdict("often.example".to_owned(), joined));
            }
        }
        let [(host, _, pages), ..] = tally.hosts.largest(3)[..] else { panic!("some") };
        assert_eq!((host, pages), ("often.example", Pages { verdicts: 5_000, duplicates: 5_000 }));
        assert_eq!(tally.hosts.kept.len(), NAMES_MAX);
        let kept: u64 = tally.hosts.largest(NAMES_MAX).iter().map(|(_, _, pages)| pages.verdicts).sum();
        assert_eq!(kept + tally.hosts.others.verdicts, 25_000, "each page is counted once");
        assert_eq!(
            tally.corpora.largest(9),
            [("default", "", Pages { verdicts: 25_000, duplicates: 5_000 })]
        );
        assert_eq!(tally.clusters.largest(9)[0].1.len(), NAME_BYTES_MAX);
    }
}
