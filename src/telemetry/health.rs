//! Whether the worker lives and whether it is ready, for `/livez` and `/readyz`.
//!
//! It lives while its polling loops tick. It is ready when each half has joined its group and every owned
//! partition of the log is restored. A broker that is away changes neither.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a loop may be silent: longer than everything that is waited for in one step.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// What the probes ask.
#[derive(Debug, Default)]
pub struct Health {
    halves: Mutex<Vec<Arc<Half>>>,
}

/// One half of the worker.
#[derive(Debug)]
pub struct Half {
    name: &'static str,
    started: Instant,
    /// Milliseconds after the start.
    last_tick_ms: AtomicU64,
    joined: AtomicBool,
    assigned: AtomicUsize,
    /// Partitions of the log that cannot be served yet, and why.
    not_ready: Mutex<BTreeMap<u32, String>>,
}

impl Health {
    /// Watches one more half.
    pub fn add(&self, name: &'static str) -> Arc<Half> {
        let half = Arc::new(Half {
            name,
            started: Instant::now(),
            last_tick_ms: AtomicU64::new(0),
            joined: AtomicBool::new(false),
            assigned: AtomicUsize::new(0),
            not_ready: Mutex::default(),
        });
        self.halves.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&half));
        half
    }

    /// Why the worker does not live; empty if it does.
    #[must_use]
    pub fn dead(&self) -> Vec<String> {
        self.each(|half| {
            let silent = half.silent();
            let text = format!("{}: no sign of life for {} s", half.name, silent.as_secs());
            (silent > SILENCE_MAX).then_some(text).into_iter().collect()
        })
    }

    /// Why the worker is not ready; empty if it is.
    #[must_use]
    pub fn not_ready(&self) -> Vec<String> {
        self.each(|half| {
            let mut reasons = Vec::new();
            if !half.joined.load(Ordering::Relaxed) {
                reasons.push(format!("{}: has not joined its group yet", half.name));
            }
            let not_ready = half.not_ready.lock().unwrap_or_else(PoisonError::into_inner);
            reasons
                .extend(not_ready.iter().map(|(p, why)| format!("{}: log partition {p}: {why}", half.name)));
            reasons
        })
    }

    fn each(&self, reasons: impl Fn(&Half) -> Vec<String>) -> Vec<String> {
        let halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        halves.iter().flat_map(|half| reasons(half)).collect()
    }
}

impl Half {
    /// A sign of life.
    pub fn tick(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_tick_ms.store(now, Ordering::Relaxed);
    }

    /// It is a member of its group.
    pub fn joined(&self) {
        self.joined.store(true, Ordering::Relaxed);
    }

    /// So many partitions more are its own.
    pub fn assigned(&self, partitions: usize) {
        self.assigned.fetch_add(partitions, Ordering::Relaxed);
        self.joined();
        self.tick();
    }

    /// So many partitions are not its own any more.
    pub fn revoked(&self, partitions: usize) {
        let less = |n: usize| Some(n.saturating_sub(partitions));
        let _ = self.assigned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.tick();
    }

    /// Partitions that are its own.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.assigned.load(Ordering::Relaxed)
    }

    /// A partition of the log cannot be served, for this reason.
    pub fn wait_for(&self, log_partition: u32, why: String) {
        self.not_ready.lock().unwrap_or_else(PoisonError::into_inner).insert(log_partition, why);
    }

    /// A partition of the log is served, or not this instance's any more.
    pub fn settled(&self, log_partition: u32) {
        self.not_ready.lock().unwrap_or_else(PoisonError::into_inner).remove(&log_partition);
    }

    fn silent(&self) -> Duration {
        self.started
            .elapsed()
            .saturating_sub(Duration::from_millis(self.last_tick_ms.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_when_all_halves_have_joined_and_all_tables_are_restored() {
        let health = Health::default();
        let (left, right) = (health.add("fingerprint"), health.add("cluster"));
        assert_eq!(health.not_ready().len(), 2);
        left.joined();
        right.wait_for(0, "restoring".to_owned());
        right.assigned(1);
        assert_eq!(health.not_ready(), ["cluster: log partition 0: restoring"]);
        right.settled(0);
        assert!(health.not_ready().is_empty() && health.dead().is_empty());
        right.revoked(2);
        assert_eq!(right.partitions(), 0);
    }
}
