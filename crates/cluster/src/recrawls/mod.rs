//! The last crawl of each url: what its page said then, and which cluster it was put in.
//!
//! With it a page that is crawled again is told from a page that is new, a page whose text has
//! changed leaves the cluster of its old text, and a page can be withdrawn.
//!
//! In: crawls in log order with what was decided on them. Out: the crawl before, and who is left in
//! a cluster. Invariant: what is known is a function of the log: a crawl is forgotten with the
//! centroid of its cluster, and once `pages_max` others have been counted after it. Memory: some
//! 400 bytes a url ([`Crawls::bytes`]).

mod config;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::successors;

use xxhash_rust::xxh3::Xxh3;

use super::Rank;
pub use config::RecrawlsConfig;

/// Pages of a cluster that are looked at for the one that is to stand for it next, oldest first: so
/// that withdrawing all pages of a large cluster costs no more than their number.
const SUCCESSORS_MAX: usize = 64;

/// The last crawl of a url.
#[derive(Debug, Clone, PartialEq)]
pub struct Crawl {
    /// How many crawls were counted before it in the log partition, in all corpora.
    pub sequence: u64,
    /// Corpus and url, as [`crawl_key`] gives them.
    pub key: u128,
    /// The page's id.
    pub page_id: Box<str>,
    /// The page's url.
    pub url: Box<str>,
    /// Of the main text.
    pub text_digest: u128,
    /// Of the settings that made the fingerprint.
    pub fingerprint_hash: u64,
    /// In the detector's encoding.
    pub fingerprint: Box<[u8]>,
    /// What is said for the page to stand for its cluster.
    pub rank: Rank,
}

/// Stands for a url in a corpus: XXH3-128 of both. Urls can be made that have the same key on purpose,
/// so whoever finds a crawl compares its url.
pub(super) fn crawl_key(corpus: &str, url: &str) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&(corpus.len() as u64).to_le_bytes());
    hash.update(corpus.as_bytes());
    hash.update(url.as_bytes());
    hash.digest128()
}

/// What has changed with a record of the log, for the changelog.
#[derive(Debug, Clone, PartialEq)]
pub struct CrawlChange {
    /// Where the record stands in the log.
    pub log_offset: u64,
    /// The number of the centroid of the cluster that it is about.
    pub cluster: u64,
    /// What has changed.
    pub what: Change,
}

/// What has changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A page was crawled, and is in this cluster; what was known of its url does not count any more.
    Crawled(Box<Crawl>),
    /// The page of this key, which was in this cluster, was withdrawn.
    Withdrawn(u128),
    /// No page is left in this cluster: its centroid is near to nothing any more.
    Ended,
}

/// The last crawls of a log partition.
#[derive(Debug)]
pub(super) struct Crawls {
    pages_max: u64,
    /// Crawls that were counted: the sequence of the next one.
    counted: u64,
    /// Crawls below this sequence are forgotten.
    dead_below: u64,
    /// By sequence, so oldest first.
    crawls: BTreeMap<u64, Member>,
    /// Their sequences by key.
    by_url: HashMap<u128, u64>,
    /// The oldest and the youngest crawl of each cluster, by its number.
    clusters: BTreeMap<u64, (u64, u64)>,
    /// Clusters without pages, by number.
    ended: BTreeSet<u64>,
    /// Bytes of texts and fingerprints.
    text_bytes: usize,
}

/// A crawl among those of its cluster.
#[derive(Debug)]
struct Member {
    crawl: Crawl,
    /// The number of the cluster's centroid.
    cluster: u64,
    /// Sequences of its neighbours in the cluster.
    older: Option<u64>,
    younger: Option<u64>,
}

impl Crawls {
    /// None are known yet; or there are none, where nobody asks for them.
    pub(super) fn new(config: &RecrawlsConfig) -> Option<Self> {
        config.enabled.then(|| Self {
            pages_max: config.pages_max,
            counted: 0,
            dead_below: 0,
            crawls: BTreeMap::new(),
            by_url: HashMap::new(),
            clusters: BTreeMap::new(),
            ended: BTreeSet::new(),
            text_bytes: 0,
        })
    }

    /// The sequence of the next crawl, and that of the first one that is not forgotten for their
    /// number.
    pub(super) fn bounds(&self) -> (u64, u64) {
        (self.counted, self.dead_below)
    }

    /// Takes the bounds of a saved state, which never fall.
    pub(super) fn restore_bounds(&mut self, (counted, dead_below): (u64, u64)) {
        self.counted = self.counted.max(counted);
        self.dead_below = self.dead_below.max(dead_below);
        self.forget_surplus();
    }

    /// The last crawl of this url, which has this key, and the number of its cluster.
    pub(super) fn get(&self, key: u128, url: &str) -> Option<(&Crawl, u64)> {
        let member = self.crawls.get(self.by_url.get(&key)?)?;
        (*member.crawl.url == *url).then_some((&member.crawl, member.cluster))
    }

    /// Takes a change that was written to the changelog, or is to be.
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
        let ends = self.clusters.entry(cluster).or_insert((sequence, sequence));
        let older = (ends.1 != sequence).then_some(ends.1);
        ends.1 = sequence;
        if let Some(older) = older.and_then(|older| self.crawls.get_mut(&older)) {
            older.younger = Some(sequence);
        }
        self.crawls.insert(sequence, Member { crawl, cluster, older, younger: None });
        self.counted = self.counted.max(sequence + 1);
        self.forget_surplus();
    }

    fn remove(&mut self, key: u128) {
        let Some(sequence) = self.by_url.remove(&key) else { return };
        let Some(Member { crawl, cluster, older, younger }) = self.crawls.remove(&sequence) else { return };
        self.text_bytes -= bytes_of(&crawl);
        if let Some(member) = older.and_then(|older| self.crawls.get_mut(&older)) {
            member.younger = younger;
        }
        if let Some(member) = younger.and_then(|younger| self.crawls.get_mut(&younger)) {
            member.older = older;
        }
        match (older, younger, self.clusters.get_mut(&cluster)) {
            (None, None, _) => {
                self.clusters.remove(&cluster);
            }
            (None, Some(younger), Some(ends)) => ends.0 = younger,
            (Some(older), None, Some(ends)) => ends.1 = older,
            _ => {}
        }
    }

    /// Forgets crawls that are too many.
    fn forget_surplus(&mut self) {
        self.dead_below = self.dead_below.max(self.counted.saturating_sub(self.pages_max));
        while let Some((sequence, member)) = self.crawls.first_key_value()
            && *sequence < self.dead_below
        {
            self.remove(member.crawl.key);
        }
    }

    /// Forgets the crawls of the clusters below this number.
    pub(super) fn forget_below(&mut self, number: u64) {
        while let Some((cluster, (oldest, _))) = self.clusters.first_key_value()
            && *cluster < number
        {
            self.remove(self.crawls[oldest].crawl.key);
        }
        while self.ended.first().is_some_and(|ended| *ended < number) {
            self.ended.pop_first();
        }
    }

    /// Whether no page is left in the cluster of this number.
    pub(super) fn is_ended(&self, number: u64) -> bool {
        self.ended.contains(&number)
    }

    /// The page that is to stand for the cluster of this number: of its oldest pages the one with
    /// the best rank, and of those the oldest.
    pub(super) fn successor(&self, cluster: u64) -> Option<&Crawl> {
        let (oldest, _) = self.clusters.get(&cluster)?;
        let member = |sequence: &u64| self.crawls.get(sequence);
        let members = successors(member(oldest), |member_at| member_at.younger.as_ref().and_then(member));
        let pages = members.take(SUCCESSORS_MAX).map(|member| &member.crawl);
        pages.reduce(|best, page| if page.rank.is_preferred_to(best.rank) { page } else { best })
    }

    /// All that is known, as changes that make it known again; `log_offset` is 0 in them.
    pub(super) fn changes(&self) -> impl Iterator<Item = CrawlChange> {
        let crawled = self.crawls.values().map(|member| CrawlChange {
            log_offset: 0,
            cluster: member.cluster,
            what: Change::Crawled(Box::new(member.crawl.clone())),
        });
        let ended = self.ended.iter();
        crawled.chain(ended.map(|ended| CrawlChange { log_offset: 0, cluster: *ended, what: Change::Ended }))
    }

    /// How many [`Self::changes`] there are.
    pub(super) fn change_count(&self) -> u64 {
        (self.crawls.len() + self.ended.len()) as u64
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.crawls.len() * (size_of::<Member>() + PLACES_BYTES) + self.text_bytes
    }
}

/// Of a crawl's places in the three maps, with its share of what they keep free.
const PLACES_BYTES: usize = 96;

fn bytes_of(crawl: &Crawl) -> usize {
    crawl.page_id.len() + crawl.url.len() + crawl.fingerprint.len()
}
