//! The centroid table of one corpus: all its centres, oldest first, and the index that finds them.
//!
//! A slot is a centre's running number modulo 2^32; centres leave in the order in which they came, so a slot
//! is found by subtraction and no number is in use twice.

use std::collections::VecDeque;

use super::key_index::KeyIndex;
use crate::fingerprint::Detector;
use crate::page::timestamp::Timestamp;

/// A cluster's centre.
#[derive(Debug, Clone, PartialEq)]
pub struct Centroid {
    /// Where its page stands in the log: the older centre has the smaller offset.
    pub log_offset: u64,
    /// Log time of its founding.
    pub log_time: Option<Timestamp>,
    /// In the detector's encoding.
    pub fingerprint: Box<[u8]>,
    /// Of the main text.
    pub text_digest: u128,
    /// The page's id.
    pub page_id: Box<str>,
    /// The page's url.
    pub url: Box<str>,
}

/// A centre that a look-up found near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near {
    /// In the detector's unit.
    pub distance: u32,
    /// Where the centre's page stands in the log.
    pub log_offset: u64,
    slot: u32,
}

/// All centres of one corpus.
#[derive(Debug, Default)]
pub(super) struct Table {
    centroids: VecDeque<Centroid>,
    /// Slot of the oldest centre.
    first_slot: u32,
    index: KeyIndex,
}

impl Table {
    /// Adds a centre, which is younger than all others.
    pub(super) fn insert(&mut self, centroid: Centroid, detector: &dyn Detector, keys: &mut Vec<u64>) {
        keys.clear();
        detector.insert_keys(&centroid.fingerprint, keys);
        #[expect(clippy::cast_possible_truncation, reason = "slots are modulo 2^32")]
        let slot = self.first_slot.wrapping_add(self.centroids.len() as u32);
        self.index.insert(slot, keys);
        self.centroids.push_back(centroid);
    }

    /// The oldest centre.
    pub(super) fn oldest(&self) -> Option<&Centroid> {
        self.centroids.front()
    }

    /// Takes the oldest centre out.
    pub(super) fn remove_oldest(&mut self, detector: &dyn Detector, keys: &mut Vec<u64>) {
        let Some(centroid) = self.centroids.pop_front() else { return };
        keys.clear();
        detector.insert_keys(&centroid.fingerprint, keys);
        self.index.remove(self.first_slot, keys);
        self.first_slot = self.first_slot.wrapping_add(1);
    }

    /// The nearest centre of all `alive` ones that are near `fingerprint`; of equally near ones the oldest.
    pub(super) fn nearest(
        &self,
        fingerprint: &[u8],
        detector: &dyn Detector,
        keys: &mut Vec<u64>,
        slots: &mut Vec<u32>,
        alive: impl Fn(&Centroid) -> bool,
    ) -> Option<(Near, &Centroid)> {
        keys.clear();
        detector.probe_keys(fingerprint, keys);
        slots.clear();
        slots.extend(keys.iter().flat_map(|key| self.index.get(*key)));
        // A centre may be found under many keys, one for each paragraph that it shares; it is compared once.
        slots.sort_unstable();
        slots.dedup();
        let mut nearest: Option<Near> = None;
        for &slot in slots.iter() {
            let centroid = self.centroid(slot);
            let comparison = detector.compare(fingerprint, &centroid.fingerprint);
            if comparison.near && alive(centroid) {
                let near = Near { distance: comparison.distance, log_offset: centroid.log_offset, slot };
                nearest = Some(nearest.map_or(near, |nearest| nearest.min(near)));
            }
        }
        nearest.map(|near| (near, self.centroid(near.slot)))
    }

    /// Sets the founding time of all centres.
    pub(super) fn set_log_time(&mut self, log_time: Option<Timestamp>) {
        self.centroids.iter_mut().for_each(|centroid| centroid.log_time = log_time);
    }

    fn centroid(&self, slot: u32) -> &Centroid {
        &self.centroids[slot.wrapping_sub(self.first_slot) as usize]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.centroids.is_empty()
    }

    /// All centres, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Centroid> {
        self.centroids.iter()
    }
}
