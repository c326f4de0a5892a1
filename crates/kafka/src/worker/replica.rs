//! A table that is built from the changelog, record by record: by a restore, which reads the changelog to its end,
//! or by a standby, which follows it while another instance owns the partition.
//!
//! Invariant: look-ups see the replica only after the changelog was read to its end, and only in the state between two
//! transactions.

use std::time::Instant;

use super::disk::DiskTable;
use leitong_cluster::changelog::{POSITION_KEY, Restoration, RestoreError};

/// A table that follows the changelog.
pub(crate) struct TableReplica {
    pub(crate) restoration: Restoration,
    /// The part on disk, if tables are on disk.
    pub disk: Option<DiskTable>,
    /// The first changelog offset that is not in the table.
    pub(crate) next_offset: u64,
    /// True once the table has been read to the changelog's end for look-ups. From then on, all of it is
    /// visible to look-ups after each position record.
    pub is_whole: bool,
    /// True if the last record ended a transaction.
    pub(crate) is_at_position: bool,
}

impl TableReplica {
    /// Creates a replica of a table that ends with a transaction, right before `next_offset`.
    pub(crate) fn new(restoration: Restoration, disk: Option<DiskTable>, next_offset: u64) -> Self {
        Self { restoration, disk, next_offset, is_whole: false, is_at_position: true }
    }

    /// Applies the next record of the changelog, which is at `offset`; `now` is the time.
    pub(crate) fn apply(
        &mut self,
        offset: u64,
        (key, value): (Option<&[u8]>, Option<&[u8]>),
        now: Instant,
    ) -> Result<(), RestoreError> {
        if let Some(disk) = &mut self.disk {
            // If this record founds a centroid, the changelog has the centroid at this offset.
            disk.stands_from(self.restoration.clusterer().founded(), offset);
        }
        let taken = self.restoration.take(key, value);
        self.or_set_aside(taken)?;
        self.next_offset = offset + 1;
        let is_position = key == Some(POSITION_KEY);
        self.is_at_position = is_position;
        if is_position {
            self.at_position(now)?;
        }
        if is_position && self.is_whole {
            self.insert_pending()?;
        }
        Ok(())
    }

    /// Continues writing old centroids to disk, when the changelog has been read to its present end.
    pub(crate) fn at_end(&mut self, now: Instant) -> Result<(), RestoreError> {
        if self.disk.is_some() {
            self.insert_pending()?;
            self.at_position(now)?;
        }
        Ok(())
    }

    /// Makes the table visible to look-ups. The caller must have read it to the changelog's end just before.
    pub(crate) fn let_read(&mut self) -> Result<(), RestoreError> {
        if !self.is_whole {
            self.insert_pending()?;
            self.is_whole = true;
        }
        Ok(())
    }

    /// Returns the table if look-ups may read it: if it is visible to them, and at the end of a transaction.
    pub(crate) fn readable(&self) -> Option<&Restoration> {
        (self.is_whole && self.is_at_position).then_some(&self.restoration)
    }

    fn insert_pending(&mut self) -> Result<(), RestoreError> {
        let inserted = self.restoration.insert_pending();
        self.or_set_aside(inserted.map_err(Into::into))
    }

    fn at_position(&mut self, now: Instant) -> Result<(), RestoreError> {
        let (Some(disk), Some(position)) = (&mut self.disk, self.restoration.position()) else {
            return Ok(());
        };
        let (table, position) = (self.restoration.clusterer(), || Ok(position.clone()));
        let saved = disk.committed(table, self.next_offset, position, now);
        self.or_set_aside(saved.map_err(Into::into))
    }

    /// Sets aside files that cannot be read, so the next restore does not use them.
    fn or_set_aside(&self, result: Result<(), RestoreError>) -> Result<(), RestoreError> {
        if let (Err(RestoreError::Disk(fault)), Some(disk)) = (&result, &self.disk) {
            disk.set_aside_after(fault);
        }
        result
    }
}
