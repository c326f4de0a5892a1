//! Numbers for keys: which blocks are of one make, which of one text.
//!
//! In: keys. Out: their numbers, from 0 in the order of their first appearance. Cost: constant a key.

/// Numbers keys in the order of their first appearance: open addressing, kept from page to page.
#[derive(Debug, Default)]
pub(super) struct Groups {
    slots: Vec<(u64, u32)>,
    pub(super) count: u32,
}

impl Groups {
    /// Makes room for `keys` keys.
    pub(super) fn clear(&mut self, keys: usize) {
        self.count = 0;
        self.slots.clear();
        self.slots.resize((keys * 2).next_power_of_two(), (0, u32::MAX));
    }

    /// The number of `key`.
    pub(super) fn of(&mut self, key: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
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
