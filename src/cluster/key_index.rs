//! 64-bit key → slots of the centres entered under it.
//!
//! Cost: one hash look-up a key. Memory: about 30 bytes for a key that no other centre has, 4 bytes for each
//! further centre under a key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

/// Slots by key; in each list the oldest slot comes first.
#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    slots: HashMap<u64, Slots, BuildHasherDefault<KeyHasher>>,
}

/// Nearly all keys have one centre, which is held without a list.
#[derive(Debug)]
enum Slots {
    One(u32),
    #[expect(clippy::box_collection, reason = "16 bytes an entry in place of 24, and lists are rare")]
    Many(Box<Vec<u32>>),
}

impl Slots {
    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(slot) => std::slice::from_ref(slot),
            Self::Many(slots) => slots,
        }
    }
}

impl KeyIndex {
    /// Enters `slot`, which is younger than all others, under `keys`.
    pub(super) fn insert(&mut self, slot: u32, keys: &[u64]) {
        for &key in keys {
            match self.slots.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(Slots::One(slot));
                }
                Entry::Occupied(mut entry) => match entry.get_mut() {
                    Slots::Many(slots) => slots.push(slot),
                    Slots::One(first) => {
                        let slots = vec![*first, slot];
                        entry.insert(Slots::Many(Box::new(slots)));
                    }
                },
            }
        }
    }

    /// Takes out `slot`, which is older than all others and was entered under `keys`.
    pub(super) fn remove_oldest(&mut self, slot: u32, keys: &[u64]) {
        for &key in keys {
            let Entry::Occupied(mut entry) = self.slots.entry(key) else { continue };
            if let Slots::Many(slots) = entry.get_mut() {
                // A key that the detector gave twice was entered twice; the oldest slot stands in front.
                let entries = slots.iter().take_while(|entry| **entry == slot).count();
                slots.drain(..entries);
                if !slots.is_empty() {
                    continue;
                }
            }
            entry.remove();
        }
    }

    /// The slots under `key`, oldest first.
    #[inline]
    pub(super) fn get(&self, key: u64) -> &[u32] {
        self.slots.get(&key).map_or(&[], Slots::as_slice)
    }
}

/// Keys may be small numbers: one multiplication spreads them, and a look-up takes the upper bits.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are written as u64");
    }
    fn write_u64(&mut self, key: u64) {
        let product = u128::from(key ^ 0x2545_f491_4f6c_dd1d) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}
