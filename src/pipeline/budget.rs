//! A budget that bounds the number of pages in flight, and their bytes.
//!
//! A permit is acquired before pages enter the stages, and dropped when they have left them. So memory is
//! bounded even if one stage is slow. Cost: a lock for each permit.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A bound on pages and bytes.
pub struct Budget {
    pages_max: usize,
    bytes_max: usize,
    used: Arc<Used>,
}

/// The part of the budget that is in use.
#[derive(Default)]
struct Used {
    pages_and_bytes: Mutex<(usize, usize)>,
    freed: Condvar,
}

/// A part of the budget. It is released when this is dropped.
pub struct Permit {
    pages: usize,
    bytes: usize,
    used: Arc<Used>,
}

impl Budget {
    /// Creates a budget of this many pages and bytes.
    #[must_use]
    pub fn new(pages_max: usize, bytes_max: usize) -> Self {
        Self { pages_max: pages_max.max(1), bytes_max: bytes_max.max(1), used: Arc::default() }
    }

    /// Waits until there is room. A request for more than the whole budget waits until nothing else is in
    /// use.
    #[must_use]
    pub fn acquire(&self, pages: usize, bytes: usize) -> Permit {
        let (pages, bytes) = self.at_most_all(pages, bytes);
        let is_full = |used: &mut (usize, usize)| !self.fits(*used, pages, bytes);
        let used = self.used.freed.wait_while(self.used.lock(), is_full);
        self.take(used.unwrap_or_else(PoisonError::into_inner), pages, bytes)
    }

    /// Returns a permit, or `None` if there is no room now.
    #[must_use]
    pub fn try_acquire(&self, pages: usize, bytes: usize) -> Option<Permit> {
        let (pages, bytes) = self.at_most_all(pages, bytes);
        let used = self.used.lock();
        self.fits(*used, pages, bytes).then(|| self.take(used, pages, bytes))
    }

    /// Number of pages and bytes in flight.
    #[must_use]
    pub fn in_use(&self) -> (usize, usize) {
        *self.used.lock()
    }

    fn at_most_all(&self, pages: usize, bytes: usize) -> (usize, usize) {
        (pages.min(self.pages_max), bytes.min(self.bytes_max))
    }

    fn fits(&self, used: (usize, usize), pages: usize, bytes: usize) -> bool {
        used.0 + pages <= self.pages_max && used.1 + bytes <= self.bytes_max
    }

    fn take(&self, mut used: MutexGuard<'_, (usize, usize)>, pages: usize, bytes: usize) -> Permit {
        *used = (used.0 + pages, used.1 + bytes);
        Permit { pages, bytes, used: Arc::clone(&self.used) }
    }
}

impl Used {
    fn lock(&self) -> MutexGuard<'_, (usize, usize)> {
        self.pages_and_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        {
            let mut used = self.used.lock();
            *used = (used.0 - self.pages, used.1 - self.bytes);
        }
        self.used.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_pages_and_bytes() {
        let budget = Budget::new(3, 10_000);
        let two = budget.acquire(2, 100);
        assert!(budget.try_acquire(2, 100).is_none(), "too many pages");
        assert!(budget.try_acquire(1, 10_000).is_none(), "too many bytes");
        let one = budget.acquire(1, 9_900);
        assert_eq!(budget.in_use(), (3, 10_000));
        drop((one, two));
        assert_eq!(budget.in_use(), (0, 0));
        let all = budget.try_acquire(3, 10_000).expect("everything is free again");
        assert!(budget.try_acquire(1, 1).is_none());
        drop(all);
        assert!(budget.try_acquire(3, 10_000).is_some(), "everything is free again");
    }

    #[test]
    fn a_request_above_the_budget_gets_all_of_it() {
        let budget = Budget::new(3, 10_000);
        let large = budget.acquire(100, 1 << 40);
        assert!(budget.try_acquire(1, 1).is_none());
        drop(large);
        assert!(budget.try_acquire(1, 1).is_some());
    }

    #[test]
    fn a_waiting_request_continues_when_there_is_room() {
        let budget = Budget::new(2, 100);
        let first = budget.acquire(1, 60);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| budget.acquire(1, 60));
            while budget.in_use() != (1, 60) || second.is_finished() {
                assert!(!second.is_finished(), "there is no room");
            }
            drop(first);
            drop(second.join().expect("it gets a permit"));
        });
        assert_eq!(budget.in_use(), (0, 0));
    }
}
