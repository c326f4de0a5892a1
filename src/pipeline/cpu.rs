//! The CPU stages: batches in, results out, one thread a core.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, Scope};
use std::time::Instant;

use anyhow::Context;

use super::fingerprint_half::{FingerprintHalf, Fingerprinted, Workspace};
use crate::telemetry::metrics;

/// Threads of a scope that run the stateless half on batches of `T`, which may borrow from outside of the scope. They end
/// when this is dropped.
pub struct CpuStages<T> {
    jobs: Sender<Job<T>>,
}

struct Job<T> {
    batch: Vec<T>,
    results: SyncSender<Vec<Fingerprinted>>,
    asked: Weak<()>,
}

/// The results of a batch, as soon as they are there. Dropped, the batch is not worked on.
pub struct Pending {
    results: Receiver<Vec<Fingerprinted>>,
    _asked: Arc<()>,
}

impl<T: Send> CpuStages<T> {
    /// Starts `threads` many threads; 0: one a core. `process` runs the half on one item.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn start<'scope, F>(
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
        half: &'scope FingerprintHalf,
        process: F,
    ) -> anyhow::Result<Self>
    where
        T: 'scope,
        F: Fn(&FingerprintHalf, T, &mut Workspace) -> Fingerprinted + Copy + Send + 'scope,
    {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let (jobs, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..threads {
            let waiting = Arc::clone(&waiting);
            thread::Builder::new()
                .name("leitong-cpu".to_owned())
                .spawn_scoped(scope, move || work(&waiting, half, process))
                .context("cannot start threads")?;
        }
        Ok(Self { jobs })
    }

    /// Begins with a batch.
    pub fn submit(&self, batch: Vec<T>) -> Pending {
        let (results, pending) = mpsc::sync_channel(1);
        let asked = Arc::new(());
        let job = Job { batch, results, asked: Arc::downgrade(&asked) };
        // Without threads the results never come, and whoever waits for them is told so.
        let _ = self.jobs.send(job);
        Pending { results: pending, _asked: asked }
    }
}

impl Pending {
    /// Waits for the results: one an item of the batch, in its order.
    ///
    /// # Errors
    /// A thread has failed.
    pub fn wait(self) -> anyhow::Result<Vec<Fingerprinted>> {
        self.results.recv().context("a CPU stage has failed")
    }
}

fn work<T>(
    jobs: &Mutex<Receiver<Job<T>>>,
    half: &FingerprintHalf,
    process: impl Fn(&FingerprintHalf, T, &mut Workspace) -> Fingerprinted,
) {
    let mut workspace = half.workspace();
    loop {
        // One thread waits for the next job, the others for the lock.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { batch, results, asked }) = job else { return };
        if asked.strong_count() == 0 {
            continue;
        }
        let began = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| {
            batch.into_iter().map(|item| process(half, item, &mut workspace)).collect()
        }));
        metrics::stage("fingerprint", began.elapsed());
        match done {
            // Nobody may wait for it any more.
            Ok(done) => _ = results.send(done),
            // The panic hook has logged it; `Pending::wait` says that there are no results.
            Err(_) => workspace = half.workspace(),
        }
    }
}
