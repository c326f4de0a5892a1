//! The key index: finds the slots of all centroids that may be near a fingerprint. This is the part of the
//! table that every look-up walks. A slot is the number of a centroid modulo 2^32.
//!
//! ```text
//!            ┌ shard 0 ┐
//! batch of ──┤ shard 1 ├─► hits: (which query, which slot)
//! queries    └ shard … ┘
//! ```
//! It is split by key into shards that share nothing. Each shard looks up its own keys of every query and stores its
//! own keys of every centroid. Shards run on different cores without locks; they could also run in different
//! processes.
//!
//! A *key* is a number that a detector derives from a fingerprint, such as a band of its sketch: near fingerprints
//! share at least one. Files call only those below them:
//!
//! ```text
//! generations             one index for each block of centroids that moves to disk together
//! └ keys                  a shard: splits keys over segments, and looks up many at once
//!   └ segment             the hash table of a segment
//!     ├ group             a cache line of entries, and the bits of an entry
//!     └ outside           entries that find no room in groups, and keys of many centroids
//! batch                   what all of them share: queries, shards, hits
//! ```
//! The table searches keys of very many centroids in another way (`table/crowds.rs`), and has the centroids of
//! the current batch (`table/recent.rs`).
//!
//! Example: the default detector derives 15 keys from a fingerprint. A look-up reads one cache line for each
//! key, finds a few slots, and the caller compares those centroids. The index takes about 5.7 bytes per key,
//! so 86 bytes per centroid.
//!
//! Invariant: the hits contain every centroid that shares a key. They may contain others; the caller compares each of
//! them. The result does not depend on the number of shards.

mod batch;
mod generations;
mod group;
mod keys;
mod outside;
mod segment;

pub use batch::HITS_MAX;
pub(super) use batch::{Batch, Hit, spread};
pub(super) use generations::Generations;
pub(super) use keys::KeyShard;
