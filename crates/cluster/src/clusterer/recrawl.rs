//! Pages that are known: what is said of one that is crawled again, and what becomes of the cluster
//! that a page leaves.
//!
//! ```text
//! decision ─► crawl noted ─► crawl before? ─► in another cluster: the page leaves that one
//! withdrawal ──────────────────────────────► the page leaves its cluster      │
//!                       another page stands there: nothing else ◄─────────────┤
//!                       a page is left: it stands for the cluster from here on ┤
//!                       none is left: the cluster has ended ◄──────────────────┘
//! ```
//! Invariant: all of it is a function of the log; decisions are the ones that they would be without,
//! but that clusters which have ended are near to nothing.

use serde::Serialize;

use super::{Clusterer, Query};
use crate::recrawls::{Change, Crawl, CrawlChange, Crawls, crawl_key};
use crate::{Canonical, ClusterId, NewCanonical, Rank, TableFault};
use leitong_base::record::FingerprintRecord;
use leitong_text::page::made_up;

/// What is said of a page whose url was crawled before, or that is withdrawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Recrawl {
    /// What has become of the page.
    pub outcome: RecrawlOutcome,
    /// The fingerprint of its former text, if it can be compared with that of its present one.
    pub former: Option<Box<[u8]>>,
    /// The cluster that the page has left.
    pub left: Option<Left>,
}

/// What has become of a page since it was crawled last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RecrawlOutcome {
    /// Its main text is the same, but for white space.
    Unchanged,
    /// Its main text is another one.
    Changed,
    /// Its main text is another one, with which it has come into the cluster of another page.
    Copy,
    /// It was withdrawn.
    Withdrawn,
}

impl RecrawlOutcome {
    /// All of them, in the order of their numbers on the wire.
    pub const ALL: [Self; 4] = [Self::Unchanged, Self::Changed, Self::Copy, Self::Withdrawn];

    /// The name as it stands in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "UNCHANGED",
            Self::Changed => "CHANGED",
            Self::Copy => "COPY",
            Self::Withdrawn => "WITHDRAWN",
        }
    }

    /// The number on the wire, from 1.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32 + 1
    }
}

/// The cluster that a page has left.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// Its id.
    pub cluster_id: ClusterId,
    /// What has become of it.
    pub what: WhatIsLeft,
}

/// What has become of a cluster that a page has left.
#[derive(Debug, Clone, PartialEq)]
pub enum WhatIsLeft {
    /// Another page stood for it, and does.
    Remains,
    /// The page stood for it, and from here on the page of this page id and url does.
    Successor(String, String),
    /// The page stood for it, and no page that is known is left: pages that are like it found a
    /// cluster of their own from here on.
    Ended,
}

impl Clusterer {
    /// What was said since the last call of pages that were known, and where they stand in the log.
    pub fn take_recrawls(&mut self) -> Vec<(u64, Recrawl)> {
        std::mem::take(&mut self.recrawls)
    }

    /// What has changed since the last call of what is known of urls.
    pub fn take_crawl_changes(&mut self) -> Vec<CrawlChange> {
        self.journal.as_mut().map(|journal| std::mem::take(&mut journal.crawls)).unwrap_or_default()
    }

    /// Crawls that were counted, and how many of the first ones are forgotten; none where pages are
    /// not known again.
    #[must_use]
    pub fn crawl_bounds(&self) -> Option<(u64, u64)> {
        self.crawls.as_ref().map(Crawls::bounds)
    }

    /// Takes the [bounds](Self::crawl_bounds) of a saved table.
    pub fn restore_crawl_bounds(&mut self, bounds: (u64, u64)) {
        if let Some(crawls) = &mut self.crawls {
            crawls.restore_bounds(bounds);
        }
    }

    /// All that is known of urls, for a saved table, and how many changes that are.
    pub fn crawl_changes(&self) -> (u64, impl Iterator<Item = CrawlChange>) {
        let count = self.crawls.as_ref().map_or(0, Crawls::change_count);
        (count, self.crawls.iter().flat_map(Crawls::changes))
    }

    /// Takes a change of a saved table, in whose order they come.
    pub fn restore_crawl(&mut self, change: CrawlChange) {
        let Some(crawls) = &mut self.crawls else { return };
        if change.cluster >= self.table.first() {
            crawls.apply(change);
        } else if let Change::Crawled(crawl) = change.what {
            // Forgotten with its cluster, as is what was known of its url before.
            let what = Change::Withdrawn(crawl.key);
            crawls.apply(CrawlChange { what, ..change });
        }
    }

    /// Notes that the page of `record`, which is at this offset of the log and has this fingerprint, was put
    /// into the cluster with this number. `is_copy` is true if another page stands for that cluster.
    pub(super) fn note_crawl(
        &mut self,
        record: &FingerprintRecord,
        (log_offset, query): (u64, Query<'_>),
        cluster: u64,
        is_copy: bool,
    ) -> Result<(), TableFault> {
        let (Some(crawls), Some(text)) = (&self.crawls, record.text) else { return Ok(()) };
        // The same row of the same file may hold another document by now.
        if made_up::is_made_up(&record.url) {
            return Ok(());
        }
        let crawl = Crawl {
            sequence: crawls.bounds().0,
            key: crawl_key(&record.corpus, &record.url),
            page_id: record.page_id.as_str().into(),
            url: record.url.as_str().into(),
            text_digest: text.digest,
            fingerprint_hash: record.fingerprint_hash,
            fingerprint: query.fingerprint.into(),
            rank: self.canonicals.as_ref().map_or(Rank::default(), |canonicals| canonicals.rank(record)),
        };
        let former = self.known(crawl.key, &record.url);
        self.change(CrawlChange { log_offset, cluster, what: Change::Crawled(Box::new(crawl)) });
        let Some((former, former_cluster)) = former else { return Ok(()) };
        let left = match former_cluster != cluster {
            true => Some(self.leave(&former.url, former_cluster, log_offset)?),
            false => None,
        };
        let outcome = if former.text_digest == text.digest {
            RecrawlOutcome::Unchanged
        } else if is_copy && left.is_some() {
            RecrawlOutcome::Copy
        } else {
            RecrawlOutcome::Changed
        };
        let comparable = former.fingerprint_hash == record.fingerprint_hash;
        let former = comparable.then_some(former.fingerprint);
        self.recrawls.push((log_offset, Recrawl { outcome, former, left: left.flatten() }));
        Ok(())
    }

    /// Withdraws the page of `record`, which is at this offset of the log.
    pub(super) fn withdraw(&mut self, record: &FingerprintRecord, log_offset: u64) -> Result<(), TableFault> {
        if self.crawls.is_none() {
            return Ok(());
        }
        self.expire()?;
        let key = crawl_key(&record.corpus, &record.url);
        let Some((former, cluster)) = self.known(key, &record.url) else { return Ok(()) };
        self.change(CrawlChange { log_offset, cluster, what: Change::Withdrawn(key) });
        let left = self.leave(&former.url, cluster, log_offset)?;
        self.recrawls.push((log_offset, Recrawl { outcome: RecrawlOutcome::Withdrawn, former: None, left }));
        Ok(())
    }

    /// The last crawl of this url, and the number of its cluster, if that has not expired.
    fn known(&self, key: u128, url: &str) -> Option<(Crawl, u64)> {
        let (crawl, cluster) = self.crawls.as_ref()?.get(key, url)?;
        (cluster >= self.alive.0).then(|| (crawl.clone(), cluster))
    }

    /// Removes the page with this url, which no longer counts, from the cluster with this number.
    fn leave(&mut self, url: &str, cluster: u64, log_offset: u64) -> Result<Option<Left>, TableFault> {
        let Some((founded_at, _)) = self.table.founded(cluster)? else { return Ok(None) };
        let stands = self.canonicals.as_ref().and_then(|canonicals| canonicals.page(cluster));
        let stood = match stands {
            Some((_, standing)) => standing == url,
            None => match self.table.centroid(cluster, &mut self.scratch)? {
                Some(centroid) => *centroid.url == *url,
                None => return Ok(None),
            },
        };
        let cluster_id = self.cluster_id(founded_at);
        if !stood {
            return Ok(Some(Left { cluster_id, what: WhatIsLeft::Remains }));
        }
        let successor = self.crawls.as_ref().and_then(|crawls| crawls.successor(cluster));
        let Some(Crawl { page_id, url, rank, .. }) = successor.cloned() else {
            self.change(CrawlChange { log_offset, cluster, what: Change::Ended });
            return Ok(Some(Left { cluster_id, what: WhatIsLeft::Ended }));
        };
        let what = WhatIsLeft::Successor(page_id.to_string(), url.to_string());
        let canonical = Canonical { rank, page: Some((page_id, url)) };
        let new = NewCanonical { number: cluster, log_offset: founded_at, canonical: canonical.clone() };
        self.restore_canonical(cluster, canonical);
        if let Some(journal) = &mut self.journal {
            journal.canonical.push(new);
        }
        Ok(Some(Left { cluster_id, what }))
    }

    /// Takes a change, and notes it for the changelog.
    fn change(&mut self, change: CrawlChange) {
        if let Some(journal) = &mut self.journal {
            journal.crawls.push(change.clone());
        }
        if let Some(crawls) = &mut self.crawls {
            crawls.apply(change);
        }
    }
}
