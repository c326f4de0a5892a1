//! Texts already seen: digest → the cluster that the first page with this text joined.
//!
//! A page whose text is known joins the cluster noted here before anything is compared. The texts of
//! the pages that founded clusters are in the table itself ([`Table::text`](super::table)); here are
//! those of pages that joined one with a text of their own.
//!
//! ```text
//! key of the text ─► index ─► sequence ─► ring: key, cluster
//! ```
//! In: texts in log order. Out: the number of a cluster's centroid. Invariant: what is known is a
//! function of the log. A text counts while its cluster's centroid has neither expired nor ended and
//! it is among the last `expiry.centroids_max` that were entered; a match refreshes nothing. Memory: 24
//! bytes a text in the ring, and some 8.5 in the index.

use std::collections::VecDeque;

use xxhash_rust::xxh3::xxh3_128;

use super::index::TextIndex;

/// Texts in a block of the ring.
const BLOCK: usize = 1_024;

/// Identifies a text among those of all corpora and settings: XXH3-128 of the hash of the settings that
/// made the fingerprint, the digest of the main text, and the corpus.
#[must_use]
pub fn text_key(corpus: &str, fingerprint_hash: u64, digest: u128) -> u128 {
    let mut bytes = Vec::with_capacity(24 + corpus.len());
    bytes.extend(fingerprint_hash.to_le_bytes());
    bytes.extend(digest.to_le_bytes());
    bytes.extend(corpus.as_bytes());
    xxh3_128(&bytes)
}

/// A text that was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenText {
    /// [Identifies](text_key) it.
    pub key: u128,
    /// The number of its cluster's centroid.
    pub cluster: u64,
}

/// Texts that were entered one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenTexts {
    /// How many were entered before the first one, in all corpora.
    pub first: u64,
    /// The texts.
    pub texts: Vec<SeenText>,
}

/// A text that was entered at this offset of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewText {
    /// Where its page is in the log.
    pub log_offset: u64,
    /// How many texts were entered before it.
    pub sequence: u64,
    /// The text.
    pub text: SeenText,
}

/// A text as the ring holds it: 24 bytes, where a `u128` would take 32.
#[derive(Debug, Clone, Copy)]
struct Kept {
    key: [u64; 2],
    cluster: u64,
}

impl Kept {
    fn of(text: SeenText) -> Self {
        Self { key: [(text.key >> 64) as u64, text.key as u64], cluster: text.cluster }
    }

    fn text(self) -> SeenText {
        let [high, low] = self.key;
        SeenText { key: u128::from(high) << 64 | u128::from(low), cluster: self.cluster }
    }
}

/// The texts of one log partition.
#[derive(Debug)]
pub(super) struct Seen {
    /// How many texts count at most, the youngest.
    texts_max: u64,
    /// Blocks of [`BLOCK`] texts, oldest first, of which the first one begins with number `origin`.
    blocks: VecDeque<Vec<Kept>>,
    origin: u64,
    /// Sequences of the oldest text that is kept, and of the next one.
    first: u64,
    end: u64,
    /// Texts below this sequence do not count, whatever the settings become.
    dead_below: u64,
    index: TextIndex,
    /// Where a block of old centroids ends, and how many texts had been entered by then.
    marks: VecDeque<(u64, u64)>,
}

impl Seen {
    /// An empty ring of which at most `texts_max` texts count. After a restart it may keep more, if the setting was
    /// lowered.
    pub(super) fn new(texts_max: u64) -> Self {
        Self {
            texts_max,
            blocks: VecDeque::new(),
            origin: 0,
            first: 0,
            end: 0,
            dead_below: 0,
            index: TextIndex::default(),
            marks: VecDeque::new(),
        }
    }

    /// What a saved state says of its texts; clusters below this number have expired.
    pub(super) fn bounds(&self, first_cluster: u64) -> TextBounds {
        let mut sequences = self.first..self.end;
        let is_needed =
            |sequence: &u64| self.get(*sequence).is_some_and(|text| text.cluster >= first_cluster);
        let needed_from = sequences.find(is_needed).unwrap_or(self.end);
        TextBounds { counted: self.end, dead_below: self.dead_below, needed_from }
    }

    /// Takes the bounds of a saved state, which never fall.
    pub(super) fn restore_bounds(&mut self, bounds: TextBounds) {
        if bounds.counted > self.end {
            self.begin_at(bounds.counted);
        }
        self.dead_below = self.dead_below.max(bounds.dead_below);
        self.forget_surplus();
    }

    /// Returns true if all texts are there that a state with these bounds needs.
    pub(super) fn has_all(&self, bounds: TextBounds) -> bool {
        let TextBounds { counted, needed_from, .. } = bounds;
        needed_from >= counted || (self.first <= needed_from && counted <= self.end)
    }

    /// Raises the bound of what is kept to what counts.
    pub(super) fn raise(&mut self) {
        self.dead_below = self.dead_below.max(self.end.saturating_sub(self.texts_max));
        self.forget_surplus();
    }

    /// Returns the cluster of the text with this key, if the text and the cluster count, which `counts` says.
    pub(super) fn find(&self, key: u128, counts: impl Fn(u64) -> bool) -> Option<u64> {
        let oldest = self.end.saturating_sub(self.texts_max);
        let cluster_of = |slot: u32| {
            let sequence = self.first + u64::from(slot.wrapping_sub(self.first as u32));
            let text = self.get(sequence).filter(|text| text.text().key == key && sequence >= oldest)?;
            Some(text.cluster)
        };
        // Of several the youngest: it was entered when the others had ceased to count.
        let slot = self.index.youngest(key, self.first as u32, |slot| cluster_of(slot).is_some())?;
        cluster_of(slot).filter(|cluster| counts(*cluster))
    }

    /// Enters a text; returns its sequence.
    pub(super) fn enter(&mut self, text: SeenText) -> u64 {
        if self.blocks.back().is_none_or(|last| last.len() == BLOCK) {
            self.blocks.push_back(Vec::with_capacity(BLOCK));
        }
        if let Some(last) = self.blocks.back_mut() {
            last.push(Kept::of(text));
        }
        self.index.insert(text.key, self.end as u32);
        self.end += 1;
        self.end - 1
    }

    /// Takes texts of a saved state, in whose order they come; those that are there already are passed
    /// over. Where some are missing before them, all before have ceased to count, or
    /// [`Self::has_all`] says so.
    pub(super) fn restore(&mut self, first: u64, texts: impl Iterator<Item = SeenText>) {
        if first > self.end {
            self.begin_at(first);
        }
        texts.skip((self.end - first) as usize).for_each(|text| {
            self.enter(text);
        });
    }

    fn begin_at(&mut self, sequence: u64) {
        self.blocks.clear();
        self.index = TextIndex::default();
        (self.origin, self.first, self.end) = (sequence, sequence, sequence);
    }

    /// Forgets texts whose clusters are below this number, as far as they are the oldest: those behind
    /// were entered later, and expire soon as well.
    pub(super) fn forget_below(&mut self, cluster: u64) {
        while self.get(self.first).is_some_and(|text| text.cluster < cluster) {
            self.forget_oldest();
        }
    }

    fn forget_surplus(&mut self) {
        while self.first < self.dead_below.min(self.end) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.get(self.first) else { return };
        self.index.remove(oldest.text().key, self.first as u32);
        self.first += 1;
        if self.first - self.origin == BLOCK as u64 {
            self.blocks.pop_front();
            self.origin = self.first;
        }
    }

    fn get(&self, sequence: u64) -> Option<Kept> {
        if !(self.first..self.end).contains(&sequence) {
            return None;
        }
        let at = (sequence - self.origin) as usize;
        self.blocks.get(at / BLOCK)?.get(at % BLOCK).copied()
    }

    /// The texts from this sequence on, and how many there are.
    pub(super) fn from(&self, sequence: u64) -> (SeenFrom, impl Iterator<Item = SeenText> + '_) {
        let first = sequence.clamp(self.first, self.end);
        let texts = (first..self.end).filter_map(|sequence| self.get(sequence)).map(Kept::text);
        (SeenFrom { first, count: self.end - first }, texts)
    }

    /// Notes that the block of old centroids that ends before this number has the texts that have been
    /// entered so far, unless it is noted already.
    pub(super) fn mark(&mut self, number: u64) {
        if self.marks.back().is_none_or(|(last, _)| *last < number) {
            self.marks.push_back((number, self.end));
        }
    }

    /// The sequence of the first text that is in no block of old centroids before this number.
    pub(super) fn mark_of(&self, number: u64) -> u64 {
        let marked = self.marks.iter().find(|(at, _)| *at == number);
        marked.map_or(self.first, |(_, sequence)| *sequence)
    }

    /// The texts of the block of these numbers, as of now if it has just been filled.
    pub(super) fn of_block(&mut self, first: u64, end: u64) -> SeenTexts {
        self.mark(end);
        let from = self.mark_of(first).clamp(self.first, self.end);
        let to = self.mark_of(end).max(from);
        let texts = (from..to).filter_map(|sequence| self.get(sequence)).map(Kept::text);
        SeenTexts { first: from, texts: texts.collect() }
    }

    /// Forgets the marks of blocks that end before this number.
    pub(super) fn forget_marks(&mut self, number: u64) {
        while self.marks.front().is_some_and(|(at, _)| *at < number) {
            self.marks.pop_front();
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK * size_of::<Kept>() + self.index.bytes()
    }
}

/// What a saved table says of its texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextBounds {
    /// How many were entered, in all corpora: the sequence of the next one.
    pub counted: u64,
    /// Texts below this sequence do not count, whatever the settings become.
    pub dead_below: u64,
    /// The sequence of the oldest text that may count; that of the next one if there is none.
    pub needed_from: u64,
}

/// Which texts follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenFrom {
    /// The sequence of the first one.
    pub first: u64,
    /// How many there are.
    pub count: u64,
}
