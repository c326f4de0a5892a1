//! Runs stages, each on a thread of its own. Unlike a runtime, `pollster` may poll inside another runtime, and a stage
//! may start one, as readers of object stores do.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::thread;

use pollster::block_on;

use crate::Error;
use crate::cpu::Priority;

/// Stages that are connected by queues, in the order of the flow.
pub struct Stages<'a, E>(Vec<Stage<'a, E>>);

struct Stage<'a, E> {
    name: &'static str,
    priority: Priority,
    future: Running<'a, E>,
}

/// A stage that runs to its end.
pub(super) type Running<'a, E> = Pin<Box<dyn Future<Output = Result<(), E>> + Send + 'a>>;

impl<'a, E> Stages<'a, E> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a stage after the others. `name` is the name of its thread.
    pub fn add(
        &mut self,
        name: &'static str,
        priority: Priority,
        stage: impl Future<Output = Result<(), E>> + Send + 'a,
    ) {
        self.0.push(Stage { name, priority, future: Box::pin(stage) });
    }

    /// Runs all stages to their ends, the first one on the calling thread.
    ///
    /// # Errors
    /// The error that ended the stages ([`cause`]), or threads cannot be started.
    pub fn run(self) -> Result<(), E>
    where
        E: From<Error> + Send,
    {
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
                threads.push(started.map_err(Error::Threads)?);
            }
            let mut results = vec![first.map_or(Ok(()), |stage| block_on(stage.future))];
            results
                .extend(threads.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic))));
            cause(results)
        })
    }

    pub(super) fn named(self) -> impl Iterator<Item = (&'static str, Running<'a, E>)> {
        self.0.into_iter().map(|stage| (stage.name, stage.future))
    }
}

/// Returns the error that ended the stages. A stage whose neighbour has ended ends without an error, so the
/// error nearest to the sink is the cause.
pub(super) fn cause<E>(results: Vec<Result<(), E>>) -> Result<(), E> {
    results.into_iter().rev().collect()
}
