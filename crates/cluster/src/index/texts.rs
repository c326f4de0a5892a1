//! Index of text digests: digest → slots. Each digest is inserted, looked up and removed separately, because
//! a known text decides the page's cluster before fingerprints are compared.
//!
//! The entries are those of [`keys`](super::keys), about 5.7 bytes each. A digest's place depends on a secret
//! [`Seed`], so nobody can make pages whose texts collide on purpose. The caller compares whole digests, so
//! the seed affects only the time.

use super::keys::KeyShard;
use leitong_base::hashed::Seed;
use leitong_fingerprint::SecondKey;

/// An index of digests.
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
