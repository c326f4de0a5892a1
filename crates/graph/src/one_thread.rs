//! Runs the stages of a graph on one thread, in an order that the caller decides. So a test controls what
//! happens when, and a failure can be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use super::threads::{Running, Stages, cause};

/// Stages that run only when a test says so.
pub struct OneThread<'a, E> {
    stages: Vec<Stage<'a, E>>,
}

struct Stage<'a, E> {
    name: &'static str,
    /// `None` when the stage has ended.
    future: Option<Running<'a, E>>,
    result: Result<(), E>,
    woken: Arc<Woken>,
}

/// True if a stage can continue.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a, E> OneThread<'a, E> {
    /// Creates the stages, none of which has run yet.
    #[must_use]
    pub fn new(stages: Stages<'a, E>) -> Self {
        let stage = |(name, future)| Stage {
            name,
            future: Some(future),
            result: Ok(()),
            woken: Arc::new(Woken(AtomicBool::new(true))),
        };
        Self { stages: stages.named().map(stage).collect() }
    }

    /// Polls one of the stages that can continue. `choose` gets their number, and returns the index of one of
    /// them. Returns false if no stage can continue.
    pub fn step(&mut self, choose: impl FnOnce(usize) -> usize) -> bool {
        self.step_all_but("", choose)
    }

    /// Works like [`Self::step`], but never polls stages of this name.
    pub(crate) fn step_all_but(&mut self, but: &str, choose: impl FnOnce(usize) -> usize) -> bool {
        let ready = |stage: &&mut Stage<'a, E>| {
            stage.name != but && stage.future.is_some() && stage.woken.0.load(Ordering::Relaxed)
        };
        let mut ready: Vec<_> = self.stages.iter_mut().filter(ready).collect();
        if ready.is_empty() {
            return false;
        }
        let chosen = choose(ready.len());
        let stage = &mut ready[chosen];
        stage.woken.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&stage.woken));
        let future = stage.future.as_mut().expect("it has not ended");
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            stage.future = None;
            stage.result = result;
        }
        true
    }

    /// Returns the names of the stages that have not ended.
    pub fn running(&self) -> Vec<&'static str> {
        self.stages.iter().filter(|stage| stage.future.is_some()).map(|stage| stage.name).collect()
    }

    /// Returns the result of the run. All stages must have ended.
    pub fn result(self) -> Result<(), E> {
        assert_eq!(self.running(), [""; 0], "these stages wait for something");
        cause(self.stages.into_iter().map(|stage| stage.result).collect())
    }
}
