//! The part of the changelog that the committed tables of this process still need. Owners store it here, and
//! the thread that lets brokers delete older records reads it (deletion.rs).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The records of the changelog that owners need, by partition.
#[derive(Default)]
pub(crate) struct Needed {
    partitions: Mutex<BTreeMap<u32, Committed>>,
}

/// The committed state of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Committed {
    /// The number of the oldest unexpired centroid.
    pub first: u64,
    /// Number of unexpired centroids.
    pub count: u64,
    /// The log offset at which the oldest unexpired centroid was founded, or `None` if all have expired.
    pub oldest_log_offset: Option<u64>,
    /// The offset of the last position record in the changelog.
    pub(crate) position_offset: u64,
}

impl Needed {
    /// Stores the committed state of an owner's table.
    pub(crate) fn put(&self, partition: u32, committed: Committed) {
        self.lock().insert(partition, committed);
    }

    /// Removes a partition that has no owner here any more.
    pub(crate) fn remove(&self, partition: u32) {
        self.lock().remove(&partition);
    }

    /// Returns the committed states of all partitions with an owner here.
    pub(super) fn all(&self) -> BTreeMap<u32, Committed> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Committed>> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
