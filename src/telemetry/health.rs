//! Whether the worker lives and whether it is ready, for `/livez` and `/readyz`.
//!
//! It lives while its polling loops tick. It is ready when each stage has joined
//! its group, every owned partition of the log is restored, and the CPU stages get
//! on with the pages that wait for them. A broker that is away changes neither.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a loop may be silent: longer than everything that is waited for in one step.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// How long pages may wait while no page is finished. A page costs seconds
/// at most (`page.work_max`), on a machine that is shared some more.
const STALL_MAX: Duration = Duration::from_secs(60);

/// What the probes ask.
#[derive(Debug, Default)]
pub struct Health {
    stages: Mutex<Vec<Arc<StageHealth>>>,
}

/// One stage of the worker.
#[derive(Debug)]
pub struct StageHealth {
    name: &'static str,
    started: Instant,
    /// Milliseconds after the start.
    last_tick_ms: AtomicU64,
    joined: AtomicBool,
    assigned: AtomicUsize,
    /// Why it does nothing until an operator acts.
    refused: Mutex<Option<String>>,
    /// Partitions of the log that cannot be served yet, and why.
    not_ready: Mutex<BTreeMap<u32, String>>,
    activity: Arc<Activity>,
}

/// Whether a stage gets on with its work.
#[derive(Debug)]
pub struct Activity {
    started: Instant,
    /// Items that have come and are not done.
    waiting: AtomicUsize,
    /// Milliseconds after the start: when an item was done, or came after nothing had waited.
    last_ms: AtomicU64,
}

impl Default for Activity {
    fn default() -> Self {
        Self { started: Instant::now(), waiting: AtomicUsize::new(0), last_ms: AtomicU64::new(0) }
    }
}

impl Activity {
    /// Nothing waits: what waited before was thrown away.
    pub fn begin_anew(&self) {
        self.waiting.store(0, Ordering::Relaxed);
    }

    /// So many items come.
    pub fn begins(&self, items: usize) {
        if self.waiting.fetch_add(items, Ordering::Relaxed) == 0 {
            self.last_ms.store(millis_since(self.started), Ordering::Relaxed);
        }
    }

    /// So many items are done.
    pub fn done(&self, items: usize) {
        self.last_ms.store(millis_since(self.started), Ordering::Relaxed);
        let less = |waiting: usize| Some(waiting.saturating_sub(items));
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// How long items have waited while none was done; nothing where none waits.
    #[must_use]
    pub fn still_for(&self) -> Duration {
        match self.waiting.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            _ => self
                .started
                .elapsed()
                .saturating_sub(Duration::from_millis(self.last_ms.load(Ordering::Relaxed))),
        }
    }

    /// How many items wait and for how long none was done, if that is `patience` at least.
    #[must_use]
    pub fn stalled(&self, patience: Duration) -> Option<(usize, Duration)> {
        let (waiting, still_for) = (self.waiting.load(Ordering::Relaxed), self.still_for());
        (waiting > 0 && still_for >= patience).then_some((waiting, still_for))
    }
}

fn millis_since(time: Instant) -> u64 {
    u64::try_from(time.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Health {
    /// Watches one more stage.
    pub fn add(&self, name: &'static str) -> Arc<StageHealth> {
        let stage = Arc::new(StageHealth {
            name,
            started: Instant::now(),
            last_tick_ms: AtomicU64::new(0),
            joined: AtomicBool::new(false),
            assigned: AtomicUsize::new(0),
            refused: Mutex::default(),
            not_ready: Mutex::default(),
            activity: Arc::default(),
        });
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&stage));
        stage
    }

    /// Why the worker does not live; empty if it does.
    #[must_use]
    pub fn dead(&self) -> Vec<String> {
        self.each(|stage| {
            let silent = stage.silent();
            let text = format!("{}: no sign of life for {} s", stage.name, silent.as_secs());
            (silent > SILENCE_MAX).then_some(text).into_iter().collect()
        })
    }

    /// Why the worker is not ready; empty if it is.
    #[must_use]
    pub fn not_ready(&self) -> Vec<String> {
        self.not_ready_within(STALL_MAX)
    }

    fn not_ready_within(&self, patience: Duration) -> Vec<String> {
        self.each(|stage| {
            let mut reasons = Vec::new();
            if !stage.joined.load(Ordering::Relaxed) {
                reasons.push(format!("{}: has not joined its group yet", stage.name));
            }
            let refused = stage.refused.lock().unwrap_or_else(PoisonError::into_inner);
            reasons.extend(refused.iter().map(|why| format!("{}: {why}", stage.name)));
            if let Some((waiting, still_for)) = stage.activity.stalled(patience) {
                let seconds = still_for.as_secs();
                reasons.push(format!(
                    "{}: {waiting} pages wait, and none was finished for {seconds} s",
                    stage.name
                ));
            }
            let not_ready = stage.not_ready.lock().unwrap_or_else(PoisonError::into_inner);
            reasons
                .extend(not_ready.iter().map(|(p, why)| format!("{}: log partition {p}: {why}", stage.name)));
            reasons
        })
    }

    fn each(&self, reasons: impl Fn(&StageHealth) -> Vec<String>) -> Vec<String> {
        let stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.iter().flat_map(|stage| reasons(stage)).collect()
    }
}

impl StageHealth {
    /// A sign of life.
    pub fn tick(&self) {
        self.last_tick_ms.store(millis_since(self.started), Ordering::Relaxed);
    }

    /// Whether its stages get on.
    #[must_use]
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
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

    /// It does nothing until an operator acts, for this reason.
    pub fn refuse(&self, why: String) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// A partition of the log cannot be served, for this reason.
    pub fn wait_for(&self, log_partition: u32, why: String) {
        self.not_ready.lock().unwrap_or_else(PoisonError::into_inner).insert(log_partition, why);
    }

    /// The same as long as `is_left` says no. Whoever leaves a partition says so first and calls
    /// [`Self::settled`] then, so that a late owner's reason never stays.
    pub fn wait_for_unless(&self, log_partition: u32, why: String, is_left: impl Fn() -> bool) {
        let mut not_ready = self.not_ready.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_left() {
            not_ready.insert(log_partition, why);
        }
    }

    /// Why a partition of the log is not served; none if it is, or is not this instance's.
    #[must_use]
    pub fn why_not(&self, log_partition: u32) -> Option<String> {
        self.not_ready.lock().unwrap_or_else(PoisonError::into_inner).get(&log_partition).cloned()
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
    fn pages_that_wait_for_a_stage_that_finishes_none_make_it_unready() {
        let health = Health::default();
        let stage = health.add("fingerprint");
        stage.joined();
        stage.activity().begins(3);
        assert!(health.not_ready().is_empty(), "it has only just begun");
        let unready = ["fingerprint: 3 pages wait, and none was finished for 0 s"];
        assert_eq!(health.not_ready_within(Duration::ZERO), unready);
        stage.activity().done(3);
        assert!(health.not_ready_within(Duration::ZERO).is_empty() && health.dead().is_empty());
    }

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
        right.wait_for_unless(0, "fenced".to_owned(), || true);
        assert!(health.not_ready().is_empty(), "its owner was left behind");
        right.wait_for_unless(0, "fenced".to_owned(), || false);
        assert_eq!(health.not_ready(), ["cluster: log partition 0: fenced"]);
    }
}
