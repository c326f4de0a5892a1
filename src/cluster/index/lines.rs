//! A piece of a block's table: hash of a block's value → fingerprints with that value, and their slots.
//!
//! Fingerprints stand in *lines* of 64 bytes, one cache miss each: seven of them and a word that says what there is. All of
//! a line are compared, whatever their value, so values need not be told apart. What does not fit goes into the line's
//! [`Spill`]: values that very many centres share make their own line long and no other. Slots stand apart, since only
//! those of fingerprints within the distance are read.

use super::spill::{Spill, Spills};

/// Fingerprints in a line.
const LINE: usize = 7;
/// A piece grows when it has this many fingerprints for two lines.
const TWO_LINES_FULL: usize = 9;

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Line {
    bits: [u64; LINE],
    spill: Spill,
}

/// The lines of one piece.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Vec<Line>,
    slots: Vec<[u32; LINE]>,
    spills: Spills,
    count: usize,
}

/// Where a look-up goes on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct At(u32);

impl Lines {
    /// Enters a fingerprint under `hash`. `most` lines are of use at most; `hash_of` gives what other fingerprints
    /// here were entered under.
    pub(super) fn insert(
        &mut self,
        hash: u32,
        bits: u64,
        slot: u32,
        most: usize,
        hash_of: impl Fn(u64) -> u32,
    ) {
        if self.count * 2 >= self.lines.len() * TWO_LINES_FULL && self.lines.len() < most {
            self.resize((self.lines.len() + (self.lines.len() / 4).max(1)).min(most), hash_of);
        }
        self.put(hash, bits, slot);
    }

    /// Takes out a fingerprint that was entered under `hash`.
    pub(super) fn remove(&mut self, hash: u32, bits: u64, slot: u32, hash_of: impl Fn(u64) -> u32) {
        if self.lines.is_empty() {
            return;
        }
        let at = self.home(hash);
        let (line, slots) = (&mut self.lines[at], &mut self.slots[at]);
        let count = line.spill.line_count();
        match (0..count).find(|i| slots[*i] == slot && line.bits[*i] == bits) {
            // The hole is filled from the spill, or from the line's end.
            Some(i) => match self.spills.pop(&mut line.spill) {
                Some(last) => (line.bits[i], slots[i]) = last,
                None => {
                    (line.bits[i], slots[i]) = (line.bits[count - 1], slots[count - 1]);
                    line.spill.set_line_count(count - 1);
                }
            },
            None if self.spills.remove(&mut line.spill, slot) => {}
            None => return,
        }
        self.count -= 1;
        if self.count * 4 < self.lines.len() {
            self.resize(self.count * 2 / TWO_LINES_FULL + 1, hash_of);
        }
    }

    /// The line of `hash`, which is fetched; none where nothing is.
    #[inline(always)]
    pub(super) fn line(&self, hash: u32) -> Option<(At, u64)> {
        let at = self.home(hash);
        self.lines.get(at).map(|line| (At(at as u32), line.spill.raw()))
    }

    /// Fetches the spill of a line.
    #[inline(always)]
    pub(super) fn touch_spill(&self, At(at): At) -> u64 {
        self.spills.touch(self.lines[at as usize].spill)
    }

    /// Calls `found` with the slots of the fingerprints in a line that differ from `bits` by `max_distance` at most.
    #[inline(always)]
    pub(super) fn find(&self, At(at): At, bits: u64, max_distance: u32, mut found: impl FnMut(u32)) {
        let at = at as usize;
        let line = &self.lines[at];
        for i in 0..LINE {
            if (line.bits[i] ^ bits).count_ones() <= max_distance && i < line.spill.line_count() {
                found(self.slots[at][i]);
            }
        }
        self.spills.find(line.spill, bits, max_distance, found);
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
            + self.slots.capacity() * size_of::<[u32; LINE]>()
            + self.spills.bytes()
    }

    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.lines.len() as u64) >> 32) as usize
    }

    fn put(&mut self, hash: u32, bits: u64, slot: u32) {
        let at = self.home(hash);
        let line = &mut self.lines[at];
        self.count += 1;
        let count = line.spill.line_count();
        if count < LINE {
            (line.bits[count], self.slots[at][count]) = (bits, slot);
            line.spill.set_line_count(count + 1);
        } else {
            self.spills.push(&mut line.spill, bits, slot);
        }
    }

    fn resize(&mut self, lines: usize, hash_of: impl Fn(u64) -> u32) {
        let old = std::mem::take(self);
        self.lines = vec![Line::default(); lines];
        self.slots = vec![[0; LINE]; lines];
        for (line, slots) in old.lines.iter().zip(&old.slots) {
            let here = line.bits.iter().copied().zip(slots.iter().copied()).take(line.spill.line_count());
            for (bits, slot) in here.chain(old.spills.iter(line.spill)) {
                self.put(hash_of(bits), bits, slot);
            }
        }
    }
}
