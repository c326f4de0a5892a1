//! The state that consumer and producer of one session of the fingerprint stage share: assignments, and
//! records in flight.

use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::session::Session;
use crate::kafka::error::Error;

/// The state that consumer and producer of one session share.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<SessionState>,
    changed: Condvar,
}

/// A session, and the reasons for its end.
#[derive(Default)]
pub(crate) struct SessionState {
    /// Assignments and records in flight.
    pub session: Session,
    /// Reason why the session has ended.
    pub broken: Option<String>,
    /// True while the consumer is being closed. The consumer then does not start to read partitions that are
    /// assigned to it.
    pub closing: bool,
    /// True if retention has deleted the records to be read next. The session then ends once everything it
    /// has read is delivered, and the next one starts at the beginning of the topic.
    pub overtaken: bool,
    /// Reason why no further session may start.
    pub refused: Option<Error>,
}

impl Shared {
    /// Locks the state.
    pub(crate) fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }

    /// Wakes waiting threads after deliveries, or after the session was broken.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    /// Ends the session.
    pub(crate) fn fail(&self, why: String) {
        self.lock().broken.get_or_insert(why);
        self.notify();
    }

    /// Waits until `done` returns true, at most for `patience`. Returns false if time ran out or the session
    /// is broken.
    pub(crate) fn wait(&self, patience: Duration, done: impl Fn(&SessionState) -> bool) -> bool {
        let mut state = self.lock();
        let waits = |state: &mut SessionState| !done(state) && state.broken.is_none();
        self.changed.wait_while_for(&mut state, waits, patience);
        done(&state)
    }
}
