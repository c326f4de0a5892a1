//! Runs the stages of a graph on one thread, in an order that a seed decides. So a test controls what happens
//! when, and a failure can be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use leitong_base::random::Random;

use super::threads::{Running, Stages, cause};

/// Stages that run only when a test says so.
pub(crate) struct OneThread<'a> {
    stages: Vec<Stage<'a>>,
    random: Random,
}

struct Stage<'a> {
    name: &'static str,
    /// `None` when the stage has ended.
    future: Option<Running<'a>>,
    result: anyhow::Result<()>,
    woken: Arc<Woken>,
}

/// True if a stage can go on.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a> OneThread<'a> {
    pub(crate) fn new(stages: Stages<'a>, seed: u64) -> Self {
        let stage = |(name, future)| Stage {
            name,
            future: Some(future),
            result: Ok(()),
            woken: Arc::new(Woken(AtomicBool::new(true))),
        };
        Self { stages: stages.named().map(stage).collect(), random: Random::of_seed(seed) }
    }

    /// Polls one stage that can go on. Returns false if there is none, or only stages named `but`.
    pub(crate) fn step_all_but(&mut self, but: &str) -> bool {
        let ready = |stage: &&mut Stage<'a>| {
            stage.name != but && stage.future.is_some() && stage.woken.0.load(Ordering::Relaxed)
        };
        let mut ready: Vec<_> = self.stages.iter_mut().filter(ready).collect();
        if ready.is_empty() {
            return false;
        }
        let chosen = (self.random.next_bits() % ready.len() as u64) as usize;
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

    /// Runs until no stage can go on.
    pub(crate) fn run_until_stalled(&mut self) {
        while self.step_all_but("") {}
    }

    /// Returns the names of the stages that have not ended.
    pub(crate) fn running(&self) -> Vec<&'static str> {
        self.stages.iter().filter(|stage| stage.future.is_some()).map(|stage| stage.name).collect()
    }

    /// Returns the result of the run. All stages must have ended.
    pub(crate) fn result(self) -> anyhow::Result<()> {
        assert_eq!(self.running(), [""; 0], "these stages wait for something");
        cause(self.stages.into_iter().map(|stage| stage.result).collect())
    }
}
