//! Which page stands for a cluster.
//!
//! The page that founds a cluster is its centroid for good: it is what later pages are compared with.
//! Which page verdicts *name* may be another one. If the settings prefer a page that joins to the one
//! that stands for the cluster, it takes its place from there on, and its verdict says so.
//!
//! In: records in log order with what was decided on them. Out: the canonical page of each centroid.
//! Memory: 16 bytes a centroid, and page id and url of each page that is not the founder. Invariant:
//! what stands for a cluster is a function of the log, and goes when the centroid expires.

mod rank;

use std::collections::{BTreeMap, VecDeque};

use leitong_base::record::FingerprintRecord;

use rank::Ranking;
pub use rank::{CanonicalConfig, Preference, Rank};

/// The page that stands for the cluster of a centroid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Canonical {
    /// How much is said for it.
    pub rank: Rank,
    /// Its page id and url; none: it is the page that founded the cluster.
    pub page: Option<(Box<str>, Box<str>)>,
}

/// A page that has taken the place of the canonical page of its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCanonical {
    /// The number of the cluster's centroid.
    pub number: u64,
    /// Where that was founded in the log.
    pub log_offset: u64,
    /// What stands for the cluster now.
    pub canonical: Canonical,
}

/// The canonical pages of the centroids from one number on, without a gap.
#[derive(Debug)]
pub(super) struct Canonicals {
    ranking: Ranking,
    /// Number of the first one.
    first: u64,
    /// The rank of what stands for each cluster.
    ranks: VecDeque<Rank>,
    /// Page id and url of what is not the founder, by number, and their bytes.
    pages: BTreeMap<u64, (Box<str>, Box<str>)>,
    text_bytes: usize,
}

impl Canonicals {
    /// None, where founders stand for their clusters as long as these live. The first centroid will
    /// have the number `first`. `founders_leave`: they may stop doing so, without any rule.
    pub(super) fn starting_at(first: u64, config: CanonicalConfig, founders_leave: bool) -> Option<Self> {
        (founders_leave || !config.is_first()).then(|| Self {
            ranking: Ranking::new(config),
            first,
            ranks: VecDeque::new(),
            pages: BTreeMap::new(),
            text_bytes: 0,
        })
    }

    /// Has the first centroid the number `first`, where there is none yet.
    pub(super) fn begin_at(&mut self, first: u64) {
        debug_assert!(self.ranks.is_empty(), "nothing is numbered anew");
        self.first = first;
    }

    /// How much is said for the page of this record.
    pub(super) fn rank(&self, record: &FingerprintRecord) -> Rank {
        self.ranking.rank(record)
    }

    /// The page of this record founds the next cluster.
    pub(super) fn founded(&mut self, record: &FingerprintRecord) -> Rank {
        let rank = self.ranking.rank(record);
        self.ranks.push_back(rank);
        rank
    }

    /// What stands for the cluster of this centroid.
    pub(super) fn get(&self, number: u64) -> Option<Canonical> {
        let rank = *self.ranks.get(self.place(number)?)?;
        Some(Canonical { rank, page: self.pages.get(&number).cloned() })
    }

    /// Page id and url of what stands for it; none where it is the founder.
    pub(super) fn page(&self, number: u64) -> Option<(&str, &str)> {
        self.pages.get(&number).map(|(page_id, url)| (&**page_id, &**url))
    }

    /// The rank of a page that joins, if it is preferred to what stands for the cluster.
    pub(super) fn preferred(&self, number: u64, record: &FingerprintRecord) -> Option<Rank> {
        let present = *self.ranks.get(self.place(number)?)?;
        let rank = self.ranking.rank(record);
        rank.is_preferred_to(present).then_some(rank)
    }

    /// Sets what stands for a cluster; the next one's, or that of one that is there.
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

    /// Forgets those below this number.
    pub(super) fn forget_below(&mut self, number: u64) {
        let gone = number.saturating_sub(self.first).min(self.ranks.len() as u64);
        self.ranks.drain(..gone as usize);
        self.first += gone;
        while let Some(oldest) = self.pages.first_entry().filter(|oldest| *oldest.key() < self.first) {
            self.text_bytes -= bytes_of(&oldest.remove());
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.ranks.capacity() * size_of::<Rank>() + self.pages.len() * PAGE_BYTES + self.text_bytes
    }

    fn place(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }
}

/// Of an entry in the map, with its share of the map's own.
const PAGE_BYTES: usize = 64;

fn bytes_of((page_id, url): &(Box<str>, Box<str>)) -> usize {
    page_id.len() + url.len()
}
