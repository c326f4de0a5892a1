//! Key shards of the index: 64-bit key → slots of the centroids stored under it.
//!
//! A hash of the key chooses a [`Segment`], which is a small separate table. So growing never blocks for
//! long, and never needs memory for a second index. A segment gets 32 bits of the hash and distinguishes keys
//! by as many of them as its entries have room for. If two keys agree in these bits, a look-up also returns
//! centroids that the detector's comparison then rejects. The lowest of the 32 bits says if the key is
//! [wide](SecondKey::WIDE), and is always kept.
//!
//! Cost: one cache line per look-up of a key that few centroids have, and about 5.7 bytes per entry. `leitong
//! bench` measures look-ups, insertions and bytes per centroid.

use super::batch::Batch;
use super::ordered::entry;
use super::probe;
use super::segment::{CROWDED_MIN, Segment};
use super::{AHEAD, Hit, Hits, SEGMENTS, Share, spread};
use leitong_fingerprint::SecondKey;

/// Maximum ratio of a shard's entries to a batch's keys at which the whole batch is sorted and inserted at once,
/// instead of key by key: passing over one entry costs about a tenth of inserting one.
const AT_ONCE_RATIO_MAX: usize = 10;

/// A shard: a range of the index's segments.
#[derive(Debug)]
pub(crate) struct KeyShard {
    share: Share,
    segments: Vec<Segment>,
    /// Inserted slots under whose keys there were very many, since they were last taken.
    crowded: Vec<u32>,
}

/// The place of a key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyPlace {
    /// The number of the key's fingerprint in the batch.
    pub(super) number: u32,
    /// The number of the key's segment within the shard.
    pub(super) segment: u32,
    pub(super) hash: u32,
}

impl KeyShard {
    /// Creates shard `number` of `shards`.
    pub(super) fn new(number: usize, shards: usize) -> Self {
        let share = Share::new(number, shards);
        Self { share, segments: (0..share.count).map(Segment::new).collect(), crowded: Vec::new() }
    }

    /// Adds the slots under those keys of `queries` that belong to this shard.
    pub(super) fn find(&self, queries: &Batch, hits: &mut Hits<'_>) {
        let mut probe = probe::Scratch::default();
        each_place(self.share, queries, |places| {
            probe.find(&self.segments, places, |place, slot| hits.push(Hit::new(place.number, slot)));
            for place in places {
                let segment = &self.segments[place.segment as usize];
                if let Some(overflow) = segment.overflow(place.hash) {
                    overflow.slots().for_each(|slot| hits.push(Hit::new(place.number, slot)));
                }
            }
        });
    }

    /// Inserts the keys that belong to this shard.
    pub(super) fn insert(&mut self, first: u32, batch: &Batch) {
        let taken: usize = self.segments.iter().map(Segment::taken).sum();
        let own = batch.values.len() * self.share.count / SEGMENTS;
        // `Segment::insert_all` orders slots by number, which is their age only if they do not wrap around.
        let wraps = first.checked_add(batch.len() as u32).is_none();
        if own * AT_ONCE_RATIO_MAX >= taken && !wraps {
            return self.insert_all(first, batch);
        }
        let Self { share, segments, crowded } = self;
        each_place(*share, batch, |places| {
            probe::fetch(segments, places);
            for &KeyPlace { number, segment, hash } in places {
                let slot = first.wrapping_add(number);
                if segments[segment as usize].insert(hash, slot) {
                    crowded.push(slot);
                }
            }
        });
    }

    /// Inserts a batch that is not much smaller than the shard. Each segment gets its keys sorted by hash, and is
    /// written once from start to end.
    fn insert_all(&mut self, first: u32, batch: &Batch) {
        let Self { share, segments, crowded } = self;
        let mut entries = vec![Vec::new(); segments.len()];
        each_place(*share, batch, |places| {
            for &KeyPlace { number, segment, hash } in places {
                entries[segment as usize].push(entry(hash, first + number));
            }
        });
        segments.iter_mut().zip(entries).for_each(|(segment, new)| segment.insert_all(new, crowded));
    }

    /// Returns the slots that were inserted since the last call under a key that very many slots share, some more than
    /// once.
    pub(super) fn take_crowded(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.crowded)
    }

    /// Returns true if very many slots share a key, and the shard has it.
    pub(super) fn is_crowded(&self, key: u64) -> bool {
        let list = self.place(key).and_then(|(segment, hash)| segment.overflow(hash));
        list.is_some_and(|list| list.len() >= CROWDED_MIN)
    }

    /// Returns all slots under a key, and some others, if the shard has the key.
    pub(super) fn all(&self, key: u64) -> Vec<u32> {
        self.place(key).map_or(Vec::new(), |(segment, hash)| segment.all(hash))
    }

    fn place(&self, key: u64) -> Option<(&Segment, u32)> {
        let hash = spread(key);
        let segment = self.share.own(segment(hash))?;
        Some((&self.segments[segment], in_segment(hash, key & SecondKey::WIDE != 0)))
    }

    /// Removes `slot` from those of its keys that belong to this shard.
    pub(super) fn remove(&mut self, slot: u32, batch: &Batch) {
        each_place(self.share, batch, |places| {
            probe::fetch(&self.segments, places);
            for place in places {
                self.segments[place.segment as usize].remove(place.hash, slot);
            }
        });
    }

    /// Inserts one key of `slot`, the youngest one. The shard has all segments.
    pub(super) fn insert_one(&mut self, key: u64, slot: u32) {
        let hash = spread(key);
        self.segments[segment(hash)].insert(in_segment(hash, false), slot);
    }

    /// Removes `slot`, the oldest one, from one key that was [inserted](Self::insert_one).
    pub(super) fn remove_one(&mut self, key: u64, slot: u32) {
        let hash = spread(key);
        self.segments[segment(hash)].remove(in_segment(hash, false), slot);
    }

    /// Returns the youngest slot under a key that was [inserted](Self::insert_one) for which `is_it` is true.
    /// Slots are counted from `first`, the oldest one.
    #[inline]
    pub(super) fn youngest(&self, key: u64, first: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = spread(key);
        let (segment, hash) = (&self.segments[segment(hash)], in_segment(hash, false));
        // Both the overflow list and the groups may have slots: when entries got fewer bits of the hash, the hash of
        // the list may have become equal to another one.
        let of_list = segment.overflow(hash).and_then(|list| list.slots().rev().find(|slot| is_it(*slot)));
        let mut youngest = of_list;
        segment.each_slot(&segment.home(hash), |slot| {
            let age = |slot: u32| slot.wrapping_sub(first);
            if youngest.is_none_or(|other| age(other) < age(slot)) && is_it(slot) {
                youngest = Some(slot);
            }
        });
        youngest
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.segments.iter().map(Segment::bytes).sum()
    }
}

/// Passes the places of those keys of `batch` that belong to this share to `take`, some at a time.
#[inline]
fn each_place(share: Share, batch: &Batch, mut take: impl FnMut(&[KeyPlace])) {
    let mut places = [KeyPlace::default(); AHEAD];
    let mut count = 0;
    for (number, key) in batch.iter() {
        let hash = spread(key);
        let Some(segment) = share.own(segment(hash)) else { continue };
        places[count] =
            KeyPlace { number, segment: segment as u32, hash: in_segment(hash, key & SecondKey::WIDE != 0) };
        count += 1;
        if count == AHEAD {
            take(&places);
            count = 0;
        }
    }
    take(&places[..count]);
}

/// Returns the segment that a hash belongs to.
#[inline]
fn segment(hash: u64) -> usize {
    (hash >> 56) as usize
}

/// Returns the bits of a hash that distinguish keys in a segment: those after the segment's number, and the
/// flag for wide keys.
#[inline]
fn in_segment(hash: u64, is_wide: bool) -> u32 {
    let bits = (hash >> 24) as u32 & !1 | u32::from(is_wide);
    // The greatest hash marks free entries in `ordered.rs`.
    if bits == u32::MAX { u32::MAX - 2 } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_say_whether_a_key_is_wide() {
        for hash in [0, 1, u64::MAX, 0xffff_ffff << 24, 0x1234_5678_9abc_def0] {
            for wide in [false, true] {
                assert_eq!(in_segment(hash, wide) & 1 == 1, wide);
                assert_ne!(in_segment(hash, wide), u32::MAX, "reserved for free entries");
            }
        }
    }
}
