//! What consumer and producer of one session of the
//! fingerprint stage share: assignments and records in flight.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::log::session::Session;

/// What consumer and producer of one session share.
#[derive(Default)]
pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// A session, and whether it goes on.
#[derive(Default)]
pub struct State {
    /// Assignments and records in flight.
    pub session: Session,
    /// Why the session has ended.
    pub broken: Option<String>,
    /// The consumer is being closed: what is assigned to it still, it does not begin.
    pub closing: bool,
    /// What is to be read next was deleted by retention: the session ends when all
    /// that it has read is delivered, and the next one begins where the topic begins.
    pub overtaken: bool,
    /// Why there must be no other.
    pub refused: Option<anyhow::Error>,
}

impl Shared {
    /// The state.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that deliveries have come in, or that the session is broken.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Ends the session.
    pub fn fail(&self, why: String) {
        self.lock().broken.get_or_insert(why);
        self.notify();
    }

    /// Waits until `done`, at most `patience`; whether it came to that.
    pub fn wait(&self, patience: Duration, done: impl Fn(&State) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        loop {
            if done(&state) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || state.broken.is_some() {
                return false;
            }
            state = self
                .changed
                .wait_timeout(state, left.min(Duration::from_millis(100)))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}
