//! What brokers keep and promise.

use std::collections::BTreeMap;

use leitong::changelog::ChangelogRecord;

use super::{Dice, Mistake};

/// Topics, groups and transactions.
pub(crate) struct Brokers {
    /// Offsets of the pages of each source partition, which have gaps.
    pub(crate) pages: Vec<Vec<u64>>,
    /// What the fingerprint group has committed.
    pub(crate) committed_pages: BTreeMap<usize, u64>,
    /// Records of each log partition with their offsets, which have gaps.
    pub(crate) log: Vec<Vec<(u64, Vec<u8>)>>,
    pub(crate) partitions: Vec<LogState>,
}

/// What belongs to one partition of the log.
#[derive(Default)]
pub(crate) struct LogState {
    /// The transactional id's epoch.
    pub(crate) epoch: u64,
    pub(crate) open: Option<Transaction>,
    pub(crate) changelog: Vec<ChangelogRecord>,
    pub(crate) committed: Option<u64>,
    /// Outcomes as a `read_committed` consumer sees them.
    pub(crate) outcomes: Vec<String>,
}

/// A transaction that is being written.
#[derive(Clone)]
pub(crate) struct Transaction {
    pub(crate) epoch: u64,
    pub(crate) outcomes: Vec<String>,
    pub(crate) changelog: Vec<ChangelogRecord>,
    pub(crate) next_log_offset: u64,
    /// The coordinator has decided to commit it.
    pub(crate) decided: bool,
}

impl Brokers {
    pub(crate) fn append(&mut self, log_partition: usize, bytes: Vec<u8>, dice: &mut Dice) {
        let log = &mut self.log[log_partition];
        let next = log.last().map_or(0, |(offset, _)| offset + 1);
        let gap = if dice.once_in(10) { dice.roll(3) as u64 } else { 0 };
        log.push((next + gap, bytes));
    }

    /// `init_transactions`: a new epoch, and an end to what was open.
    pub(crate) fn take_over(&mut self, log_partition: usize, mistake: Mistake) -> u64 {
        let state = &mut self.partitions[log_partition];
        state.epoch += 1;
        if mistake != Mistake::ReadsBeforeFencing {
            state.end_open();
        }
        state.epoch
    }
}

impl LogState {
    /// Whether a request of a producer of this epoch is served.
    pub(crate) fn serves(&self, epoch: u64, mistake: Mistake) -> bool {
        epoch == self.epoch || mistake == Mistake::FencesNobody
    }

    /// Commits what is decided, aborts what is not.
    pub(crate) fn end_open(&mut self) {
        if let Some(transaction) = self.open.take()
            && transaction.decided
        {
            self.outcomes.extend(transaction.outcomes);
            self.changelog.extend(transaction.changelog);
            self.committed = Some(transaction.next_log_offset);
        }
    }

    /// Compacts a part of the changelog, as brokers do at any time: of each key in it only the last record stays.
    pub(crate) fn compact(&mut self, dice: &mut Dice) {
        let end = dice.roll(self.changelog.len() + 1);
        let tail = self.changelog.split_off(end);
        let mut last: BTreeMap<&[u8], usize> = BTreeMap::new();
        for (at, record) in self.changelog.iter().enumerate() {
            last.insert(&record.key, at);
        }
        let drop_tombstones = dice.once_in(2);
        let keep: Vec<bool> = self
            .changelog
            .iter()
            .enumerate()
            .map(|(at, record)| last[&record.key[..]] == at && !(drop_tombstones && record.value.is_none()))
            .collect();
        let mut keep = keep.iter();
        self.changelog.retain(|_| *keep.next().expect("one a record"));
        self.changelog.extend(tail);
    }
}
