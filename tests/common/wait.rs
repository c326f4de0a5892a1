//! Waits for events, with one limit for all tests.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::fmt::Display;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// After this time, a waiting test counts as hung. The limit only exists so that a hang ends with a message;
/// a slow or busy machine must never reach it. Set `LEITONG_HANG_LIMIT` to another number of seconds.
pub(crate) static HANG_LIMIT: LazyLock<Duration> = LazyLock::new(|| {
    let seconds = std::env::var("LEITONG_HANG_LIMIT")
        .map_or(20 * 60, |seconds| seconds.parse().expect("LEITONG_HANG_LIMIT is a number of seconds"));
    Duration::from_secs(seconds)
});

/// Lets time pass, for tests about what happens in the meantime. Never use it to wait for an event.
#[expect(clippy::disallowed_methods, reason = "the one place for it")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until `done` returns true. After [`HANG_LIMIT`] it fails with `what`, which is formatted only then.
#[track_caller]
pub(crate) fn wait_until(what: impl Display, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        let limit = *HANG_LIMIT;
        assert!(began.elapsed() < limit, "has not happened within {} s: {what}", limit.as_secs());
        // Check often at first: many events are about to happen.
        pause((began.elapsed() / 10).clamp(Duration::from_millis(1), Duration::from_millis(50)));
    }
}

/// Returns the CPU time of this thread so far. It does not depend on how busy the machine is.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("it is not negative")
}
