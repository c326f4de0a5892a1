//! Finds messages that retention deleted before they were read: offsets between a group's committed offset
//! and the start of its partition.
//!
//! A reader starts at the committed offset of its group, reads every offset from there on, and fails if the
//! broker reports that an offset is gone. So a loss can only be seen where reading starts, and it is counted
//! there. Other missing offsets are not losses: transaction markers, aborted messages, and messages removed
//! by compaction. Pure: no clock, no broker.

use std::collections::BTreeMap;
use std::ops::Range;

/// The ranges of lost offsets, by partition. A range has as many lost messages as offsets, or fewer, because
/// transaction markers have offsets too.
#[derive(Debug, Default)]
pub(super) struct Losses(pub(super) BTreeMap<u32, Range<u64>>);

impl Losses {
    /// Compares the committed offset with the start of the partition, and records a loss. A recorded loss is
    /// kept even if a later attempt does not find it: the earlier attempt may have committed the offset after
    /// the loss without receiving the confirmation.
    pub(super) fn compare(&mut self, partition: u32, committed: u64, log_start: u64) {
        if committed < log_start {
            let lost = self.0.entry(partition).or_insert(committed..log_start);
            lost.end = lost.end.max(log_start);
        }
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
        assert!(losses.0.is_empty(), "nothing is lost");
        losses.compare(2, 4, 10);
        losses.compare(2, 4, 12); // retention continues while commits fail
        losses.compare(2, 12, 12); // the commit succeeded, though an error was reported
        losses.compare(2, 12, 15); // retention continues
        losses.compare(0, 1, 2);
        assert_eq!(losses.0, BTreeMap::from([(0, 1..2), (2, 4..15)]));
    }
}
