//! Which records of the log count: each source position once, and none after a gap.
//!
//! The fingerprint half writes at least once, so a source position may stand in the log several times, and
//! after a failed delivery a record may stand there whose predecessor is missing. A record is taken if and
//! only if its offset is above the watermark of its source partition and its predecessor is none or not above
//! it. What is dropped was taken before, or will be sent again.
//!
//! A position that was taken holds the same message for ever. One that comes again with a later timestamp than all
//! messages taken is of another topic by the same name: its pages would seem repeated, so its owner stops.
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
    /// The message's Kafka timestamp, in milliseconds.
    pub timestamp_ms: Option<i64>,
}

/// How far one source partition was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// The newest epoch seen; older ones count no more.
    pub epoch: u32,
    /// The last offset taken in that epoch.
    pub offset: u64,
    /// The latest timestamp of the messages taken.
    pub newest_timestamp_ms: Option<i64>,
    /// The next record may have a gap before it, as in [`Watermarks::accept_gaps`].
    pub gap_accepted: bool,
}

/// The watermarks of all source partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watermarks {
    partitions: BTreeMap<(Arc<str>, u32), Watermark>,
    gaps_accepted_before: u64,
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
    /// Its source position was taken before, with another message in it: the topic was replaced.
    Replaced,
}

impl Watermarks {
    /// Takes the record at `log_offset`, or says why not.
    pub fn admit(&mut self, log_offset: u64, origin: &Origin) -> Admission {
        let gaps_accepted = log_offset < self.gaps_accepted_before;
        match self.partitions.entry((Arc::clone(&origin.topic), origin.partition)) {
            Entry::Vacant(entry) => {
                let admission = admission(None, gaps_accepted, origin);
                if admission == Admission::Taken {
                    entry.insert(advanced(None, origin));
                }
                admission
            }
            Entry::Occupied(mut entry) => {
                let watermark = *entry.get();
                let admission = admission(Some(watermark), gaps_accepted && watermark.gap_accepted, origin);
                if admission == Admission::Taken {
                    entry.insert(advanced(Some(watermark), origin));
                }
                admission
            }
        }
    }

    /// A part of the log is lost, and an operator accepts that: below the offset `before` of the log, the first
    /// record of each source partition counts, though its predecessor may be among the lost ones.
    pub fn accept_gaps(&mut self, before: u64) {
        self.gaps_accepted_before = before;
        self.partitions.values_mut().for_each(|watermark| watermark.gap_accepted = true);
    }

    /// The offset that was given to [`Self::accept_gaps`] last.
    #[must_use]
    pub fn gaps_accepted_before(&self) -> u64 {
        self.gaps_accepted_before
    }

    /// Puts back the offset of a position record.
    pub fn restore_gaps_accepted_before(&mut self, before: u64) {
        self.gaps_accepted_before = before;
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

fn admission(watermark: Option<Watermark>, gap_accepted: bool, origin: &Origin) -> Admission {
    // A new epoch begins below all offsets.
    let current = match watermark {
        Some(watermark) if origin.epoch < watermark.epoch => return Admission::OldEpoch,
        Some(watermark) if origin.epoch == watermark.epoch => Some(watermark),
        _ => None,
    };
    let taken = current.map(|watermark| watermark.offset);
    if Some(origin.offset) <= taken {
        let newest = current.and_then(|watermark| watermark.newest_timestamp_ms);
        let is_later = newest.is_some() && origin.timestamp_ms > newest;
        if is_later { Admission::Replaced } else { Admission::Repeated }
    } else if origin.previous_offset > taken && !gap_accepted {
        Admission::AfterGap
    } else {
        Admission::Taken
    }
}

fn advanced(watermark: Option<Watermark>, origin: &Origin) -> Watermark {
    let same_epoch = watermark.filter(|watermark| watermark.epoch == origin.epoch);
    let newest = same_epoch.and_then(|watermark| watermark.newest_timestamp_ms);
    Watermark {
        epoch: origin.epoch,
        offset: origin.offset,
        newest_timestamp_ms: newest.max(origin.timestamp_ms),
        gap_accepted: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(partition: u32, offset: u64, previous_offset: Option<u64>) -> Origin {
        Origin { topic: "pages".into(), partition, offset, epoch: 1, previous_offset, timestamp_ms: None }
    }

    fn admit(watermarks: &mut Watermarks, origin: &Origin) -> Admission {
        watermarks.admit(0, origin)
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
                admit(&mut watermarks, &origin(0, offset, previous)),
                expected,
                "{offset} after {previous:?}"
            );
        }
        assert_eq!(
            admit(&mut watermarks, &origin(1, 0, None)),
            Taken,
            "partitions know nothing of each other"
        );
    }

    #[test]
    fn a_higher_epoch_begins_anew_and_ends_the_lower_one() {
        let mut watermarks = Watermarks::default();
        let in_epoch =
            |epoch, offset, previous_offset| Origin { epoch, ..origin(0, offset, previous_offset) };
        assert_eq!(admit(&mut watermarks, &in_epoch(1, 10, None)), Admission::Taken);
        assert_eq!(admit(&mut watermarks, &in_epoch(2, 4, Some(3))), Admission::AfterGap);
        assert_eq!(admit(&mut watermarks, &in_epoch(1, 11, Some(10))), Admission::Taken);
        assert_eq!(admit(&mut watermarks, &in_epoch(2, 3, None)), Admission::Taken);
        assert_eq!(admit(&mut watermarks, &in_epoch(1, 12, Some(11))), Admission::OldEpoch);
    }

    #[test]
    fn a_position_with_a_later_message_is_of_another_topic() {
        let mut watermarks = Watermarks::default();
        let at = |offset, timestamp_ms| Origin { timestamp_ms, ..origin(0, offset, None) };
        for (offset, timestamp, expected) in [
            (0, Some(100), Admission::Taken),
            (1, Some(90), Admission::Taken), // crawlers' clocks differ
            (0, Some(100), Admission::Repeated),
            (1, Some(90), Admission::Repeated),
            (0, Some(101), Admission::Replaced),
            (1, None, Admission::Repeated),
        ] {
            assert_eq!(admit(&mut watermarks, &at(offset, timestamp)), expected, "{offset} at {timestamp:?}");
        }
        let next_epoch = Origin { epoch: 2, ..at(0, Some(101)) };
        assert_eq!(admit(&mut watermarks, &next_epoch), Admission::Taken);
        assert_eq!(admit(&mut watermarks, &at(5, Some(200))), Admission::OldEpoch);
    }

    #[test]
    fn accepted_gaps_are_taken_once_for_each_partition() {
        let mut watermarks = Watermarks::default();
        assert_eq!(watermarks.admit(0, &origin(0, 5, None)), Admission::Taken);
        assert_eq!(watermarks.admit(9, &origin(0, 20, Some(19))), Admission::AfterGap);
        watermarks.accept_gaps(15);
        for (log_offset, partition, offset, previous, expected) in [
            (10, 0, 4, Some(3), Admission::Repeated),
            (11, 0, 20, Some(19), Admission::Taken),
            (12, 0, 22, Some(21), Admission::AfterGap), // that one is not among the lost
            (13, 1, 7, Some(6), Admission::Taken),
            (15, 2, 7, Some(6), Admission::AfterGap), // behind what was there when it was accepted
        ] {
            let admission = watermarks.admit(log_offset, &origin(partition, offset, previous));
            assert_eq!(admission, expected, "{partition}@{offset}");
        }
    }
}
