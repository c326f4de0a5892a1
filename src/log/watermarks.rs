//! Which records of the log count: each source position once, and none after a gap.
//!
//! The fingerprint stage writes at least once, so a source position may stand in the log several
//! times, and after a failed delivery a record may stand there whose predecessor is missing. A
//! record is taken if and only if its offset is above the watermark of its source partition and its
//! predecessor is none or not above it. What is dropped was taken before, or will be sent again.
//!
//! Offsets are those of one topic. A record that names another topic's id than the watermark of its
//! partition, or than any other watermark of that topic's name and epoch, is of another topic by
//! the same name: its pages would seem repeated, so its owner stops. Where a record or a watermark
//! has no id (brokers without ids, records of earlier versions), timestamps stand in: a position
//! that was taken holds the same message permanently, so one that comes again with a later
//! timestamp than all messages taken is another topic's.
//!
//! Invariants: what is taken is a function of the log alone; per source partition
//! and epoch the offsets taken rise. Memory: one entry a source partition.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::identity::TopicId;

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
    /// The previous offset of the partition that the same session
    /// sent to the same log partition; none for its first.
    pub previous_offset: Option<u64>,
    /// The message's Kafka timestamp, in milliseconds.
    pub timestamp_ms: Option<i64>,
    /// The page topic's id; none where nobody knew.
    pub topic_id: Option<TopicId>,
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
    /// The id of the topic that the offset is one of; none where nobody knew.
    pub topic_id: Option<TopicId>,
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
    Accepted,
    /// Its source position was taken before.
    Repeated,
    /// Its predecessor is missing: both will be sent again.
    AfterGap,
    /// It belongs to an epoch that the operator has left.
    OldEpoch,
    /// It is another topic's than what was taken before: the topic was deleted and created anew.
    Replaced,
}

impl Watermarks {
    /// Takes the record at `log_offset`, or says why not.
    pub fn admit(&mut self, log_offset: u64, origin: &Origin) -> Admission {
        let gaps_accepted = log_offset < self.gaps_accepted_before;
        if self.belies_another_partition(origin) {
            return Admission::Replaced;
        }
        match self.partitions.entry((Arc::clone(&origin.topic), origin.partition)) {
            Entry::Vacant(entry) => {
                let admission = admission(None, gaps_accepted, origin);
                if admission == Admission::Accepted {
                    entry.insert(advanced(None, origin));
                }
                admission
            }
            Entry::Occupied(mut entry) => {
                let watermark = *entry.get();
                let admission = admission(Some(watermark), gaps_accepted && watermark.gap_accepted, origin);
                if admission == Admission::Accepted {
                    entry.insert(advanced(Some(watermark), origin));
                }
                admission
            }
        }
    }

    /// Whether the first record of a partition and epoch has another id
    /// than what other partitions of its topic have taken in that epoch.
    /// All later ones are compared with their own partition's watermark.
    fn belies_another_partition(&self, origin: &Origin) -> bool {
        let Some(id) = origin.topic_id else { return false };
        let own = self.partitions.get(&(Arc::clone(&origin.topic), origin.partition));
        let is_told_by_its_own =
            |own: &Watermark| own.epoch > origin.epoch || own.epoch == origin.epoch && own.topic_id.is_some();
        if own.is_some_and(is_told_by_its_own) {
            return false;
        }
        let first = (Arc::clone(&origin.topic), 0);
        let others = self.partitions.range(first..).take_while(|((topic, _), _)| *topic == origin.topic);
        let mut others = others.filter(|(_, watermark)| watermark.epoch == origin.epoch);
        others.any(|(_, watermark)| watermark.topic_id.is_some_and(|other| other != id))
    }

    /// A part of the log is lost, and an operator accepts that: below the
    /// offset `before` of the log, the first record of each source
    /// partition counts, though its predecessor may be among the lost ones.
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
    let ids = (current.and_then(|watermark| watermark.topic_id), origin.topic_id);
    if let (Some(known), Some(found)) = ids
        && known != found
    {
        return Admission::Replaced;
    }
    let taken = current.map(|watermark| watermark.offset);
    if Some(origin.offset) <= taken {
        let newest = current.and_then(|watermark| watermark.newest_timestamp_ms);
        // The same id is the same topic, and its positions hold the same messages permanently.
        let is_same = ids.0.is_some() && ids.0 == ids.1;
        let is_later = !is_same && newest.is_some() && origin.timestamp_ms > newest;
        if is_later { Admission::Replaced } else { Admission::Repeated }
    } else if origin.previous_offset > taken && !gap_accepted {
        Admission::AfterGap
    } else {
        Admission::Accepted
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
        // A fingerprint worker of an earlier version says none: what is known stays known.
        topic_id: origin.topic_id.or(same_epoch.and_then(|watermark| watermark.topic_id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(partition: u32, offset: u64, previous_offset: Option<u64>) -> Origin {
        let topic = "pages".into();
        Origin { topic, partition, offset, epoch: 1, previous_offset, timestamp_ms: None, topic_id: None }
    }

    fn admit(watermarks: &mut Watermarks, origin: &Origin) -> Admission {
        watermarks.admit(0, origin)
    }

    #[test]
    fn takes_each_position_once_and_none_after_a_gap() {
        use Admission::{Accepted, AfterGap, Repeated};
        let mut watermarks = Watermarks::default();
        for (offset, previous, expected) in [
            (5, Some(4), AfterGap), // the log begins in the middle of a session
            (3, None, Accepted),
            (3, None, Repeated),
            (2, None, Repeated),
            (7, Some(3), Accepted), // offsets have gaps; what matters is the predecessor
            (9, Some(8), AfterGap), // 8 was not delivered
            (8, Some(7), Accepted), // sent again
            (9, Some(8), Accepted),
            (20, None, Accepted), // a new session begins where all before is delivered
        ] {
            assert_eq!(
                admit(&mut watermarks, &origin(0, offset, previous)),
                expected,
                "{offset} after {previous:?}"
            );
        }
        assert_eq!(
            admit(&mut watermarks, &origin(1, 0, None)),
            Accepted,
            "partitions know nothing of each other"
        );
    }

    #[test]
    fn a_higher_epoch_begins_anew_and_ends_the_lower_one() {
        let mut watermarks = Watermarks::default();
        let in_epoch =
            |epoch, offset, previous_offset| Origin { epoch, ..origin(0, offset, previous_offset) };
        assert_eq!(admit(&mut watermarks, &in_epoch(1, 10, None)), Admission::Accepted);
        assert_eq!(admit(&mut watermarks, &in_epoch(2, 4, Some(3))), Admission::AfterGap);
        assert_eq!(admit(&mut watermarks, &in_epoch(1, 11, Some(10))), Admission::Accepted);
        assert_eq!(admit(&mut watermarks, &in_epoch(2, 3, None)), Admission::Accepted);
        assert_eq!(admit(&mut watermarks, &in_epoch(1, 12, Some(11))), Admission::OldEpoch);
    }

    #[test]
    fn a_position_with_a_later_message_is_of_another_topic() {
        let mut watermarks = Watermarks::default();
        let at = |offset, timestamp_ms| Origin { timestamp_ms, ..origin(0, offset, None) };
        for (offset, timestamp, expected) in [
            (0, Some(100), Admission::Accepted),
            (1, Some(90), Admission::Accepted), // crawlers' clocks differ
            (0, Some(100), Admission::Repeated),
            (1, Some(90), Admission::Repeated),
            (0, Some(101), Admission::Replaced),
            (1, None, Admission::Repeated),
        ] {
            assert_eq!(admit(&mut watermarks, &at(offset, timestamp)), expected, "{offset} at {timestamp:?}");
        }
        let next_epoch = Origin { epoch: 2, ..at(0, Some(101)) };
        assert_eq!(admit(&mut watermarks, &next_epoch), Admission::Accepted);
        assert_eq!(admit(&mut watermarks, &at(5, Some(200))), Admission::OldEpoch);
    }

    #[test]
    fn a_record_of_another_topic_id_is_of_another_topic() {
        use Admission::{Accepted, OldEpoch, Repeated, Replaced};
        let id = |byte: u8| TopicId::from_bytes(&[byte; 16]);
        let mut watermarks = Watermarks::default();
        for (epoch, partition, offset, topic, timestamp_ms, expected) in [
            (1, 0, 3, None, Some(100), Accepted), // from before ids were kept
            (1, 0, 2, id(1), Some(100), Repeated),
            (1, 0, 2, id(1), Some(101), Replaced), // nothing but time tells
            (1, 0, 5, id(1), Some(100), Accepted),
            (1, 0, 5, id(1), Some(900), Repeated), // the same topic, whatever its clock says
            (1, 0, 6, None, Some(100), Accepted),  // a worker of an earlier version
            (1, 0, 6, id(2), Some(1), Replaced),   // older than all pages of the old topic
            (1, 0, 700, id(2), Some(1), Replaced), // ahead of all of them
            (1, 1, 0, id(2), Some(1), Replaced),   // of a partition that nothing was taken from
            (1, 0, 7, id(1), Some(1), Accepted),   // what is left of the old one still counts
            (2, 0, 0, id(2), Some(1), Accepted),   // an operator has raised the epoch
            (2, 1, 0, id(1), Some(1), Replaced),   // a worker that was started between
            (2, 1, 0, id(2), Some(1), Accepted),
            (1, 0, 8, id(1), Some(1), OldEpoch), // a zombie
            (1, 2, 8, id(1), Some(1), Accepted), // nothing of this partition is in the new epoch yet
            (2, 2, 0, id(2), Some(1), Accepted),
            (1, 2, 9, id(1), Some(1), OldEpoch),
        ] {
            let origin = Origin { epoch, timestamp_ms, topic_id: topic, ..origin(partition, offset, None) };
            assert_eq!(admit(&mut watermarks, &origin), expected, "{origin:?}");
        }
    }

    #[test]
    fn accepted_gaps_are_taken_once_for_each_partition() {
        let mut watermarks = Watermarks::default();
        assert_eq!(watermarks.admit(0, &origin(0, 5, None)), Admission::Accepted);
        assert_eq!(watermarks.admit(9, &origin(0, 20, Some(19))), Admission::AfterGap);
        watermarks.accept_gaps(15);
        for (log_offset, partition, offset, previous, expected) in [
            (10, 0, 4, Some(3), Admission::Repeated),
            (11, 0, 20, Some(19), Admission::Accepted),
            (12, 0, 22, Some(21), Admission::AfterGap), // that one is not among the lost
            (13, 1, 7, Some(6), Admission::Accepted),
            (15, 2, 7, Some(6), Admission::AfterGap), // behind what was there when it was accepted
        ] {
            let admission = watermarks.admit(log_offset, &origin(partition, offset, previous));
            assert_eq!(admission, expected, "{partition}@{offset}");
        }
    }
}
