//! The open connections. If there are too many, a waiting one is closed.
//!
//! A connection is busy while its request is being answered. Otherwise it is waiting: idle, or receiving a
//! request, which may take as long as a slow client likes. A new connection replaces the one that has been
//! waiting for longest. So deliberately slow clients cannot keep others out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::task::AbortHandle;

/// Value of `waits_since` while a connection is busy.
const AT_WORK: u64 = u64::MAX;

/// Activity of a connection.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// Milliseconds from `began` until the connection was last busy, or [`AT_WORK`].
    waits_since: AtomicU64,
}

impl Activity {
    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn at_work(self: &Arc<Self>) -> AtWork {
        self.waits_since.store(AT_WORK, Ordering::Relaxed);
        AtWork(Arc::clone(self))
    }
}

/// Guard of a busy connection.
pub(crate) struct AtWork(Arc<Activity>);

impl Drop for AtWork {
    fn drop(&mut self) {
        let now = self.0.began.elapsed().as_millis() as u64;
        self.0.waits_since.store(now, Ordering::Relaxed);
    }
}

/// All open connections.
pub(super) struct Connections {
    began: Instant,
    max: usize,
    held: Vec<(AbortHandle, Arc<Activity>)>,
}

impl Connections {
    /// Creates an empty set of at most `max` connections.
    pub(super) fn new(max: usize) -> Self {
        Self { began: Instant::now(), max, held: Vec::new() }
    }

    /// Makes room for one more connection. Returns `None` if all are busy.
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

    /// Adds a connection for which there is room.
    pub(super) fn hold(&mut self, connection: AbortHandle, activity: Arc<Activity>) {
        self.held.push((connection, activity));
    }

    /// Closes all connections, even busy ones.
    pub(super) fn end(&self) {
        self.held.iter().for_each(|(connection, _)| connection.abort());
    }
}
