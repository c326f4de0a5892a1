//! How many pages, and how many bytes of them, may be in flight at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes are counted in units, since a semaphore counts to 2^32 at most.
const UNIT_BYTES: usize = 1024;

/// A bound on pages and on bytes.
pub struct Budget {
    pages: Arc<Semaphore>,
    pages_max: usize,
    units: Arc<Semaphore>,
    units_max: usize,
}

/// A part of the budget; dropped, it is free again.
pub struct Permit {
    _pages: OwnedSemaphorePermit,
    _units: OwnedSemaphorePermit,
}

impl Budget {
    /// A budget of so many pages and bytes.
    #[must_use]
    pub fn new(pages_max: usize, bytes_max: usize) -> Self {
        let limit = Semaphore::MAX_PERMITS.min(u32::MAX as usize);
        let (pages_max, units_max) = (pages_max.clamp(1, limit), (bytes_max / UNIT_BYTES).clamp(1, limit));
        Self {
            pages: Arc::new(Semaphore::new(pages_max)),
            pages_max,
            units: Arc::new(Semaphore::new(units_max)),
            units_max,
        }
    }

    /// Waits until there is room. What is larger than the whole budget is let in alone.
    pub async fn acquire(&self, pages: usize, bytes: usize) -> Permit {
        let pages = pages.min(self.pages_max) as u32;
        let units = bytes.div_ceil(UNIT_BYTES).min(self.units_max) as u32;
        Permit { _pages: acquire(&self.pages, pages).await, _units: acquire(&self.units, units).await }
    }

    /// A permit, if there is room at once.
    #[must_use]
    pub fn try_acquire(&self, pages: usize, bytes: usize) -> Option<Permit> {
        let pages = pages.min(self.pages_max) as u32;
        let units = bytes.div_ceil(UNIT_BYTES).min(self.units_max) as u32;
        let pages = Arc::clone(&self.pages).try_acquire_many_owned(pages).ok()?;
        let units = Arc::clone(&self.units).try_acquire_many_owned(units).ok()?;
        Some(Permit { _pages: pages, _units: units })
    }

    /// Pages and bytes in flight.
    #[must_use]
    pub fn in_use(&self) -> (usize, usize) {
        let pages = self.pages_max - self.pages.available_permits();
        (pages, (self.units_max - self.units.available_permits()) * UNIT_BYTES)
    }
}

async fn acquire(semaphore: &Arc<Semaphore>, permits: u32) -> OwnedSemaphorePermit {
    Arc::clone(semaphore).acquire_many_owned(permits).await.expect("the budget's semaphores are never closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a permit can be had at once.
    fn at_once(budget: &Budget, pages: usize, bytes: usize) -> Option<Permit> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            tokio::select! {
                biased;
                permit = budget.acquire(pages, bytes) => Some(permit),
                () = tokio::task::yield_now() => None,
            }
        })
    }

    #[test]
    fn bounds_pages_and_bytes() {
        let budget = Budget::new(3, 10 * UNIT_BYTES);
        let two = at_once(&budget, 2, 100).expect("room");
        assert!(at_once(&budget, 2, 100).is_none(), "too many pages");
        assert!(at_once(&budget, 1, 10 * UNIT_BYTES).is_none(), "too many bytes");
        let one = at_once(&budget, 1, 9 * UNIT_BYTES).expect("room");
        drop((one, two));
        assert_eq!(budget.in_use(), (0, 0));
        let all = budget.try_acquire(3, 10 * UNIT_BYTES).expect("all is free again");
        assert!(budget.try_acquire(1, 1).is_none());
        assert_eq!(budget.in_use(), (3, 10 * UNIT_BYTES));
        drop(all);
        assert!(at_once(&budget, 3, 10 * UNIT_BYTES).is_some(), "all is free again");
    }

    #[test]
    fn what_is_too_large_is_let_in_alone() {
        let budget = Budget::new(3, 10 * UNIT_BYTES);
        let large = at_once(&budget, 100, 1 << 40).expect("alone");
        assert!(at_once(&budget, 1, 1).is_none());
        drop(large);
        assert!(at_once(&budget, 1, 1).is_some());
    }
}
