//! Runs stages, each on a thread of its own.

use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use anyhow::Context as _;

use crate::cpu::Priority;

/// Stages that are connected by queues, in the order of the flow.
#[derive(Default)]
pub struct Stages<'a>(Vec<Stage<'a>>);

struct Stage<'a> {
    name: &'static str,
    priority: Priority,
    future: Running<'a>,
}

/// A stage that runs to its end.
pub(super) type Running<'a> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send + 'a>>;

impl<'a> Stages<'a> {
    /// Adds a stage after the others. `name` is the name of its thread.
    pub fn add(
        &mut self,
        name: &'static str,
        priority: Priority,
        stage: impl Future<Output = anyhow::Result<()>> + Send + 'a,
    ) {
        self.0.push(Stage { name, priority, future: Box::pin(stage) });
    }

    /// Runs all stages to their ends, the first one on the calling thread.
    ///
    /// # Errors
    /// The error that ended the stages ([`cause`]), or threads cannot be started.
    pub fn run(self) -> anyhow::Result<()> {
        thread::scope(|scope| {
            let mut stages = self.0.into_iter();
            let first = stages.next();
            let mut threads = Vec::new();
            // If a thread cannot be started, the stages that are left are dropped. So their queues close, and
            // the other threads end.
            for Stage { name, priority, future } in stages {
                let run = move || {
                    priority.take();
                    block_on(future)
                };
                let started = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, run);
                threads.push(started.context("cannot start threads")?);
            }
            let mut results = vec![first.map_or(Ok(()), |stage| block_on(stage.future))];
            results
                .extend(threads.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic))));
            cause(results)
        })
    }

    pub(super) fn named(self) -> impl Iterator<Item = (&'static str, Running<'a>)> {
        self.0.into_iter().map(|stage| (stage.name, stage.future))
    }
}

/// Returns the error that ended the stages. A stage whose neighbour has ended ends without an error, so the
/// error nearest to the sink is the cause.
pub(super) fn cause(results: Vec<anyhow::Result<()>>) -> anyhow::Result<()> {
    results.into_iter().rev().collect()
}

/// Polls `future` on this thread until it is ready. Unlike a runtime, it may run inside another runtime, and
/// `future` may start one, as readers of object stores do.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let alarm = Arc::new(Alarm { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&alarm));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        // The flag is needed because other code on this thread may have been woken instead.
        while !alarm.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

/// Waker for the thread of a stage.
struct Alarm {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
