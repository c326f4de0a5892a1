//! Look-up of many keys at once.
//!
//! Everything that may miss the cache is read for [`AHEAD`] keys before any of it is used, in short loops
//! without unpredictable branches. So the processor handles many cache misses at the same time
//! (`docs/adr/0008-look-ups.md`). First the homes of all keys are read, then, for the few keys that need it, the
//! groups after their homes and the entries outside of all groups.

use std::hint::black_box;

use super::AHEAD;
use super::group::FAR;
use super::keys::KeyPlace;
use super::layout::Home;
use super::segment::Segment;

/// The index of a place, and a distance from its home.
type Far = (u8, u8);
const _: () = assert!(AHEAD <= 256, "places are numbered by bytes");

/// Intermediate results for the keys that are looked up.
#[derive(Debug)]
pub(super) struct Scratch {
    homes: [Home; AHEAD],
    /// For each home, a mask of the entries that may have its value.
    candidates: [u32; AHEAD],
    /// The groups after the homes that must be read. The array is [`FAR`] longer than this list can be, because
    /// [`Self::fetch_far`] also writes elements after its end.
    far: [Far; AHEAD * FAR + FAR],
    /// The places that may have entries outside of all groups.
    outside: [u8; AHEAD + 1],
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            homes: [Home::default(); AHEAD],
            candidates: [0; AHEAD],
            far: [(0, 0); AHEAD * FAR + FAR],
            outside: [0; AHEAD + 1],
        }
    }
}

impl Scratch {
    /// Calls `found` with the slots of each place, without those in overflow lists.
    #[inline]
    pub(super) fn find(
        &mut self,
        segments: &[Segment],
        places: &[KeyPlace],
        mut found: impl FnMut(&KeyPlace, u32),
    ) {
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
pub(super) fn fetch(segments: &[Segment], places: &[KeyPlace]) {
    let read = |place: &KeyPlace| {
        let segment = &segments[place.segment as usize];
        segment.group(segment.home(place.hash).group as usize).count()
    };
    black_box(places.iter().map(read).fold(0, |all, read| all ^ read));
}
