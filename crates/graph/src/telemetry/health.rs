//! The state behind `/livez` and `/readyz`: whether the worker is alive, and whether it is ready.
//!
//! The worker is alive while its polling loops tick. It is ready when each stage has joined its group, every
//! owned partition of the log is restored, and the CPU stages finish the pages that wait for them. It stays
//! alive and ready while brokers are unavailable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum time between two ticks of a loop that counts as alive. It is longer than any wait within one step
/// of a loop.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// Maximum time that pages may wait while none is finished. A page costs at most a few seconds
/// (`page.work_max`), and somewhat more on a shared machine.
const STALL_MAX: Duration = Duration::from_secs(60);

/// State of all stages, for the probes.
#[derive(Debug, Default)]
pub struct Health {
    stages: Mutex<Vec<Arc<StageHealth>>>,
}

/// State of one stage of the worker.
#[derive(Debug)]
pub struct StageHealth {
    name: &'static str,
    started: Instant,
    /// Time of the last tick, in milliseconds after the start.
    last_tick_ms: AtomicU64,
    joined: AtomicBool,
    assigned: AtomicUsize,
    /// Reason why the stage does nothing until an operator acts; `None` if it can work.
    refused: Mutex<Option<String>>,
    /// Partitions of the log that cannot be served yet, each with the reason.
    not_ready: Mutex<BTreeMap<u32, String>>,
    activity: Arc<Activity>,
}

/// Progress of a stage.
#[derive(Debug)]
pub struct Activity {
    started: Instant,
    /// Number of items that have arrived and are not finished.
    waiting: AtomicUsize,
    /// Time when an item was last finished, or arrived while none was waiting, in milliseconds after the
    /// start.
    last_ms: AtomicU64,
}

impl Default for Activity {
    fn default() -> Self {
        Self { started: Instant::now(), waiting: AtomicUsize::new(0), last_ms: AtomicU64::new(0) }
    }
}

impl Activity {
    /// Resets the count of waiting items, after they were discarded.
    pub(crate) fn begin_anew(&self) {
        self.waiting.store(0, Ordering::Relaxed);
    }

    /// Adds items that have arrived.
    pub fn begins(&self, items: usize) {
        if self.waiting.fetch_add(items, Ordering::Relaxed) == 0 {
            self.last_ms.store(millis_since(self.started), Ordering::Relaxed);
        }
    }

    /// Removes items that are finished.
    pub fn done(&self, items: usize) {
        self.last_ms.store(millis_since(self.started), Ordering::Relaxed);
        let less = |waiting: usize| Some(waiting.saturating_sub(items));
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Returns how long items have waited while none was finished; zero if none is waiting.
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

    /// Returns the number of waiting items and the time since one was last finished, if that time is at least
    /// `patience`.
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
    /// Adds a stage to the probes.
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
        self.stages.lock().push(Arc::clone(&stage));
        stage
    }

    /// Returns the reasons why the worker is not alive; empty if it is alive.
    #[must_use]
    pub fn dead(&self) -> Vec<String> {
        self.each(|stage| {
            let silent = stage.silent();
            let text = format!("{}: no progress for {} s", stage.name, silent.as_secs());
            (silent > SILENCE_MAX).then_some(text).into_iter().collect()
        })
    }

    /// Returns the reasons why the worker is not ready; empty if it is ready.
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
            let refused = stage.refused.lock();
            reasons.extend(refused.iter().map(|why| format!("{}: {why}", stage.name)));
            if let Some((waiting, still_for)) = stage.activity.stalled(patience) {
                let seconds = still_for.as_secs();
                reasons.push(format!(
                    "{}: {waiting} pages are waiting, and none was finished for {seconds} s",
                    stage.name
                ));
            }
            let not_ready = stage.not_ready.lock();
            reasons
                .extend(not_ready.iter().map(|(p, why)| format!("{}: log partition {p}: {why}", stage.name)));
            reasons
        })
    }

    fn each(&self, reasons: impl Fn(&StageHealth) -> Vec<String>) -> Vec<String> {
        let stages = self.stages.lock();
        stages.iter().flat_map(|stage| reasons(stage)).collect()
    }
}

impl StageHealth {
    /// Records a sign of life.
    pub fn tick(&self) {
        self.last_tick_ms.store(millis_since(self.started), Ordering::Relaxed);
    }

    /// Returns the progress of the CPU threads that work for this stage.
    #[must_use]
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Records that the stage is a member of its group.
    pub fn joined(&self) {
        self.joined.store(true, Ordering::Relaxed);
    }

    /// Adds partitions that were assigned to the stage.
    pub fn assigned(&self, partitions: usize) {
        self.assigned.fetch_add(partitions, Ordering::Relaxed);
        self.joined();
        self.tick();
    }

    /// Removes partitions that are no longer assigned to the stage.
    pub fn revoked(&self, partitions: usize) {
        let less = |n: usize| Some(n.saturating_sub(partitions));
        let _ = self.assigned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.tick();
    }

    /// Returns the number of assigned partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.assigned.load(Ordering::Relaxed)
    }

    /// Records the reason why the stage does nothing until an operator acts.
    pub fn refuse(&self, why: String) {
        *self.refused.lock() = Some(why);
    }

    /// Records the reason why a partition of the log cannot be served.
    pub fn wait_for(&self, log_partition: u32, why: String) {
        self.not_ready.lock().insert(log_partition, why);
    }

    /// Records the reason why a partition of the log cannot be served, unless `is_left` returns true. The
    /// code that leaves a partition makes `is_left` true before it calls [`Self::stop_waiting_for`], so a
    /// reason that an owner reports late does not stay.
    pub fn wait_for_unless(&self, log_partition: u32, why: String, is_left: impl Fn() -> bool) {
        let mut not_ready = self.not_ready.lock();
        if !is_left() {
            not_ready.insert(log_partition, why);
        }
    }

    /// Returns the reason why a partition of the log is not served; `None` if it is served, or not assigned
    /// to this instance.
    #[must_use]
    pub fn why_not(&self, log_partition: u32) -> Option<String> {
        self.not_ready.lock().get(&log_partition).cloned()
    }

    /// Removes the reason for a partition of the log that is served now, or is no longer assigned to this
    /// instance.
    pub fn stop_waiting_for(&self, log_partition: u32) {
        self.not_ready.lock().remove(&log_partition);
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
    fn pages_that_wait_while_none_is_finished_make_the_worker_unready() {
        let health = Health::default();
        let stage = health.add("fingerprint");
        stage.joined();
        stage.activity().begins(3);
        assert!(health.not_ready().is_empty(), "they have only just arrived");
        let unready = ["fingerprint: 3 pages are waiting, and none was finished for 0 s"];
        assert_eq!(health.not_ready_within(Duration::ZERO), unready);
        stage.activity().done(3);
        assert!(health.not_ready_within(Duration::ZERO).is_empty() && health.dead().is_empty());
    }

    #[test]
    fn ready_when_all_stages_have_joined_and_all_tables_are_restored() {
        let health = Health::default();
        let (left, right) = (health.add("fingerprint"), health.add("cluster"));
        assert_eq!(health.not_ready().len(), 2);
        left.joined();
        right.wait_for(0, "restoring".to_owned());
        right.assigned(1);
        assert_eq!(health.not_ready(), ["cluster: log partition 0: restoring"]);
        right.stop_waiting_for(0);
        assert!(health.not_ready().is_empty() && health.dead().is_empty());
        right.revoked(2);
        assert_eq!(right.partitions(), 0);
        right.wait_for_unless(0, "fenced".to_owned(), || true);
        assert!(health.not_ready().is_empty(), "the owner has left the partition");
        right.wait_for_unless(0, "fenced".to_owned(), || false);
        assert_eq!(health.not_ready(), ["cluster: log partition 0: fenced"]);
    }
}
