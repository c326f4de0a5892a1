//! The CPU stages: batches in, results out, one task a batch on one thread a core.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use tokio::runtime::{self, Runtime};
use tokio::task::JoinHandle;

use super::fingerprint_half::{FingerprintHalf, Fingerprinted, Workspace};
use crate::source::Record;
use crate::telemetry::metrics;

/// Threads that run the stateless half.
pub struct CpuStages {
    runtime: Runtime,
    half: Arc<FingerprintHalf>,
    /// Buffers that some earlier task has grown.
    workspaces: Arc<Mutex<Vec<Workspace>>>,
}

impl CpuStages {
    /// `threads` many threads; 0: one a core.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn new(threads: usize, half: Arc<FingerprintHalf>) -> anyhow::Result<Self> {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1) // the plumbing itself needs next to nothing
            .max_blocking_threads(threads)
            .thread_name("leitong-cpu")
            .build()
            .context("cannot start threads")?;
        Ok(Self { runtime, half, workspaces: Arc::default() })
    }

    /// Begins with a batch.
    pub fn submit(&self, batch: Vec<Record>) -> JoinHandle<Vec<Fingerprinted>> {
        let (half, workspaces) = (Arc::clone(&self.half), Arc::clone(&self.workspaces));
        self.runtime.spawn_blocking(move || {
            let began = Instant::now();
            let pool = || workspaces.lock().unwrap_or_else(PoisonError::into_inner);
            let mut workspace = pool().pop().unwrap_or_else(|| half.workspace());
            let results = batch.into_iter().map(|record| half.process(record, &mut workspace)).collect();
            pool().push(workspace);
            metrics::stage("fingerprint", began.elapsed());
            results
        })
    }

    /// For waiting.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}
