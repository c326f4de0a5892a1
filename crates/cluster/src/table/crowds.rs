//! Crowds: centroids of which very many share a key.
//!
//! A passage on every page of a site, the pages of one template, or pages made to attack the index put any number of
//! centroids under one key. Comparing each of them with each page would cost the square of their number. So a
//! detector may have a structure of its own for them, a [`Crowd`]. A key under which very many centroids are found leads
//! to one crowd from then on, and look-ups no longer ask the index for it. Pages of one template share most of their
//! keys, so these lead to the same crowd, which is searched once.
//!
//! Invariant: the crowd of a key has all centroids with this key that are in the index. It may have others. Memory: a
//! key is forgotten when its last centroid leaves.

use std::collections::{BTreeMap, BTreeSet};

use leitong_base::hashed::HashedMap;
use leitong_fingerprint::{Crowd, Detector};

/// A key joins a crowd of which it has at least this part of the members, and the reverse.
const COMMON_SHARE: usize = 4;

#[derive(Default)]
pub(super) struct Crowds {
    /// For each key, its crowd, and how many members have the key.
    of_key: HashedMap<(u32, usize)>,
    /// The crowds and their numbers of members.
    crowds: BTreeMap<u32, (Box<dyn Crowd>, usize)>,
    /// Numbers of the members, each with its crowd.
    members: BTreeSet<(u64, u32)>,
    /// The number of the next crowd.
    next: u32,
}

/// A centroid: its number, the compared part of its fingerprint, and its keys.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) number: u64,
    pub(super) compared: &'a [u8],
    pub(super) keys: &'a [u64],
}

impl Crowds {
    pub(super) fn is_empty(&self) -> bool {
        self.of_key.is_empty()
    }

    /// Returns the number of the crowd that a key leads to.
    #[inline]
    pub(super) fn of_key(&self, key: u64) -> Option<u32> {
        self.of_key.get(&key).map(|(crowd, _)| *crowd)
    }

    /// Returns the crowd with this number.
    pub(super) fn get(&self, crowd: u32) -> Option<&dyn Crowd> {
        self.crowds.get(&crowd).map(|(crowd, _)| &**crowd)
    }

    /// Adds a centroid that was inserted into the index to the crowds that its keys lead to.
    pub(super) fn insert(&mut self, member: Member<'_>) {
        for key in member.keys {
            if let Some((crowd, count)) = self.of_key.get_mut(key) {
                *count += 1;
                let crowd = *crowd;
                self.enter(crowd, member);
            }
        }
    }

    /// Makes a key lead to a crowd. `members` are all centroids in the index that have the key; the crowd is a new one
    /// if they are not mostly those of an existing crowd.
    pub(super) fn add_key(&mut self, key: u64, members: &[Member<'_>], detector: &dyn Detector) {
        if members.is_empty() {
            return;
        }
        let mut common = BTreeMap::<u32, usize>::new();
        for member in members {
            for (_, crowd) in self.members.range((member.number, 0)..=(member.number, u32::MAX)) {
                *common.entry(*crowd).or_default() += 1;
            }
        }
        let is_alike = |(crowd, common): &(u32, usize)| {
            let all = self.crowds.get(crowd).map_or(0, |(_, count)| *count);
            common * COMMON_SHARE >= all.max(members.len())
        };
        let crowd = match common.into_iter().filter(is_alike).max_by_key(|(_, common)| *common) {
            Some((crowd, _)) => crowd,
            None => {
                let Some(new) = detector.crowd() else { return };
                self.crowds.insert(self.next, (new, 0));
                self.next += 1;
                self.next - 1
            }
        };
        let count = |member: &Member<'_>| member.keys.iter().filter(|other| **other == key).count();
        self.of_key.insert(key, (crowd, members.iter().map(count).sum()));
        members.iter().for_each(|member| self.enter(crowd, *member));
    }

    /// Removes a centroid that is about to leave. `keys` adds its keys, if it is a member of a crowd.
    pub(super) fn remove(&mut self, number: u64, compared: &[u8], keys: impl FnOnce() -> Vec<u64>) {
        let of: Vec<(u64, u32)> = self.members.range((number, 0)..=(number, u32::MAX)).copied().collect();
        if of.is_empty() {
            return;
        }
        for member in of {
            self.members.remove(&member);
            if let Some((crowd, count)) = self.crowds.get_mut(&member.1) {
                crowd.remove(number, compared);
                *count -= 1;
                if *count == 0 {
                    self.crowds.remove(&member.1);
                }
            }
        }
        for key in keys() {
            if let Some((_, count)) = self.of_key.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.of_key.remove(&key);
                }
            }
        }
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let crowds: usize = self.crowds.values().map(|(crowd, _)| crowd.bytes()).sum();
        crowds + self.members.len() * 2 * size_of::<(u64, u32)>() + self.of_key.capacity() * 32
    }

    fn enter(&mut self, crowd: u32, member: Member<'_>) {
        if self.members.insert((member.number, crowd))
            && let Some((crowd, count)) = self.crowds.get_mut(&crowd)
        {
            crowd.insert(member.number, member.compared);
            *count += 1;
        }
    }
}
