//! The last crawl of each url: the text of the page at that time, and the cluster that it joined.
//!
//! With this, a page that is crawled again can be distinguished from a new page, a page with a changed text
//! leaves the cluster of its old text, and a page can be withdrawn.
//!
//! In: crawls in log order, with the decisions on them. Out: the previous crawl, and the pages left in
//! a cluster. Invariant: the known crawls are a function of the log. A crawl is evicted with the centroid of
//! its cluster, or when `pages_max` others have been counted after it. Memory: see [`Crawls::bytes`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use crate::canonical::Rank;
use crate::decision::ClusterId;
use crate::rules::RecrawlsConfig;

/// Maximum number of a cluster's pages, oldest first, that are considered as its next canonical page. So
/// withdrawing all pages of a large cluster takes time proportional to their number.
const SUCCESSORS_MAX: usize = 64;

/// The last crawl of a url.
#[derive(Debug, Clone, PartialEq)]
pub struct Crawl {
    /// Number of crawls in all corpora that were counted before this one in the log partition.
    pub sequence: u64,
    /// The key of corpus and url; see [`crawl_key`].
    pub key: u128,
    /// The page's id.
    pub page_id: Box<str>,
    /// The page's url.
    pub url: Box<str>,
    /// Digest of the main text.
    pub text_digest: u128,
    /// Hash of the settings that produced the fingerprint.
    pub fingerprint_hash: u64,
    /// The fingerprint, in the detector's encoding.
    pub fingerprint: Box<[u8]>,
    /// The rank of the page by the rules for canonical pages.
    pub rank: Rank,
}

/// Returns the key of a url in a corpus: XXH3-128 of both. Attackers can make urls with equal keys, so the
/// caller must also compare the url.
pub(super) fn crawl_key(corpus: &str, url: &str) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&(corpus.len() as u64).to_le_bytes());
    hash.update(corpus.as_bytes());
    hash.update(url.as_bytes());
    hash.digest128()
}

/// A change of the known crawls by a record of the log, for the changelog.
#[derive(Debug, Clone, PartialEq)]
pub struct CrawlChange {
    /// The offset of the record in the log.
    pub log_offset: u64,
    /// The number of the centroid of the affected cluster.
    pub cluster: u64,
    /// The kind of change.
    pub what: Change,
}

/// The kind of change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A page was crawled and is in this cluster. The previous crawl of its url no longer counts.
    Crawled(Box<Crawl>),
    /// The page with this key was in this cluster and was withdrawn.
    Withdrawn(u128),
    /// No page is left in this cluster, so pages can no longer join it.
    Ended,
}

/// The outcome for a page whose url was crawled before, or that is withdrawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Recrawl {
    /// The change since the last crawl.
    pub outcome: RecrawlOutcome,
    /// Fingerprint of the page's former text, if it can be compared with the present one.
    pub former: Option<Box<[u8]>>,
    /// The cluster that the page has left, if any.
    pub left: Option<Left>,
}

leitong_base::named! {
    /// The change of a page since its last crawl.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum RecrawlOutcome {
        /// The main text is the same, except for white space.
        Unchanged = "UNCHANGED",
        /// The main text is different.
        Changed = "CHANGED",
        /// The main text is different, and moved the page to another cluster, whose canonical page is another page.
        Copy = "COPY",
        /// The page was withdrawn.
        Withdrawn = "WITHDRAWN",
    }
}

/// A cluster that a page has left.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// Id of the cluster.
    pub cluster_id: ClusterId,
    /// State of the cluster now.
    pub what: WhatIsLeft,
}

/// The state of a cluster after a page has left it.
#[derive(Debug, Clone, PartialEq)]
pub enum WhatIsLeft {
    /// Another page was its canonical page, and still is.
    Remains,
    /// The page was its canonical page. The page with this page id and url has replaced it.
    Successor(String, String),
    /// The page was its canonical page, and no known page is left. From now on, similar pages found a cluster
    /// of their own.
    Ended,
}

/// The last crawls of a log partition.
#[derive(Debug)]
pub(super) struct Crawls {
    pages_max: u64,
    /// Number of crawls counted so far. It is also the sequence of the next crawl.
    counted: u64,
    /// Crawls below this sequence are evicted.
    dead_below: u64,
    /// The crawls by sequence, so oldest first, each with the number of its cluster's centroid.
    crawls: BTreeMap<u64, (Crawl, u64)>,
    /// The sequences of the crawls, by key.
    by_url: HashMap<u128, u64>,
    /// The sequences of the crawls, by the number of their cluster's centroid.
    by_cluster: BTreeSet<(u64, u64)>,
    /// The numbers of clusters without pages.
    ended: BTreeSet<u64>,
    /// Bytes of page ids, urls and fingerprints.
    text_bytes: usize,
}

impl Crawls {
    /// Creates an empty collection, or `None` if recrawls are not enabled.
    pub(super) fn new(config: &RecrawlsConfig) -> Option<Self> {
        config.enabled.then(|| Self {
            pages_max: config.pages_max,
            counted: 0,
            dead_below: 0,
            crawls: BTreeMap::new(),
            by_url: HashMap::new(),
            by_cluster: BTreeSet::new(),
            ended: BTreeSet::new(),
            text_bytes: 0,
        })
    }

    /// Returns the sequence of the next crawl, and of the oldest crawl that is not evicted by `pages_max`.
    pub(super) fn bounds(&self) -> (u64, u64) {
        (self.counted, self.dead_below)
    }

    /// Applies the bounds of a saved table. They never fall.
    pub(super) fn restore_bounds(&mut self, (counted, dead_below): (u64, u64)) {
        self.counted = self.counted.max(counted);
        self.dead_below = self.dead_below.max(dead_below);
        self.evict_surplus();
    }

    /// Returns the last crawl of this url and the number of its cluster. `key` is the key of the url.
    pub(super) fn get(&self, key: u128, url: &str) -> Option<(&Crawl, u64)> {
        let (crawl, cluster) = self.crawls.get(self.by_url.get(&key)?)?;
        (*crawl.url == *url).then_some((crawl, *cluster))
    }

    /// Applies a change that was or will be written to the changelog.
    pub(super) fn apply(&mut self, change: CrawlChange) {
        let CrawlChange { cluster, what, .. } = change;
        match what {
            Change::Crawled(crawl) => self.put(*crawl, cluster),
            Change::Withdrawn(key) => self.remove(key),
            Change::Ended => {
                self.ended.insert(cluster);
            }
        }
    }

    fn put(&mut self, crawl: Crawl, cluster: u64) {
        self.remove(crawl.key);
        let sequence = crawl.sequence;
        self.by_url.insert(crawl.key, sequence);
        self.text_bytes += bytes_of(&crawl);
        self.by_cluster.insert((cluster, sequence));
        self.crawls.insert(sequence, (crawl, cluster));
        self.counted = self.counted.max(sequence + 1);
        self.evict_surplus();
    }

    fn remove(&mut self, key: u128) {
        let Some(sequence) = self.by_url.remove(&key) else { return };
        let Some((crawl, cluster)) = self.crawls.remove(&sequence) else { return };
        self.text_bytes -= bytes_of(&crawl);
        self.by_cluster.remove(&(cluster, sequence));
    }

    /// Evicts crawls beyond `pages_max`.
    fn evict_surplus(&mut self) {
        self.dead_below = self.dead_below.max(self.counted.saturating_sub(self.pages_max));
        while let Some((sequence, (crawl, _))) = self.crawls.first_key_value()
            && *sequence < self.dead_below
        {
            self.remove(crawl.key);
        }
    }

    /// Evicts the crawls of clusters below this number.
    pub(super) fn evict_below(&mut self, number: u64) {
        while self.by_cluster.first().is_some_and(|(cluster, _)| *cluster < number) {
            let oldest = self.by_cluster.pop_first().and_then(|(_, oldest)| self.crawls.get(&oldest));
            if let Some(key) = oldest.map(|(crawl, _)| crawl.key) {
                self.remove(key);
            }
        }
        while self.ended.first().is_some_and(|ended| *ended < number) {
            self.ended.pop_first();
        }
    }

    /// Returns true if no page is left in the cluster with this number.
    pub(super) fn is_ended(&self, number: u64) -> bool {
        self.ended.contains(&number)
    }

    /// Returns the next canonical page of the cluster: among its oldest pages the one with the best rank, and
    /// the oldest of those.
    pub(super) fn successor(&self, cluster: u64) -> Option<&Crawl> {
        let pages = self.by_cluster.range((cluster, 0)..=(cluster, u64::MAX)).take(SUCCESSORS_MAX);
        let pages = pages.filter_map(|(_, sequence)| Some(&self.crawls.get(sequence)?.0));
        pages.reduce(|best, page| if page.rank.is_preferred_to(best.rank) { page } else { best })
    }

    /// Returns all known crawls, as changes that restore them. Their `log_offset` is 0.
    pub(super) fn changes(&self) -> impl Iterator<Item = CrawlChange> {
        let crawled = self.crawls.values().map(|(crawl, cluster)| CrawlChange {
            log_offset: 0,
            cluster: *cluster,
            what: Change::Crawled(Box::new(crawl.clone())),
        });
        let ended = self.ended.iter();
        crawled.chain(ended.map(|ended| CrawlChange { log_offset: 0, cluster: *ended, what: Change::Ended }))
    }

    /// Returns the number of [`Self::changes`].
    pub(super) fn change_count(&self) -> u64 {
        (self.crawls.len() + self.ended.len()) as u64
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.crawls.len() * (size_of::<(Crawl, u64)>() + PLACES_BYTES) + self.text_bytes
    }
}

/// Memory per crawl in the three maps, including their free slots, in bytes.
const PLACES_BYTES: usize = 120;

fn bytes_of(crawl: &Crawl) -> usize {
    crawl.page_id.len() + crawl.url.len() + crawl.fingerprint.len()
}
