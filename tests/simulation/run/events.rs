//! The random events of a run: new pages, steps of the fingerprint stage, rebalances, and faults of processes and brokers.

use std::sync::Arc;

use super::super::brokers::{Forgotten, Topic};
use super::super::fingerprint::{self, Worker};
use super::super::{SECOND, Time};
use super::{LOG_PARTITIONS, PROCESSES_MAX, Run, SOURCE_PARTITIONS};

impl Run {
    /// Triggers a random event.
    pub(super) fn event(&mut self) {
        let now = self.now();
        match self.rng.below(1000) {
            0..300 => {
                let partition = self.rng.index(SOURCE_PARTITIONS);
                let gap = if self.rng.once_in(8) { 2 } else { 0 };
                let pages = &mut self.pages.pages[partition];
                pages.push(pages.last().map_or(0, |last| last + 1) + gap);
            }
            300..940 => self.fingerprint_event(now),
            940..960 => self.rebalance_pages(),
            960..970 => self.leftover_event(now),
            970..976 => {
                let partition = self.rng.below(u64::from(LOG_PARTITIONS)) as u32;
                let in_peace = self.rng.once_in(2);
                self.revoke(partition, in_peace);
            }
            // Blocks should fill occasionally, so tables on disk are killed less often.
            976..980 if !self.on_disk || self.rng.once_in(6) => {
                self.kill_any();
            }
            980..986 => {
                if self.instances.len() < PROCESSES_MAX {
                    self.start_process();
                }
            }
            976..980 | 989..994 => {}
            986..989 => self.freeze_any(now),
            994..998 => self.elect(now),
            998 => {
                // Partitions have no leader for a while.
                let forgotten = if self.rng.once_in(3) { Forgotten::Aborts } else { Forgotten::None };
                self.lock().brokers.forgotten = forgotten;
            }
            _ => self.lose_worker(),
        }
        // Partitions without an owner are assigned.
        for partition in 0..LOG_PARTITIONS {
            let owner = self.lock().brokers.assigned[partition as usize];
            if owner.is_none() && self.rng.once_in(100) {
                self.revoke(partition, true);
            }
        }
    }

    /// Lets a worker of the fingerprint stage do one of its steps.
    fn fingerprint_event(&mut self, now: Time) {
        let count = self.workers.len();
        let chosen = self.rng.index(count);
        let Some(worker) = self.workers.get_mut(chosen).filter(|worker| !worker.frozen) else { return };
        let shared = &mut *self.shared.lock().expect("nothing panics while it has it");
        let rng = &mut self.rng;
        match rng.below(12) {
            0..4 => worker.read(&mut self.pages, rng, self.mistake),
            4..8 => worker.append(&mut shared.brokers, rng, now),
            8..10 => worker.answer(),
            10 => worker.commit(&mut self.pages),
            _ => {
                if rng.once_in(5) {
                    worker.lose(&mut self.pages, &mut shared.brokers, rng, now, self.mistake);
                }
            }
        }
    }

    /// Moves a source partition to another or a new worker. The former one may not know it yet.
    fn rebalance_pages(&mut self) {
        let partition = self.rng.index(SOURCE_PARTITIONS);
        if let Some(old) = self.source_owners[partition].take()
            && let Some(worker) = self.workers.get_mut(old)
        {
            // A responsive member gives it back; a frozen one is only removed from the list.
            if !worker.frozen {
                if self.rng.once_in(2) {
                    worker.commit(&mut self.pages);
                }
                worker.revoke(partition);
            }
        }
        if self.workers.len() < 4 {
            self.workers.push(Worker::new(LOG_PARTITIONS as usize));
        }
        let new = self.rng.index(self.workers.len());
        if !self.workers[new].frozen {
            self.workers[new].assign(partition, &self.pages);
            self.source_owners[partition] = Some(new);
        }
    }

    /// Kills or freezes a worker of the fingerprint stage. Records that it has sent may still arrive, long
    /// after.
    fn lose_worker(&mut self) {
        let count = self.workers.len();
        let lost = self.rng.index(count);
        let now = self.now();
        let shared = Arc::clone(&self.shared);
        let Some(worker) = self.workers.get_mut(lost) else { return };
        if worker.frozen {
            // The worker wakes up. Some of its records in flight are appended before it learns what it has lost.
            let brokers = &mut shared.lock().expect("nothing panics while it has it").brokers;
            for _ in 0..self.rng.below(6) {
                worker.append(brokers, &mut self.rng, now);
                worker.answer();
            }
            worker.frozen = false;
            for (partition, owner) in self.source_owners.iter().enumerate() {
                if *owner != Some(lost) {
                    worker.revoke(partition);
                }
            }
            return;
        }
        if self.rng.once_in(3) {
            worker.frozen = true;
            return;
        }
        let worker = std::mem::replace(worker, Worker::new(LOG_PARTITIONS as usize));
        self.leftovers.push(worker.leftovers());
        for owner in &mut self.source_owners {
            if *owner == Some(lost) {
                *owner = None;
            }
        }
    }

    /// Appends a record that a lost worker had sent, or loses the rest of them.
    pub(super) fn leftover_event(&mut self, now: Time) {
        let count = self.leftovers.len();
        let chosen = self.rng.index(count);
        let Some(leftovers) = self.leftovers.get_mut(chosen) else { return };
        let log_partition = self.rng.index(leftovers.len());
        if self.rng.once_in(4) {
            leftovers[log_partition].clear();
        } else if let Some(bytes) = leftovers[log_partition].pop_front() {
            let brokers = &mut self.shared.lock().expect("nothing panics while it has it").brokers;
            fingerprint::append(brokers, log_partition, bytes, &mut self.rng, now);
        }
        self.leftovers.retain(|leftovers| leftovers.iter().any(|queue| !queue.is_empty()));
    }

    /// Freezes a process for a while.
    fn freeze_any(&mut self, now: Time) {
        let frozen_until = now + self.rng.below(20 * SECOND);
        let alive: Vec<usize> = self.instances.keys().copied().collect();
        if let Some(&process) = alive.get(self.rng.index(alive.len())) {
            self.lock().processes[process].frozen_until = frozen_until;
        }
    }

    /// Elects a leader that knows only a part of what was committed.
    fn elect(&mut self, now: Time) {
        let partition = self.rng.below(u64::from(LOG_PARTITIONS)) as u32;
        let topic = if self.rng.once_in(3) { Topic::Log } else { Topic::Centroids };
        let (back, until) = (self.rng.below(30), now + self.rng.below(20 * SECOND));
        let shared = &mut *self.shared.lock().expect("nothing panics while it has it");
        let partition = shared.brokers.partition(topic, partition);
        let end = partition.next_offset.saturating_sub(back);
        partition.elect(until, end);
    }
}
