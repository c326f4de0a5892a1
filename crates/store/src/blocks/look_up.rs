//! Finds the centroids on disk that are near the queries.
//!
//! ```text
//! keys ─► filters ─► pages of keys ─► numbers ─► compared parts ─► near
//!         memory     read             sorted     read, group by group
//! ```
//! All queries of a batch take one step at a time. Many threads read for a step at once, which keeps the disk
//! busy, and data that several queries need is read once. As in memory, each thread holds at most
//! [`HITS_MAX`] hits, however many centroids have one key.
//!
//! Invariant: a look-up finds what the table in memory would find. Nothing is decided here.

use rayon::ThreadPool;
use rayon::prelude::*;

use super::BlockError;
use super::block::GROUP;
use super::keyed::{Keys, is_wide, key_of_text, keys_of};
use super::view::View;
use leitong_cluster::{HITS_MAX, NearCentroid, Purpose, Query, SeenText};
use leitong_fingerprint::Detector;

/// Minimum number of reads or queries for which other threads are used.
const PARALLEL_MIN: usize = 8;
/// Maximum number of queries that one thread looks up in the filters at a time, or of keys that it reads.
const TOGETHER: usize = 64;

/// The blocks that a look-up searches, and the means to do so.
pub(super) struct LookUp<'a> {
    pub(super) view: &'a View,
    pub(super) detector: &'a dyn Detector,
    /// Number of the oldest centroid that counts.
    pub(super) first: u64,
    /// Threads that read; `None` if the calling thread reads.
    pub(super) pool: Option<&'a ThreadPool>,
    /// The purpose: to find all centroids that may be near, or only those with an equal fingerprint.
    pub(super) purpose: Purpose,
}

/// A key that a run may have, and the query that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Probe {
    run: u32,
    key: u64,
    query: u32,
}

/// A centroid, and the query that it may be near to.
type Hit = (u64, u32);

impl LookUp<'_> {
    /// Finds the centroids that are near or related to each query. Calls `keep` with some of them at a time,
    /// in any order; `keep` takes those that it wants. Returns what `keep` has collected, one value per
    /// thread.
    pub(super) fn find<K: Default + Send>(
        &self,
        queries: &[Option<Query<'_>>],
        keep: impl Fn(&mut Vec<NearCentroid>, &mut K) -> Result<(), BlockError> + Send + Sync,
    ) -> Result<Vec<K>, BlockError> {
        let keys: Vec<Keys> =
            queries.iter().map(|query| keys_of(self.detector, query.as_ref(), self.purpose)).collect();
        let mut wanted = self.wanted(&keys)?;
        wanted.sort_unstable();
        wanted.dedup();
        let by_key: Vec<&[Probe]> = wanted.chunk_by(|a, b| (a.run, a.key) == (b.run, b.key)).collect();
        let (mut kept, mut hits) = (Vec::new(), Vec::new());
        for found in self.on_all(&by_key, |some| self.read_keys(some, &keys, queries, &keep)) {
            let (of_thread, k) = found?;
            hits.extend(of_thread);
            kept.push(k);
        }
        hits.sort_unstable();
        hits.dedup();
        let groups: Vec<&[Hit]> = hits.chunk_by(|a, b| a.0 / GROUP == b.0 / GROUP).collect();
        let compared = self.on_all(&groups, |some| {
            let (mut near, mut k) = (Vec::new(), K::default());
            for number in some.iter().map(|group| group[0].0) {
                if let Some(block) = self.view.block_of(number) {
                    block.will_need_hot(number);
                }
            }
            some.iter().try_for_each(|group| self.compare(group, queries, &mut near))?;
            keep(&mut near, &mut k)?;
            Ok(k)
        });
        for k in compared {
            kept.push(k?);
        }
        Ok(kept)
    }

    /// Finds the youngest centroid whose text has each of these keys, in the table with this id.
    pub(super) fn find_texts(
        &self,
        table_id: u64,
        texts: &[Option<u128>],
    ) -> Result<Vec<Option<u64>>, BlockError> {
        let key = |text: &Option<u128>| text.map(|text| key_of_text(table_id, text));
        let keys: Vec<Keys> =
            texts.iter().map(|text| Keys { keys: key(text).into_iter().collect(), second: 0 }).collect();
        let wanted = self.wanted(&keys)?;
        let mut all = vec![None; texts.len()];
        for found in self.on_all(&wanted, |some| self.read_texts(some, texts)) {
            for (query, number) in found? {
                let youngest: &mut Option<u64> = &mut all[query as usize];
                *youngest = (*youngest).max(Some(number));
            }
        }
        Ok(all)
    }

    /// For each wanted key, finds the youngest centroid in the run that has the query's text. Returns these
    /// centroids with their queries.
    fn read_texts(&self, wanted: &[Probe], texts: &[Option<u128>]) -> Result<Vec<(u32, u64)>, BlockError> {
        for Probe { run, key, .. } in wanted {
            self.view.runs[*run as usize].will_need(*key);
        }
        let mut found = Vec::new();
        for Probe { run, key, query } in wanted {
            let mut numbers = Vec::new();
            self.view.runs[*run as usize].entries(*key, |entry| {
                numbers.push(entry.number);
                Ok(())
            })?;
            numbers.retain(|number| *number >= self.first);
            numbers.sort_unstable();
            for number in numbers.into_iter().rev() {
                if self.text_key(number)? == texts[*query as usize] {
                    found.push((*query, number));
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Returns the key of a centroid's text.
    fn text_key(&self, number: u64) -> Result<Option<u128>, BlockError> {
        let Some(block) = self.view.block_of(number) else { return Ok(None) };
        let at = block.place_in_group(number);
        let (hot, cold) = (block.hot(number)?, block.cold(number)?);
        let corpus = hot.get(at).and_then(|(corpus, _)| block.corpus(corpus));
        let key = |((name, hash), digest)| SeenText::key_of(name, hash, digest);
        Ok(corpus.zip(cold.get(at).map(|cold| cold.text_digest)).map(key))
    }

    /// Calls `work` with all `items` in chunks, on several threads if there are enough items.
    fn on_all<I: Sync, R: Send>(&self, items: &[I], work: impl Fn(&[I]) -> R + Send + Sync) -> Vec<R> {
        match self.pool {
            Some(pool) if items.len() >= PARALLEL_MIN => {
                // If there are few items, each thread gets a few of them.
                let together = (items.len() / pool.current_num_threads()).clamp(1, TOGETHER);
                pool.install(|| items.par_chunks(together).map(work).collect())
            }
            _ => vec![work(items)],
        }
    }

    /// Returns the keys that runs may have.
    fn wanted(&self, keys: &[Keys]) -> Result<Vec<Probe>, BlockError> {
        let numbered: Vec<(u32, &Keys)> = (0..).zip(keys).collect();
        let found: Result<Vec<_>, _> =
            self.on_all(&numbered, |some| self.ask_filters(some)).into_iter().collect();
        Ok(found?.concat())
    }

    fn ask_filters(&self, queries: &[(u32, &Keys)]) -> Result<Vec<Probe>, BlockError> {
        let all: Vec<(u32, u64)> = queries
            .iter()
            .flat_map(|(query, keys)| keys.keys.iter().map(move |key| (*query, *key)))
            .collect();
        let (mut wanted, mut has) = (Vec::new(), Vec::with_capacity(all.len()));
        // Run by run, so a filter stays in the cache as far as it fits. All filters are read before the
        // first result is used, so the processor can overlap the cache misses.
        for (at, run) in (0..).zip(&self.view.runs) {
            has.clear();
            for (_, key) in &all {
                has.push(run.may_have(*key)?);
            }
            let found = all.iter().zip(&has).filter(|(_, has)| **has);
            wanted.extend(found.map(|((query, key), _)| Probe { run: at, key: *key, query: *query }));
        }
        Ok(wanted)
    }

    /// Reads the pages of these keys. Returns the hits that remain to be compared, and the results of earlier
    /// hits, which were compared because there were too many to hold.
    fn read_keys<K: Default>(
        &self,
        wanted: &[&[Probe]],
        keys: &[Keys],
        queries: &[Option<Query<'_>>],
        keep: &impl Fn(&mut Vec<NearCentroid>, &mut K) -> Result<(), BlockError>,
    ) -> Result<(Vec<Hit>, K), BlockError> {
        let mut kept = K::default();
        let (mut hits, mut near): (Vec<Hit>, Vec<NearCentroid>) = Default::default();
        let second_key = self.detector.second_key();
        for askers in wanted {
            self.view.runs[askers[0].run as usize].will_need(askers[0].key);
        }
        for askers in wanted {
            let Probe { run, key, .. } = askers[0];
            let max_distance = second_key.map_or(64, |second| second.distance_under(is_wide(key)));
            self.view.runs[run as usize].entries(key, |entry| {
                if entry.number < self.first {
                    return Ok(());
                }
                let may_be_near = |asker: &&Probe| {
                    entry.second.is_none_or(|second| {
                        (second ^ keys[asker.query as usize].second).count_ones() <= max_distance
                    })
                };
                hits.extend(askers.iter().filter(may_be_near).map(|asker| (entry.number, asker.query)));
                if hits.len() >= HITS_MAX {
                    self.compare_all(&mut hits, queries, &mut near)?;
                    keep(&mut near, &mut kept)?;
                }
                Ok(())
            })?;
        }
        Ok((hits, kept))
    }

    /// Compares all hits, of any group, and empties the list.
    fn compare_all(
        &self,
        hits: &mut Vec<Hit>,
        queries: &[Option<Query<'_>>],
        near: &mut Vec<NearCentroid>,
    ) -> Result<(), BlockError> {
        hits.sort_unstable();
        hits.dedup();
        for group in hits.chunk_by(|a, b| a.0 / GROUP == b.0 / GROUP) {
            self.compare(group, queries, near)?;
        }
        hits.clear();
        Ok(())
    }

    /// Compares the hits of one group, and adds the near and related ones to `near`.
    fn compare(
        &self,
        hits: &[Hit],
        queries: &[Option<Query<'_>>],
        near: &mut Vec<NearCentroid>,
    ) -> Result<(), BlockError> {
        let number = hits[0].0;
        let Some(block) = self.view.block_of(number) else { return Ok(()) };
        let hot = block.hot(number)?;
        let mut of_query: Vec<(u32, u64)> = hits.iter().map(|(number, query)| (*query, *number)).collect();
        of_query.sort_unstable();
        for hits in of_query.chunk_by(|a, b| a.0 == b.0) {
            let query = hits[0].0;
            let Some(of) = &queries[query as usize] else { continue };
            let (mut compared, mut numbers) =
                (Vec::with_capacity(hits.len()), Vec::with_capacity(hits.len()));
            for (_, number) in hits {
                let found = hot.get(block.place_in_group(*number));
                if let Some((corpus, bytes)) = found
                    && block.corpus(corpus) == Some((of.corpus, of.fingerprint_hash))
                {
                    compared.push(bytes);
                    numbers.push(*number);
                }
            }
            self.detector.compare_all(of.fingerprint, &compared, &mut |at, comparison| {
                let centroid = (numbers[at], compared[at]);
                near.push(NearCentroid::new((query, of), centroid, comparison, &*self.detector));
            });
        }
        Ok(())
    }
}
