//! Numbers keys, to group blocks with the same signature or the same text.
//!
//! In: keys. Out: their numbers, from 0 in the order of their first appearance. Slots in the table depend on a random
//! seed of the process, so no page can choose blocks that collide; the numbers do not depend on the seed. Cost:
//! constant per key.

use leitong_base::hashed::Seed;

/// Numbers keys in the order of their first appearance, in a table with open addressing. Kept from page to page.
#[derive(Debug, Default)]
pub(in crate::extract) struct Groups {
    slots: Vec<(u64, u32)>,
    pub(in crate::extract) count: u32,
    seed: Seed,
}

impl Groups {
    /// Removes all keys and makes room for `keys` new ones.
    pub(in crate::extract) fn clear(&mut self, keys: usize) {
        self.count = 0;
        self.slots.clear();
        self.slots.resize((keys * 2).next_power_of_two(), (0, u32::MAX));
    }

    /// Returns the number of `key`.
    pub(in crate::extract) fn number(&mut self, key: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = self.seed.place(key) as usize & mask;
        loop {
            match self.slots[slot] {
                (_, u32::MAX) => {
                    self.slots[slot] = (key, self.count);
                    self.count += 1;
                    return self.count - 1;
                }
                (found, number) if found == key => return number,
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_were_chosen_to_collide_are_found_quickly() {
        // The inverse of a well-known factor for hashing. If a key's slot were the key times that factor, multiples
        // of the inverse would collide.
        let mut inverse = 1_u64;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(inverse.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        }
        let mut groups = Groups::default();
        groups.clear(50_000);
        for number in 0..50_000 {
            assert_eq!(groups.number(u64::from(number).wrapping_mul(inverse)), number);
        }
        assert_eq!(groups.number(inverse.wrapping_mul(7)), 7);
        let row = groups.slots.split(|slot| slot.1 == u32::MAX).map(<[_]>::len).max().unwrap_or(0);
        assert!(row < 1_000, "a look-up may pass {row} keys");
    }
}
