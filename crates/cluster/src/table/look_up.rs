//! Look-ups in the table: compares the hits of the index with their queries, on several cores.

use std::hint::black_box;

use rayon::prelude::*;

use super::centroid::{NearCentroid, Purpose, Query};
use super::corpora::CorpusId;
use super::nearest::{KEPT, NearestCentroids};
use super::{CentroidTable, Scratch, number_of, values_of};
use crate::index::{Batch, Hit};

/// Number of hits that are prefetched at once.
const AHEAD: usize = 64;
/// Minimum number of hits of one query that are compared together.
const TOGETHER_MIN: usize = 4;
/// Minimum number of hits of a batch that are compared on several cores.
const PARALLEL_MIN: usize = 256;
/// Number of searches of crowds that are one piece of work for a core.
const CROWDED_AT_ONCE: usize = 16;

impl CentroidTable {
    /// Returns the nearest few centroids of each query that the keys for this `purpose` find, without those
    /// that were added since the last [`Self::index_pending`]. If only those at distance 0 are sought, leaves out most
    /// related ones.
    pub(crate) fn find(
        &self,
        queries: &[Option<Query<'_>>],
        purpose: Purpose,
        scratch: &mut Scratch,
    ) -> NearestCentroids {
        let Scratch { batch, hits, .. } = scratch;
        let (corpora, crowded) = self.probes(queries, purpose, batch);
        hits.clear();
        let look_up = Queries { queries, corpora: &corpora };
        let keep = |hits: &mut Vec<Hit>, nearest: &mut NearestCentroids| {
            in_order(hits).chunks(AHEAD).for_each(|some| self.compare(some, look_up, nearest.as_mut()));
            nearest.keep_nearest();
            hits.clear();
        };
        let kept = self.index.find(batch, hits, keep);
        let mut nearest = NearestCentroids::default();
        kept.into_iter().for_each(|kept| nearest.merge(kept));
        let compare = |some: &[Hit], near: &mut Vec<NearCentroid>| self.compare(some, look_up, near);
        self.gather(in_order(hits), AHEAD, PARALLEL_MIN, compare, &mut nearest);
        if crowded.is_empty() {
            return nearest;
        }
        let search = |some: &[(u32, u32)], near: &mut Vec<NearCentroid>| {
            for crowded in some {
                self.near_in_crowd(*crowded, look_up, &mut |found| near.push(found));
                if purpose == Purpose::ProbeEqual {
                    continue;
                }
                // One more than are kept shows that there are more.
                let mut left = KEPT + 1;
                self.related_in_crowd(*crowded, look_up, &mut |found| {
                    near.push(found);
                    left -= usize::from(found.related);
                    left > 0
                });
            }
        };
        self.gather(&crowded, CROWDED_AT_ONCE, CROWDED_AT_ONCE + 1, search, &mut nearest);
        nearest
    }

    /// Keeps the nearest centroids that `work` adds for portions of `all`. Uses several cores if `all` has at least
    /// `parallel_min` elements.
    fn gather<T: Sync>(
        &self,
        all: &[T],
        portion: usize,
        parallel_min: usize,
        work: impl Fn(&[T], &mut Vec<NearCentroid>) + Sync,
        nearest: &mut NearestCentroids,
    ) {
        if self.one_core || all.len() < parallel_min {
            all.chunks(portion).for_each(|some| work(some, nearest.as_mut()));
        } else {
            let portions = all.par_chunks(portion).map(|some| {
                let mut near = Vec::new();
                work(some, &mut near);
                near
            });
            portions.collect::<Vec<_>>().into_iter().for_each(|near| nearest.as_mut().extend(near));
        }
        nearest.keep_nearest();
    }

    /// Calls `found` with all centroids of a crowd that are near a query, or related with the lowest
    /// [rank](leitong_fingerprint::Detector::related_rank).
    fn near_in_crowd(
        &self,
        (query, crowd): (u32, u32),
        look_up: Queries<'_>,
        found: &mut dyn FnMut(NearCentroid),
    ) {
        let (Some((of, corpus)), Some(crowd)) = (look_up.query(query), self.crowds.get(crowd)) else {
            return;
        };
        let mut numbers = Vec::new();
        crowd.near(self.detector.compared(of.fingerprint), &mut |number| numbers.push(number));
        numbers.sort_unstable();
        numbers.dedup();
        let compare = |number| self.compare_one((query, of), number, corpus);
        numbers
            .into_iter()
            .filter_map(compare)
            .filter(|near| !near.related || near.rank == 0)
            .for_each(found);
    }

    /// Calls `found` with the centroids of a crowd that are related to a query, oldest first, until it returns false.
    fn related_in_crowd(
        &self,
        (query, crowd): (u32, u32),
        look_up: Queries<'_>,
        found: &mut dyn FnMut(NearCentroid) -> bool,
    ) {
        let (Some((of, corpus)), Some(crowd)) = (look_up.query(query), self.crowds.get(crowd)) else {
            return;
        };
        let compare = |number| self.compare_one((query, of), number, corpus);
        let compared = self.detector.compared(of.fingerprint);
        crowd.related(compared, &mut |number| compare(number).is_none_or(&mut *found));
    }

    /// Returns the nearest centroid that is near or related by its whole fingerprint, and for whose number
    /// `counts` returns true; among equally near ones the oldest. Does not find centroids added since the last
    /// [`Self::index_pending`]. This is for the few queries whose kept near centroids have all expired.
    pub(crate) fn find_nearest(
        &self,
        query: Query<'_>,
        counts: &(dyn Fn(u64) -> bool + Sync),
        scratch: &mut Scratch,
    ) -> Option<NearCentroid> {
        let Scratch { batch, hits, .. } = scratch;
        let queries = [Some(query)];
        let (corpora, crowded) = self.probes(&queries, Purpose::Probe, batch);
        hits.clear();
        let look_up = Queries { queries: &queries, corpora: &corpora };
        let keep = |hits: &mut Vec<Hit>, nearest: &mut Option<NearCentroid>| {
            let mut near = Vec::new();
            for some in in_order(hits).chunks(AHEAD) {
                near.clear();
                self.compare(some, look_up, &mut near);
                for near in near.iter().filter(|near| counts(near.number)) {
                    if nearest.is_none_or(|nearest| *near < nearest) && self.is_near_in_full(query, *near) {
                        *nearest = Some(*near);
                    }
                }
            }
            hits.clear();
        };
        let mut kept = self.index.find(batch, hits, keep);
        let mut of_the_rest = None;
        keep(hits, &mut of_the_rest);
        kept.push(of_the_rest);
        let mut nearest = kept.into_iter().flatten().min();
        for crowded in crowded {
            let mut take = |near: NearCentroid| {
                if counts(near.number)
                    && nearest.is_none_or(|nearest| near < nearest)
                    && self.is_near_in_full(query, near)
                {
                    nearest = Some(near);
                }
                nearest.is_none_or(|nearest| near < nearest)
            };
            self.near_in_crowd(crowded, look_up, &mut |near| _ = take(near));
            // Later ones are younger, so none comes before the first that is related.
            self.related_in_crowd(crowded, look_up, &mut take);
        }
        nearest
    }

    /// Returns true if a centroid that is near or related by its compared part is also near or related by its whole
    /// fingerprint, which is nearly always so.
    fn is_near_in_full(&self, query: Query<'_>, near: NearCentroid) -> bool {
        let (Some((_, compared)), Some(cold)) = (self.hot.get(near.number), self.cold.get(near.number))
        else {
            return false;
        };
        // Most detectors compare the whole fingerprint at once.
        if cold.uncompared.is_empty() {
            return true;
        }
        near.is_in_full(&*self.detector, query.fingerprint, &[compared, cold.uncompared].concat())
    }

    /// Returns the centroids added since the last [`Self::index_pending`] that may be near `query`, nearest first.
    pub(crate) fn find_recent(&mut self, query: Query<'_>) -> Vec<NearCentroid> {
        if self.pending() == 0 {
            return Vec::new();
        }
        let Some(corpus) = self.corpora.find(query.corpus, query.fingerprint_hash) else { return Vec::new() };
        let mut values = Vec::new();
        let second = values_of(&*self.detector, query.fingerprint, corpus, Purpose::Probe, &mut values);
        let first = self.first_recent();
        let found = self.recent.find(&values, second, self.detector.second_key());
        let hits: Vec<Hit> =
            found.into_iter().map(|number| Hit::new(0, (first + u64::from(number)) as u32)).collect();
        let look_up = Queries { queries: &[Some(query)], corpora: &[Some(corpus)] };
        let mut near = Vec::new();
        hits.chunks(AHEAD).for_each(|some| self.compare(some, look_up, &mut near));
        near.sort_unstable();
        near
    }

    /// Fills `batch` with the keys of each query. Returns the corpus whose centroids count for each, and the
    /// numbers of queries with those of the crowds that their other keys lead to.
    fn probes(
        &self,
        queries: &[Option<Query<'_>>],
        purpose: Purpose,
        batch: &mut Batch,
    ) -> (Vec<Option<CorpusId>>, Vec<(u32, u32)>) {
        batch.clear();
        let mut crowded = Vec::new();
        let probe = |(number, query): (u32, &Option<Query<'_>>)| {
            let query = query.as_ref();
            let corpus = query.and_then(|query| self.corpora.find(query.corpus, query.fingerprint_hash));
            let first = crowded.len();
            batch.push(|values| {
                let (Some(query), Some(corpus)) = (query, corpus) else { return 0 };
                let start = values.len();
                let second = values_of(&*self.detector, query.fingerprint, corpus, purpose, values);
                if !self.crowds.is_empty() {
                    let of_query = values.split_off(start);
                    values.extend(of_query.into_iter().filter(|key| {
                        let crowd = self.crowds.of_key(*key);
                        crowded.extend(crowd.map(|crowd| (number, crowd)));
                        crowd.is_none()
                    }));
                }
                second
            });
            crowded[first..].sort_unstable();
            corpus
        };
        let corpora = (0..).zip(queries).map(probe).collect();
        crowded.dedup();
        (corpora, crowded)
    }

    /// Compares at most [`AHEAD`] ordered hits with their queries, and adds the near and related ones to
    /// `near`.
    fn compare(&self, hits: &[Hit], look_up: Queries<'_>, near: &mut Vec<NearCentroid>) {
        self.fetch(hits);
        for hits in hits.chunk_by(|a, b| a.query() == b.query()) {
            let query = hits[0].query();
            let (Some(of), Some(corpus)) =
                (&look_up.queries[query as usize], look_up.corpora[query as usize])
            else {
                continue;
            };
            // Mostly there is one hit. Preparing it for `compare_all` would take longer than comparing it.
            if hits.len() < TOGETHER_MIN {
                near.extend(hits.iter().filter_map(|hit| {
                    self.compare_one((query, of), number_of(&self.hot, hit.slot()), corpus)
                }));
                continue;
            }
            // With several hits, the detector reads the query only once.
            let (mut compared, mut numbers, mut count) = ([&[][..]; AHEAD], [0; AHEAD], 0);
            for hit in hits {
                let number = number_of(&self.hot, hit.slot());
                if let Some((other, bytes)) = self.hot.get(number)
                    && other == corpus
                {
                    (compared[count], numbers[count]) = (bytes, number);
                    count += 1;
                }
            }
            self.detector.compare_all(of.fingerprint, &compared[..count], &mut |at, comparison| {
                let centroid = (numbers[at], compared[at]);
                near.push(NearCentroid::new((query, of), centroid, comparison, &*self.detector));
            });
        }
    }

    #[inline]
    fn compare_one(
        &self,
        (query, of): (u32, &Query<'_>),
        number: u64,
        corpus: CorpusId,
    ) -> Option<NearCentroid> {
        let (other, compared) = self.hot.get(number)?;
        if other != corpus {
            return None;
        }
        let detector = &*self.detector;
        let comparison = detector.compare_found(of.fingerprint, compared);
        let found = comparison.near || detector.related_found(of.fingerprint, compared);
        found.then(|| NearCentroid::new((query, of), (number, compared), comparison, detector))
    }

    /// Prefetches the compared parts of these hits, so their cache misses overlap.
    fn fetch(&self, hits: &[Hit]) {
        let first_byte = |hit: &Hit| {
            let (_, compared) = self.hot.get(number_of(&self.hot, hit.slot()))?;
            compared.first()
        };
        black_box(hits.iter().filter_map(first_byte).fold(0, |all, byte| all ^ byte));
    }
}

/// The queries of a batch.
#[derive(Clone, Copy)]
struct Queries<'a> {
    queries: &'a [Option<Query<'a>>],
    /// The corpus whose centroids count, for each query.
    corpora: &'a [Option<CorpusId>],
}

impl<'a> Queries<'a> {
    /// Returns a query and its corpus.
    fn query(&self, number: u32) -> Option<(&'a Query<'a>, CorpusId)> {
        Some((self.queries[number as usize].as_ref()?, self.corpora[number as usize]?))
    }
}

/// Sorts the hits by query and slot, and removes repeated ones.
fn in_order(hits: &mut Vec<Hit>) -> &[Hit] {
    hits.sort_unstable();
    hits.dedup();
    hits
}
