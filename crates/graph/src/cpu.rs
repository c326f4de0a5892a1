//! The CPU threads, one per core by default, which run the fingerprint stage on batches of pages.
//!
//! In: batches, from one queue. Out: the results of each batch, in order, for the stage that awaits them.
//! Invariant: a panic fails its batch, and the thread goes on with the next one. Memory: one workspace per
//! thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tokio::sync::{Mutex, oneshot};

use super::queue::Receiver;
use crate::telemetry::health::Activity;
use crate::telemetry::metrics;

/// The nice value of background threads. Threads begin with 0; 19 is the lowest priority.
#[cfg(target_os = "linux")]
const BACKGROUND_NICE: i32 = 10;

/// Returns the number of threads for a setting. 0 means one per core.
#[must_use]
pub fn thread_count(configured: usize) -> usize {
    match configured {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}

/// The priority of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// The ordinary priority.
    Normal,
    /// A lower priority, so threads that serve requests go first. It is a nice value of 10 on Linux, and the
    /// same as `Normal` elsewhere.
    Background,
}

impl Priority {
    /// Sets the priority of the calling thread. If this is not allowed, nothing changes, because only delays
    /// depend on it.
    pub(super) fn take(self) {
        #[cfg(target_os = "linux")]
        if self == Self::Background {
            let thread = Some(rustix::thread::gettid());
            // A program that was started with a lower priority keeps it. As root, this would raise it
            // otherwise.
            let is_below =
                rustix::process::getpriority_process(thread).is_ok_and(|nice| nice >= BACKGROUND_NICE);
            if !is_below {
                let _ = rustix::process::setpriority_process(thread, BACKGROUND_NICE);
            }
        }
    }
}

/// The work of the CPU threads on each page.
pub struct Cpu<N, P> {
    /// Number of threads; 0 means one per core.
    pub threads: usize,
    /// The priority of the threads.
    pub priority: Priority,
    /// Progress of the threads. It counts each page that is handed over, finished or dropped.
    pub activity: Arc<Activity>,
    /// Creates the buffers of a thread.
    pub workspace: N,
    /// Processes one page.
    pub process: P,
}

/// A batch for the CPU threads. It is dropped unprocessed if nobody awaits its results.
pub(super) struct Job<T, R> {
    pub(super) batch: Vec<T>,
    pub(super) done: oneshot::Sender<Vec<R>>,
}

/// Processes batches until no more come. Each thread runs this once.
pub(super) async fn work<T: Send, R: Send, W: Send, E>(
    jobs: Arc<Mutex<Receiver<Job<T, R>>>>,
    cpu: &Cpu<impl Fn() -> W + Sync, impl Fn(T, &mut W) -> R + Sync>,
) -> Result<(), E> {
    let mut workspace = (cpu.workspace)();
    loop {
        // One thread waits for the next batch, the others for the lock.
        let Some(Job { batch, done }) = jobs.lock().await.recv().await else { return Ok(()) };
        if done.is_closed() {
            cpu.activity.done(batch.len());
            continue;
        }
        let began = Instant::now();
        let results = catch_unwind(AssertUnwindSafe(|| {
            let each = |page| {
                let result = (cpu.process)(page, &mut workspace);
                cpu.activity.done(1);
                result
            };
            batch.into_iter().map(each).collect()
        }));
        metrics::stage("fingerprint", began.elapsed());
        match results {
            // The receiver may be gone.
            Ok(results) => _ = done.send(results),
            // The panic hook has logged the panic. Dropping `done` tells the receiver.
            Err(_) => workspace = (cpu.workspace)(),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_in_the_background_let_others_go_first() {
        let niceness = |priority: Priority| {
            let of_thread = move || {
                priority.take();
                rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("a priority")
            };
            thread::spawn(of_thread).join().expect("no panic")
        };
        let normal = niceness(Priority::Normal);
        assert_eq!(niceness(Priority::Background), normal.max(BACKGROUND_NICE));
        assert_eq!(niceness(Priority::Normal), normal, "only the thread itself");
    }
}
