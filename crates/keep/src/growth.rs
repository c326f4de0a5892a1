//! Measures how the cost of work grows with its size, for tests.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The growth of costs, at four times the size, from which on a test fails. Linear costs grow by 4, square ones by 16.
pub(crate) const GROWTH_MAX: f64 = 9.0;
/// Number of times that each size is measured. The fastest counts.
const TIMES: usize = 3;

/// Returns how many times as much CPU time `work` takes for what `prepare` makes of four times this size.
pub(crate) fn growth<T>(size: usize, prepare: impl Fn(usize) -> T, work: impl Fn(&T)) -> f64 {
    let cost = |size: usize| {
        let prepared = prepare(size);
        let time = || {
            let begun = thread_time();
            work(&prepared);
            thread_time() - begun
        };
        (0..TIMES).map(|_| time()).min().unwrap_or_default().as_secs_f64()
    };
    let (small, large) = (cost(size), cost(4 * size));
    println!("{size}: {small:.4} s, {}: {large:.4} s", 4 * size);
    large / small
}

fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("it is not negative")
}
