//! The recent verdicts, found by page and by cluster.
//!
//! Verdicts are kept as they were answered, with all evidence. Invariant: their bytes are bounded, and the
//! oldest are dropped first. So the known members of a cluster are the pages whose verdicts are still kept, each with
//! its last one, without those that have left it. Cost: a few map look-ups per verdict.

use std::collections::{BTreeMap, HashSet, VecDeque};

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use leitong_cluster::verdict::Verdict;

/// Approximate bytes of a verdict in addition to its JSON, for its entries in the maps.
const ENTRY_BYTES: usize = 200;

/// Verdicts, oldest first.
pub struct Recent {
    kept: VecDeque<Kept>,
    /// Number of the oldest verdict that is kept. All verdicts are numbered from the first one on.
    first: u64,
    /// Number of the last verdict on each page id.
    by_page: BTreeMap<Box<str>, u64>,
    /// Number of the last verdict on each url, by the hash of the url.
    by_url: BTreeMap<u64, u64>,
    /// Numbers of the duplicates in each cluster, and of the pages that have left it, by the log offset of its
    /// centroid.
    by_cluster: BTreeMap<u64, VecDeque<u64>>,
    bytes: usize,
    bytes_max: usize,
    /// Log offset after the last verdict.
    next_log_offset: u64,
}

/// One verdict.
struct Kept {
    named: Named,
    json: Box<[u8]>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.json.len() + 2 * self.named.page_id.len() + ENTRY_BYTES
    }
}

/// The values by which a verdict is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    page_id: Box<str>,
    url_hash: u64,
    /// Log offset of the centroid that the page is a duplicate of.
    joined: Option<u64>,
    /// Log offset of the centroid whose cluster the page has left.
    left: Option<u64>,
    pub(super) log_offset: u64,
}

/// The fields of a verdict's JSON by which it is found.
#[derive(Deserialize)]
pub(crate) struct NamedFields {
    pub(crate) page_id: Box<str>,
    #[serde(default)]
    pub(crate) url: String,
    pub(crate) kind: String,
    pub(crate) cluster_id: Option<String>,
    #[serde(default)]
    pub(crate) recrawl: Option<RecrawlFields>,
    log_offset: Option<u64>,
}

/// The change that a recrawl has found.
#[derive(Deserialize)]
pub(crate) struct RecrawlFields {
    pub(crate) left_cluster_id: Option<String>,
}

impl Named {
    /// Returns the values of a verdict.
    pub fn from_verdict(verdict: &Verdict) -> Self {
        let is_duplicate = verdict.distance.is_some();
        Self {
            page_id: verdict.page_id.as_str().into(),
            url_hash: xxh3_64(verdict.url.as_bytes()),
            joined: verdict.cluster_id.filter(|_| is_duplicate).map(|id| id.log_offset),
            left: verdict.recrawl.as_ref().and_then(|recrawl| Some(recrawl.left_cluster_id?.log_offset)),
            log_offset: verdict.log_offset,
        }
    }

    /// Reads the values from a verdict's JSON.
    pub(super) fn from_json(json: &[u8]) -> Option<Self> {
        let NamedFields { page_id, url, kind, cluster_id, recrawl, log_offset } =
            serde_json::from_slice(json).ok()?;
        let is_duplicate = kind.ends_with("_DUPLICATE");
        let founded_at = |id: Option<String>| match id {
            Some(id) => u64::from_str_radix(id.get(16..)?, 16).ok().map(Some),
            None => Some(None),
        };
        let joined = founded_at(cluster_id.filter(|_| is_duplicate))?;
        let left = founded_at(recrawl.and_then(|recrawl| recrawl.left_cluster_id))?;
        Some(Self { page_id, url_hash: xxh3_64(url.as_bytes()), joined, left, log_offset: log_offset? })
    }
}

impl Recent {
    /// Creates an empty collection.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            first: 0,
            by_page: BTreeMap::new(),
            by_url: BTreeMap::new(),
            by_cluster: BTreeMap::new(),
            bytes: 0,
            bytes_max,
            next_log_offset: 0,
        }
    }

    /// Adds a verdict, unless it is already known.
    pub fn push(&mut self, named: Named, json: Box<[u8]>) {
        if named.log_offset < self.next_log_offset {
            return;
        }
        self.next_log_offset = named.log_offset + 1;
        let number = self.first + self.kept.len() as u64;
        self.by_page.insert(named.page_id.clone(), number);
        self.by_url.insert(named.url_hash, number);
        for cluster in [named.joined, named.left].into_iter().flatten() {
            self.by_cluster.entry(cluster).or_default().push_back(number);
        }
        let kept = Kept { named, json };
        self.bytes += kept.bytes();
        self.kept.push_back(kept);
        while self.bytes > self.bytes_max {
            self.pop();
        }
    }

    fn pop(&mut self) {
        let Some(kept) = self.kept.pop_front() else { return };
        self.bytes -= kept.bytes();
        let Named { page_id, url_hash, joined, left, .. } = kept.named;
        if self.by_page.get(&page_id) == Some(&self.first) {
            self.by_page.remove(&page_id);
        }
        if self.by_url.get(&url_hash) == Some(&self.first) {
            self.by_url.remove(&url_hash);
        }
        for cluster in [joined, left].into_iter().flatten() {
            if let Some(numbers) = self.by_cluster.get_mut(&cluster) {
                numbers.pop_front();
                if numbers.is_empty() {
                    self.by_cluster.remove(&cluster);
                }
            }
        }
        self.first += 1;
    }

    fn kept(&self, number: u64) -> Option<&Kept> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.kept.get(at)
    }

    fn json(&self, number: u64) -> Option<&[u8]> {
        self.kept(number).map(|kept| &*kept.json)
    }

    /// Returns the last verdict on a page.
    pub fn page(&self, page_id: &str) -> Option<&[u8]> {
        self.json(*self.by_page.get(page_id)?)
    }

    /// Returns the last verdict on a page with this url.
    pub fn page_of_url(&self, url: &str) -> Option<&[u8]> {
        #[derive(Deserialize)]
        struct Fields {
            url: String,
        }
        let json = self.json(*self.by_url.get(&xxh3_64(url.as_bytes()))?)?;
        // Different urls can be given the same hash on purpose, so the url is compared.
        let found: Fields = serde_json::from_slice(json).ok()?;
        (found.url == url).then_some(json)
    }

    /// Returns the last verdict on each page that is a duplicate in a cluster, the youngest first. The cluster's
    /// centroid was founded at `log_offset`.
    fn members(&self, log_offset: u64) -> impl Iterator<Item = &[u8]> {
        static NONE: VecDeque<u64> = VecDeque::new();
        let numbers = self.by_cluster.get(&log_offset).unwrap_or(&NONE);
        let mut seen = HashSet::new();
        let verdicts = numbers.iter().rev().filter_map(|number| self.kept(*number));
        let last = verdicts.filter(move |kept| seen.insert(kept.named.url_hash));
        last.filter(move |kept| kept.named.joined == Some(log_offset)).map(|kept| &*kept.json)
    }

    /// Returns the number of those verdicts, and at most `max` of them, the youngest first.
    pub fn youngest_members(&self, log_offset: u64, max: usize) -> (usize, Vec<Box<[u8]>>) {
        let (mut count, mut youngest) = (0, Vec::new());
        for json in self.members(log_offset) {
            if count < max {
                youngest.push(json.into());
            }
            count += 1;
        }
        (count, youngest)
    }

    /// Returns the number of verdicts.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns all verdicts, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.kept.iter().map(|kept| &*kept.json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(page_id: &str, kind: &str, cluster: u64, log_offset: u64) -> Box<[u8]> {
        format!(
            r#"{{"page_id":"{page_id}","url":"http://a/{page_id}","kind":"{kind}","cluster_id":"{:016x}{cluster:016x}","log_offset":{log_offset}}}"#,
            7
        )
        .into_bytes()
        .into()
    }

    fn push(recent: &mut Recent, json: &[u8]) {
        recent.push(Named::from_json(json).expect("a verdict"), json.into());
    }

    #[test]
    fn pages_and_members_are_found_as_long_as_they_are_kept() {
        let mut recent = Recent::new(4 * (ENTRY_BYTES + 100));
        let all: Vec<Box<[u8]>> = (0..50)
            .map(|offset| match offset {
                0 => verdict("p0", "UNIQUE", 0, 0),
                _ => verdict(&format!("p{}", offset % 10), "NEAR_DUPLICATE", 0, offset),
            })
            .collect();
        all.iter().for_each(|json| push(&mut recent, json));
        // A verdict that is read again from a journal is kept once.
        push(&mut recent, &all[49]);
        assert!(recent.len() >= 3 && recent.bytes <= recent.bytes_max);
        assert_eq!(recent.page("p9"), Some(&*all[49]));
        assert_eq!(recent.page_of_url("http://a/p9"), Some(&*all[49]));
        assert_eq!((recent.page("p0"), recent.page_of_url("http://a/p0")), (None, None));
        let members: Vec<&[u8]> = recent.members(0).collect();
        let kept: Vec<&[u8]> = all.iter().rev().take(recent.len()).map(|json| &**json).collect();
        assert_eq!(members, kept);
        assert_eq!(recent.youngest_members(0, 2).0, kept.len());
        assert_eq!(recent.members(1).count(), 0);
        assert_eq!((recent.next_log_offset, recent.by_page.len()), (50, recent.len()));
        assert_eq!(recent.by_url.len(), recent.len());
    }

    /// A page that was withdrawn stayed a member, and one that was crawled twice was two.
    #[test]
    fn members_are_pages_that_have_not_left() {
        let mut recent = Recent::new(1 << 20);
        for (offset, page) in (1..).zip(["b", "c", "b", "d"]) {
            push(&mut recent, &verdict(page, "EXACT_DUPLICATE", 0, offset));
        }
        let left = |page: &str, offset: u64| {
            let left = format!("\"recrawl\":{{\"left_cluster_id\":\"{:032x}\"}},\"log_offset\"", 0);
            let json = String::from_utf8(verdict(page, "UNDECIDABLE", 9, offset).into()).expect("JSON");
            json.replace("\"log_offset\"", &left).into_bytes()
        };
        push(&mut recent, &left("c", 5));
        let offsets = |recent: &Recent| -> Vec<u64> {
            recent.members(0).filter_map(|json| Some(Named::from_json(json)?.log_offset)).collect()
        };
        assert_eq!(offsets(&recent), [4, 3]);
        push(&mut recent, &verdict("c", "NEAR_DUPLICATE", 0, 6));
        assert_eq!((offsets(&recent), recent.youngest_members(0, 1).0), (vec![6, 4, 3], 3));
    }

    #[test]
    fn nothing_is_kept_without_room() {
        let mut recent = Recent::new(0);
        push(&mut recent, &verdict("a", "EXACT_DUPLICATE", 3, 9));
        assert_eq!((recent.len(), recent.bytes, recent.by_page.len(), recent.by_cluster.len()), (0, 0, 0, 0));
        assert_eq!(recent.next_log_offset, 10);
    }
}
