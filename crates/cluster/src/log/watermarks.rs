//! Decides which records of the log count: each source position once, and none after a gap.
//!
//! The fingerprint stage writes at least once. So a source position may be in the log several times, and
//! after a failed delivery the log may lack a record and have later ones. Therefore each record names its
//! predecessor: the offset of the same source partition that its session last sent to this log partition. The
//! first record of a session names none. Within an epoch, a record is accepted if its offset is above the
//! watermark of its source partition and its predecessor, if any, is not. Before the first accepted record,
//! every offset is above the watermark. A rejected record was accepted before, or will be sent again.
//!
//! Offsets belong to one topic. If the topic id of a record differs from that of its watermark, the topic was
//! deleted and created again. Pages of the new topic would seem repeated, so the owner of the log partition
//! stops. If the watermark has no id in this epoch, the ids of the topic's other watermarks in the epoch are
//! compared. If the record or the watermark has no id (brokers without ids, records of earlier versions),
//! timestamps are compared too: a source position always holds the same message, so a repeated position with a
//! later timestamp than all accepted messages belongs to another topic.
//!
//! Invariants: the log alone determines which records are accepted; the accepted offsets of a source
//! partition and epoch increase. Memory: one entry per source partition.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::identity::TopicId;

/// The source position of a log record, and its predecessor in the same session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The page topic.
    pub topic: Arc<str>,
    /// The partition of the page topic.
    pub partition: u32,
    /// The offset of the page message.
    pub offset: u64,
    /// The epoch setting. An operator raises it to have all pages processed again.
    pub epoch: u32,
    /// The offset of this source partition that the same session last sent to the same log partition. `None` if
    /// this is the session's first one.
    pub previous_offset: Option<u64>,
    /// The Kafka timestamp of the page message, in milliseconds.
    pub timestamp_ms: Option<i64>,
    /// The id of the page topic, if known.
    pub topic_id: Option<TopicId>,
}

/// The progress of one source partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// The newest epoch seen. Records of older epochs are rejected.
    pub epoch: u32,
    /// The last offset accepted in that epoch.
    pub offset: u64,
    /// The latest timestamp of the accepted messages.
    pub newest_timestamp_ms: Option<i64>,
    /// True if the next record is accepted even after a gap; see [`Watermarks::accept_gaps`].
    pub gap_accepted: bool,
    /// The id of the topic that the offset belongs to, if known.
    pub topic_id: Option<TopicId>,
}

/// The watermarks of all source partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watermarks {
    partitions: BTreeMap<(Arc<str>, u32), Watermark>,
    gaps_accepted_before: u64,
}

/// The decision on a record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The record counts.
    Accepted,
    /// The source position was accepted before.
    Repeated,
    /// The predecessor is missing. Both records will be sent again.
    AfterGap,
    /// The record belongs to an earlier epoch.
    OldEpoch,
    /// The record belongs to another topic than those accepted before: the page topic was deleted and created
    /// again.
    Replaced,
}

impl Watermarks {
    /// Decides on the record at `log_offset`, and raises the watermark if it is accepted.
    pub fn admit(&mut self, log_offset: u64, origin: &Origin) -> Admission {
        let gaps_accepted = log_offset < self.gaps_accepted_before;
        if self.contradicts_another_partition(origin) {
            return Admission::Replaced;
        }
        let place = (Arc::clone(&origin.topic), origin.partition);
        let watermark = self.partitions.get(&place).copied();
        let gaps_accepted = gaps_accepted && watermark.is_none_or(|watermark| watermark.gap_accepted);
        let admission = judge(watermark, gaps_accepted, origin);
        if admission == Admission::Accepted {
            self.partitions.insert(place, advance(watermark, origin));
        }
        admission
    }

    /// Returns true if this is the first record of its partition and epoch, and its topic id differs from the
    /// ids accepted in other partitions in that epoch. Later records are compared with the watermark of their
    /// own partition.
    fn contradicts_another_partition(&self, origin: &Origin) -> bool {
        let Some(id) = origin.topic_id else { return false };
        let own = self.partitions.get(&(Arc::clone(&origin.topic), origin.partition));
        let own_watermark_decides =
            |own: &Watermark| own.epoch > origin.epoch || own.epoch == origin.epoch && own.topic_id.is_some();
        if own.is_some_and(own_watermark_decides) {
            return false;
        }
        let first = (Arc::clone(&origin.topic), 0);
        let others = self.partitions.range(first..).take_while(|((topic, _), _)| *topic == origin.topic);
        let mut others = others.filter(|(_, watermark)| watermark.epoch == origin.epoch);
        others.any(|(_, watermark)| watermark.topic_id.is_some_and(|other| other != id))
    }

    /// Accepts gaps after an operator has confirmed that a part of the log is lost. Below log offset
    /// `before`, the first record of each source partition is accepted even if its predecessor is missing.
    pub fn accept_gaps(&mut self, before: u64) {
        self.gaps_accepted_before = before;
        self.partitions.values_mut().for_each(|watermark| watermark.gap_accepted = true);
    }

    /// Returns the offset passed to the last call of [`Self::accept_gaps`].
    #[must_use]
    pub fn gaps_accepted_before(&self) -> u64 {
        self.gaps_accepted_before
    }

    /// Restores the offset from a position record.
    pub fn restore_gaps_accepted_before(&mut self, before: u64) {
        self.gaps_accepted_before = before;
    }

    /// Restores a watermark from a position record.
    pub fn restore(&mut self, topic: &str, partition: u32, watermark: Watermark) {
        self.partitions.insert((topic.into(), partition), watermark);
    }

    /// Returns all watermarks, by topic and partition.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32, Watermark)> {
        self.partitions.iter().map(|((topic, partition), watermark)| (&**topic, *partition, *watermark))
    }
}

fn judge(watermark: Option<Watermark>, gap_accepted: bool, origin: &Origin) -> Admission {
    // In a new epoch, no offset has been accepted yet.
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
        // Equal ids mean the same topic, and a position of a topic always holds the same message.
        let is_same = ids.0.is_some() && ids.0 == ids.1;
        let is_later = !is_same && newest.is_some() && origin.timestamp_ms > newest;
        if is_later { Admission::Replaced } else { Admission::Repeated }
    } else if origin.previous_offset > taken && !gap_accepted {
        Admission::AfterGap
    } else {
        Admission::Accepted
    }
}

fn advance(watermark: Option<Watermark>, origin: &Origin) -> Watermark {
    let same_epoch = watermark.filter(|watermark| watermark.epoch == origin.epoch);
    let newest = same_epoch.and_then(|watermark| watermark.newest_timestamp_ms);
    Watermark {
        epoch: origin.epoch,
        offset: origin.offset,
        newest_timestamp_ms: newest.max(origin.timestamp_ms),
        gap_accepted: false,
        // A fingerprint worker of an earlier version sends no id. Keep the known one.
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
            (5, Some(4), AfterGap), // the log starts in the middle of a session
            (3, None, Accepted),
            (3, None, Repeated),
            (2, None, Repeated),
            (7, Some(3), Accepted), // offsets have gaps; what matters is the predecessor
            (9, Some(8), AfterGap), // 8 was not delivered
            (8, Some(7), Accepted), // sent again
            (9, Some(8), Accepted),
            (20, None, Accepted), // a new session starts after delivered records
        ] {
            assert_eq!(
                admit(&mut watermarks, &origin(0, offset, previous)),
                expected,
                "{offset} after {previous:?}"
            );
        }
        assert_eq!(admit(&mut watermarks, &origin(1, 0, None)), Accepted, "partitions are independent");
    }

    #[test]
    fn a_higher_epoch_starts_over_and_ends_the_lower_one() {
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
    fn a_later_message_at_an_accepted_position_belongs_to_another_topic() {
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
    fn a_record_with_another_topic_id_belongs_to_another_topic() {
        use Admission::{Accepted, OldEpoch, Repeated, Replaced};
        let id = |byte: u8| TopicId::from_bytes(&[byte; 16]);
        let mut watermarks = Watermarks::default();
        for (epoch, partition, offset, topic, timestamp_ms, expected) in [
            (1, 0, 3, None, Some(100), Accepted), // written before ids were introduced
            (1, 0, 2, id(1), Some(100), Repeated),
            (1, 0, 2, id(1), Some(101), Replaced), // without ids, the timestamp decides
            (1, 0, 5, id(1), Some(100), Accepted),
            (1, 0, 5, id(1), Some(900), Repeated), // the same topic, whatever its timestamp is
            (1, 0, 6, None, Some(100), Accepted),  // a worker of an earlier version
            (1, 0, 6, id(2), Some(1), Replaced),   // older than all pages of the old topic
            (1, 0, 700, id(2), Some(1), Replaced), // above all accepted offsets
            (1, 1, 0, id(2), Some(1), Replaced),   // nothing was accepted from its partition yet
            (1, 0, 7, id(1), Some(1), Accepted),   // remaining records of the old topic still count
            (2, 0, 0, id(2), Some(1), Accepted),   // an operator has raised the epoch
            (2, 1, 0, id(1), Some(1), Replaced),   // its worker has the new epoch, but reads the old topic
            (2, 1, 0, id(2), Some(1), Accepted),
            (1, 0, 8, id(1), Some(1), OldEpoch), // a zombie
            (1, 2, 8, id(1), Some(1), Accepted), // no record of this partition has the new epoch yet
            (2, 2, 0, id(2), Some(1), Accepted),
            (1, 2, 9, id(1), Some(1), OldEpoch),
        ] {
            let origin = Origin { epoch, timestamp_ms, topic_id: topic, ..origin(partition, offset, None) };
            assert_eq!(admit(&mut watermarks, &origin), expected, "{origin:?}");
        }
    }

    #[test]
    fn each_partition_may_have_one_accepted_gap() {
        let mut watermarks = Watermarks::default();
        assert_eq!(watermarks.admit(0, &origin(0, 5, None)), Admission::Accepted);
        assert_eq!(watermarks.admit(9, &origin(0, 20, Some(19))), Admission::AfterGap);
        watermarks.accept_gaps(15);
        for (log_offset, partition, offset, previous, expected) in [
            (10, 0, 4, Some(3), Admission::Repeated),
            (11, 0, 20, Some(19), Admission::Accepted),
            (12, 0, 22, Some(21), Admission::AfterGap), // a second gap
            (13, 1, 7, Some(6), Admission::Accepted),
            (15, 2, 7, Some(6), Admission::AfterGap), // after the offset given to accept_gaps
        ] {
            let admission = watermarks.admit(log_offset, &origin(partition, offset, previous));
            assert_eq!(admission, expected, "{partition}@{offset}");
        }
    }
}
