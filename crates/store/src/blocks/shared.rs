//! The state that the threads of a store share: the present view, the files that are still needed, and the
//! error.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::block::Block;
use super::files::Files;
use super::manifest::Manifest;
use super::merge::merge;
use super::parts::new_name;
use super::run::{self, Run};
use super::view::View;
use super::{BlockError, StoreOptions};
use leitong_base::proto::Stretch;
use leitong_cluster::TableFault;
use leitong_fingerprint::Detector;

/// The shared state of one store.
pub(super) struct Shared {
    pub(super) files: Arc<dyn Files>,
    pub(super) detector: Arc<dyn Detector>,
    pub(super) options: StoreOptions,
    pub(super) table_id: u64,
    /// Number of the oldest centroid that has not expired.
    pub(super) first: AtomicU64,
    /// Set when the store closes: merges end without a result.
    pub(super) stop: AtomicBool,
    /// Number of changes of the view.
    pub(super) changes: AtomicU64,
    /// The first error. After it, all operations fail.
    fault: OnceLock<TableFault>,
    view: RwLock<Arc<View>>,
    needed: Mutex<Needed>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// Files that must not be deleted although the present view does not have them.
#[derive(Default)]
pub(super) struct Needed {
    /// Files named by the manifest that was saved last.
    pub(super) saved: BTreeSet<String>,
    /// Files named by each later manifest, with the manifest's number, in order. Such a manifest may be on
    /// disk although the caller has not reported that it was saved.
    pub(super) saving: VecDeque<(u64, BTreeSet<String>)>,
    /// Number of manifests that were requested.
    pub(super) manifests: u64,
    /// Files named by a table that stays unchanged while another one is saved elsewhere.
    pub(super) kept: BTreeSet<String>,
    /// Files to delete once no manifest names them.
    condemned: BTreeSet<String>,
}

impl Needed {
    /// Returns true if a saved table may name this file.
    fn names(&self, name: &str) -> bool {
        let saving = self.saving.iter().any(|(_, names)| names.contains(name));
        saving || self.saved.contains(name) || self.kept.contains(name)
    }
}

/// The progress of sealing and merging.
#[derive(Default)]
pub(super) struct Progress {
    /// Number of the next centroid to be handed over.
    pub(super) next: u64,
    /// Number of portions that the sealing thread has not finished.
    pub(super) on_their_way: usize,
    /// The lengths of the runs that are being merged.
    pub(super) merging: Vec<u64>,
    /// The lengths of runs whose merging has failed, each with the end of the blocks at which it is tried
    /// again. A long run takes minutes to write, so it is not tried with every block while the disk is full.
    merges_failed: Vec<(u64, u64)>,
    /// Number of threads that look for runs to merge.
    pub(super) mergers: usize,
    /// The reason why the last write failed, and the end of the table at which writing is tried again.
    pub(super) failed: Option<(String, u64)>,
    /// Time per centroid that the last block took until it was written.
    pub(super) pace: Duration,
    /// End of the table, as far as the store knows.
    pub(super) end: u64,
}

impl Shared {
    pub(super) fn new(
        files: Arc<dyn Files>,
        detector: Arc<dyn Detector>,
        options: StoreOptions,
        manifest: &Manifest,
        kept: BTreeSet<String>,
        view: View,
    ) -> Self {
        let progress = Progress { next: view.end, end: view.end, ..Progress::default() };
        Self {
            files,
            detector,
            options,
            table_id: manifest.table_id,
            first: AtomicU64::new(manifest.first),
            stop: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            fault: OnceLock::new(),
            needed: Mutex::new(Needed { saved: manifest.names(), kept, ..Needed::default() }),
            view: RwLock::new(Arc::new(view)),
            progress: Mutex::new(progress),
            changed: Condvar::new(),
        }
    }

    /// Returns the blocks and runs that are on disk now.
    pub(super) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the progress. A caller that changes it has to call [`Self::tell`].
    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the threads that wait for progress.
    pub(super) fn tell(&self) {
        self.changed.notify_all();
    }

    /// Waits until `is_so` returns true.
    ///
    /// # Errors
    /// [`TableFault`] if the store has failed.
    pub(super) fn wait(&self, is_so: impl Fn(&Progress) -> bool) -> Result<(), TableFault> {
        let mut progress = self.progress();
        while self.fault.get().is_none() && !is_so(&progress) {
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        self.check()
    }

    /// Waits until `moment`. Returns false if the store closes or fails earlier.
    pub(super) fn pause_until(&self, moment: Instant) -> bool {
        let is_over = || self.fault.get().is_some() || self.stop.load(Ordering::Relaxed);
        let pause = moment.saturating_duration_since(Instant::now());
        // The lock is held, so a wake-up after a failure is not missed.
        drop(self.changed.wait_timeout_while(self.progress(), pause, |_| !is_over()));
        !is_over()
    }

    /// Makes all threads end, and wakes those that wait.
    pub(super) fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // With the lock taken, a thread that has just checked either waits by now or checks again.
        drop(self.progress());
        self.tell();
    }

    /// Returns an error if the store has failed: the one that all further operations return.
    pub(super) fn check(&self) -> Result<(), TableFault> {
        self.fault.get().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    /// Makes all further operations fail, since files cannot be read or are damaged. Returns the error that
    /// they return: the first one.
    pub(super) fn fail(&self, error: &BlockError) -> TableFault {
        self.fail_with(|| {
            TableFault::unreadable(match error {
                BlockError::Panicked => error.to_string(),
                _ => format!("{error}; {}", self.options.advice),
            })
        })
    }

    /// Makes all further operations fail with this error, or with the first one if there is one already.
    pub(super) fn fail_with(&self, fault: impl FnOnce() -> TableFault) -> TableFault {
        let fault = self.fault.get_or_init(fault).clone();
        // With the lock taken, a thread that has just checked either waits by now or checks again.
        drop(self.progress());
        self.tell();
        fault
    }

    /// Adds a block that is on disk, and its run. `pace` is the time that it took per centroid.
    pub(super) fn sealed(&self, block: Block, run: Run, pace: Duration) {
        self.change(|view| {
            view.end = block.numbers().end;
            view.blocks.push(Arc::new(block));
            view.runs.push(Arc::new(run));
        });
        let mut progress = self.progress();
        progress.failed = None;
        progress.pace = pace;
        drop(progress);
        self.tell();
    }

    /// Tries to merge some runs if there are enough of one length. Returns false if there are not, or if the
    /// store closes or fails.
    pub(super) fn merge_once(&self) -> bool {
        let StoreOptions { fan, span_max, .. } = self.options;
        let choose = |view: &View, progress: &mut Progress| {
            progress.merges_failed.retain(|(_, again_at)| *again_at > view.end);
            let failed = progress.merges_failed.iter().map(|(span, _)| *span);
            let left_out: Vec<u64> = progress.merging.iter().copied().chain(failed).collect();
            view.due(fan, span_max, &left_out)
        };
        let Some(sources) = self.claim(choose) else { return false };
        match self.merge_claimed(&sources, 0) {
            Ok(merged) => merged,
            // The runs are still there. Merging is tried again when the table has grown by a quarter of their
            // length.
            Err(error @ BlockError::Io { .. }) => {
                let span: u64 = sources.iter().map(|run| run.span()).sum();
                let more = (span / 4).max(self.options.block);
                tracing::warn!(
                    "look-ups read more files than necessary, because runs of keys could not be merged: {error}; the \
                     next attempt is after {more} more centroids"
                );
                let again_at = self.view().end + more;
                self.progress().merges_failed.push((sources[0].span(), again_at));
                // Merged runs of a shorter length may fit on the disk.
                true
            }
            Err(error) => {
                let _ = self.fail(&error);
                false
            }
        }
    }

    /// Returns the runs to merge next. No other thread takes them until they are merged.
    pub(super) fn claim(
        &self,
        choose: impl FnOnce(&View, &mut Progress) -> Option<Vec<Arc<Run>>>,
    ) -> Option<Vec<Arc<Run>>> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let view = self.view();
        let mut progress = self.progress();
        let chosen = choose(&view, &mut progress)?;
        progress.merging.extend(chosen.iter().map(|run| run.span()));
        Some(chosen)
    }

    /// Replaces the claimed runs by one whose numbers begin at `begin` or later. Returns false if the store
    /// closes.
    pub(super) fn merge_claimed(&self, sources: &[Arc<Run>], begin: u64) -> Result<bool, BlockError> {
        let merged = match self.merged(sources, begin) {
            Ok(Some(run)) => {
                self.replace(sources, run);
                Ok(true)
            }
            failed => {
                self.discard(&merged_name(sources, begin));
                failed.map(|_| false)
            }
        };
        let is_claimed = |span: &u64| sources.iter().any(|run| run.span() == *span);
        self.progress().merging.retain(|merging| !is_claimed(merging));
        self.tell();
        merged
    }

    fn merged(&self, sources: &[Arc<Run>], begin: u64) -> Result<Option<Run>, BlockError> {
        let view = self.view();
        let second_of =
            |number| view.block_of(number).map_or(Ok(None), |block| self.second_of(block, number));
        let first = self.first.load(Ordering::Relaxed);
        merge(&self.files, self.table_id, sources, (begin, first), view.span(), &second_of, &self.stop)
    }

    /// Replaces `sources` by `run`, into which they were merged.
    fn replace(&self, sources: &[Arc<Run>], run: Run) {
        let oldest = sources[0].numbers();
        let new_name = run::name(run.numbers());
        let replaced = self.change(|view| {
            let at = view.runs.iter().position(|run| run.numbers() == oldest);
            at.map(|at| view.runs.splice(at..at + sources.len(), [Arc::new(run)]).count())
        });
        match replaced {
            Some(_) => sources.iter().for_each(|run| self.condemn(run::name(run.numbers()))),
            // The sources have expired meanwhile.
            None => self.condemn(new_name),
        }
    }

    /// Returns the second key of a centroid, if the detector has one.
    pub(super) fn second_of(&self, block: &Block, number: u64) -> Result<Option<u64>, BlockError> {
        let Some(second) = self.detector.second_key() else { return Ok(None) };
        let hot = block.hot(number)?;
        Ok(hot.get(block.place_in_group(number)).map(|(_, compared)| (second.of)(compared)))
    }

    /// Deletes the files that no manifest names any more.
    pub(super) fn delete_condemned(&self, needed: &mut Needed) {
        for name in std::mem::take(&mut needed.condemned) {
            if needed.names(&name) {
                needed.condemned.insert(name);
            } else {
                self.delete(&name);
            }
        }
    }

    /// Returns the files that are still needed.
    pub(super) fn needed(&self) -> MutexGuard<'_, Needed> {
        self.needed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes a file of an earlier view, or postpones that until no manifest names it.
    pub(super) fn condemn(&self, name: String) {
        let mut needed = self.needed();
        if needed.names(&name) {
            needed.condemned.insert(name);
        } else {
            self.delete(&name);
        }
    }

    /// Deletes the remains of a file that could not be written. A file with that name that a saved table
    /// names is kept.
    pub(super) fn discard(&self, name: &str) {
        let _ = self.files.remove(&new_name(name));
        if !self.needed().names(name) {
            let _ = self.files.remove(name);
        }
    }

    /// Deletes a file that is not needed. A file that cannot be deleted now is deleted when the store is
    /// opened next.
    fn delete(&self, name: &str) {
        let _ = self.files.remove(name);
    }

    /// Replaces the view by a changed copy of it.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut View) -> R) -> R {
        let mut present = self.view.write().unwrap_or_else(PoisonError::into_inner);
        let mut view = View::clone(&present);
        let result = change(&mut view);
        *present = Arc::new(view);
        self.changes.fetch_add(1, Ordering::Relaxed);
        result
    }
}

fn merged_name(sources: &[Arc<Run>], begin: u64) -> String {
    let end = sources.last().map_or(0, |run| run.numbers().end);
    run::name(Stretch { first: sources[0].numbers().first.max(begin), end })
}
