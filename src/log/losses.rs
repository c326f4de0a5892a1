//! What retention has deleted before it was read: offsets
//! between where a group goes on and where its topic begins.
//!
//! Whoever reads a partition begins where its group has committed, reads every offset from there
//! on, and stops where the broker says that an offset is gone. So a loss shows in one place only,
//! where a partition is begun, and is counted there. Offsets that a reader skips in between are no
//! losses: marks of transactions, what was aborted, and what compaction took away. Pure.

use std::collections::BTreeMap;

/// Offsets of one partition that nobody has read, and nobody will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The partition.
    pub partition: u32,
    /// The first of them.
    pub from: u64,
    /// The first behind them.
    pub to: u64,
}

impl Lost {
    /// How many offsets that are. Of messages there are as many
    /// or fewer, since marks of transactions have offsets too.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.to - self.from
    }
}

/// What was lost, by partition, as several attempts to begin find it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(BTreeMap<u32, Lost>);

impl Losses {
    /// Compares where the group goes on with where the partition begins. What an earlier attempt
    /// has found stays found: it may have committed the offset behind it, without hearing of that.
    pub fn compare(&mut self, partition: u32, committed: u64, log_start: u64) {
        if committed < log_start {
            let new = Lost { partition, from: committed, to: log_start };
            let lost = self.0.entry(partition).or_insert(new);
            lost.to = lost.to.max(log_start);
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Lost> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_found_once_however_often_it_is_asked_for() {
        let mut losses = Losses::default();
        losses.compare(0, 10, 10);
        losses.compare(1, 10, 3);
        assert_eq!(losses.iter().count(), 0, "nothing is lost");
        losses.compare(2, 4, 10);
        losses.compare(2, 4, 12); // retention goes on while nothing could be committed
        losses.compare(2, 12, 12); // committed, though the answer said otherwise
        losses.compare(2, 12, 15); // and on
        losses.compare(0, 1, 2);
        let found: Vec<_> =
            losses.iter().map(|lost| (lost.partition, lost.from, lost.to, lost.count())).collect();
        assert_eq!(found, [(0, 1, 2, 1), (2, 4, 15, 11)]);
    }
}
