//! The cluster stage of one log partition, as its owner and look-ups share it.
//!
//! ```text
//! owner ─► write: some records of the log, all at once ─► handed to whoever waits
//!                                                              │
//! look-ups ─► read: one search each, several at once ◄─────────┘
//! ```
//! Invariants: between two writes the table is the one as of one offset of the log, so a look-up
//! never sees a decision half made; where the owner's thread panics in a write, there is no table
//! any more. The owner waits for the searches that have begun, and look-ups for the write that has:
//! whoever waits comes next. Cost of a write or a read that nobody waits for: some 20 ns.

use std::sync::Arc;

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::cluster_stage::ClusterStage;

/// None once the owner has left, or is in the midst of a write.
type Shared = Arc<RwLock<Option<Box<ClusterStage>>>>;

/// The owner's end. There is no table for look-ups once it is dropped.
pub(super) struct SharedStage(Shared);

/// The end of those who only read. Any number of threads may have one.
#[derive(Clone)]
pub struct StageReader(Shared);

impl SharedStage {
    pub(super) fn new(stage: ClusterStage) -> Self {
        Self(Arc::new(RwLock::new(Some(Box::new(stage)))))
    }

    /// Has `work` change the table; readers see it before or after, and those that wait come next.
    pub(super) fn write<T>(&self, work: impl FnOnce(&mut ClusterStage) -> T) -> T {
        let mut guard = self.0.write();
        // Out of the lock meanwhile, so that a panic leaves nothing half done for readers.
        let mut stage = guard.take().expect(HELD);
        let result = work(&mut stage);
        *guard = Some(stage);
        RwLockWriteGuard::unlock_fair(guard);
        result
    }

    /// The owner's own view. It alone writes, so it never waits for itself, however many it holds.
    pub(super) fn read(&self) -> MappedRwLockReadGuard<'_, ClusterStage> {
        RwLockReadGuard::map(self.0.read_recursive(), |stage| &**stage.as_ref().expect(HELD))
    }

    /// Takes the table back, once the searches that have begun are done.
    pub(super) fn take(self) -> ClusterStage {
        *self.0.write().take().expect(HELD)
    }

    pub(super) fn reader(&self) -> StageReader {
        StageReader(Arc::clone(&self.0))
    }
}

/// Nobody else takes the table out.
const HELD: &str = "the owner has its table";

impl Drop for SharedStage {
    fn drop(&mut self) {
        let stage = self.0.write().take();
        // A large one takes a while, for which no reader waits.
        drop(stage);
    }
}

impl StageReader {
    /// What `look` makes of the table; none where its owner has left.
    pub fn read<T>(&self, look: impl FnOnce(&ClusterStage) -> T) -> Option<T> {
        self.0.read().as_deref().map(look)
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
    use crate::config::Config;
    use crate::wait::HANG_LIMIT;
    use leitong_cluster::{ClusterRules, Clusterer, Position};
    use leitong_fingerprint::Detector;
    use leitong_fingerprint::detectors::simhash::SimHash;

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
                        let seen = reader.read(offset).expect("its owner is at work");
                        assert_eq!(seen % 2, 0, "a write that is half done");
                        reads.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            start.wait();
            let (mut writes, began) = (0_u64, Instant::now());
            // Without a hand-over an owner that never rests would have the lock to itself.
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
        assert_eq!(reader.read(offset), Some(0));
        assert_eq!(offset(&shared_stage.take()), 0);
        assert_eq!(reader.read(offset), None);

        let failing = shared();
        let reader = failing.reader();
        let failed = catch_unwind(AssertUnwindSafe(|| failing.write(|_| panic!("in the midst of it"))));
        assert!(failed.is_err());
        assert_eq!(reader.read(offset), None);
        drop(failing);
        assert_eq!(reader.read(offset), None);
    }
}
