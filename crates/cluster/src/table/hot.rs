//! The parts of a centroid that every look-up reads: its corpus, and the part of its fingerprint that is
//! compared.
//!
//! They are in blocks of [`BLOCK`] centroids, in order of founding. Fingerprints of one length, such as
//! SimHashes, are next to each other without separators.

use std::collections::VecDeque;

use super::corpora::CorpusId;

/// Centroids in a block.
const BLOCK: usize = 4_096;

/// The hot parts of all centroids.
#[derive(Debug, Default)]
pub(super) struct Hot {
    blocks: VecDeque<Block>,
    /// Number of the first centroid ever added; blocks are counted from there.
    origin: u64,
    /// Number of the oldest centroid.
    first: u64,
    /// Number of the next centroid.
    end: u64,
}

#[derive(Debug, Default)]
struct Block {
    corpora: Column,
    bytes: Vec<u8>,
    /// Length of each fingerprint.
    length: usize,
    /// End of each fingerprint. Empty while all have the same length.
    ends: Vec<u32>,
}

impl Hot {
    /// Creates an empty queue; the first centroid will have the number `origin`.
    pub(super) fn starting_at(origin: u64) -> Self {
        Self { blocks: VecDeque::new(), origin, first: origin, end: origin }
    }

    /// Returns the number of centroids.
    #[cfg(test)]
    fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    /// Returns the number of the oldest centroid, if there is one.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the next centroid.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Adds a centroid. Returns its number.
    pub(super) fn push(&mut self, corpus: CorpusId, compared: &[u8]) -> u64 {
        let at = ((self.end - self.origin) % BLOCK as u64) as usize;
        if at == 0 {
            // The last block was full, so this one will need about as many bytes.
            let bytes = self.blocks.back().map_or(0, |block| block.bytes.len());
            self.blocks.push_back(Block { bytes: Vec::with_capacity(bytes), ..Block::default() });
        }
        self.blocks.back_mut().expect("the first number begins a block").push(at, corpus, compared);
        self.end += 1;
        self.end - 1
    }

    /// Removes the oldest centroid.
    pub(super) fn pop(&mut self) {
        if self.first == self.end {
            return;
        }
        self.first += 1;
        if (self.first - self.origin).is_multiple_of(BLOCK as u64) {
            self.blocks.pop_front();
        }
    }

    /// Returns corpus and compared part of the centroid with this number.
    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<(CorpusId, &[u8])> {
        if !(self.first..self.end).contains(&number) {
            return None;
        }
        let at = number - self.origin;
        let block = at / BLOCK as u64 - (self.first - self.origin) / BLOCK as u64;
        Some(self.blocks[block as usize].get((at % BLOCK as u64) as usize))
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let of = |block: &Block| {
            size_of::<Block>() + block.corpora.bytes() + block.bytes.capacity() + block.ends.capacity() * 4
        };
        self.blocks.iter().map(of).sum()
    }
}

impl Block {
    fn push(&mut self, at: usize, corpus: CorpusId, compared: &[u8]) {
        if at == 0 {
            self.length = compared.len();
        } else if self.ends.is_empty() && compared.len() != self.length {
            self.ends.extend((1..=at).map(|number| (number * self.length) as u32));
        }
        self.corpora.push(corpus.0);
        self.bytes.extend_from_slice(compared);
        if !self.ends.is_empty() {
            self.ends.push(self.bytes.len() as u32);
        }
    }

    #[inline]
    fn get(&self, at: usize) -> (CorpusId, &[u8]) {
        let range = if self.ends.is_empty() {
            at * self.length..(at + 1) * self.length
        } else {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            start as usize..self.ends[at] as usize
        };
        (CorpusId(self.corpora.get(at)), &self.bytes[range])
    }
}

/// A column of values, one for each centroid of a block. If all are equal, as in most blocks, only one is stored.
#[derive(Debug)]
enum Column {
    /// One value, and the number of times that it occurs.
    Same(u32, usize),
    /// One value for each centroid.
    Each(Vec<u32>),
}

impl Default for Column {
    fn default() -> Self {
        Self::Same(0, 0)
    }
}

impl Column {
    fn push(&mut self, value: u32) {
        match self {
            Self::Same(_, 0) => *self = Self::Same(value, 1),
            Self::Same(same, count) if *same == value => *count += 1,
            Self::Same(same, count) => {
                let mut each = vec![*same; *count];
                each.push(value);
                *self = Self::Each(each);
            }
            Self::Each(each) => each.push(value),
        }
    }

    #[inline]
    fn get(&self, at: usize) -> u32 {
        match self {
            Self::Same(value, _) => *value,
            Self::Each(each) => each[at],
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Same(..) => 0,
            Self::Each(each) => each.capacity() * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn holds_what_a_queue_holds(
            runs in prop::collection::vec((1..3_000_usize, 0..3_u32, 0..3_usize, 0..3_000_usize), 1..8),
        ) {
            let mut hot = Hot::default();
            let mut queue = VecDeque::new();
            let mut number = 0_u64;
            for (come, corpus, length, go) in runs {
                for i in 0..come {
                    let bytes = vec![number as u8; if i == 7 { 2 } else { length }];
                    prop_assert_eq!(hot.push(CorpusId(corpus), &bytes), number);
                    queue.push_back((number, corpus, bytes));
                    number += 1;
                }
                for _ in 0..go {
                    hot.pop();
                    queue.pop_front();
                }
                prop_assert_eq!(hot.len(), queue.len());
                for (number, corpus, bytes) in &queue {
                    prop_assert_eq!(hot.get(*number), Some((CorpusId(*corpus), &bytes[..])));
                }
                prop_assert!(hot.get(number).is_none());
                prop_assert!(hot.first().checked_sub(1).is_none_or(|gone| hot.get(gone).is_none()));
                prop_assert!(hot.blocks.len() <= queue.len() / BLOCK + 2);
            }
        }
    }
}
