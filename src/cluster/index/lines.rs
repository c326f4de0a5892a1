//! A piece of a block's table: hash of a block's value → fingerprints with that value, and their slots.
//!
//! Fingerprints stand in *lines* of 64 bytes, one cache miss each: seven of them and a word that says how many there are.
//! All of a line are compared, whatever their value, so values need not be told apart. What does not fit goes into the
//! line's *spill*, a list of its own: so values that very many centres share make their line slow and no other.
//! Slots stand apart, since only those of fingerprints within the distance are read.

/// Fingerprints in a line.
const LINE: usize = 7;
/// A piece grows when it has this many fingerprints for two lines.
const TWO_LINES_FULL: usize = 9;

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Line {
    bits: [u64; LINE],
    /// How many of `bits` are there.
    count: u32,
    /// Number of its spill, from 1 on; 0 is none.
    spill: u32,
}

/// What did not fit into a line.
#[derive(Debug, Default)]
struct Spill {
    bits: Vec<u64>,
    slots: Vec<u32>,
}

/// The lines of one piece.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Vec<Line>,
    slots: Vec<[u32; LINE]>,
    spills: Vec<Spill>,
    unused_spills: Vec<u32>,
    count: usize,
}

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
            self.resize((self.lines.len() + (self.lines.len() / 8).max(1)).min(most), hash_of);
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
        let here = (0..line.count as usize).find(|i| slots[*i] == slot && line.bits[*i] == bits);
        let spill = line.spill.checked_sub(1).map(|spill| &mut self.spills[spill as usize]);
        match (here, spill) {
            (Some(i), Some(spill)) => {
                // The hole is filled from the spill.
                (line.bits[i], slots[i]) =
                    spill.bits.pop().zip(spill.slots.pop()).expect("a spill is never empty");
            }
            (Some(i), None) => {
                let last = line.count as usize - 1;
                (line.bits[i], slots[i]) = (line.bits[last], slots[last]);
                line.count -= 1;
            }
            (None, Some(spill)) => {
                let Some(i) = spill.slots.iter().position(|other| *other == slot) else { return };
                spill.bits.swap_remove(i);
                spill.slots.swap_remove(i);
            }
            (None, None) => return,
        }
        self.count -= 1;
        if let Some(number) = self.lines[at].spill.checked_sub(1)
            && self.spills[number as usize].bits.is_empty()
        {
            self.spills[number as usize] = Spill::default();
            self.unused_spills.push(number);
            self.lines[at].spill = 0;
        }
        if self.count * 4 < self.lines.len() {
            self.resize(self.count * 2 / TWO_LINES_FULL + 1, hash_of);
        }
    }

    /// Calls `found` with the slots of the fingerprints under `hash`, and others, that differ from `bits` by
    /// `max_distance` at most.
    #[inline(always)]
    pub(super) fn find(&self, hash: u32, bits: u64, max_distance: u32, mut found: impl FnMut(u32)) {
        let at = self.home(hash);
        let Some(line) = self.lines.get(at) else { return };
        for i in 0..LINE {
            if (line.bits[i] ^ bits).count_ones() <= max_distance && i < line.count as usize {
                found(self.slots[at][i]);
            }
        }
        if let Some(spill) = line.spill.checked_sub(1) {
            let spill = &self.spills[spill as usize];
            for (i, other) in spill.bits.iter().enumerate() {
                if (other ^ bits).count_ones() <= max_distance {
                    found(spill.slots[i]);
                }
            }
        }
    }

    /// Reads the line of `hash`, so that it is in the cache when it is asked for.
    #[inline(always)]
    pub(super) fn touch(&self, hash: u32) -> u32 {
        self.lines.get(self.home(hash)).map_or(0, |line| line.count)
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let spilled =
            self.spills.iter().map(|s| s.bits.capacity() * 8 + s.slots.capacity() * 4).sum::<usize>();
        self.lines.capacity() * size_of::<Line>()
            + self.slots.capacity() * size_of::<[u32; LINE]>()
            + self.spills.capacity() * size_of::<Spill>()
            + spilled
    }

    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.lines.len() as u64) >> 32) as usize
    }

    fn put(&mut self, hash: u32, bits: u64, slot: u32) {
        let at = self.home(hash);
        let line = &mut self.lines[at];
        self.count += 1;
        if (line.count as usize) < LINE {
            line.bits[line.count as usize] = bits;
            self.slots[at][line.count as usize] = slot;
            line.count += 1;
            return;
        }
        if line.spill == 0 {
            let number = self.unused_spills.pop().unwrap_or_else(|| {
                self.spills.push(Spill::default());
                self.spills.len() as u32 - 1
            });
            line.spill = number + 1;
        }
        let spill = &mut self.spills[line.spill as usize - 1];
        // By half and not to double: most spills hold one or two.
        if spill.bits.len() == spill.bits.capacity() {
            let more = (spill.bits.len() / 2).max(2);
            spill.bits.reserve_exact(more);
            spill.slots.reserve_exact(more);
        }
        spill.bits.push(bits);
        spill.slots.push(slot);
    }

    fn resize(&mut self, lines: usize, hash_of: impl Fn(u64) -> u32) {
        let old = std::mem::take(self);
        self.lines = vec![Line::default(); lines];
        self.slots = vec![[0; LINE]; lines];
        for (line, slots) in old.lines.iter().zip(&old.slots) {
            for i in 0..line.count as usize {
                self.put(hash_of(line.bits[i]), line.bits[i], slots[i]);
            }
        }
        for spill in &old.spills {
            for (bits, slot) in spill.bits.iter().zip(&spill.slots) {
                self.put(hash_of(*bits), *bits, *slot);
            }
        }
    }
}
