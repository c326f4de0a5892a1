//! Which records of the log count: each source position once, and none after a gap.
//!
//! The fingerprint half writes at least once, so a source position may stand in the log several times, and
//! after a failed delivery a record may stand there whose predecessor is missing. A record is taken if and
//! only if its offset is above the watermark of its source partition and its predecessor is none or not above
//! it. What is dropped was taken before, or will be sent again.
//!
//! Invariants: what is taken is a function of the log alone; per source partition and epoch the offsets taken
//! rise. Memory: one entry a source partition.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Where a record of the log comes from, and what the same session sent before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The page topic.
    pub topic: Arc<str>,
    /// Its partition.
    pub partition: u32,
    /// The page's offset.
    pub offset: u64,
    /// Raised by an operator to have pages processed again.
    pub epoch: u32,
    /// The previous offset of the partition that the same session sent to the same log partition; none for
    /// its first.
    pub previous_offset: Option<u64>,
}

/// How far one source partition was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// The newest epoch seen; older ones count no more.
    pub epoch: u32,
    /// The last offset taken in that epoch.
    pub offset: u64,
}

/// The watermarks of all source partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watermarks {
    partitions: BTreeMap<(Arc<str>, u32), Watermark>,
}

/// What becomes of a record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It counts.
    Taken,
    /// Its source position was taken before.
    Repeated,
    /// Its predecessor is missing: both will be sent again.
    AfterGap,
    /// It belongs to an epoch that the operator has left.
    OldEpoch,
}

impl Watermarks {
    /// Takes the next record of the log, or says why not.
    pub fn admit(&mut self, origin: &Origin) -> Admission {
        match self.partitions.entry((Arc::clone(&origin.topic), origin.partition)) {
            Entry::Vacant(entry) => {
                let admission = admission(None, origin);
                if admission == Admission::Taken {
                    entry.insert(Watermark { epoch: origin.epoch, offset: origin.offset });
                }
                admission
            }
            Entry::Occupied(mut entry) => {
                let admission = admission(Some(*entry.get()), origin);
                if admission == Admission::Taken {
                    entry.insert(Watermark { epoch: origin.epoch, offset: origin.offset });
                }
                admission
            }
        }
    }

    /// Puts back a watermark of a position record.
    pub fn restore(&mut self, topic: &str, partition: u32, watermark: Watermark) {
        self.partitions.insert((topic.into(), partition), watermark);
    }

    /// All watermarks by topic and partition.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32, Watermark)> {
        self.partitions.iter().map(|((topic, partition), watermark)| (&**topic, *partition, *watermark))
    }
}

fn admission(watermark: Option<Watermark>, origin: &Origin) -> Admission {
    // A new epoch begins below all offsets.
    let taken = match watermark {
        Some(watermark) if origin.epoch < watermark.epoch => return Admission::OldEpoch,
        Some(watermark) if origin.epoch == watermark.epoch => Some(watermark.offset),
        _ => None,
    };
    if Some(origin.offset) <= taken {
        Admission::Repeated
    } else if origin.previous_offset > taken {
        Admission::AfterGap
    } else {
        Admission::Taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(partition: u32, offset: u64, previous_offset: Option<u64>) -> Origin {
        Origin { topic: "pages".into(), partition, offset, epoch: 1, previous_offset }
    }

    #[test]
    fn takes_each_position_once_and_none_after_a_gap() {
        use Admission::{AfterGap, Repeated, Taken};
        let mut watermarks = Watermarks::default();
        for (offset, previous, expected) in [
            (5, Some(4), AfterGap), // the log begins in the middle of a session
            (3, None, Taken),
            (3, None, Repeated),
            (2, None, Repeated),
            (7, Some(3), Taken),    // offsets have gaps; what matters is the predecessor
            (9, Some(8), AfterGap), // 8 was not delivered
            (8, Some(7), Taken),    // sent again
            (9, Some(8), Taken),
            (20, None, Taken), // a new session begins where all before is delivered
        ] {
            assert_eq!(
                watermarks.admit(&origin(0, offset, previous)),
                expected,
                "{offset} after {previous:?}"
            );
        }
        assert_eq!(watermarks.admit(&origin(1, 0, None)), Taken, "partitions know nothing of each other");
    }

    #[test]
    fn a_higher_epoch_begins_anew_and_ends_the_lower_one() {
        let mut watermarks = Watermarks::default();
        let in_epoch =
            |epoch, offset, previous_offset| Origin { epoch, ..origin(0, offset, previous_offset) };
        assert_eq!(watermarks.admit(&in_epoch(1, 10, None)), Admission::Taken);
        assert_eq!(watermarks.admit(&in_epoch(2, 4, Some(3))), Admission::AfterGap);
        assert_eq!(watermarks.admit(&in_epoch(1, 11, Some(10))), Admission::Taken);
        assert_eq!(watermarks.admit(&in_epoch(2, 3, None)), Admission::Taken);
        assert_eq!(watermarks.admit(&in_epoch(1, 12, Some(11))), Admission::OldEpoch);
    }
}
