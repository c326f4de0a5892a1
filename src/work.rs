//! Counted work: what one page may cost, whatever it holds.
//!
//! Each stage counts what it is about to do in steps, before it does it, and a page that would need
//! more than its budget is given up. A step is about a nanosecond of a core of 2022, so that
//! weights can be measured; but steps are counted, never timed: the same page is given up on every
//! machine, or on none.
//!
//! The weights in the stages were measured on the slowest input
//! of each kind that was found (`tests/local/hostile_pages.rs`).

use thiserror::Error;

/// The work of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    done: u64,
    max: u64,
}

/// A page needs more work than it may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the page needs more than {max} steps of work (page.work_max)")]
pub struct TooMuchWork {
    /// The limit.
    pub max: u64,
}

impl Work {
    /// None done yet, of at most `max` steps.
    #[must_use]
    pub fn up_to(max: u64) -> Self {
        Self { done: 0, max }
    }

    /// For texts that are known to be harmless: no bound.
    #[must_use]
    pub fn unbounded() -> Self {
        Self::up_to(u64::MAX)
    }

    /// Counts `units` of `steps` steps each, which are about to be done.
    ///
    /// # Errors
    /// [`TooMuchWork`], where they are above what is left; then they are not to be done.
    #[inline]
    pub fn add(&mut self, units: usize, steps: u64) -> Result<(), TooMuchWork> {
        let done = self.done.saturating_add((units as u64).saturating_mul(steps));
        if done > self.max {
            return Err(TooMuchWork { max: self.max });
        }
        self.done = done;
        Ok(())
    }

    /// Steps so far.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_not_counted() {
        let mut work = Work::up_to(100);
        assert_eq!(work.add(9, 10), Ok(()));
        assert_eq!(work.add(2, 10), Err(TooMuchWork { max: 100 }));
        assert_eq!(work.add(usize::MAX, u64::MAX), Err(TooMuchWork { max: 100 }));
        assert_eq!((work.add(1, 10), work.done()), (Ok(()), 100));
        assert_eq!(Work::unbounded().add(usize::MAX, 1_000), Ok(()));
    }
}
