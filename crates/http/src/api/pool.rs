//! The CPU threads of the API. They do all work on pages, so the threads for sockets stay responsive.
//!
//! Look-ups take precedence, since crawlers wait for each of them, while a batch takes long anyway. But every
//! [`BATCH_EVERY`]th job is part of a batch if there is one, so batches do not starve. No job is refused
//! here; the number of waiting jobs is bounded by `api.requests_max`.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::core::{Core, Tools};
use super::problem::{Problem, ProblemKind};
use leitong_graph::thread_count;

/// Interval, in jobs, at which a job of a batch is taken even if look-ups wait.
const BATCH_EVERY: u32 = 4;

type Job = Box<dyn FnOnce(&Core, &mut Tools) + Send>;

/// Precedence of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    LookUp,
    Batch,
}

/// The threads. They end when the pool is dropped.
pub(super) struct Pool {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

#[derive(Default)]
struct Jobs {
    look_ups: VecDeque<Job>,
    batches: VecDeque<Job>,
    taken: u32,
    closed: bool,
}

impl Pool {
    /// Starts `threads` threads, or one per core for 0.
    pub(super) fn start(core: &Arc<Core>, threads: usize) -> io::Result<Self> {
        let pool = Self { queue: Arc::default() };
        for _ in 0..thread_count(threads) {
            let (core, queue) = (Arc::clone(core), Arc::clone(&pool.queue));
            let work = move || queue.work(&core);
            thread::Builder::new().name("leitong-cpu".to_owned()).spawn(work)?;
        }
        Ok(pool)
    }

    /// Queues `work` at once. The future resolves to its result.
    pub(super) fn run<T, F>(
        &self,
        urgency: Urgency,
        work: F,
    ) -> impl Future<Output = Result<T, Problem>> + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&Core, &mut Tools) -> T + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let job = Box::new(move |core: &Core, tools: &mut Tools| {
            // The client may be gone; then the work is not needed.
            if !reply.is_closed() {
                let _ = reply.send(work(core, tools));
            }
        });
        self.queue.push(urgency, job);
        let fault = "this is a bug in Leitong; please report it with the request";
        async move { result.await.map_err(|_| Problem::new(ProblemKind::Internal, fault)) }
    }
}

impl Jobs {
    fn take(&mut self) -> Option<Job> {
        self.taken = self.taken.wrapping_add(1);
        let first = match self.taken.is_multiple_of(BATCH_EVERY) {
            true => self.batches.pop_front(),
            false => self.look_ups.pop_front(),
        };
        first.or_else(|| self.look_ups.pop_front()).or_else(|| self.batches.pop_front())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.jobs.lock().closed = true;
        self.queue.changed.notify_all();
    }
}

impl Queue {
    fn push(&self, urgency: Urgency, job: Job) {
        match urgency {
            Urgency::LookUp => self.jobs.lock().look_ups.push_back(job),
            Urgency::Batch => self.jobs.lock().batches.push_back(job),
        }
        self.changed.notify_one();
    }

    /// Waits for the next job; `None` once the pool is dropped.
    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some(job) = jobs.take() {
                return Some(job);
            }
            if jobs.closed {
                return None;
            }
            self.changed.wait(&mut jobs);
        }
    }

    fn work(&self, core: &Core) {
        let mut tools = core.tools();
        while let Some(job) = self.next() {
            // The panic hook has logged the panic, and the reply is dropped.
            if catch_unwind(AssertUnwindSafe(|| job(core, &mut tools))).is_err() {
                tools = core.tools();
            }
        }
    }
}
