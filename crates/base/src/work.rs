//! Limits the processing cost of one page by counting work instead of measuring time.
//!
//! Before doing something, each stage counts how many steps it will take. A page that would exceed its budget
//! is given up. One step takes about a nanosecond on one core of a 2022 machine, so the steps of an operation
//! (its weight) can be measured. Because steps are counted and never timed, a page is given up on every
//! machine or on none.
//!
//! The weights in the stages were measured on the slowest known input of each kind
//! (`tests/local/hostile_pages.rs`).

use thiserror::Error;

/// The work done on one page so far, and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    done: u64,
    max: u64,
}

/// The error for a page that needs more work than its budget allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the page is too complex: it needs more than {max} steps of work")]
pub struct TooMuchWork {
    /// The limit.
    pub max: u64,
}

impl Work {
    /// Starts with no work done and a budget of `max` steps.
    #[must_use]
    pub fn up_to(max: u64) -> Self {
        Self { done: 0, max }
    }

    /// Starts without a limit, for texts that are known to be harmless.
    #[must_use]
    pub fn unbounded() -> Self {
        Self::up_to(u64::MAX)
    }

    /// Counts `units` units of `steps` steps each. Call this before doing the work.
    ///
    /// # Errors
    /// [`TooMuchWork`] if the budget would be exceeded. Nothing is counted then, and the caller must not do
    /// the work.
    #[inline]
    pub fn add(&mut self, units: usize, steps: u64) -> Result<(), TooMuchWork> {
        let done = self.done.saturating_add((units as u64).saturating_mul(steps));
        if done > self.max {
            return Err(TooMuchWork { max: self.max });
        }
        self.done = done;
        Ok(())
    }

    /// Returns the number of steps counted so far.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_beyond_the_budget_is_refused_and_not_counted() {
        let mut work = Work::up_to(100);
        assert_eq!(work.add(9, 10), Ok(()));
        assert_eq!(work.add(2, 10), Err(TooMuchWork { max: 100 }));
        assert_eq!(work.add(usize::MAX, u64::MAX), Err(TooMuchWork { max: 100 }));
        assert_eq!((work.add(1, 10), work.done()), (Ok(()), 100));
        assert_eq!(Work::unbounded().add(usize::MAX, 1_000), Ok(()));
    }
}
