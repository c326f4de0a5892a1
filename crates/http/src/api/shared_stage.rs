//! Shares the cluster stage of one log partition, or of `serve`, between its owner, which changes it, and look-ups.
//!
//! ```text
//! owner ─► write: some records of the log, all at once ─► lock passes to readers
//!                                                              │
//! look-ups ─► read: one search each, several at once ◄─────────┘
//! ```
//! Invariants: look-ups see the table between two writes, so it has always processed the log up to one
//! offset. If the owner panics during a write, there is no table any more. Writes wait for searches in
//! progress, and searches for a write in progress; the lock is then passed to the thread that waits, so
//! neither side starves. Cost of a write or a read without waiting: about 20 ns.

use std::sync::Arc;

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use leitong_pipeline::ClusterStage;

/// The stage. `None` once the owner has released it, or if it panicked during a write.
type Shared = Arc<RwLock<Option<Box<ClusterStage>>>>;

/// The owner's handle. When it is dropped, look-ups find no table any more.
pub struct SharedStage(Shared);

/// A handle for look-ups. Any number of threads may have one.
#[derive(Clone)]
pub struct StageReader(Shared);

impl SharedStage {
    /// Shares a stage.
    #[must_use]
    pub fn new(stage: ClusterStage) -> Self {
        Self(Arc::new(RwLock::new(Some(Box::new(stage)))))
    }

    /// Changes the stage with `work`. Readers see it as it was before or after. Readers that wait get the
    /// lock next.
    pub fn write<T>(&self, work: impl FnOnce(&mut ClusterStage) -> T) -> T {
        let mut guard = self.0.write();
        // The lock holds no stage during the work. So if the work panics, readers find none, instead of one that is
        // half changed.
        let mut stage = guard.take().expect(HELD);
        let result = work(&mut stage);
        *guard = Some(stage);
        RwLockWriteGuard::unlock_fair(guard);
        result
    }

    /// Returns the owner's read access. Only the owner writes, so several of these never block each other.
    pub fn read(&self) -> MappedRwLockReadGuard<'_, ClusterStage> {
        RwLockReadGuard::map(self.0.read_recursive(), |stage| &**stage.as_ref().expect(HELD))
    }

    /// Waits for searches in progress, and returns the stage. Look-ups then find no table.
    pub fn take(self) -> ClusterStage {
        *self.0.write().take().expect(HELD)
    }

    /// Returns a handle for look-ups.
    #[must_use]
    pub fn reader(&self) -> StageReader {
        StageReader(Arc::clone(&self.0))
    }
}

/// Only the owner's handle can remove the stage.
const HELD: &str = "the owner has its table";

impl Drop for SharedStage {
    fn drop(&mut self) {
        let stage = self.0.write().take();
        // Dropping a large table takes a while. No reader has to wait for that.
        drop(stage);
    }
}

impl StageReader {
    /// Returns read access to the stage; `None` if the owner has released it.
    pub fn read(&self) -> Option<MappedRwLockReadGuard<'_, ClusterStage>> {
        RwLockReadGuard::try_map(self.0.read(), Option::as_deref).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::hint;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::wait::HANG_LIMIT;
    use leitong_cluster::{ClusterRules, Clusterer, Position};
    use leitong_fingerprint::Detector;
    use leitong_fingerprint::detectors::simhash::SimHash;
    use leitong_pipeline::config::Config;

    fn shared() -> SharedStage {
        let detector: Arc<dyn Detector> = Arc::new(SimHash::new(&Config::default().simhash));
        let clusterer = Clusterer::new(Arc::clone(&detector), ClusterRules::default(), Position::default());
        SharedStage::new(ClusterStage::new(clusterer, detector, 1))
    }

    fn offset(stage: &ClusterStage) -> u64 {
        stage.clusterer().position().next_log_offset
    }

    #[test]
    fn readers_see_whole_writes_and_get_their_turn_while_the_owner_never_rests() {
        let shared = shared();
        let (ended, reads, start) = (AtomicBool::new(false), AtomicUsize::new(0), Barrier::new(3));
        let writes = thread::scope(|scope| {
            for _ in 0..2 {
                let reader = shared.reader();
                let (ended, reads, start) = (&ended, &reads, &start);
                scope.spawn(move || {
                    start.wait();
                    while !ended.load(Ordering::SeqCst) {
                        let seen = offset(&reader.read().expect("its owner is at work"));
                        assert_eq!(seen % 2, 0, "a write that is half done");
                        reads.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            start.wait();
            let (mut writes, began) = (0_u64, Instant::now());
            // Without a fair unlock, an owner that never pauses would keep the lock.
            while reads.load(Ordering::SeqCst) < 200 && began.elapsed() < *HANG_LIMIT {
                shared.write(|stage| {
                    let next = offset(stage);
                    stage.clusterer_mut().skip_to(next + 1);
                    let end = Instant::now() + Duration::from_micros(500);
                    while Instant::now() < end {
                        hint::spin_loop();
                    }
                    stage.clusterer_mut().skip_to(next + 2);
                });
                writes += 1;
            }
            ended.store(true, Ordering::SeqCst);
            writes
        });
        assert!(reads.load(Ordering::SeqCst) >= 200, "readers starve");
        assert_eq!(offset(&shared.read()), 2 * writes);
    }

    #[test]
    fn there_is_no_table_once_its_owner_has_left_or_failed() {
        let shared_stage = shared();
        let reader = shared_stage.reader();
        assert_eq!(reader.read().map(|stage| offset(&stage)), Some(0));
        assert_eq!(offset(&shared_stage.take()), 0);
        assert!(reader.read().is_none());

        let failing = shared();
        let reader = failing.reader();
        let failed = catch_unwind(AssertUnwindSafe(|| failing.write(|_| panic!("while it writes"))));
        assert!(failed.is_err());
        assert!(reader.read().is_none());
        drop(failing);
        assert!(reader.read().is_none());
    }
}
