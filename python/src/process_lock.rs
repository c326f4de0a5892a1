//! A lock that detects in a forked child that it can never be released.
//!
//! A fork copies the state of a lock, but not the thread that holds it. Waiting for such a lock in the child
//! would never end. So the first thread of a process that requests the lock tries it without waiting: either
//! it is free, or it is lost, and then every use in that process is an error. Cost: one atomic load for each
//! use in a process that has requested it before.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// State of the lock: the process stored with it can use the lock.
const USABLE: u64 = 0;
/// State of the lock: the first thread of the process tries it.
const TRYING: u64 = 1;
/// State of the lock: it can never be released in the process.
const LOST: u64 = 2;
/// Number of states.
const STATES: u64 = 3;

/// A value that one thread of one process uses at a time.
pub(crate) struct ProcessLock<T> {
    /// The name of the Python class, for errors.
    class: &'static str,
    value: Mutex<T>,
    /// The last process that requested the lock, and its state: `pid * STATES + state`.
    state: AtomicU64,
}

impl<T> ProcessLock<T> {
    pub(crate) fn new(class: &'static str, value: T) -> Self {
        Self { class, value: Mutex::new(value), state: AtomicU64::new(state(USABLE)) }
    }

    /// Waits for the lock. Returns RuntimeError in a forked child if another thread of the parent held it at
    /// the fork.
    pub(crate) fn lock(&self) -> PyResult<MutexGuard<'_, T>> {
        loop {
            let known = self.state.load(Ordering::Acquire);
            if known == state(USABLE) {
                // A panic on one page leaves the value consistent.
                return Ok(self.value.lock().unwrap_or_else(PoisonError::into_inner));
            }
            if known == state(LOST) {
                return Err(PyRuntimeError::new_err(format!(
                    "another thread was using this {0} when the process was forked, so it cannot be used in the child; \
                     make one here, or start processes with multiprocessing's \"spawn\"",
                    self.class
                )));
            }
            if known == state(TRYING) {
                thread::yield_now();
                continue;
            }
            let claimed = self
                .state
                .compare_exchange(known, state(TRYING), Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
            if claimed {
                let held = match self.value.try_lock() {
                    Ok(held) => Some(held),
                    Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                    Err(TryLockError::WouldBlock) => None,
                };
                let found = if held.is_some() { USABLE } else { LOST };
                self.state.store(state(found), Ordering::Release);
                if let Some(held) = held {
                    return Ok(held);
                }
            }
        }
    }

    /// Returns true in the process that created the value or has used it last.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.state.load(Ordering::Acquire) / STATES == u64::from(process::id())
    }
}

fn state(known: u64) -> u64 {
    u64::from(process::id()) * STATES + known
}
