//! Recrawls: the outcome for a page whose url was crawled before, and for the cluster that it leaves.
//!
//! ```text
//! decision ─► crawl recorded ─► url known? ─► in another cluster: the page leaves that one
//! withdrawal ──────────────────────────────► the page leaves its cluster      │
//!                       another page is canonical: no change ◄────────────────┤
//!                       a page is left: it becomes the canonical page ◄───────┤
//!                       none is left: the cluster has ended ◄─────────────────┘
//! ```
//! Invariant: all of this is a function of the log. Decisions are the same as without it, except that nothing
//! is near a cluster that has ended.

use super::Clusterer;
use crate::canonical::{Canonical, NewCanonical, Rank};
use crate::fault::TableFault;
use crate::recrawls::{
    Change, Crawl, CrawlChange, Crawls, Left, Recrawl, RecrawlOutcome, WhatIsLeft, crawl_key,
};
use crate::table::Query;
use leitong_base::record::FingerprintRecord;
use leitong_text::page::Page;

impl Clusterer {
    /// Returns the recrawls since the last call, with their log offsets.
    pub fn take_recrawls(&mut self) -> Vec<(u64, Recrawl)> {
        std::mem::take(&mut self.recrawls)
    }

    /// Returns the number of crawls so far, and how many of the first ones were evicted. `None` if recrawls
    /// are not recognised.
    #[must_use]
    pub fn crawl_bounds(&self) -> Option<(u64, u64)> {
        self.crawls.as_ref().map(Crawls::bounds)
    }

    /// Restores the [bounds](Self::crawl_bounds) of a saved table.
    pub fn restore_crawl_bounds(&mut self, bounds: (u64, u64)) {
        if let Some(crawls) = &mut self.crawls {
            crawls.restore_bounds(bounds);
        }
    }

    /// Returns all that is known about urls, for a saved table: the number of changes that restore it, and these
    /// changes.
    pub fn crawl_changes(&self) -> (u64, impl Iterator<Item = CrawlChange>) {
        let count = self.crawls.as_ref().map_or(0, Crawls::change_count);
        (count, self.crawls.iter().flat_map(Crawls::changes))
    }

    /// Restores a change of a saved table. Changes must come in the order of that table.
    pub fn restore_crawl(&mut self, change: CrawlChange) {
        let Some(crawls) = &mut self.crawls else { return };
        if change.cluster >= self.table.first() {
            crawls.apply(change);
        } else if let Change::Crawled(crawl) = change.what {
            // The cluster has left the table, and the crawl with it. The earlier crawl of its url no longer counts.
            let what = Change::Withdrawn(crawl.key);
            crawls.apply(CrawlChange { what, ..change });
        }
    }

    /// Records that the page of `record`, which is at this offset of the log and has this fingerprint, was
    /// put into the cluster with this number. `is_copy` is true if that cluster has another canonical page.
    pub(super) fn note_crawl(
        &mut self,
        record: &FingerprintRecord,
        (log_offset, query): (u64, Query<'_>),
        cluster: u64,
        is_copy: bool,
    ) -> Result<(), TableFault> {
        let (Some(crawls), Some(text)) = (&self.crawls, record.text) else { return Ok(()) };
        // A generated url names a row of a file, which may hold another document by now.
        if Page::is_made_up_url(&record.url) {
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
        let former = self.last_crawl(crawl.key, &record.url);
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
        let Some((former, cluster)) = self.last_crawl(key, &record.url) else { return Ok(()) };
        self.change(CrawlChange { log_offset, cluster, what: Change::Withdrawn(key) });
        let left = self.leave(&former.url, cluster, log_offset)?;
        self.recrawls.push((log_offset, Recrawl { outcome: RecrawlOutcome::Withdrawn, former: None, left }));
        Ok(())
    }

    /// Returns the last crawl of this url, and the number of its cluster, if the cluster has not expired.
    fn last_crawl(&self, key: u128, url: &str) -> Option<(Crawl, u64)> {
        let (crawl, cluster) = self.crawls.as_ref()?.get(key, url)?;
        (cluster >= self.first_unexpired.0).then(|| (crawl.clone(), cluster))
    }

    /// Removes the page with this url, which no longer counts, from the cluster with this number.
    fn leave(&mut self, url: &str, cluster: u64, log_offset: u64) -> Result<Option<Left>, TableFault> {
        let Some((founded_at, _)) = self.table.founded(cluster)? else { return Ok(None) };
        let canonical = self.canonicals.as_ref().and_then(|canonicals| canonicals.page(cluster));
        let was_canonical = match canonical {
            Some((_, standing)) => standing == url,
            None => match self.table.centroid(cluster, &mut self.scratch)? {
                Some(centroid) => *centroid.url == *url,
                None => return Ok(None),
            },
        };
        let cluster_id = self.cluster_id(founded_at);
        if !was_canonical {
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
            journal.canonicals.push(new);
        }
        Ok(Some(Left { cluster_id, what }))
    }

    /// Applies a change, and records it for the changelog.
    fn change(&mut self, change: CrawlChange) {
        if let Some(journal) = &mut self.journal {
            journal.crawls.push(change.clone());
        }
        if let Some(crawls) = &mut self.crawls {
            crawls.apply(change);
        }
    }
}
