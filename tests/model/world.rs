//! One run of the model: some hundreds of steps, then rest, then the reckoning.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use super::brokers::{Brokers, LogState};
use super::fingerprint::Worker;
use super::owner::{self, Owner};
use super::{Dice, Mistake};

const SOURCE_PARTITIONS: usize = 3;
const LOG_PARTITIONS: usize = 2;
const STEPS: usize = 1500;

/// Everything there is.
pub(crate) struct World {
    dice: Dice,
    mistake: Mistake,
    brokers: Brokers,
    workers: Vec<Worker>,
    /// Whose each source partition is, by the group.
    source_owners: Vec<Option<usize>>,
    /// What dead workers left in the network or in frozen processes.
    leftovers: Vec<Vec<VecDeque<Vec<u8>>>>,
    /// The rightful owner of each log partition, and zombies.
    owners: Vec<Option<Owner>>,
    zombies: Vec<(usize, Owner)>,
    pub(crate) trace: String,
}

impl World {
    pub(crate) fn new(seed: u64, mistake: Mistake) -> Self {
        let brokers = Brokers {
            pages: vec![Vec::new(); SOURCE_PARTITIONS],
            committed_pages: BTreeMap::new(),
            log: vec![Vec::new(); LOG_PARTITIONS],
            partitions: (0..LOG_PARTITIONS).map(|_| LogState::default()).collect(),
        };
        Self {
            dice: Dice(seed),
            mistake,
            brokers,
            workers: Vec::new(),
            source_owners: vec![None; SOURCE_PARTITIONS],
            leftovers: Vec::new(),
            owners: (0..LOG_PARTITIONS).map(|_| None).collect(),
            zombies: Vec::new(),
            trace: String::new(),
        }
    }

    /// Runs to the end; what is wrong then, if anything.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        for step in 0..STEPS {
            let what = self.dice.roll(100);
            let _ = writeln!(self.trace, "{step} {what}");
            self.step(what);
        }
        self.rest();
        self.reckon()
    }

    fn step(&mut self, what: usize) {
        match what {
            0..10 => {
                let partition = self.dice.roll(SOURCE_PARTITIONS);
                let gap = if self.dice.once_in(8) { 2 } else { 0 };
                let pages = &mut self.brokers.pages[partition];
                pages.push(pages.last().map_or(0, |last| last + 1) + gap);
            }
            10..50 => {
                let count = self.workers.len();
                let Some(worker) = self.workers.get_mut(self.dice.roll(count)) else { return };
                if worker.frozen {
                    return;
                }
                match self.dice.roll(12) {
                    0..4 => worker.read(&mut self.brokers, &mut self.dice, self.mistake),
                    4..8 => worker.append(&mut self.brokers, &mut self.dice),
                    8..10 => worker.answer(),
                    10 => worker.commit(&mut self.brokers),
                    _ => {
                        if self.dice.once_in(5) {
                            worker.lose(&mut self.brokers, &mut self.dice);
                        }
                    }
                }
            }
            50..80 => {
                let partition = self.dice.roll(LOG_PARTITIONS);
                if let Some(owner) = &mut self.owners[partition]
                    && !owner.step(&mut self.brokers, &mut self.dice, self.mistake)
                {
                    self.owners[partition] = None;
                }
            }
            80..84 => self.rebalance_pages(),
            84..88 => self.new_owner(),
            88..91 => self.zombie_step(),
            91..94 => self.leftover_step(),
            94..96 => {
                let partition = self.dice.roll(LOG_PARTITIONS);
                self.brokers.partitions[partition].compact(&mut self.dice);
            }
            // An owner dies, with its transaction open or not.
            96 => {
                let partition = self.dice.roll(LOG_PARTITIONS);
                self.owners[partition] = None;
            }
            // The coordinator gives a transaction up.
            97 => {
                let partition = self.dice.roll(LOG_PARTITIONS);
                self.brokers.partitions[partition].end_open();
            }
            _ => self.lose_worker(),
        }
    }

    /// The group gives a source partition to another worker, or a new one. Who had it may not know yet.
    fn rebalance_pages(&mut self) {
        let partition = self.dice.roll(SOURCE_PARTITIONS);
        if let Some(old) = self.source_owners[partition].take()
            && let Some(worker) = self.workers.get_mut(old)
        {
            // A member that answers gives it back; a frozen one is only taken off the list.
            if !worker.frozen {
                if self.dice.once_in(2) {
                    worker.commit(&mut self.brokers);
                }
                worker.revoke(partition);
            }
        }
        if self.workers.len() < 4 {
            self.workers.push(Worker::new(LOG_PARTITIONS));
        }
        let new = self.dice.roll(self.workers.len());
        if !self.workers[new].frozen {
            self.workers[new].assign(partition, &self.brokers);
            self.source_owners[partition] = Some(new);
        }
    }

    /// A worker of the fingerprint half is killed or frozen. What it has sent may still arrive, long after.
    fn lose_worker(&mut self) {
        let count = self.workers.len();
        let lost = self.dice.roll(count);
        let Some(worker) = self.workers.get_mut(lost) else { return };
        if worker.frozen {
            // It wakes up: some of what it had in flight is appended before it learns what it has lost.
            for _ in 0..self.dice.roll(6) {
                worker.append(&mut self.brokers, &mut self.dice);
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
        if self.dice.once_in(3) {
            self.workers[lost].frozen = true;
            return;
        }
        let worker = std::mem::replace(&mut self.workers[lost], Worker::new(LOG_PARTITIONS));
        self.leftovers.push(worker.leftovers());
        for owner in &mut self.source_owners {
            if *owner == Some(lost) {
                *owner = None;
            }
        }
    }

    fn leftover_step(&mut self) {
        let count = self.leftovers.len();
        let Some(leftovers) = self.leftovers.get_mut(self.dice.roll(count)) else { return };
        let log_partition = self.dice.roll(LOG_PARTITIONS);
        if self.dice.once_in(4) {
            leftovers[log_partition].clear();
        } else if let Some(bytes) = leftovers[log_partition].pop_front() {
            self.brokers.append(log_partition, bytes, &mut self.dice);
        }
    }

    /// The group gives a log partition to another owner; the old one lives on as a zombie, or does not.
    fn new_owner(&mut self) {
        let partition = self.dice.roll(LOG_PARTITIONS);
        if let Some(old) = self.owners[partition].take()
            && self.dice.once_in(2)
        {
            self.zombies.push((partition, old));
        }
        self.owners[partition] = Some(Owner::take_over(&mut self.brokers, partition, self.mistake));
    }

    fn zombie_step(&mut self) {
        let count = self.zombies.len();
        let chosen = self.dice.roll(count);
        let Some((_, zombie)) = self.zombies.get_mut(chosen) else { return };
        if !zombie.step(&mut self.brokers, &mut self.dice, self.mistake) {
            self.zombies.swap_remove(chosen);
        }
    }

    /// No more faults: what is on its way arrives, one worker and one owner each finish the work.
    fn rest(&mut self) {
        while !self.leftovers.is_empty() {
            self.leftover_step();
            self.leftovers.retain(|leftovers| leftovers.iter().any(|queue| !queue.is_empty()));
        }
        let frozen = std::mem::take(&mut self.workers);
        for worker in frozen {
            for (log_partition, queue) in worker.leftovers().into_iter().enumerate() {
                for bytes in queue {
                    self.brokers.append(log_partition, bytes, &mut self.dice);
                }
            }
        }
        let mut worker = Worker::new(LOG_PARTITIONS);
        (0..SOURCE_PARTITIONS).for_each(|partition| worker.assign(partition, &self.brokers));
        for _ in 0..5000 {
            worker.read(&mut self.brokers, &mut self.dice, Mistake::None);
            worker.append(&mut self.brokers, &mut self.dice);
            worker.answer();
            worker.commit(&mut self.brokers);
        }
        for partition in 0..LOG_PARTITIONS {
            let mut owner = Owner::take_over(&mut self.brokers, partition, Mistake::None);
            for _ in 0..5000 {
                if !owner.step(&mut self.brokers, &mut self.dice, Mistake::None) {
                    owner = Owner::take_over(&mut self.brokers, partition, Mistake::None);
                }
            }
        }
    }

    fn reckon(&mut self) -> Result<(), String> {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for (partition, state) in self.brokers.partitions.iter().enumerate() {
            let replayed = owner::replay(&self.brokers.log[partition], partition, LOG_PARTITIONS);
            let _ = writeln!(self.trace, "{}", state.outcomes.join("\n"));
            if state.outcomes != replayed {
                return Err(format!("log partition {partition}: not what the log gives"));
            }
            for outcome in &state.outcomes {
                *seen.entry(outcome.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
            }
        }
        for (partition, offsets) in self.brokers.pages.iter().enumerate() {
            for offset in offsets {
                let count = seen.remove(&format!("pages[{partition}]@{offset}"));
                if count != Some(1) {
                    return Err(format!("page {partition}@{offset} has {} outcomes", count.unwrap_or(0)));
                }
            }
        }
        if seen.is_empty() { Ok(()) } else { Err(format!("outcomes of no page: {seen:?}")) }
    }
}
