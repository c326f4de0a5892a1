//! Counts of what was read and written, for measurements.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts since the store was opened.
#[derive(Debug, Default)]
pub(super) struct Reads {
    pages: AtomicU64,
    false_keys: AtomicU64,
    groups: AtomicU64,
    written: AtomicU64,
    written_first: AtomicU64,
}

/// A copy of the counts since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Number of pages of keys that were read.
    pub pages: u64,
    /// Number of keys that a filter seemed to have, and that were not there.
    pub false_keys: u64,
    /// Number of groups of compared parts that were read.
    pub groups: u64,
    /// Number of bytes written, including merges.
    pub written: u64,
    /// Number of bytes written when blocks were sealed.
    pub written_first: u64,
}

impl Reads {
    pub(super) fn pages(&self, count: u64, in_vain: bool) {
        self.pages.fetch_add(count, Ordering::Relaxed);
        self.false_keys.fetch_add(u64::from(in_vain), Ordering::Relaxed);
    }

    pub(super) fn group(&self) {
        self.groups.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the bytes of a new block and its run.
    pub(super) fn sealed(&self, bytes: u64) {
        self.written_first.fetch_add(bytes, Ordering::Relaxed);
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts the bytes of a merged run.
    pub(super) fn merged(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn counted(&self) -> Counted {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counted {
            pages: of(&self.pages),
            false_keys: of(&self.false_keys),
            groups: of(&self.groups),
            written: of(&self.written),
            written_first: of(&self.written_first),
        }
    }
}
