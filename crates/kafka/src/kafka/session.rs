//! One producer session of the fingerprint stage: the predecessor that each record names, and the offsets
//! that may be committed.
//!
//! A session belongs to one producer and ends at the first failed delivery. Whenever the group assigns a
//! source partition, a new assignment begins, and its first record names no predecessor. That is safe: an
//! assignment starts at a committed offset, and an offset is committed only when all records before it are
//! delivered. So all of them are in the log before the first record of the assignment.
//!
//! Invariants: all records before a committable offset are delivered; records of an assignment that has ended
//! are neither sent nor committed. Memory: a few bytes per record in flight.

use std::collections::{BTreeMap, VecDeque};

/// Identifies one assignment of a source partition. Numbers are never reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AssignmentId(u64);

/// Identifies a record in flight. The caller keeps it for the delivery report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    assignment: AssignmentId,
    partition: u32,
    number: u64,
}

/// The assignments of one producer session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    assignments: BTreeMap<u32, Assignment>,
    last_assignment: u64,
}

#[derive(Debug, Default)]
struct Assignment {
    id: AssignmentId,
    /// The last offset sent to each log partition.
    sent: BTreeMap<u32, u64>,
    /// The records from the oldest undelivered one on, oldest first.
    window: VecDeque<Sent>,
    /// Number of the oldest record in the window.
    first_number: u64,
    /// The offset below which everything is delivered.
    committable: Option<u64>,
    /// The offset that was last returned for committing.
    handed_out: Option<u64>,
    /// True if no more records are accepted.
    closed: bool,
}

#[derive(Debug)]
struct Sent {
    /// The offset after this record.
    next_offset: u64,
    delivered: bool,
}

impl Assignment {
    /// Raises the committable offset past delivered records at the front of the window.
    fn advance(&mut self) {
        while let Some(sent) = self.window.pop_front_if(|sent| sent.delivered) {
            self.first_number += 1;
            self.committable = Some(sent.next_offset);
        }
    }
}

impl Session {
    /// Begins an assignment of a source partition. Ends the previous one.
    pub(crate) fn assign(&mut self, partition: u32) -> AssignmentId {
        self.revoke(partition);
        self.last_assignment += 1;
        let id = AssignmentId(self.last_assignment);
        self.assignments.insert(partition, Assignment { id, ..Assignment::default() });
        id
    }

    /// Stops accepting records of a source partition. Records in flight still count.
    pub(crate) fn close(&mut self, partition: u32) {
        if let Some(assignment) = self.assignments.get_mut(&partition) {
            assignment.closed = true;
        }
    }

    /// Ends the assignment of a source partition.
    pub(crate) fn revoke(&mut self, partition: u32) {
        self.assignments.remove(&partition);
    }

    /// Returns the current assignment of a source partition.
    pub(crate) fn assignment(&self, partition: u32) -> Option<AssignmentId> {
        self.assignments.get(&partition).map(|assignment| assignment.id)
    }

    /// Registers a record that is about to be sent. Returns its predecessor and its ticket, or `None` if the
    /// assignment has ended.
    pub(crate) fn send(
        &mut self,
        assignment_id: AssignmentId,
        partition: u32,
        offset: u64,
        log_partition: u32,
    ) -> Option<(Option<u64>, Ticket)> {
        let assignment = self
            .assignments
            .get_mut(&partition)
            .filter(|known| known.id == assignment_id && !known.closed)?;
        let previous_offset = assignment.sent.insert(log_partition, offset);
        let number = assignment.first_number + assignment.window.len() as u64;
        assignment.window.push_back(Sent { next_offset: offset + 1, delivered: false });
        Some((previous_offset, Ticket { assignment: assignment_id, partition, number }))
    }

    /// Registers a message for which no record is sent. Its offset becomes committable together with the
    /// offsets before it. It is never the predecessor of a record.
    pub(crate) fn pass_over(&mut self, assignment_id: AssignmentId, partition: u32, offset: u64) {
        let known = self.assignments.get_mut(&partition);
        if let Some(assignment) = known.filter(|known| known.id == assignment_id && !known.closed) {
            assignment.window.push_back(Sent { next_offset: offset + 1, delivered: true });
            assignment.advance();
        }
    }

    /// Registers a successful delivery.
    pub(crate) fn delivered(&mut self, ticket: Ticket) {
        let Some(assignment) = self
            .assignments
            .get_mut(&ticket.partition)
            .filter(|assignment| assignment.id == ticket.assignment)
        else {
            return;
        };
        let at = ticket.number.checked_sub(assignment.first_number).and_then(|at| usize::try_from(at).ok());
        if let Some(sent) = at.and_then(|at| assignment.window.get_mut(at)) {
            sent.delivered = true;
        }
        assignment.advance();
    }

    /// Returns the offsets that have become committable since the last call, by source partition.
    pub(crate) fn take_committable(&mut self) -> Vec<(u32, u64)> {
        let news = self.assignments.iter_mut().filter_map(|(partition, assignment)| {
            let offset = assignment.committable.filter(|offset| assignment.handed_out < Some(*offset))?;
            assignment.handed_out = Some(offset);
            Some((*partition, offset))
        });
        news.collect()
    }

    /// Returns the number of records of a source partition that were sent and are not delivered yet.
    pub(crate) fn in_flight(&self, partition: u32) -> usize {
        let assignment = self.assignments.get(&partition);
        assignment.map_or(0, |assignment| assignment.window.iter().filter(|sent| !sent.delivered).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_predecessor_in_the_same_log_partition() {
        let mut session = Session::default();
        let assignment = session.assign(3);
        let mut previous = |offset, log| session.send(assignment, 3, offset, log).expect("assigned").0;
        assert_eq!(
            [previous(10, 0), previous(11, 1), previous(15, 0), previous(16, 1)],
            [None, None, Some(10), Some(11)]
        );
        let assignment = session.assign(3);
        assert_eq!(
            session.send(assignment, 3, 11, 0).expect("assigned").0,
            None,
            "the first record of an assignment has no predecessor"
        );
    }

    #[test]
    fn commits_only_offsets_whose_earlier_records_are_delivered() {
        let mut session = Session::default();
        let assignment = session.assign(0);
        let tickets: Vec<_> =
            (5..9).map(|o| session.send(assignment, 0, o * 2, 0).expect("assigned").1).collect();
        session.delivered(tickets[1]);
        session.delivered(tickets[1]);
        assert_eq!((session.take_committable(), session.in_flight(0)), (vec![], 3));
        session.delivered(tickets[0]);
        assert_eq!((session.take_committable(), session.take_committable()), (vec![(0, 13)], vec![]));
        session.delivered(tickets[3]);
        session.delivered(tickets[2]);
        assert_eq!((session.take_committable(), session.in_flight(0)), (vec![(0, 17)], 0));
        assert_eq!(session.assignments[&0].committable, Some(17));
    }

    #[test]
    fn records_of_an_ended_assignment_are_ignored() {
        let mut session = Session::default();
        let old = session.assign(0);
        let (_, ticket) = session.send(old, 0, 1, 0).expect("assigned");
        let new = session.assign(0);
        assert!(session.send(old, 0, 2, 0).is_none());
        session.delivered(ticket);
        assert_eq!((session.take_committable(), session.in_flight(0)), (vec![], 0));
        assert_eq!(session.assignment(0), Some(new));
        session.close(0);
        assert!(session.send(new, 0, 1, 0).is_none());
        session.revoke(0);
        assert_eq!((session.assignment(0), session.assignments.len()), (None, 0));
    }
}
