//! The store of a table's old centroids, as clustering uses it.
//!
//! ```text
//! table ──► portions ──► sealer ──► block + run ──► merges ──► fewer runs
//!   │                    a thread                   a thread for each length
//!   └─ look-ups ──► filters ──► pool of readers
//! ```
//! Decisions do not wait for writes unless more centroids wait in memory than [`StoreOptions::waiting_max`].
//! The store fails if a file cannot be read, is damaged, or could not be written for too long. Then that
//! operation and all later ones return the same [`TableFault`]. This also holds if a background thread found
//! the problem.

use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::block::{self, Cold, GROUP};
use super::check;
use super::files::Files;
use super::look_up::LookUp;
use super::manifest::Manifest;
use super::run::{self, Run};
use super::seal::Sealer;
use super::shared::{Progress, Shared};
use super::view::View;
use super::{BlockError, StoreOptions};
use leitong_base::record::Timestamp;
use leitong_cluster::{
    Centroid, Handed, NearCentroid, NearestCentroids, OldCentroids, Purpose, Query, SeenTexts, TableFault,
};
use leitong_fingerprint::Detector;

/// Maximum number of portions that wait for the sealing thread.
pub(super) const PORTIONS_MAX: usize = 64;
/// Maximum duration of a pause of the deciding thread while blocks are written more slowly than they fill.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// The blocks and runs of a table, with the threads that read and write them.
pub struct BlockStore {
    shared: Arc<Shared>,
    pool: Option<ThreadPool>,
    sealing: Sealing,
    /// The group that was read last, and its first number. Kept because expiry asks for one centroid after
    /// another.
    last_group: Mutex<Option<(u64, Vec<Cold>)>>,
    /// The thread that compares checksums in the background.
    checker: Option<JoinHandle<()>>,
}

/// The way in which blocks are sealed and merged.
enum Sealing {
    /// The calling thread seals and merges. Only tests do this.
    Here(Mutex<Box<Sealer>>),
    /// Separate threads seal and merge.
    Threads { portions: Option<Sender<Portion>>, sealer: Option<JoinHandle<()>> },
}

/// Centroids on their way to the sealing thread.
struct Portion {
    /// The number of the first centroid.
    first: u64,
    centroids: Vec<Handed>,
    /// The texts of the block that the centroids complete.
    texts: SeenTexts,
}

impl BlockStore {
    /// Version of the format. It is raised when an older program could not read the files, or when detectors
    /// make other keys from a fingerprint. Files of another version are refused. Version 2 added keys of
    /// passages; version 3, pages whose entries have one length, and filters of six bits; version 4, keys of
    /// texts, and the texts of pages that joined clusters.
    pub const FORMAT_VERSION: u32 = super::parts::FORMAT_VERSION;

    /// Opens the blocks that `manifest` names. Deletes files of other blocks of the table, which an earlier process
    /// left if it ended before it saved.
    ///
    /// # Errors
    /// [`BlockError`] if a file is missing, damaged, of another format version or of another table.
    pub fn open(
        files: Arc<dyn Files>,
        detector: Arc<dyn Detector>,
        options: StoreOptions,
        manifest: &Manifest,
    ) -> Result<Self, BlockError> {
        Self::open_beside(files, detector, options, manifest, None)
    }

    /// Opens the blocks like [`Self::open`], but keeps the files that `other` names, the manifest of another
    /// saved table in the same folder.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_beside(
        files: Arc<dyn Files>,
        detector: Arc<dyn Detector>,
        options: StoreOptions,
        manifest: &Manifest,
        other: Option<&Manifest>,
    ) -> Result<Self, BlockError> {
        assert!(options.block.is_multiple_of(GROUP) && options.fan > 1, "a block consists of groups");
        let view = manifest.open(&*files)?;
        let folder = files.path("");
        let cannot = |error: io::Error| BlockError::Io { path: folder.clone(), error };
        let kept = other.map(Manifest::names).unwrap_or_default();
        manifest.delete_others(&*files, &kept)?;
        let pool = match options.readers {
            0 => None,
            readers => {
                let named = |number| format!("blocks-{number}");
                let pool = ThreadPoolBuilder::new().num_threads(readers).thread_name(named).build();
                Some(pool.map_err(|error| cannot(io::Error::other(error)))?)
            }
        };
        let has_threads = options.readers > 0;
        let shared = Arc::new(Shared::new(files, detector, options, manifest, kept, view));
        let sealer = Sealer::new(Arc::clone(&shared));
        let sealing = if has_threads {
            let (portions, from) = mpsc::channel();
            let shared = Arc::clone(&shared);
            let thread = thread::Builder::new().name("blocks-seal".to_owned());
            let thread = thread.spawn(move || seal_all(sealer, &shared, &from));
            Sealing::Threads { portions: Some(portions), sealer: Some(thread.map_err(cannot)?) }
        } else {
            Sealing::Here(Mutex::new(Box::new(sealer)))
        };
        let checker = match options.check_bytes_per_second {
            0 => None,
            rate => {
                let shared = Arc::clone(&shared);
                let thread = thread::Builder::new().name("blocks-check".to_owned());
                let thread = thread.spawn(move || {
                    let _guard = FailOnPanic(Arc::clone(&shared));
                    check::check_all(&shared, rate);
                });
                Some(thread.map_err(cannot)?)
            }
        };
        Ok(Self { shared, pool, sealing, last_group: Mutex::new(None), checker })
    }

    /// Returns the manifest of the present blocks, for a saved table. Their files are kept until
    /// [`Self::saved`] reports that a later manifest is on disk.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        let Shared { table_id, first, .. } = &*self.shared;
        let mut needed = self.shared.needed();
        let view = self.shared.view();
        let manifest = Manifest {
            table_id: *table_id,
            first: first.load(Ordering::Relaxed),
            end: view.end,
            blocks: view.blocks.iter().map(|block| block.numbers()).collect(),
            runs: view.runs.iter().map(|run| run.numbers()).collect(),
        };
        needed.manifests += 1;
        let number = needed.manifests;
        needed.saving.push_back((number, manifest.names()));
        manifest
    }

    /// Reports that the last manifest that [`Self::manifest`] returned is on disk.
    pub fn saved(&self) {
        self.saved_up_to(self.manifests());
    }

    /// Returns the number of the last manifest. It is for callers that request several manifests before the
    /// first one is on disk.
    #[must_use]
    pub fn manifests(&self) -> u64 {
        self.shared.needed().manifests
    }

    /// Reports that the manifest with this number is on disk. Files that only earlier manifests named are deleted.
    pub fn saved_up_to(&self, number: u64) {
        let mut needed = self.shared.needed();
        while let Some((of, names)) = needed.saving.pop_front_if(|(of, _)| *of <= number) {
            if of == number {
                needed.saved = names;
            }
        }
        self.shared.delete_condemned(&mut needed);
    }

    /// Allows files that only [another table](Self::open_beside) names to be deleted. Call this once the
    /// other table is no longer needed.
    pub fn keep_nothing(&self) {
        let mut needed = self.shared.needed();
        needed.kept.clear();
        self.shared.delete_condemned(&mut needed);
    }

    /// Waits until all centroids that were handed over are written, as far as they fill blocks. Merges may
    /// continue.
    ///
    /// # Errors
    /// [`TableFault`] if the store has failed.
    pub fn wait_for_blocks(&self) -> Result<(), TableFault> {
        self.shared.wait(|progress| progress.on_their_way == 0)
    }

    /// Waits until all full blocks of the centroids that were handed over are written, and all pending merges
    /// have been tried.
    ///
    /// # Errors
    /// [`TableFault`] if the store has failed.
    pub fn finish(&self) -> Result<(), TableFault> {
        self.shared.wait(|progress| progress.on_their_way == 0 && progress.mergers == 0)
    }

    /// Merges neighbouring runs of keys as far as one run may hold them, whatever their lengths, and removes
    /// keys whose blocks have expired. Returns how many runs were merged; `None` if there is nothing more to
    /// do. It must be called when nothing is being sealed or merged, and the table must be saved after it.
    ///
    /// # Errors
    /// [`BlockError`]; then all runs are unchanged.
    pub fn compact_once(&self) -> Result<Option<usize>, BlockError> {
        let Shared { options, .. } = &*self.shared;
        let begin = self.shared.view().blocks.first().map_or(0, |block| block.numbers().first);
        let choose = |view: &View, progress: &mut Progress| {
            progress.merging.is_empty().then(|| view.to_compact(options.span_max, begin)).flatten()
        };
        let Some(sources) = self.shared.claim(choose) else { return Ok(None) };
        let merged = self.shared.merge_claimed(&sources, begin)?;
        Ok(merged.then_some(sources.len()))
    }

    /// Returns how often blocks and runs have changed. A manifest from before the last change is outdated.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Relaxed)
    }

    /// Returns the reason why the last write failed, and how many centroids wait in memory for the next
    /// attempt.
    #[must_use]
    pub fn waiting_reason(&self) -> Option<(String, u64)> {
        let sealed = self.shared.view().end;
        let progress = self.shared.progress();
        let (why, _) = progress.failed.as_ref()?;
        Some((why.clone(), progress.end.saturating_sub(sealed)))
    }

    /// Returns the log offset of the youngest centroid in a block; `None` if there is no block.
    ///
    /// # Errors
    /// [`BlockError`] if the block cannot be read.
    pub fn newest(&self) -> Result<Option<u64>, BlockError> {
        let Some(number) = self.shared.view().blocks.last().map(|block| block.numbers().end - 1) else {
            return Ok(None);
        };
        Ok(self.read_founded(number)?.map(|(log_offset, _)| log_offset))
    }

    /// Returns the bytes on disk.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.shared.view().file_bytes()
    }

    /// Returns the number of unexpired centroids in blocks.
    #[must_use]
    pub fn centroid_count(&self) -> u64 {
        self.shared.view().end.saturating_sub(self.shared.first.load(Ordering::Relaxed))
    }

    /// Returns the number of blocks, and of runs that a look-up asks.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let view = self.shared.view();
        (view.blocks.len(), view.runs.len())
    }

    fn find_with<K: Default + Send>(
        &self,
        queries: &[Option<Query<'_>>],
        (purpose, first): (Purpose, u64),
        keep: impl Fn(&mut Vec<NearCentroid>, &mut K) -> Result<(), BlockError> + Send + Sync,
    ) -> Result<Vec<K>, TableFault> {
        let view = self.shared.view();
        self.attempt(|| self.look_up(&view, purpose, first).find(queries, keep))
    }

    fn look_up<'a>(&'a self, view: &'a View, purpose: Purpose, first: u64) -> LookUp<'a> {
        LookUp { view, detector: &*self.shared.detector, first, pool: self.pool.as_ref(), purpose }
    }

    /// Returns how long the deciding thread has to pause while `waiting` centroids wait to be written. Above
    /// half of the maximum it slows down; at three quarters it reaches the rate at which the last block was
    /// written. So it makes many short pauses instead of halting for as long as a block takes.
    fn slow_down(&self, end: u64, waiting: u64) -> Duration {
        if self.pool.is_none() {
            return Duration::ZERO;
        }
        let progress = self.shared.progress();
        let new = end.saturating_sub(progress.end);
        pause(progress.pace, new, waiting, self.shared.options.waiting_max)
    }

    /// Does `work`, unless the store has failed already. An error makes the store fail.
    fn attempt<T>(&self, work: impl FnOnce() -> Result<T, BlockError>) -> Result<T, TableFault> {
        self.shared.check()?;
        work().map_err(|error| self.shared.fail(&error))
    }

    fn read(&self, number: u64) -> Result<Option<Centroid>, BlockError> {
        let view = self.shared.view();
        let Some(block) = view.block_of(number) else { return Ok(None) };
        let hot = block.hot(number)?;
        let at = block.place_in_group(number);
        let cold = block.cold(number)?.into_iter().nth(at);
        Ok(cold.zip(hot.get(at)).map(|(cold, (_, compared))| cold.with(compared)))
    }

    fn read_founded(&self, number: u64) -> Result<Option<(u64, Option<Timestamp>)>, BlockError> {
        let mut last = self.last_group.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known =
            |(first, group): &(u64, Vec<Cold>)| (*first..*first + group.len() as u64).contains(&number);
        if !last.as_ref().is_some_and(is_known) {
            let view = self.shared.view();
            let Some(block) = view.block_of(number) else { return Ok(None) };
            let first = number - block.place_in_group(number) as u64;
            *last = Some((first, block.cold(number)?));
        }
        let cold = last.as_ref().and_then(|(first, group)| group.get((number - first) as usize));
        Ok(cold.map(|cold| (cold.log_offset, cold.log_time)))
    }
}

impl OldCentroids for BlockStore {
    fn block_length(&self) -> u64 {
        self.shared.options.block
    }

    fn end(&self) -> u64 {
        self.shared.view().end
    }

    fn range_to_take(&self, end: u64) -> Result<Option<Range<u64>>, TableFault> {
        let options = &self.shared.options;
        self.shared.check()?;
        let sealed = self.shared.view().end;
        let waiting = end.saturating_sub(sealed);
        let slowed = self.slow_down(end, waiting);
        if !slowed.is_zero() {
            // A failure ends the pause, and is returned below.
            self.shared.pause_until(Instant::now() + slowed);
        }
        if waiting > options.waiting_max {
            // Writing is slow, or fails. If it is slow, the deciding thread waits here; mostly that thread
            // has slowed down early enough to avoid this.
            self.shared.wait(|progress| progress.failed.is_some() || progress.on_their_way < PORTIONS_MAX)?;
        }
        let mut progress = self.shared.progress();
        progress.end = end;
        if let Some((why, again_at)) = progress.failed.clone()
            && end < again_at
        {
            drop(progress);
            if waiting <= options.waiting_max {
                return self.shared.check().map(|()| None);
            }
            return Err(self.shared.fail_with(|| {
                TableFault::unwritable(format!(
                    "{why}; {waiting} centroids wait in memory to be written, and at most {} may wait; free some disk \
                     space, and run again",
                    options.waiting_max
                ))
            }));
        }
        self.shared.check()?;
        if progress.on_their_way >= PORTIONS_MAX {
            return Ok(None);
        }
        let until = (progress.next + options.portion).min(end);
        Ok((until - progress.next >= options.portion).then_some(progress.next..until))
    }

    fn take(&self, first: u64, centroids: Vec<Handed>, texts: SeenTexts) -> Result<(), TableFault> {
        self.shared.check()?;
        let mut progress = self.shared.progress();
        if progress.next != first {
            // A write has failed meanwhile, so these centroids will be requested again.
            return Ok(());
        }
        progress.next += centroids.len() as u64;
        match &self.sealing {
            Sealing::Here(sealer) => {
                drop(progress);
                sealer.lock().unwrap_or_else(PoisonError::into_inner).take(first, &centroids, &texts);
                while self.shared.merge_once() {}
                self.shared.check()
            }
            Sealing::Threads { portions, .. } => {
                progress.on_their_way += 1;
                drop(progress);
                let portions = portions.as_ref();
                let sent =
                    portions.and_then(|portions| portions.send(Portion { first, centroids, texts }).ok());
                // Only a panic ends the thread early.
                sent.ok_or_else(|| self.shared.fail(&BlockError::Panicked))
            }
        }
    }

    fn each_seen(&self, take: &mut dyn FnMut(SeenTexts)) -> Result<(), TableFault> {
        let view = self.shared.view();
        self.attempt(|| view.blocks.iter().try_for_each(|block| block.texts().map(&mut *take)))
    }

    fn find_texts(&self, keys: &[Option<u128>], first: u64) -> Result<Vec<Option<u64>>, TableFault> {
        let view = self.shared.view();
        let look_up = self.look_up(&view, Purpose::ProbeEqual, first);
        self.attempt(|| look_up.find_texts(self.shared.table_id, keys))
    }

    fn find(
        &self,
        queries: &[Option<Query<'_>>],
        purpose: Purpose,
        first: u64,
    ) -> Result<NearestCentroids, TableFault> {
        let keep = |near: &mut Vec<NearCentroid>, nearest: &mut NearestCentroids| {
            nearest.keep(near);
            Ok(())
        };
        let kept = self.find_with(queries, (purpose, first), keep)?;
        let mut nearest = NearestCentroids::default();
        kept.into_iter().for_each(|kept| nearest.merge(kept));
        Ok(nearest)
    }

    fn find_nearest(&self, query: Query<'_>, first: u64) -> Result<Option<NearCentroid>, TableFault> {
        let keep = |near: &mut Vec<NearCentroid>, nearest: &mut Option<NearCentroid>| {
            for near in near.drain(..) {
                if nearest.is_none_or(|nearest| near < nearest)
                    && let Some(centroid) = self.read(near.number)?
                    && near.is_in_full(&*self.shared.detector, query.fingerprint, &centroid.fingerprint)
                {
                    *nearest = Some(near);
                }
            }
            Ok(())
        };
        let nearest = self.find_with(&[Some(query)], (Purpose::Probe, first), keep)?;
        Ok(nearest.into_iter().flatten().min())
    }

    fn centroid(&self, number: u64) -> Result<Option<Centroid>, TableFault> {
        self.attempt(|| self.read(number))
    }

    fn founded(&self, number: u64) -> Result<Option<(u64, Option<Timestamp>)>, TableFault> {
        self.attempt(|| self.read_founded(number))
    }

    fn check(&self) -> Result<(), TableFault> {
        self.shared.check()
    }

    fn drop_before(&self, first: u64) {
        self.shared.first.fetch_max(first, Ordering::Relaxed);
        let view = self.shared.view();
        let is_due = view.blocks.first().is_some_and(|block| block.numbers().end <= first);
        if !is_due {
            return;
        }
        // A run that is being merged stays until the merged run replaces it.
        let merging = self.shared.progress().merging.clone();
        let dropped = self.shared.change(|view| {
            let blocks = view.blocks.partition_point(|block| block.numbers().end <= first);
            let dead = |run: &Arc<Run>| run.numbers().end <= first && !merging.contains(&run.span());
            let runs = view.runs.iter().take_while(|run| dead(run)).count();
            let blocks = view.blocks.drain(..blocks).map(|block| block::name(block.numbers().first));
            let runs = view.runs.drain(..runs).map(|run| run::name(run.numbers()));
            blocks.chain(runs).collect::<Vec<_>>()
        });
        dropped.into_iter().for_each(|name| self.shared.condemn(name));
    }

    fn begin_at(&self, number: u64) {
        if self.shared.view().blocks.is_empty() {
            self.shared.change(|view| view.end = number);
            self.shared.first.store(number, Ordering::Relaxed);
            let mut progress = self.shared.progress();
            (progress.next, progress.end) = (number, number);
        }
    }

    fn bytes(&self) -> usize {
        self.shared.view().bytes()
    }
}

impl Drop for BlockStore {
    fn drop(&mut self) {
        self.shared.close();
        if let Sealing::Threads { portions, sealer } = &mut self.sealing {
            portions.take();
            if let Some(sealer) = sealer.take() {
                // The only error is a panic, which was reported when it happened.
                let _ = sealer.join();
            }
        }
        if let Some(checker) = self.checker.take() {
            let _ = checker.join();
        }
    }
}

/// Returns the pause after `new` more centroids, each of which takes `pace` to write, while `waiting`
/// centroids wait.
fn pause(pace: Duration, new: u64, waiting: u64, waiting_max: u64) -> Duration {
    let half = waiting_max / 2;
    let over = waiting.saturating_sub(half) as f64 / (half / 2).max(1) as f64;
    pace.mul_f64(new as f64 * over).min(PAUSE_MAX)
}

/// Makes the store fail if the thread that has this guard panics: then no caller waits for blocks that will
/// not come.
struct FailOnPanic(Arc<Shared>);

impl Drop for FailOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.0.fail(&BlockError::Panicked);
        }
    }
}

/// Seals all portions, and starts the merges that become due.
fn seal_all(mut sealer: Sealer, shared: &Arc<Shared>, portions: &Receiver<Portion>) {
    let _guard = FailOnPanic(Arc::clone(shared));
    let mut merges: Vec<JoinHandle<()>> = Vec::new();
    for Portion { first, centroids, texts } in portions {
        let before = shared.view().end;
        if !shared.stop.load(Ordering::Relaxed) {
            sealer.take(first, &centroids, &texts);
        }
        if shared.view().end != before {
            merges.retain(|merge| !merge.is_finished());
            merges.extend(merge_beside(shared));
        }
        shared.progress().on_their_way -= 1;
        shared.tell();
    }
    for merge in merges {
        let _ = merge.join();
    }
}

/// Starts a thread that performs the pending merges. Returns `None` if no thread can be started now; then the
/// thread that is started for the next block performs the merges. Long merges run alongside short ones, since
/// at most one thread merges each length.
fn merge_beside(shared: &Arc<Shared>) -> Option<JoinHandle<()>> {
    shared.progress().mergers += 1;
    let ended = |shared: &Shared| {
        shared.progress().mergers -= 1;
        shared.tell();
    };
    let of_thread = Arc::clone(shared);
    let merge = thread::Builder::new().name("blocks-merge".to_owned()).spawn(move || {
        let _guard = FailOnPanic(Arc::clone(&of_thread));
        while of_thread.merge_once() {}
        ended(&of_thread);
    });
    if merge.is_err() {
        ended(shared);
    }
    merge.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deciding_thread_slows_down_before_it_has_to_wait() {
        let pause = |new, waiting| pause(Duration::from_micros(6), new, waiting, 8_000).as_micros();
        assert_eq!(
            [0, 3_999, 4_000, 5_000, 6_000, 8_000].map(|waiting| pause(1_000, waiting)),
            [0, 0, 0, 3_000, 6_000, 12_000]
        );
        assert_eq!(pause(100_000, 8_000), PAUSE_MAX.as_micros());
        assert_eq!(pause(0, 8_000), 0);
    }
}
