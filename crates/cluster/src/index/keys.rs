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

use std::hint::black_box;

use super::batch::{AHEAD, Batch, Hit, Hits, SEGMENTS, Share, spread};
use super::group::{FAR, Home};
use super::outside::entry;
use super::segment::{CROWDED_MIN, Segment};
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
struct KeyPlace {
    /// The number of the key's fingerprint in the batch.
    number: u32,
    /// The number of the key's segment within the shard.
    segment: u32,
    hash: u32,
}

impl KeyShard {
    /// Creates shard `number` of `shards`.
    pub(crate) fn new(number: usize, shards: usize) -> Self {
        let share = Share::new(number, shards);
        Self { share, segments: (0..share.count).map(Segment::new).collect(), crowded: Vec::new() }
    }

    /// Adds the slots under those keys of `queries` that belong to this shard.
    pub(super) fn find(&self, queries: &Batch, hits: &mut Hits<'_>) {
        let mut probe = Probe::default();
        each_place(self.share, queries, |places| {
            probe.find(&self.segments, places, |place, slot| hits.push(Hit::new(place.number, slot)));
            for place in places {
                let segment = &self.segments[place.segment as usize];
                if let Some(overflow) = segment.overflow(place.hash) {
                    overflow.iter().for_each(|slot| hits.push(Hit::new(place.number, *slot)));
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
            fetch(segments, places);
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
            fetch(&self.segments, places);
            for place in places {
                self.segments[place.segment as usize].remove(place.hash, slot);
            }
        });
    }

    /// Inserts one key of `slot`, the youngest one. The shard has all segments.
    pub(crate) fn insert_one(&mut self, key: u64, slot: u32) {
        let hash = spread(key);
        self.segments[segment(hash)].insert(in_segment(hash, false), slot);
    }

    /// Removes `slot`, the oldest one, from one key that was [inserted](Self::insert_one).
    pub(crate) fn remove_one(&mut self, key: u64, slot: u32) {
        let hash = spread(key);
        self.segments[segment(hash)].remove(in_segment(hash, false), slot);
    }

    /// Returns the youngest slot under a key that was [inserted](Self::insert_one) for which `is_it` is true.
    /// Slots are counted from `first`, the oldest one.
    #[inline]
    pub(crate) fn youngest(&self, key: u64, first: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = spread(key);
        let (segment, hash) = (&self.segments[segment(hash)], in_segment(hash, false));
        // Both the overflow list and the groups may have slots: when entries got fewer bits of the hash, the hash of
        // the list may have become equal to another one.
        let of_list =
            segment.overflow(hash).and_then(|list| list.iter().rev().copied().find(|slot| is_it(*slot)));
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
    pub(crate) fn bytes(&self) -> usize {
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
    // The greatest hash marks free entries in `outside.rs`.
    if bits == u32::MAX { u32::MAX - 2 } else { bits }
}

/// The index of a place, and a distance from its home.
type Far = (u8, u8);
const _: () = assert!(AHEAD <= 256, "places are numbered by bytes");

/// A look-up of many keys at once, with its intermediate results.
///
/// Everything that may miss the cache is read for [`AHEAD`] keys before any of it is used, in short loops
/// without unpredictable branches. So the processor handles many cache misses at the same time
/// (`docs/adr/0008-look-ups.md`). First the homes of all keys are read, then, for the few keys that need it, the
/// groups after their homes and the entries outside of all groups.
#[derive(Debug)]
struct Probe {
    homes: [Home; AHEAD],
    /// For each home, a mask of the entries that may have its value.
    candidates: [u32; AHEAD],
    /// The groups after the homes that must be read. The array is [`FAR`] longer than this list can be, because
    /// [`Self::fetch_far`] also writes elements after its end.
    far: [Far; AHEAD * FAR + FAR],
    /// The places that may have entries outside of all groups.
    outside: [u8; AHEAD + 1],
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            homes: [Home::default(); AHEAD],
            candidates: [0; AHEAD],
            far: [(0, 0); AHEAD * FAR + FAR],
            outside: [0; AHEAD + 1],
        }
    }
}

impl Probe {
    /// Calls `found` with the slots of each place, without those in overflow lists.
    #[inline]
    fn find(&mut self, segments: &[Segment], places: &[KeyPlace], mut found: impl FnMut(&KeyPlace, u32)) {
        let Self { homes, candidates, .. } = self;
        for (place, home) in places.iter().zip(&mut *homes) {
            *home = segments[place.segment as usize].home(place.hash);
        }
        let homes = &homes[..places.len()];
        let read = |(place, home): (&KeyPlace, &Home)| {
            segments[place.segment as usize].group(home.group as usize).count()
        };
        black_box(places.iter().zip(homes).map(read).fold(0, |all, read| all ^ read));
        for ((place, home), candidates) in places.iter().zip(homes).zip(&mut *candidates) {
            *candidates = segments[place.segment as usize].candidates(home, 0);
        }
        let (far, outside) = self.fetch_far(segments, places);
        let Self { homes, candidates, .. } = self;
        for ((place, home), candidates) in places.iter().zip(&*homes).zip(&*candidates) {
            if *candidates != 0 {
                let segment = &segments[place.segment as usize];
                segment.confirm(*candidates, home, 0, |slot| found(place, slot));
            }
        }
        for (number, distance) in &self.far[..far] {
            let (place, home) = (&places[*number as usize], &self.homes[*number as usize]);
            let (segment, distance) = (&segments[place.segment as usize], *distance as usize);
            let candidates = segment.candidates(home, distance);
            segment.confirm(candidates, home, distance, |slot| found(place, slot));
        }
        for number in &self.outside[..outside] {
            let (place, home) = (&places[*number as usize], &self.homes[*number as usize]);
            segments[place.segment as usize].outside(home).for_each(|slot| found(place, slot));
        }
    }

    /// Fills `far` and `outside` with what must be read in addition to the homes, and prefetches it. Returns the
    /// lengths of both lists.
    #[inline]
    fn fetch_far(&mut self, segments: &[Segment], places: &[KeyPlace]) -> (usize, usize) {
        let Self { homes, far, outside, .. } = self;
        let (mut far_len, mut outside_len) = (0, 0);
        for (number, (place, home)) in places.iter().zip(&*homes).enumerate() {
            let group = segments[place.segment as usize].group(home.group as usize);
            let reach = group.reach(home.value);
            // All distances are written, even those that do not count: a branch would often be mispredicted.
            for distance in 0..FAR {
                far[far_len + distance] = (number as u8, distance as u8 + 1);
            }
            far_len += reach;
            outside[outside_len] = number as u8;
            outside_len += usize::from(reach == FAR);
        }
        let read_far = |(number, distance): &Far| {
            let (place, home) = (&places[*number as usize], &homes[*number as usize]);
            segments[place.segment as usize].group(home.group as usize + *distance as usize).count()
        };
        black_box(far[..far_len].iter().map(read_far).fold(0, |all, read| all ^ read));
        let read_outside = |number: &u8| {
            segments[places[*number as usize].segment as usize].prefetch_outside(&homes[*number as usize])
        };
        black_box(outside[..outside_len].iter().map(read_outside).fold(0, |all, read| all ^ read));
        (far_len, outside_len)
    }
}

/// Prefetches the homes of these places.
#[inline]
fn fetch(segments: &[Segment], places: &[KeyPlace]) {
    let read = |place: &KeyPlace| {
        let segment = &segments[place.segment as usize];
        segment.group(segment.home(place.hash).group as usize).count()
    };
    black_box(places.iter().map(read).fold(0, |all, read| all ^ read));
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
