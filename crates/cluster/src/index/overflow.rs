//! Overflow lists: the slots of many centroids that share one key, kept apart from the groups of a segment.
//!
//! Slots are removed in the order in which they were added. The list is a queue, so the cost at both ends
//! does not depend on its length.

use std::collections::VecDeque;

/// The list of one key.
#[derive(Debug)]
pub(super) struct Overflow {
    /// The slots, oldest first.
    slots: VecDeque<u32>,
}

impl Overflow {
    /// Creates a list of these slots in any order, except that the last one must be the youngest.
    pub(super) fn new(mut slots: Vec<u32>) -> Self {
        // Slots are numbers modulo 2^32. Counted from the number after the youngest, the oldest comes first.
        let youngest = slots.last().copied().unwrap_or(0);
        slots.sort_unstable_by_key(|slot| slot.wrapping_sub(youngest.wrapping_add(1)));
        Self { slots: slots.into() }
    }

    /// Returns the number of slots.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns all slots, oldest first.
    pub(super) fn slots(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.slots.iter().copied()
    }

    /// Adds `slot`, the youngest one.
    pub(super) fn push(&mut self, slot: u32) {
        self.slots.push_back(slot);
    }

    /// Removes `slot` if it is the oldest one in the list. Returns false if it is not.
    pub(super) fn remove(&mut self, slot: u32) -> bool {
        if self.slots.front() != Some(&slot) {
            return false;
        }
        self.slots.pop_front();
        if self.slots.len() * 4 < self.slots.capacity() {
            self.slots.shrink_to(self.slots.len() * 2);
        }
        true
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.slots.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list that grew, was emptied and grew again takes the same memory as at first, and almost none in
    /// between.
    #[test]
    fn memory_of_a_list_is_given_back() {
        let mut overflow = Overflow::new(vec![0]);
        (1..20_000).for_each(|slot| overflow.push(slot));
        let full = overflow.bytes();
        assert!(!overflow.remove(1), "not the oldest");
        (0..19_999).for_each(|slot| assert!(overflow.remove(slot)));
        assert!(overflow.bytes() < 200, "{} bytes", overflow.bytes());
        (20_000..39_999).for_each(|slot| overflow.push(slot));
        assert!(overflow.bytes() < full + full / 4, "{} bytes, {full} at first", overflow.bytes());
        assert_eq!(overflow.len(), 20_000);
    }

    #[test]
    fn slots_are_ordered_by_age_past_the_end_of_their_numbers() {
        let overflow = Overflow::new(vec![0, u32::MAX, u32::MAX - 1, 1]);
        assert_eq!(overflow.slots().collect::<Vec<_>>(), [u32::MAX - 1, u32::MAX, 0, 1]);
    }
}
