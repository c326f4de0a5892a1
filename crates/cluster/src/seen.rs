//! Texts of pages that joined clusters: digest → the cluster that the first page with this text joined.
//!
//! A page with a known text joins that cluster before any fingerprints are compared. The texts of pages that
//! founded clusters are in the table itself (`CentroidTable::text`). This index has those of pages
//! that joined a cluster with a text of their own.
//!
//! ```text
//! key of the text ─► index ─► sequence ─► ring: key, cluster
//! ```
//! In: texts in log order. Out: the number of a cluster's centroid. Invariant: the known texts are a
//! function of the log. A text counts while its cluster's centroid has neither expired nor ended, and while
//! it is among the last `expiry.centroids_max` texts; a match does not refresh it. Memory: 24 bytes per text
//! in the ring, and about 8.5 in the index.

use std::collections::VecDeque;

use xxhash_rust::xxh3::xxh3_128;

use crate::index::KeyShard;
use leitong_base::hashed::Seed;
use leitong_fingerprint::SecondKey;

/// Number of texts in a block of the ring.
const BLOCK: usize = 1_024;

/// A text, and the cluster that its page joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenText {
    /// The key of the text; see [`Self::key_of`].
    pub key: u128,
    /// The number of the cluster's centroid.
    pub cluster: u64,
}

impl SeenText {
    /// Returns the key that identifies a text among those of all corpora and settings. It is the XXH3-128 of the
    /// hash of the settings that produced the fingerprint, the digest of the main text, and the corpus.
    #[must_use]
    pub fn key_of(corpus: &str, fingerprint_hash: u64, digest: u128) -> u128 {
        let mut bytes = Vec::with_capacity(24 + corpus.len());
        bytes.extend(fingerprint_hash.to_le_bytes());
        bytes.extend(digest.to_le_bytes());
        bytes.extend(corpus.as_bytes());
        xxh3_128(&bytes)
    }
}

/// Consecutive texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenTexts {
    /// Number of texts in all corpora that were inserted before the first one.
    pub first: u64,
    /// The texts.
    pub texts: Vec<SeenText>,
}

/// A text, and the place of its page in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewText {
    /// The log offset of the page.
    pub log_offset: u64,
    /// Number of texts that were inserted before this one.
    pub sequence: u64,
    /// The text.
    pub text: SeenText,
}

/// A text as stored in the ring: 24 bytes instead of the 32 that a `u128` would need.
#[derive(Debug, Clone, Copy)]
struct Kept {
    key: [u64; 2],
    cluster: u64,
}

impl Kept {
    fn new(text: SeenText) -> Self {
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
    /// Maximum number of texts that count; the youngest ones do.
    texts_max: u64,
    /// Blocks of [`BLOCK`] texts, oldest first.
    blocks: VecDeque<Vec<Kept>>,
    /// The sequence of the first text in the first block. The sequence of a text is the number of texts that were
    /// inserted before that text.
    origin: u64,
    /// The sequence of the oldest text that is kept.
    first: u64,
    /// The sequence of the next text.
    end: u64,
    /// Texts below this sequence do not count, even if settings change.
    dead_below: u64,
    index: TextIndex,
    /// For each block of old centroids, where it ends and how many texts had been inserted by then.
    marks: VecDeque<(u64, u64)>,
}

impl Seen {
    /// Creates an empty ring in which at most `texts_max` texts count. After texts are [restored](Self::restore),
    /// the ring may keep more of them until the next [`Self::raise`].
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

    /// Returns the bounds of the texts for a saved table, in which clusters below `first_cluster` have
    /// expired.
    pub(super) fn bounds(&self, first_cluster: u64) -> TextBounds {
        let mut sequences = self.first..self.end;
        let is_needed =
            |sequence: &u64| self.get(*sequence).is_some_and(|text| text.cluster >= first_cluster);
        let needed_from = sequences.find(is_needed).unwrap_or(self.end);
        TextBounds { counted: self.end, dead_below: self.dead_below, needed_from }
    }

    /// Applies the bounds of a saved table. They never fall.
    pub(super) fn restore_bounds(&mut self, bounds: TextBounds) {
        if bounds.counted > self.end {
            self.begin_at(bounds.counted);
        }
        self.dead_below = self.dead_below.max(bounds.dead_below);
        self.evict_surplus();
    }

    /// Returns true if the ring has all texts that a table with these bounds needs.
    pub(super) fn has_all(&self, bounds: TextBounds) -> bool {
        let TextBounds { counted, needed_from, .. } = bounds;
        needed_from >= counted || (self.first <= needed_from && counted <= self.end)
    }

    /// Evicts texts that no longer count.
    pub(super) fn raise(&mut self) {
        self.dead_below = self.dead_below.max(self.end.saturating_sub(self.texts_max));
        self.evict_surplus();
    }

    /// Returns the cluster of the text with this key, if the text counts and `counts` returns true for the
    /// cluster.
    pub(super) fn find(&self, key: u128, counts: impl Fn(u64) -> bool) -> Option<u64> {
        let oldest = self.end.saturating_sub(self.texts_max);
        let cluster_of = |slot: u32| {
            let sequence = self.first + u64::from(slot.wrapping_sub(self.first as u32));
            let text = self.get(sequence).filter(|text| text.text().key == key && sequence >= oldest)?;
            Some(text.cluster)
        };
        // If several texts match, the youngest is right: the others had ceased to count when it was inserted.
        let slot = self.index.youngest(key, self.first as u32, |slot| cluster_of(slot).is_some())?;
        cluster_of(slot).filter(|cluster| counts(*cluster))
    }

    /// Inserts a text, and returns its sequence.
    pub(super) fn enter(&mut self, text: SeenText) -> u64 {
        if self.blocks.back().is_none_or(|last| last.len() == BLOCK) {
            self.blocks.push_back(Vec::with_capacity(BLOCK));
        }
        if let Some(last) = self.blocks.back_mut() {
            last.push(Kept::new(text));
        }
        self.index.insert(text.key, self.end as u32);
        self.end += 1;
        self.end - 1
    }

    /// Restores texts of a saved table, in its order. Texts that the ring already has are skipped. Texts before
    /// `first` may be missing if they no longer count; otherwise [`Self::has_all`] returns false.
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

    /// Evicts the oldest texts while their clusters are below this number. Texts after them were inserted
    /// later and expire soon as well.
    pub(super) fn evict_below(&mut self, cluster: u64) {
        while self.get(self.first).is_some_and(|text| text.cluster < cluster) {
            self.evict_oldest();
        }
    }

    fn evict_surplus(&mut self) {
        while self.first < self.dead_below.min(self.end) {
            self.evict_oldest();
        }
    }

    fn evict_oldest(&mut self) {
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

    /// Returns the texts from this sequence on, and their range.
    pub(super) fn from(&self, sequence: u64) -> (SeenFrom, impl Iterator<Item = SeenText> + '_) {
        let first = sequence.clamp(self.first, self.end);
        let texts = (first..self.end).filter_map(|sequence| self.get(sequence)).map(Kept::text);
        (SeenFrom { first, count: self.end - first }, texts)
    }

    /// Marks the end of the block of old centroids that ends before this number: the texts inserted so far
    /// belong to this block or to earlier ones. Does nothing if the mark exists.
    pub(super) fn mark(&mut self, number: u64) {
        if self.marks.back().is_none_or(|(last, _)| *last < number) {
            self.marks.push_back((number, self.end));
        }
    }

    /// Returns the sequence of the first text that is in no block of old centroids before this number.
    pub(super) fn mark_of(&self, number: u64) -> u64 {
        let marked = self.marks.iter().find(|(at, _)| *at == number);
        marked.map_or(self.first, |(_, sequence)| *sequence)
    }

    /// Returns the texts of the block with these numbers. If the block has just been filled, it gets the
    /// texts inserted so far.
    pub(super) fn texts_of_block(&mut self, first: u64, end: u64) -> SeenTexts {
        self.mark(end);
        let from = self.mark_of(first).clamp(self.first, self.end);
        let to = self.mark_of(end).max(from);
        let texts = (from..to).filter_map(|sequence| self.get(sequence)).map(Kept::text);
        SeenTexts { first: from, texts: texts.collect() }
    }

    /// Removes the marks of blocks that end before this number.
    pub(super) fn remove_marks(&mut self, number: u64) {
        while self.marks.front().is_some_and(|(at, _)| *at < number) {
            self.marks.pop_front();
        }
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK * size_of::<Kept>() + self.index.bytes()
    }
}

/// The bounds of the texts in a saved table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextBounds {
    /// Number of texts inserted in all corpora. It is also the sequence of the next text.
    pub counted: u64,
    /// Texts below this sequence do not count, even if settings change.
    pub dead_below: u64,
    /// The sequence of the oldest text that may count, or of the next text if none may.
    pub needed_from: u64,
}

/// The range of the texts that an iterator returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenFrom {
    /// The sequence of the first text.
    pub first: u64,
    /// Number of texts.
    pub count: u64,
}

/// An index of text digests: digest → slots. Each digest is inserted, looked up and removed separately, because a
/// known text decides the page's cluster before fingerprints are compared.
///
/// A digest takes about 5.7 bytes. Its place depends on a secret [`Seed`], so nobody can make pages whose texts
/// collide on purpose. The caller compares whole digests, so the seed affects only the time.
#[derive(Debug)]
pub(crate) struct TextIndex {
    shard: KeyShard,
    seed: Seed,
}

impl Default for TextIndex {
    fn default() -> Self {
        Self { shard: KeyShard::new(0, 1), seed: Seed::default() }
    }
}

impl TextIndex {
    /// Inserts `slot`, the youngest one.
    pub(crate) fn insert(&mut self, digest: u128, slot: u32) {
        self.shard.insert_one(self.key(digest), slot);
    }

    /// Removes `slot`, the oldest one.
    pub(crate) fn remove(&mut self, digest: u128, slot: u32) {
        self.shard.remove_one(self.key(digest), slot);
    }

    /// Returns the youngest slot that may have this digest and for which `is_it` is true. `first` is the
    /// oldest slot.
    pub(crate) fn youngest(&self, digest: u128, first: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.shard.youngest(self.key(digest), first, is_it)
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.shard.bytes()
    }

    fn key(&self, digest: u128) -> u64 {
        let high = self.seed.place((digest >> 64) as u64);
        self.seed.place(digest as u64 ^ high) & !SecondKey::WIDE
    }
}
