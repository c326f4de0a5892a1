//! The canonical page of each cluster, the one that verdicts name.
//!
//! The page that founds a cluster is its centroid permanently: later pages are compared with it. The
//! canonical page may be another one. If the settings prefer a page that joins the cluster, it replaces the
//! canonical page from then on, and its verdict says so.
//!
//! In: records in log order, with the decisions on them. Out: the canonical page of each centroid.
//! Invariant: canonical pages are a function of the log, and expire with their centroid. Memory: 16 bytes per
//! centroid, and page id and url of each canonical page that is not the founder.

mod rank;

use std::collections::{BTreeMap, VecDeque};

use leitong_base::record::FingerprintRecord;

use rank::Ranking;
pub use rank::{CanonicalConfig, Preference, Rank};

/// The canonical page of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Canonical {
    /// The rank of the page.
    pub rank: Rank,
    /// The page id and url, or `None` if the page is the founder.
    pub page: Option<(Box<str>, Box<str>)>,
}

/// A page that has become canonical for its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCanonical {
    /// The number of the cluster's centroid.
    pub number: u64,
    /// The log offset of the record that founded the cluster.
    pub log_offset: u64,
    /// The new canonical page.
    pub canonical: Canonical,
}

/// The canonical pages of consecutive centroids.
#[derive(Debug)]
pub(super) struct Canonicals {
    ranking: Ranking,
    /// The number of the first centroid.
    first: u64,
    /// The rank of each cluster's canonical page.
    ranks: VecDeque<Rank>,
    /// Page id and url of each canonical page that is not a founder, by the number of the centroid.
    pages: BTreeMap<u64, (Box<str>, Box<str>)>,
    /// Bytes of the texts in `pages`.
    text_bytes: usize,
}

impl Canonicals {
    /// Creates an empty collection. The first centroid will have the number `first`. Returns `None` if
    /// founders always stay canonical: the settings have no rule, and founders cannot leave their clusters
    /// (`founders_leave` is false).
    pub(super) fn starting_at(first: u64, config: CanonicalConfig, founders_leave: bool) -> Option<Self> {
        (founders_leave || !config.is_first()).then(|| Self {
            ranking: Ranking::new(config),
            first,
            ranks: VecDeque::new(),
            pages: BTreeMap::new(),
            text_bytes: 0,
        })
    }

    /// Gives the first centroid the number `first`. There must be no centroid yet.
    pub(super) fn begin_at(&mut self, first: u64) {
        debug_assert!(self.ranks.is_empty(), "centroids are never renumbered");
        self.first = first;
    }

    /// Returns the rank of the page in this record.
    pub(super) fn rank(&self, record: &FingerprintRecord) -> Rank {
        self.ranking.rank(record)
    }

    /// Adds the next cluster, which this record founds. Returns the rank of its page.
    pub(super) fn add_cluster(&mut self, record: &FingerprintRecord) -> Rank {
        let rank = self.ranking.rank(record);
        self.ranks.push_back(rank);
        rank
    }

    /// Returns the canonical page of this centroid's cluster.
    pub(super) fn get(&self, number: u64) -> Option<Canonical> {
        let rank = *self.ranks.get(self.place(number)?)?;
        Some(Canonical { rank, page: self.pages.get(&number).cloned() })
    }

    /// Returns the page id and url of the canonical page, or `None` if it is the founder.
    pub(super) fn page(&self, number: u64) -> Option<(&str, &str)> {
        self.pages.get(&number).map(|(page_id, url)| (&**page_id, &**url))
    }

    /// Returns the rank of a page that joins, if it is preferred to the canonical page.
    pub(super) fn preferred(&self, number: u64, record: &FingerprintRecord) -> Option<Rank> {
        let present = *self.ranks.get(self.place(number)?)?;
        let rank = self.ranking.rank(record);
        rank.is_preferred_to(present).then_some(rank)
    }

    /// Sets the canonical page of an existing cluster or of the next one.
    pub(super) fn set(&mut self, number: u64, canonical: Canonical) {
        let Some(place) = self.place(number) else { return };
        if place > self.ranks.len() {
            return;
        }
        match self.ranks.get_mut(place) {
            Some(rank) => *rank = canonical.rank,
            None => self.ranks.push_back(canonical.rank),
        }
        let former = self.pages.remove(&number);
        self.text_bytes -= former.as_ref().map_or(0, bytes_of);
        if let Some(page) = canonical.page {
            self.text_bytes += bytes_of(&page);
            self.pages.insert(number, page);
        }
    }

    /// Removes the clusters below this number.
    pub(super) fn evict_below(&mut self, number: u64) {
        let gone = number.saturating_sub(self.first).min(self.ranks.len() as u64);
        self.ranks.drain(..gone as usize);
        self.first += gone;
        while let Some(oldest) = self.pages.first_entry().filter(|oldest| *oldest.key() < self.first) {
            self.text_bytes -= bytes_of(&oldest.remove());
        }
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.ranks.capacity() * size_of::<Rank>() + self.pages.len() * PAGE_BYTES + self.text_bytes
    }

    fn place(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }
}

/// Bytes of an entry in the map, including its share of the map's own memory.
const PAGE_BYTES: usize = 64;

fn bytes_of((page_id, url): &(Box<str>, Box<str>)) -> usize {
    page_id.len() + url.len()
}
