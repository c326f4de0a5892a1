//! Finds messages that retention deleted before they were read: offsets between a group's committed offset
//! and the start of its partition.
//!
//! A reader starts at the committed offset of its group, reads every offset from there on, and fails if the
//! broker reports that an offset is gone. So a loss can only be seen where reading starts, and it is counted
//! there. Other missing offsets are not losses: transaction markers, aborted messages, and messages removed
//! by compaction. Pure: no clock, no broker.

use std::collections::BTreeMap;

/// A range of offsets in one partition that were deleted before they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    /// The partition.
    pub partition: u32,
    /// The first lost offset.
    pub from: u64,
    /// The offset after the last lost one.
    pub to: u64,
}

impl Lost {
    /// Returns the number of lost offsets. The number of lost messages is the same or smaller, because
    /// transaction markers have offsets too.
    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        self.to - self.from
    }
}

/// The losses found so far, by partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Losses(BTreeMap<u32, Lost>);

impl Losses {
    /// Compares the committed offset with the start of the partition, and records a loss. A recorded loss is
    /// kept even if a later attempt does not find it: the earlier attempt may have committed the offset after
    /// the loss without receiving the confirmation.
    pub(crate) fn compare(&mut self, partition: u32, committed: u64, log_start: u64) {
        if committed < log_start {
            let new = Lost { partition, from: committed, to: log_start };
            let lost = self.0.entry(partition).or_insert(new);
            lost.to = lost.to.max(log_start);
        }
    }

    /// Returns all losses, by partition.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Lost> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_attempts_count_a_loss_once() {
        let mut losses = Losses::default();
        losses.compare(0, 10, 10);
        losses.compare(1, 10, 3);
        assert_eq!(losses.iter().count(), 0, "nothing is lost");
        losses.compare(2, 4, 10);
        losses.compare(2, 4, 12); // retention continues while commits fail
        losses.compare(2, 12, 12); // the commit succeeded, though an error was reported
        losses.compare(2, 12, 15); // retention continues
        losses.compare(0, 1, 2);
        let found: Vec<_> =
            losses.iter().map(|lost| (lost.partition, lost.from, lost.to, lost.count())).collect();
        assert_eq!(found, [(0, 1, 2, 1), (2, 4, 15, 11)]);
    }
}
