//! The connections that are held, and which of them gives way where there are too many.
//!
//! A connection is at work while an answer is made for it; else it is idle, or a request is on its
//! way, which may take as long as a slow client likes. Of the latter the one that has been so for
//! the longest gives way to a new one. So clients that are slow on purpose keep nobody out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::task::AbortHandle;

/// Written while a connection is at work.
const AT_WORK: u64 = u64::MAX;

/// What a connection does.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// Milliseconds from `began` to when it was last at work, or [`AT_WORK`].
    waits_since: AtomicU64,
}

impl Activity {
    /// At work until the guard is dropped.
    pub(super) fn at_work(self: &Arc<Self>) -> AtWork {
        self.waits_since.store(AT_WORK, Ordering::Relaxed);
        AtWork(Arc::clone(self))
    }
}

/// A connection is at work as long as this lives.
pub(super) struct AtWork(Arc<Activity>);

impl Drop for AtWork {
    fn drop(&mut self) {
        let now = self.0.began.elapsed().as_millis() as u64;
        self.0.waits_since.store(now, Ordering::Relaxed);
    }
}

/// All connections.
pub(super) struct Connections {
    began: Instant,
    max: usize,
    held: Vec<(AbortHandle, Arc<Activity>)>,
}

impl Connections {
    /// None yet, and never more than `max`.
    pub(super) fn new(max: usize) -> Self {
        Self { began: Instant::now(), max, held: Vec::new() }
    }

    /// Makes room for one more; none where all are at work.
    pub(super) fn make_room(&mut self) -> Option<Arc<Activity>> {
        self.held.retain(|(connection, _)| !connection.is_finished());
        if self.held.len() >= self.max {
            let waits_since =
                |(_, activity): &(AbortHandle, Arc<Activity>)| activity.waits_since.load(Ordering::Relaxed);
            let oldest = (0..self.held.len()).min_by_key(|at| waits_since(&self.held[*at]))?;
            if waits_since(&self.held[oldest]) == AT_WORK {
                return None;
            }
            self.held.swap_remove(oldest).0.abort();
        }
        let waits_since = AtomicU64::new(self.began.elapsed().as_millis() as u64);
        Some(Arc::new(Activity { began: self.began, waits_since }))
    }

    /// Holds a connection for which there is room.
    pub(super) fn hold(&mut self, connection: AbortHandle, activity: Arc<Activity>) {
        self.held.push((connection, activity));
    }

    /// Ends all of them, whatever they do.
    pub(super) fn end(&self) {
        self.held.iter().for_each(|(connection, _)| connection.abort());
    }
}
