//! Expiry: advances the log time, and removes the centroids that have expired by age or number.
//!
//! In: the time of each record, and the settings. Invariants: bounds never decrease; centroids leave oldest first; what
//! has expired is a function of the log. Cost: a binary search whenever log time moves past centroids, and at most
//! [`AGED_FREED_PER_RECORD`] removals for age per record, so a leap of log time delays no decision.

use super::Clusterer;
use crate::expiry::Bounds;
use crate::fault::TableFault;
use leitong_base::record::Timestamp;

/// Maximum number of centroids removed for their age at one record. It is more than one record can found, so
/// the table catches up, and few enough that a leap of log time does not remove millions at once. Until they
/// are removed, their age keeps them from matching.
const AGED_FREED_PER_RECORD: u64 = 16;

impl Clusterer {
    /// Advances the log time, as a record with this time requires.
    pub(super) fn advance(&mut self, log_time: Option<Timestamp>) {
        (self.position.log_time, self.first_time) = self.times_after(log_time);
        self.raise_bounds();
    }

    /// Returns log time and first time after a record with this time. Log time is the running maximum. Centroids
    /// from before the first record with a time count as founded then. So founding times never decrease from a
    /// centroid to a younger one.
    pub(super) fn times_after(&self, log_time: Option<Timestamp>) -> (Option<Timestamp>, Option<Timestamp>) {
        let former = self.position.log_time;
        (former.max(log_time), if former.is_none() { log_time.or(self.first_time) } else { self.first_time })
    }

    /// Raises the bounds to match the number of founded centroids and the log time. They never decrease.
    pub(super) fn raise_bounds(&mut self) {
        self.bounds = self.bounds.raised(&self.expiry, self.founded(), self.position.log_time);
        self.table.seen.raise();
    }

    /// Applies the present settings to a restored table, and removes all that has expired.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn evict_expired(&mut self) -> Result<(), TableFault> {
        self.attempt(|table| {
            table.raise_bounds();
            table.find_first_unexpired()?;
            table.evict_below(table.first_unexpired.0);
            Ok(())
        })
    }

    /// Removes the centroids below this number.
    pub fn evict_below(&mut self, number: u64) {
        let number = number.min(self.founded());
        (self.table.first()..number).for_each(|_| self.remove_oldest());
    }

    pub(super) fn remove_oldest(&mut self) {
        self.table.remove_oldest();
        if let Some(canonicals) = &mut self.canonicals {
            canonicals.evict_below(self.table.first());
        }
        if let Some(crawls) = &mut self.crawls {
            crawls.evict_below(self.table.first());
        }
    }

    /// Returns the log offset at which the oldest centroid was founded.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn oldest_log_offset(&self) -> Result<Option<u64>, TableFault> {
        self.check()?;
        Ok(self.table.founded(self.table.first())?.map(|(log_offset, _)| log_offset))
    }

    /// Removes centroids in excess of the maximum, and some that are too old by log time. Both rules take the
    /// oldest first: log time never decreases, so it orders centroids as their founding does.
    pub(super) fn expire(&mut self) -> Result<(), TableFault> {
        self.find_first_unexpired()?;
        let aged = self.first_unexpired.0.min(self.table.first() + AGED_FREED_PER_RECORD);
        self.evict_below(self.bounds.dead_below.max(aged));
        Ok(())
    }

    /// Updates which centroid is the oldest unexpired one.
    pub(super) fn find_first_unexpired(&mut self) -> Result<(), TableFault> {
        self.first_unexpired = self.first_unexpired_at(self.bounds, self.first_time)?;
        self.table.seen.evict_below(self.first_unexpired.0);
        Ok(())
    }

    /// Returns the value of `first_unexpired` for these bounds, which are the present ones or higher ones.
    pub(super) fn first_unexpired_at(
        &self,
        bounds: Bounds,
        first_time: Option<Timestamp>,
    ) -> Result<(u64, Option<Timestamp>), TableFault> {
        let mut alive = self.first_unexpired;
        let first = self.table.first().max(bounds.dead_below.min(self.founded()));
        if alive.0 < first {
            alive = (first, None);
        }
        let Some(before) = bounds.dead_before else { return Ok(alive) };
        let end = self.founded();
        let founded_at = |number| -> Result<Option<Timestamp>, TableFault> {
            Ok(self.table.founded(number)?.and_then(|(_, time)| time.or(first_time)))
        };
        let too_old = |time: Option<Timestamp>| time.is_some_and(|time| time < before);
        let known = match alive.1 {
            None => founded_at(alive.0)?,
            known => known,
        };
        if !too_old(known) {
            return Ok((alive.0, known));
        }
        // Searches in steps that double, and then between the last two, since time may leap over millions of
        // centroids.
        let mut old = alive.0;
        let mut step = 1;
        while old + step < end && too_old(founded_at(old + step)?) {
            old += step;
            step *= 2;
        }
        let mut young = (old + step).min(end);
        while young - old > 1 {
            let middle = old.midpoint(young);
            if too_old(founded_at(middle)?) { old = middle } else { young = middle }
        }
        Ok((young, founded_at(young)?))
    }
}
