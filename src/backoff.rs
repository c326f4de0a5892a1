//! Waits before a retry. This is the only place where a thread may sleep (`clippy.toml` forbids it elsewhere).

use std::time::Duration;

/// Waits before a retry if no event tells when the retry can succeed.
#[expect(
    clippy::disallowed_methods,
    reason = "every caller tries again in a loop that has a deadline or a stop flag"
)]
pub(crate) fn backoff(time: Duration) {
    std::thread::sleep(time);
}
